//! Turns: where time is limited, no level takes it from the others.
//!
//! Whether a level is easy for a history is not known before it is tried: `session-serializable` may take a millisecond
//! and `serializable` a minute, or the other way round. So all levels are tried for a short time, those that are still
//! undecided for twice as long, and so on until the limit is reached. A level that is decided settles what follows from
//! it, and the order that explains it is a hint for the next turn. Trying a level again costs at most as much as its last
//! turn, so a level that needs `t` is decided after `2 t` of its own. Without a limit, and for the last level that is
//! open, there are no turns.
//!
//! Giving each level half of the time that is left was tried before: the ninth of nine levels got a 500th of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use verify::Limit;

use crate::answer::{Answer, Decision, Obstacle};
use crate::monitor::Monitor;

/// The part of the limit that the first turn of a level takes.
const FIRST_SHARE: u32 = 32;
const SHORTEST: Duration = Duration::from_millis(20);
const LONGEST_FIRST: Duration = Duration::from_secs(1);

/// The part of the limit that the last turn takes of a level that was not named and that is decided from its text.
const LAST_SHARE: u32 = 10;

/// Watches a check in the place of its monitor, and ends turns.
pub(crate) struct Turns<'m> {
    monitor: &'m dyn Monitor,
    /// How long a turn takes; 0 for turns without an end.
    length_us: AtomicU64,
    /// When this turn ends; 0 if it does not.
    end_us: AtomicU64,
    /// How long the last turn takes of levels that must not delay the answer.
    last_us: AtomicU64,
}

impl<'m> Turns<'m> {
    /// Turns without an end.
    pub(crate) fn new(monitor: &'m dyn Monitor) -> Self {
        let [length_us, end_us, last_us] = [0, 0, 0].map(AtomicU64::new);
        Self { monitor, length_us, end_us, last_us }
    }

    /// From now on turns end, if time is limited.
    pub(crate) fn limit(&self) {
        if let Some(left) = self.monitor.time_left() {
            let first = (left / FIRST_SHARE).clamp(SHORTEST, LONGEST_FIRST);
            self.length_us.store(microseconds(first), Ordering::Relaxed);
            self.last_us.store(microseconds(left / LAST_SHARE), Ordering::Relaxed);
        }
    }

    /// From now on turns take twice as long.
    pub(crate) fn double(&self) {
        self.length_us.store(2 * self.length_us.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Whether turns are as long as they get for levels that must not delay the answer.
    pub(crate) fn are_long(&self) -> bool {
        self.length_us.load(Ordering::Relaxed) >= self.last_us.load(Ordering::Relaxed)
    }

    /// From now on turns do not end.
    pub(crate) fn unlimit(&self) {
        self.length_us.store(0, Ordering::Relaxed);
        self.end_us.store(0, Ordering::Relaxed);
    }

    /// A turn begins.
    pub(crate) fn begin(&self) {
        let length = self.length_us.load(Ordering::Relaxed);
        let end = if length == 0 { 0 } else { microseconds(self.elapsed()) + length };
        self.end_us.store(end, Ordering::Relaxed);
    }

    /// Whether an answer is undecided only because its turn was over.
    pub(crate) fn is_open(&self, answer: &Answer) -> bool {
        let by_time = answer.decision == Decision::Undecided(Obstacle::Limit(Limit::Time));
        by_time && self.length_us.load(Ordering::Relaxed) > 0 && self.monitor.reached().is_none()
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Monitor for Turns<'_> {
    fn elapsed(&self) -> Duration {
        self.monitor.elapsed()
    }

    fn reached(&self) -> Option<Limit> {
        let end = self.end_us.load(Ordering::Relaxed);
        let is_over = || end > 0 && microseconds(self.elapsed()) >= end;
        self.monitor.reached().or_else(|| is_over().then_some(Limit::Time))
    }

    fn time_left(&self) -> Option<Duration> {
        self.monitor.time_left()
    }

    fn memory_bytes(&self) -> Option<u64> {
        self.monitor.memory_bytes()
    }

    fn sentence(&self, limit: Limit) -> String {
        self.monitor.sentence(limit)
    }

    fn stage(&self, name: &str) {
        self.monitor.stage(name);
    }

    /// The end of a turn is no answer.
    fn answered(&self, answer: &Answer) {
        if !self.is_open(answer) {
            self.monitor.answered(answer);
        }
    }
}
