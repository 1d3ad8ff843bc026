//! `cargo xtask watched`: `isoscope run --watch` on a PostgreSQL that is killed three times while it runs.
//!
//! The recording is followed while it is made. Nothing may be accused, the verdict may be at most five seconds behind
//! the recording, and following may cost the database at most a tenth of its rate: that is measured by pairs of shorter
//! runs without kills, one with `--watch` and one without.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::bench::built;
use crate::run::{Done, target};
use crate::services::Spare;

/// The verdict may be so far behind the recording.
const MOST_BEHIND_S: f64 = 5.0;
/// Following may leave the database so much of its rate.
const LEAST_RATE: f64 = 0.9;
/// How often the server is killed.
const KILLS: u64 = 3;

struct Watched {
    isoscope: PathBuf,
    server: Spare,
}

/// `cargo xtask watched [--seconds S] [--pairs N] [--profile dev]`: ten minutes and two pairs of a minute unless told.
pub fn run(options: &[&str]) -> Done {
    let (mut seconds, mut pairs, mut profile) = (600, 2, "release");
    let mut words = options.iter();
    while let Some(&word) = words.next() {
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        match word {
            "--seconds" => seconds = number().ok_or("--seconds needs a number")?,
            "--pairs" => pairs = number().ok_or("--pairs needs a number")?,
            "--profile" => profile = words.next().ok_or("--profile needs dev or release")?,
            other => return Err(format!("cargo xtask watched has no option {other}")),
        }
    }
    let watched = Watched { isoscope: built(profile)?, server: Spare::postgres()? };
    watched.with_kills(seconds)?;
    if pairs == 0 { Ok(()) } else { watched.compare(pairs) }
}

impl Watched {
    fn with_kills(&self, seconds: u64) -> Done {
        let nemesis = format!("kill-server={}ms", seconds * 1000 / (KILLS + 1));
        let (run, said) = self.drive(seconds, &["--watch", "--nemesis", &nemesis])?;
        let kills = run["run"]["nemesis"].as_array().map_or(0, Vec::len) as u64;
        println!(
            "{} committed, {} aborted, {} unknown in {:.0} s, killed {kills} times",
            run["run"]["committed"],
            run["run"]["aborted"],
            run["run"]["unknown"],
            run["run"]["elapsed_ms"].as_f64().unwrap_or(0.0) / 1000.0
        );
        print!("{said}");
        let verdict = &run["judged"][0]["verdict"];
        if *verdict != "holds" || !said.contains("holds      strict-serializable to the end") {
            return Err(format!("the level does not hold, or was not followed to the end: {verdict}"));
        }
        if kills < KILLS {
            return Err(format!("the server was killed {kills} times, not {KILLS}"));
        }
        match seconds_behind(&said) {
            Some(behind) if behind <= MOST_BEHIND_S => Ok(()),
            Some(_) if seconds < 60 => Ok(()),
            other => Err(format!("the verdict was {other:?} seconds behind the recording")),
        }
    }

    /// Rates with and without following, by turns.
    fn compare(&self, pairs: u64) -> Done {
        let (mut with, mut without) = (0.0, 0.0);
        for pair in 0..pairs {
            for follows in [pair % 2 == 0, pair % 2 != 0] {
                let flags: &[&str] = if follows { &["--watch", "--no-check"] } else { &["--no-check"] };
                let (run, _) = self.drive(60, flags)?;
                let rate = run["run"]["commits_per_second"].as_f64().unwrap_or(0.0);
                println!("{}: {rate} commits per second", if follows { "with --watch" } else { "without" });
                *(if follows { &mut with } else { &mut without }) += rate;
            }
        }
        let ratio = with / without;
        println!("with --watch {:.1} % of the rate without", 100.0 * ratio);
        match ratio >= LEAST_RATE {
            true => Ok(()),
            false => Err("following costs the database more than a tenth of its rate".to_owned()),
        }
    }

    /// The answer of a run, and what was said of the recording while it was followed.
    fn drive(&self, seconds: u64, flags: &[&str]) -> Done<(Value, String)> {
        let history = target().join("watched.jsonl");
        let mut run = Command::new(&self.isoscope);
        run.args(["run", "--json", "--db", &self.server.url, "--server-command", &self.server.command]);
        run.args(["--isolation", "serializable", "--level", "strict-serializable"]);
        run.args(["--duration", &format!("{seconds}s"), "--out"]).arg(&history).args(flags);
        let output = run.output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let answer: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("isoscope run: {}, {error}\n{said}", output.status))?;
        let _ = std::fs::remove_file(history);
        Ok((answer["runs"][0].clone(), said))
    }
}

/// From `the verdict was never more than 720 ms behind the recording`.
fn seconds_behind(said: &str) -> Option<f64> {
    let (_, after) = said.split_once("never more than ")?;
    let mut words = after.split_whitespace();
    let number: f64 = words.next()?.parse().ok()?;
    match words.next()? {
        "s" => Some(number),
        "ms" => Some(number / 1e3),
        "us" | "µs" => Some(number / 1e6),
        "ns" => Some(number / 1e9),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::seconds_behind;

    #[test]
    fn the_delay_is_read_from_what_is_said() {
        let said = "watched    the verdict was never more than 720 ms behind the recording\nholds      x\n";
        assert_eq!(seconds_behind(said), Some(0.72));
        assert_eq!(seconds_behind("never more than 1.5 s behind"), Some(1.5));
        assert_eq!(seconds_behind("holds"), None);
    }
}
