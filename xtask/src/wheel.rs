//! `cargo xtask wheel`: the Python package as a wheel; and its tests in a fresh virtual environment.
//!
//! maturin and what the tests need come from the registry of Python packages into virtual environments below
//! `target/python`. The wheel of the tests is a development build: it shares the compiled dependencies with the tests of
//! Rust, and compiles the project's own crates once more, because the package is a workspace of its own. The wheel for
//! users is a release build, for any Linux since 2014.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::run::{Done, cargo, expect_success, output_of, root, target};

/// What the tests import beside the wheel. psycopg is used where there is a server; Ray is the largest, 79 MB.
const TEST_PACKAGES: [&str; 7] =
    ["pytest", "pyarrow", "pandas", "polars", "sqlalchemy", "psycopg[binary]", "ray"];

/// Builds the wheel for users, in `target/wheels`.
pub fn run() -> Done {
    possible()?;
    let tools = tools(&["ziglang"])?;
    let wheels = target().join("wheels");
    let compatible = ["--release", "--zig", "--compatibility", "manylinux2014"];
    let wheel = build(&tools, &wheels, &compatible)?;
    println!("{}", wheel.display());
    Ok(())
}

/// Lints the package, builds the wheel and runs its tests; says why if that is not possible here.
pub fn test(variables: &[(&'static str, String)]) -> Done {
    if let Err(why) = possible() {
        println!("the tests of the Python package are left out: {why}");
        return Ok(());
    }
    lint()?;
    let wheels = folder().join("wheels");
    let wheel = build(&tools(&[])?, &wheels, &["--profile", "dev"])?;
    let python = fresh_environment()?;
    let mut install = pip(&python);
    expect_success(install.args(["install"]).arg(wheel).args(TEST_PACKAGES))?;
    let mut tests = Command::new(&python);
    tests.args(["-m", "pytest", "-q"]).current_dir(root().join("python/tests"));
    tests.env("ISOSCOPE_COMMAND", command()?);
    expect_success(tests.envs(variables.iter().map(|(name, value)| (name, value))))
}

/// What is missing, if something is.
fn possible() -> Done {
    let version = "import sys, venv; sys.exit(sys.version_info < (3, 11))";
    if !works(Command::new("python3").args(["-c", version])) {
        return Err("there is no python3 of version 3.11 or newer with the module venv".to_owned());
    }
    let mut download = Command::new("python3");
    download.args(["-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check", "--dest"]);
    match works(download.arg(folder().join("download")).arg("maturin")) {
        true => Ok(()),
        false => Err("the registry of Python packages cannot be reached".to_owned()),
    }
}

fn works(command: &mut Command) -> bool {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The crate of the extension module is no member of the workspace, so the lints of the workspace do not see it.
fn lint() -> Done {
    let manifest = ["--manifest-path", "python/Cargo.toml"];
    let mut format = cargo(&["fmt", "--check"]);
    expect_success(format.args(manifest))?;
    let mut clippy = cargo(&["clippy"]);
    clippy.args(manifest).arg("--target-dir").arg(target()).args(["--", "-D", "warnings"]);
    expect_success(&mut clippy)
}

/// An environment with maturin and these packages, which is kept from run to run.
fn tools(packages: &[&str]) -> Done<PathBuf> {
    let environment = folder().join("tools");
    let python = environment.join("bin/python");
    if !python.exists() {
        make_environment(&environment)?;
    }
    expect_success(pip(&python).args(["install", "maturin>=1.9,<2"]).args(packages))?;
    Ok(python)
}

/// Builds one wheel into a folder that is emptied first.
fn build(python: &Path, wheels: &Path, flags: &[&str]) -> Done<PathBuf> {
    let _ = fs::remove_dir_all(wheels);
    let mut maturin = Command::new(python);
    maturin.args(["-m", "maturin", "build", "--manifest-path", "python/Cargo.toml", "--out"]).arg(wheels);
    maturin.args(flags).current_dir(root()).env("CARGO_TARGET_DIR", target());
    // maturin looks for zig in the `python3` of the path, which must be the one that the packages are installed in.
    maturin.env("PATH", path_with(python.parent())?);
    expect_success(&mut maturin)?;
    let files = fs::read_dir(wheels).map_err(|error| format!("{}: {error}", wheels.display()))?;
    let mut paths = files.flatten().map(|file| file.path());
    let wheel = paths.find(|path| path.extension().is_some_and(|ending| ending == "whl"));
    wheel.ok_or_else(|| format!("{}: maturin wrote no wheel", wheels.display()))
}

/// The path of programs, with a folder before all others.
fn path_with(first: Option<&Path>) -> Done<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = first.map(Path::to_owned).into_iter().chain(env::split_paths(&path));
    env::join_paths(folders).map_err(|error| format!("PATH: {error}"))
}

fn fresh_environment() -> Done<PathBuf> {
    let environment = folder().join("tests");
    let _ = fs::remove_dir_all(&environment);
    make_environment(&environment)?;
    Ok(environment.join("bin/python"))
}

fn make_environment(path: &Path) -> Done {
    expect_success(Command::new("python3").args(["-m", "venv"]).arg(path))
}

fn pip(python: &Path) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
    pip
}

/// The built command, with whose answers those of the package are compared.
fn command() -> Done<PathBuf> {
    output_of(&mut cargo(&["build", "--workspace", "--bins"]), &[0])?;
    Ok(target().join("debug/isoscope"))
}

fn folder() -> PathBuf {
    target().join("python")
}
