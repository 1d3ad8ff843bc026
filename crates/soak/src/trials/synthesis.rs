//! Histories that synthesis makes from the texts of levels: one level allows them, and another forbids them.

use isoscope::{Decision, LevelId};
use synth::{Bounds, Options, Problem, Synthesis};
use testkit::Random;

use super::{Disagreement, Trial, ask, contradict};
use crate::tally::Tally;

/// One pair of levels.
pub fn run(seed: u64, tally: &mut Tally) -> Result<(), Disagreement> {
    let mut random = Random::new(seed);
    let timeless: Vec<LevelId> = LevelId::ALL.into_iter().filter(|level| !level.needs_times()).collect();
    let (allowed, forbidden) = (*random.pick(&timeless), *random.pick(&timeless));
    if allowed.implies(forbidden) {
        return Ok(());
    }
    let problem = Problem {
        allow: vec![allowed.spec()],
        forbid: vec![forbidden.spec()],
        options: Options { blind_writes: random.percent(70), ..Options::default() },
    };
    let bounds = Bounds { most_txns: Some(4), objects: Some(2), ..Bounds::default() };
    let Synthesis::Found(found) = synth::synth(&problem, bounds) else { return Ok(()) };
    let history = found.history.to_history();
    tally.history(Trial::Synthesis.name());
    // Nothing is shrunk: the history is the smallest already, and of another one the texts may say something else.
    let disagree = |problem: String| Disagreement {
        trial: Trial::Synthesis.name(),
        seed,
        problem,
        history: formats::notation::print(&history).unwrap_or_else(|error| error.to_string()),
    };
    let report = ask(&history, &[allowed, forbidden], |check| check).map_err(disagree)?;
    for answer in &report.answers {
        tally.answer(Trial::Synthesis.name(), answer, true);
        let expected = match answer.level.shipped() == Some(allowed) {
            true => Decision::Holds,
            false => Decision::Violated,
        };
        if contradict(answer.decision, expected) {
            let (is, should) = (answer.decision.word(), expected.word());
            let problem = format!("{} is {is}, and should be {should} by its text", answer.level);
            return Err(disagree(problem));
        }
    }
    Ok(())
}
