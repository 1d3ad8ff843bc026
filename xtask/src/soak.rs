//! `cargo xtask soak`: the tests that try many histories, with many more of them.
//!
//! Such a test reads how many from `ISOSCOPE_SOAK`; without it each takes seconds.

use crate::run::{Done, cargo, expect_success};

/// Runs the long tests in release.
pub fn run(options: &[&str]) -> Done {
    let count = match *options {
        [] => "300000",
        ["--count", count] if count.parse::<u64>().is_ok_and(|count| count > 0) => count,
        _ => return Err("usage: cargo xtask soak [--count N]".to_owned()),
    };
    run_with(count, "release")
}

/// Runs the long tests with so many histories each.
pub fn run_with(count: &str, profile: &str) -> Done {
    let words = ["test", "--workspace", "--profile", profile, "--", "--nocapture", "soak"];
    expect_success(cargo(&words).env("ISOSCOPE_SOAK", count))
}
