//! Levels that have a text but no engine.
//!
//! One read or one transaction may show by itself that the level is violated, in the best words and with a certificate.
//! The text decides a small history. For a large one, or one with lists or predicates, the engine of a stronger level may
//! prove that the level holds; otherwise it is undecided.

use std::time::Instant;

use history::{Op, OpId};
use levels::LevelId;

use crate::answer::{Answer, Decision, Obstacle};
use crate::definition;
use crate::error::Error;
use crate::explanation::Explanation;
use crate::question::Question;

/// Decides a level that has no engine; `known` are answers for other levels.
pub(crate) fn decide(question: &Question<'_>, level: LevelId, known: &[Answer]) -> Result<Answer, Error> {
    if level.spec().allows_uncommitted {
        return decide_by_values(question, level, known);
    }
    let started = Instant::now();
    if let Some(certificate) = question.find_forbidden(|finding| level.forbids(finding))? {
        let answer = Answer::plain(level.into(), Decision::Violated, started.elapsed());
        return Ok(question.explained(Answer { certificate: Some(certificate), ..answer }));
    }
    let answer = definition::decide(question, level.spec(), level.into())?;
    match answer.decision {
        Decision::Undecided(Obstacle::Definition(_)) => decide_indirectly(question, level, known, answer),
        _ => Ok(answer),
    }
}

/// A level that also allows what was never committed demands only that some transaction wrote each value.
///
/// The values that writes by predicate make are not enumerated, so with them a value without a writer decides nothing.
fn decide_by_values(question: &Question<'_>, level: LevelId, known: &[Answer]) -> Result<Answer, Error> {
    let started = Instant::now();
    let history = question.history;
    let answer = |decision| Answer::plain(level.into(), decision, started.elapsed());
    let Some((read, key, value)) = spec::unwritten_read(history) else { return Ok(answer(Decision::Holds)) };
    let makes_values = |&op: &OpId| matches!(history.op(op), Op::PredicateWrite(_));
    match (0..history.op_count() as u32).map(OpId).find(makes_values) {
        Some(op) => {
            let undecided = answer(Decision::Undecided(Obstacle::Operation(op)));
            decide_indirectly(question, level, known, question.explained(undecided))
        }
        None => {
            let explanation = Some(Explanation::of_unwritten_read(history, read, key, value));
            Ok(Answer { explanation, ..answer(Decision::Violated) })
        }
    }
}

/// Whether a stronger level holds; if none does, the answer stays as it is.
fn decide_indirectly(
    question: &Question<'_>,
    level: LevelId,
    known: &[Answer],
    undecided: Answer,
) -> Result<Answer, Error> {
    let started = Instant::now();
    Ok(match stronger_that_holds(question, level, known)? {
        Some(stronger) => Answer {
            follows_from: Some(stronger),
            ..Answer::plain(level.into(), Decision::Holds, started.elapsed())
        },
        None => undecided,
    })
}

/// A level with an engine that implies this one and holds.
fn stronger_that_holds(
    question: &Question<'_>,
    level: LevelId,
    known: &[Answer],
) -> Result<Option<LevelId>, Error> {
    let has_times = question.history.has_times();
    let mut candidates: Vec<LevelId> = LevelId::with_engine()
        .filter(|stronger| stronger.implies(level) && (has_times || !stronger.needs_times()))
        .collect();
    candidates.reverse();
    let mut violated: Vec<LevelId> = Vec::new();
    for stronger in candidates {
        if violated.iter().any(|&violated| stronger.implies(violated)) {
            continue;
        }
        let asked = known.iter().find(|answer| answer.level.shipped() == Some(stronger));
        let decision = match asked {
            Some(answer) => answer.decision,
            None => question.decide(stronger, &[])?.decision,
        };
        match decision {
            Decision::Holds => return Ok(Some(stronger)),
            Decision::Violated => violated.push(stronger),
            Decision::Undecided(_) => {}
        }
    }
    Ok(None)
}
