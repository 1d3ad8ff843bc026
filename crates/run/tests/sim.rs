//! The simulated store: every fault is found where it is forbidden, and no promise is called broken without one.

mod common;

use certify::Level;
use common::{drive, holds};

/// How many seeds each.
fn seeds() -> u64 {
    std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(2)
}

const HOT: &str = "keys=8 operations=4 read-modify-write-share=0.5 sessions=6 transactions=400";

#[test]
fn every_fault_is_found() {
    for (fault, level) in [
        ("lost-update", "snapshot-isolation"),
        ("aborted-read", "prefix"),
        ("fractured-read", "prefix"),
        ("long-fork", "prefix"),
        ("dirty-read", "prefix"),
        ("write-skew", "serializable"),
        ("stale-read", "strict-serializable"),
        ("lost-commit", "strict-serializable"),
    ] {
        for seed in 1..=seeds() {
            let url = format!("sim:serializable?fault={fault}&rate=0.2&seed={seed}&latency-us=200");
            let ran = drive(&format!("db={url} workload=general seed={seed} {HOT}"));
            assert_eq!(holds(&ran.history, level), Some(false), "{fault}, seed {seed}");
        }
    }
}

#[test]
fn nothing_is_accused_without_a_fault() {
    let workloads = ["general", "rmw", "bank", "range", "tpcc", "twitter", "rubis"];
    for setting in ["serial", "serializable", "snapshot", "session-snapshot", "two-phase-locking", "ssi"] {
        let promised = databases::simulated_promise(setting).unwrap();
        assert!(Level::named(promised).is_some());
        for seed in 0..seeds() {
            let workload = workloads[seed as usize % workloads.len()];
            let ran = drive(&format!(
                "db=sim:{setting}?seed={seed} workload={workload} keys=30 sessions=6 transactions=200 seed={seed}"
            ));
            assert_eq!(holds(&ran.history, promised), Some(true), "{setting}, {workload}, seed {seed}");
        }
    }
}
