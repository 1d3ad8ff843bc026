//! How long it takes to decide: one table for each family of levels, one for the stages.

use std::path::PathBuf;
use std::process::Command;

use super::Bench;
use super::history::{Source, shared, small};
use super::measure::Measure;
use super::table::{self, mb, ms};
use crate::run::{Done, output_of, target};

/// A history, the level to decide, and what to aim at: milliseconds and megabytes.
pub struct Case(pub Source, pub &'static str, pub &'static str);

const SERIALIZABLE: [Case; 14] = [
    Case(small("fig5/BL-1k.bincode"), "session-serializable", ""),
    Case(shared("fig13/RH-10k.bincode"), "session-serializable", "200 ms, 100 MB"),
    Case(shared("fig13/BL-10k.bincode"), "session-serializable", "200 ms, 100 MB"),
    Case(shared("fig13/WH-10k.bincode"), "session-serializable", "200 ms, 100 MB"),
    Case(shared("fig13/HD-10k.bincode"), "session-serializable", "200 ms, 100 MB"),
    Case(shared("fig13/tpcc-10k"), "session-serializable", "100 ms"),
    Case(shared("fig13/twitter-10k"), "session-serializable", "100 ms"),
    Case(shared("fig13/rubis-10k"), "session-serializable", "100 ms"),
    Case(shared("fig11/chengRW-16000.bincode"), "session-serializable", "150 ms, 100 MB"),
    Case(Source::Generated(&["--workload", "rmw"]), "session-serializable", "300 ms, 150 MB"),
    Case(Source::Generated(&["--workload", "duplicates"]), "session-serializable", "10 s, 2 GiB"),
    Case(Source::Generated(&["--workload", "million"]), "session-serializable", "45 s, 6 GiB"),
    Case(
        Source::Generated(&["--workload", "blindw-wr", "--transactions", "100000"]),
        "strict-serializable",
        "1 s, 150 MB",
    ),
    Case(Source::Generated(&["--workload", "rmw"]), "strict-serializable", ""),
];

const SNAPSHOT: [Case; 13] = [
    Case(small("fig11/si-1000"), "session-snapshot-isolation", ""),
    Case(shared("fig11/si-4000"), "session-snapshot-isolation", ""),
    Case(small("fig5/BL-1k.bincode"), "session-snapshot-isolation", "30 ms"),
    Case(small("fig5/WH-1k.bincode"), "session-snapshot-isolation", "30 ms"),
    Case(shared("fig12/si-10k-read-0.3.bincode"), "session-snapshot-isolation", "400 ms"),
    Case(shared("fig12/si-10k-read-0.95.bincode"), "session-snapshot-isolation", "400 ms"),
    Case(
        Source::Generated(&["--workload", "blindw-rw", "--level", "session-snapshot"]),
        "session-snapshot-isolation",
        "150 ms, 100 MB",
    ),
    Case(
        Source::Generated(&[
            "--workload",
            "duplicates",
            "--level",
            "session-snapshot",
            "--transactions",
            "50000",
            "--read-share",
            "0.3",
        ]),
        "session-snapshot-isolation",
        "30 s, 2 GiB",
    ),
    Case(Source::Generated(&["--workload", "blindw-rw", "--level", "snapshot"]), "strong-si", ""),
    Case(Source::Generated(&["--workload", "rmw", "--level", "prefix"]), "prefix", ""),
    Case(Source::Generated(&["--workload", "range-b", "--level", "snapshot"]), "strong-si", "500 ms"),
    Case(Source::Generated(&["--workload", "range-rqh", "--level", "snapshot"]), "strong-si", "500 ms"),
    Case(Source::Generated(&["--workload", "range-idh", "--level", "snapshot"]), "strong-si", "500 ms"),
];

/// A million operations of transactions of twenty on keys that are chosen by Zipf's law, from a store of this level.
macro_rules! zipf {
    ($level:literal) => {
        Source::Generated(&[
            "--level",
            $level,
            "--transactions",
            "50000",
            "--operations",
            "20",
            "--sessions",
            "50",
            "--keys",
            "100000",
            "--distribution",
            "zipf:1",
            "--no-times",
            "--no-aborted",
        ])
    };
}

/// Ten million operations of transactions of twenty, from a store of this level.
macro_rules! ten_million {
    ($level:literal) => {
        Source::Generated(&[
            "--level",
            $level,
            "--transactions",
            "500000",
            "--operations",
            "20",
            "--sessions",
            "100",
            "--keys",
            "1000000",
            "--no-times",
            "--no-aborted",
        ])
    };
}

/// All levels that follow from sessions and reads alone, or nearly so.
const ALL_WEAK: &str = "read-uncommitted,read-committed,cut-isolation,read-atomic,causal,read-your-writes,\
                        monotonic-writes,monotonic-atomic-view";

/// 100,000 transactions of the simulated store at parallel snapshot isolation.
const PARALLEL: Source =
    Source::Generated(&["--level", "parallel-snapshot", "--transactions", "100000", "--no-times"]);

const WEAK: [Case; 20] = [
    Case(small("fig5/BL-1k.bincode"), "causal", ""),
    Case(zipf!("causal"), "read-committed", "300 ms, 80 MB"),
    Case(zipf!("causal"), "read-atomic", "300 ms, 80 MB"),
    Case(zipf!("causal"), "causal", "300 ms, 80 MB"),
    Case(zipf!("read-atomic"), "read-committed", "300 ms, 80 MB"),
    Case(zipf!("read-atomic"), "read-atomic", "300 ms, 80 MB"),
    Case(zipf!("read-atomic"), "causal", "300 ms, 80 MB"),
    Case(zipf!("read-committed"), "read-committed", "300 ms, 80 MB"),
    Case(zipf!("read-committed"), "read-atomic", "300 ms, 80 MB"),
    Case(zipf!("read-committed"), "causal", "300 ms, 80 MB"),
    Case(shared("fig13/HD-10k.bincode"), "read-committed", "300 ms"),
    Case(shared("fig13/HD-10k.bincode"), "read-atomic", "300 ms"),
    Case(shared("fig13/HD-10k.bincode"), "causal", "300 ms"),
    Case(shared("fig13/HD-10k.bincode"), "parallel-si", "300 ms"),
    Case(PARALLEL, "parallel-si", "5 s"),
    Case(PARALLEL, "consistent-view", "5 s"),
    Case(zipf!("causal"), ALL_WEAK, "three times the reading"),
    Case(ten_million!("causal"), "read-committed", "4 s, 700 MB"),
    Case(ten_million!("causal"), "read-atomic", "4 s, 700 MB"),
    Case(ten_million!("causal"), "causal", "4 s, 700 MB"),
];

/// `cargo xtask bench weak`: processor time of the whole command in Plume's text, beside that of `isoscope stats` on the
/// same file, and of a user's copy of two levels beside the shipped ones.
pub fn weak(bench: &Bench) -> Done {
    table::head(&["history", "level", "exit", "check", "stats", "peak", "aim"]);
    for Case(source, level, aim) in &WEAK {
        bench.beside_reading(*source, level, level, aim)?;
    }
    let copies = bench.copies_of_levels()?;
    for (source, level, copy) in [
        (zipf!("causal"), "causal", "mine"),
        (shared("fig13/HD-10k.bincode"), "session-serializable", "mine-serializable"),
    ] {
        bench.beside_reading(source, level, level, "")?;
        let copy = format!("{}:{copy}", copies.display());
        bench.beside_reading(
            source,
            &copy,
            &format!("a copy of {level}"),
            "no slower than the line before",
        )?;
    }
    Ok(())
}

impl Bench {
    /// A row: processor time and memory of a check, and the time of reading alone.
    fn beside_reading(&self, source: Source, level: &str, name: &str, aim: &str) -> Done {
        let Some(file) = self.text_of(source)? else { return Ok(()) };
        let mut check = Command::new(&self.isoscope);
        check.arg("check").arg(&file).args([
            "--level",
            level,
            "--threads",
            "1",
            "--time-limit",
            "120s",
            "-q",
        ]);
        let (code, check_ms, peak) = self.processor(&check)?;
        let mut stats = Command::new(&self.isoscope);
        stats.arg("stats").arg(&file);
        let (_, stats_ms, _) = self.processor(&stats)?;
        let aim = if self.quick { "" } else { aim };
        let name = if name.contains(',') { "all weak levels in one call" } else { name };
        table::row(&[
            self.name_of(source),
            name.to_owned(),
            code.to_string(),
            ms(check_ms),
            ms(stats_ms),
            mb(peak),
            aim.to_owned(),
        ]);
        Ok(())
    }

    /// The history in Plume's text, where it can be said in it.
    fn text_of(&self, source: Source) -> Done<Option<PathBuf>> {
        let Some(file) = self.file_of(source)? else { return Ok(None) };
        if matches!(source, Source::Shared { .. }) {
            return Ok(Some(file));
        }
        let text = file.with_extension("plume");
        if !text.exists() {
            let mut convert = Command::new(&self.isoscope);
            convert.args(["convert", "--lossy", "--to", "polysi"]).arg(&file).arg(&text);
            output_of(&mut convert, &[0])?;
        }
        Ok(Some(text))
    }

    /// A file with copies of two shipped levels under other names.
    fn copies_of_levels(&self) -> Done<PathBuf> {
        let file = target().join("bench").join("copies.iso");
        let text =
            "level mine : visible = (session | reads_from)+\nlevel mine-serializable : visible = before\n";
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(file)
    }
}

/// `cargo xtask bench serializable`.
pub fn serializable(bench: &Bench) -> Done {
    decide(bench, &SERIALIZABLE)
}

/// `cargo xtask bench snapshot`.
pub fn snapshot(bench: &Bench) -> Done {
    decide(bench, &SNAPSHOT)
}

/// A table of what it takes to decide each case.
pub fn decide(bench: &Bench, cases: &[Case]) -> Done {
    table::head(&[
        "history", "level", "verdict", "total", "read", "decide", "peak", "aim", "stages", "counts",
    ]);
    for Case(source, level, aim) in cases {
        let Some(file) = bench.file_of(*source)? else {
            continue;
        };
        let measure = bench.check(&file, level, &[])?;
        table::row(&[
            bench.name_of(*source),
            (*level).to_owned(),
            measure.verdict.clone(),
            ms(measure.total_ms),
            ms(measure.read_ms),
            ms(measure.decide_ms),
            mb(measure.peak_bytes),
            if bench.quick { String::new() } else { (*aim).to_owned() },
            stages(&measure),
            counts(&measure),
        ]);
    }
    Ok(())
}

fn stages(measure: &Measure) -> String {
    let shown = measure.stages.iter().filter(|(_, time)| *time >= 0.05);
    let shown: Vec<_> =
        shown.map(|(name, time)| format!("{} {}", name.trim_end_matches("_ms"), ms(*time))).collect();
    shown.join(", ")
}

/// What is left to the search, and what that took.
const COUNTS: [&str; 5] = ["pairs", "ambiguous reads", "undecided pairs", "decisions", "conflicts"];

fn counts(measure: &Measure) -> String {
    let known = |name: &&str| measure.counts.iter().find(|(known, _)| known == name);
    let shown: Vec<_> =
        COUNTS.iter().filter_map(known).map(|(name, count)| format!("{count} {name}")).collect();
    shown.join(", ")
}

const STAGES: [&str; 6] = ["saturate", "windows", "guess", "components", "lazy", "polarity"];

const ABLATION: [Case; 4] = [
    Case(small("fig5/BL-1k.bincode"), "session-serializable", ""),
    Case(shared("fig13/BL-10k.bincode"), "session-serializable", ""),
    Case(Source::Generated(&["--workload", "rmw"]), "session-serializable", ""),
    Case(
        Source::Generated(&["--workload", "zipf", "--level", "session-snapshot"]),
        "session-snapshot-isolation",
        "",
    ),
];

/// `cargo xtask bench ablation`: what each stage is worth.
pub fn ablation(bench: &Bench) -> Done {
    let mut columns = vec!["history", "all stages"];
    let without: Vec<String> = STAGES.iter().map(|stage| format!("without {stage}")).collect();
    columns.extend(without.iter().map(String::as_str));
    table::head(&columns);
    for Case(source, level, _) in &ABLATION {
        let Some(file) = bench.file_of(*source)? else {
            continue;
        };
        let mut cells = vec![bench.name_of(*source), decided(&bench.check(&file, level, &[])?)];
        for stage in STAGES {
            cells.push(decided(&bench.check(&file, level, &["--without", stage])?));
        }
        table::row(&cells);
    }
    Ok(())
}

fn decided(measure: &Measure) -> String {
    match measure.verdict.as_str() {
        "undecided" => format!("over {}", ms(measure.decide_ms)),
        _ => ms(measure.decide_ms),
    }
}
