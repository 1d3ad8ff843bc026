//! How fast histories are read, for each format: megabytes of the input for each second, and memory.

use std::path::Path;
use std::process::Command;

use super::Bench;
use super::history::{Source, shared, small};
use super::measure::{json_of, median, number};
use super::saved::Figure;
use super::table::{self, mb, ms};
use crate::run::Done;

const SHARED: [Source; 7] = [
    shared("fig12/si-10k-read-0.3.bincode"),
    shared("fig13/tpcc-10k"),
    shared("fig13/twitter-10k"),
    small("fig11/si-viper-1000"),
    small("table2/galera.txt"),
    small("elle/list-append-001.edn"),
    small("fig5/BL-1k.bincode"),
];

const LARGE: Source = Source::Generated(&["--workload", "million"]);
const WRITABLE: [&str; 6] = ["native", "notation", "dbcop", "cobra", "polysi", "jepsen"];

/// `cargo xtask bench formats`.
pub fn run(bench: &Bench) -> Done {
    table::head(&["history", "format", "size", "read", "speed", "peak", "model"]);
    for source in SHARED {
        if let Some(file) = bench.file_of(source)? {
            measure(bench, &bench.name_of(source), &file)?;
        }
    }
    if let Some(file) = bench.file_of(LARGE)? {
        for format in WRITABLE {
            let converted = bench.converted(&file, format)?;
            measure(bench, &bench.name_of(LARGE), &converted)?;
        }
    }
    Ok(())
}

fn measure(bench: &Bench, name: &str, file: &Path) -> Done {
    let mut answers = Vec::new();
    for _ in 0..bench.runs {
        answers.push(json_of(Command::new(&bench.isoscope).arg("stats").arg(file).arg("--json"))?);
    }
    let read_ms = median(answers.iter().map(|answer| number(answer, "read_ms")));
    let size = size_of(file)?;
    let peak_bytes = answers.iter().map(|answer| number(answer, "peak_memory_bytes")).fold(0.0, f64::max);
    let runs_ms = answers.iter().map(|answer| number(answer, "read_ms")).collect();
    let file_name = file.file_name().unwrap_or_default().to_string_lossy();
    bench.figures.add(format!("reading {file_name}"), Figure { runs_ms, peak_bytes });
    let answer = &answers[0];
    table::row(&[
        name.to_owned(),
        answer["history"]["format"].as_str().unwrap_or("?").to_owned(),
        mb(size),
        ms(read_ms),
        format!("{:.0} MB/s", size / 1e3 / read_ms.max(1e-3)),
        mb(number(answer, "peak_memory_bytes")),
        mb(number(answer, "history_bytes")),
    ]);
    Ok(())
}

/// The bytes of a file, or of all files in a folder.
pub fn size_of(path: &Path) -> Done<f64> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    if !path.is_dir() {
        return Ok(std::fs::metadata(path).map_err(failed)?.len() as f64);
    }
    let mut bytes = 0.0;
    for entry in std::fs::read_dir(path).map_err(failed)? {
        bytes += size_of(&entry.map_err(failed)?.path())?;
    }
    Ok(bytes)
}
