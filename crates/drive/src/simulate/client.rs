//! One client: its transaction in progress, and what it has seen.

use std::collections::HashMap;

use history::Outcome;

use super::level::{Reads, Rules};
use super::store::View;
use super::table::Filter;
use super::workload::Planned;
use super::{Fault, StoreLevel};

/// What the next message of a client asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Begin,
    Operation,
    End,
    /// No more transactions.
    Done,
}

/// What the client asks for at the end, and what becomes of the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    Commit,
    Abort,
    /// The client asks to commit, and the message or its answer is lost.
    CommitUnheard {
        arrives: bool,
    },
}

/// A version that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub key: u32,
    pub stamp: i64,
    pub value: u32,
}

/// An operation after its execution, as the history will hold it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Done {
    Read(u32, u32),
    Write(u32, u32),
    ReadList(u32, u32),
    Append(u32, u32),
    Insert(u32, u32),
    Delete(u32),
    /// From a key on so many keys; and the rows, as a range of the client's rows.
    Range(u32, u32, (u32, u32)),
    /// A filter, and the rows as a range of the client's rows.
    Query(Filter, (u32, u32)),
    /// A filter, the column that is set and what to, and the rows that matched as a range of the client's rows.
    Update(Filter, usize, u32, (u32, u32)),
}

/// What a filter matched of what others had written: keys and the stamps of their versions, by key.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    pub filter: Filter,
    pub versions: Vec<(u32, i64)>,
}

/// Requests and responses of begin and end, on the clock of the store.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Moments {
    pub begin_request: i64,
    pub begin_response: i64,
    pub end_request: i64,
    pub end_response: i64,
}

/// A client with its transaction.
#[derive(Debug)]
pub(crate) struct SimulatedClient {
    pub phase: Phase,
    pub ending: Ending,
    pub rules: Rules,
    pub fault: Option<Fault>,
    pub plan: Vec<Planned>,
    pub next: usize,
    /// What the transaction can see, unless its rules say otherwise.
    pub view: View,
    /// An old state, for a fault.
    pub old_view: View,
    pub begin: i64,
    pub last_commit: i64,
    pub is_running: bool,
    pub reads: Vec<Seen>,
    /// Keys and the values that they are to hold.
    pub writes: Vec<(u32, u32)>,
    pub done: Vec<Done>,
    pub rows: Vec<(u32, u32)>,
    pub scans: Vec<Scan>,
    /// The rows of a table that the transaction has changed, by key; never iterated.
    pub own_rows: HashMap<u32, u32>,
    pub request: i64,
    pub moments: Moments,
}

impl SimulatedClient {
    pub fn new() -> Self {
        Self {
            phase: Phase::Done,
            ending: Ending::Commit,
            rules: StoreLevel::Serializable.rules(),
            fault: None,
            plan: Vec::new(),
            next: 0,
            view: View::NEWEST,
            old_view: View::NEWEST,
            begin: 0,
            last_commit: 0,
            is_running: false,
            reads: Vec::new(),
            writes: Vec::new(),
            done: Vec::new(),
            rows: Vec::new(),
            scans: Vec::new(),
            own_rows: HashMap::new(),
            request: 0,
            moments: Moments::default(),
        }
    }

    /// Forgets the last transaction.
    pub fn clear(&mut self) {
        self.next = 0;
        self.reads.clear();
        self.writes.clear();
        self.done.clear();
        self.rows.clear();
        self.scans.clear();
        self.own_rows.clear();
    }

    /// What the transaction has itself written to a key.
    pub fn own_write(&self, key: u32) -> Option<u32> {
        let own = self.writes.iter().find(|&&(written, _)| written == key);
        own.map(|&(_, value)| value)
    }

    /// The version that the transaction has read before, if its level repeats reads.
    pub fn own_read(&self, key: u32) -> Option<Seen> {
        if matches!(self.rules.reads, Reads::NewestEachTime | Reads::Dirty) {
            return None;
        }
        self.reads.iter().find(|seen| seen.key == key).copied()
    }

    /// Notes what a key is to hold.
    pub fn set_own_write(&mut self, key: u32, value: u32) {
        match self.writes.iter_mut().find(|(written, _)| *written == key) {
            Some((_, old)) => *old = value,
            None => self.writes.push((key, value)),
        }
    }

    /// What the client hears when the store has, or has not, committed.
    pub fn heard(&self, is_committed: bool) -> Outcome {
        match self.ending {
            Ending::CommitUnheard { .. } => Outcome::Unknown,
            _ if is_committed => Outcome::Committed,
            _ => Outcome::Aborted,
        }
    }
}
