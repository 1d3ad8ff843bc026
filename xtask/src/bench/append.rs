//! `cargo xtask bench append`: lists as Jepsen records them, valid and with faults, by levels and by classes.
//!
//! The time is that of the whole command, reading included.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::Bench;
use super::history::Source;
use super::measure::median;
use super::table::{self, ms};
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
    Case(&["--workload", "append", "--transactions", "100000"], &[STRICT, CLASSES, ELLE]),
    Case(&["--workload", "append", "--transactions", "1000000"], &[STRICT, CLASSES, ELLE, ALL]),
    // Most transactions are in one component.
    Case(
        &["--workload", "append", "--transactions", "3000", "--fault", "stale-read=0.3"],
        &[STRICT, PLAIN, SNAPSHOT, CLASSES, ELLE],
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
        &[SNAPSHOT, CLASSES, ELLE],
    ),
    Case(
        &["--workload", "append", "--transactions", "5000", "--fault", "lost-update=0.02"],
        &[PLAIN, SNAPSHOT, CLASSES, ELLE],
    ),
    Case(
        &["--workload", "append", "--transactions", "30000", "--fault", "lost-update=0.02"],
        &[PLAIN, SNAPSHOT, STRICT, CLASSES, ELLE],
    ),
    Case(
        &["--workload", "append", "--transactions", "30000", "--fault", "fractured-read=0.02"],
        &[PLAIN, SNAPSHOT, STRICT, CLASSES, ELLE],
    ),
];

/// Runs the suite.
pub fn run(bench: &Bench) -> Done {
    table::head(&["history", "question", "exit code", "time"]);
    for Case(flags, questions) in &CASES {
        let file = bench.jepsen(flags)?;
        for question in *questions {
            let (code, time_ms) = bench.ask(question, &file)?;
            let name = bench.name_of(Source::Generated(flags));
            table::row(&[name, question.join(" "), code.to_string(), ms(time_ms)]);
        }
    }
    Ok(())
}

impl Bench {
    /// The exit code and the median time of a question about a file.
    fn ask(&self, question: &[&str], file: &Path) -> Done<(i32, f64)> {
        let mut times = Vec::new();
        let mut code = 0;
        for _ in 0..self.runs {
            let started = Instant::now();
            let output = Command::new(&self.isoscope).args(question).arg(file).output();
            let output = output.map_err(|error| format!("{}: {error}", self.isoscope.display()))?;
            times.push(started.elapsed().as_secs_f64() * 1000.0);
            code = output.status.code().unwrap_or(-1);
        }
        Ok((code, median(times.iter().copied())))
    }

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
