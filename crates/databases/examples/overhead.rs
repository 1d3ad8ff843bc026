//! What recording costs: the same transactions with and without a recorder, in turns, on the database of a URL.
//!
//! ```text
//! cargo run -p isoscope-databases --example overhead -- postgres://user@localhost/test [SECONDS [CLIENTS]]
//! ```
//!
//! A transaction is eight reads and writes of a thousand keys, as in the workload `general`. Turns are short and
//! alternate, so that whatever else the machine does strikes both alike.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use databases::{Answer, Database, Failure, Session, Setting, Statement, Table, Url, open};
use drive::random::Random;
use history::Datum;
use record::{Recorder, SessionRecorder};

const KEYS: u64 = 1000;
const OPERATIONS: usize = 8;
const TURNS: u32 = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let url = arguments.first().ok_or("expected the URL of a database")?;
    let seconds: f64 = arguments.get(1).map_or(Ok(2.0), |text| text.parse())?;
    let clients: u64 = arguments.get(2).map_or(Ok(8), |text| text.parse())?;
    let database = open(&[Url::parse(url)?])?;
    database.prepare(&[Table::of_integers("overhead", (0..KEYS as i64).map(|key| (key, 0)))])?;
    let path = std::env::temp_dir().join(format!("isoscope-overhead-{}.jsonl", std::process::id()));
    let turn = Duration::from_secs_f64(seconds);
    let mut totals = [0.0; 2];
    for number in 0..2 * TURNS {
        let is_recorded = number % 2 == 1;
        let recorder = is_recorded.then(|| Recorder::create(&path)).transpose()?;
        let since = Instant::now();
        let committed = run(&*database, recorder.as_ref(), clients, turn)?;
        totals[usize::from(is_recorded)] += committed as f64 / since.elapsed().as_secs_f64();
    }
    let [plain, recorded] = totals.map(|total| total / f64::from(TURNS));
    println!("without recording {plain:.0}/s, with {recorded:.0}/s: {:.1} %", 100.0 * recorded / plain);
    std::fs::remove_file(path)?;
    Ok(())
}

/// How many transactions committed in a turn.
fn run(
    database: &dyn Database,
    recorder: Option<&Recorder>,
    clients: u64,
    turn: Duration,
) -> Result<u64, Box<dyn std::error::Error>> {
    let default = database.settings().into_iter().find(|setting| setting.is_default);
    let setting = default.ok_or("no default setting")?;
    let committed = AtomicU64::new(0);
    let mut sessions = Vec::new();
    for client in 0..clients {
        let recorded = recorder.map(|recorder| recorder.session(None)).transpose()?;
        sessions.push((database.connect(0)?, recorded, Random::new(client)));
    }
    let until = Instant::now() + turn;
    std::thread::scope(|scope| {
        for (mut session, mut recorded, mut random) in sessions {
            let (setting, committed) = (&setting, &committed);
            scope.spawn(move || {
                while Instant::now() < until {
                    let done = transaction(&mut *session, setting, recorded.as_mut(), &mut random);
                    match done {
                        Ok(()) => _ = committed.fetch_add(1, Ordering::Relaxed),
                        Err(failure) => assert!(failure.code.is_some(), "{failure}"),
                    }
                }
            });
        }
    });
    Ok(committed.into_inner())
}

fn transaction(
    session: &mut dyn Session,
    setting: &Setting,
    mut recorded: Option<&mut SessionRecorder>,
    random: &mut Random,
) -> Result<(), Failure> {
    if let Some(recorded) = &mut recorded {
        recorded.begin();
    }
    session.begin(setting)?;
    if let Some(recorded) = &mut recorded {
        recorded.begun();
    }
    for _ in 0..OPERATIONS {
        operation(session, recorded.as_deref_mut(), random)
            .inspect_err(|_| end(recorded.as_deref_mut(), false))?;
    }
    if let Some(recorded) = &mut recorded {
        recorded.ending();
    }
    let committed = session.commit();
    end(recorded, committed.is_ok());
    committed
}

fn operation(
    session: &mut dyn Session,
    recorded: Option<&mut SessionRecorder>,
    random: &mut Random,
) -> Result<(), Failure> {
    let key = Datum::Int(random.below(KEYS) as i64);
    let table = "overhead".to_owned();
    if random.chance(0.5) {
        let answer = session.execute(&Statement::Read { table, key: key.clone() })?;
        if let (Some(recorded), Answer::Row(Some(row))) = (recorded, answer) {
            recorded.read(&key, &row[0]);
        }
        return Ok(());
    }
    let value = Datum::Int(random.bits() as i64 >> 1);
    let statement = Statement::Write { table, key: key.clone(), column: "v".into(), value: value.clone() };
    session.execute(&statement)?;
    if let Some(recorded) = recorded {
        recorded.write(&key, &value);
    }
    Ok(())
}

fn end(recorded: Option<&mut SessionRecorder>, is_committed: bool) {
    let Some(recorded) = recorded else { return };
    let ended = if is_committed { recorded.commit() } else { recorded.abort() };
    ended.expect("the disk is not full");
}
