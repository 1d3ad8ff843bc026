//! The checker: replays a certificate against the history it speaks of.
//!
//! It shares no code with the engines and does not use their index. A certificate for "holds" costs one pass over the
//! order and over the operations (a real-time level O(1) more per event); one for "violated" costs the literals it
//! lists, times a logarithm. A million transactions of eight operations take 1.1 s, a derivation of two million steps
//! 4.9 s (`examples/measure.rs`, on a busy machine).

use history::History;

use crate::effects::Scope;
use crate::{Certificate, Flaw, Level, Rule, Step, observe, orders, replay, rules, times};

/// Checks that a certificate proves its verdict for this history and level.
///
/// The verdict is the certificate's own: [`Certificate::Holds`] or [`Certificate::Violated`].
pub fn check(history: &History, level: &Level, certificate: &Certificate) -> Result<(), Flaw> {
    check_on(1, history, level, certificate)
}

/// The same on several threads. The answer does not depend on how many there are.
pub fn check_on(
    threads: usize,
    history: &History,
    level: &Level,
    certificate: &Certificate,
) -> Result<(), Flaw> {
    times::refuse_senseless(level)?;
    times::refuse_without_clock(history, level)?;
    match certificate {
        Certificate::Holds { order, committed_unknown } => {
            replay::check(threads, history, level, order, committed_unknown)
        }
        Certificate::Violated { steps, keys: None } if is_exhaustive(steps) => {
            orders::check_none(history, level)
        }
        Certificate::Violated { steps, keys } => {
            observe::refuse_unsupported(history, level)?;
            let scope = Scope { keys: keys.as_deref(), clock_skew: level.window() };
            rules::check(history, &observe::effects(history, &scope)?, level, steps)
        }
    }
}

/// Whether the whole argument is that no order explains the history.
fn is_exhaustive(steps: &[Step]) -> bool {
    matches!(steps, [Step { clause, rule: Rule::NoOrder }] if clause.is_empty())
}
