//! A transaction run on one key, operation by operation, with what the key held.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Content, Scope};
use history::{
    Datum, History, KeyId, Op, OpId, Outcome, Predicate, PredicateWrite, RecordedPredicate, Row, TxnId,
};

/// How a transaction ends for one key.
pub(super) struct Ending {
    pub written: Option<(Content, OpId)>,
    pub matched: Vec<OpId>,
}

/// Everything that is needed to run transactions on keys: the meanings of predicates, and what was returned by key.
pub(super) struct Runner<'h> {
    pub history: &'h History,
    /// Each with the number that all equal ones have.
    predicates: FxHashMap<OpId, (&'h Predicate, u32)>,
    number_of: FxHashMap<&'h Datum, u32>,
    /// The rows that reads returned, as far as their keys are in scope.
    returned: FxHashMap<(OpId, KeyId), Row>,
    /// The rows that the database said a write changed.
    changed: FxHashSet<(OpId, KeyId)>,
    /// Whether a transaction reads or writes by predicate.
    by_predicate: Vec<bool>,
}

impl<'h> Runner<'h> {
    pub fn new(history: &'h History, scope: &Scope<'_>) -> Self {
        let mut runner = Self {
            history,
            predicates: FxHashMap::default(),
            number_of: FxHashMap::default(),
            returned: FxHashMap::default(),
            changed: FxHashSet::default(),
            by_predicate: vec![false; history.txn_count()],
        };
        for txn in live(history) {
            for (id, op) in history.ops(txn) {
                runner.by_predicate[txn.index()] |= is_by_predicate(&op);
                runner.add(scope, id, &op);
            }
        }
        runner
    }

    fn add(&mut self, scope: &Scope<'_>, id: OpId, op: &Op<'h>) {
        let rows = match op {
            Op::RangeRead(range) => range.rows.as_deref(),
            Op::PredicateRead(read) => {
                self.add_predicate(id, &read.predicate);
                read.rows.as_deref()
            }
            Op::PredicateWrite(write) => {
                self.add_predicate(id, &write.predicate);
                let keys = write.keys.iter().flatten().filter(|&&key| scope.contains(key));
                self.changed.extend(keys.map(|&key| (id, key)));
                None
            }
            _ => None,
        };
        for row in rows.unwrap_or_default().iter().filter(|row| scope.contains(row.key)) {
            self.returned.entry((id, row.key)).or_insert(*row);
        }
    }

    fn add_predicate(&mut self, id: OpId, predicate: &'h RecordedPredicate) {
        if let Ok(meaning) = predicate.meaning() {
            let next = self.number_of.len() as u32;
            let number = *self.number_of.entry(predicate.datum()).or_insert(next);
            self.predicates.insert(id, (meaning, number));
        }
    }

    /// The predicate of an operation, with the number that all equal ones have.
    pub fn asked(&self, op: OpId) -> Option<(&'h Predicate, u32)> {
        self.predicates.get(&op).copied()
    }

    pub fn matches(&self, op: OpId, key: KeyId, content: &Content) -> bool {
        let matches = |(predicate, _): (&Predicate, u32)| predicate.matches(self.key(key), &content.datum);
        !content.is_dead && self.asked(op).is_some_and(matches)
    }

    /// Whether a predicate matches a row of which nothing is known but its key; `None` if that depends.
    pub fn matches_other(&self, op: OpId, key: KeyId) -> Option<bool> {
        self.asked(op).and_then(|(predicate, _)| predicate.truth_by_key(self.key(key)))
    }

    /// The row of a key that a read returned.
    pub fn returned(&self, op: OpId, key: KeyId) -> Option<Content> {
        self.returned_row(op, key).map(|row| self.content(&row))
    }

    /// The same, as it was recorded.
    pub fn returned_row(&self, op: OpId, key: KeyId) -> Option<Row> {
        self.returned.get(&(op, key)).copied()
    }

    /// What reads returned, by key.
    pub fn all_returned(&self) -> impl Iterator<Item = (KeyId, Content)> {
        self.returned.iter().map(|(&(_, key), row)| (key, self.content(row)))
    }

    fn content(&self, row: &Row) -> Content {
        let datum = self.history.values().original(row.value);
        if row.is_dead { Content::mark(datum) } else { Content::row(datum) }
    }

    pub fn key(&self, key: KeyId) -> &'h Datum {
        self.history.keys().original(key)
    }

    /// Whether the database said that a write changed a key.
    pub fn is_changed(&self, op: OpId, key: KeyId) -> bool {
        self.changed.contains(&(op, key))
    }

    pub fn is_by_predicate(&self, txn: TxnId) -> bool {
        self.by_predicate[txn.index()]
    }

    /// Whether a predicate of a transaction concerns a key that it may have seen with one of these contents.
    pub fn concerns<'c>(
        &self,
        txn: TxnId,
        key: KeyId,
        mut contents: impl Iterator<Item = &'c Content>,
    ) -> bool {
        let mut own = self.history.ops(txn).filter(|(_, op)| is_by_predicate(op));
        let is_named = |id: OpId| self.returned.contains_key(&(id, key)) || self.changed.contains(&(id, key));
        self.is_by_predicate(txn)
            && (own.any(|(id, _)| is_named(id)) || contents.any(|content| self.may_match(txn, key, content)))
    }

    /// Whether a predicate of a transaction matches a key that held this, or what the transaction itself wrote to it.
    fn may_match(&self, txn: TxnId, key: KeyId, content: &Content) -> bool {
        let mut held = Cow::Borrowed(content);
        self.history.ops(txn).any(|(id, op)| {
            let is_match = is_by_predicate(&op) && self.matches(id, key, &held);
            if op.key() == Some(key)
                && let Some(left) = left_by(self.history, &op)
            {
                held = Cow::Owned(left);
            }
            is_match
        })
    }

    /// The first operation of a transaction that concerns a key.
    pub fn first_op(&self, txn: TxnId, key: KeyId) -> OpId {
        let concerns = |op: &Op<'_>| match op {
            Op::RangeRead(range) => range.contains(self.key(key)),
            op => is_by_predicate(op) || op.key() == Some(key),
        };
        self.history.ops(txn).find(|(_, op)| concerns(op)).map_or(OpId(0), |(id, _)| id)
    }

    /// Runs a transaction on what a key holds; `None` if it would have seen something else.
    pub fn run(&self, txn: TxnId, key: KeyId, held: &Content) -> Option<Ending> {
        let mut held = Cow::Borrowed(held);
        let mut ending = Ending { written: None, matched: Vec::new() };
        for (id, op) in self.history.ops(txn) {
            if !self.step(id, &op, key, &mut held, &mut ending) {
                return None;
            }
            if op.key() == Some(key)
                && let Some(content) = left_by(self.history, &op)
            {
                ending.written = Some((content.clone(), id));
                held = Cow::Owned(content);
            }
        }
        Some(ending)
    }

    /// Whether an operation has the answer that it had.
    fn step(
        &self,
        id: OpId,
        op: &Op<'_>,
        key: KeyId,
        held: &mut Cow<'_, Content>,
        ending: &mut Ending,
    ) -> bool {
        let Op::PredicateWrite(write) = op else { return self.sees(id, op, key, held) };
        let is_match = self.matches(id, key, held);
        if is_match {
            let changed = Content::row(write.change.apply(&held.datum));
            ending.written = Some((changed.clone(), id));
            *held = Cow::Owned(changed);
            ending.matched.push(id);
        }
        self.reported(id, write, key).is_none_or(|reported| reported == is_match)
    }

    /// Whether an operation that changes nothing sees what it saw.
    pub fn sees(&self, id: OpId, op: &Op<'_>, key: KeyId, held: &Content) -> bool {
        let returned = || self.returned.get(&(id, key));
        match op {
            Op::Read { key: read, value: Some(value) } if *read == key => {
                self.history.values().is_original(*value, &held.datum)
            }
            Op::RangeRead(range) if range.rows.is_some() && range.contains(self.key(key)) => {
                returned().map_or(held.is_dead, |row| self.is_row(held, row))
            }
            Op::PredicateRead(read) if read.rows.is_some() => {
                let is_match = self.matches(id, key, held);
                returned().map_or(!is_match, |row| is_match && self.is_row(held, row))
            }
            _ => true,
        }
    }

    /// Whether a predicate write changed a key, if the database said so.
    pub fn reported(&self, id: OpId, write: &PredicateWrite, key: KeyId) -> Option<bool> {
        write.keys.as_ref().map(|_| self.changed.contains(&(id, key)))
    }

    pub fn is_row(&self, held: &Content, row: &Row) -> bool {
        held.is_dead == row.is_dead && self.history.values().is_original(row.value, &held.datum)
    }
}

/// What a write of one key leaves.
pub(super) fn left_by(history: &History, op: &Op<'_>) -> Option<Content> {
    let value = op.written().map(|value| history.values().original(value))?;
    Some(match op {
        Op::Delete { .. } => Content::mark(value),
        _ => Content::row(value),
    })
}

pub(super) fn is_by_predicate(op: &Op<'_>) -> bool {
    matches!(op, Op::PredicateRead(_) | Op::PredicateWrite(_))
}

/// The transactions that may have committed.
pub(super) fn live(history: &History) -> impl Iterator<Item = TxnId> {
    history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted)
}

/// The operations of transactions that may have committed.
pub(super) fn ops(history: &History) -> impl Iterator<Item = (OpId, Op<'_>)> {
    live(history).flat_map(|txn| history.ops(txn))
}
