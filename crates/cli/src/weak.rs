//! Levels that have a definition but no engine.
//!
//! Validation may say at once that the level is violated, and in the best words. A small history is then asked by the
//! definition; of a large one, or one with lists or predicates, an engine of a stronger level may say that it holds, and
//! otherwise it is undecided.

use std::time::Instant;

use ::run::forbidden::{facts, forbids, is_of_single_reads};
use spec::SmallHistory;

use crate::ask::{Answer, Decision, Obstacle, Question};
use crate::commands::check::rule;
use crate::exit::Failure;
use crate::levels::{self, NamedLevel};
use crate::report::Ruling;
use crate::{interrupt, own_level};

/// Decides a level that has no engine.
pub fn decide(question: &Question<'_>, level: NamedLevel) -> Result<Ruling, Failure> {
    let started = Instant::now();
    if facts(question.history, question.index).any(|finding| forbids(level.name(), finding.kind)) {
        let answer = Answer::plain(level.name(), Decision::Violated, started.elapsed());
        return Ok(rule(question, answer));
    }
    match SmallHistory::from_history(question.history, question.clock_skew) {
        Ok(small) => own_level::decide_small(question, level.spec, small),
        Err(error) => {
            let obstacle = Obstacle::Definition(error);
            let answer = interrupt::while_deciding(|| decide_indirectly(question, level, obstacle));
            Ok(rule(question, answer?))
        }
    }
}

fn decide_indirectly(
    question: &Question<'_>,
    level: NamedLevel,
    obstacle: Obstacle,
) -> Result<Answer, Failure> {
    let started = Instant::now();
    let answer = |decision| Answer::plain(level.name(), decision, started.elapsed());
    if is_of_single_reads(level.name()) {
        return Ok(answer(Decision::Holds));
    }
    let holding = stronger_that_holds(question, level)?;
    Ok(match holding {
        Some(stronger) => Answer { follows_from: Some(stronger), ..answer(Decision::Holds) },
        None => answer(Decision::Undecided(obstacle)),
    })
}

/// A level with an engine that implies this one and holds.
fn stronger_that_holds(question: &Question<'_>, level: NamedLevel) -> Result<Option<&'static str>, Failure> {
    let has_times = question.history.has_times();
    let is_candidate = |stronger: &NamedLevel| {
        levels::implies(stronger.name(), level.name()) && (has_times || !stronger.needs_times())
    };
    let mut violated: Vec<&str> = Vec::new();
    for stronger in levels::with_engine().into_iter().filter(is_candidate).rev() {
        if violated.iter().any(|violated| levels::implies(stronger.name(), violated)) {
            continue;
        }
        match question.decide(stronger)?.decision {
            Decision::Holds => return Ok(Some(stronger.name())),
            Decision::Violated => violated.push(stronger.name()),
            Decision::Undecided(_) => {}
        }
    }
    Ok(None)
}
