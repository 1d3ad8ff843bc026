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
    let same = || {
        let same = answers.iter().filter(|other| other.explanation == answer.explanation);
        same.filter_map(|other| shown(&other.level)).next()
    };
    let is_violated = answer.decision == Decision::Violated;
    let witness = shown(&answer.level).or_else(same).filter(|_| is_violated);
    let note = match witness.map(|witness| &witnesses[witness]) {
        Some(witness) if answer.level == witness.level || witness.also.contains(&answer.level) => {
            witness.headline.clone()
        }
        Some(witness) => format!("{}, as for {}", witness.name(), witness.level),
        None => answer.reason().unwrap_or_default(),
    };
    VerdictRow { level: answer.level.name().to_owned(), verdict: answer.decision.word(), note, witness }
}
