//! A history and a level in, a verdict with its certificate out.

mod choices;
mod classes;
mod components;
mod cover;
mod draft;
mod engine;
mod frontier;
mod guess;
mod hints;
mod known;
mod matrix;
mod options;
mod predicates;
mod problem;
mod proof;
mod recorded;
mod refute;
mod repair;
mod rows;
mod saturate;
mod schedule;
mod shape;
mod stats;
mod steps;
mod time;
mod turns;
mod unordered;
mod versions;
mod windows;
mod writers;

pub use options::{Limit, Options, Stages};
pub use recorded::{RecordedRun, explain_as_recorded};
pub use stats::Stats;

use certify::{Certificate, Core, Level};
use history::{History, OpId, Outcome};
use index::{FindingKind, Index};
use problem::ALL_LINKED;

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

impl Verdict {
    /// A contradiction whose derivation was written, or interrupted by a limit.
    pub(crate) fn of_proof(proved: Result<Certificate, Limit>) -> Self {
        proved.map_or_else(Self::Undecided, Self::Violated)
    }
}

/// A verdict, and what it took.
#[derive(Clone, Debug)]
pub struct Verified {
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
) -> Result<Verified, Unsupported> {
    if let Some(certificate) = hints::explain(history, level, options) {
        return Ok(Verified { verdict: Verdict::Holds(certificate), stats: Stats::default() });
    }
    let engine = |index: &Index, more: usize| {
        if more == 0
            && options.stages.versions
            && let Some(answer) = engine::follow_versions(history, index, level, options)
        {
            return (answer, Vec::new());
        }
        match level.sessions {
            true => engine::decide_with_more(history, index, level, &ALL_LINKED, options, more),
            false => (unordered::decide(history, index, level, options), Vec::new()),
        }
    };
    if index::has_predicates(history) {
        let decided = predicates::decide(history, index, level, options, &engine);
        return decided.or_else(|unsupported| try_orders(history, level, options).ok_or(unsupported));
    }
    // What becomes of two appends that do not see each other is not said by prefix consistency.
    let of_list = index.first_of_list().filter(|_| level.core == Core::Prefix);
    match (index.unindexed().or(of_list), index.doubtful()) {
        (Some(op), _) => try_orders(history, level, options).ok_or(Unsupported { op }),
        (None, Some(op)) => {
            let decided = decide_doubtful(history, index, level, &|index| engine(index, 0).0);
            decided.or_else(|| try_orders(history, level, options)).ok_or(Unsupported { op })
        }
        (None, None) => Ok(engine(index, 0).0),
    }
}

/// The verdict where several transactions appended the same element to a list: an order that a guess leads to, if it
/// explains the history, or a contradiction of what is certain. Nothing if there is neither.
fn decide_doubtful(
    history: &History,
    index: &Index,
    level: &Level,
    engine: &dyn Fn(&Index) -> Verified,
) -> Option<Verified> {
    let explains = |found: &Verified| match &found.verdict {
        Verdict::Holds(certificate) => certify::check(history, level, certificate).is_ok(),
        _ => false,
    };
    let guessed = engine(&Index::guessing(history));
    if explains(&guessed) || matches!(guessed.verdict, Verdict::Undecided(_)) {
        return Some(guessed);
    }
    let certain = engine(index);
    (explains(&certain) || !matches!(certain.verdict, Verdict::Holds(_))).then_some(certain)
}

/// The verdict on a small history by trying its orders, whatever kinds of operations it mixes.
fn try_orders(history: &History, level: &Level, options: &Options<'_>) -> Option<Verified> {
    let started = (options.clock)();
    let found = certify::try_orders(history, level, &|| (options.limit)().is_some())?;
    let verdict = match found {
        Certificate::Holds { .. } => Verdict::Holds(found),
        Certificate::Violated { .. } => Verdict::Violated(found),
    };
    let mut stats = Stats::default();
    stats.stages.push(("try orders", (options.clock)().saturating_sub(started)));
    Some(Verified { verdict, stats })
}

/// The argument that a committed transaction shows something forbidden by itself, if one does.
///
/// Nothing is said where the index leaves an operation out, or where predicates leave open what a transaction did: a
/// finding may then be one of the index alone.
pub fn prove_finding(
    history: &History,
    index: &Index,
    level: &Level,
    forbids: &dyn Fn(FindingKind) -> bool,
) -> Option<Certificate> {
    let is_open = index.effects().all().iter().any(|effect| effect.alternatives.len() > 1);
    if index.unindexed().is_some() || is_open || index::RowEffects::refusal(history).is_some() {
        return None;
    }
    let mut findings = index.findings().iter();
    let finding = findings
        .find(|finding| history.outcome(finding.txn) == Outcome::Committed && forbids(finding.kind))?;
    engine::prove_finding(history, index, level, finding)
}
