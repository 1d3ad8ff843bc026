//! `cargo xtask browser`: headless Chromium and axe-core, with which the HTML report is tested.
//!
//! Chromium is Debian's package; axe-core comes from npm and is unpacked into `target/axe-core`. Nothing of them becomes a
//! part of isoscope. Where one cannot be had, the tests say so and leave its part out.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::run::{Done, expect_success};
use crate::services::install;

const PACKAGE: &str = "chromium-headless-shell";
/// The version that the tests were written with.
const AXE: &str = "axe-core@4.14.0";

/// Installs what is missing.
pub fn prepare() -> Done {
    if install::find(PACKAGE).is_none() && install::find("chromium").is_none() {
        install::debian_packages(&[PACKAGE])?;
    }
    let folder = Path::new("target/axe-core");
    if folder.join("package/axe.min.js").exists() {
        return Ok(());
    }
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    expect_success(
        Command::new("npm").args(["pack", "--silent", AXE]).current_dir(folder).stdin(Stdio::null()),
    )?;
    let archive = format!("{}.tgz", AXE.replace('@', "-"));
    expect_success(Command::new("tar").args(["-xzf", &archive]).current_dir(folder))
}
