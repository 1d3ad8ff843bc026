//! What recording costs: the same transactions with and without a recorder, in turns, on the database of a URL.
//!
//! ```text
//! cargo run -p isoscope-databases --example overhead -- postgres://user@localhost/test [SECONDS [CLIENTS]]
//! ```
//!
//! A transaction is eight reads and writes of a thousand keys, as in the workload `general`. Each client records every
//! second of its transactions, so that whatever else the machine does strikes both kinds alike, and the time that each
//! kind takes gives the rate that it would have alone.

use std::time::{Duration, Instant};

use drive::random::Random;
use history::Datum;
use isoscope_databases::{Database, Failure, Reply, Session, Setting, Statement, Table, Url, open};
use record::{Recorder, SessionRecorder};

const KEYS: u64 = 1000;
const OPERATIONS: usize = 8;

/// How many transactions committed, and how long all of them took.
#[derive(Clone, Copy, Default)]
struct Tally {
    committed: u64,
    time: Duration,
}

impl Tally {
    fn rate(&self) -> f64 {
        self.committed as f64 / self.time.as_secs_f64()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let url = arguments.first().ok_or("expected the URL of a database")?;
    let seconds: f64 = arguments.get(1).map_or(Ok(20.0), |text| text.parse())?;
    let clients: u64 = arguments.get(2).map_or(Ok(8), |text| text.parse())?;
    let database = open(&[Url::parse(url)?])?;
    database.prepare(&[Table::of_integers("overhead", (0..KEYS as i64).map(|key| (key, 0)))])?;
    let path = std::env::temp_dir().join(format!("isoscope-overhead-{}.jsonl", std::process::id()));
    let recorder = Recorder::create(&path)?;
    let tallies = run(&*database, &recorder, clients, Duration::from_secs_f64(seconds))?;
    let [plain, recorded] = tallies.map(|tally| tally.rate() * clients as f64);
    let counts = tallies.map(|tally| tally.committed);
    println!(
        "without recording {plain:.0}/s ({} transactions), with {recorded:.0}/s ({}): {:.1} %",
        counts[0],
        counts[1],
        100.0 * recorded / plain
    );
    std::fs::remove_file(path)?;
    Ok(())
}

/// Both kinds, without and with recording.
fn run(
    database: &dyn Database,
    recorder: &Recorder,
    clients: u64,
    time: Duration,
) -> Result<[Tally; 2], Box<dyn std::error::Error>> {
    let default = database.settings().into_iter().find(|setting| setting.is_default);
    let setting = &default.ok_or("no default setting")?;
    let mut sessions = Vec::new();
    for client in 0..clients {
        sessions.push((database.connect(0)?, recorder.session(None)?, Random::new(client)));
    }
    let until = Instant::now() + time;
    let tallies: Vec<[Tally; 2]> = std::thread::scope(|scope| {
        let clients: Vec<_> = sessions
            .into_iter()
            .map(|(mut session, mut recorded, mut random)| {
                scope.spawn(move || client(&mut *session, setting, &mut recorded, &mut random, until))
            })
            .collect();
        clients.into_iter().map(|client| client.join().expect("no client panics")).collect()
    });
    let mut sum = [Tally::default(); 2];
    for tally in tallies {
        for (sum, one) in sum.iter_mut().zip(tally) {
            sum.committed += one.committed;
            sum.time += one.time;
        }
    }
    Ok(sum)
}

fn client(
    session: &mut dyn Session,
    setting: &Setting,
    recorder: &mut SessionRecorder,
    random: &mut Random,
    until: Instant,
) -> [Tally; 2] {
    let mut tallies = [Tally::default(); 2];
    let mut is_recorded = false;
    while Instant::now() < until {
        let since = Instant::now();
        let done = transaction(session, setting, is_recorded.then_some(&mut *recorder), random);
        let tally = &mut tallies[usize::from(is_recorded)];
        tally.time += since.elapsed();
        match done {
            Ok(()) => tally.committed += 1,
            Err(failure) => assert!(failure.code.is_some(), "{failure}"),
        }
        is_recorded = !is_recorded;
    }
    tallies
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
        if let (Some(recorded), Reply::Row(Some(row))) = (recorded, answer) {
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
