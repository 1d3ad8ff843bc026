//! The suite on the databases that run in this process.

mod suite;

use databases::FailureKind;
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

fn check_serializable(database: &dyn databases::Database) {
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
