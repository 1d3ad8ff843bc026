//! Histories from columns, one row an operation, and back.
//!
//! A column comes as a buffer of 64-bit integers (of Arrow, pandas, Polars, numpy or the standard library), and is copied
//! once. Other values come as codes: the buffer holds places in a list of names, and -1 is nothing. Each name is
//! understood once, so no Python object is touched for each row.

mod build;
mod table;

use std::collections::HashMap;

use history::{Datum, History, Op, OpId, Outcome, ValueId};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::datum;
use crate::errors::WriteError;
use crate::history::{PyHistory, Subject};
use build::Reader;
use table::{Given, Table};

/// Builds a history from columns.
#[pyfunction]
pub fn from_columns(
    py: Python<'_>,
    columns: HashMap<String, Given<'_>>,
    default: &Bound<'_, PyAny>,
    initial: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    name: String,
) -> PyResult<PyHistory> {
    let table = Table::of(py, columns)?;
    let default = datum::from_python(default)?;
    let pair = |(key, value): &(_, _)| Ok((datum::from_python(key)?, datum::from_python(value)?));
    let initial: Vec<(Datum, Datum)> = initial.iter().map(pair).collect::<PyResult<_>>()?;
    let history = py.detach(|| Reader::read(&table, default, initial))?;
    Ok(PyHistory { subject: Subject::made(name, history) })
}

/// A column on its way to Python: codes of names in the order of their first appearance.
#[derive(Default)]
struct Coded {
    codes: Vec<i64>,
    names: Vec<Datum>,
    places: HashMap<Datum, i64>,
}

impl Coded {
    fn push(&mut self, datum: Datum) {
        if datum == Datum::Nil {
            self.codes.push(-1);
            return;
        }
        let next = self.names.len() as i64;
        let place = *self.places.entry(datum.clone()).or_insert(next);
        if place == next {
            self.names.push(datum);
        }
        self.codes.push(place);
    }

    /// The buffer and the names; a column of integers alone is a buffer of these, without names.
    fn into_python<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let ints: Option<Vec<i64>> = self.names.iter().map(int_of).collect();
        let has_nothing = self.codes.contains(&-1);
        if let Some(ints) = ints.filter(|_| !has_nothing) {
            let column = self.codes.iter().flat_map(|&code| ints[code as usize].to_ne_bytes());
            let bytes: Vec<u8> = column.collect();
            return Ok((PyBytes::new(py, &bytes), py.None()).into_pyobject(py)?.into_any());
        }
        let bytes: Vec<u8> = self.codes.iter().flat_map(|code| code.to_ne_bytes()).collect();
        let names: PyResult<Vec<_>> = self.names.iter().map(|name| datum::to_python(py, name)).collect();
        Ok((PyBytes::new(py, &bytes), names?).into_pyobject(py)?.into_any())
    }
}

fn int_of(datum: &Datum) -> Option<i64> {
    match datum {
        Datum::Int(int) => Some(*int),
        _ => None,
    }
}

const NAMES: [&str; 12] = [
    "session",
    "txn",
    "op",
    "key",
    "value",
    "outcome",
    "begin_request",
    "begin_response",
    "commit_request",
    "commit_response",
    "version",
    "failed",
];

/// The columns of a history, one row an operation; a transaction without operations has one row without an operation.
#[pyfunction]
pub fn to_columns<'py>(py: Python<'py>, history: &PyHistory) -> PyResult<Bound<'py, PyDict>> {
    let history = &history.subject.history;
    if history.has_predicates() || history.has_ranges() {
        return Err(WriteError::new_err(
            "a table holds operations on single keys, and this history reads or writes ranges or predicates",
        ));
    }
    let mut columns: [Coded; NAMES.len()] = Default::default();
    for txn in history.txns() {
        let ops = history.op_range(txn).map(|op| Some(OpId(op)));
        let none = history.op_range(txn).is_empty().then_some(None);
        for op in ops.chain(none) {
            let row = row(history, txn, op);
            columns.iter_mut().zip(row).for_each(|(column, datum)| column.push(datum));
        }
    }
    let dict = PyDict::new(py);
    for (name, column) in NAMES.into_iter().zip(columns) {
        dict.set_item(name, column.into_python(py)?)?;
    }
    Ok(dict)
}

/// One row, in the order of [`NAMES`].
fn row(history: &History, txn: history::TxnId, op: Option<OpId>) -> [Datum; NAMES.len()] {
    let session = history.session_of(txn);
    let session = history.session_name(session).unwrap_or(Datum::Int(i64::from(session.0)));
    let outcome = match history.outcome(txn) {
        Outcome::Committed => "committed",
        Outcome::Aborted => "aborted",
        Outcome::Unknown => "unknown",
    };
    let times = history.times(txn);
    let time = |time: Option<i64>| time.map_or(Datum::Nil, Datum::Int);
    let (kind, key, value) =
        op.map_or((Datum::Nil, Datum::Nil, Datum::Nil), |op| parts(history, history.op(op)));
    [
        session,
        history.txn_name(txn).unwrap_or(Datum::Int(i64::from(txn.0) + 1)),
        kind,
        key,
        value,
        outcome.into(),
        time(times.begin_request),
        time(times.begin_response),
        time(times.commit_request),
        time(times.commit_response),
        time(op.and_then(|op| history.op_version(op))),
        Datum::Bool(op.is_some_and(|op| history.is_failed(op))),
    ]
}

/// The kind, the key and the value of an operation on one key.
fn parts(history: &History, op: Op<'_>) -> (Datum, Datum, Datum) {
    let value = |value: ValueId| history.values().original(value);
    let key = op.key().map_or(Datum::Nil, |key| history.keys().original(key).clone());
    let (kind, value) = match op {
        Op::Read { value: Some(read), .. } => ("read", value(read)),
        Op::Read { value: None, .. } | Op::ReadList { list: None, .. } => ("read_unknown", Datum::Nil),
        Op::ReadList { list: Some(list), .. } => {
            ("read_list", Datum::List(list.iter().map(|&element| value(element)).collect()))
        }
        Op::Write { value: written, .. } => ("write", value(written)),
        Op::Append { value: appended, .. } => ("append", value(appended)),
        Op::Insert { value: inserted, .. } => ("insert", value(inserted)),
        Op::Delete { tombstone, .. } => ("delete", tombstone.map_or(Datum::Nil, value)),
        Op::RangeRead(_) | Op::PredicateRead(_) | Op::PredicateWrite(_) => ("", Datum::Nil),
    };
    (kind.into(), key, value)
}
