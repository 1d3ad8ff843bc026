//! What must be seen for an anomaly to be possible.

use databases::Reply;
use history::Datum;

use crate::{Run, Schedule, Txn, serial};

/// A condition on what a run gave.
#[derive(Clone, PartialEq, Debug)]
pub enum Condition {
    /// At the end the row of a key holds these values.
    Final(Datum, Vec<Datum>),
    /// A transaction read this value.
    Saw(Txn, Datum),
    /// A transaction read the first value, and the second in a later statement.
    SawBefore(Txn, Datum, Datum),
    /// A transaction read both values in one statement.
    SawWith(Txn, Datum, Datum),
    /// A transaction's statement at this place, from 0, answered just this.
    Answered(Txn, usize, Reply),
    /// These transactions committed.
    Committed(Vec<Txn>),
    /// No serial order of the committed transactions gives what they saw and what is left.
    NotSerializable,
}

impl Condition {
    /// Whether it holds.
    pub fn holds(&self, schedule: &Schedule, run: &Run) -> bool {
        match self {
            Condition::Final(key, values) => run.left.get(key) == Some(values),
            Condition::Saw(txn, value) => answers(run, *txn).any(|answer| shows(answer, value)),
            Condition::SawBefore(txn, first, then) => saw_before(run, *txn, first, then),
            Condition::SawWith(txn, one, other) => {
                answers(run, *txn).any(|answer| shows(answer, one) && shows(answer, other))
            }
            Condition::Answered(txn, place, answer) => run.answers[txn.0].get(*place) == Some(answer),
            Condition::Committed(txns) => txns.iter().all(|txn| run.has_committed(*txn)),
            Condition::NotSerializable => serial::order_of(schedule, run).is_none(),
        }
    }
}

fn answers(run: &Run, txn: Txn) -> impl Iterator<Item = &Reply> {
    run.answers[txn.0].iter()
}

fn saw_before(run: &Run, txn: Txn, first: &Datum, then: &Datum) -> bool {
    let mut later = answers(run, txn).skip_while(|answer| !shows(answer, first)).skip(1);
    later.any(|answer| shows(answer, then))
}

/// Whether a value is among the columns that were returned.
fn shows(answer: &Reply, value: &Datum) -> bool {
    match answer {
        Reply::Row(Some(row)) => row.contains(value),
        Reply::Rows(rows) => rows.iter().any(|(_, row)| row.contains(value)),
        Reply::Row(None) | Reply::Done | Reply::Count(_) => false,
    }
}

impl Condition {
    /// The transactions that it names.
    pub(crate) fn txns(&self) -> Vec<Txn> {
        match self {
            Condition::Saw(txn, _)
            | Condition::SawBefore(txn, _, _)
            | Condition::SawWith(txn, _, _)
            | Condition::Answered(txn, _, _) => vec![*txn],
            Condition::Committed(txns) => txns.clone(),
            Condition::Final(..) | Condition::NotSerializable => Vec::new(),
        }
    }
}
