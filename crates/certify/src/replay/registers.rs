//! Replay of histories of single keys, which most are: a store of one value for each key.
//!
//! A read sees what its own transaction wrote to the key last or, if it wrote nothing, what the key holds at the begin.
//! Nothing else has to be known, so a key takes eight bytes and an operation touches one of them. The store that knows
//! versions, lists and ranges keeps several times as much of each key, in two tables: checking HD-10k took 22.2 million
//! instructions with it, and takes 11.9 million with this one (callgrind, release build).
//!
//! On several threads each replays a segment of the order (`registers/segments.rs`).
//!
//! Tried, and not kept: two threads that follow the whole order and look at every second key each. On `million` they took
//! 330 ms by the clock where one takes 289 ms, with another thread counting chances on a machine of two cores.
//!
//! Only an order that explains the history counts. Any other one, and any history of another kind, is left to the other
//! stores, which say what is wrong.

mod segments;

use std::ops::Range;

use history::{History, KeyId, Op, OpId, RegisterOp, TxnId, ValueId};

use super::Places;
use crate::{Core, Level, Node};

/// The own writes of a transaction are looked through at each read: more operations than these are left to other stores.
const LONGEST_TXN: usize = 256;

/// The operations of so many events are brought into the cache at the same time.
const AHEAD: usize = 16;

/// What a key holds, and the place of the commit that wrote it and one more; 0 for the initial state.
#[derive(Clone, Copy)]
struct Cell {
    value: ValueId,
    since: u32,
}

/// In place of a commit: no event of the segment wrote the key; the value is the one that was read first.
const ASSUMED: u32 = u32::MAX - 1;

/// In place of a commit: no event of the segment read or wrote the key.
const UNTOUCHED: u32 = u32::MAX;

/// What an operation is to a store of one value for each key.
enum Step {
    Read(KeyId, ValueId),
    Write(KeyId, ValueId),
    /// It failed, or returned nothing.
    Nothing,
    /// It needs another store.
    Other,
}

/// Whether every read along this order of events sees what it saw, in a history of single keys.
pub(super) fn explains(
    threads: usize,
    history: &History,
    level: &Level,
    places: &Places,
    order: &[Node],
) -> bool {
    let Some(registers) = Registers::new(history) else { return false };
    segments::explain(registers, &segments::cuts(threads, order.len()), level, places, order)
}

/// The keys while a segment of the order is replayed.
struct Registers<'h> {
    history: &'h History,
    any_failed: bool,
    cells: Vec<Cell>,
    /// The writes of the transaction at hand, in program order.
    own: Vec<(KeyId, ValueId)>,
    /// Where the segment begins.
    start: u32,
    /// What the segments before it have to leave in keys.
    assumed: Vec<(KeyId, ValueId)>,
    /// Keys that no event before the segment may have written after a place.
    unwritten_since: Vec<(KeyId, u32)>,
}

impl<'h> Registers<'h> {
    /// The initial state, if all of it is known.
    fn new(history: &'h History) -> Option<Self> {
        if history.has_versions() || history.has_ranges() || history.has_predicates() {
            return None;
        }
        let keys = (0..history.keys().len()).map(KeyId::from_index);
        let cell = |key| Some(Cell { value: history.initial().value_of(key)?, since: 0 });
        let cells = keys.map(cell).collect::<Option<_>>()?;
        Some(Self {
            history,
            any_failed: history.failed_op_count() > 0,
            cells,
            own: Vec::new(),
            start: 0,
            assumed: Vec::new(),
            unwritten_since: Vec::new(),
        })
    }

    /// Replays a segment of the order; false if a read does not see what it saw, or writers overlap that must not.
    fn replay(&mut self, level: &Level, places: &Places, order: &[Node], segment: Range<usize>) -> bool {
        let events_per_txn = places.events_per_txn;
        segment.clone().all(|place| {
            if (place - segment.start).is_multiple_of(AHEAD) {
                self.fetch(&order[place..segment.end.min(place + AHEAD)], events_per_txn);
            }
            let node = order[place];
            let txn = TxnId(node.0 / events_per_txn);
            let is_begin = node == Node::begin(txn, events_per_txn);
            let began = (level.core == Core::Snapshot).then(|| places.begin(txn));
            if is_begin && !self.begin(txn) {
                return false;
            }
            if node != Node::commit(txn, events_per_txn) {
                return true;
            }
            if !is_begin {
                self.find_own(txn);
            }
            self.commit(place as u32, began)
        })
    }

    /// Brings the operations of events into the cache, all at the same time.
    fn fetch(&self, nodes: &[Node], events_per_txn: u32) {
        nodes.iter().for_each(|node| self.history.fetch_ops(TxnId(node.0 / events_per_txn)));
    }

    /// Whether all reads of a transaction see what they saw. Notes what it writes.
    fn begin(&mut self, txn: TxnId) -> bool {
        self.own.clear();
        let mut ops = self.history.op_range(txn).map(OpId);
        ops.len() <= LONGEST_TXN && ops.all(|op| self.run(op))
    }

    /// Whether an operation is of a kind that is known here and, if it is a read, sees what it saw.
    #[inline]
    fn run(&mut self, op: OpId) -> bool {
        match self.step(op) {
            Step::Read(key, saw) => return self.sees(key, saw),
            Step::Write(key, value) => self.own.push((key, value)),
            Step::Nothing => {}
            Step::Other => return false,
        }
        true
    }

    #[inline]
    fn step(&self, op: OpId) -> Step {
        match self.history.register_op(op).filter(|_| !self.any_failed) {
            Some(RegisterOp { is_write: false, key, value }) => Step::Read(key, value),
            Some(RegisterOp { is_write: true, key, value }) => Step::Write(key, value),
            None => self.step_of_any(op),
        }
    }

    fn step_of_any(&self, id: OpId) -> Step {
        if self.any_failed && self.history.is_failed(id) {
            return Step::Nothing;
        }
        match self.history.op(id) {
            Op::Read { key, value: Some(saw) } => Step::Read(key, saw),
            Op::Read { value: None, .. } => Step::Nothing,
            op => written(&op).map_or(Step::Other, |(key, value)| Step::Write(key, value)),
        }
    }

    #[inline]
    fn sees(&mut self, key: KeyId, saw: ValueId) -> bool {
        if let Some(&(_, value)) = self.own.iter().rfind(|&&(written, _)| written == key) {
            return value == saw;
        }
        let cell = &mut self.cells[key.index()];
        if cell.since == UNTOUCHED {
            *cell = Cell { value: saw, since: ASSUMED };
            self.assumed.push((key, saw));
        }
        cell.value == saw
    }

    /// Notes what a transaction writes.
    fn find_own(&mut self, txn: TxnId) {
        self.own.clear();
        for op in self.history.op_range(txn).map(OpId) {
            if let Step::Write(key, value) = self.step(op) {
                self.own.push((key, value));
            }
        }
    }

    /// The writes that were noted last take effect. False if another transaction wrote one of the keys since this one
    /// began, where that counts.
    fn commit(&mut self, place: u32, began: Option<u32>) -> bool {
        for &(key, value) in &self.own {
            let cell = &mut self.cells[key.index()];
            if let Some(began) = began.filter(|_| cell.since != place + 1) {
                match cell.since {
                    ASSUMED.. if began < self.start => self.unwritten_since.push((key, began)),
                    ASSUMED.. => {}
                    since if since > began + 1 => return false,
                    _ => {}
                }
            }
            *cell = Cell { value, since: place + 1 };
        }
        true
    }
}

/// The key and what an operation leaves in it, which a read of the key shows: a value, the mark of a delete, or nil.
pub(super) fn written(op: &Op<'_>) -> Option<(KeyId, ValueId)> {
    match *op {
        Op::Write { key, value } | Op::Insert { key, value } => Some((key, value)),
        Op::Delete { key, tombstone } => Some((key, tombstone.unwrap_or(ValueId::NIL))),
        _ => None,
    }
}
