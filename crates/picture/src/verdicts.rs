//! The rows of a report: for each level its verdict, with the witness that shows a violation.

use isoscope::{Answer, AskedLevel, Decision, Witness};

use crate::html::VerdictRow;

/// A row for each answer. A violation without a witness of its own refers to the one of a level that it implies, or of
/// an answer with the same explanation.
pub fn verdict_rows(answers: &[Answer], witnesses: &[Witness]) -> Vec<VerdictRow> {
    answers.iter().map(|answer| row(answer, answers, witnesses)).collect()
}

fn row(answer: &Answer, answers: &[Answer], witnesses: &[Witness]) -> VerdictRow {
    let shown = |level: &AskedLevel| {
        witnesses.iter().position(|witness| {
            let mut violated = std::iter::once(&witness.level).chain(&witness.also);
            violated.any(|other| level == other || level.implies(other))
        })
    };
    let own = |answer: &Answer| {
        let same = || answers.iter().filter(|other| other.explanation == answer.explanation);
        shown(&answer.level).or_else(|| same().find_map(|other| shown(&other.level)))
    };
    let is_violated = |answer: &Answer| answer.decision == Decision::Violated;
    let weaker = || {
        let weaker = answers.iter().filter(|other| is_violated(other) && answer.level.implies(&other.level));
        weaker.filter_map(own).next()
    };
    let witness = is_violated(answer).then(|| own(answer).or_else(weaker)).flatten();
    let note = match witness.map(|witness| &witnesses[witness]) {
        Some(witness) if answer.level == witness.level || witness.also.contains(&answer.level) => {
            witness.headline.clone()
        }
        Some(witness) => format!("{}, as for {}", witness.name(), witness.level),
        None => answer.reason().unwrap_or_default(),
    };
    VerdictRow { level: answer.level.name().to_owned(), verdict: answer.decision.word(), note, witness }
}
