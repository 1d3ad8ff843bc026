//! The suite on the databases that run in this process.

mod suite;

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
