//! Answers against one another: no relation between two questions may be broken.
//!
//! - A level that holds implies the weaker ones, also if each level is asked alone.
//! - The number of threads, the names of keys, the order of sessions in the file and a larger clock change nothing.
//! - At levels without session order, a session may be split.
//! - A transaction whose writes no operation read may be left out: a level that held still holds.

use history::{Datum, History, Outcome};
use isoscope::{Answer, Decision, LevelId};
use testkit::{Random, Sketch, What, generate_mixed};

use super::{Disagreement, Trial, answerable, ask, difference, examine};
use crate::tally::Tally;

/// All relations on one history.
pub fn run(seed: u64, tally: &mut Tally) -> Result<(), Disagreement> {
    let history = generate_mixed::history(seed);
    examine(Trial::Relations, seed, &history, tally, &|history, tally| match problem(history, seed) {
        Err(problem) => Some(problem),
        Ok(answers) => {
            answers.iter().for_each(|answer| tally.answer(Trial::Relations.name(), answer, true));
            None
        }
    })
}

fn problem(history: &History, seed: u64) -> Result<Vec<Answer>, String> {
    let levels = answerable(history);
    let mut answers = Vec::new();
    for &level in &levels {
        answers.extend(ask(history, &[level], |check| check)?.answers);
    }
    lattice(&answers)?;
    let compare = |what: &str, history: &History| {
        let asked: Vec<LevelId> =
            answerable(history).into_iter().filter(|&level| is_kept(what, level)).collect();
        let again = ask(history, &asked, |check| check.threads(3))?.answers;
        match difference(what, &answers, &again) {
            Some(problem) => Err(problem),
            None => Ok(()),
        }
    };
    compare("asked together", history)?;
    let Some(sketch) = Sketch::of(history) else { return Ok(answers) };
    let mut random = Random::new(seed);
    compare("keys renamed", &renamed(&sketch).build())?;
    compare("sessions permuted", &permuted(&mut random, &sketch).build())?;
    compare("clock moved", &moved(&sketch).build())?;
    compare(SPLIT, &split(&sketch).build())?;
    if let Some(smaller) = without_unread(&sketch) {
        let smaller = smaller.build();
        let again = ask(&smaller, &answerable(&smaller), |check| check)?.answers;
        left_out(&answers, &again)?;
    }
    Ok(answers)
}

const SPLIT: &str = "sessions split";

/// Splitting sessions changes nothing where sessions do not count; with real time a session has one clock.
fn is_kept(what: &str, level: LevelId) -> bool {
    what != SPLIT || matches!(level, LevelId::Serializable | LevelId::SnapshotIsolation)
}

fn lattice(answers: &[Answer]) -> Result<(), String> {
    for stronger in answers.iter().filter(|answer| answer.decision == Decision::Holds) {
        for weaker in answers.iter().filter(|answer| answer.decision == Decision::Violated) {
            if stronger.level.implies(&weaker.level) {
                return Err(format!(
                    "{} holds, and {}, which it implies, is violated",
                    stronger.level, weaker.level
                ));
            }
        }
    }
    Ok(())
}

fn left_out(before: &[Answer], after: &[Answer]) -> Result<(), String> {
    for before in before.iter().filter(|before| before.decision == Decision::Holds) {
        let is_violated =
            |after: &Answer| after.level == before.level && after.decision == Decision::Violated;
        if after.iter().any(is_violated) {
            return Err(format!(
                "without a transaction that no other read from, {} is violated",
                before.level
            ));
        }
    }
    Ok(())
}

/// Other names that sort in the same order, so that ranges have the same rows.
fn renamed(sketch: &Sketch) -> Sketch {
    let has_ranges = sketch.ops().any(|op| {
        matches!(op.what, What::Range { .. } | What::PredicateRead { .. } | What::PredicateWrite { .. })
    });
    let mut other = sketch.clone();
    if !has_ranges {
        other.keys = (0..sketch.keys.len()).rev().map(|key| Datum::str(format!("other-{key}"))).collect();
    }
    other
}

fn permuted(random: &mut Random, sketch: &Sketch) -> Sketch {
    let mut other = sketch.clone();
    for place in (1..other.sessions.len()).rev() {
        other.sessions.swap(place, random.below(place + 1));
    }
    other
}

/// All times a day later.
fn moved(sketch: &Sketch) -> Sketch {
    const DAY: i64 = 86_400_000_000_000;
    let mut other = sketch.clone();
    for txn in other.txns_mut() {
        let times = &mut txn.times;
        let all = [
            &mut times.begin_request,
            &mut times.begin_response,
            &mut times.commit_request,
            &mut times.commit_response,
        ];
        all.into_iter().flatten().for_each(|time| *time += DAY);
    }
    other
}

fn split(sketch: &Sketch) -> Sketch {
    let mut other = sketch.clone();
    other.sessions = sketch.txns().map(|txn| vec![txn.clone()]).collect();
    other
}

/// Without the last committed transaction that wrote nothing which another transaction may have read; only where there
/// are reads and writes of single keys.
fn without_unread(sketch: &Sketch) -> Option<Sketch> {
    let is_plain = |what: &What| matches!(what, What::Read { .. } | What::Write { .. });
    if !sketch.ops().all(|op| is_plain(&op.what) && op.version.is_none()) || sketch.initial.is_none() {
        return None;
    }
    let places = sketch.sessions.iter().enumerate();
    let mut places = places.flat_map(|(session, txns)| (0..txns.len()).map(move |txn| (session, txn)));
    let (session, txn) = places.rfind(|&place| is_unread(sketch, place))?;
    let mut smaller = sketch.clone();
    smaller.sessions[session].remove(txn);
    Some(smaller)
}

fn is_unread(sketch: &Sketch, (session, txn): (usize, usize)) -> bool {
    let candidate = &sketch.sessions[session][txn];
    let written = |key: usize, value: &Datum| {
        candidate.ops.iter().any(|op| op.key() == Some(key) && op.written().as_ref() == Some(value))
    };
    let is_read = |op: &testkit::SketchOp| match &op.what {
        What::Read { key, value: Some(value) } => written(*key, value),
        _ => false,
    };
    candidate.outcome == Outcome::Committed && !sketch.ops().any(is_read)
}
