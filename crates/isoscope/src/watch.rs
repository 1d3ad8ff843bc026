//! The verdict while a system runs.
//!
//! A [`Watcher`] takes the transactions of a recording one after the other and decides them in windows
//! ([`::watch::Window`]): small histories, decided by the same engine and checked by the same checker as any other.

use std::time::Duration;

use ::watch::{Refused, Window};
use history::{Datum, History, TxnId};
use index::Index;
use levels::LevelId;

use crate::answer::{Answer, Decision};
use crate::check::Check;
use crate::error::Error;

/// Follows a recording at one level.
#[derive(Clone)]
pub struct Watcher {
    level: LevelId,
    clock_skew: Duration,
    window: Window,
    /// Transactions that come between two questions.
    batch: usize,
    unasked: usize,
    verdict: Verdict,
}

/// What is known of the recording so far.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Everything that ended before this moment can be explained; `None` if nothing is complete yet.
    Holds {
        /// The frontier.
        up_to: Option<i64>,
        /// How often something was forgotten that could have mattered; the verdict is exact if never.
        loosened: u64,
    },
    /// The level is violated; the checker accepted the argument.
    Violated(Box<Violation>),
    /// Neither is proved, for this reason.
    Undecided(String),
}

/// A violation as it was found.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The transactions that were not settled yet, from the last versions of those that were.
    pub history: History,
    /// The answer about this history, with its certificate.
    pub answer: Answer,
    /// How many transactions had been recorded.
    pub after: u64,
}

impl Watcher {
    /// Follows a recording at a level; `None` if transactions never settle at this level.
    pub fn new(level: LevelId, clock_skew: Duration) -> Option<Self> {
        let skew = i64::try_from(clock_skew.as_nanos()).unwrap_or(i64::MAX);
        let engine = level.engine()?.with_clock_skew(skew.min(certify::Level::LARGEST_CLOCK_SKEW));
        Some(Self {
            level,
            clock_skew,
            window: Window::new(&engine)?,
            batch: 1_000,
            unasked: 0,
            verdict: Verdict::Holds { up_to: None, loosened: 0 },
        })
    }

    /// Asks after every so many transactions.
    pub fn batch(self, batch: usize) -> Self {
        Self { batch: batch.max(1), ..self }
    }

    /// The window.
    pub fn window(&mut self) -> &mut Window {
        &mut self.window
    }

    /// The initial state of the recording.
    ///
    /// # Errors
    /// If it is not known.
    pub fn set_initial(&mut self, history: &History) -> Result<(), Refused> {
        self.window.set_initial(history)
    }

    /// Introduces a session before its first transaction.
    pub fn introduce(&mut self, session: u64, name: Option<Datum>) {
        self.window.introduce(session, name);
    }

    /// Takes the next transaction, and decides if enough have come.
    ///
    /// # Errors
    /// If the transaction cannot be followed, or if the checker refuses a certificate.
    pub fn push(&mut self, session: u64, history: &History, txn: TxnId) -> Result<(), WatchError> {
        self.window.push(session, history, txn).map_err(WatchError::Refused)?;
        self.unasked += 1;
        // A window that something keeps from settling is asked less often, so that its size costs nothing twice.
        if self.unasked >= self.batch.max(self.window.len() / 2) {
            self.decide()?;
        }
        Ok(())
    }

    /// The recorder says that every transaction that began before this moment is recorded.
    pub fn mark(&mut self, before: i64) {
        self.window.frontier.mark(before);
    }

    /// The recording is complete.
    ///
    /// # Errors
    /// If the checker refuses a certificate.
    pub fn close(&mut self) -> Result<(), Error> {
        self.window.frontier.close();
        self.decide()
    }

    /// Decides what has come so far, and forgets what is settled.
    ///
    /// # Errors
    /// If the checker refuses a certificate.
    pub fn decide(&mut self) -> Result<(), Error> {
        self.unasked = 0;
        if !matches!(self.verdict, Verdict::Holds { .. }) {
            return Ok(());
        }
        let built = self.window.build(false);
        let index = Index::of(&built.history);
        let Some(answer) = self.ask(&built.history, Some(&index))? else { return Ok(()) };
        match answer.decision {
            Decision::Holds => {
                self.window.settle(&built, &index);
                let up_to = self.window.frontier.moment();
                self.verdict = Verdict::Holds { up_to, loosened: self.window.loosened() };
            }
            Decision::Undecided(_) => {
                self.verdict = Verdict::Undecided(answer.reason().unwrap_or_default());
            }
            Decision::Violated => {
                let named = self.window.build(true).history;
                let answer = self.ask(&named, None)?.unwrap_or(answer);
                let after = self.window.seen();
                self.verdict = Verdict::Violated(Box::new(Violation { history: named, answer, after }));
            }
        }
        Ok(())
    }

    fn ask(&self, history: &History, index: Option<&Index>) -> Result<Option<Answer>, Error> {
        let mut check = Check::new(history).level(self.level).clock_skew(self.clock_skew).skews(false);
        if let Some(index) = index {
            check = check.index(index);
        }
        match check.run() {
            Ok(report) => Ok(report.answers.into_iter().next()),
            // A window without transactions has no times, and shows nothing.
            Err(Error::NeedsTimes { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What is known so far.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }
}

/// Why a transaction was not taken.
#[derive(Debug)]
pub enum WatchError {
    /// It cannot be followed in a window.
    Refused(Refused),
    /// The check failed.
    Check(Error),
}

impl From<Error> for WatchError {
    fn from(error: Error) -> Self {
        Self::Check(error)
    }
}

impl std::fmt::Display for WatchError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(refused) => refused.fmt(out),
            Self::Check(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for WatchError {}
