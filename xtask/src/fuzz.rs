//! `cargo xtask fuzz`: the fuzz targets with AddressSanitizer, on the nightly toolchain.
//!
//! The targets are ordinary programs that link libFuzzer; what cargo-fuzz would add is the flags of the compiler, which
//! stand here, so that nothing has to be installed but a nightly toolchain and a C++ compiler. Inputs that reach new
//! code are kept in `target/fuzz/corpus`, inputs that end a target in `target/fuzz/artifacts`; the seeds are in
//! `fuzz/seeds`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::run::{Done, expect_success, output_of, root, shown, target};

/// Instrumentation for coverage and for memory errors, as cargo-fuzz asks for it.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Zsanitizer=address -Ccodegen-units=16";

const LONGEST_INPUT: u32 = 2048;

/// How much to run of each target.
#[derive(Clone, Copy, Debug)]
struct Amount {
    executions: u64,
    seconds: Option<u64>,
}

/// Runs the targets that the words name, or all.
pub fn run(words: &[&str]) -> Done {
    let mut amount = Amount { executions: 1_000_000, seconds: None };
    let mut chosen = Vec::new();
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut number = || {
            let number = words.next().and_then(|number| number.replace(',', "").parse().ok());
            number.ok_or(format!("{word} needs a number"))
        };
        match word {
            "--executions" => amount.executions = number()?,
            "--seconds" => amount.seconds = Some(number()?),
            name => chosen.push(name.to_owned()),
        }
    }
    possible()?;
    fuzz(amount, &chosen)
}

/// A short run of every target, if it is possible here.
pub fn run_briefly() -> Done {
    const SECONDS: u64 = 3;
    match possible() {
        Ok(()) => fuzz(Amount { executions: 1_000_000, seconds: Some(SECONDS) }, &[]),
        Err(why) => {
            println!("the fuzz targets are left out: {why}");
            Ok(())
        }
    }
}

/// What is missing, if something is.
fn possible() -> Done {
    let works = |words: &[&str]| {
        let mut command = Command::new(words[0]);
        let quiet = command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    };
    match () {
        () if !works(&["rustup", "run", "nightly", "cargo", "--version"]) => {
            Err("there is no nightly toolchain; `rustup toolchain install nightly` brings it".into())
        }
        () if !works(&["c++", "--version"]) => Err("there is no C++ compiler, which libFuzzer needs".into()),
        () => Ok(()),
    }
}

fn fuzz(amount: Amount, chosen: &[String]) -> Done {
    let names = chosen_targets(chosen)?;
    let folder = target().join("fuzz");
    let programs = build(&folder)?;
    let mut failed = Vec::new();
    for name in &names {
        match run_target(&folder, &programs, name, amount) {
            Ok(executions) => println!("{name}: {executions} executions, nothing found"),
            Err(why) => {
                println!("{name}: {why}");
                failed.push(name.as_str());
            }
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("fuzzing ended with findings in {}", failed.join(", "))),
    }
}

/// The targets by the files that hold them.
fn chosen_targets(chosen: &[String]) -> Done<Vec<String>> {
    let files = fs::read_dir(root().join("fuzz/fuzz_targets")).map_err(|error| error.to_string())?;
    let stem = |path: PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut all: Vec<String> = files.flatten().filter_map(|file| stem(file.path())).collect();
    all.sort();
    match chosen.iter().find(|name| !all.contains(name)) {
        Some(name) => Err(format!("no fuzz target is called {name}; there are {}", all.join(", "))),
        None if chosen.is_empty() => Ok(all),
        None => Ok(chosen.to_vec()),
    }
}

/// Builds all targets, and gives the folder of the programs.
fn build(folder: &Path) -> Done<PathBuf> {
    let mut version = Command::new("rustup");
    let said = output_of(version.args(["run", "nightly", "rustc", "-vV"]), &[0])?;
    let host =
        said.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc does not name its host")?;
    let mut cargo = Command::new("rustup");
    cargo.args(["run", "nightly", "cargo", "build", "--release", "--bins", "--manifest-path"]);
    cargo.arg(root().join("fuzz/Cargo.toml")).args(["--target", host, "--target-dir"]).arg(folder);
    // The toolchain that runs this must not decide which one builds the targets.
    for variable in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN", "RUSTDOC", "CARGO_ENCODED_RUSTFLAGS"] {
        cargo.env_remove(variable);
    }
    expect_success(cargo.env("RUSTFLAGS", FLAGS))?;
    Ok(folder.join(host).join("release"))
}

/// Runs one target; how many inputs it executed.
fn run_target(folder: &Path, programs: &Path, name: &str, amount: Amount) -> Done<u64> {
    let corpus = folder.join("corpus").join(name);
    let artifacts = folder.join("artifacts").join(name);
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let mut command = Command::new(programs.join(name));
    command.args([
        format!("-runs={}", amount.executions),
        format!("-max_len={LONGEST_INPUT}"),
        format!("-artifact_prefix={}/", artifacts.display()),
        "-timeout=30".into(),
        "-rss_limit_mb=2048".into(),
        "-print_final_stats=1".into(),
        "-verbosity=0".into(),
    ]);
    if let Some(seconds) = amount.seconds {
        command.arg(format!("-max_total_time={seconds}"));
    }
    command.arg(corpus).env("ASAN_OPTIONS", "detect_leaks=0");
    let seeds = root().join("fuzz/seeds").join(name);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    let shown = shown(&command);
    let output = command.output().map_err(|error| format!("{shown}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => executions(&said).ok_or(format!("{shown}: it did not say how much it executed")),
        false => Err(format!("{}; to repeat: {shown}\n{}", output.status, end_of(&said))),
    }
}

/// What libFuzzer says at its end.
fn executions(said: &str) -> Option<u64> {
    let line = said.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))?;
    line.trim().parse().ok()
}

/// The last lines, which name the input that ended the target.
fn end_of(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libfuzzer_says_is_understood() {
        let said = "INFO: Seed: 1\nstat::number_of_executed_units: 1000\nstat::peak_rss_mb: 30";
        assert_eq!(executions(said), Some(1000));
        assert_eq!(executions("==1== ERROR: AddressSanitizer"), None);
    }

    #[test]
    fn targets_are_found_by_their_names() {
        let all = chosen_targets(&[]).unwrap();
        assert!(all.contains(&"engine".to_owned()) && all.len() >= 17, "{all:?}");
        assert!(chosen_targets(&["nothing".into()]).unwrap_err().contains("there are awdit"));
    }
}
