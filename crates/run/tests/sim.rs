//! The simulated store: every fault is found where it is forbidden, and no promise is called broken without one.

mod common;

use ::drive::simulate::Fault;
use common::{drive, holds, size_of};
use databases::simulated_promise;
use isoscope::LevelId::{self, *};
use isoscope_run::workload::WORKLOADS;

/// Whether everything is to be tried.
fn is_long() -> bool {
    std::env::var_os("ISOSCOPE_SOAK").is_some()
}

/// How many seeds each.
fn seeds() -> u64 {
    if is_long() { 20 } else { 2 }
}

const HOT: &str = "keys=8 operations=4 read-modify-write-share=0.5 sessions=6 transactions=400";

/// A fault with the weakest level that forbids it and can be asked, and the strongest below it that allows it, if it
/// leaves one whole.
struct Case {
    store: &'static str,
    fault: &'static str,
    forbidden: LevelId,
    allowed: Option<LevelId>,
}

const fn case(
    store: &'static str,
    fault: &'static str,
    forbidden: LevelId,
    allowed: Option<LevelId>,
) -> Case {
    Case { store, fault, forbidden, allowed }
}

const CASES: [Case; 10] = [
    case("snapshot", "lost-update", SnapshotIsolation, Some(Prefix)),
    case("serializable", "lost-update", SnapshotIsolation, None),
    case("serializable", "aborted-read", ReadCommitted, Some(ReadUncommitted)),
    case("serializable", "dirty-read", ReadCommitted, Some(ReadUncommitted)),
    // Read atomic forbids it too, but has no engine yet.
    case("serializable", "fractured-read", Prefix, None),
    case("serializable", "long-fork", Prefix, None),
    // A session that does not see its own past is no prefix; snapshots that know no sessions may be old.
    case("serializable", "stale-read", Prefix, Some(SnapshotIsolation)),
    case("serializable", "lost-commit", Prefix, None),
    case("serializable", "write-skew", Serializable, Some(SessionSnapshotIsolation)),
    case("serializable", "clock-skew", StrictSerializable, Some(SessionSerializable)),
];

#[test]
fn every_fault_is_found_at_the_weakest_level_that_forbids_it() {
    for Case { store, fault, forbidden, allowed } in CASES {
        for seed in 1..=seeds() {
            let url = format!("sim:{store}?fault={fault}&rate=0.2&seed={seed}&latency-us=200");
            let ran = drive(&format!("db={url} workload=general seed={seed} {HOT}"));
            assert_eq!(holds(&ran.history, forbidden), Some(false), "{fault}, {store}, seed {seed}");
            if let Some(allowed) = allowed {
                assert_eq!(holds(&ran.history, allowed), Some(true), "{fault}, {store}, seed {seed}");
            }
        }
    }
}

/// The rows that updates returned leave so little open that levels without real time are decided.
#[test]
fn updates_by_condition_are_decided_without_real_time() {
    for seed in 1..=seeds() {
        let db = format!("sim:snapshot?seed={seed}&latency-us=100");
        let ran =
            drive(&format!("db={db} workload=blindw-pred keys=300 sessions=8 transactions=400 seed={seed}"));
        assert_eq!(holds(&ran.history, SnapshotIsolation), Some(true), "seed {seed}");
        assert_ne!(holds(&ran.history, Serializable), None, "seed {seed}");
    }
}

#[test]
fn there_is_a_case_for_every_fault() {
    for fault in Fault::ALL {
        assert!(CASES.iter().any(|case| case.fault == fault.name()), "{}", fault.name());
    }
}

/// Every setting with every workload in a long run; else each setting with some of its own.
#[test]
fn nothing_is_accused_without_a_fault() {
    let settings = databases::open(&[databases::Url::parse("sim:").unwrap()]).unwrap().settings();
    for (place, setting) in settings.iter().map(|setting| setting.name.as_str()).enumerate() {
        let promised = simulated_promise(setting).unwrap();
        for seed in 0..seeds() {
            let turn = (place * seeds() as usize + seed as usize) % WORKLOADS.len();
            let chosen = if is_long() { 0..WORKLOADS.len() } else { turn..turn + 1 };
            for workload in WORKLOADS[chosen].iter().map(|workload| workload.name) {
                let (keys, transactions) = size_of(workload, 30, 150);
                let size = format!("keys={keys} sessions=6 transactions={transactions}");
                let db = format!("sim:{setting}?seed={seed}");
                let ran = drive(&format!("db={db} workload={workload} {size} seed={seed}"));
                // Of some levels only what single reads show can be said.
                assert_ne!(holds(&ran.history, promised), Some(false), "{setting}, {workload}, seed {seed}");
            }
        }
    }
}
