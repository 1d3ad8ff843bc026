//! Time for the levels that the user did not name.
//!
//! A level that the user named, or that a run is judged by, is decided under the user's limits alone. The others together
//! get a time of their own, in which they take turns (`Monitor::time_left`), so that no level that was not asked for
//! delays the exit code for long.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use isoscope::{Answer, LevelId, Limit, Monitor, units};

use crate::progress::Watched;

/// The time that levels which were not named have at least, so that the easy ones are decided.
const LEAST: Duration = Duration::from_millis(500);

/// Watches a check, and ends the levels that the user did not name in time.
pub struct Shares<'w> {
    watched: &'w Watched<'w>,
    /// The level that is decided before the time of the others starts, if there is one.
    judged: Option<LevelId>,
    is_judged: AtomicBool,
    /// The judged level, if it is one that is decided from its text after all others.
    text: Option<&'static str>,
    /// How long the others may take together.
    time: Option<Duration>,
    /// When the levels that are decided now must have ended, since the start of the check.
    end: Mutex<Option<Duration>>,
}

impl<'w> Shares<'w> {
    /// For a check in which no level was named: all share the time, from now on. Without a time only the user's limits
    /// count.
    pub fn of_all(watched: &'w Watched<'w>, time: Option<Duration>) -> Self {
        let end = time.map(|time| watched.elapsed() + time);
        let is_judged = AtomicBool::new(true);
        Self { watched, judged: None, is_judged, text: None, time, end: Mutex::new(end) }
    }

    /// For a run: the judged level is the last of those that are decided first. A level before it, which settles it where
    /// it holds, gets as much time as all others, and some seconds at least. The others must have ended so long after the
    /// check began, but get a moment in any case. Without a judged level all are judged, and only the user's limits count.
    /// A judged level that is given by its text comes last, since the answers of the others help it, and has no end either.
    pub fn of_run(
        watched: &'w Watched<'w>,
        first: &[LevelId],
        text: Option<&'static str>,
        time: Option<Duration>,
    ) -> Self {
        const LEAST_BEFORE: Duration = Duration::from_secs(3);
        let judged = first.last().copied();
        let time = time.filter(|_| judged.is_some());
        let before = time.filter(|_| first.len() > 1);
        let end = before.map(|time| watched.elapsed() + time.max(LEAST_BEFORE));
        let is_judged = AtomicBool::new(judged.is_none());
        Self { watched, judged, is_judged, text, time, end: Mutex::new(end) }
    }

    fn end(&self) -> std::sync::MutexGuard<'_, Option<Duration>> {
        self.end.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Monitor for Shares<'_> {
    fn elapsed(&self) -> Duration {
        self.watched.elapsed()
    }

    fn reached(&self) -> Option<Limit> {
        let is_over = || self.end().is_some_and(|end| self.elapsed() >= end);
        self.watched.reached().or_else(|| is_over().then_some(Limit::Time))
    }

    fn time_left(&self) -> Option<Duration> {
        let own = self.end().map(|end| end.saturating_sub(self.elapsed()));
        own.into_iter().chain(self.watched.time_left()).min()
    }

    fn memory_bytes(&self) -> Option<u64> {
        self.watched.memory_bytes()
    }

    fn sentence(&self, limit: Limit) -> String {
        match (limit, self.time) {
            (Limit::Time, Some(time)) if self.watched.reached().is_none() => format!(
                "levels that were not named share {}, which were over; --level decides it without a limit",
                units::duration(time)
            ),
            _ => self.watched.sentence(limit),
        }
    }

    fn stage(&self, name: &str) {
        self.watched.stage(name);
        if self.text.is_some_and(|text| name.strip_prefix("checking ") == Some(text)) {
            *self.end() = None;
        }
    }

    fn answered(&self, answer: &Answer) {
        self.watched.answered(answer);
        if self.is_judged.load(Ordering::Relaxed) {
            return;
        }
        let is_now = answer.level.shipped() == self.judged;
        self.is_judged.store(is_now, Ordering::Relaxed);
        // The judged level itself has no end.
        *self.end() = self.time.filter(|_| is_now).map(|time| time.max(self.elapsed() + LEAST));
    }
}

#[cfg(test)]
mod tests {
    use isoscope::{Check, Limits};

    use super::*;
    use crate::progress::Progress;

    /// The time of the others is over at once; the promised text is decided after it.
    #[test]
    fn a_promise_that_is_a_text_does_not_end_with_the_others() {
        let (limits, progress) = (Limits::start(None, None).unwrap(), Progress::start("checking"));
        let watched = Watched::new(&limits, &progress);
        let first = [LevelId::ReadCommitted];
        let shares = Shares::of_run(&watched, &first, Some("pl-2"), Some(Duration::ZERO));
        assert_eq!(shares.reached(), None);
        let history = isoscope::parse("a: w(x)=1\nb: r(x)=1\n").unwrap();
        let report = Check::new(&history).level(LevelId::ReadCommitted).run().unwrap();
        report.answers.iter().for_each(|answer| shares.answered(answer));
        assert!(shares.time_left().is_some());
        std::thread::sleep(LEAST);
        shares.stage("checking causal");
        assert_eq!(shares.reached(), Some(Limit::Time));
        shares.stage("checking pl-2");
        assert_eq!(shares.reached(), None);
    }
}
