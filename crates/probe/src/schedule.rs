//! A schedule: which transaction asks what, and in which order.

use databases::{Statement, Table};

use crate::Condition;

/// The table that schedules work on; it is dropped and made anew for each.
pub const TABLE: &str = "isoscope_litmus";

/// The most transactions that a schedule has: one digit numbers them.
pub const MOST_TXNS: usize = 9;

/// A transaction of a schedule, numbered from 0; it has a session of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Txn(pub usize);

impl Txn {
    /// The number that people give it: from 1.
    pub fn number(self) -> usize {
        self.0 + 1
    }
}

/// What a transaction does in one step.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Asks a statement; the first one begins the transaction.
    Ask(Statement),
    /// Commits.
    Commit,
    /// Rolls back.
    Abort,
}

/// One step.
#[derive(Clone, PartialEq, Debug)]
pub struct ScheduleStep {
    /// Whose it is.
    pub txn: Txn,
    /// What is done.
    pub action: Action,
    /// As the notation writes it, without the number: `w(x)=1`.
    pub text: String,
}

/// Steps of several transactions in an order that shows an anomaly where it is possible.
#[derive(Clone, PartialEq, Debug)]
pub struct Schedule {
    /// Its name.
    pub name: String,
    /// What it shows, in a sentence.
    pub about: String,
    /// A class that groups schedules, or nothing.
    pub class: String,
    /// The table and what it holds at first.
    pub table: Table,
    /// The steps in their order.
    pub steps: Vec<ScheduleStep>,
    /// The anomaly was seen if all conditions of one of these hold.
    pub shown: Vec<Vec<Condition>>,
}

impl Schedule {
    /// How many transactions take part.
    pub fn txn_count(&self) -> usize {
        self.steps.iter().map(|step| step.txn.number()).max().unwrap_or(0)
    }

    /// The statements of a transaction in their order.
    pub fn statements(&self, txn: Txn) -> impl Iterator<Item = &Statement> {
        self.steps.iter().filter(move |step| step.txn == txn).filter_map(|step| match &step.action {
            Action::Ask(statement) => Some(statement),
            Action::Commit | Action::Abort => None,
        })
    }
}
