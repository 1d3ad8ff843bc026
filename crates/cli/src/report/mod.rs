//! The answer of `check` for people and for machines.

pub mod headline;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod outputs;
pub mod sarif;
pub mod shown;
pub mod suite;
pub mod text;
pub mod witness;

#[cfg(test)]
mod tests;

use isoscope::{Answer, AskedLevel, Decision, NotAsked, Witness};
use serde::Serialize;

use crate::exit::Exit;
use crate::load::Subject;
use crate::terminal::visible;
use headline::{OF_FILE, OF_RUN, Verbs};
use shown::Shown;

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
    /// How much the history could have shown.
    pub shown: Shown,
    /// The database at its setting and the levels that decide the exit code, if the history is that of a run.
    pub run: Option<OfRun>,
}

/// What a report says of the run that made its history.
#[derive(Clone, Debug)]
pub struct OfRun {
    /// The database, its version and its setting.
    pub subject: String,
    /// The levels that decide the exit code; none if all do.
    pub judged: Vec<AskedLevel>,
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
    /// The exit code: violated before undecided before holds. Levels that hold of a history that could have shown
    /// nothing are undecided.
    pub fn exit(&self) -> Exit {
        let judged = || self.answers.iter().filter(|answer| self.is_judged(&answer.level));
        if judged().any(|answer| answer.decision == Decision::Violated) {
            Exit::Violated
        } else if judged().any(|answer| answer.decision.is_undecided()) || self.nothing_shown().is_some() {
            Exit::Undecided
        } else {
            Exit::Holds
        }
    }

    /// Whether the exit code depends on a level.
    pub fn is_judged(&self, level: &AskedLevel) -> bool {
        self.run.as_ref().is_none_or(|run| run.judged.is_empty() || run.judged.contains(level))
    }

    /// Whether the violation of a level decides the exit code: the level is judged, or a judged one implies it.
    pub fn is_judged_through(&self, level: &AskedLevel) -> bool {
        self.answers.iter().any(|answer| self.is_judged(&answer.level) && answer.level.implies(level))
    }

    /// Why the history could not have shown a violation; `None` if it could.
    pub fn nothing_shown(&self) -> Option<&'static str> {
        self.shown.nothing
    }

    /// The answer in one sentence.
    pub fn sentence(&self) -> String {
        let (subject, verbs): (&str, Verbs) = match &self.run {
            Some(run) => (&run.subject, OF_RUN),
            None => (&self.subject.name, OF_FILE),
        };
        visible(&headline::sentence(self, subject, verbs))
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

    /// The answers for the levels that hold and that no other one which holds implies.
    pub fn strongest(&self) -> Vec<&Answer> {
        let holding = || self.answers.iter().filter(|answer| answer.decision == Decision::Holds);
        // A level of the user's own is implied by itself alone, and there may be thousands of them.
        let is_implied = |answer: &&Answer| {
            let is_stronger =
                |other: &Answer| other.level != answer.level && other.level.implies(&answer.level);
            answer.level.shipped().is_some() && holding().any(is_stronger)
        };
        holding().filter(|answer| !is_implied(answer)).collect()
    }

    /// The levels that hold and that no other one which holds implies; and the other ones that hold.
    pub fn strongest_holding(&self) -> (Vec<&str>, Vec<&str>) {
        let strongest: Vec<&str> = self.strongest().iter().map(|answer| answer.level.name()).collect();
        let implied = self.shipped(Decision::Holds).filter(|name| !strongest.contains(name)).collect();
        (strongest, implied)
    }

    /// The names of the shipped levels with this verdict.
    fn shipped(&self, decision: Decision) -> impl Iterator<Item = &str> {
        let answers = self.answers.iter().filter(move |answer| answer.decision == decision);
        answers.filter_map(|answer| Some(answer.level.shipped()?.name()))
    }

    /// The answers for the violated levels that imply no other violated one.
    pub fn weakest(&self) -> Vec<&Answer> {
        let violated = || self.answers.iter().filter(|answer| answer.decision == Decision::Violated);
        let is_weakest = |answer: &&Answer| {
            let is_weaker =
                |other: &Answer| other.level != answer.level && answer.level.implies(&other.level);
            answer.level.shipped().is_none() || !violated().any(is_weaker)
        };
        violated().filter(is_weakest).collect()
    }

    /// The violated levels that imply no other violated one, together where the same transactions show the violation;
    /// and the other violated levels.
    pub fn weakest_violated(&self) -> (Vec<Violation<'_>>, Vec<&str>) {
        let mut weakest: Vec<Violation<'_>> = Vec::new();
        for answer in self.weakest() {
            let level = answer.level.name();
            let same = |known: &&mut Violation<'_>| are_same(known.answer, answer);
            match weakest.iter_mut().find(same) {
                Some(known) => known.levels.push(level),
                None => weakest.push(Violation { levels: vec![level], answer }),
            }
        }
        let is_told = |name: &&str| weakest.iter().any(|violation| violation.levels.contains(name));
        let others = self.shipped(Decision::Violated).filter(|name| !is_told(name)).collect();
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
