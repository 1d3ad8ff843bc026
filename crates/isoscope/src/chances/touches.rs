//! Which keys transactions read and wrote, and who wrote the keys that matter.
//!
//! The keys of a transaction are found out when it is first asked for, and kept: in a small history every writer of a
//! key is asked for by every reader of the key, and decoding its operations each time was three quarters of a check.

use std::ops::Range;

use history::{History, KeyId, Op, OpId, Outcome, TxnId};
use index::Index;

use crate::LazyIndex;

/// Where the reads and writes of a transaction come from.
#[derive(Clone, Copy)]
pub(super) enum Reads<'h> {
    /// From its operations.
    Operations,
    /// From the index, which makes a range read one of every known key in the range.
    Index(&'h Index),
}

impl<'h> Reads<'h> {
    pub fn of(history: &History, index: &'h LazyIndex) -> Self {
        match history.has_ranges() || history.has_predicates() {
            true => Self::Index(index.of(history)),
            false => Self::Operations,
        }
    }
}

/// A committed transaction that writes a key.
#[derive(Clone, Copy)]
pub(super) struct Writer {
    pub txn: TxnId,
    /// Whether it read the key before.
    pub is_update: bool,
}

/// Where the keys of a transaction are kept.
#[derive(Clone, Copy)]
pub(super) struct Touched {
    start: u32,
    /// Where those that it wrote begin.
    writes: u32,
    end: u32,
}

impl Touched {
    /// The places of the keys that it read from outside.
    pub fn reads(self) -> Range<usize> {
        self.start as usize..self.writes as usize
    }

    /// The places of the keys that it wrote.
    pub fn writes(self) -> Range<usize> {
        self.writes as usize..self.end as usize
    }

    /// The places of all of them.
    pub fn all(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// What is known of a key in the transaction that is being looked at.
#[derive(Clone, Copy, Default)]
struct Mark {
    stamp: u32,
    is_read: bool,
    is_written: bool,
}

/// The reads and writes of transactions, and the writers of some keys.
pub(super) struct Touches<'h> {
    history: &'h History,
    reads: Reads<'h>,
    marks: Vec<Mark>,
    stamp: u32,
    /// The writers of the keys that matter, key by key.
    writers: Vec<Writer>,
    writer_start: Vec<u32>,
    /// The keys of the transactions that were asked for, each once.
    keys: Vec<KeyId>,
    /// Where they are, and for each transaction its place there and one more, or 0.
    touched: Vec<Touched>,
    touched_of: Vec<u32>,
}

impl<'h> Touches<'h> {
    /// Collects the writers of every so many keys, and of the keys that these transactions read.
    pub fn of(history: &'h History, reads: Reads<'h>, readers: &[TxnId], stride: usize) -> Self {
        let keys = history.keys().len();
        let mut touches = Self {
            history,
            reads,
            marks: vec![Mark::default(); keys],
            stamp: 0,
            writers: Vec::new(),
            writer_start: vec![0; keys + 1],
            keys: Vec::new(),
            touched: Vec::new(),
            touched_of: vec![0; history.txn_count()],
        };
        let mut matters: Vec<bool> = (0..keys).map(|key| key % stride == 0).collect();
        if stride > 1 {
            for &reader in readers {
                touches.visit(reader, |_| true, |key, is_write, _| matters[key.index()] |= !is_write);
            }
        }
        touches.collect_writers(&matters);
        touches
    }

    /// The writers of a key, if it is one of those that matter.
    pub fn writers_of(&self, key: KeyId) -> &[Writer] {
        let start = |key: usize| self.writer_start[key] as usize;
        &self.writers[start(key.index())..start(key.index() + 1)]
    }

    /// The keys of a transaction, for [`Touches::keys`].
    pub fn of_txn(&mut self, txn: TxnId) -> Touched {
        match self.touched_of[txn.index()] {
            0 => self.look_up(txn),
            place => self.touched[place as usize - 1],
        }
    }

    /// The keys at some places.
    pub fn keys(&self, places: Range<usize>) -> &[KeyId] {
        &self.keys[places]
    }

    fn look_up(&mut self, txn: TxnId) -> Touched {
        let (mut keys, mut writes) = (std::mem::take(&mut self.keys), Vec::new());
        let start = keys.len() as u32;
        let keep = |key: KeyId, is_write: bool, _| match is_write {
            true => writes.push(key),
            false => keys.push(key),
        };
        self.visit(txn, |_| true, keep);
        let first_write = keys.len() as u32;
        keys.append(&mut writes);
        let touched = Touched { start, writes: first_write, end: keys.len() as u32 };
        self.keys = keys;
        self.touched.push(touched);
        self.touched_of[txn.index()] = self.touched.len() as u32;
        touched
    }

    /// Visits those of the keys that a transaction read and wrote which matter: the key, whether it is a write, and whether
    /// that is an update.
    fn visit(
        &mut self,
        txn: TxnId,
        matters: impl Fn(KeyId) -> bool,
        mut visit: impl FnMut(KeyId, bool, bool),
    ) {
        self.stamp += 1;
        let stamp = self.stamp;
        let marks = &mut self.marks;
        let mut mark = |key: KeyId, is_write: bool| {
            if !matters(key) {
                return;
            }
            let mark = &mut marks[key.index()];
            if mark.stamp != stamp {
                *mark = Mark { stamp, ..Mark::default() };
            }
            let is_new = if is_write { !mark.is_written } else { !mark.is_written && !mark.is_read };
            let is_update = is_write && mark.is_read;
            match is_write {
                true => mark.is_written = true,
                false => mark.is_read = true,
            }
            if is_new {
                visit(key, is_write, is_update);
            }
        };
        match self.reads {
            Reads::Operations => visit_ops(self.history, txn, mark),
            Reads::Index(index) => {
                index.reads()[index.reads_of(txn)].iter().for_each(|read| mark(read.key, false));
                index.writes()[index.writes_of(txn)].iter().for_each(|write| mark(write.key, true));
            }
        }
    }

    /// Counts the writers of each key that matters, then puts them at their places.
    fn collect_writers(&mut self, matters: &[bool]) {
        let history = self.history;
        let mut found: Vec<(KeyId, Writer)> = Vec::new();
        for txn in history.txns().filter(|&txn| history.outcome(txn) == Outcome::Committed) {
            let keep = |key: KeyId, is_write: bool, is_update: bool| {
                if is_write {
                    found.push((key, Writer { txn, is_update }));
                }
            };
            self.visit(txn, |key| matters[key.index()], keep);
        }
        for (key, _) in &found {
            self.writer_start[key.index() + 1] += 1;
        }
        for key in 0..matters.len() {
            self.writer_start[key + 1] += self.writer_start[key];
        }
        let mut next = self.writer_start.clone();
        self.writers = vec![Writer { txn: TxnId(0), is_update: false }; found.len()];
        for (key, writer) in found {
            self.writers[next[key.index()] as usize] = writer;
            next[key.index()] += 1;
        }
    }
}

/// Visits the keys that the operations of a transaction touch: the key, and whether it is a write.
fn visit_ops(history: &History, txn: TxnId, mut visit: impl FnMut(KeyId, bool)) {
    let any_failed = history.failed_op_count() > 0;
    for id in history.op_range(txn).map(OpId) {
        if any_failed && history.is_failed(id) {
            continue;
        }
        // Nearly all operations are of these kinds.
        let touched = match history.register_op(id) {
            Some(op) => Some((op.key, op.is_write)),
            None => touched(&history.op(id)),
        };
        if let Some((key, is_write)) = touched {
            visit(key, is_write);
        }
    }
}

/// The key that an operation reads or writes, and whether it writes.
fn touched(op: &Op<'_>) -> Option<(KeyId, bool)> {
    match *op {
        Op::Read { key, value: Some(_) } | Op::ReadList { key, list: Some(_) } => Some((key, false)),
        Op::Write { key, .. } | Op::Insert { key, .. } | Op::Append { key, .. } | Op::Delete { key, .. } => {
            Some((key, true))
        }
        _ => None,
    }
}
