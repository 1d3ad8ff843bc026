//! What recording costs: the same load on a PostgreSQL with and without it, by turns.
//!
//! A pair of runs in a row, the order changing from pair to pair, so that what else the machine does falls on both
//! alike; the median of the pairs' ratios is what counts. `cargo xtask services start postgres` starts a server, and
//! prints the variable that names it.

use std::process::Command;

use super::Bench;
use super::measure::{json_of, median};
use super::table;
use crate::run::{Done, target};

const SERVER: &str = "ISOSCOPE_TEST_POSTGRES";
const WORKLOADS: [&str; 3] = ["general", "rmw", "tpcc"];

/// `cargo xtask bench recording`.
pub fn run(bench: &Bench) -> Done {
    let Some(url) = std::env::var(SERVER).ok().filter(|url| !url.is_empty()) else {
        println!("left out: {SERVER} names no server (cargo xtask services start postgres)");
        return Ok(());
    };
    let (pairs, duration) = if bench.quick { (1, "1s") } else { (25, "2s") };
    table::head(&["workload", "without, per second", "with, per second", "with / without", "of the pairs"]);
    for workload in WORKLOADS {
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for pair in 0..pairs {
            for is_recorded in [pair % 2 == 0, pair % 2 != 0] {
                let rate = bench.commits_per_second(&url, workload, duration, is_recorded)?;
                if is_recorded { &mut with } else { &mut without }.push(rate);
            }
        }
        let ratios: Vec<f64> = with.iter().zip(&without).map(|(with, without)| with / without).collect();
        let percent = |ratio: f64| format!("{:.1} %", 100.0 * ratio);
        let (least, most) = ratios
            .iter()
            .fold((f64::MAX, 0.0), |(least, most), &ratio| (f64::min(least, ratio), f64::max(most, ratio)));
        table::row(&[
            workload.to_owned(),
            format!("{:.0}", median(without.iter().copied())),
            format!("{:.0}", median(with.iter().copied())),
            percent(median(ratios.iter().copied())),
            format!("{} to {}", percent(least), percent(most)),
        ]);
    }
    Ok(())
}

impl Bench {
    fn commits_per_second(&self, url: &str, workload: &str, duration: &str, is_recorded: bool) -> Done<f64> {
        let history = target().join("bench").join("recording.jsonl");
        let mut run = Command::new(&self.isoscope);
        run.args(["run", "--json", "--no-check", "--isolation", "read-committed"]);
        let (bare, password) = without_password(url);
        run.args(["--db", &bare, "--workload", workload, "--duration", duration]);
        // A command that fails is shown with its arguments.
        run.env("ISOSCOPE_PASSWORD", password);
        match is_recorded {
            true => run.arg("--out").arg(&history),
            false => run.arg("--no-record"),
        };
        std::fs::create_dir_all(target().join("bench")).map_err(|error| error.to_string())?;
        let answer = json_of(&mut run)?;
        let rate = answer["runs"][0]["run"]["commits_per_second"].as_f64();
        rate.ok_or_else(|| format!("{workload}: the run has no rate"))
    }
}

/// The URL of a server without its password, and the password.
fn without_password(url: &str) -> (String, &str) {
    let parts = url.rsplit_once('@').and_then(|(user, host)| Some((user.rsplit_once(':')?, host)));
    match parts {
        Some(((user, password), host)) if user.contains("://") => (format!("{user}@{host}"), password),
        _ => (url.to_owned(), ""),
    }
}
