//! The suite on the databases that run in this process.

mod suite;

use isoscope_databases::FailureKind;
use suite::*;

#[test]
fn sqlite_with_a_rollback_journal() {
    check_sqlite("rollback");
}

#[test]
fn sqlite_with_a_write_ahead_log() {
    check_sqlite("wal");
}

fn check_sqlite(mode: &str) {
    let path = place(&format!("sqlite-{mode}"));
    let database = database(&format!("sqlite:{path}?mode={mode}&lock-timeout-ms=300"));
    assert_eq!(default_setting(&*database).name, "deferred");
    for setting in database.settings() {
        check_statements(&*database, &setting, "statements");
        check_failures(&*database, &setting, "failures");
        check_lost_update(&*database, &setting, "lost", false);
        check_write_skew(&*database, &setting, "skew", false);
        count_updates(&*database, &setting, "count");
    }
}

#[test]
fn fjall() {
    let database = database(&format!("fjall:{}", place("fjall")));
    check_serializable(&*database);
}

#[test]
fn redb() {
    let database = database(&format!("redb:{}?lock-timeout-ms=2000", place("redb")));
    check_serializable(&*database);
}

fn check_serializable(database: &dyn isoscope_databases::Database) {
    assert_ne!(database.describe().version, "unknown");
    let setting = default_setting(database);
    check_statements(database, &setting, "statements");
    check_failures(database, &setting, "failures");
    check_lost_update(database, &setting, "lost", false);
    check_write_skew(database, &setting, "skew", false);
    count_updates(database, &setting, "count");
}

#[test]
fn redb_waits_for_the_writer_before_but_not_for_ever() {
    let database = database(&format!("redb:{}?lock-timeout-ms=50", place("redb-wait")));
    let setting = default_setting(&*database);
    let tables = Tables::prepare(&*database, "wait");
    let (mut one, mut two) = (database.connect(0).unwrap(), database.connect(0).unwrap());
    one.begin(&setting).unwrap();
    one.execute(&tables.write(1, 1)).unwrap();
    let failure = two.begin(&setting).expect_err("the other writes");
    assert_eq!((failure.kind, failure.code.as_deref()), (FailureKind::Aborted, Some("lock-timeout")));
    one.commit().unwrap();
    assert_eq!(integer(transaction(&mut *two, &setting, &[tables.read(1)]).remove(0)), 1);
}

#[test]
fn urls_open_the_path_that_they_name() {
    for scheme in ["sqlite", "fjall", "redb"] {
        check_urls(scheme);
    }
}

/// The reference program in Python, where there is a Python.
#[test]
fn the_reference_program() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: there is no python3");
        return;
    }
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/exec_sqlite.py");
    let database = database(&format!("exec:python3 '{program}' {}", place("exec")));
    assert_eq!(database.describe().product, "SQLite");
    let setting = default_setting(&*database);
    check_statements(&*database, &setting, "statements");
    check_failures(&*database, &setting, "failures");
    check_lost_update(&*database, &setting, "lost", false);
}

#[test]
fn a_program_that_ends_is_a_lost_connection() {
    let hello = r#"{"product":"x","settings":["s"],"statements":["read"]}"#;
    let answers = format!("{hello}\n{{\"done\":true}}\n{{\"done\":true}}\n");
    let path = place("exec-ends");
    std::fs::write(&path, answers).unwrap();
    // Answers so many requests and ends after having read them.
    let ends = |count: usize| format!("exec:sh -c 'head -n {count} {path}; head -n {count} >/dev/null'");
    let ended = suite::database(&ends(3));
    let setting = default_setting(&*ended);
    ended.prepare(&[isoscope_databases::Table::of_integers("t", [(1, 0)])]).unwrap();
    let mut session = ended.connect(0).unwrap();
    session.begin(&setting).unwrap();
    let failure = session.commit().unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unknown, "{failure}");
    let failure = session.begin(&setting).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Lost, "{failure}");
    assert_eq!(suite::database(&ends(1)).connect(0).err().unwrap().kind, FailureKind::Lost);
}

#[test]
fn a_program_that_is_none_is_refused() {
    for url in ["exec:", "exec:/no/such/program", "exec:echo hello", "exec:echo {}", "exec:sh 'x"] {
        let failure =
            isoscope_databases::open(&[isoscope_databases::Url::parse(url).unwrap()]).err().unwrap();
        assert!(matches!(failure.kind, FailureKind::Refused | FailureKind::Lost), "{url}: {failure}");
    }
}
