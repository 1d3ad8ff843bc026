//! The synthesis benchmark: 46 problems, each at three to ten transactions, with 5 objects and 5 values.
//!
//! The figures are those of the example program in `crates/synth`: CPU time, the least of five runs.

use super::Bench;
use crate::run::{Done, cargo, output_of};

/// `cargo xtask bench synth`.
pub fn run(bench: &Bench) -> Done {
    let most = if bench.quick { "3" } else { "10" };
    let words = [
        "run",
        "--quiet",
        "--profile",
        &bench.profile,
        "--package",
        "isoscope-synth",
        "--example",
        "bench46",
    ];
    let shown = output_of(cargo(&words).args(["--", "3", most, "compat"]), &[0])?;
    println!("```text\n{shown}```");
    match shown.lines().last() {
        Some(line) if line.ends_with(" 0 not as expected") => Ok(()),
        line => Err(format!("outcomes differ from the published ones: {line:?}")),
    }
}
