//! Reads and writes by predicate as reads and writes of single keys, where the effect of each statement on each row is
//! known.
//!
//! A read by predicate reads every key: of a row that it returned this row, of any other key something that does not
//! match. If nothing that the key can have held matches, the answer excludes nothing, and the key does not count as read.
//! A write by predicate reads every key in the same way and writes the rows that it changed. Where the database returned
//! the rows that a statement changed, read and write are one statement, which reads once.
//!
//! What a write by predicate left in a row is known in these cases; in all others the facts are refused:
//! - the statement returned the rows that it changed, as they were before;
//! - it changed no row;
//! - the database said which rows it changed, and the new row does not depend on the old one, or the transaction itself
//!   had written the old one.
//!
//! Which reads a content matches is found by the bounds of their predicates where these are intervals of integers in a
//! column, and by evaluation otherwise: O(contents * reads) comparisons of two numbers. 1,000 transactions of
//! `blindw-pred` on 1,000 rows have 20 million of them.

use std::collections::BTreeMap;

use history::{Datum, History, KeyId, Op, OpId, Predicate, PredicateWrite, Subject, TxnId, ValueId};

use crate::observe::{Held, live_ops};
use crate::{Flaw, Place};

/// A row by its key and what was left in it.
type Left = (KeyId, Held);

/// What all writes by predicate left, with the contents that occur nowhere else in the history.
#[derive(Default)]
pub(super) struct RowWrites {
    left: BTreeMap<OpId, Vec<Left>>,
    made: Vec<Datum>,
    number_of: BTreeMap<Datum, ValueId>,
}

/// The number of the first content that only a write by predicate made; others follow downwards.
const FIRST_MADE: u32 = u32::MAX - 2;

impl RowWrites {
    /// What the writes by predicate left.
    ///
    /// # Errors
    /// At the first operation whose effect is not known.
    pub fn of(history: &History) -> Result<Self, Flaw> {
        let mut writes = Self::default();
        if !history.has_predicates() {
            return Ok(writes);
        }
        let Some(first) = live_ops(history).find(|(.., op)| by_predicate(op).is_some()) else {
            return Ok(writes);
        };
        refuse(history, first.1)?;
        for txn in history.txns().filter(|&txn| history.outcome(txn) != history::Outcome::Aborted) {
            writes.add(history, txn)?;
        }
        Ok(writes)
    }

    /// The rows that a write by predicate changed, ascending, with what it left in them.
    pub fn left_by(&self, op: OpId) -> &[Left] {
        self.left.get(&op).map_or(&[], Vec::as_slice)
    }

    /// What a value stands for.
    pub fn datum(&self, history: &History, value: ValueId) -> Datum {
        match FIRST_MADE.checked_sub(value.0).and_then(|place| self.made.get(place as usize)) {
            Some(made) => made.clone(),
            None => history.values().original(value),
        }
    }

    /// Whether a predicate matches what a key holds.
    pub fn matches(&self, history: &History, predicate: &Predicate, key: KeyId, held: Held) -> bool {
        let row = || self.datum(history, held.value);
        !held.is_dead && predicate.matches(history.keys().original(key), &row())
    }

    fn add(&mut self, history: &History, txn: TxnId) -> Result<(), Flaw> {
        let mut own: BTreeMap<KeyId, Held> = BTreeMap::new();
        let mut before = None;
        for (id, op) in history.ops(txn) {
            match op {
                Op::PredicateWrite(write) => {
                    let left = self.effect(history, id, write, before, &own)?;
                    own.extend(left.iter().copied());
                    self.left.insert(id, left);
                }
                _ => own.extend(own_writes(&op, id, self)),
            }
            before = Some(op);
        }
        Ok(())
    }

    /// The rows that a write changed, with what it left in them.
    fn effect(
        &mut self,
        history: &History,
        id: OpId,
        write: &PredicateWrite,
        before: Option<Op<'_>>,
        own: &BTreeMap<KeyId, Held>,
    ) -> Result<Vec<Left>, Flaw> {
        let unknown =
            || Flaw::new(Place::Op(id), "what this write by predicate left in the rows is not known");
        let old: Vec<(KeyId, Option<ValueId>)> = match (write.is_returning, before) {
            (true, Some(Op::PredicateRead(read))) if read.predicate == write.predicate => {
                let rows = read.rows.as_ref().ok_or_else(unknown)?;
                rows.iter().map(|row| (row.key, Some(row.value))).collect()
            }
            (true, _) => return Err(unknown()),
            (false, _) => {
                let keys = write.keys.clone().or_else(|| (write.row_count == Some(0)).then(Vec::new));
                let own_row = |key| own.get(&key).filter(|held| !held.is_dead).map(|held| held.value);
                keys.ok_or_else(unknown)?.into_iter().map(|key| (key, own_row(key))).collect()
            }
        };
        let mut left: Vec<Left> = Vec::with_capacity(old.len());
        for (key, value) in old {
            let new = match value {
                Some(value) => write.change.apply(&self.datum(history, value)),
                None if !write.change.depends_on_row() => write.change.apply(&Datum::Nil),
                None => return Err(unknown()),
            };
            left.push((key, Held::initially(self.value(history, new))));
        }
        left.sort_unstable_by_key(|&(key, _)| key);
        match is_as_reported(write, &left) {
            true => Ok(left),
            false => {
                Err(Flaw::new(Place::Op(id), "the rows that were changed are not those that were reported"))
            }
        }
    }

    fn value(&mut self, history: &History, datum: Datum) -> ValueId {
        if let Some(value) = history.values().get(&datum) {
            return value;
        }
        *self.number_of.entry(datum).or_insert_with_key(|datum| {
            self.made.push(datum.clone());
            ValueId(FIRST_MADE - (self.made.len() as u32 - 1))
        })
    }
}

/// The rows that an operation writes, with what it leaves in them.
pub(super) fn own_writes(op: &Op<'_>, id: OpId, writes: &RowWrites) -> Vec<Left> {
    match *op {
        Op::Write { key, value } | Op::Insert { key, value } => vec![(key, Held::initially(value))],
        Op::Delete { key, tombstone } => {
            vec![(key, Held { value: tombstone.unwrap_or(ValueId::NIL), is_dead: true })]
        }
        Op::PredicateWrite(_) => writes.left_by(id).to_vec(),
        _ => Vec::new(),
    }
}

/// Whether each row was changed once, and the count and the keys that the database told are those of the rows.
fn is_as_reported(write: &PredicateWrite, left: &[Left]) -> bool {
    let is_counted = write.row_count.is_none_or(|count| count == left.len() as u64);
    let are_keys = write.keys.as_ref().is_none_or(|keys| {
        let mut keys = keys.clone();
        keys.sort_unstable();
        keys.iter().eq(left.iter().map(|(key, _)| key))
    });
    is_counted && are_keys && left.windows(2).all(|pair| pair[0].0 != pair[1].0)
}

/// The predicate of an operation that has one.
fn by_predicate<'o>(op: &Op<'o>) -> Option<&'o history::RecordedPredicate> {
    match op {
        Op::PredicateRead(read) => Some(&read.predicate),
        Op::PredicateWrite(write) => Some(&write.predicate),
        _ => None,
    }
}

/// Predicates are read as reads of keys only where each has a meaning and it is known what the keys held at first.
fn refuse(history: &History, first: OpId) -> Result<(), Flaw> {
    let flaw = |op, why: &str| Err(Flaw::new(Place::Op(op), why));
    let all_known =
        (0..history.keys().len()).all(|key| history.initial().value_of(KeyId::from_index(key)).is_some());
    if !all_known {
        return flaw(first, "predicates beside unknown initial values are not supported at this level");
    }
    for (_, id, op) in live_ops(history) {
        if matches!(op, Op::Append { .. } | Op::ReadList { .. }) {
            return flaw(id, "lists beside predicates are not supported at this level");
        }
        if by_predicate(&op).is_some_and(|predicate| predicate.meaning().is_err()) {
            return flaw(id, "this predicate has no meaning");
        }
    }
    Ok(())
}

/// A statement that looked at all rows by a predicate.
pub(super) struct Scan<'h> {
    pub node: u32,
    pub op: OpId,
    pub predicate: &'h Predicate,
    /// The keys that matched, ascending.
    matched: Vec<KeyId>,
}

impl<'h> Scan<'h> {
    /// The scan of an operation, if it is one.
    pub fn of(node: u32, id: OpId, op: &Op<'h>, writes: &RowWrites) -> Option<Self> {
        let (predicate, mut matched) = match op {
            Op::PredicateRead(read) => {
                let rows = read.rows.as_ref()?;
                (&read.predicate, rows.iter().map(|row| row.key).collect::<Vec<KeyId>>())
            }
            Op::PredicateWrite(write) if !write.is_returning => {
                (&write.predicate, writes.left_by(id).iter().map(|&(key, _)| key).collect())
            }
            _ => return None,
        };
        matched.sort_unstable();
        Some(Self { node, op: id, predicate: predicate.meaning().ok()?, matched })
    }

    /// The keys that matched, ascending.
    pub fn matched(&self) -> &[KeyId] {
        &self.matched
    }

    /// Whether the statement returned or changed the row of a key.
    pub fn has_matched(&self, key: KeyId) -> bool {
        self.matched.binary_search(&key).is_ok()
    }
}

/// All statements that looked at rows by a predicate, by node and operation, found by what they match.
#[derive(Default)]
pub(super) struct Scans<'h> {
    all: Vec<Scan<'h>>,
    /// For a column the least and the greatest integer of each predicate that is an interval of it, ascending.
    intervals: BTreeMap<Box<str>, Vec<(i64, i64, u32)>>,
    others: Vec<u32>,
}

impl<'h> Scans<'h> {
    /// Adds the scan of an operation, if it is one; operations come by node.
    pub fn add(&mut self, node: u32, id: OpId, op: &Op<'h>, writes: &RowWrites) {
        let Some(scan) = Scan::of(node, id, op, writes) else { return };
        let number = self.all.len() as u32;
        match integers(scan.predicate) {
            Some((column, least, most)) => {
                self.intervals.entry(column).or_default().push((least, most, number));
            }
            None => self.others.push(number),
        }
        self.all.push(scan);
    }

    /// Sorts the intervals, after the last scan.
    pub fn finish(&mut self) {
        self.intervals.values_mut().for_each(|intervals| intervals.sort_unstable());
    }

    pub fn get(&self, number: u32) -> &Scan<'h> {
        &self.all[number as usize]
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Calls `found` for each scan whose predicate matches what a key holds.
    pub fn visit_matching(
        &self,
        (history, writes): (&History, &RowWrites),
        key: KeyId,
        held: Held,
        mut found: impl FnMut(u32),
    ) {
        if held.is_dead {
            return;
        }
        let (name, row) = (history.keys().original(key), writes.datum(history, held.value));
        let mut evaluate = |number: u32| {
            if self.get(number).predicate.matches(name, &row) {
                found(number);
            }
        };
        self.others.iter().for_each(|&number| evaluate(number));
        for (column, intervals) in &self.intervals {
            match row.column(column) {
                Some(&Datum::Int(int)) => {
                    let upto = intervals.partition_point(|&(least, ..)| least <= int);
                    let inside = intervals[..upto].iter().filter(|&&(_, most, _)| int <= most);
                    inside.for_each(|&(.., number)| evaluate(number));
                }
                _ => intervals.iter().for_each(|&(.., number)| evaluate(number)),
            }
        }
    }
}

/// The integers between the bounds of a predicate that is an interval of a column.
pub(super) fn integers(predicate: &Predicate) -> Option<(Box<str>, i64, i64)> {
    let interval = predicate.interval()?;
    let (least, most) = interval.integers()?;
    let Subject::Column(column) = interval.subject else { return None };
    Some((column, least, most))
}
