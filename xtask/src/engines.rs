//! `cargo xtask test --all-engines`: the embedded engines that take minutes to build, which `cargo xtask test` leaves out.
//!
//! The licences of everything that they bring, lints and tests of the crates that drive databases with all of them built
//! in, and a run of 20,000 transactions on each embedded engine, which must satisfy what its vendor promises. DuckDB is
//! hundreds of files of C++, so the first time takes long.

use std::path::Path;

use crate::licences;
use crate::run::{Done, cargo, expect_success, target};

/// Every feature that is an engine.
const FEATURES: &str = "duckdb,slatedb,surrealkv,turso";
/// The crates that have these features and tests of databases.
const CRATES: [&str; 3] = ["isoscope-databases", "isoscope-probe", "isoscope-run"];
/// What is run: an engine at a setting. (turso with a write-ahead log is tested, not run: its writers wait in turn.)
const RUNS: [(&str, &str); 8] = [
    ("sqlite", "deferred"),
    ("fjall", "serializable"),
    ("redb", "serializable"),
    ("duckdb", "snapshot"),
    ("slatedb", "snapshot"),
    ("slatedb", "serializable"),
    ("surrealkv", "snapshot"),
    ("turso", "concurrent"),
];
const WORKLOADS: [&str; 2] = ["general", "append"];
const TRANSACTIONS: &str = "20000";

/// All of it.
pub fn run() -> Done {
    println!("== licences, with every engine");
    licences::check(true)?;
    println!("== lints, with every engine");
    expect_success(&mut cargo(&with_engines(&["clippy"], &["--all-targets", "--", "-D", "warnings"])))?;
    println!("== tests, with every engine");
    expect_success(&mut cargo(&with_engines(&["test"], &[])))?;
    println!("== runs of {TRANSACTIONS} transactions");
    expect_success(&mut cargo(&["build", "-p", "isoscope-cli", "--features", FEATURES]))?;
    let folder = target().join("engines");
    let done = run_all(&folder);
    // What is left there is of use only if a run failed.
    if done.is_ok() {
        let _ = std::fs::remove_dir_all(&folder);
    }
    done
}

/// The words of cargo for the crates with all engines.
fn with_engines<'w>(start: &[&'w str], end: &[&'w str]) -> Vec<&'w str> {
    let mut words = start.to_vec();
    for name in CRATES {
        words.extend(["-p", name]);
    }
    words.extend(["--features", FEATURES]);
    words.extend(end);
    words
}

/// Runs every workload on every engine; all are tried, and the error names those that failed.
fn run_all(folder: &Path) -> Done {
    let mut failed = Vec::new();
    for (scheme, setting) in RUNS {
        for workload in WORKLOADS {
            println!("-- {scheme} {setting} {workload}");
            if let Err(error) = run_one(folder, scheme, setting, workload) {
                failed.push(error);
            }
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("runs that did not pass:\n  {}", failed.join("\n  ")))
    }
}

/// One run in an empty place; isoscope's exit code says whether the promise was kept.
fn run_one(folder: &Path, scheme: &str, setting: &str, workload: &str) -> Done {
    let place = folder.join(format!("{scheme}-{setting}-{workload}"));
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let url = format!("{scheme}:{}/store", place.display());
    let history = place.join("history.jsonl");
    let mut isoscope = std::process::Command::new(target().join("debug").join("isoscope"));
    isoscope.args(["run", "--db", &url, "--isolation", setting, "--workload", workload]);
    isoscope.args(["--transactions", TRANSACTIONS, "--out"]).arg(history);
    expect_success(&mut isoscope)
}
