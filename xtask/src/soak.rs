//! `cargo xtask soak`: the tests that try many histories, with many more of them, in release.
//!
//! Such a test reads how many from `ISOSCOPE_SOAK`; without it each takes seconds, and that is what `cargo xtask test`
//! runs. The command line and the chores have no such tests.

use crate::run::{Done, cargo, expect_success};

/// Histories for each test unless told.
const COUNT: &str = "300000";

/// Runs the long tests.
pub fn run(options: &[&str]) -> Done {
    let count = match *options {
        [] => COUNT,
        ["--count", count] if count.parse::<u64>().is_ok_and(|count| count > 0) => count,
        _ => return Err("usage: cargo xtask soak [--count N]".to_owned()),
    };
    let words = ["test", "--release", "--workspace", "--exclude", "isoscope", "--exclude", "xtask"];
    expect_success(cargo(&words).env("ISOSCOPE_SOAK", count))
}
