//! What came of a schedule: events in their order, answers, ends, and what was left in the table.

use std::collections::BTreeMap;

use databases::{Failure, Reply};
use history::Datum;

use crate::Txn;

/// Something that happened to a step.
#[derive(Clone, PartialEq, Debug)]
pub enum Detail {
    /// It answered at once.
    Answered(Reply),
    /// It committed or rolled back, as it was asked to.
    Ended,
    /// It waits for another session.
    Waits,
    /// It had waited, and answered now.
    AnsweredLate(Reply),
    /// It had waited, and committed or rolled back now.
    EndedLate,
    /// The database rolled the transaction back.
    Failed(Failure),
    /// It was not asked: its transaction was over.
    Skipped,
    /// It never answered.
    Stuck,
}

/// A step and what happened to it.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// Whose step it is.
    pub txn: Txn,
    /// The step.
    pub text: String,
    /// What happened.
    pub detail: Detail,
}

/// How a transaction ended.
#[derive(Clone, PartialEq, Debug)]
pub enum End {
    /// It committed.
    Committed,
    /// The schedule rolled it back.
    Aborted,
    /// The database rolled it back.
    RolledBack(Failure),
    /// It never came to an end.
    Stuck,
}

/// A schedule that was run.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// What happened, in order.
    pub events: Vec<Event>,
    /// What each transaction's statements answered, in order.
    pub answers: Vec<Vec<Reply>>,
    /// How each transaction ended.
    pub ends: Vec<End>,
    /// The rows at the end.
    pub left: BTreeMap<Datum, Vec<Datum>>,
}

impl Run {
    /// Whether a transaction committed.
    pub fn has_committed(&self, txn: Txn) -> bool {
        self.ends[txn.0] == End::Committed
    }

    /// The transactions that committed.
    pub fn committed(&self) -> Vec<Txn> {
        (0..self.ends.len()).map(Txn).filter(|txn| self.has_committed(*txn)).collect()
    }

    /// Whether a session waited for another.
    pub fn waited(&self) -> bool {
        self.events.iter().any(|event| event.detail == Detail::Waits)
    }

    /// Whether the database rolled a transaction back.
    pub fn rolled_back(&self) -> bool {
        self.ends.iter().any(|end| matches!(end, End::RolledBack(_)))
    }

    /// Whether a step never answered.
    pub fn is_stuck(&self) -> bool {
        self.ends.contains(&End::Stuck)
    }
}
