//! The answer of `check` for people and for machines.

pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod sarif;
pub mod text;
pub mod witness;

#[cfg(test)]
mod tests;

use std::io::Write;

use isoscope::{Answer, Decision, NotAsked, Witness};
use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::load::Subject;

/// Writes a report in some format.
pub type Writer = fn(&Report<'_>, &mut dyn Write) -> Result<(), Failure>;

/// What `check` found out.
#[derive(Debug)]
pub struct Report<'s> {
    /// The history.
    pub subject: &'s Subject,
    /// The answers, in the order in which the levels were named, or strongest first.
    pub answers: Vec<Answer>,
    /// The levels that the history cannot be asked for.
    pub not_asked: Vec<NotAsked>,
    /// What the run took, if that is wanted.
    pub stats: Option<RunStats>,
    /// What shows the violations, if that is wanted.
    pub witnesses: Vec<Witness>,
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
        let any = |wanted: fn(Decision) -> bool| self.answers.iter().any(|answer| wanted(answer.decision));
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
        self.answers
            .iter()
            .filter(|answer| wanted(answer.decision))
            .map(|answer| answer.level.name())
            .collect()
    }

    /// How verdicts depend on the clocks, a sentence for all levels of which the same is true.
    pub fn skew_sentences(&self) -> Vec<String> {
        self.sentences(Answer::skew_phrase)
    }

    /// Why levels are undecided, likewise.
    pub fn undecided_sentences(&self) -> Vec<String> {
        self.sentences(|answer| answer.obstacle.clone())
    }

    fn sentences(&self, phrase: impl Fn(&Answer) -> Option<String>) -> Vec<String> {
        let mut told: Vec<(Vec<&str>, String)> = Vec::new();
        for answer in &self.answers {
            let Some(phrase) = phrase(answer) else {
                continue;
            };
            match told.iter_mut().find(|(_, known)| *known == phrase) {
                Some((levels, _)) => levels.push(answer.level.name()),
                None => told.push((vec![answer.level.name()], phrase)),
            }
        }
        let sentences = told.into_iter();
        sentences.map(|(levels, phrase)| format!("{}: {phrase}", levels.join(", "))).collect()
    }

    /// The levels that hold and that no other one which holds implies; and the other ones that hold.
    pub fn strongest_holding(&self) -> (Vec<&str>, Vec<&str>) {
        let holding = || self.answers.iter().filter(|answer| answer.decision == Decision::Holds);
        let is_implied = |answer: &&Answer| {
            holding().any(|other| other.level != answer.level && other.level.implies(&answer.level))
        };
        let implied = holding().filter(is_implied).map(|answer| answer.level.name());
        let strongest = holding().filter(|answer| !is_implied(answer)).map(|answer| answer.level.name());
        (strongest.collect(), implied.collect())
    }

    /// The violated levels that imply no other violated one, together where the same transactions show the violation;
    /// and the other violated levels.
    pub fn weakest_violated(&self) -> (Vec<Violation<'_>>, Vec<&str>) {
        let violated = || self.answers.iter().filter(|answer| answer.decision == Decision::Violated);
        let is_weakest = |answer: &Answer| {
            violated().all(|other| other.level == answer.level || !answer.level.implies(&other.level))
        };
        let mut weakest: Vec<Violation<'_>> = Vec::new();
        for answer in &self.answers {
            let level = answer.level.name();
            if answer.decision != Decision::Violated || !is_weakest(answer) {
                continue;
            }
            let same = |known: &&mut Violation<'_>| are_same(known.answer, answer);
            match weakest.iter_mut().find(same) {
                Some(known) => known.levels.push(level),
                None => weakest.push(Violation { levels: vec![level], answer }),
            }
        }
        let others =
            violated().filter(|answer| !is_weakest(answer)).map(|answer| answer.level.name()).collect();
        (weakest, others)
    }
}

/// Whether two violations have the same explanation, or are shown by the same transactions.
fn are_same(one: &Answer, other: &Answer) -> bool {
    let transactions = |answer: &Answer| {
        let mut txns =
            answer.explanation.as_ref().map(|found| found.transactions.clone()).unwrap_or_default();
        txns.sort_unstable();
        txns
    };
    let shown = transactions(one);
    one.explanation == other.explanation || !shown.is_empty() && shown == transactions(other)
}

/// Levels that the same transactions violate.
#[derive(Debug)]
pub struct Violation<'r> {
    /// The levels.
    pub levels: Vec<&'r str>,
    /// The answer for the first of them.
    pub answer: &'r Answer,
}
