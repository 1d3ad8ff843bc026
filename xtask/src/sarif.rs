//! `cargo xtask sarif`: the schema of SARIF 2.1.0 and a validator, with which the reports for continuous integration are
//! tested.
//!
//! The schema is that of the crate serde-sarif, the validator is ajv from npm; both are unpacked into `target/sarif`, and
//! nothing of them becomes a part of isoscope. Where one cannot be had, the test says so and leaves its part out.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::run::{Done, expect_success, target};

/// The version that carries the schema.
const CRATE: &str = "serde-sarif-0.8.0";
const VALIDATOR: [&str; 2] = ["ajv@8.17.1", "ajv-formats@3.0.1"];

/// Fetches what is missing.
pub fn prepare() -> Done {
    let folder = target().join("sarif");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    if !folder.join("schema.json").exists() {
        fetch_schema(&folder)?;
    }
    if folder.join("node_modules/ajv-formats").exists() {
        return Ok(());
    }
    let install = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", "."];
    expect_success(
        Command::new("npm").args(install).args(VALIDATOR).current_dir(&folder).stdin(Stdio::null()),
    )
}

fn fetch_schema(folder: &Path) -> Done {
    let url = format!("https://static.crates.io/crates/serde-sarif/{CRATE}.crate");
    let archive = format!("{CRATE}.crate");
    let curl = ["--silent", "--show-error", "--fail", "--location", "--max-time", "60", "--output"];
    expect_success(Command::new("curl").args(curl).args([&archive, &url]).current_dir(folder))?;
    expect_success(Command::new("tar").args(["-xzf", &archive]).current_dir(folder))?;
    let schema = folder.join(CRATE).join("src/schema.json");
    let copied = std::fs::copy(&schema, folder.join("schema.json"));
    copied.map(|_| ()).map_err(|error| format!("{}: {error}", schema.display()))
}
