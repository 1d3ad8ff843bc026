//! `cargo xtask instructions`: how many instructions a few small questions take, compared with the committed counts.
//!
//! Times of a shared machine say little about a change of 5 %; instructions, as callgrind counts them, are the same to a
//! thousandth from run to run. They are counted with the development profile, which the tests have built already, and
//! with one thread. A count that is more than 5 % above the committed one is an error; `--accept` commits to what was
//! counted. Other compilers and C libraries count otherwise, so the file names the compiler, and with another one
//! the counts are printed and nothing fails.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};

use super::Bench;
use super::history::Source;
use super::table;
use crate::run::{Done, output_of, root};

/// A name, the history, the format to convert it to, and the words before the file.
struct Case(&'static str, Source, Option<&'static str>, &'static [&'static str]);

const GENERAL: Source = Source::Generated(&["--workload", "general", "--transactions", "3000"]);
const BLIND: Source = Source::Generated(&["--workload", "blindw-rw", "--transactions", "3000"]);
const DUPLICATES: Source = Source::Generated(&["--workload", "duplicates", "--transactions", "1500"]);

const CASES: [Case; 7] = [
    Case("reading native lines", GENERAL, None, &["stats"]),
    Case("reading PolySI text", GENERAL, Some("polysi"), &["stats"]),
    Case("reading Jepsen EDN", GENERAL, Some("jepsen"), &["stats"]),
    Case(
        "session-serializable",
        GENERAL,
        None,
        &["check", "--threads", "1", "--level", "session-serializable"],
    ),
    Case("strict-serializable", BLIND, None, &["check", "--threads", "1", "--level", "strict-serializable"]),
    Case("duplicates", DUPLICATES, None, &["check", "--threads", "1", "--level", "session-serializable"]),
    Case("causal", GENERAL, None, &["check", "--threads", "1", "--level", "causal"]),
];

/// How much above the committed count is an error.
const TOLERANCE: f64 = 1.05;

/// Counts and compares.
pub fn run(options: &[&str]) -> Done {
    let is_accepting = match options {
        [] => false,
        ["--accept"] => true,
        _ => return Err("cargo xtask instructions takes nothing but --accept".to_owned()),
    };
    if !has_valgrind() {
        println!("instructions are not counted: there is no valgrind");
        return Ok(());
    }
    let bench = Bench::build("dev", false)?;
    let mut counts = Map::new();
    for Case(name, source, format, words) in &CASES {
        let Some(file) = bench.file_of(*source)? else { continue };
        let file = format.map_or(Ok(file.clone()), |format| bench.converted(&file, format))?;
        counts.insert((*name).to_owned(), json!(count(&bench, words, &file)?));
    }
    if is_accepting {
        return accept(&counts);
    }
    compare(&counts)
}

fn has_valgrind() -> bool {
    let mut version = Command::new("valgrind");
    version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

fn count(bench: &Bench, words: &[&str], file: &std::path::Path) -> Done<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(&bench.isoscope).args(words).arg(file).stdout(Stdio::null());
    let output = valgrind.output().map_err(|error| format!("valgrind: {error}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    collected(&errors).ok_or_else(|| format!("valgrind counted nothing:\n{errors}"))
}

/// The count in what callgrind says at its end: `==123== Collected : 3066529547`.
fn collected(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

fn accept(counts: &Map<String, Value>) -> Done {
    let text = serde_json::to_string_pretty(&json!({ "compiler": compiler()?, "counts": counts }));
    let text = text.map_err(|error| error.to_string())? + "\n";
    std::fs::write(committed(), text).map_err(|error| format!("{}: {error}", committed().display()))?;
    println!("wrote {}; commit it with the reason", committed().display());
    Ok(())
}

fn compare(counts: &Map<String, Value>) -> Done {
    let text = std::fs::read_to_string(committed()).unwrap_or_else(|_| "{}".to_owned());
    let known: Value =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", committed().display()))?;
    let is_same_compiler = known["compiler"].as_str() == Some(&compiler()?);
    table::head(&["question", "committed", "now", "ratio"]);
    let mut worse = Vec::new();
    for (name, now) in counts {
        let (now, before) = (now.as_f64().unwrap_or(0.0), known["counts"][name].as_f64().unwrap_or(0.0));
        let million = |count: f64| format!("{:.1} million", count / 1e6);
        table::row(&[name.clone(), million(before), million(now), format!("{:.3}", now / before.max(1.0))]);
        if is_worse(before, now) {
            worse.push(name.as_str());
        }
    }
    if !is_same_compiler {
        println!("the committed counts are of another compiler, so nothing fails");
        return Ok(());
    }
    match worse.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "more than 5 % more instructions: {}; if that is wanted, run `cargo xtask instructions --accept` and commit \
             {}",
            worse.join(", "),
            committed().display()
        )),
    }
}

fn is_worse(before: f64, now: f64) -> bool {
    before > 0.0 && now > before * TOLERANCE
}

fn committed() -> PathBuf {
    root().join("xtask/src/bench/instructions.json")
}

fn compiler() -> Done<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    output_of(Command::new(rustc).arg("--version"), &[0]).map(|version| version.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_in_what_callgrind_says() {
        let text = "==7== Events    : Ir\n==7== Collected : 3066529547\n==7==\n";
        assert_eq!(collected(text), Some(3_066_529_547));
        assert_eq!(collected("==7== killed"), None);
    }

    #[test]
    fn more_than_five_percent_is_worse() {
        assert!(is_worse(100.0, 106.0) && !is_worse(100.0, 104.0) && !is_worse(0.0, 5.0));
    }
}
