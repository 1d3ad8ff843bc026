//! The answer of `check` for people and for machines.

pub mod json;
pub mod junit;
pub mod markdown;
pub mod sarif;
pub mod text;

#[cfg(test)]
mod tests;

use std::io::Write;

use serde::Serialize;

use crate::ask::{Answer, Decision};
use crate::exit::{Exit, Failure};
use crate::explanation::Explanation;
use crate::levels;
use crate::load::Subject;
use crate::skew::SkewReport;

/// Writes a report in some format.
pub type Writer = fn(&Report<'_>, &mut dyn Write) -> Result<(), Failure>;

/// What `check` found out.
#[derive(Debug)]
pub struct Report<'s> {
    /// The history.
    pub subject: &'s Subject,
    /// The answers, in the order in which the levels were named, or strongest first.
    pub rulings: Vec<Ruling>,
    /// The levels that the history cannot be asked for.
    pub not_asked: Vec<NotAsked>,
    /// What the run took, if that is wanted.
    pub stats: Option<RunStats>,
}

/// One answer with its explanation.
#[derive(Clone, Debug)]
pub struct Ruling {
    /// The answer.
    pub answer: Answer,
    /// Why it is violated.
    pub explanation: Option<Explanation>,
    /// Why it is undecided.
    pub obstacle: Option<String>,
    /// How it depends on the clocks.
    pub skew: Option<SkewReport>,
}

/// A level that was left out.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NotAsked {
    /// Its name.
    pub level: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// What the run took, apart from the engine.
#[derive(Clone, Debug, Serialize)]
pub struct RunStats {
    /// Time to read the history.
    pub read_ms: f64,
    /// Time to index and validate it.
    pub index_ms: f64,
    /// Time of everything until the report.
    pub total_ms: f64,
    /// The bytes of the history's columns.
    pub history_bytes: u64,
    /// The most memory that the process held.
    pub peak_memory_bytes: Option<u64>,
}

impl Report<'_> {
    /// The exit code: violated before undecided before holds.
    pub fn exit(&self) -> Exit {
        let any =
            |wanted: fn(Decision) -> bool| self.rulings.iter().any(|ruling| wanted(ruling.answer.decision));
        if any(|decision| decision == Decision::Violated) {
            Exit::Violated
        } else if any(|decision| matches!(decision, Decision::Undecided(_))) {
            Exit::Undecided
        } else {
            Exit::Holds
        }
    }

    /// The names of the levels with this verdict, in order.
    pub fn names(&self, wanted: impl Fn(Decision) -> bool) -> Vec<&str> {
        self.rulings
            .iter()
            .filter(|ruling| wanted(ruling.answer.decision))
            .map(|ruling| ruling.answer.level.as_str())
            .collect()
    }

    /// How verdicts depend on the clocks, a sentence for all levels of which the same is true.
    pub fn skew_sentences(&self) -> Vec<String> {
        self.sentences(Ruling::skew_phrase)
    }

    /// Why levels are undecided, likewise.
    pub fn undecided_sentences(&self) -> Vec<String> {
        self.sentences(|ruling| ruling.obstacle.clone())
    }

    fn sentences(&self, phrase: impl Fn(&Ruling) -> Option<String>) -> Vec<String> {
        let mut told: Vec<(Vec<&str>, String)> = Vec::new();
        for ruling in &self.rulings {
            let Some(phrase) = phrase(ruling) else {
                continue;
            };
            match told.iter_mut().find(|(_, known)| *known == phrase) {
                Some((levels, _)) => levels.push(&ruling.answer.level),
                None => told.push((vec![&ruling.answer.level], phrase)),
            }
        }
        let sentences = told.into_iter();
        sentences.map(|(levels, phrase)| format!("{}: {phrase}", levels.join(", "))).collect()
    }

    /// The violated levels that imply no other violated one, together where they are violated for the same reason;
    /// and the other violated levels.
    pub fn weakest_violated(&self) -> (Vec<Violation<'_>>, Vec<&str>) {
        let names = self.names(|decision| decision == Decision::Violated);
        let is_weakest =
            |level: &str| names.iter().all(|other| *other == level || !levels::implies(level, other));
        let mut weakest: Vec<Violation<'_>> = Vec::new();
        for ruling in &self.rulings {
            let level = ruling.answer.level.as_str();
            if ruling.answer.decision != Decision::Violated || !is_weakest(level) {
                continue;
            }
            let same = |known: &&mut Violation<'_>| known.ruling.explanation == ruling.explanation;
            match weakest.iter_mut().find(same) {
                Some(known) => known.levels.push(level),
                None => weakest.push(Violation { levels: vec![level], ruling }),
            }
        }
        let others = names.iter().copied().filter(|level| !is_weakest(level)).collect();
        (weakest, others)
    }
}

/// Levels that are violated for the same reason.
#[derive(Debug)]
pub struct Violation<'r> {
    /// The levels.
    pub levels: Vec<&'r str>,
    /// The answer for the first of them.
    pub ruling: &'r Ruling,
}

impl Ruling {
    /// One line that says why the verdict is what it is.
    pub fn reason(&self) -> Option<String> {
        if let Some(source) = self.answer.follows_from {
            return Some(format!("follows from {source}"));
        }
        if let Some(obstacle) = &self.obstacle {
            return Some(obstacle.clone());
        }
        let lines = &self.explanation.as_ref()?.lines;
        let roots = lines.iter().filter(|line| line.depth == 0);
        Some(roots.map(|line| line.text.as_str()).collect::<Vec<_>>().join("; "))
    }

    /// How the verdict depends on the clocks, to read on after the name of the level.
    pub fn skew_phrase(&self) -> Option<String> {
        let is_violated = self.answer.decision == Decision::Violated;
        Some(match self.skew? {
            SkewReport::AnySkew if is_violated => "is violated whatever the clock skew".to_owned(),
            SkewReport::AnySkew => "holds whatever the clock skew".to_owned(),
            SkewReport::Threshold { violated_up_to, holds_from } => {
                let (below, above) = (nanoseconds(violated_up_to), nanoseconds(holds_from));
                match is_violated {
                    true => format!("stays violated up to a clock skew of {below}, and holds with {above}"),
                    false => {
                        format!("stays so down to a clock skew of {above}, and is violated with {below}")
                    }
                }
            }
        })
    }
}

/// All digits, since two thresholds may differ in the last one.
fn nanoseconds(time: i64) -> String {
    match time {
        time if time < 10_000 => format!("{time} ns"),
        time if time < 1_000_000 => format!("{} us", time as f64 / 1e3),
        time => format!("{} ms", time as f64 / 1e6),
    }
}
