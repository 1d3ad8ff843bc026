//! How a check reports its progress, and how it is stopped.

use std::time::{Duration, Instant};

use verify::Limit;

use crate::answer::Answer;

/// Watches a check from outside: it measures time, says when to stop, and hears of progress.
///
/// The engine asks [`Monitor::reached`] in its loops, so an answer must be cheap.
pub trait Monitor: Sync {
    /// Time since the check began.
    fn elapsed(&self) -> Duration;

    /// The limit that is reached, if one is; the check then ends as undecided.
    fn reached(&self) -> Option<Limit>;

    /// How long the check may still take, if that is limited; then levels take turns, and none takes all the time.
    fn time_left(&self) -> Option<Duration> {
        None
    }

    /// The most memory that the process may hold, in bytes, if that is limited. The engine chooses what it keeps by it.
    fn memory_bytes(&self) -> Option<u64> {
        None
    }

    /// The limit as a sentence.
    fn sentence(&self, limit: Limit) -> String {
        match limit {
            Limit::Time => "the time limit was reached".to_owned(),
            Limit::Memory => "the memory limit was reached".to_owned(),
            Limit::Interrupt => "interrupted".to_owned(),
        }
    }

    /// A new stage begins, such as `checking serializable`.
    fn stage(&self, _name: &str) {}

    /// A level was decided. If the check is ended from outside, [`crate::Check::unfinished`] makes a report of such answers.
    fn answered(&self, _answer: &Answer) {}
}

/// A check that nothing stops.
#[derive(Clone, Copy, Debug)]
pub struct Unlimited {
    started: Instant,
}

impl Default for Unlimited {
    fn default() -> Self {
        Self { started: Instant::now() }
    }
}

impl Monitor for Unlimited {
    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn reached(&self) -> Option<Limit> {
        None
    }
}
