//! What was tried, and what became of it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use isoscope::{Answer, Decision, Limit, Obstacle};

/// Counts for each trial.
#[derive(Default)]
pub struct Tally {
    rows: BTreeMap<&'static str, Counts>,
    /// How often each reason left a level undecided.
    undecided: BTreeMap<String, u64>,
}

#[derive(Default)]
struct Counts {
    histories: u64,
    holds: u64,
    violated: u64,
    undecided: u64,
    compared: u64,
}

impl Tally {
    /// A trial looked at a history.
    pub fn history(&mut self, trial: &'static str) {
        self.rows.entry(trial).or_default().histories += 1;
    }

    /// A trial got an answer; `is_compared` if it was compared with something else.
    pub fn answer(&mut self, trial: &'static str, answer: &Answer, is_compared: bool) {
        let row = self.rows.entry(trial).or_default();
        row.compared += u64::from(is_compared);
        match answer.decision {
            Decision::Holds => row.holds += 1,
            Decision::Violated => row.violated += 1,
            Decision::Undecided(obstacle) => {
                row.undecided += 1;
                *self.undecided.entry(kind_of(obstacle, answer)).or_default() += 1;
            }
        }
    }

    /// Adds what another thread counted.
    pub fn add(&mut self, other: &Self) {
        for (trial, counts) in &other.rows {
            let row = self.rows.entry(trial).or_default();
            row.histories += counts.histories;
            row.holds += counts.holds;
            row.violated += counts.violated;
            row.undecided += counts.undecided;
            row.compared += counts.compared;
        }
        for (reason, times) in &other.undecided {
            *self.undecided.entry(reason.clone()).or_default() += times;
        }
    }

    /// The table, in Markdown.
    pub fn table(&self, elapsed: Duration) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "\n| trial | histories | answers compared | holds | violated | undecided |");
        let _ = writeln!(out, "|---|---:|---:|---:|---:|---:|");
        for (trial, row) in &self.rows {
            let Counts { histories, compared, holds, violated, undecided } = row;
            let _ =
                writeln!(out, "| {trial} | {histories} | {compared} | {holds} | {violated} | {undecided} |");
        }
        let _ = writeln!(out, "\n{:.0} seconds\n\nundecided, by reason:", elapsed.as_secs_f64());
        for (reason, times) in &self.undecided {
            let _ = writeln!(out, "- {times}: {reason}");
        }
        out
    }
}

/// The reason without the names of the history.
fn kind_of(obstacle: Obstacle, answer: &Answer) -> String {
    match obstacle {
        Obstacle::Limit(Limit::Time) => "a time limit".to_owned(),
        Obstacle::Limit(_) => "another limit".to_owned(),
        Obstacle::Effort => "a short search".to_owned(),
        Obstacle::Definition(_) => "a level without an engine, and its text does not apply".to_owned(),
        Obstacle::Operation(_) => {
            let sentence = answer.obstacle.clone().unwrap_or_default();
            let known = [
                "has a predicate without a meaning",
                "has a list of a kind that is decided in small histories only",
                "has a list, which is decided under prefix consistency in small histories only",
                "records a version of its key, and not all writes",
                "read a value that may be the initial one",
            ];
            match known.into_iter().find(|phrase| sentence.contains(phrase)) {
                Some(phrase) => phrase.to_owned(),
                // The first word is the name of a transaction.
                None => sentence.split_once(' ').map_or(sentence.clone(), |(_, rest)| rest.to_owned()),
            }
        }
    }
}
