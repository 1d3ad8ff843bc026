//! The suite on the engines behind features; `cargo test -p isoscope-databases --features surrealkv`.

#![allow(unused_imports, dead_code, reason = "which engines there are depends on the features")]

mod suite;

use suite::*;

/// Snapshot isolation: writes can be skewed, updates are not lost.
fn check_snapshot(database: &dyn databases::Database) {
    let setting = default_setting(database);
    check_statements(database, &setting, "statements");
    check_failures(database, &setting, "failures");
    check_lost_update(database, &setting, "lost", false);
    check_write_skew(database, &setting, "skew", true);
    count_updates(database, &setting, "count");
}

#[cfg(feature = "surrealkv")]
#[test]
fn surrealkv() {
    let database = database(&format!("surrealkv:{}", place("surrealkv")));
    assert_ne!(database.describe().version, "unknown");
    check_snapshot(&*database);
}
