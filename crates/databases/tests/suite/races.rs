//! Two sessions at once: whether updates are lost and writes skewed is what the setting says.
//!
//! Each transaction reads, waits until the other has read too (or a moment, where reading locks), then writes.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use isoscope_databases::{Database, Failure, FailureKind, Session, Setting, Statement};

use super::{Tables, integer, transaction};

const ROUNDS: u32 = 3;

/// Whether two increments at once can both commit and count as one.
pub fn check_lost_update(database: &dyn Database, setting: &Setting, test: &str, is_possible: bool) {
    let tables = Tables::prepare(database, test);
    let mut lost = 0;
    for round in 0..ROUNDS {
        let key = i64::from(round);
        let committed = race(database, |who, session, meet| {
            session.begin(setting)?;
            let value = integer(session.execute(&tables.read(key))?);
            meet(who);
            session.execute(&tables.write(key, value + 1))?;
            session.commit()
        });
        let mut session = database.connect(0).unwrap();
        let found = integer(transaction(&mut *session, setting, &[tables.read(key)]).remove(0));
        assert!(found <= i64::from(committed), "{found} of {committed}");
        lost += i64::from(committed) - found;
    }
    assert_eq!(lost > 0, is_possible, "{setting:?}: {lost} updates lost in {ROUNDS} rounds");
}

/// Whether two transactions can both read two keys and each write the one that the other does not.
pub fn check_write_skew(database: &dyn Database, setting: &Setting, test: &str, is_possible: bool) {
    let tables = Tables::prepare(database, test);
    let mut skewed = 0;
    for round in 0..ROUNDS {
        let keys = [i64::from(round) * 2 + 100, i64::from(round) * 2 + 101];
        let committed = race(database, |who, session, meet| {
            session.begin(setting)?;
            let both = integer(session.execute(&tables.read(keys[0]))?)
                + integer(session.execute(&tables.read(keys[1]))?);
            meet(who);
            if both == 0 {
                session.execute(&tables.write(keys[who], 1))?;
            }
            session.commit()
        });
        let mut session = database.connect(0).unwrap();
        let answers = transaction(&mut *session, setting, &keys.map(|key| tables.read(key)));
        let sum: i64 = answers.into_iter().map(integer).sum();
        assert!(sum <= i64::from(committed));
        skewed += u32::from(sum == 2);
    }
    assert_eq!(skewed > 0, is_possible, "{setting:?}: {skewed} of {ROUNDS} rounds skewed");
}

/// Many increments by several sessions, each tried until it commits; none may be lost.
pub fn count_updates(database: &dyn Database, setting: &Setting, test: &str) {
    const SESSIONS: i64 = 3;
    const EACH: i64 = 20;
    let tables = Tables::prepare(database, test);
    std::thread::scope(|scope| {
        for _ in 0..SESSIONS {
            scope.spawn(|| {
                let mut session = database.connect(0).unwrap();
                let mut left = EACH;
                while left > 0 {
                    match increment(&mut *session, setting, &tables) {
                        Ok(()) => left -= 1,
                        Err(failure) => assert_eq!(failure.kind, FailureKind::Aborted, "{failure}"),
                    }
                }
            });
        }
    });
    // Where a transaction may see an old state, it sees this one after a while.
    std::thread::sleep(Duration::from_millis(50));
    let mut session = database.connect(0).unwrap();
    assert_eq!(integer(transaction(&mut *session, setting, &[tables.read(9)]).remove(0)), SESSIONS * EACH);
}

fn increment(session: &mut dyn Session, setting: &Setting, tables: &Tables) -> Result<(), Failure> {
    session.begin(setting)?;
    let table = tables.register.clone();
    session.execute(&Statement::Add { table, key: 9.into(), column: "v".into(), by: 1 })?;
    session.commit()
}

/// Runs something in two sessions at once and says how many committed; other failures than aborts are not accepted.
fn race(
    database: &dyn Database,
    body: impl Fn(usize, &mut dyn Session, &dyn Fn(usize)) -> Result<(), Failure> + Sync,
) -> u32 {
    let arrived = AtomicU32::new(0);
    let meet = |who: usize| {
        arrived.fetch_or(1 << who, Ordering::SeqCst);
        let since = Instant::now();
        while arrived.load(Ordering::SeqCst) != 3 && since.elapsed() < Duration::from_millis(100) {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let run = |who: usize| {
        let mut session = database.connect(0).unwrap();
        let result = body(who, &mut *session, &meet);
        // A session that fails early must not keep the other waiting.
        arrived.fetch_or(1 << who, Ordering::SeqCst);
        match result {
            Ok(()) => 1,
            Err(failure) => {
                assert_eq!(failure.kind, FailureKind::Aborted, "{failure}");
                assert!(failure.code.is_some(), "{failure}");
                0
            }
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run(1));
        run(0) + other.join().unwrap()
    })
}
