//! `cargo xtask soak`: the trust harness for some minutes, or the tests that try many histories with many more of them.
//!
//! The harness (`crates/soak`) compares the library with oracles and with itself, on histories that mix kinds; it prints
//! its seed, and `cargo xtask test` runs it for two minutes with a fresh one. A test that tries many histories reads how
//! many from `ISOSCOPE_SOAK`; without it each takes seconds.

use std::process::Command;

use crate::run::{Done, cargo, expect_success, target};

const USAGE: &str =
    "usage: cargo xtask soak --minutes M [OPTION of isoscope-soak ...] | cargo xtask soak --count N";

/// Runs the harness or the long tests, in release.
pub fn run(options: &[&str]) -> Done {
    match *options {
        [] => run(&["--minutes", "20"]),
        ["--minutes", ..] => harness("release", options),
        ["--count", count] if count.parse::<u64>().is_ok_and(|count| count > 0) => long_tests(count),
        _ => Err(USAGE.to_owned()),
    }
}

/// Runs the harness with these options, as a program of this profile. It is built with the rest of the workspace: alone
/// its dependencies would have other features, and all of them would be compiled again.
pub fn harness(profile: &str, options: &[&str]) -> Done {
    expect_success(&mut cargo(&["build", "--quiet", "--workspace", "--bins", "--profile", profile]))?;
    let folder = if profile == "dev" { "debug" } else { profile };
    let program = format!("isoscope-soak{}", std::env::consts::EXE_SUFFIX);
    expect_success(Command::new(target().join(folder).join(program)).args(options))
}

fn long_tests(count: &str) -> Done {
    let words = ["test", "--release", "--workspace", "--exclude", "isoscope-cli", "--exclude", "xtask"];
    expect_success(cargo(&words).env("ISOSCOPE_SOAK", count))
}
