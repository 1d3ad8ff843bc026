//! The store for histories with predicates: transactions are run on the rows themselves.
//!
//! What a predicate write changes depends on what it sees, so a transaction is run at its begin, operation by operation,
//! on the rows with its own changes in them; every answer must be the one it had, and what it wrote takes effect at its
//! commit. A predicate is asked of the rows whose column can match it (`rows/columns.rs`), and of those that the
//! transaction wrote itself; the rest costs a comparison of integers for each row.

mod columns;

use history::{Datum, History, KeyId, Op, OpId, Predicate, RecordedPredicate, Row, TxnId, ValueId};

use crate::effects::Content;
use crate::{Flaw, Place};
use columns::Columns;

/// What a transaction wrote: keys with what they hold from then on.
type Writes = Vec<(KeyId, Content)>;

pub(crate) struct Rows<'h> {
    history: &'h History,
    held: Vec<Content>,
    /// For each key the place of the commit that wrote it last.
    since: Vec<Option<u32>>,
    /// What transactions that have begun will write.
    open: Vec<Option<Writes>>,
    columns: Columns,
    /// For each key its place among the writes of the transaction that runs, or `NONE`.
    own_place: Vec<u32>,
}

/// A key that the transaction has not written.
const NONE: u32 = u32::MAX;

impl<'h> Rows<'h> {
    /// The initial state.
    pub fn new(history: &'h History) -> Self {
        let initial = |(key, _): (KeyId, &Datum)| {
            let value = history.initial().value_of(key).unwrap_or(ValueId::NIL);
            Content::row(history.values().original(value))
        };
        Self {
            history,
            held: history.keys().iter().map(initial).collect(),
            since: vec![None; history.keys().len()],
            open: vec![None; history.txn_count()],
            columns: Columns::default(),
            own_place: vec![NONE; history.keys().len()],
        }
    }

    /// Runs a transaction on the rows.
    pub fn begin(&mut self, txn: TxnId) -> Result<(), Flaw> {
        let mut run = Run {
            history: self.history,
            held: &self.held,
            columns: &mut self.columns,
            own: Vec::new(),
            own_place: &mut self.own_place,
        };
        for (id, op) in self.history.ops(txn) {
            if !run.step(id, &op)? {
                return Err(Flaw::new(
                    Place::Read(id),
                    "replayed at this position, the read returns something else",
                ));
            }
        }
        let own = run.own;
        own.iter().for_each(|(key, _)| self.own_place[key.index()] = NONE);
        self.open[txn.index()] = Some(own);
        Ok(())
    }

    /// What a transaction that has begun writes takes effect; gives back the keys, each with the place since which it
    /// held what it did.
    pub fn commit(&mut self, txn: TxnId, place: u32) -> Vec<(KeyId, Option<u32>)> {
        let writes = self.open[txn.index()].take().unwrap_or_default();
        let mut before = Vec::with_capacity(writes.len());
        for (key, content) in writes {
            self.columns.set(self.history, key, &content);
            self.held[key.index()] = content;
            before.push((key, self.since[key.index()].replace(place)));
        }
        before
    }
}

struct Run<'r, 'h> {
    history: &'h History,
    held: &'r [Content],
    columns: &'r mut Columns,
    own: Writes,
    own_place: &'r mut [u32],
}

impl Run<'_, '_> {
    fn held(&self, key: KeyId) -> &Content {
        match self.own_place[key.index()] {
            NONE => &self.held[key.index()],
            place => &self.own[place as usize].1,
        }
    }

    fn put(&mut self, key: KeyId, content: Content) {
        match self.own_place[key.index()] {
            NONE => {
                self.own_place[key.index()] = self.own.len() as u32;
                self.own.push((key, content));
            }
            place => self.own[place as usize].1 = content,
        }
    }

    fn value(&self, value: ValueId) -> Datum {
        self.history.values().original(value)
    }

    fn keys(&self) -> impl Iterator<Item = KeyId> + use<> {
        (0..self.held.len()).map(KeyId::from_index)
    }

    /// Does an operation; whether its answer is the one it had.
    fn step(&mut self, id: OpId, op: &Op<'_>) -> Result<bool, Flaw> {
        match *op {
            Op::Read { key, value: Some(value) } => Ok(self.held(key).datum == self.value(value)),
            Op::Write { key, value } | Op::Insert { key, value } => {
                self.put(key, Content::row(self.value(value)));
                Ok(true)
            }
            Op::Delete { key, tombstone } => {
                let datum = self.value(tombstone.unwrap_or(ValueId::NIL));
                self.put(key, Content::mark(datum));
                Ok(true)
            }
            Op::RangeRead(range) => {
                let Some(rows) = &range.rows else { return Ok(true) };
                let is_inside = |key: KeyId| range.contains(self.history.keys().original(key));
                let is_row = |&key: &KeyId| is_inside(key) && !self.held(key).is_dead;
                let inside: Vec<KeyId> = self.keys().filter(is_row).collect();
                Ok(self.is_answer(rows, is_inside, &inside))
            }
            Op::PredicateRead(read) => {
                let Some(rows) = &read.rows else { return Ok(true) };
                let predicate = meaning(id, &read.predicate)?;
                self.columns.prepare(self.history, self.held, predicate);
                let matching = self.matching(predicate);
                Ok(self.is_answer(rows, |key| self.matches(predicate, key), &matching))
            }
            Op::PredicateWrite(write) => {
                let predicate = meaning(id, &write.predicate)?;
                self.columns.prepare(self.history, self.held, predicate);
                let matching = self.matching(predicate);
                for &key in &matching {
                    let changed = write.change.apply(&self.held(key).datum);
                    self.put(key, Content::row(changed));
                }
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

    fn matches(&self, predicate: &Predicate, key: KeyId) -> bool {
        let held = self.held(key);
        !held.is_dead && predicate.matches(self.history.keys().original(key), &held.datum)
    }

    /// The rows that match, by key.
    fn matching(&self, predicate: &Predicate) -> Vec<KeyId> {
        let asked = self.columns.asked(predicate);
        let is_asked = |key: KeyId| self.own_place[key.index()] != NONE || asked.has(key);
        self.keys().filter(|&key| is_asked(key) && self.matches(predicate, key)).collect()
    }

    /// Whether rows are those that are expected, and what a delete left where it may be shown.
    fn is_answer(&self, rows: &[Row], may_be_shown: impl Fn(KeyId) -> bool, expected: &[KeyId]) -> bool {
        let mut shown: Vec<KeyId> = rows.iter().map(|row| row.key).collect();
        shown.sort_unstable();
        let is_right = |row: &Row| {
            let held = self.held(row.key);
            may_be_shown(row.key) && held.is_dead == row.is_dead && held.datum == self.value(row.value)
        };
        shown.windows(2).all(|pair| pair[0] != pair[1])
            && rows.iter().all(is_right)
            && expected.iter().all(|key| shown.binary_search(key).is_ok())
    }
}

fn meaning(op: OpId, predicate: &RecordedPredicate) -> Result<&Predicate, Flaw> {
    predicate.meaning().map_err(|error| Flaw::new(Place::Op(op), error.to_string()))
}
