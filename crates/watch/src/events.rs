//! The events of transactions, and which of them real time orders.
//!
//! For `strict-serializable` a transaction is one event, for `strong-si` its begin and its commit. Each happens between
//! a request and a response; what was not recorded widens the interval.

use certify::{Level, RealTime};
use history::{Outcome, TxnTimes};

/// How a level numbers events and orders them in time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Events {
    /// One event for each transaction, or two.
    pub per_txn: u32,
    /// How far apart two clocks may be.
    pub skew: i64,
}

/// When the events of a transaction happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    /// The begin was asked for.
    pub begin_request: Option<i64>,
    /// The begin was over.
    pub begin_response: Option<i64>,
    /// The commit was asked for.
    pub commit_request: Option<i64>,
    /// The commit was over.
    pub commit_response: Option<i64>,
}

impl Moments {
    pub fn of(times: &TxnTimes, outcome: Outcome) -> Self {
        let commit_response = times.commit_response.filter(|_| outcome != Outcome::Unknown);
        Self {
            begin_request: times.begin_request,
            begin_response: times.begin_response.or(times.commit_request).or(commit_response),
            commit_request: times.commit_request.or(times.begin_response).or(times.begin_request),
            commit_response,
        }
    }
}

impl Events {
    /// The events of a level, if it is one of the two whose transactions settle.
    pub fn of(level: &Level) -> Option<Self> {
        match (level.sessions, level.real_time) {
            (true, RealTime::Strict | RealTime::AllButBegins) => {
                Some(Self { per_txn: level.events_per_txn(), skew: level.clock_skew })
            }
            _ => None,
        }
    }

    #[inline]
    pub fn begin(&self, txn: u32) -> u32 {
        txn * self.per_txn
    }

    #[inline]
    pub fn commit(&self, txn: u32) -> u32 {
        txn * self.per_txn + self.per_txn - 1
    }

    /// Whether something that was over at one moment is before something that was asked for at another.
    pub fn is_before(&self, over: Option<i64>, asked: Option<i64>) -> bool {
        matches!((over, asked), (Some(over), Some(asked)) if over.saturating_add(self.skew) < asked)
    }

    /// The lines of time: for each, what is over when, and what it comes before.
    pub fn lines(&self, all: &[(u32, Moments)]) -> Vec<Line> {
        let (mut to_commits, mut to_begins) = (Line::default(), Line::default());
        for &(txn, moments) in all {
            let (begin, commit) = (self.begin(txn), self.commit(txn));
            to_begins.over.extend(moments.commit_response.map(|time| (time, commit)));
            to_begins.asked.extend(moments.begin_request.map(|time| (time, begin)));
            if self.per_txn == 2 {
                to_commits.over.extend(moments.begin_response.map(|time| (time, begin)));
                to_commits.over.extend(moments.commit_response.map(|time| (time, commit)));
                to_commits.asked.extend(moments.commit_request.map(|time| (time, commit)));
            }
        }
        vec![to_begins, to_commits]
    }
}

/// What is over, and what was asked for, as (time, event).
#[derive(Default)]
pub(crate) struct Line {
    over: Vec<(i64, u32)>,
    asked: Vec<(i64, u32)>,
}

impl Line {
    /// The edges of the line: a chain of nodes for moments, numbered from the first free one, which is given back.
    pub fn add_to(mut self, edges: &mut Vec<(u32, u32)>, first: u32, skew: i64) -> u32 {
        self.over.sort_unstable();
        self.asked.sort_unstable();
        let mut next = first;
        let mut over = self.over.iter().peekable();
        for &(asked, event) in &self.asked {
            let mut is_new = true;
            while let Some(&(_, ended)) = over.next_if(|&&(time, _)| time.saturating_add(skew) < asked) {
                if std::mem::take(&mut is_new) {
                    if next > first {
                        edges.push((next - 1, next));
                    }
                    next += 1;
                }
                edges.push((ended, next - 1));
            }
            if next > first {
                edges.push((next - 1, event));
            }
        }
        next
    }
}
