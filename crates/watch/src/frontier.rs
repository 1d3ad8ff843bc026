//! How far a recording is complete.
//!
//! The frontier is a moment: every transaction that began before it is recorded. The recorder says so in lines of their
//! own (`{"before":T}`), and says `{"recording":"closed"}` at the end. Where it says neither, a session that goes on
//! begins its next transaction after its last one ended, so the least of the sessions' last ends is a frontier; that
//! needs all sessions to be introduced before their first transaction, since a session that is not known yet may have a
//! transaction in progress.

use history::TxnTimes;

/// How far a recording is complete.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Frontier {
    /// The last end of each session that was introduced.
    ends: Vec<Option<i64>>,
    /// The least of them, if all have one.
    least: Option<i64>,
    is_stale: bool,
    /// The latest mark of the recorder.
    mark: Option<i64>,
    is_closed: bool,
    is_distrusted: bool,
    /// Whether a transaction came from a session that was not introduced.
    is_unannounced: bool,
}

impl Frontier {
    /// A session with this number was introduced.
    pub fn introduce(&mut self, session: u32) {
        let length = self.ends.len().max(session as usize + 1);
        self.ends.resize(length, None);
        self.is_stale = true;
    }

    /// A transaction of a session was recorded.
    pub fn record(&mut self, session: u32, times: &TxnTimes) {
        let Some(last) = times.recorded().last() else { return };
        match self.ends.get_mut(session as usize) {
            Some(end) => {
                // Only the session that was last of all can move the least end.
                self.is_stale |= end.is_none() || *end == self.least;
                *end = (*end).max(Some(last.time));
            }
            None => self.is_unannounced = true,
        }
    }

    /// The recorder says that all transactions that began before this moment are recorded.
    pub fn mark(&mut self, before: i64) {
        self.mark = self.mark.max(Some(before));
    }

    /// The recording is complete.
    pub fn close(&mut self) {
        self.is_closed = true;
    }

    /// What was said about the frontier is not true: nothing is complete until the recording is.
    pub fn distrust(&mut self) {
        self.is_distrusted = true;
    }

    /// Whether the recording is complete.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// What the frontier is made of: the last end of each session that was introduced, the latest mark, and whether a
    /// session was not introduced.
    pub fn parts(&self) -> (&[Option<i64>], Option<i64>, bool) {
        (&self.ends, self.mark, self.is_unannounced)
    }

    /// The same frontier again.
    pub fn of_parts(ends: Vec<Option<i64>>, mark: Option<i64>, is_unannounced: bool) -> Self {
        Self { ends, mark, is_unannounced, is_stale: true, ..Self::default() }
    }

    /// The frontier; `None` as long as nothing is known to be complete.
    pub fn moment(&mut self) -> Option<i64> {
        if self.is_closed {
            return Some(i64::MAX);
        }
        if self.is_distrusted {
            return None;
        }
        if std::mem::take(&mut self.is_stale) {
            // A session without an end is less than all others.
            self.least = self.ends.iter().copied().min().flatten();
        }
        let of_sessions = self.least.filter(|_| self.mark.is_none() && !self.is_unannounced);
        self.mark.max(of_sessions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_last_end_counts_until_the_recorder_says_more() {
        let mut frontier = Frontier::default();
        assert_eq!(frontier.moment(), None);
        frontier.introduce(0);
        frontier.introduce(1);
        frontier.record(0, &TxnTimes::span(1, Some(9)));
        assert_eq!(frontier.moment(), None, "session 1 may have a transaction in progress");
        frontier.record(1, &TxnTimes::span(2, Some(5)));
        assert_eq!(frontier.moment(), Some(5));
        frontier.mark(7);
        assert_eq!(frontier.moment(), Some(7));
        frontier.close();
        assert_eq!(frontier.moment(), Some(i64::MAX));
    }

    #[test]
    fn a_session_that_was_not_introduced_leaves_everything_open() {
        let mut frontier = Frontier::default();
        frontier.introduce(0);
        frontier.record(0, &TxnTimes::span(1, Some(9)));
        assert_eq!(frontier.moment(), Some(9));
        frontier.record(1, &TxnTimes::span(1, Some(9)));
        assert_eq!(frontier.moment(), None);
    }
}
