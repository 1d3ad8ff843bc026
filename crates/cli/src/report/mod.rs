//! The answer of `check` for people and for machines.

pub mod json;
pub mod junit;
pub mod markdown;
pub mod sarif;
pub mod text;

use std::io::Write;

use serde::Serialize;

use crate::ask::{Answer, Decision};
use crate::exit::{Exit, Failure};
use crate::explanation::Explanation;
use crate::levels;
use crate::load::Subject;
use crate::terminal::visible;
use crate::units::counted;

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
#[derive(Debug)]
pub struct Ruling {
    /// The answer.
    pub answer: Answer,
    /// Why it is violated.
    pub explanation: Option<Explanation>,
    /// Why it is undecided.
    pub limit: Option<String>,
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

    /// The violated levels that imply no other violated one, together where they are violated for the same reason;
    /// and the other violated levels.
    pub fn weakest_violated(&self) -> (Vec<Violation<'_>>, Vec<&str>) {
        let names = self.names(|decision| decision == Decision::Violated);
        let is_weakest = |level: &str| {
            names
                .iter()
                .all(|other| *other == level || !levels::implies(level, other))
        };
        let mut weakest: Vec<Violation<'_>> = Vec::new();
        for ruling in &self.rulings {
            let level = ruling.answer.level.as_str();
            if ruling.answer.decision != Decision::Violated || !is_weakest(level) {
                continue;
            }
            let same = |known: &&mut Violation<'_>| known.ruling.explanation == ruling.explanation;
            match weakest.iter_mut().find(same) {
                Some(known) => known.levels.push(level),
                None => weakest.push(Violation {
                    levels: vec![level],
                    ruling,
                }),
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
    /// The anomaly and how many transactions show it, as after "violated: ".
    pub fn headline(&self) -> Option<String> {
        let explanation = self.explanation.as_ref()?;
        let transactions = counted(explanation.transactions.len(), "transaction");
        Some(match &explanation.anomaly {
            Some(anomaly) => format!("{}, {transactions}", visible(anomaly)),
            None => transactions,
        })
    }

    /// The sentences, safe to print.
    pub fn sentences(&self) -> Vec<String> {
        let sentences = self
            .explanation
            .iter()
            .flat_map(|explanation| &explanation.sentences);
        sentences.map(|sentence| visible(sentence)).collect()
    }

    /// One line that says why the verdict is what it is.
    pub fn reason(&self) -> Option<String> {
        if let Some(source) = self.answer.follows_from {
            return Some(format!("follows from {source}"));
        }
        if let Some(limit) = &self.limit {
            return Some(limit.clone());
        }
        let sentences = &self.explanation.as_ref()?.sentences;
        Some(sentences.join("; "))
    }
}
