//! Reads and writes by predicate in a small form.
//!
//! A statement with a predicate reads every object: one that matched has the row that was returned, or something that
//! matches, and any other one something that does not match. Of the latter there is one small form for each possible
//! value, unless nothing that another transaction leaves would have matched. It is known what a write by predicate leaves if
//! its statement returned the old rows, or changed none, or if the new rows do not depend on unknown old ones. Marks of
//! deleted rows, lists and unknown initial values have no small form beside predicates.

use history::{Datum, History, KeyId, Op, OpId, Outcome, PredicateRead, PredicateWrite, TxnId, ValueId};

use super::{ConvertError, UNEXPLAINABLE, write};
use crate::small::{Object, SmallTxn, Value};

/// What a statement says of an object.
enum Said {
    /// It had this value.
    Is(Value),
    /// The predicate of an operation was true of it, or not.
    Matches(OpId, bool),
}

/// Values that only writes by predicate made, from the greatest number downwards.
#[derive(Default)]
struct Made(Vec<Datum>);

const FIRST_MADE: Value = UNEXPLAINABLE - 10;

impl Made {
    fn value(&mut self, history: &History, datum: Datum) -> Value {
        if let Some(known) = history.values().get(&datum) {
            return known.0;
        }
        let place = self.0.iter().position(|known| *known == datum).unwrap_or_else(|| {
            self.0.push(datum);
            self.0.len() - 1
        });
        FIRST_MADE - place as Value
    }

    fn datum(&self, history: &History, value: Value) -> Datum {
        let place = FIRST_MADE.checked_sub(value).map(|place| place as usize);
        match place.and_then(|place| self.0.get(place)) {
            Some(made) => made.clone(),
            None => history.values().original(ValueId(value)),
        }
    }
}

/// What the statements of one transaction say: object, what it was, statement.
type Statements = Vec<(Object, Said, usize)>;

/// All ways to say which values the statements of a history with predicates read, at most so many.
pub(super) fn readings(
    history: &History,
    txns: &[SmallTxn],
    limit: usize,
) -> Result<Vec<Vec<SmallTxn>>, ConvertError> {
    let mut made = Made::default();
    let mut txns = txns.to_vec();
    let mut said = Vec::new();
    for txn in history.txns() {
        said.push(match history.outcome(txn) {
            Outcome::Aborted => Vec::new(),
            _ => run(history, txn, &mut txns[txn.index()], &mut made)?,
        });
    }
    let mut forms = vec![txns.clone()];
    for (reader, statements) in said.into_iter().enumerate() {
        for (object, what, statement) in statements {
            let Some(values) = possible(history, &txns, &made, reader, object, &what) else { continue };
            if forms.len() * values.len().max(1) > limit {
                return Err(ConvertError::TooManyReadings);
            }
            let values = if values.is_empty() { vec![UNEXPLAINABLE] } else { values };
            let extended = forms.iter().flat_map(|form| {
                values.iter().map(|&value| {
                    let mut form = form.clone();
                    form[reader].reads.push((object, value));
                    form[reader].statements.push(statement);
                    form
                })
            });
            forms = extended.collect();
        }
    }
    Ok(forms)
}

/// The values that an object can have had for a reader; nothing if the statement excludes none.
fn possible(
    history: &History,
    txns: &[SmallTxn],
    made: &Made,
    reader: usize,
    object: Object,
    said: &Said,
) -> Option<Vec<Value>> {
    let (op, wanted) = match *said {
        Said::Is(value) => return Some(vec![value]),
        Said::Matches(op, wanted) => (op, wanted),
    };
    let others =
        txns.iter().enumerate().filter(|&(place, txn)| place != reader && txn.outcome != Outcome::Aborted);
    let initial = history.initial().value_of(KeyId::from_index(object)).map(|value| value.0);
    let mut all: Vec<Value> = others.filter_map(|(_, txn)| txn.written(object)).chain(initial).collect();
    all.sort_unstable();
    all.dedup();
    let fits = |value: &Value| matches(history, op, object, &made.datum(history, *value)) == wanted;
    let fitting: Vec<Value> = all.iter().copied().filter(fits).collect();
    (wanted || fitting.len() < all.len()).then_some(fitting)
}

fn matches(history: &History, op: OpId, object: Object, row: &Datum) -> bool {
    let predicate = match history.op(op) {
        Op::PredicateRead(read) => &read.predicate,
        Op::PredicateWrite(write) => &write.predicate,
        _ => return false,
    };
    let key = history.keys().original(KeyId::from_index(object));
    predicate.meaning().is_ok_and(|meaning| meaning.matches(key, row))
}

/// Runs a transaction: fills in its final writes, and says what its statements read from outside.
fn run(
    history: &History,
    txn: TxnId,
    small: &mut SmallTxn,
    made: &mut Made,
) -> Result<Statements, ConvertError> {
    let mut run = Run { history, small, made, said: Vec::new() };
    for (id, op) in history.ops(txn) {
        match op {
            Op::Read { value: None, .. } => {}
            Op::Read { key, value: Some(value) } => run.see(key.index(), id, Said::Is(value.0)),
            Op::Write { key, value } | Op::Insert { key, value } => write(run.small, key.index(), value.0),
            Op::Delete { key, tombstone: None } => write(run.small, key.index(), ValueId::NIL.0),
            Op::PredicateRead(read) => run.read_rows(id, read)?,
            Op::PredicateWrite(change) => run.change_rows(id, change)?,
            _ => return Err(ConvertError::UnsupportedOp(id)),
        }
    }
    Ok(run.said)
}

/// A transaction that is run.
struct Run<'r> {
    history: &'r History,
    small: &'r mut SmallTxn,
    made: &'r mut Made,
    said: Statements,
}

impl Run<'_> {
    fn read_rows(&mut self, id: OpId, read: &PredicateRead) -> Result<(), ConvertError> {
        let Some(rows) = &read.rows else { return Ok(()) };
        read.predicate.meaning().map_err(|_| ConvertError::UnsupportedOp(id))?;
        for object in 0..self.history.keys().len() {
            let mut own = rows.iter().filter(|row| row.key.index() == object);
            let what = match (own.next(), own.next()) {
                (None, _) => Said::Matches(id, false),
                (Some(row), None) if is_answer(self.history, id, row) => Said::Is(row.value.0),
                _ => Said::Is(UNEXPLAINABLE),
            };
            self.see(object, id, what);
        }
        Ok(())
    }

    fn change_rows(&mut self, id: OpId, change: &PredicateWrite) -> Result<(), ConvertError> {
        let unsupported = || ConvertError::UnsupportedOp(id);
        change.predicate.meaning().map_err(|_| unsupported())?;
        let old = old_rows(self.history, self.small, id, change).ok_or_else(unsupported)?;
        if !old.is_as_reported(change) {
            return Err(unsupported());
        }
        if !change.is_returning {
            for object in 0..self.history.keys().len() {
                let is_old = old.0.iter().any(|&(of, _)| of == object);
                self.see(object, id, Said::Matches(id, is_old));
            }
        }
        for (object, value) in old.0 {
            let row = value.map_or(Datum::Nil, |value| self.made.datum(self.history, value));
            let new = self.made.value(self.history, change.change.apply(&row));
            write(self.small, object, new);
        }
        Ok(())
    }

    /// What a statement says of an object: of an own write it is right or not, of anything else a read.
    fn see(&mut self, object: Object, id: OpId, what: Said) {
        let Some(own) = self.small.written(object) else {
            return self.said.push((object, what, id.index()));
        };
        let is_right = match what {
            Said::Is(value) => value == own,
            Said::Matches(op, wanted) => {
                matches(self.history, op, object, &self.made.datum(self.history, own)) == wanted
            }
        };
        if !is_right {
            self.said.push((object, Said::Is(UNEXPLAINABLE), id.index()));
        }
    }
}

/// The objects that a write by predicate changed, with what they held where that matters and is known.
struct OldRows(Vec<(Object, Option<Value>)>);

impl OldRows {
    /// Whether each object is there once, and the count and the keys that were reported are those of the objects.
    fn is_as_reported(&self, write: &PredicateWrite) -> bool {
        let mut objects: Vec<Object> = self.0.iter().map(|&(object, _)| object).collect();
        objects.sort_unstable();
        let is_reported = write.keys.as_ref().is_none_or(|keys| {
            let mut keys: Vec<Object> = keys.iter().map(|key| key.index()).collect();
            keys.sort_unstable();
            keys == objects
        });
        let is_counted = write.row_count.is_none_or(|count| count == objects.len() as u64);
        is_reported && is_counted && objects.windows(2).all(|pair| pair[0] != pair[1])
    }
}

fn old_rows(history: &History, small: &SmallTxn, id: OpId, write: &PredicateWrite) -> Option<OldRows> {
    if write.is_returning {
        let txn = history.txn_of(id);
        let (_, before) = history.ops(txn).take_while(|&(other, _)| other < id).last()?;
        let Op::PredicateRead(read) = before else { return None };
        let rows = read.rows.as_ref().filter(|_| read.predicate == write.predicate)?;
        return Some(OldRows(rows.iter().map(|row| (row.key.index(), Some(row.value.0))).collect()));
    }
    let keys = match (&write.keys, write.row_count) {
        (Some(keys), _) => keys.clone(),
        (None, Some(0)) => Vec::new(),
        (None, _) => return None,
    };
    let row = |object: Object| small.written(object).filter(|&value| value != ValueId::NIL.0);
    let old: Vec<(Object, Option<Value>)> = keys.iter().map(|key| (key.index(), row(key.index()))).collect();
    let is_known = old.iter().all(|(_, row)| row.is_some() || !write.change.depends_on_row());
    is_known.then_some(OldRows(old))
}

fn is_answer(history: &History, op: OpId, row: &history::Row) -> bool {
    !row.is_dead && matches(history, op, row.key.index(), &history.values().original(row.value))
}

/// Whether the small forms of a history are made here; an operation that none of them speaks of.
pub(super) fn speaks_of(history: &History) -> Result<bool, ConvertError> {
    let live = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted);
    let is_by_predicate = |op: &Op<'_>| matches!(op, Op::PredicateRead(_) | Op::PredicateWrite(_));
    let mut ops = live.flat_map(|txn| history.ops(txn));
    let Some((first, _)) = ops.find(|(_, op)| is_by_predicate(op)) else { return Ok(false) };
    let all_known =
        (0..history.keys().len()).all(|key| history.initial().value_of(KeyId::from_index(key)).is_some());
    match all_known && !history.has_marks() && !history.has_versions() {
        true => Ok(true),
        false => Err(ConvertError::UnsupportedOp(first)),
    }
}
