//! Ten times the transactions: what does it cost?
//!
//! The contention stays the same, because there are as many keys as transactions and equally many sessions: a key is
//! written equally often, whatever the size. (A skewed workload does not have that: its hottest key gets the same share
//! of ever more operations, so it is measured apart and not held to the aim.) Times are those that the command takes
//! itself, from the start of reading to the answer, so that the start of a process does not flatter the large ones.
//! The sizes take turns, so that a machine that is busy for a while is so for all of them, and the cost is the ratio of
//! medians.

use std::path::PathBuf;

use super::Bench;
use super::history::Source;
use super::measure::{Measure, median};
use super::table::{self, mb, ms};
use crate::run::Done;

/// A workload, the level to decide, and whether its contention is the same at every size.
struct Case(&'static str, &'static str, bool);

const CASES: [Case; 5] = [
    Case("general", "session-serializable", true),
    Case("blindw-wr", "session-serializable", true),
    Case("blindw-wr", "strict-serializable", true),
    Case("blindw-rw", "session-snapshot-isolation", true),
    Case("zipf", "session-serializable", false),
];

const SIZES: [&str; 2] = ["10000", "100000"];

/// Runs of each size; more than elsewhere, since a ratio doubles what noise does.
const RUNS: usize = 11;

/// `cargo xtask bench scaling`.
pub fn run(bench: &Bench) -> Done {
    let sizes = SIZES.map(|size| format!("{size} transactions"));
    table::head(&[
        "history", "level", &sizes[0], &sizes[1], "times", "aim", "read", "index", "decide", "peak",
    ]);
    CASES.iter().try_for_each(|case| measure(bench, case))
}

fn measure(bench: &Bench, &Case(workload, level, is_same): &Case) -> Done {
    let mut files = Vec::new();
    for size in SIZES {
        files.push(bench.file_of(source(workload, level, size))?);
    }
    let files: Vec<PathBuf> = files.into_iter().flatten().collect();
    let mut runs: Vec<Vec<Measure>> = vec![Vec::new(); files.len()];
    for _ in 0..if bench.quick { 1 } else { RUNS } {
        for (file, runs) in files.iter().zip(&mut runs) {
            runs.push(bench.check_once(file, level, &[])?);
        }
    }
    let [small, large] = &runs[..] else { return Ok(()) };
    let both =
        |part: fn(&Measure) -> f64| format!("{}, {}", ms(middle(small, part)), ms(middle(large, part)));
    let peak = |runs: &[Measure]| runs.iter().map(|run| run.peak_bytes).fold(0.0, f64::max);
    table::row(&[
        format!("generated {workload}, as many keys"),
        level.to_owned(),
        ms(middle(small, |run| run.total_ms)),
        ms(middle(large, |run| run.total_ms)),
        format!("{:.1}", ratio(small, large)),
        if is_same && !bench.quick { "13".to_owned() } else { String::new() },
        both(|run| run.read_ms - run.index_ms),
        both(|run| run.index_ms),
        both(|run| run.decide_ms),
        format!("{}, {}", mb(peak(small)), mb(peak(large))),
    ]);
    Ok(())
}

/// As many keys as transactions.
fn source(workload: &'static str, level: &str, size: &'static str) -> Source {
    let mut flags = vec!["--workload", workload, "--transactions", size, "--keys", size];
    if level.contains("snapshot") {
        flags.extend(["--level", "session-snapshot"]);
    }
    Source::Generated(Vec::leak(flags))
}

fn middle(runs: &[Measure], part: fn(&Measure) -> f64) -> f64 {
    median(runs.iter().map(part))
}

fn ratio(small: &[Measure], large: &[Measure]) -> f64 {
    middle(large, |run| run.total_ms) / middle(small, |run| run.total_ms).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_one_of_medians() {
        let runs = |times: [f64; 3]| times.map(|total_ms| Measure { total_ms, ..Measure::default() });
        assert_eq!(ratio(&runs([2.0, 1.0, 90.0]), &runs([20.0, 26.0, 9.0])), 10.0);
    }
}
