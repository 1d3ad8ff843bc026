//! Runs transactions with any mix of operations: registers, lists, ranges, predicates, recorded versions, deleted rows
//! with marks, and initial values that were not recorded.
//!
//! The stores of `store.rs` and `rows.rs` are fast and know some of these together. This one follows the definition,
//! operation by operation, and knows all of them: a transaction runs at its begin on what the keys hold, with its own
//! changes in it; every answer must be the one that was recorded; its writes take effect at its commit.
//!
//! An initial value that was not recorded is bound by the first read that shows it. Until then it is kept as unseen, with
//! the predicates whose answers did not show it. A key whose initial value is never shown may have been absent, so that a
//! key may stay unseen to the end. A bound value must not be one that a transaction wrote, and must match none of these
//! predicates.
//!
//! Recorded versions ascend along the commits of a key, and all that is told of one content is the same version.
//!
//! Costs a look at every key for each range and each predicate.

use std::collections::BTreeMap;

use history::{
    Datum, History, KeyId, Op, OpId, Predicate, PredicateRead, PredicateWrite, RangeRead, Row, TxnId, ValueId,
};

use crate::effects::Content;
use crate::observe::{EverWritten, live_ops};
use crate::{Core, Flaw, Place};

/// What does not change while transactions run.
pub(crate) struct Execution<'h> {
    history: &'h History,
    predicates: BTreeMap<OpId, &'h Predicate>,
    ever_written: EverWritten,
    initial: Vec<Slot>,
}

/// What the keys hold, and what open transactions will write.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    slots: Vec<Slot>,
    open: Vec<(TxnId, Vec<Write>)>,
}

/// What a key holds.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Slot {
    held: SlotContent,
    /// The recorded version of what the key holds, once an operation told it.
    version: Option<i64>,
    /// The greatest recorded version of what the key held before.
    before: Option<i64>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum SlotContent {
    Known(Content),
    /// An initial value that no read has shown, and the operations whose predicates it does not match.
    Unseen(Vec<OpId>),
}

/// A key, what it holds after the transaction, and the recorded version of that.
type Write = (KeyId, Content, Option<i64>);

/// What a read shows of a key.
#[derive(Clone, Copy)]
enum Shown {
    /// A read of the key: its value, the mark of a deleted row, or nil.
    Plain(ValueId),
    /// A row of a range or of a predicate.
    Row(ValueId),
    /// A deleted row of a range, with its mark.
    Mark(ValueId),
    /// A range without a row of this key.
    NoRow,
}

impl Slot {
    fn initial(history: &History, key: KeyId) -> Self {
        let known = history.initial().value_of(key);
        let known = known.map(|value| SlotContent::Known(Content::row(history.values().original(value))));
        Self { held: known.unwrap_or(SlotContent::Unseen(Vec::new())), version: None, before: None }
    }

    /// An operation tells the version of what the key holds; whether that can be.
    fn told(&mut self, version: i64) -> bool {
        let is_possible = match self.version {
            Some(known) => known == version,
            None => self.before < Some(version),
        };
        self.version = Some(version);
        is_possible
    }

    /// The key is overwritten; whether the recorded version, if there is one, can be the next.
    fn overwrite(&mut self, content: Content, version: Option<i64>) -> bool {
        let before = self.before.max(self.version);
        *self = Self { held: SlotContent::Known(content), version: None, before };
        version.is_none_or(|version| self.told(version))
    }
}

impl<'h> Execution<'h> {
    /// Refuses predicates without a meaning.
    pub fn new(history: &'h History) -> Result<Self, Flaw> {
        let mut predicates = BTreeMap::new();
        for (_, id, op) in live_ops(history) {
            let predicate = match op {
                Op::PredicateRead(read) => &read.predicate,
                Op::PredicateWrite(write) => &write.predicate,
                _ => continue,
            };
            let meaning = predicate.meaning();
            predicates.insert(id, meaning.map_err(|error| Flaw::new(Place::Op(id), error.to_string()))?);
        }
        let keys = (0..history.keys().len()).map(KeyId::from_index);
        let initial = keys.map(|key| Slot::initial(history, key)).collect();
        Ok(Self { history, predicates, ever_written: EverWritten::of(history), initial })
    }

    /// The initial state.
    pub fn start(&self) -> State {
        State { slots: self.initial.clone(), open: Vec::new() }
    }

    /// A transaction begins: it runs on what the keys hold. After a flaw the state has no meaning.
    pub fn begin(&self, state: &mut State, txn: TxnId) -> Result<(), Flaw> {
        let mut run = Run { execution: self, slots: &mut state.slots, own: Vec::new() };
        for (id, op) in self.history.ops(txn) {
            if !run.step(id, &op)? {
                let why = "replayed at this position, the operation returns something else";
                return Err(Flaw::new(Place::Op(id), why));
            }
        }
        let own = run.own;
        state.open.push((txn, own));
        Ok(())
    }

    /// A transaction that began commits: its writes take effect. After a flaw the state has no meaning.
    pub fn commit(&self, state: &mut State, txn: TxnId, core: Core) -> Result<(), Flaw> {
        let flaw = |why: &str| Flaw::new(Place::Txn(txn), why.to_owned());
        let place = state.open.iter().position(|&(open, _)| open == txn);
        let (_, writes) = state.open.remove(place.ok_or_else(|| flaw("it commits before it begins"))?);
        let overlaps = |(key, ..): &Write| {
            state.open.iter().any(|(_, others)| others.iter().any(|(other, ..)| other == key))
        };
        if core == Core::Snapshot && writes.iter().any(overlaps) {
            return Err(flaw(
                "another writer of one of its keys began before it committed and is still open",
            ));
        }
        for (key, content, version) in writes {
            if !state.slots[key.index()].overwrite(content, version) {
                return Err(flaw("the recorded version of its write is not after those before it"));
            }
        }
        Ok(())
    }
}

/// A transaction in the making.
struct Run<'r, 'h> {
    execution: &'r Execution<'h>,
    slots: &'r mut [Slot],
    own: Vec<Write>,
}

impl Run<'_, '_> {
    /// Does an operation; whether it returns what was recorded.
    fn step(&mut self, id: OpId, op: &Op<'_>) -> Result<bool, Flaw> {
        let version = self.execution.history.op_version(id);
        match *op {
            Op::Read { value: None, .. } | Op::ReadList { list: None, .. } => Ok(true),
            Op::Read { key, value: Some(value) } => {
                Ok(self.tell(key, version) && self.shows(key, Shown::Plain(value)))
            }
            Op::ReadList { key, list: Some(list) } => {
                Ok(self.tell(key, version) && self.shows_list(key, list))
            }
            Op::Write { key, value } | Op::Insert { key, value } => {
                self.write(key, Content::row(self.value(value)), version);
                Ok(true)
            }
            Op::Delete { key, tombstone } => {
                let mark = tombstone.map_or(Datum::Nil, |mark| self.value(mark));
                self.write(key, Content::mark(mark), version);
                Ok(true)
            }
            Op::Append { key, value } => self.append(id, key, value, version),
            Op::RangeRead(read) => Ok(self.range(read)),
            Op::PredicateRead(read) => Ok(self.predicate_read(id, read)),
            Op::PredicateWrite(write) => self.predicate_write(id, write),
        }
    }

    fn value(&self, value: ValueId) -> Datum {
        self.execution.history.values().original(value)
    }

    fn keys(&self) -> impl Iterator<Item = KeyId> + use<> {
        (0..self.slots.len()).map(KeyId::from_index)
    }

    fn key(&self, key: KeyId) -> &Datum {
        self.execution.history.keys().original(key)
    }

    /// What a key holds for this transaction; `None` for an initial value that no read has shown.
    fn held(&self, key: KeyId) -> Option<&Content> {
        if let Some((_, content, _)) = self.own.iter().find(|(own, ..)| *own == key) {
            return Some(content);
        }
        match &self.slots[key.index()].held {
            SlotContent::Known(content) => Some(content),
            SlotContent::Unseen(_) => None,
        }
    }

    fn write(&mut self, key: KeyId, content: Content, version: Option<i64>) {
        self.own.retain(|(own, ..)| *own != key);
        self.own.push((key, content, version));
    }

    /// A read tells the version of what another transaction wrote; whether that can be.
    fn tell(&mut self, key: KeyId, version: Option<i64>) -> bool {
        let is_own = self.own.iter().any(|(own, ..)| *own == key);
        version.filter(|_| !is_own).is_none_or(|version| self.slots[key.index()].told(version))
    }

    /// Whether a read of a key can show this.
    fn shows(&mut self, key: KeyId, shown: Shown) -> bool {
        let Some(held) = self.held(key) else { return self.bind(key, shown) };
        match shown {
            Shown::Plain(value) => held.datum == self.value(value),
            Shown::Row(value) => !held.is_dead && held.datum == self.value(value),
            Shown::Mark(value) => held.is_dead && held.datum == self.value(value),
            Shown::NoRow => held.is_dead,
        }
    }

    /// Binds an initial value to what a read shows of it, if it can be that.
    fn bind(&mut self, key: KeyId, shown: Shown) -> bool {
        let (content, value) = match shown {
            Shown::Plain(value) | Shown::Row(value) => (Content::row(self.value(value)), value),
            Shown::Mark(value) => (Content::mark(self.value(value)), value),
            Shown::NoRow => (Content::mark(Datum::Nil), ValueId::NIL),
        };
        let is_row_of_nil = matches!(shown, Shown::Row(ValueId::NIL));
        let is_written = value != ValueId::NIL && self.execution.ever_written.contains(key, value);
        !is_row_of_nil && !is_written && self.bind_to(key, content)
    }

    /// Binds an initial value, if it matches none of the predicates whose answers did not show it.
    fn bind_to(&mut self, key: KeyId, content: Content) -> bool {
        let SlotContent::Unseen(predicates) = &self.slots[key.index()].held else { return false };
        if predicates.iter().any(|&predicate| self.matches(predicate, key, &content)) {
            return false;
        }
        self.slots[key.index()].held = SlotContent::Known(content);
        true
    }

    fn matches(&self, predicate: OpId, key: KeyId, content: &Content) -> bool {
        let predicate = &self.execution.predicates[&predicate];
        !content.is_dead && predicate.matches(self.key(key), &content.datum)
    }

    fn shows_list(&mut self, key: KeyId, list: &[ValueId]) -> bool {
        let elements: Vec<Datum> = list.iter().map(|&element| self.value(element)).collect();
        if let Some(held) = self.held(key) {
            return list_of(held).is_some_and(|held| held == &elements[..]);
        }
        let is_appended = |&element: &ValueId| self.execution.ever_written.contains(key, element);
        let initial = match elements.is_empty() {
            true => Content::mark(Datum::Nil),
            false => Content::row(Datum::List(elements.into())),
        };
        !list.iter().any(is_appended) && self.bind_to(key, initial)
    }

    fn append(&mut self, id: OpId, key: KeyId, value: ValueId, version: Option<i64>) -> Result<bool, Flaw> {
        let held = self.held(key).ok_or_else(|| unknown_initial(id))?;
        let Some(list) = list_of(held) else { return Ok(false) };
        let mut list = list.to_vec();
        list.push(self.value(value));
        self.write(key, Content::row(Datum::List(list.into())), version);
        Ok(true)
    }

    /// The rows between the bounds and no others; a deleted row may be shown with its mark, or not.
    fn range(&mut self, read: &RangeRead) -> bool {
        let Some(rows) = &read.rows else { return true };
        let is_inside = |run: &Self, key: KeyId| read.contains(run.key(key));
        if has_repeats(rows) || rows.iter().any(|row| !is_inside(self, row.key)) {
            return false;
        }
        let mut inside = self.keys().filter(|&key| is_inside(self, key)).collect::<Vec<_>>().into_iter();
        inside.all(|key| {
            let shown = match rows.iter().find(|row| row.key == key) {
                Some(row) if row.is_dead => Shown::Mark(row.value),
                Some(row) => Shown::Row(row.value),
                None => Shown::NoRow,
            };
            self.shows(key, shown)
        })
    }

    /// The rows that match, with what they hold, and no others.
    fn predicate_read(&mut self, id: OpId, read: &PredicateRead) -> bool {
        let Some(rows) = &read.rows else { return true };
        let is_right = |run: &mut Self, key: KeyId| match rows.iter().find(|row| row.key == key) {
            Some(row) => {
                let content = Content::row(run.value(row.value));
                !row.is_dead && run.matches(id, key, &content) && run.shows(key, Shown::Row(row.value))
            }
            None => !run.may_match(id, key),
        };
        !has_repeats(rows) && self.keys().all(|key| is_right(self, key))
    }

    /// Whether a key matches a predicate; an initial value that no read has shown is noted as one that does not.
    fn may_match(&mut self, predicate: OpId, key: KeyId) -> bool {
        if let Some(held) = self.held(key) {
            return self.matches(predicate, key, held);
        }
        if let SlotContent::Unseen(predicates) = &mut self.slots[key.index()].held
            && let Err(place) = predicates.binary_search(&predicate)
        {
            predicates.insert(place, predicate);
        }
        false
    }

    /// All rows that match are changed, and they are those that the database said it changed.
    fn predicate_write(&mut self, id: OpId, write: &PredicateWrite) -> Result<bool, Flaw> {
        let keys = write.keys.as_deref();
        if let Some(keys) = keys
            && keys.iter().any(|&key| self.held(key).is_none())
        {
            return Err(unknown_initial(id));
        }
        let mut matching = Vec::new();
        for key in self.keys() {
            if self.may_match(id, key) {
                matching.push(key);
            }
        }
        for &key in &matching {
            let old = self.held(key).map_or(&Datum::Nil, |held| &held.datum);
            let new = Content::row(write.change.apply(old));
            self.write(key, new, None);
        }
        let is_count = write.row_count.is_none_or(|count| count == matching.len() as u64);
        let is_keys = keys
            .is_none_or(|keys| keys.len() == matching.len() && matching.iter().all(|key| keys.contains(key)));
        Ok(is_count && is_keys)
    }
}

/// The elements of a list; no row is an empty list, and another value is none.
fn list_of(held: &Content) -> Option<&[Datum]> {
    match &held.datum {
        Datum::Nil => Some(&[]),
        Datum::List(elements) if !held.is_dead => Some(elements),
        _ => None,
    }
}

fn has_repeats(rows: &[Row]) -> bool {
    rows.iter().enumerate().any(|(place, row)| rows[..place].iter().any(|other| other.key == row.key))
}

fn unknown_initial(op: OpId) -> Flaw {
    Flaw::new(Place::Op(op), "what it writes depends on an initial value that was not recorded")
}
