//! What the clients of a run share: how much is left to do, what was done, and whether to stop.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use databases::Failure;
use history::Outcome;

use crate::RunError;
use crate::nemesis::Board;
use crate::runner::Pace;

/// How many transactions ended how.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// The database said that they committed.
    pub committed: u64,
    /// They certainly took no effect.
    pub aborted: u64,
    /// The client did not hear the outcome.
    pub unknown: u64,
}

/// A client that had no connection at the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Absent {
    /// Whether it ever had one.
    pub was_connected: bool,
    /// Why it has none.
    pub reason: String,
}

/// So many attempts in a row without a commit are no bad luck any more.
const HOPELESS: u64 = 20_000;

pub(crate) struct Shared {
    pub started: Instant,
    deadline: Option<Instant>,
    /// Transactions that were not begun yet; attempts that abort are given back.
    left: Option<AtomicI64>,
    is_stopped: AtomicBool,
    /// Clients that have not ended.
    pub running: AtomicUsize,
    counts: [AtomicU64; 3],
    since_commit: AtomicU64,
    pub reconnects: AtomicU64,
    reasons: Mutex<BTreeMap<String, u64>>,
    unknown_reasons: Mutex<BTreeMap<String, u64>>,
    absent: Mutex<Vec<Absent>>,
    error: Mutex<Option<RunError>>,
    pub board: Board,
}

impl Shared {
    pub fn new(pace: &Pace, sessions: usize) -> Self {
        let started = Instant::now();
        Self {
            started,
            deadline: pace.duration.map(|duration| started + duration),
            left: pace.transactions.map(|count| AtomicI64::new(i64::try_from(count).unwrap_or(i64::MAX))),
            is_stopped: AtomicBool::new(false),
            running: AtomicUsize::new(sessions),
            counts: Default::default(),
            since_commit: AtomicU64::new(0),
            reconnects: AtomicU64::new(0),
            reasons: Mutex::default(),
            unknown_reasons: Mutex::default(),
            absent: Mutex::default(),
            error: Mutex::new(None),
            board: Board::new(sessions),
        }
    }

    /// Takes one transaction of those that are left to do; false when the run is over.
    pub fn claim(&self) -> bool {
        let take = |left: i64| (left > 0).then_some(left - 1);
        let takes_one =
            |left: &AtomicI64| left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        !self.is_over() && self.left.as_ref().is_none_or(takes_one)
    }

    /// Gives a transaction back that did not commit.
    pub fn give_back(&self) {
        if let Some(left) = &self.left {
            left.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether clients begin nothing new.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Whether a stop was requested.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Asks all clients to stop after their transaction.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Stops the run for this reason; the first one stays.
    pub fn fail(&self, error: RunError) {
        lock(&self.error).get_or_insert(error);
        self.stop();
    }

    /// Why the run failed, if it did.
    pub fn take_error(&self) -> Option<RunError> {
        lock(&self.error).take()
    }

    /// Counts a transaction that ended.
    pub fn count(&self, outcome: Outcome, failure: Option<&Failure>) {
        self.counts[outcome as usize].fetch_add(1, Ordering::Relaxed);
        let reasons = match outcome {
            Outcome::Committed => None,
            Outcome::Aborted => Some(&self.reasons),
            Outcome::Unknown => Some(&self.unknown_reasons),
        };
        if let (Some(reasons), Some(failure)) = (reasons, failure) {
            *lock(reasons).entry(failure.reason()).or_insert(0) += 1;
        }
        if outcome != Outcome::Aborted {
            self.since_commit.store(0, Ordering::Relaxed);
            return;
        }
        self.give_back();
        if self.since_commit.fetch_add(1, Ordering::Relaxed) == HOPELESS {
            let last = failure.map_or_else(String::new, |failure| format!("; the last one: {failure}"));
            self.fail(RunError::Database(format!("{HOPELESS} transactions in a row were aborted{last}")));
        }
    }

    /// How many transactions have ended so far.
    pub fn tally(&self) -> Tally {
        let count = |outcome: Outcome| self.counts[outcome as usize].load(Ordering::Relaxed);
        Tally {
            committed: count(Outcome::Committed),
            aborted: count(Outcome::Aborted),
            unknown: count(Outcome::Unknown),
        }
    }

    /// Why transactions were aborted, by the database's codes, most frequent first.
    pub fn reasons(&self) -> Vec<(String, u64)> {
        by_frequency(&self.reasons)
    }

    /// Why outcomes are unknown, likewise.
    pub fn unknown_reasons(&self) -> Vec<(String, u64)> {
        by_frequency(&self.unknown_reasons)
    }

    /// Notes that a client ended without a connection.
    pub fn note_absent(&self, was_connected: bool, reason: String) {
        lock(&self.absent).push(Absent { was_connected, reason });
    }

    /// The clients that ended without a connection.
    pub fn absent(&self) -> Vec<Absent> {
        lock(&self.absent).clone()
    }

    /// Sleeps, but not beyond the end of the run; false if the run is over.
    pub fn sleep_until(&self, moment: Instant) -> bool {
        const STEP: Duration = Duration::from_millis(50);
        while !self.is_over() {
            let left = moment.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(STEP));
        }
        false
    }
}

fn by_frequency(reasons: &Mutex<BTreeMap<String, u64>>) -> Vec<(String, u64)> {
    let mut reasons: Vec<_> = lock(reasons).clone().into_iter().collect();
    reasons.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    reasons
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
