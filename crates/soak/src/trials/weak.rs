//! Levels without an engine against the reference semantics of their texts, and levels with one against both.

use history::History;
use isoscope::{Decision, LevelId};
use spec::{Outcome, SmallHistory};
use testkit::Random;
use testkit::generate::{self, Shape};
use testkit::generate_rows::{self, RowKind};

use super::{Disagreement, Trial, ask, examine};
use crate::tally::Tally;

/// More small forms of a history with predicates than this are not tried.
const MOST_READINGS: usize = 64;

/// Small forms with more ways to give each read a source than this are not tried: the reference semantics of some levels
/// judges every order for each of them, which took one history in 30,000 several minutes.
const MOST_EXPLANATIONS: u64 = 20_000;

/// A history of reads and writes of single keys, or one of four times by predicate, at every level that it can be asked
/// for.
pub fn run(seed: u64, tally: &mut Tally) -> Result<(), Disagreement> {
    let mut random = Random::new(seed);
    if seed.is_multiple_of(4) {
        let content = *random.pick(&[RowKind::Predicates, RowKind::Columns]);
        let mut shape = generate_rows::Shape::any(content, &mut random);
        shape.most_txns = shape.most_txns.min(5);
        shape.ops = shape.ops.min(3);
        shape.keys = shape.keys.min(3);
        shape.marked = 0;
        shape.returning = 80;
        let history = generate_rows::sketch(&mut random, &shape).build();
        return examine(Trial::Weak, seed, &history, tally, &problem);
    }
    let mut shape = Shape::any(&mut random);
    shape.unknown_initial = random.percent(30);
    shape.most_txns = shape.most_txns.min(6);
    let history = generate::history(seed, &shape);
    examine(Trial::Weak, seed, &history, tally, &problem)
}

fn problem(history: &History, tally: &mut Tally) -> Option<String> {
    let has_times = history.has_times();
    let levels: Vec<LevelId> =
        LevelId::ALL.into_iter().filter(|level| has_times || !level.needs_times()).collect();
    let report = match ask(history, &levels, |check| check) {
        Ok(report) => report,
        Err(error) => return Some(error),
    };
    // All levels that demand committed sources have the same small forms.
    let readings = |level: LevelId| {
        let readings = SmallHistory::readings_up_to(history, 0, level.spec(), MOST_READINGS);
        readings.ok().filter(|readings| {
            readings.iter().map(explanation_count).fold(0, u64::saturating_add) <= MOST_EXPLANATIONS
        })
    };
    let of_committed = readings(LevelId::ReadCommitted);
    report.answers.iter().find_map(|answer| {
        let level = answer.level.shipped()?;
        let of_values = level.spec().allows_uncommitted.then(|| readings(level));
        let readings = of_values.unwrap_or_else(|| of_committed.clone());
        tally.answer(Trial::Weak.name(), answer, readings.is_some());
        if answer.decision.is_undecided() {
            return None;
        }
        let holds = readings?.iter().any(|reading| spec::oracle::holds(reading, level.spec()));
        let word = if holds { "holds" } else { "violated" };
        (holds != (answer.decision == Decision::Holds))
            .then(|| format!("{level}: isoscope says {}, the text {word}", answer.decision.word()))
    })
}

/// In how many ways each read can be given a source, at most, and each unknown outcome be taken.
fn explanation_count(history: &SmallHistory) -> u64 {
    let may_commit = |place: &usize| history.txns[*place].outcome != Outcome::Aborted;
    let live: Vec<usize> = (0..history.txns.len()).filter(may_commit).collect();
    let mut count = 1u64;
    for &reader in &live {
        let txn = &history.txns[reader];
        for &(object, value) in &txn.reads {
            let is_source =
                |&&writer: &&usize| writer != reader && history.txns[writer].written(object) == Some(value);
            let of_others = live.iter().filter(is_source).count() as u64;
            let sources = of_others + u64::from(history.initial_value(object) == value);
            count = count.saturating_mul(sources.max(1));
        }
        if txn.outcome == Outcome::Unknown {
            count = count.saturating_mul(2);
        }
    }
    count
}
