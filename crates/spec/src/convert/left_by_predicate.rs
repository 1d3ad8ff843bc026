//! The values that writes by predicate left in rows, committed or not.
//!
//! Where the statement returned the rows that it changed, or the database said which these were and the new row does not
//! depend on the old one, the values are known. A statement that was not answered ends its transaction, which aborted or
//! whose outcome is unknown: it may have changed every row that matched. What several such statements made of one another's
//! rows is left out, so a value may be called unwritten that they wrote. One pass over the values for each of them.

use rustc_hash::FxHashSet;

use history::{Datum, History, KeyId, Op, Outcome, PredicateWrite, ValueId};

/// A value of a key.
type Written = (KeyId, ValueId);

/// Adds what writes by predicate left, as far as the history names the value, to what other writes did.
pub(super) fn add(history: &History, written: &mut FxHashSet<Written>) {
    let mut unanswered = Vec::new();
    for txn in history.txns() {
        let mut before = None;
        for (_, op) in history.ops(txn) {
            if let Op::PredicateWrite(write) = op {
                add_known(history, write, before, written);
            }
            before = Some(op);
        }
        if let Some(Op::PredicateWrite(write)) = before {
            let is_answered = write.keys.is_some() || write.row_count.is_some() || write.is_returning;
            let is_open = history.outcome(txn) != Outcome::Committed && !is_answered;
            unanswered.extend(is_open.then_some(write));
        }
    }
    if unanswered.is_empty() {
        return;
    }
    let initial = |key: KeyId| Some((key, history.initial().value_of(key)?));
    let keys = (0..history.keys().len()).map(KeyId::from_index);
    let known: Vec<Written> = keys.filter_map(initial).chain(written.iter().copied()).collect();
    for (key, value) in known {
        let row = history.values().original(value);
        let made = unanswered.iter().filter_map(|write| made_of(history, write, key, &row));
        written.extend(made.map(|made| (key, made)));
    }
}

/// What a statement makes of a row, if the row matches and the history names the result.
fn made_of(history: &History, write: &PredicateWrite, key: KeyId, row: &Datum) -> Option<ValueId> {
    let predicate = write.predicate.meaning().ok()?;
    let is_match = predicate.matches(history.keys().original(key), row);
    is_match.then(|| history.values().get(&write.change.apply(row)))?
}

fn add_known(
    history: &History,
    write: &PredicateWrite,
    before: Option<Op<'_>>,
    written: &mut FxHashSet<Written>,
) {
    let mut add = |key: KeyId, row: &Datum| {
        written.extend(history.values().get(&write.change.apply(row)).map(|made| (key, made)));
    };
    match (before, &write.keys) {
        (Some(Op::PredicateRead(read)), _) if write.is_returning && read.predicate == write.predicate => {
            let rows = read.rows.iter().flatten();
            rows.for_each(|row| add(row.key, &history.values().original(row.value)));
        }
        (_, Some(keys)) if !write.change.depends_on_row() => {
            keys.iter().for_each(|&key| add(key, &Datum::Nil));
        }
        _ => {}
    }
}
