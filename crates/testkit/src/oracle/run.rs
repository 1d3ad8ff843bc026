//! Runs a transaction on a state: whether it can have seen what it saw there, and what it leaves behind.
//!
//! Each operation is done in turn on the state with the transaction's own changes in it. What a change by predicate
//! writes depends on what it finds, so nothing can be said of a transaction before it is run.

use history::{Bound, Datum, KeyId, Op, PredicateRead, PredicateWrite, RangeRead, Row, ValueId};

use super::facts::{Facts, OracleOp, Txn};
use super::store::{Cell, Cells};

/// What a transaction leaves behind, and what it says of versions.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Effect {
    /// For each key written: what it holds at the end, and the recorded place of that.
    pub writes: Vec<(usize, u16, Option<i64>)>,
    /// Of these keys, those that were only appended to, with the elements.
    pub appended: Vec<(usize, Vec<Datum>)>,
    /// Keys that were read from outside, with the recorded place of what was seen.
    pub versions_seen: Vec<(usize, i64)>,
}

/// What the transaction does on this state, or `None` if it would have seen something else.
pub(super) fn run(facts: &Facts<'_>, cells: &mut Cells, txn: &Txn<'_>, state: &[u16]) -> Option<Effect> {
    let mut run = Run {
        facts,
        state: state.iter().map(|&number| cells.get(number).clone()).collect(),
        written: vec![None; state.len()],
        appended: vec![Some(Vec::new()); state.len()],
        versions_seen: Vec::new(),
    };
    let is_possible = txn.steps.iter().all(|step| run.step(step));
    is_possible.then(|| {
        let written = run.written.iter().enumerate();
        let writes = written.filter_map(|(key, version)| {
            version.map(|version| (key, cells.number(run.state[key].clone()), version))
        });
        let appended = run
            .appended
            .iter()
            .enumerate()
            .filter(|(_, elements)| elements.as_ref().is_some_and(|elements| !elements.is_empty()));
        let appended = appended.map(|(key, elements)| (key, elements.clone().unwrap_or_default()));
        Effect { writes: writes.collect(), appended: appended.collect(), versions_seen: run.versions_seen }
    })
}

struct Run<'f, 'h> {
    facts: &'f Facts<'h>,
    state: Vec<Cell>,
    /// For each key that the transaction wrote, the recorded place of the last write, if any.
    written: Vec<Option<Option<i64>>>,
    /// For each key the elements that it appended; `None` if it wrote the key in another way.
    appended: Vec<Option<Vec<Datum>>>,
    versions_seen: Vec<(usize, i64)>,
}

impl Run<'_, '_> {
    /// Does one operation; false if it cannot have had the answer it had.
    fn step(&mut self, step: &OracleOp<'_>) -> bool {
        match step.op {
            Op::Read { value: None, .. } | Op::ReadList { list: None, .. } => true,
            Op::Read { key, value: Some(value) } => {
                self.note_version(key, step.version);
                self.sees(key, value)
            }
            Op::ReadList { key, list: Some(list) } => {
                self.note_version(key, step.version);
                self.list(key).is_some_and(|held| held == self.values(list))
            }
            Op::Write { key, value } | Op::Insert { key, value } => {
                self.write(key, Cell::holding(self.value(value)), step.version);
                true
            }
            Op::Delete { key, tombstone } => {
                self.write(key, Cell::deleted(tombstone.map(|mark| self.value(mark))), step.version);
                true
            }
            Op::Append { key, value } => self.append(key, value, step.version),
            Op::RangeRead(read) => self.range_read(read),
            Op::PredicateRead(read) => self.predicate_read(step, read),
            Op::PredicateWrite(write) => self.predicate_write(step, write),
        }
    }

    fn value(&self, value: ValueId) -> Datum {
        self.facts.history.values().original(value)
    }

    fn values(&self, values: &[ValueId]) -> Vec<Datum> {
        values.iter().map(|&value| self.value(value)).collect()
    }

    fn key(&self, key: usize) -> &Datum {
        self.facts.history.keys().original(KeyId::from_index(key))
    }

    fn note_version(&mut self, key: KeyId, version: Option<i64>) {
        if let (None, Some(version)) = (self.written[key.index()], version) {
            self.versions_seen.push((key.index(), version));
        }
    }

    /// Whether a read of a key returns this: the row, the mark of a delete, or nil if there is nothing.
    fn sees(&self, key: KeyId, value: ValueId) -> bool {
        let value = self.value(value);
        match &self.state[key.index()] {
            Cell::Absent => value == Datum::Nil,
            Cell::Unseen => false,
            Cell::Live(held) | Cell::Dead(held) => *held == value,
        }
    }

    /// The elements of a list; nothing is an empty one, and what is no list has none.
    fn list(&self, key: KeyId) -> Option<Vec<Datum>> {
        match &self.state[key.index()] {
            Cell::Absent => Some(Vec::new()),
            Cell::Live(Datum::List(elements)) => Some(elements.to_vec()),
            _ => None,
        }
    }

    fn append(&mut self, key: KeyId, value: ValueId, version: Option<i64>) -> bool {
        let Some(mut list) = self.list(key) else { return false };
        list.push(self.value(value));
        let mut appended = self.appended[key.index()].take();
        if let Some(elements) = &mut appended {
            elements.push(self.value(value));
        }
        self.write(key, Cell::Live(Datum::List(list.into())), version);
        self.appended[key.index()] = appended;
        true
    }

    fn write(&mut self, key: KeyId, cell: Cell, version: Option<i64>) {
        self.state[key.index()] = cell;
        self.appended[key.index()] = None;
        self.written[key.index()] = Some(version);
    }

    /// The rows between the bounds, and no others; what a delete left may be shown, marked as dead, or not.
    fn range_read(&self, read: &RangeRead) -> bool {
        let Some(rows) = &read.rows else { return true };
        let is_inside =
            |key: usize| is_after(&read.from, self.key(key)) && is_before(&read.to, self.key(key));
        let is_right = |key: usize| match (&self.state[key], find(rows, key)) {
            (_, Some(_)) if !is_inside(key) => false,
            (_, None) if !is_inside(key) => true,
            (Cell::Live(_) | Cell::Unseen, None) => false,
            (Cell::Absent | Cell::Dead(_), None) => true,
            (Cell::Live(held), Some(row)) => !row.is_dead && *held == self.value(row.value),
            (Cell::Dead(mark), Some(row)) => row.is_dead && *mark == self.value(row.value),
            (Cell::Absent, Some(row)) => row.is_dead && row.value == ValueId::NIL,
            (Cell::Unseen, Some(_)) => false,
        };
        !has_repeats(rows) && (0..self.state.len()).all(is_right)
    }

    fn matches(&self, step: &OracleOp<'_>, key: usize) -> bool {
        let predicate = step.predicate.as_ref().expect("histories with others were refused");
        self.state[key].row().is_some_and(|row| predicate.matches(self.key(key), row))
    }

    /// The rows that match, with what they hold, and no others.
    fn predicate_read(&self, step: &OracleOp<'_>, read: &PredicateRead) -> bool {
        let Some(rows) = &read.rows else { return true };
        let is_right = |key: usize| match find(rows, key) {
            None => !self.matches(step, key),
            Some(row) => {
                let held = self.state[key].row();
                self.matches(step, key) && !row.is_dead && held == Some(&self.value(row.value))
            }
        };
        !has_repeats(rows) && (0..self.state.len()).all(is_right)
    }

    /// All rows that match are changed, and they are those that the database said it changed.
    fn predicate_write(&mut self, step: &OracleOp<'_>, write: &PredicateWrite) -> bool {
        let matching: Vec<usize> = (0..self.state.len()).filter(|&key| self.matches(step, key)).collect();
        for &key in &matching {
            let old = self.state[key].row().expect("only a row matches");
            let new = Cell::holding(write.change.apply(old));
            self.write(KeyId::from_index(key), new, None);
        }
        let is_count = write.row_count.is_none_or(|count| count == matching.len() as u64);
        let is_keys = write.keys.as_ref().is_none_or(|keys| {
            keys.len() == matching.len() && matching.iter().all(|&key| keys.contains(&KeyId::from_index(key)))
        });
        is_count && is_keys
    }
}

fn find(rows: &[Row], key: usize) -> Option<&Row> {
    rows.iter().find(|row| row.key.index() == key)
}

fn has_repeats(rows: &[Row]) -> bool {
    rows.iter().enumerate().any(|(place, row)| rows[..place].iter().any(|other| other.key == row.key))
}

fn is_after(bound: &Bound, key: &Datum) -> bool {
    match bound {
        Bound::Unbounded => true,
        Bound::Included(limit) => limit <= key,
        Bound::Excluded(limit) => limit < key,
    }
}

fn is_before(bound: &Bound, key: &Datum) -> bool {
    match bound {
        Bound::Unbounded => true,
        Bound::Included(limit) => key <= limit,
        Bound::Excluded(limit) => key < limit,
    }
}
