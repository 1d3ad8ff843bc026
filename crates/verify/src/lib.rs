//! A history and a level in, a verdict with its certificate out.

mod options;
mod stats;

pub use options::{Limit, Options, Stages};
pub use stats::Stats;

use certify::{Certificate, Level};
use history::{History, Index, OpId};

/// The answer to "does this history satisfy the level?".
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Some execution of the level explains the history; the certificate is that execution.
    Holds(Certificate),
    /// None does; the certificate derives a contradiction.
    Violated(Certificate),
    /// A limit was reached first.
    Undecided(Limit),
}

/// A verdict, and what it took.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The verdict.
    pub verdict: Verdict,
    /// Times and counts of the stages that ran.
    pub stats: Stats,
}

/// The history has an operation that no engine decides yet, so there is no verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// The first such operation.
    pub op: OpId,
}

/// Decides whether a history satisfies a level.
pub fn verify(
    history: &History,
    index: &Index,
    level: &Level,
    options: &Options<'_>,
) -> Result<Answer, Unsupported> {
    let _ = (history, level, options);
    Err(Unsupported {
        op: index.unindexed().unwrap_or(OpId(0)),
    })
}
