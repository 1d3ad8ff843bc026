//! Compares an engine with the oracle, and its certificate with the checker.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use certify::{Certificate, Level};
use history::History;

use crate::{oracle, shrink};

/// An engine that is wrong about a history.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// The level in question.
    pub level: Level,
    /// What is wrong, for the smallest history.
    pub problem: String,
    /// The smallest history that shows it, in the notation.
    pub history: String,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.level.name().unwrap_or("a level without a name");
        writeln!(out, "{name}, clock skew {}: {}", self.level.clock_skew, self.problem)?;
        out.write_str(&self.history)
    }
}

/// What an engine says: whether the level holds, and why.
pub type Claim = (bool, Certificate);

/// Runs an engine, which answers whether the level holds and why, and compares.
///
/// The verdict must be the oracle's, the certificate must be for that verdict, and the checker must accept it. Otherwise
/// (or if the engine panics) the history is shrunk as long as the engine is wrong about it.
pub fn agree(
    history: &History,
    level: &Level,
    engine: &dyn Fn(&History, &Level) -> Claim,
) -> Result<(), Disagreement> {
    agree_if_decided(history, level, &|history, level| Some(engine(history, level)))
}

/// As [`agree`], for an engine that does not decide every history.
pub fn agree_if_decided(
    history: &History,
    level: &Level,
    engine: &dyn Fn(&History, &Level) -> Option<Claim>,
) -> Result<(), Disagreement> {
    if problem(history, level, engine).is_none() {
        return Ok(());
    }
    let smallest = shrink(history, &|history| problem(history, level, engine).is_some());
    Err(Disagreement {
        level: *level,
        problem: problem(&smallest, level, engine)
            .unwrap_or_else(|| "the engine is not deterministic".into()),
        history: formats::notation::print(&smallest).unwrap_or_else(|error| error.to_string()),
    })
}

/// Whether the checker accepts certificates for this level: real time needs times.
pub fn has_certificates(history: &History, level: &Level) -> bool {
    history.has_times() || !level.needs_times()
}

/// Panics with the smallest history if an engine is wrong.
#[track_caller]
pub fn assert_agrees(history: &History, level: &Level, engine: &dyn Fn(&History, &Level) -> Claim) {
    if let Err(disagreement) = agree(history, level, engine) {
        panic!("{disagreement}");
    }
}

fn problem(
    history: &History,
    level: &Level,
    engine: &dyn Fn(&History, &Level) -> Option<Claim>,
) -> Option<String> {
    let Ok(answer) = catch_unwind(AssertUnwindSafe(|| engine(history, level))) else {
        return Some("the engine panicked".into());
    };
    let (verdict, certificate) = answer?;
    let expected = oracle::holds(history, level);
    let word = |holds: bool| if holds { "holds" } else { "violated" };
    if verdict != expected {
        return Some(format!("the engine says {}, and the oracle {}", word(verdict), word(expected)));
    }
    if matches!(certificate, Certificate::Holds { .. }) != verdict {
        return Some(format!("the verdict is {}, and the certificate is for the other", word(verdict)));
    }
    if !has_certificates(history, level) {
        return None;
    }
    let flaw = certify::check(history, level, &certificate).err()?;
    Some(format!("{} is right, but its certificate is not: {flaw}", word(verdict)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_is_wrong_is_shown_the_smallest_history() {
        let history =
            formats::notation::parse("a: r(x)=0 w(x)=1 r(y)=0\nb: r(x)=0 w(x)=2\nc: w(y)=3").unwrap();
        let gullible = |_: &History, _: &Level| {
            let (order, committed_unknown) = (Vec::new(), Vec::new());
            (true, Certificate::Holds { order, committed_unknown })
        };
        let wrong = agree(&history, &Level::SERIALIZABLE, &gullible).unwrap_err();
        assert_eq!(
            wrong.problem,
            "holds is right, but its certificate is not: transaction 0: it committed, but not all of its events are in the order"
        );
        assert_eq!(wrong.history, "a: {}\n");
    }
}
