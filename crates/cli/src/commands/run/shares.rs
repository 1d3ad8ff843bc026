//! Time for the levels that a run is not judged by.
//!
//! The judged level is decided under the user's limits alone, after a level that settles it where that one holds. From
//! then on every other level gets half of the time that is left, so that a hard level leaves time for the easier ones
//! behind it, and all of them together never take longer than they may.

use std::sync::Mutex;
use std::time::Duration;

use isoscope::{Answer, LevelId, Limit, Monitor, units};

use crate::progress::Watched;

/// Watches a check, and ends the levels that nobody asked for in time.
pub struct Shares<'w> {
    watched: &'w Watched<'w>,
    /// The level that is decided before the clock of the others starts; if there is none, all levels are judged.
    judged: Option<LevelId>,
    /// What the others may take together.
    time: Option<Duration>,
    clock: Mutex<Clock>,
}

struct Clock {
    /// When the others must have ended, since the start of the check.
    end: Option<Duration>,
    /// When the level must have ended that is being decided.
    end_of_level: Option<Duration>,
}

impl<'w> Shares<'w> {
    /// The judged level is the last of those that are decided first. Without one, or without a time, only the user's
    /// limits count.
    pub fn new(watched: &'w Watched<'w>, first: &[LevelId], time: Option<Duration>) -> Self {
        let end_of_level = time.filter(|_| first.len() > 1).map(|time| watched.elapsed() + time);
        let clock = Mutex::new(Clock { end: None, end_of_level });
        Self { watched, judged: first.last().copied(), time, clock }
    }

    fn clock(&self) -> std::sync::MutexGuard<'_, Clock> {
        self.clock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Monitor for Shares<'_> {
    fn elapsed(&self) -> Duration {
        self.watched.elapsed()
    }

    fn reached(&self) -> Option<Limit> {
        let is_over = || self.clock().end_of_level.is_some_and(|end| self.elapsed() >= end);
        self.watched.reached().or_else(|| is_over().then_some(Limit::Time))
    }

    fn memory_bytes(&self) -> Option<u64> {
        self.watched.memory_bytes()
    }

    fn sentence(&self, limit: Limit) -> String {
        match (limit, self.time) {
            (Limit::Time, Some(time)) => format!(
                "not judged, and its share of {} was over; --level decides it without a limit",
                units::duration(time)
            ),
            _ => self.watched.sentence(limit),
        }
    }

    fn stage(&self, name: &str) {
        self.watched.stage(name);
    }

    fn answered(&self, answer: &Answer) {
        self.watched.answered(answer);
        let (Some(judged), Some(time)) = (self.judged, self.time) else { return };
        let now = self.elapsed();
        let mut clock = self.clock();
        if answer.level.shipped() == Some(judged) {
            clock.end.get_or_insert(now + time);
        }
        clock.end_of_level = clock.end.map(|end| now + end.saturating_sub(now) / 2);
    }
}
