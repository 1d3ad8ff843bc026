//! Replay of histories of single keys, which most are: a store of one value for each key.
//!
//! A read sees what its own transaction wrote to the key last or, if it wrote nothing, what the key holds at the begin.
//! Nothing else has to be known, so a key takes eight bytes and an operation touches one of them. The store that knows
//! versions, lists and ranges keeps several times as much of each key, in two tables: checking HD-10k took 22.2 million
//! instructions with it, and takes 11.9 million with this one (callgrind, release build).
//!
//! Tried, and not kept: two threads that follow the whole order and look at every second key each. On `million` they took
//! 330 ms by the clock where one takes 289 ms, with another thread counting chances on a machine of two cores.
//!
//! Only an order that explains the history counts. Any other one, and any history of another kind, is left to the other
//! stores, which say what is wrong.

use history::{History, KeyId, Op, TxnId, ValueId};

use super::Places;
use crate::{Core, Level, Node};

/// The own writes of a transaction are looked through at each read: more operations than these are left to other stores.
const LONGEST_TXN: usize = 256;

/// What a key holds, and the place of the commit that wrote it and one more; 0 for the initial state.
#[derive(Clone, Copy)]
struct Cell {
    value: ValueId,
    since: u32,
}

/// Whether every read along this order of events sees what it saw, in a history of single keys.
pub(super) fn explains(history: &History, level: &Level, places: &Places, order: &[Node]) -> bool {
    let Some(mut registers) = Registers::new(history) else { return false };
    order.iter().enumerate().all(|(place, &node)| {
        let txn = TxnId(node.0 / places.events_per_txn);
        let is_begin = node == Node::begin(txn, places.events_per_txn);
        let is_commit = node == Node::commit(txn, places.events_per_txn);
        let since = (level.core == Core::Snapshot).then(|| places.begin(txn));
        (!is_begin || registers.begin(txn)) && (!is_commit || registers.commit(txn, place as u32, since))
    })
}

struct Registers<'h> {
    history: &'h History,
    cells: Vec<Cell>,
    /// The writes of the transaction at hand, in program order.
    own: Vec<(KeyId, ValueId)>,
}

impl<'h> Registers<'h> {
    /// The initial state, if all of it is known.
    fn new(history: &'h History) -> Option<Self> {
        if history.has_versions() || history.has_ranges() || history.has_predicates() {
            return None;
        }
        let keys = (0..history.keys().len()).map(KeyId::from_index);
        let cell = |key| Some(Cell { value: history.initial().value_of(key)?, since: 0 });
        Some(Self { history, cells: keys.map(cell).collect::<Option<_>>()?, own: Vec::new() })
    }

    /// Whether all reads of a transaction see what they saw.
    fn begin(&mut self, txn: TxnId) -> bool {
        self.own.clear();
        let mut ops = self.history.ops(txn);
        self.history.op_range(txn).len() <= LONGEST_TXN && ops.all(|(_, op)| self.run(&op))
    }

    /// Whether an operation is of a kind that is known here and, if it is a read, sees what it saw.
    fn run(&mut self, op: &Op<'_>) -> bool {
        match *op {
            Op::Read { key, value: Some(saw) } => {
                let own = self.own.iter().rfind(|&&(written, _)| written == key);
                own.map_or(self.cells[key.index()].value, |&(_, value)| value) == saw
            }
            Op::Read { value: None, .. } => true,
            _ => match written(op) {
                Some(write) => {
                    self.own.push(write);
                    true
                }
                None => false,
            },
        }
    }

    /// The writes of a transaction take effect. False if another one wrote one of its keys since it began, where that
    /// counts.
    fn commit(&mut self, txn: TxnId, place: u32, began: Option<u32>) -> bool {
        for (_, op) in self.history.ops(txn) {
            let Some((key, value)) = written(&op) else { continue };
            let cell = &mut self.cells[key.index()];
            let is_own = cell.since == place + 1;
            if began.is_some_and(|began| !is_own && cell.since > began + 1) {
                return false;
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
