//! Servers, when `ISOSCOPE_TEST_POSTGRES` and `ISOSCOPE_TEST_MARIADB` hold their URLs (`cargo xtask services`).
//!
//! The tests of a server run one after the other, since they share its tables.

mod common;

use common::{drive, drive_on, holds};
use isoscope::LevelId;

fn misses_own_writes(history: &history::History) -> bool {
    let index = index::Index::of(history);
    index.findings().iter().any(|finding| finding.kind == index::FindingKind::NotMyOwnWrite)
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
        assert_ne!(holds(&ran.history, LevelId::StrictSerializable), Some(false), "{workload}");
    }
    let hot = "workload=general operations=4 keys=20 sessions=8 transactions=1000";
    let repeatable = drive(&format!("db={db} isolation=repeatable-read {hot}")).history;
    assert_eq!(holds(&repeatable, LevelId::SnapshotIsolation), Some(true));
    assert_eq!(holds(&repeatable, LevelId::Serializable), Some(false));
    let committed = drive(&format!("db={db} isolation=read-committed {hot}")).history;
    assert_eq!(holds(&committed, LevelId::SnapshotIsolation), Some(false));
    // Predicate write skew: rows that come to match, and rows that do no more.
    let rooms = "workload=pred-skew sessions=8 transactions=300";
    let repeatable = drive(&format!("db={db} isolation=repeatable-read {rooms}")).history;
    assert_eq!(holds(&repeatable, LevelId::SnapshotIsolation), Some(true));
    assert_eq!(holds(&repeatable, LevelId::Serializable), Some(false));
    let serializable = drive(&format!("db={db} isolation=serializable {rooms}")).history;
    assert_eq!(holds(&serializable, LevelId::StrictSerializable), Some(true));
    several_urls_are_several_nodes(&db);
}

/// Two URLs of one server are two nodes that know everything at once; connections are cut on both.
fn several_urls_are_several_nodes(db: &str) {
    let nodes = [db, db].map(str::to_owned).to_vec();
    let nemesis = "nemesis=drop-connection=10ms,pause-session=50ms:5ms";
    let rest = format!("isolation=serializable workload=rmw keys=20 sessions=6 duration=800ms {nemesis}");
    let ran = drive_on(nodes, &rest);
    let victims: std::collections::BTreeSet<_> =
        ran.summary.events.iter().filter_map(|event| event.session).map(|session| session % 2).collect();
    assert_eq!(victims.len(), 2, "both nodes are struck: {:?}", ran.summary.events);
    assert!(ran.summary.reconnects > 0 && ran.summary.tally.committed > 0, "{:?}", ran.summary);
    assert_eq!(ran.summary.no_final_read, None);
    assert_eq!(holds(&ran.history, LevelId::StrictSerializable), Some(true));
}

#[test]
fn mariadb_loses_updates_and_shows_duplicate_values_wrongly() {
    let Some(db) = url("ISOSCOPE_TEST_MARIADB") else { return };
    let hot = "workload=rmw keys=10 sessions=8 transactions=1000";
    let ran = drive(&format!("db={db} isolation=repeatable-read {hot}"));
    assert_eq!(holds(&ran.history, LevelId::SnapshotIsolation), Some(false));
    let ran = drive(&format!("db={db} isolation=serializable {hot}"));
    assert_eq!(holds(&ran.history, LevelId::StrictSerializable), Some(true));
    several_urls_are_several_nodes(&db);
    // MDEV-26642: only where values repeat does a transaction not see its own write.
    let small = "isolation=repeatable-read workload=general operations=6 keys=10 transactions=2000";
    assert!(misses_own_writes(&drive(&format!("db={db} {small} duplicates=1:2")).history));
    assert!(!misses_own_writes(&drive(&format!("db={db} {small}")).history));
}
