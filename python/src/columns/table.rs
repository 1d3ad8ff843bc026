//! The columns of a table of operations, with their names understood.

use std::collections::HashMap;

use history::{Datum, Outcome, TxnTimes};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

use crate::datum;
use crate::errors::bad_value;

/// A column as Python gives it: the buffer, and the names if the buffer holds places in them.
pub type Given<'py> = (PyBuffer<i64>, Option<Vec<Bound<'py, PyAny>>>);

/// A column: one entry a row.
#[derive(Default)]
pub struct Column {
    /// The integers, or places of names, or -1 for nothing.
    pub codes: Vec<i64>,
    /// The names.
    pub names: Option<Vec<Datum>>,
}

/// What a name in the column `op` means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Read,
    ReadUnknown,
    ReadList,
    Write,
    Append,
    Insert,
    Delete,
}

/// The columns of a table of operations.
pub struct Table {
    pub row_count: usize,
    pub session: Column,
    pub txn: Column,
    pub key: Column,
    pub value: Column,
    op: Column,
    kinds: Vec<Kind>,
    outcome: Option<Column>,
    outcomes: Vec<Outcome>,
    times: [Option<Column>; 4],
    version: Option<Column>,
    failed: Option<Column>,
}

impl Column {
    fn of(py: Python<'_>, (buffer, names): Given<'_>) -> PyResult<Self> {
        let names = match names {
            Some(names) => Some(names.iter().map(datum::from_python).collect::<PyResult<Vec<_>>>()?),
            None => None,
        };
        let codes = buffer.to_vec(py)?;
        match &names {
            Some(names) if codes.iter().any(|&code| code < -1 || code >= names.len() as i64) => {
                Err(bad_value("a column holds the place of a name that is not there"))
            }
            _ => Ok(Self { codes, names }),
        }
    }

    /// The entry of a row.
    pub fn datum(&self, row: usize) -> Datum {
        match (self.codes[row], &self.names) {
            (int, None) => Datum::Int(int),
            (-1, Some(_)) => Datum::Nil,
            (code, Some(names)) => names[code as usize].clone(),
        }
    }

    fn int(&self, row: usize) -> PyResult<Option<i64>> {
        match (self.codes[row], &self.names) {
            (int, None) => Ok(Some(int)),
            (-1, Some(_)) => Ok(None),
            (code, Some(names)) => match &names[code as usize] {
                Datum::Nil => Ok(None),
                Datum::Int(int) => Ok(Some(*int)),
                other => Err(bad_value(format!("row {row}: found {other}, expected an integer or nothing"))),
            },
        }
    }

    /// Understands each name of a column of words.
    fn understood<T>(
        &self,
        column: &str,
        meaning: impl Fn(&str) -> Option<T>,
        expected: &str,
    ) -> PyResult<Vec<T>> {
        let Some(names) = &self.names else {
            return Err(bad_value(format!("column {column} holds integers, expected {expected}")));
        };
        let one = |name: &Datum| match name {
            Datum::Str(word) => meaning(word),
            _ => None,
        };
        let refuse = |name: &Datum| bad_value(format!("column {column} holds {name}, expected {expected}"));
        names.iter().map(|name| one(name).ok_or_else(|| refuse(name))).collect()
    }
}

impl Table {
    /// The columns that Python gives.
    pub fn of(py: Python<'_>, given: HashMap<String, Given<'_>>) -> PyResult<Self> {
        let mut columns = HashMap::new();
        for (name, column) in given {
            columns.insert(name, Column::of(py, column)?);
        }
        let mut needed =
            |name: &str| columns.remove(name).ok_or_else(|| bad_value(format!("column {name} is missing")));
        let session = needed("session")?;
        let [txn, op, key, value] = [needed("txn")?, needed("op")?, needed("key")?, needed("value")?];
        let row_count = session.codes.len();
        let lengths = [&txn, &op, &key, &value].into_iter().chain(columns.values());
        if lengths.into_iter().any(|column| column.codes.len() != row_count) {
            return Err(bad_value("the columns differ in length"));
        }
        let outcome = columns.remove("outcome");
        Ok(Self {
            row_count,
            kinds: op.understood("op", kind_named, KINDS)?,
            outcomes: outcome.as_ref().map_or(Ok(Vec::new()), |column| {
                column.understood("outcome", outcome_named, "committed, aborted or unknown")
            })?,
            times: ["begin_request", "begin_response", "commit_request", "commit_response"]
                .map(|name| columns.remove(name)),
            version: columns.remove("version"),
            failed: columns.remove("failed"),
            session,
            txn,
            op,
            key,
            value,
            outcome,
        })
    }

    /// The kind of the operation of a row; nothing for a row that only mentions its transaction.
    pub fn kind(&self, row: usize) -> Option<Kind> {
        let code = usize::try_from(self.op.codes[row]).ok()?;
        Some(self.kinds[code])
    }

    /// What became of the transaction of a row; committed where nothing is said.
    pub fn outcome(&self, row: usize) -> Outcome {
        let code = self.outcome.as_ref().and_then(|column| usize::try_from(column.codes[row]).ok());
        code.map_or(Outcome::Committed, |code| self.outcomes[code])
    }

    /// The times of the transaction of a row.
    pub fn times(&self, row: usize) -> PyResult<TxnTimes> {
        let time = |place: usize| self.times[place].as_ref().map_or(Ok(None), |column| column.int(row));
        Ok(TxnTimes {
            begin_request: time(0)?,
            begin_response: time(1)?,
            commit_request: time(2)?,
            commit_response: time(3)?,
        })
    }

    /// The version that the operation of a row read or wrote.
    pub fn version(&self, row: usize) -> PyResult<Option<i64>> {
        self.version.as_ref().map_or(Ok(None), |column| column.int(row))
    }

    /// Whether the database refused the operation of a row.
    pub fn is_failed(&self, row: usize) -> bool {
        let is_true = |column: &Column| matches!(column.datum(row), Datum::Bool(true) | Datum::Int(1));
        self.failed.as_ref().is_some_and(is_true)
    }
}

const KINDS: &str = "read, read_unknown, read_list, write, append, insert or delete";

fn kind_named(name: &str) -> Option<Kind> {
    Some(match name {
        "read" | "r" => Kind::Read,
        "read_unknown" | "r?" => Kind::ReadUnknown,
        "read_list" | "l" => Kind::ReadList,
        "write" | "w" => Kind::Write,
        "append" | "a" => Kind::Append,
        "insert" | "i" => Kind::Insert,
        "delete" | "d" => Kind::Delete,
        _ => return None,
    })
}

fn outcome_named(name: &str) -> Option<Outcome> {
    match name {
        "committed" | "c" | "ok" => Some(Outcome::Committed),
        "aborted" | "a" | "fail" => Some(Outcome::Aborted),
        "unknown" | "u" | "info" => Some(Outcome::Unknown),
        _ => None,
    }
}
