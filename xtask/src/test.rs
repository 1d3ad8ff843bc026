//! `cargo xtask test`: everything that must be true of a commit.
//!
//! The steps run from the quickest to the slowest; tests of many histories and benchmarks take their short form. The
//! tests of servers get a PostgreSQL and a MariaDB that live as long as the tests. The last line is the sum of what the
//! test programs reported.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::run::{Done, cargo, expect_success, shown};
use crate::services::Borrowed;
use crate::{bench, browser, fuzz, licences, package, sarif, soak, wheel};

/// Runs all of it.
pub fn run() -> Done {
    install_components()?;
    step("formatting", || expect_success(&mut cargo(&["fmt", "--all", "--check"])))?;
    step("licences", || licences::check(false))?;
    step("lints", || {
        let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
        expect_success(&mut cargo(&clippy))
    })?;
    step("documentation", || {
        let mut doc = cargo(&["doc", "--workspace", "--no-deps"]);
        expect_success(doc.env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    step("packages", package::run)?;
    let mut totals = Totals::default();
    step("tests", || run_tests(&mut totals))?;
    step("trust harness, two minutes", || soak::harness("dev", &["--minutes", "2"]))?;
    step("fuzz targets, short", fuzz::run_briefly)?;
    step("benchmarks, short", || bench::run(&["--quick", "--profile", "dev"]))?;
    step("instructions", || bench::instructions::run(&[]))?;
    println!("{}", totals.line());
    Ok(())
}

/// Runs the tests beside throw-away servers, which are stopped however the tests end.
fn run_tests(totals: &mut Totals) -> Done {
    if let Err(why) = browser::prepare() {
        println!("the tests of the HTML report in a browser are left out, in whole or in part: {why}");
    }
    if let Err(why) = sarif::prepare() {
        println!("SARIF is not validated against its schema: {why}");
    }
    let mut tests = cargo(&["test", "--workspace"]);
    if let Err(why) = Borrowed::possible() {
        println!("the tests of PostgreSQL and MariaDB are left out: {why}");
        totals.count(&mut tests)?;
        return step("Python package", || wheel::test(&[]));
    }
    let servers = Borrowed::start()?;
    tests.envs(servers.variables.iter().map(|(name, url)| (name, url)));
    totals.count(&mut tests)?;
    step("Python package", || wheel::test(&servers.variables))
}

fn step(name: &str, work: impl FnOnce() -> Done) -> Done {
    println!("== {name}");
    let started = std::time::Instant::now();
    work().map_err(|error| format!("{name}: {error}"))?;
    println!("== {name}: {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Adds rustfmt and clippy where a minimal toolchain lacks them.
fn install_components() -> Done {
    for (tool, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        let mut version = cargo(&[tool, "--version"]);
        let quiet = version.stdout(Stdio::null()).stderr(Stdio::null());
        if !quiet.status().is_ok_and(|status| status.success()) {
            expect_success(Command::new("rustup").args(["component", "add", component]))?;
        }
    }
    Ok(())
}

/// What the test programs reported, added up.
#[derive(Default)]
struct Totals {
    passed: u64,
    failed: u64,
    ignored: u64,
    programs: u64,
}

impl Totals {
    /// Runs tests, passes their output on and counts.
    fn count(&mut self, command: &mut Command) -> Done {
        let shown = shown(command);
        let failed = |error: std::io::Error| format!("{shown}: {error}");
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
        let out = child.stdout.take().ok_or("no output to read")?;
        for line in BufReader::new(out).lines() {
            let line = line.map_err(failed)?;
            self.read(&line);
            println!("{line}");
        }
        match child.wait().map_err(failed)? {
            status if status.success() => Ok(()),
            status => Err(format!("{shown}: {status}\n{}", self.line())),
        }
    }

    fn read(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else {
            return;
        };
        self.programs += 1;
        for part in result.split(['.', ';']) {
            let mut words = part.split_whitespace();
            let number = words.next().and_then(|word| word.parse::<u64>().ok());
            match (number, words.next()) {
                (Some(number), Some("passed")) => self.passed += number,
                (Some(number), Some("failed")) => self.failed += number,
                (Some(number), Some("ignored")) => self.ignored += number,
                _ => {}
            }
        }
    }

    fn line(&self) -> String {
        let word = if self.failed == 0 { "ok" } else { "FAILED" };
        format!(
            "test result: {word}. {} passed; {} failed; {} ignored; {} test programs",
            self.passed, self.failed, self.ignored, self.programs
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Totals;

    #[test]
    fn the_lines_of_test_programs_are_added_up() {
        let mut totals = Totals::default();
        totals.read("running 3 tests");
        totals.read(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        );
        totals.read("test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out");
        assert_eq!(totals.line(), "test result: FAILED. 4 passed; 2 failed; 1 ignored; 2 test programs");
    }
}
