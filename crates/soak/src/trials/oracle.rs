//! The library against the brute-force oracle, on histories of one kind and on histories that mix kinds.
//!
//! Where the oracle refuses a history (a predicate without a meaning, initial values that were not recorded), its
//! variants are asked, in which that is settled in some way: if one of them holds, the history does too.

use std::time::Duration;

use history::{Clock, History};
use isoscope::certify::Level;
use isoscope::{Decision, LevelId};
use testkit::generate::{self, Shape};
use testkit::generate_rows::{self, RowKind};
use testkit::{Random, generate_mixed, oracle};

use super::{Disagreement, Trial, answerable, ask, examine};
use crate::tally::Tally;

/// A history that mixes kinds.
pub fn mixed(seed: u64, tally: &mut Tally) -> Result<(), Disagreement> {
    against_oracle(Trial::Mixed, seed, &generate_mixed::history(seed), tally)
}

/// A history of one kind.
pub fn kinds(seed: u64, tally: &mut Tally) -> Result<(), Disagreement> {
    let mut random = Random::new(seed);
    let kind = random.below(RowKind::ALL.len() + 1);
    let history = match RowKind::ALL.get(kind) {
        Some(&content) => generate_rows::history(seed, content),
        None => {
            let mut shape = Shape::any(&mut random);
            shape.unknown_initial = random.percent(20);
            generate::history(seed, &shape)
        }
    };
    against_oracle(Trial::Kinds, seed, &history, tally)
}

fn against_oracle(trial: Trial, seed: u64, history: &History, tally: &mut Tally) -> Result<(), Disagreement> {
    let mut random = Random::new(seed ^ 0x5eed);
    let skew = *random.pick(&[0, 0, 1, 3]);
    let threads = *random.pick(&[1, 1, 1, 4]);
    examine(trial, seed, history, tally, &|history, tally| problem(history, skew, threads, (trial, tally)))
}

/// What is wrong with the answers for a history.
fn problem(
    history: &History,
    skew: u64,
    threads: usize,
    (trial, tally): (Trial, &mut Tally),
) -> Option<String> {
    let levels = answerable(history);
    let report = ask(history, &levels, |check| {
        check.threads(threads).seed(skew).clock_skew(Duration::from_nanos(skew))
    });
    let report = match report {
        Ok(report) => report,
        Err(error) => return Some(error),
    };
    let is_refused = oracle::refusal(history).is_some();
    report.answers.iter().for_each(|answer| tally.answer(trial.name(), answer, !is_refused));
    let variants = if is_refused { oracle::variants(history) } else { Vec::new() };
    let mut answers =
        report.answers.iter().filter_map(|answer| Some((answer.level.shipped()?, answer.decision)));
    answers.find_map(|(level, decision)| match is_refused {
        false => disagreement(history, level, decision, skew),
        true => accusation(&variants, level, decision, skew),
    })
}

fn with_skew(history: &History, level: LevelId, skew: u64) -> Level {
    let skew = if history.clock() == Clock::Position { 0 } else { skew as i64 };
    level.engine().expect("only levels with an engine are asked").with_clock_skew(skew)
}

fn disagreement(history: &History, level: LevelId, decision: Decision, skew: u64) -> Option<String> {
    let expected = match decision {
        Decision::Undecided(_) => return None,
        decision => decision == Decision::Holds,
    };
    let holds = oracle::holds(history, &with_skew(history, level, skew));
    let word = if holds { "holds" } else { "violated" };
    (holds != expected)
        .then(|| format!("{level}, clock skew {skew}: isoscope says {}, the oracle {word}", decision.word()))
}

fn accusation(variants: &[History], level: LevelId, decision: Decision, skew: u64) -> Option<String> {
    if decision != Decision::Violated {
        return None;
    }
    let holding = variants.iter().find(|variant| oracle::holds(variant, &with_skew(variant, level, skew)))?;
    let shown = formats::notation::print(holding).unwrap_or_default();
    Some(format!("{level}, clock skew {skew}: isoscope says violated, but this reading holds:\n{shown}"))
}
