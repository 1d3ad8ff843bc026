//! The suite on the engines behind features; `cargo xtask test --all-engines` builds them and runs it.

#![allow(unused_imports, dead_code, reason = "which engines there are depends on the features")]

mod suite;

use suite::*;

/// Everything at a setting; updates are never lost, and writes can be skewed or not.
fn check_at(database: &dyn isoscope_databases::Database, name: &str, has_write_skew: bool) {
    assert_ne!(database.describe().version, "unknown");
    let setting = setting(database, name);
    check_statements(database, &setting, "statements");
    check_failures(database, &setting, "failures");
    check_lost_update(database, &setting, "lost", false);
    check_write_skew(database, &setting, "skew", has_write_skew);
    count_updates(database, &setting, "count");
}

#[cfg(feature = "duckdb")]
#[test]
fn duckdb_in_a_file() {
    check_at(&*database(&format!("duckdb:{}", place("duckdb"))), "snapshot", true);
    check_urls("duckdb");
}

#[cfg(feature = "duckdb")]
#[test]
fn duckdb_in_memory() {
    check_at(&*database("duckdb::memory:"), "snapshot", true);
}

#[cfg(feature = "slatedb")]
#[test]
fn slatedb() {
    let database = database(&format!("slatedb:{}", place("slatedb")));
    assert_eq!(default_setting(&*database).name, "snapshot");
    check_at(&*database, "snapshot", true);
    check_at(&*database, "serializable", false);
    check_urls("slatedb");
}

#[cfg(feature = "surrealkv")]
#[test]
fn surrealkv() {
    check_at(&*database(&format!("surrealkv:{}", place("surrealkv"))), "snapshot", true);
    check_urls("surrealkv");
}

#[cfg(feature = "turso")]
#[test]
fn turso_with_versions() {
    let database = database(&format!("turso:{}?lock-timeout-ms=300", place("turso-mvcc")));
    assert_eq!(default_setting(&*database).name, "deferred");
    check_at(&*database, "concurrent", true);
    check_at(&*database, "deferred", false);
    check_at(&*database, "immediate", false);
}

#[cfg(feature = "turso")]
#[test]
fn turso_with_a_write_ahead_log() {
    let database = database(&format!("turso:{}?mode=wal&lock-timeout-ms=300", place("turso-wal")));
    for name in ["deferred", "immediate"] {
        check_at(&*database, name, false);
    }
    check_urls("turso");
    let said =
        isoscope_databases::open(&[isoscope_databases::Url::parse("turso:/tmp/x?mode=delete").unwrap()]);
    assert!(said.err().unwrap().message.contains("mvcc or wal"));
}
