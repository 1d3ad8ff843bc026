//! The tables of real databases, compared with what is written down in `expected/`.
//!
//! Embedded ones are always there. Servers are those that `cargo xtask services` starts; without the variables that it
//! prints their tests say so and pass. `UPDATE_EXPECT=1` writes the tables anew. Where only time tells whether a session
//! waits, a busy machine may take a slow answer for a wait: there it is only compared whether an anomaly is possible.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use databases::{Database, Reply, Statement, Url};
use history::Datum;
use isoscope_probe::expect::{self, Expectation};
use isoscope_probe::{Patience, Report, Suite};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("isoscope-probe-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open(urls: &str) -> Box<dyn Database> {
    let urls: Vec<Url> = urls.split(',').map(|url| Url::parse(url).unwrap()).collect();
    databases::open(&urls).unwrap()
}

/// At these settings, or at all of them.
fn probe_at(database: &dyn Database, suites: &[&str], settings: &[&str]) -> Report {
    let suites: Vec<Suite> = suites.iter().map(|name| isoscope_probe::built_in(name).unwrap()).collect();
    let patience = Patience { without_views: Duration::from_millis(60), ..Patience::default() };
    let mut asked = database.settings();
    asked.retain(|setting| settings.is_empty() || settings.contains(&setting.name.as_str()));
    let report =
        isoscope_probe::probe(database, suites, asked, patience, &mut |_, _| ControlFlow::Continue(()));
    report.unwrap().expect("no signal ended it")
}

/// What a report says, without what depends on time.
fn without_timing(text: &str) -> String {
    let coarse = |line: &str| match line.rsplit_once(' ') {
        Some((_, counts)) if counts.contains('/') => None,
        Some((start, "aborts" | "waits" | "prevented")) => Some(format!("{start} impossible")),
        _ => Some(line.to_owned()),
    };
    text.lines().filter_map(coarse).map(|line| line + "\n").collect()
}

fn check(url: &str, suites: &[&str], file: &str) {
    check_at(url, suites, &[], file);
}

fn check_at(url: &str, suites: &[&str], settings: &[&str], file: &str) {
    let database = open(url);
    let report = probe_at(database.as_ref(), suites, settings);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("expected").join(file);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let text = expect::text_of(&report);
        let text = if database.watcher(0).is_some() { text } else { without_timing(&text) };
        std::fs::write(&path, text).unwrap();
        return;
    }
    let text = std::fs::read_to_string(&path).unwrap();
    let differences = Expectation::parse(&text).unwrap().differences(&report);
    for difference in &differences {
        print_transcript(&report, &difference.setting, &difference.subject);
    }
    assert!(differences.is_empty(), "{file} is not what was found: {differences:#?}");
}

fn print_transcript(report: &Report, setting: &str, name: &str) {
    for (row, schedule, finding) in report.named(name) {
        if let (true, isoscope_probe::Finding::Ran(ran)) = (row.setting.name == setting, finding) {
            println!("{name} at {setting}:\n{}\n", isoscope_probe::transcript(schedule, &ran.0, &ran.1));
        }
    }
}

fn check_server(variable: &str, suites: &[&str], file: &str) {
    match std::env::var(variable) {
        Ok(url) => check(&url, suites, file),
        Err(_) => println!("{variable} is not set: nothing was asked; cargo xtask services says how"),
    }
}

#[test]
fn sqlite_with_a_rollback_journal() {
    let folder = Folder::new("rollback");
    check(&format!("sqlite:{}/test.db", folder.0.display()), &["hermitage"], "sqlite.txt");
}

#[test]
fn sqlite_with_a_write_ahead_log() {
    let folder = Folder::new("wal");
    check(&format!("sqlite:{}/test.db?mode=wal", folder.0.display()), &["hermitage"], "sqlite-wal.txt");
}

#[test]
fn fjall() {
    let folder = Folder::new("fjall");
    check(&format!("fjall:{}/store", folder.0.display()), &["hermitage", "coo"], "fjall.txt");
}

#[test]
fn redb() {
    let folder = Folder::new("redb");
    check(&format!("redb:{}/store", folder.0.display()), &["hermitage"], "redb.txt");
}

/// The engines behind features; `cargo xtask test --all-engines` builds them.
#[cfg(feature = "duckdb")]
#[test]
fn duckdb() {
    let folder = Folder::new("duckdb");
    check(&format!("duckdb:{}/test.db", folder.0.display()), &["hermitage", "coo"], "duckdb.txt");
}

#[cfg(feature = "slatedb")]
#[test]
fn slatedb() {
    let folder = Folder::new("slatedb");
    check(&format!("slatedb:{}/store", folder.0.display()), &["hermitage", "coo"], "slatedb.txt");
}

#[cfg(feature = "surrealkv")]
#[test]
fn surrealkv() {
    let folder = Folder::new("surrealkv");
    check(&format!("surrealkv:{}/store", folder.0.display()), &["hermitage", "coo"], "surrealkv.txt");
}

#[cfg(feature = "turso")]
#[test]
fn turso_with_versions() {
    let folder = Folder::new("turso");
    check(&format!("turso:{}/test.db", folder.0.display()), &["hermitage"], "turso.txt");
}

#[cfg(feature = "turso")]
#[test]
fn turso_with_a_write_ahead_log() {
    let folder = Folder::new("turso-wal");
    check(&format!("turso:{}/test.db?mode=wal", folder.0.display()), &["hermitage"], "turso-wal.txt");
}

#[test]
fn the_simulated_store() {
    // The other levels may show a state that is as old as chance says.
    let settings = [
        "serial",
        "serializable",
        "two-phase-locking",
        "ssi",
        "snapshot",
        "read-committed",
        "read-uncommitted",
    ];
    check_at("sim:", &["hermitage", "coo"], &settings, "sim.txt");
}

#[test]
fn postgres() {
    check_server("ISOSCOPE_TEST_POSTGRES", &["hermitage", "coo", "predicates"], "postgres.txt");
}

/// Newer versions have snapshot isolation at repeatable read unless told otherwise.
#[test]
fn mariadb() {
    let variable = "ISOSCOPE_TEST_MARIADB";
    let is_snapshot = std::env::var(variable).is_ok_and(|url| has_snapshot_isolation(open(&url).as_ref()));
    let file = if is_snapshot { "mariadb-snapshot.txt" } else { "mariadb.txt" };
    check_server(variable, &["hermitage", "coo", "predicates"], file);
}

fn has_snapshot_isolation(database: &dyn Database) -> bool {
    let mut session = database.connect(0).unwrap();
    session.begin(&database.settings()[0]).unwrap();
    let asked = session.execute(&Statement::Sql("SELECT @@innodb_snapshot_isolation".to_owned()));
    // Versions that do not know the variable refuse the question.
    matches!(asked, Ok(Reply::Rows(rows)) if rows.iter().any(|(value, _)| *value == Datum::Int(1)))
}

/// The history is write skew, which snapshot isolation shows and locks prevent.
#[test]
fn a_history_becomes_a_schedule() {
    let history =
        formats::notation::parse("init *=0\na: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1\n").unwrap();
    let schedule = isoscope_probe::from_history("skew", &history).unwrap();
    let database = open("sim:");
    let mut runner = isoscope_probe::Runner::new(database.as_ref(), Patience::default());
    let mut cell = |setting: &str| {
        let setting = database.settings().into_iter().find(|known| known.name == setting).unwrap();
        let run = runner.run(&schedule, &setting).unwrap();
        isoscope_probe::judge(&schedule, &run).cell
    };
    assert_eq!(cell("snapshot"), isoscope_probe::Cell::Possible);
    assert_eq!(cell("ssi"), isoscope_probe::Cell::Aborts);
    assert_eq!(cell("serial"), isoscope_probe::Cell::Waits);
}

/// Locks prevent a history in one order of its steps and not in another.
#[test]
fn several_interleavings_of_a_history_are_tried() {
    let text = "init *=0\na: r(x)=0 w(x)=1\nb: r(y)=0 w(y)=2\nc: r(x)=1 r(y)=0\n";
    let history = formats::notation::parse(text).unwrap();
    let schedules = isoscope_probe::interleavings("three", &history).unwrap();
    let names: Vec<&str> = schedules.iter().map(|schedule| schedule.name.as_str()).collect();
    assert_eq!(names, ["three", "three-2", "three-3", "three-4", "three-5"]);
    let orders: Vec<Vec<String>> = schedules
        .iter()
        .map(|schedule| schedule.steps.iter().map(|step| format!("{:?} {}", step.txn, step.text)).collect())
        .collect();
    assert!((1..orders.len()).all(|place| !orders[..place].contains(&orders[place])), "{orders:?}");
    let database = open("sim:");
    let serial = database.settings().into_iter().find(|known| known.name == "serial").unwrap();
    let mut runner = isoscope_probe::Runner::new(database.as_ref(), Patience::default());
    let mut cells = schedules.iter().map(|schedule| {
        let run = runner.run(schedule, &serial).unwrap();
        isoscope_probe::judge(schedule, &run).cell
    });
    assert!(cells.any(|cell| cell == isoscope_probe::Cell::Possible));
}

#[test]
fn a_history_that_nobody_could_show_is_refused() {
    let refused = |text: &str| {
        isoscope_probe::from_history("none", &formats::notation::parse(text).unwrap()).unwrap_err()
    };
    assert!(refused("init *=0\na: r(x)=7\n").contains("no order"));
    assert!(refused("init *=0\na: r(x)=0 unknown\n").contains("unknown"));
    assert!(refused("init *=0\na: w(x)=1 w(1)=1\n").contains("keys"));
}

/// Two transactions write x, and an order in which neither waits for the other's lock gives the history.
#[test]
fn an_order_in_which_no_write_waits_comes_first() {
    let text = "init *=0\na: w(x)=1 r(y)=1\nb: w(x)=2 w(y)=1\nc: w(y)=2 r(x)=2\n";
    let schedule = isoscope_probe::from_history("three", &formats::notation::parse(text).unwrap()).unwrap();
    let steps: Vec<String> =
        schedule.steps.iter().map(|step| format!("{} {}", step.txn.0, step.text)).collect();
    let place = |step: &str| steps.iter().position(|known| known.starts_with(step)).unwrap();
    assert!(place("1 commit") < place("0 w("), "{steps:?}");
    assert!(place("1 commit") < place("2 w("), "{steps:?}");
}
