//! Time for the levels that the user did not name.
//!
//! A level that the user named, or that a run is judged by, is decided under the user's limits alone. The others together
//! get a time of their own, in which they take turns (`Monitor::time_left`), so that no level that was not asked for
//! delays the exit code for long.

use std::sync::Mutex;
use std::time::Duration;

use isoscope::{Answer, LevelId, Limit, Monitor, units};

use crate::progress::Watched;

/// The time that levels which were not named have after the judged one, at most, where that one took most of the time.
const LEAST: Duration = Duration::from_millis(500);

/// The part of the time of the others that they have in any case, so that the easy ones are decided.
const LEAST_SHARE: u32 = 16;

/// Watches a check, and ends the levels that the user did not name in time.
pub struct Shares<'w> {
    watched: &'w Watched<'w>,
    /// The name of the level that is decided before the time of the others starts, if there is one.
    judged: Option<&'static str>,
    /// When the judged level was decided, since the start of the check.
    judged_at: Mutex<Option<Duration>>,
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
        Self { watched, judged: None, judged_at: Mutex::new(None), time, end: Mutex::new(end) }
    }

    /// For a run: the judged level is the last of those that are decided first. A level before it, which settles it where
    /// it holds, gets as much time as all others, and some seconds at least. The others must have ended so long after the
    /// check began, but get a moment in any case. Without a judged level all are judged, and only the user's limits count.
    pub fn of_run(
        watched: &'w Watched<'w>,
        first: &[LevelId],
        judged: Option<&'static str>,
        time: Option<Duration>,
    ) -> Self {
        const LEAST_BEFORE: Duration = Duration::from_secs(3);
        let time = time.filter(|_| judged.is_some());
        let before = time.filter(|_| first.len() > 1);
        let end = before.map(|time| watched.elapsed() + time.max(LEAST_BEFORE));
        Self { watched, judged, judged_at: Mutex::new(None), time, end: Mutex::new(end) }
    }

    /// When the judged level was decided, since the start of the check.
    pub fn judged_at(&self) -> Option<Duration> {
        *self.judged_at.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
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
    }

    fn answered(&self, answer: &Answer) {
        self.watched.answered(answer);
        if self.judged.is_none() || self.judged_at().is_some() {
            return;
        }
        let now = self.elapsed();
        let is_now = Some(answer.level.name()) == self.judged;
        *self.judged_at.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = is_now.then_some(now);
        // The judged level itself has no end.
        let end = |time: Duration| time.max(now + (time / LEAST_SHARE).min(LEAST));
        *self.end() = self.time.filter(|_| is_now).map(end);
    }
}

#[cfg(test)]
mod tests {
    use isoscope::{AskedLevel, Check, Limits};

    use super::*;
    use crate::progress::Progress;

    /// The others have no time at all, and the promised text is decided before they are asked.
    #[test]
    fn a_promise_that_is_a_text_does_not_end_with_the_others() {
        let (limits, progress) = (Limits::start(None, None).unwrap(), Progress::start("checking"));
        let watched = Watched::new(&limits, &progress);
        let first = [LevelId::ReadCommitted];
        let shares = Shares::of_run(&watched, &first, Some("pl-2"), Some(Duration::ZERO));
        let history = isoscope::parse("a: w(x)=1\nb: r(x)=1\n").unwrap();
        let report = Check::new(&history).level(LevelId::ReadCommitted).run().unwrap();
        report.answers.iter().for_each(|answer| shares.answered(answer));
        assert_eq!((shares.reached(), shares.judged_at()), (None, None));
        let judged = Answer { level: AskedLevel::Own("pl-2".to_owned()), ..report.answers[0].clone() };
        shares.answered(&judged);
        assert!(shares.judged_at().is_some());
        assert_eq!(shares.reached(), Some(Limit::Time));
    }
}
