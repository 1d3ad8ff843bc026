//! Every workload on SQLite, which is serializable: nothing may be accused.

mod common;

use common::{Folder, drive, holds, size_of};
use history::{Op, Outcome};
use isoscope::LevelId;
use isoscope_run::workload::WORKLOADS;

fn transactions() -> u32 {
    let wanted = std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok());
    wanted.unwrap_or(300).min(20_000)
}

#[test]
fn every_workload_is_strictly_serializable() {
    for workload in WORKLOADS.map(|workload| workload.name) {
        let folder = Folder::new();
        let db = format!("sqlite:{}?mode=wal", folder.file("test.db").display());
        let (keys, count) = size_of(workload, 50, transactions());
        let ran = drive(&format!("db={db} workload={workload} sessions=3 transactions={count} keys={keys}"));
        assert_eq!(ran.summary.tally.committed, u64::from(count), "{workload}");
        assert_eq!(ran.summary.no_final_read, None);
        assert_ne!(holds(&ran.history, LevelId::StrictSerializable), Some(false), "{workload}");
    }
}

/// Before an update that returned the rows it changed stands a read of them as they were before.
#[test]
fn an_update_by_condition_is_recorded_with_the_rows_that_it_found() {
    let folder = Folder::new();
    let db = format!("sqlite:{}", folder.file("test.db").display());
    let history = drive(&format!("db={db} workload=blindw-pred sessions=1 transactions=30 keys=100")).history;
    let mut updates = 0;
    for txn in history.txns() {
        let ops: Vec<_> = history.ops(txn).map(|(_, op)| op).collect();
        for (place, op) in ops.iter().enumerate() {
            let Op::PredicateWrite(write) = op else { continue };
            updates += 1;
            let Op::PredicateRead(read) = &ops[place - 1] else { panic!("{:?}", ops[place - 1]) };
            assert_eq!(read.predicate.datum(), write.predicate.datum());
            let rows = read.rows.clone().expect("the read was answered");
            assert_eq!(Some(rows.iter().map(|row| row.key).collect()), write.keys);
        }
    }
    assert!(updates > 10, "{updates}");
    assert_eq!(holds(&history, LevelId::StrictSerializable), Some(true));
    assert_eq!(holds(&history, LevelId::Serializable), Some(true));
}

#[test]
fn a_bank_keeps_its_total_and_says_so() {
    let folder = Folder::new();
    let db = format!("sqlite:{}", folder.file("test.db").display());
    let ran = drive(&format!("db={db} isolation=immediate workload=bank sessions=4 transactions=200 keys=5"));
    assert_eq!(ran.summary.remark.as_deref(), Some("the accounts hold 500 together, as at first"));
    assert_eq!(holds(&ran.history, LevelId::StrictSerializable), Some(true));
}

#[test]
fn one_session_does_the_same_for_the_same_seed() {
    let run = |seed: u32| {
        let folder = Folder::new();
        let db = format!("sqlite:{}", folder.file("test.db").display());
        let ran = drive(&format!("db={db} workload=range sessions=1 transactions=50 keys=20 seed={seed}"));
        let history = ran.history;
        let ops = history.txns().flat_map(|txn| history.op_range(txn)).map(history::OpId);
        ops.map(|op| format!("{:?}", history.op(op))).collect::<Vec<_>>()
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn the_final_read_is_the_last_session_and_sees_every_key() {
    let folder = Folder::new();
    let db = format!("sqlite:{}", folder.file("test.db").display());
    let history = drive(&format!("db={db} workload=general sessions=2 transactions=20 keys=30")).history;
    let last = history.sessions().last().unwrap();
    assert_eq!(history.session_name(last), Some("final read".into()));
    let txn = history.session_txns(last).last().unwrap();
    assert_eq!((history.outcome(txn), history.op_range(txn).len()), (Outcome::Committed, 30));
}

#[test]
fn a_nemesis_leaves_transactions_that_check() {
    let folder = Folder::new();
    let db = format!("sqlite:{}?mode=wal", folder.file("test.db").display());
    let ran = drive(&format!(
        "db={db} workload=rmw sessions=4 duration=500ms keys=10 nemesis=drop-connection=20ms,pause-session=50ms:10ms"
    ));
    assert!(ran.summary.reconnects > 0 && ran.summary.events.len() > 5, "{:?}", ran.summary);
    assert_eq!(holds(&ran.history, LevelId::StrictSerializable), Some(true));
}
