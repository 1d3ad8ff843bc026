//! Servers, when `ISOSCOPE_TEST_POSTGRES` and `ISOSCOPE_TEST_MARIADB` hold their URLs (`cargo xtask services`).
//!
//! The tests of a server run one after the other, since they share its tables.

mod common;

use common::{drive, holds};

fn misses_own_writes(history: &history::History) -> bool {
    let index = history::Index::of(history);
    index.findings().iter().any(|finding| finding.kind == history::FindingKind::NotMyOwnWrite)
}

fn url(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|url| !url.is_empty())
}

#[test]
fn postgres_gives_what_it_promises_and_no_more() {
    let Some(db) = url("ISOSCOPE_TEST_POSTGRES") else { return };
    for workload in ["general", "bank", "rmw", "append", "tpcc"] {
        let ran = drive(&format!(
            "db={db} isolation=serializable workload={workload} sessions=6 transactions=500 keys=100"
        ));
        assert_ne!(holds(&ran.history, "strict-serializable"), Some(false), "{workload}");
    }
    let hot = "workload=general operations=4 keys=20 sessions=8 transactions=1000";
    let repeatable = drive(&format!("db={db} isolation=repeatable-read {hot}")).history;
    assert_eq!(holds(&repeatable, "snapshot-isolation"), Some(true));
    assert_eq!(holds(&repeatable, "serializable"), Some(false));
    let committed = drive(&format!("db={db} isolation=read-committed {hot}")).history;
    assert_eq!(holds(&committed, "snapshot-isolation"), Some(false));
}

#[test]
fn mariadb_loses_updates_and_shows_duplicate_values_wrongly() {
    let Some(db) = url("ISOSCOPE_TEST_MARIADB") else { return };
    let hot = "workload=rmw keys=10 sessions=8 transactions=1000";
    let ran = drive(&format!("db={db} isolation=repeatable-read {hot}"));
    assert_eq!(holds(&ran.history, "snapshot-isolation"), Some(false));
    let ran = drive(&format!("db={db} isolation=serializable {hot}"));
    assert_eq!(holds(&ran.history, "strict-serializable"), Some(true));
    // MDEV-26642: only where values repeat does a transaction not see its own write.
    let small = "isolation=repeatable-read workload=general operations=6 keys=10 transactions=2000";
    assert!(misses_own_writes(&drive(&format!("db={db} {small} duplicates=1:2")).history));
    assert!(!misses_own_writes(&drive(&format!("db={db} {small}")).history));
}
