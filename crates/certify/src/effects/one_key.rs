//! Runs a transaction on one key, operation by operation, and compares its answers with those that it had.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use history::{Change, History, KeyId, Op, OpId, PredicateWrite, Row, TxnId, ValueId};

use super::{Content, Sight, is_by_predicate};
use crate::observe::live_ops;

/// What a transaction did to a key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct KeyEffect {
    pub written: Option<(Sight, OpId)>,
    pub matched: Vec<OpId>,
}

/// The most operations that are run for one derivation: some seconds.
const MAX_STEPS: u64 = 1 << 27;

/// A key of a history, with the rows of it that reads returned.
pub(super) struct OneKey<'h> {
    pub history: &'h History,
    /// The transactions with predicates.
    pub by_predicate: Vec<TxnId>,
    /// The rows that range and predicate reads returned, by key and operation; the first of each.
    rows: Vec<(OpId, Row)>,
    key: KeyId,
    /// Those of the selected key.
    returned: Vec<Returned>,
    steps: Cell<u64>,
}

/// What a read of a range or predicate returned of the selected key.
struct Returned {
    op: OpId,
    /// As it was recorded: a row of nil that is there is no content at all.
    is_dead: bool,
    content: Rc<Content>,
}

impl Returned {
    fn is_held(&self, held: &Content) -> bool {
        held.is_dead == self.is_dead && held.datum == self.content.datum
    }
}

impl<'h> OneKey<'h> {
    pub fn new(history: &'h History) -> Self {
        let mut rows = Vec::new();
        let mut by_predicate: Vec<TxnId> = Vec::new();
        for (txn, id, op) in live_ops(history) {
            if is_by_predicate(&op) && by_predicate.last() != Some(&txn) {
                by_predicate.push(txn);
            }
            let returned = match op {
                Op::RangeRead(range) => range.rows.as_deref(),
                Op::PredicateRead(read) => read.rows.as_deref(),
                _ => None,
            };
            rows.extend(returned.unwrap_or_default().iter().map(|&row| (id, row)));
        }
        rows.sort_by_key(|(op, row)| (row.key, *op));
        rows.dedup_by_key(|(op, row)| (row.key, *op));
        let (key, returned) = (KeyId::from_index(0), Vec::new());
        Self { history, by_predicate, rows, key, returned, steps: Cell::new(0) }
    }

    pub fn select(&mut self, key: KeyId) {
        self.key = key;
        let first = self.rows.partition_point(|(_, row)| row.key < key);
        let of_key = self.rows[first..].iter().take_while(|(_, row)| row.key == key);
        // Most rows were returned several times.
        let mut known: BTreeMap<(ValueId, bool), Rc<Content>> = BTreeMap::new();
        let mut content = |row: &Row| {
            let known = known.entry((row.value, row.is_dead));
            Rc::clone(known.or_insert_with(|| Rc::new(content(self.history, row))))
        };
        let returned =
            |(op, row): &(OpId, Row)| Returned { op: *op, is_dead: row.is_dead, content: content(row) };
        self.returned = of_key.map(returned).collect();
    }

    pub fn key(&self) -> KeyId {
        self.key
    }

    pub fn note_step(&self) {
        self.steps.set(self.steps.get() + 1);
    }

    pub fn is_too_much(&self) -> bool {
        self.steps.get() > MAX_STEPS
    }

    /// What the key holds at first.
    pub fn initial(&self) -> Content {
        let value = self.history.initial().value_of(self.key).unwrap_or(ValueId::NIL);
        Content::row(self.history.values().original(value))
    }

    /// What reads of ranges and predicates returned of the key.
    pub fn returned(&self) -> impl Iterator<Item = &Rc<Content>> {
        self.returned.iter().map(|returned| &returned.content)
    }

    /// What a read of a range or predicate returned of the key.
    pub fn returned_by(&self, op: OpId) -> Option<&Rc<Content>> {
        self.row_of(op).map(|returned| &returned.content)
    }

    fn row_of(&self, op: OpId) -> Option<&Returned> {
        let place = self.returned.binary_search_by_key(&op, |returned| returned.op).ok()?;
        Some(&self.returned[place])
    }

    /// Whether the predicate of an operation matches a content.
    pub fn is_match(&self, op: &Op<'_>, content: &Content) -> bool {
        self.matches(op, content) == Some(true)
    }

    /// What an operation on the key itself leaves in it.
    pub fn left_by(&self, op: &Op<'_>) -> Option<Content> {
        let written = op.written().filter(|_| op.key() == Some(self.key))?;
        let datum = self.history.values().original(written);
        Some(if matches!(op, Op::Delete { .. }) { Content::mark(datum) } else { Content::row(datum) })
    }

    /// The first operation of a transaction that concerns the key.
    pub fn first_op(&self, txn: TxnId) -> OpId {
        let concerns = |op: &Op<'_>| match op {
            Op::RangeRead(range) => range.contains(self.history.keys().original(self.key)),
            op => is_by_predicate(op) || op.key() == Some(self.key),
        };
        self.history.ops(txn).find(|(_, op)| concerns(op)).map_or(OpId(0), |(id, _)| id)
    }

    /// Whether a predicate of a transaction named the key in its answer, or matches one of these contents or what the
    /// transaction itself wrote to the key.
    pub fn is_concerned<'c>(&self, txn: TxnId, mut contents: impl Iterator<Item = &'c Rc<Content>>) -> bool {
        let is_named = |(id, op): (OpId, Op<'_>)| match op {
            Op::PredicateRead(_) => self.row_of(id).is_some(),
            Op::PredicateWrite(write) => write.keys.as_ref().is_some_and(|keys| keys.contains(&self.key)),
            _ => false,
        };
        self.history.ops(txn).any(is_named) || contents.any(|content| self.may_match(txn, content))
    }

    fn may_match(&self, txn: TxnId, content: &Rc<Content>) -> bool {
        let mut held = Rc::clone(content);
        for (_, op) in self.history.ops(txn) {
            if self.matches(&op, &held) == Some(true) {
                return true;
            }
            held = self.left_by(&op).map_or(held, Rc::new);
        }
        false
    }

    /// Whether the predicate of an operation matches a content; `None` for operations without one.
    fn matches(&self, op: &Op<'_>, content: &Content) -> Option<bool> {
        let predicate = match op {
            Op::PredicateRead(read) => &read.predicate,
            Op::PredicateWrite(write) => &write.predicate,
            _ => return None,
        };
        let key = self.history.keys().original(self.key);
        let matches = predicate.meaning().is_ok_and(|meaning| meaning.matches(key, &content.datum));
        Some(!content.is_dead && matches)
    }

    /// Whether the predicate of an operation matches a row of which nothing is known but its key; `None` if it may.
    fn matches_other(&self, op: &Op<'_>) -> Option<bool> {
        let predicate = match op {
            Op::PredicateRead(read) => &read.predicate,
            Op::PredicateWrite(write) => &write.predicate,
            _ => return None,
        };
        predicate.meaning().ok()?.truth_by_key(self.history.keys().original(self.key))
    }

    /// Runs a transaction on a content: all that it may have done, if it had the answers that it had. `known` are the
    /// contents that a change may have made of a row that no read returned.
    pub fn run(&self, txn: TxnId, start: &Sight, known: &[Rc<Content>]) -> Vec<KeyEffect> {
        let mut states = vec![(start.clone(), KeyEffect::default())];
        for (id, op) in self.history.ops(txn) {
            self.steps.set(self.steps.get() + states.len() as u64);
            states = states.into_iter().flat_map(|state| self.step(id, &op, state, known)).collect();
            if states.is_empty() || self.is_too_much() {
                return Vec::new();
            }
        }
        states.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn step(
        &self,
        id: OpId,
        op: &Op<'_>,
        (held, outcome): (Sight, KeyEffect),
        known: &[Rc<Content>],
    ) -> Vec<(Sight, KeyEffect)> {
        if let Op::PredicateWrite(write) = op {
            return self.change(id, write, (held, outcome), known);
        }
        if !self.has_answer(id, op, &held) {
            return Vec::new();
        }
        match self.left_by(op) {
            Some(left) => {
                let left = Sight::Known(Rc::new(left));
                vec![(left.clone(), KeyEffect { written: Some((left, id)), ..outcome })]
            }
            None => vec![(held, outcome)],
        }
    }

    /// Whether a read of what the key holds returns what it returned.
    fn has_answer(&self, id: OpId, op: &Op<'_>, held: &Sight) -> bool {
        let key = self.history.keys().original(self.key);
        match op {
            Op::Read { key, value: Some(value) } if *key == self.key => match held {
                Sight::Known(content) => content.datum == self.history.values().original(*value),
                Sight::Other => false,
            },
            Op::RangeRead(range) if range.rows.is_some() && range.contains(key) => match held {
                Sight::Known(content) => match self.row_of(id) {
                    Some(row) => row.is_held(content),
                    None => content.is_dead,
                },
                Sight::Other => false,
            },
            Op::PredicateRead(read) if read.rows.is_some() => self.has_rows(id, op, held),
            _ => true,
        }
    }

    fn has_rows(&self, id: OpId, op: &Op<'_>, held: &Sight) -> bool {
        match (held, self.row_of(id)) {
            (Sight::Known(content), Some(row)) => row.is_held(content) && self.is_match(op, content),
            (Sight::Known(content), None) => self.matches(op, content) == Some(false),
            (Sight::Other, Some(_)) => false,
            (Sight::Other, None) => self.matches_other(op) != Some(true),
        }
    }

    /// A predicate write: it matches or not, as the database said if it did, and both for a row that is not known.
    fn change(
        &self,
        id: OpId,
        write: &PredicateWrite,
        (held, outcome): (Sight, KeyEffect),
        known: &[Rc<Content>],
    ) -> Vec<(Sight, KeyEffect)> {
        let op = Op::PredicateWrite(write);
        let truth = match &held {
            Sight::Known(content) => self.matches(&op, content),
            Sight::Other => self.matches_other(&op),
        };
        let reported = write.keys.as_ref().map(|keys| keys.contains(&self.key));
        let is_possible = |is_match: bool| {
            truth.unwrap_or(is_match) == is_match && reported.unwrap_or(is_match) == is_match
        };
        let mut states = Vec::new();
        if is_possible(true) {
            for made in made_of(&held, &write.change, known) {
                let mut matched = outcome.matched.clone();
                matched.push(id);
                states.push((made.clone(), KeyEffect { written: Some((made, id)), matched }));
            }
        }
        if is_possible(false) {
            states.push((held, outcome));
        }
        states
    }
}

fn content(history: &History, row: &Row) -> Content {
    let datum = history.values().original(row.value);
    if row.is_dead { Content::mark(datum) } else { Content::row(datum) }
}

/// What a change makes of a content. Of a row that no read returned it may have made every known content that has what
/// the change sets, and again such a row if what it leaves depends on the row.
fn made_of(held: &Sight, change: &Change, known: &[Rc<Content>]) -> Vec<Sight> {
    let Sight::Known(content) = held else {
        let is_mark = |content: &Content| content.is_dead && content.datum != history::Datum::Nil;
        let can_be = |content: &&Rc<Content>| change.can_make(&content.datum) && !is_mark(content);
        let mut made: Vec<Sight> = known.iter().filter(can_be).cloned().map(Sight::Known).collect();
        if made.is_empty() || change.depends_on_row() {
            made.push(Sight::Other);
        }
        return made;
    };
    vec![Sight::Known(Rc::new(Content::row(change.apply(&content.datum))))]
}
