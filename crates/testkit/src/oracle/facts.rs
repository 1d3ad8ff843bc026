//! What the oracle knows of a history: the live transactions with what they did, and the states it may have started in.

use history::{History, KeyId, Op, OpId, Outcome, Predicate, TxnId, ValueId};

use super::store::{Cell, Cells, Slot};

/// A transaction that did not abort.
pub(super) struct Txn<'h> {
    pub id: TxnId,
    pub is_unknown: bool,
    /// What it did, in program order; operations that the database refused are left out.
    pub steps: Vec<OracleOp<'h>>,
}

/// An operation with what belongs to it.
pub(super) struct OracleOp<'h> {
    pub op: Op<'h>,
    /// The place of what it read or wrote in its key's version order, if that was recorded.
    pub version: Option<i64>,
    /// The meaning of its predicate, if it has one.
    pub predicate: Option<Predicate>,
}

pub(super) struct Facts<'h> {
    pub history: &'h History,
    pub txns: Vec<Txn<'h>>,
    /// For each key what it may hold at first.
    initial: Vec<Vec<Cell>>,
}

/// Why the oracle has no answer for a history, if it has none.
pub(super) fn refusal(history: &History) -> Option<String> {
    let live = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted);
    if live.count() > 16 || history.keys().len() > 12 {
        return Some("it tries everything: at most 16 transactions and 12 keys".into());
    }
    let is_unknown = |key: KeyId| history.initial().value_of(key).is_none();
    let has_unknown = history.keys().iter().any(|(key, _)| is_unknown(key));
    for (id, op) in history.txns().flat_map(|txn| history.ops(txn)) {
        match op {
            Op::ReadList { key, .. } | Op::Append { key, .. } if is_unknown(key) => {
                return Some("it is not known what a list held at first".into());
            }
            Op::PredicateRead(_) | Op::PredicateWrite(_) if has_unknown => {
                return Some("it is not known whether the initial values match a predicate".into());
            }
            op => {
                if let Err(error) = predicate_of(op).transpose() {
                    return Some(format!("operation {}: {error}", id.0));
                }
            }
        }
    }
    None
}

fn predicate_of(op: Op<'_>) -> Option<Result<Predicate, history::PredicateError>> {
    match op {
        Op::PredicateRead(read) => Some(Predicate::parse(read.predicate.datum())),
        Op::PredicateWrite(write) => Some(Predicate::parse(write.predicate.datum())),
        _ => None,
    }
}

impl<'h> Facts<'h> {
    pub fn of(history: &'h History) -> Self {
        if let Some(why) = refusal(history) {
            panic!("the oracle cannot answer: {why}");
        }
        let live = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted);
        let txn = |id| Txn {
            id,
            is_unknown: history.outcome(id) == Outcome::Unknown,
            steps: history.ops(id).map(|(op, content)| step(history, op, content)).collect(),
        };
        let keys = history.keys().iter().map(|(key, _)| key);
        Self {
            history,
            txns: live.map(txn).collect(),
            initial: keys.map(|key| initial_cells(history, key)).collect(),
        }
    }

    /// All states that the history may have started in.
    pub fn initial_stores(&self, cells: &mut Cells) -> Vec<Vec<Slot>> {
        self.initial.iter().fold(vec![Vec::new()], |stores, choices| {
            let slots: Vec<Slot> =
                choices.iter().map(|cell| Slot::initial(cells.number(cell.clone()))).collect();
            let extended =
                stores.iter().flat_map(|store| slots.iter().map(|&slot| [&store[..], &[slot]].concat()));
            extended.collect()
        })
    }

    /// All sets of transactions that may be taken as committed: those that did, and any of the unknown ones.
    pub fn outcomes(&self) -> impl Iterator<Item = u32> + use<> {
        let committed = self.txns.iter().enumerate().filter(|(_, txn)| !txn.is_unknown);
        let committed = committed.fold(0u32, |set, (place, _)| set | 1 << place);
        (0..1u32 << self.txns.len()).filter(move |taken| taken & committed == committed)
    }
}

fn step<'h>(history: &History, id: OpId, op: Op<'h>) -> OracleOp<'h> {
    OracleOp { op, version: history.op_version(id), predicate: predicate_of(op).and_then(Result::ok) }
}

/// What a key may hold at first: what was recorded; or else nothing, or any value or mark of a deleted row that was seen
/// and never written, or a value that no operation saw.
fn initial_cells(history: &History, key: KeyId) -> Vec<Cell> {
    if let Some(value) = history.initial().value_of(key) {
        return vec![Cell::holding(history.values().original(value))];
    }
    let ops = || history.txns().flat_map(|txn| history.ops(txn)).map(|(_, op)| op);
    let is_written = |value: ValueId| ops().any(|op| op.key() == Some(key) && op.written() == Some(value));
    let mut cells = vec![Cell::Unseen, Cell::Absent];
    for value in ops().flat_map(|op| seen(op, key)).filter(|&value| !is_written(value)) {
        let cell = Cell::holding(history.values().original(value));
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    for mark in ops().flat_map(|op| seen_dead(op, key)).filter(|&mark| !is_written(mark)) {
        let cell = Cell::deleted(Some(history.values().original(mark)));
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    cells
}

/// The marks of a key that an operation returned as those of a deleted row.
fn seen_dead(op: Op<'_>, key: KeyId) -> Vec<ValueId> {
    let Op::RangeRead(range) = op else { return Vec::new() };
    let rows = range.rows.iter().flatten().filter(|row| row.key == key && row.is_dead);
    rows.map(|row| row.value).collect()
}

/// The values of a key that an operation returned as those of a live row.
fn seen(op: Op<'_>, key: KeyId) -> Vec<ValueId> {
    match op {
        Op::Read { key: read, value: Some(value) } if read == key => vec![value],
        Op::RangeRead(range) => {
            let rows = range.rows.iter().flatten();
            rows.filter(|row| row.key == key && !row.is_dead).map(|row| row.value).collect()
        }
        _ => Vec::new(),
    }
}
