//! `cargo xtask bench append`: lists as Jepsen records them, valid and with faults, by levels and by classes.
//!
//! The time is that of the processor for the whole command, reading included, beside that of `isoscope stats` on the same
//! file.

use std::process::Command;

use super::Bench;
use super::formats::size_of;
use super::history::Source;
use super::table::{self, mb, ms};
use crate::run::{Done, output_of};

/// Flags of `generate`, and what to ask of the history.
struct Case(&'static [&'static str], &'static [&'static [&'static str]]);

const STRICT: &[&str] = &["check", "--level", "strict-serializable"];
const CLASSES: &[&str] = &["check", "--anomalies"];
const ELLE: &[&str] = &["elle", "--model", "list-append"];
const PLAIN: &[&str] = &["check", "--level", "serializable"];
const SNAPSHOT: &[&str] = &["check", "--level", "snapshot-isolation"];
const ALL: &[&str] = &["check"];

const CASES: [Case; 7] = [
    Case(
        &["--workload", "append", "--no-aborted", "--transactions", "100000"],
        &[STRICT, CLASSES, ELLE, ALL],
    ),
    Case(
        &["--workload", "append", "--no-aborted", "--transactions", "1000000"],
        &[STRICT, CLASSES, ELLE, ALL],
    ),
    // Most transactions are in one component.
    Case(
        &["--workload", "append", "--transactions", "3000", "--fault", "stale-read=0.3"],
        &[STRICT, PLAIN, SNAPSHOT, CLASSES, ELLE, ALL],
    ),
    // One G-single among many G2.
    Case(
        &[
            "--workload",
            "append",
            "--transactions",
            "30000",
            "--level",
            "snapshot",
            "--plant",
            "fractured-read",
        ],
        &[SNAPSHOT, CLASSES, ELLE, ALL],
    ),
    Case(
        &["--workload", "append", "--transactions", "5000", "--fault", "lost-update=0.02"],
        &[PLAIN, SNAPSHOT, CLASSES, ELLE],
    ),
    Case(
        &["--workload", "append", "--transactions", "30000", "--fault", "lost-update=0.02"],
        &[PLAIN, SNAPSHOT, STRICT, CLASSES, ELLE, ALL],
    ),
    Case(
        &["--workload", "append", "--transactions", "30000", "--fault", "fractured-read=0.02"],
        &[PLAIN, SNAPSHOT, STRICT, CLASSES, ELLE, ALL],
    ),
];

/// Runs the suite.
pub fn run(bench: &Bench) -> Done {
    table::head(&["history", "size", "question", "exit", "time", "stats", "peak"]);
    for Case(flags, questions) in &CASES {
        let file = bench.jepsen(flags)?;
        let mut stats = Command::new(&bench.isoscope);
        let (_, stats_ms, _) = bench.processor(stats.arg("stats").arg(&file))?;
        for question in *questions {
            let mut ask = Command::new(&bench.isoscope);
            let (code, time_ms, peak) = bench.processor(ask.args(*question).arg(&file))?;
            table::row(&[
                bench.name_of(Source::Generated(flags)),
                mb(size_of(&file)?),
                question.join(" "),
                code.to_string(),
                ms(time_ms),
                ms(stats_ms),
                mb(peak),
            ]);
        }
    }
    Ok(())
}

impl Bench {
    /// A generated history in EDN.
    fn jepsen(&self, flags: &'static [&'static str]) -> Done<std::path::PathBuf> {
        let native = self.file_of(Source::Generated(flags))?;
        let native = native.ok_or("the history was not generated")?;
        let file = native.with_extension("edn");
        if !file.exists() {
            let mut convert = Command::new(&self.isoscope);
            output_of(convert.arg("convert").arg("--lossy").arg(&native).arg(&file), &[0])?;
        }
        Ok(file)
    }
}
