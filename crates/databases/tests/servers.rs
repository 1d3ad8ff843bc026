//! The suite on servers that the environment names: `ISOSCOPE_TEST_POSTGRES`, `ISOSCOPE_TEST_MARIADB` (URLs of
//! databases that may be filled with anything). `cargo xtask test` starts them; without, the tests say that they did
//! nothing.

mod suite;

use std::time::{Duration, Instant};

use isoscope_databases::{Database, FailureKind, Url, open};
use suite::*;

/// The server that a variable names, as both nodes of a database.
fn server(variable: &str) -> Option<Box<dyn Database>> {
    match std::env::var(variable) {
        Ok(url) if !url.is_empty() => {
            let url = Url::parse(&url).unwrap();
            Some(open(&[url.clone(), url]).unwrap_or_else(|failure| panic!("{failure}")))
        }
        _ => {
            eprintln!("skipped: {variable} names no server");
            None
        }
    }
}

#[test]
fn postgresql() {
    let Some(database) = server("ISOSCOPE_TEST_POSTGRES") else { return };
    assert_eq!(database.describe().product, "PostgreSQL");
    assert_eq!(default_setting(&*database).name, "read-committed");
    let settings = [
        ("read-uncommitted", true, true),
        ("read-committed", true, true),
        ("repeatable-read", false, true),
        ("serializable", false, false),
    ];
    check_all(&*database, &settings);
}

#[test]
fn mariadb() {
    let Some(database) = server("ISOSCOPE_TEST_MARIADB") else { return };
    assert_eq!(default_setting(&*database).name, "repeatable-read");
    let settings = [
        ("read-uncommitted", true, true),
        ("read-committed", true, true),
        ("repeatable-read", true, true),
        ("serializable", false, false),
    ];
    check_all(&*database, &settings);
}

/// The whole suite at each setting, with whether it loses updates and whether it skews writes.
fn check_all(database: &dyn Database, settings: &[(&str, bool, bool)]) {
    for &(name, loses_updates, skews_writes) in settings {
        let setting = setting(database, name);
        check_statements(database, &setting, "statements");
        check_failures(database, &setting, "failures");
        check_lost_update(database, &setting, "lost", loses_updates);
        check_write_skew(database, &setting, "skew", skews_writes);
        count_updates(database, &setting, "count");
    }
    check_watcher(database, "repeatable-read");
    check_dropped_connection(database, "repeatable-read");
}

/// The server says which session waits for a lock.
fn check_watcher(database: &dyn Database, name: &str) {
    let setting = setting(database, name);
    let tables = Tables::prepare(database, "watcher");
    assert!(database.watcher(2).is_none(), "there are two nodes");
    let mut watcher = database.watcher(1).expect("this server has views of its locks");
    let (mut holder, mut waiter) = (database.connect(0).unwrap(), database.connect(1).unwrap());
    let (holder_id, waiter_id) = (holder.id().unwrap(), waiter.id().unwrap());
    holder.begin(&setting).unwrap();
    holder.execute(&tables.write(1, 1)).unwrap();
    waiter.begin(&setting).unwrap();
    assert!(!watcher.is_waiting(waiter_id).unwrap());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| waiter.execute(&tables.write(1, 2)));
        let since = Instant::now();
        while !watcher.is_waiting(waiter_id).unwrap() {
            assert!(since.elapsed() < Duration::from_secs(20), "no session waits");
        }
        assert!(!watcher.is_waiting(holder_id).unwrap());
        holder.abort().unwrap();
        waiting.join().unwrap().unwrap();
    });
    assert!(!watcher.is_waiting(waiter_id).unwrap());
}

/// A session that is ended from outside: lost before the commit, unknown in it.
fn check_dropped_connection(database: &dyn Database, name: &str) {
    let setting = setting(database, name);
    let tables = Tables::prepare(database, "dropped");
    for is_committing in [false, true] {
        let mut session = database.connect(0).unwrap();
        session.begin(&setting).unwrap();
        session.execute(&tables.write(1, 1)).unwrap();
        database.drop_connection(0, session.id().unwrap()).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let failure = match is_committing {
            false => session.execute(&tables.read(1)).map(|_| ()).expect_err("the session is gone"),
            true => session.commit().expect_err("the session is gone"),
        };
        let expected = if is_committing { FailureKind::Unknown } else { FailureKind::Lost };
        assert_eq!(failure.kind, expected, "{failure}");
        let again = session.begin(&setting).expect_err("the session is gone");
        assert_eq!(again.kind, FailureKind::Lost, "{again}");
    }
    let mut session = database.connect(0).unwrap();
    assert_eq!(integer(transaction(&mut *session, &setting, &[tables.read(1)]).remove(0)), 0);
}
