//! The project's chores: `cargo xtask test`, `cargo xtask bench`, `cargo xtask soak`, `cargo xtask fuzz`, `cargo xtask
//! services`.
//!
//! Written with the standard library and a JSON parser, so that a fresh clone starts quickly.

mod bench;
mod browser;
mod engines;
mod fuzz;
mod licences;
mod matrix;
mod mutants;
mod package;
mod run;
mod sarif;
mod services;
mod soak;
mod test;
mod watched;
mod wheel;

use std::process::ExitCode;

const HELP: &str = "\
The project's chores.

  cargo xtask test                    formatting, lints, licences, documentation and all tests
      --all-engines                     instead: licences, lints, tests and runs with DuckDB, slatedb,
                                        surrealkv and turso built in; takes long
  cargo xtask bench [SUITE ...]       time and memory, as tables
      --quick                           small histories, one run each
      --profile dev                     use the development build
      --save NAME, --against NAME       keep the figures, or compare with kept ones
  cargo xtask matrix [NAME ...]       every workload on every database at every setting, or those that are named
      --quick                           200 transactions each
      --profile dev                     use the development build
  cargo xtask watched                 run --watch on a PostgreSQL that is killed three times, and what --watch costs
      --seconds S, --pairs N            600 seconds, and 2 pairs of a minute each unless told
  cargo xtask instructions            instructions of a few questions against the committed counts
      --accept                          instead: commit to what is counted now
  cargo xtask soak [--minutes M]      the trust harness, 20 minutes unless told
  cargo xtask soak --count N          the long tests, N histories each
  cargo xtask fuzz [TARGET ...]       the fuzz targets with AddressSanitizer, where a nightly toolchain is
      --executions N                    inputs for each target (1,000,000 unless told)
      --seconds S                       or until so many seconds have passed for each
  cargo xtask mutants engine|checker  small errors in the engine or the checker, one after the other: do tests notice?
      --only N,N-N                      some of them
      --histories N                     for each test of many histories
      --quick                           the first two test programs only
      --list                            instead: show them
  cargo xtask package                 the crates as packages, and programs that use them
  cargo xtask licences                only the licence check
  cargo xtask browser                 headless Chromium and axe-core, for the tests of the HTML report
  cargo xtask sarif                   the schema of SARIF and a validator, for the tests of the reports for CI
  cargo xtask wheel                   the Python package as a wheel, in target/wheels
      --test                            instead: its lints and tests, which `cargo xtask test` runs too
  cargo xtask services [start|stop|status|kill] [postgres|mariadb|galera|SERVER ...]
                                      throw-away database servers on loopback ports

Suites: ";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.split_first() {
        Some((&"test", [])) => test::run(),
        Some((&"test", ["--all-engines"])) => engines::run(),
        Some((&"bench", options)) => bench::run(options),
        Some((&"matrix", options)) => matrix::run(options),
        Some((&"watched", options)) => watched::run(options),
        Some((&"instructions", options)) => bench::instructions::run(options),
        Some((&"soak", options)) => soak::run(options),
        Some((&"fuzz", options)) => fuzz::run(options),
        Some((&"mutants", options)) => mutants::run(options),
        Some((&"package", [])) => package::run(),
        Some((&"licences", [])) => licences::check(true),
        Some((&"browser", [])) => browser::prepare(),
        Some((&"sarif", [])) => sarif::prepare(),
        Some((&"wheel", [])) => wheel::run(),
        Some((&"wheel", ["--test"])) => wheel::test(&[]),
        Some((&"services", words)) => services::run(words),
        None | Some((&("help" | "--help" | "-h"), _)) => {
            println!("{HELP}{}", bench::SUITES.join(", "));
            Ok(())
        }
        Some((other, _)) => Err(format!("cargo xtask {other}: see cargo xtask help")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
