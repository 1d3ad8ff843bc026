//! A transaction as the window keeps it.

use history::{Datum, Outcome, TxnTimes};

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Reads a key.
    Read,
    /// Writes a key.
    Write,
    /// Inserts a key.
    Insert,
    /// Deletes a key.
    Delete,
}

/// A read or a write of one key.
#[derive(Clone, PartialEq, Debug)]
pub struct Operation {
    /// What it does.
    pub kind: Kind,
    /// The number of the key in the window.
    pub key: u32,
    /// What was read or written; nil for a key that is absent.
    pub value: Datum,
}

/// A transaction, or what is left of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Its place in the recording, from 1; 0 for what the recording does not have.
    pub number: u64,
    /// The number of its session; `None` if it is in no session any more.
    pub session: Option<u32>,
    /// The name that the recording gives it.
    pub name: Option<Datum>,
    /// What became of it.
    pub outcome: Outcome,
    /// When it ran.
    pub times: TxnTimes,
    /// What it did, in its order, as far as that still matters.
    pub ops: Vec<Operation>,
    /// Whether only a part of its operations is left.
    pub is_part: bool,
}
