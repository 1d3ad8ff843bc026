//! Rejecting against accepting: the same history with an anomaly planted at twenty places.

use super::Bench;
use super::history::{Source, shared, small};
use super::measure::median;
use super::table::{self, ms};
use crate::run::Done;

/// A history, a level that it satisfies, and the anomalies to plant.
struct Case(Source, &'static str, &'static [&'static str]);

const CASES: [Case; 4] = [
    Case(small("fig5/BL-1k.bincode"), "session-serializable", &["write-skew", "lost-update"]),
    Case(shared("fig13/BL-10k.bincode"), "session-serializable", &["write-skew", "lost-update", "long-fork"]),
    Case(
        Source::Generated(&[
            "--workload",
            "blindw-rw",
            "--level",
            "session-snapshot",
            "--transactions",
            "2000",
        ]),
        "session-snapshot-isolation",
        &["g1c", "long-fork", "g-sib"],
    ),
    Case(
        Source::Generated(&[
            "--workload",
            "blindw-rw",
            "--level",
            "session-snapshot",
            "--transactions",
            "5000",
        ]),
        "session-snapshot-isolation",
        &["g1c", "long-fork", "g-sib"],
    ),
];

/// `cargo xtask bench reject`.
pub fn run(bench: &Bench) -> Done {
    let seeds = if bench.quick { 2 } else { 20 };
    table::head(&["history", "anomaly", "rejected", "accepting", "fastest", "median", "slowest"]);
    for Case(source, level, anomalies) in &CASES {
        let Some(file) = bench.file_of(*source)? else {
            continue;
        };
        let accepting = bench.check(&file, level, &[])?;
        for anomaly in *anomalies {
            let mut times = Vec::new();
            let mut rejected = 0;
            for seed in 1..=seeds {
                let planted = bench.planted(&file, anomaly, seed)?;
                let measure = bench.check(&planted, level, &[])?;
                times.push(measure.decide_ms);
                rejected += usize::from(measure.verdict == "violated");
            }
            table::row(&[
                bench.name_of(*source),
                (*anomaly).to_owned(),
                format!("{rejected} of {seeds}"),
                ms(accepting.decide_ms),
                ms(times.iter().copied().fold(f64::INFINITY, f64::min)),
                ms(median(times.iter().copied())),
                ms(times.iter().copied().fold(0.0, f64::max)),
            ]);
        }
    }
    Ok(())
}
