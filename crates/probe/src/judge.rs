//! What a run says about the database: the cell of the table, and the class that 3TS-coo counts.

use crate::{Run, Schedule, Txn, serial};

/// A cell of the table of anomalies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cell {
    /// The anomaly was seen.
    Possible,
    /// It was not seen: the database rolled a transaction back.
    Aborts,
    /// It was not seen: a session waited until another was done.
    Waits,
    /// It was not seen, and nothing waited or was rolled back: reads showed another version.
    Prevented,
    /// A session never answered.
    Stuck,
}

impl Cell {
    /// All of them.
    pub const ALL: [Cell; 5] = [Cell::Possible, Cell::Aborts, Cell::Waits, Cell::Prevented, Cell::Stuck];

    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Cell::Possible => "possible",
            Cell::Aborts => "aborts",
            Cell::Waits => "waits",
            Cell::Prevented => "prevented",
            Cell::Stuck => "stuck",
        }
    }
}

/// What 3TS-coo counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// Everything committed, and the result is serializable.
    Avoid,
    /// The database rolled a transaction back.
    Rollback,
    /// Everything committed, and the result is not serializable.
    Anomaly,
    /// A session never answered.
    Timeout,
}

impl Class {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Class::Avoid => "avoid",
            Class::Rollback => "rollback",
            Class::Anomaly => "anomaly",
            Class::Timeout => "timeout",
        }
    }
}

/// All that is said of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// The cell of the table.
    pub cell: Cell,
    /// What 3TS-coo would count it as.
    pub class: Class,
    /// A serial order of the committed transactions that gives the same, if there is one.
    pub serial_order: Option<Vec<Txn>>,
}

/// Judges a run.
pub fn judge(schedule: &Schedule, run: &Run) -> Judgement {
    let serial_order = serial::order_of(schedule, run);
    Judgement { cell: cell(schedule, run), class: class(run, serial_order.is_some()), serial_order }
}

fn cell(schedule: &Schedule, run: &Run) -> Cell {
    let is_shown =
        schedule.shown.iter().any(|all| all.iter().all(|condition| condition.holds(schedule, run)));
    match () {
        () if is_shown => Cell::Possible,
        () if run.is_stuck() => Cell::Stuck,
        () if run.rolled_back() => Cell::Aborts,
        () if run.waited() => Cell::Waits,
        () => Cell::Prevented,
    }
}

fn class(run: &Run, is_serializable: bool) -> Class {
    match () {
        () if run.is_stuck() => Class::Timeout,
        () if run.rolled_back() => Class::Rollback,
        () if is_serializable => Class::Avoid,
        () => Class::Anomaly,
    }
}
