//! Levels without an engine against the reference semantics of their texts, and levels with one against both.

use history::History;
use isoscope::{Decision, LevelId};
use spec::SmallHistory;
use testkit::Random;
use testkit::generate::{self, Shape};

use super::{Disagreement, Trial, ask, examine};
use crate::tally::Tally;

/// A history of reads and writes of single keys at every level that it can be asked for.
pub fn run(seed: u64, tally: &mut Tally) -> Result<(), Disagreement> {
    let mut random = Random::new(seed);
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
    report.answers.iter().for_each(|answer| tally.answer(Trial::Weak.name(), answer, true));
    report.answers.iter().find_map(|answer| {
        let level = answer.level.shipped()?;
        if answer.decision.is_undecided() {
            return None;
        }
        let readings = SmallHistory::readings(history, 0, level.spec()).ok()?;
        let holds = readings.iter().any(|reading| spec::oracle::holds(reading, level.spec()));
        let word = if holds { "holds" } else { "violated" };
        (holds != (answer.decision == Decision::Holds))
            .then(|| format!("{level}: isoscope says {}, the text {word}", answer.decision.word()))
    })
}
