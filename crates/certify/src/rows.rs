//! The store for histories with predicates: transactions are run on the rows themselves.
//!
//! What a predicate write changes depends on what it sees, so a transaction is run at its begin, operation by operation,
//! on the rows with its own changes in them; every answer must be the one it had, and what it wrote takes effect at its
//! commit (`rows/table.rs`).

mod lane;
mod table;

use history::{History, KeyId, Op, OpId, Predicate, RecordedPredicate, Row, TxnId, ValueId};

use crate::effects::Content;
use crate::{Flaw, Place};
use table::{Changes, NONE, Table, UNCHANGED, View};

pub(crate) struct Rows<'h> {
    history: &'h History,
    table: Table<'h>,
    /// For each key the place of the commit that wrote it last.
    since: Vec<Option<u32>>,
    /// What transactions that have begun will write.
    open: Vec<Option<Changes>>,
    /// For each key its place among the changes of the transaction that runs.
    own_place: Vec<u32>,
}

impl<'h> Rows<'h> {
    /// The initial state.
    pub fn new(history: &'h History) -> Self {
        Self {
            history,
            table: Table::new(history),
            since: vec![None; history.keys().len()],
            open: std::iter::repeat_with(|| None).take(history.txn_count()).collect(),
            own_place: vec![UNCHANGED; history.keys().len()],
        }
    }

    /// Runs a transaction on the rows.
    pub fn begin(&mut self, txn: TxnId) -> Result<(), Flaw> {
        let view = View { table: &self.table, own: Changes::default(), own_place: &mut self.own_place };
        let mut run = Run { history: self.history, view };
        for (id, op) in self.history.ops(txn) {
            if !run.step(id, &op)? {
                return Err(Flaw::new(
                    Place::Read(id),
                    "replayed at this position, the read returns something else",
                ));
            }
        }
        let own = run.view.own;
        own.keys.iter().for_each(|key| self.own_place[key.index()] = UNCHANGED);
        self.open[txn.index()] = Some(own);
        Ok(())
    }

    /// What a transaction that has begun writes takes effect; gives back the keys, each with the place since which it
    /// held what it did.
    pub fn commit(&mut self, txn: TxnId, place: u32) -> Vec<(KeyId, Option<u32>)> {
        let changes = self.open[txn.index()].take().unwrap_or_default();
        let since = |&key: &KeyId| (key, self.since[key.index()].replace(place));
        let before = changes.keys.iter().map(since).collect();
        self.table.commit(changes);
        before
    }
}

struct Run<'r, 'h> {
    history: &'h History,
    view: View<'r, 'h>,
}

impl Run<'_, '_> {
    /// Does an operation; whether its answer is the one it had.
    fn step(&mut self, id: OpId, op: &Op<'_>) -> Result<bool, Flaw> {
        match *op {
            Op::Read { key, value: Some(value) } => Ok(self.view.is_value(key, value)),
            Op::Write { key, value } | Op::Insert { key, value } => {
                self.view.put(key, Content::row(self.history.values().original(value)));
                Ok(true)
            }
            Op::Delete { key, tombstone } => {
                let datum = self.history.values().original(tombstone.unwrap_or(ValueId::NIL));
                self.view.put(key, Content::mark(datum));
                Ok(true)
            }
            Op::RangeRead(range) => {
                let Some(rows) = &range.rows else { return Ok(true) };
                let is_inside = |key: KeyId| range.contains(self.history.keys().original(key));
                let keys = (0..self.history.keys().len()).map(KeyId::from_index);
                let is_row = |&key: &KeyId| !self.view.is_dead(key) && is_inside(key);
                let inside: Vec<KeyId> = keys.filter(is_row).collect();
                Ok(self.is_answer(rows, is_inside, &inside))
            }
            Op::PredicateRead(read) => {
                let Some(rows) = &read.rows else { return Ok(true) };
                let matching = self.view.matching(meaning(id, &read.predicate)?);
                Ok(self.is_answer(rows, |key| matching.binary_search(&key).is_ok(), &matching))
            }
            Op::PredicateWrite(write) => {
                let matching = self.view.matching(meaning(id, &write.predicate)?);
                self.view.change(&write.change, &matching);
                let is_count = write.row_count.is_none_or(|count| count == matching.len() as u64);
                let is_keys = write.keys.as_ref().is_none_or(|keys| {
                    let mut keys = keys.to_vec();
                    keys.sort_unstable();
                    keys == matching
                });
                Ok(is_count && is_keys)
            }
            _ => Ok(true),
        }
    }

    /// Whether rows are those that are expected, and what a delete left where it may be shown.
    fn is_answer(&self, rows: &[Row], may_be_shown: impl Fn(KeyId) -> bool, expected: &[KeyId]) -> bool {
        let mut shown: Vec<KeyId> = rows.iter().map(|row| row.key).collect();
        shown.sort_unstable();
        let is_right =
            |row: &Row| self.view.is_dead(row.key) == row.is_dead && self.view.is_value(row.key, row.value);
        let is_expected = || {
            rows.iter().all(|row| may_be_shown(row.key))
                && expected.iter().all(|key| shown.binary_search(key).is_ok())
        };
        shown.windows(2).all(|pair| pair[0] != pair[1])
            && rows.iter().all(is_right)
            && (shown == expected || is_expected())
    }
}

fn meaning(op: OpId, predicate: &RecordedPredicate) -> Result<&Predicate, Flaw> {
    predicate.meaning().map_err(|error| Flaw::new(Place::Op(op), error.to_string()))
}
