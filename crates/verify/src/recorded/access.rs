//! What an event reads from outside of its transaction, and what it writes.

use history::{History, KeyId, Op, OpId, Outcome, RegisterOp, TxnId, ValueId};

use super::run::NONE;

/// What a read returned of a key: a value, or a list by its length and last element.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Expected {
    pub value: u32,
    /// `NONE` for a value.
    pub length: u32,
}

/// A read from outside of the transaction.
#[derive(Clone, Copy)]
pub(super) struct Read {
    pub key: KeyId,
    pub expected: Expected,
}

/// What a transaction leaves in a key, or appends to it.
#[derive(Clone, Copy)]
pub(super) struct Write {
    pub key: KeyId,
    pub value: u32,
    pub is_append: bool,
}

impl Write {
    #[inline]
    pub fn of(op: &Op<'_>) -> Option<Self> {
        match *op {
            Op::Write { key, value } | Op::Insert { key, value } => {
                Some(Self { key, value: value.0, is_append: false })
            }
            Op::Append { key, value } => Some(Self { key, value: value.0, is_append: true }),
            Op::Delete { key, tombstone } => {
                Some(Self { key, value: tombstone.unwrap_or(ValueId::NIL).0, is_append: false })
            }
            _ => None,
        }
    }
}

/// Where the events take their operations from.
pub(super) trait Txns {
    /// Whether transactions that ran may be gone.
    const FORGETS: bool;

    /// Fills a slot with the reads of a transaction, its writes, or both.
    fn decode(&self, txn: TxnId, reads: bool, writes: bool, slot: &mut Slot);

    /// Has the operations of a transaction brought nearer, without waiting for them.
    fn fetch(&self, txn: TxnId);

    /// The keys of a transaction.
    fn each_key(&self, txn: TxnId, look: impl FnMut(KeyId));

    /// The transactions of unknown outcome.
    fn unknown(&self) -> Vec<TxnId>;
}

impl Txns for &History {
    const FORGETS: bool = false;

    #[inline]
    fn decode(&self, txn: TxnId, reads: bool, writes: bool, slot: &mut Slot) {
        decode(self, txn, reads, writes, slot);
    }

    #[inline]
    fn fetch(&self, txn: TxnId) {
        self.fetch_ops(txn);
    }

    #[inline]
    fn each_key(&self, txn: TxnId, look: impl FnMut(KeyId)) {
        self.op_range(txn).filter_map(|op| self.op_key(OpId(op))).for_each(look);
    }

    fn unknown(&self) -> Vec<TxnId> {
        self.txns().filter(|&txn| self.outcome(txn) == Outcome::Unknown).collect()
    }
}

/// The reads and writes of an open event.
#[derive(Clone)]
pub(super) struct Slot {
    /// `NONE` if the slot is free.
    pub event: u32,
    pub reads: Vec<Read>,
    /// In program order: the last one of a key counts.
    pub writes: Vec<Write>,
    /// Whether the transaction writes nothing.
    pub is_read_only: bool,
    /// Whether the reads are in the lists of their keys.
    pub is_noted: bool,
}

impl Default for Slot {
    fn default() -> Self {
        Self { event: NONE, reads: Vec::new(), writes: Vec::new(), is_read_only: true, is_noted: false }
    }
}

impl Slot {
    /// Adds a read of a value, which counts unless the transaction wrote the key before, or a write.
    #[inline]
    fn add(&mut self, op: &RegisterOp, reads: bool) {
        let RegisterOp { is_write, key, value } = *op;
        if is_write {
            self.writes.push(Write { key, value: value.0, is_append: false });
        } else if reads && !self.writes.iter().any(|write| write.key == key) {
            self.reads.push(Read { key, expected: Expected { value: value.0, length: NONE } });
        }
    }

    /// Whether the event leaves a value in a key.
    pub fn leaves(&self, key: KeyId, value: u32) -> bool {
        let last = self.writes.iter().rfind(|write| write.key == key);
        last.is_some_and(|write| write.value == value)
    }
}

/// Fills a slot with the reads of a transaction, its writes, or both.
fn decode(history: &History, txn: TxnId, reads: bool, writes: bool, slot: &mut Slot) {
    slot.reads.clear();
    slot.writes.clear();
    let any_failed = history.failed_op_count() > 0;
    for id in history.op_range(txn).map(OpId) {
        match history.register_op(id).filter(|_| !any_failed) {
            Some(op) => slot.add(&op, reads),
            None if any_failed && history.is_failed(id) => {}
            None => add_any(history, txn, id, reads, slot),
        }
    }
    slot.is_read_only = slot.writes.is_empty();
    if !writes {
        slot.writes.clear();
    }
}

/// Adds an operation of any kind.
fn add_any(history: &History, txn: TxnId, id: OpId, reads: bool, slot: &mut Slot) {
    let op = history.op(id);
    if let Some(write) = Write::of(&op) {
        slot.writes.push(write);
    } else if reads {
        slot.reads.extend(read_of(history, txn, (id, &op), slot));
    }
}

/// A read from outside of the transaction. A read of the same value again is none, and neither is one of a key that the
/// transaction wrote, but a list shows what was there before its own elements.
fn read_of(history: &History, txn: TxnId, (id, op): (OpId, &Op<'_>), slot: &Slot) -> Option<Read> {
    let is_written = |key: KeyId| slot.writes.iter().any(|write| write.key == key);
    match *op {
        Op::Read { key, value: Some(value) } if !is_written(key) => {
            Some(Read { key, expected: Expected { value: value.0, length: NONE } })
        }
        Op::ReadList { key, list: Some(list) } => {
            let own = if is_written(key) { own_appends(history, txn, id, key) } else { 0 };
            let outside = &list[..list.len().saturating_sub(own)];
            let value = outside.last().map_or(0, |element| element.0);
            Some(Read { key, expected: Expected { value, length: outside.len() as u32 } })
        }
        _ => None,
    }
}

/// How many elements a transaction appended to a key before an operation.
fn own_appends(history: &History, txn: TxnId, before: OpId, key: KeyId) -> usize {
    let earlier = history.ops(txn).take_while(|&(id, _)| id < before);
    earlier.filter(|(_, op)| matches!(op, Op::Append { key: of, .. } if *of == key)).count()
}
