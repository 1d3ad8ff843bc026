//! From a table of operations to a history.
//!
//! The rows of a transaction need not stand together, but a session runs one transaction after the other.

use std::collections::{HashMap, HashSet};

use history::{Builder, Datum, History, InitialState, KeyId, OpId, SessionId, ValueId};
use pyo3::prelude::*;

use super::table::{Column, Kind, Table};
use crate::errors::bad_value;

/// A table on its way to a history.
pub struct Reader<'t> {
    table: &'t Table,
    builder: Builder,
    sessions: HashMap<i64, SessionId>,
    /// The key or value of each name, once it was met.
    keys: Vec<Option<KeyId>>,
    values: Vec<Option<ValueId>>,
    /// Whether no two sessions use the same name for a transaction.
    has_unique_names: bool,
    /// Keys that some operation appends to: a read of one is a read of a list.
    lists: HashSet<KeyId>,
}

impl<'t> Reader<'t> {
    /// The history of a table.
    pub fn read(table: &'t Table, default: Datum, initial: Vec<(Datum, Datum)>) -> PyResult<History> {
        let mut reader = Self {
            table,
            builder: Builder::new(),
            sessions: HashMap::new(),
            keys: vec![None; name_count(&table.key)],
            values: vec![None; name_count(&table.value)],
            has_unique_names: has_unique_names(table),
            lists: HashSet::new(),
        };
        reader.set_initial(default, initial);
        reader.find_lists();
        for rows in transactions(table)? {
            reader.transaction(&rows)?;
        }
        Ok(reader.builder.finish())
    }

    fn set_initial(&mut self, default: Datum, initial: Vec<(Datum, Datum)>) {
        let default = self.builder.values.intern(default);
        self.builder.initial = InitialState::all(default);
        for (key, value) in initial {
            let (key, value) = (self.builder.keys.intern(key), self.builder.values.intern(value));
            self.builder.initial.recorded.push((key, value));
        }
    }

    fn find_lists(&mut self) {
        for row in 0..self.table.row_count {
            if self.table.kind(row) == Some(Kind::Append) {
                let key = self.key(row);
                self.lists.insert(key);
            }
        }
    }

    fn transaction(&mut self, rows: &[usize]) -> PyResult<()> {
        let (table, first) = (self.table, rows[0]);
        let session = self.session(first);
        self.builder.begin(session);
        if self.has_unique_names {
            self.builder.name_txn(table.txn.datum(first));
        }
        let (outcome, times) = (table.outcome(first), table.times(first)?);
        self.builder.set_times(times).map_err(|backwards| bad_value(format!("row {first}: {backwards}")))?;
        for &row in rows {
            if table.outcome(row) != outcome || table.times(row)? != times {
                let txn = table.txn.datum(row);
                return Err(bad_value(format!(
                    "row {row}: the rows of transaction {txn} differ in outcome or times"
                )));
            }
            self.operation(row)?;
        }
        self.builder.end(outcome);
        Ok(())
    }

    fn session(&mut self, row: usize) -> SessionId {
        let (table, builder) = (self.table, &mut self.builder);
        let code = table.session.codes[row];
        *self.sessions.entry(code).or_insert_with(|| builder.named_session(table.session.datum(row)))
    }

    fn operation(&mut self, row: usize) -> PyResult<()> {
        let Some(kind) = self.table.kind(row) else { return Ok(()) };
        let key = self.key(row);
        let is_list = kind == Kind::ReadList || (!self.lists.is_empty() && self.lists.contains(&key));
        match kind {
            Kind::Read | Kind::ReadList if is_list => self.read_list(row, key)?,
            Kind::ReadUnknown if is_list => self.builder.read_list_unknown(key),
            Kind::ReadUnknown => self.builder.read_unknown(key),
            Kind::Delete => {
                let mark = Some(self.value(row)).filter(|&mark| mark != ValueId::NIL);
                self.builder.delete(key, mark)
            }
            kind => self.on_one_value(row, kind, key),
        };
        if let Some(version) = self.table.version(row)? {
            self.builder.set_op_version(version);
        }
        if self.table.is_failed(row) {
            self.builder.mark_failed();
        }
        Ok(())
    }

    fn on_one_value(&mut self, row: usize, kind: Kind, key: KeyId) -> OpId {
        let value = self.value(row);
        match kind {
            Kind::Write => self.builder.write(key, value),
            Kind::Append => self.builder.append(key, value),
            Kind::Insert => self.builder.insert(key, value),
            _ => self.builder.read(key, value),
        }
    }

    /// A read of a list; nothing is the empty list.
    fn read_list(&mut self, row: usize, key: KeyId) -> PyResult<OpId> {
        let elements: Vec<ValueId> = match self.table.value.datum(row) {
            Datum::Nil => Vec::new(),
            Datum::List(elements) => {
                elements.into_iter().map(|element| self.builder.values.intern(element)).collect()
            }
            other => return Err(bad_value(format!("row {row}: the value read is {other}, expected a list"))),
        };
        Ok(self.builder.read_list(key, &elements))
    }

    fn key(&mut self, row: usize) -> KeyId {
        let (table, keys) = (self.table, &mut self.builder.keys);
        let code = table.key.codes[row];
        match (&table.key.names, usize::try_from(code)) {
            (None, _) => keys.intern_int(code),
            (Some(_), Err(_)) => keys.intern(Datum::Nil),
            (Some(names), Ok(place)) => {
                *self.keys[place].get_or_insert_with(|| keys.intern(names[place].clone()))
            }
        }
    }

    fn value(&mut self, row: usize) -> ValueId {
        let (table, values) = (self.table, &mut self.builder.values);
        let code = table.value.codes[row];
        match (&table.value.names, usize::try_from(code)) {
            (None, _) => values.intern_int(code),
            (Some(_), Err(_)) => ValueId::NIL,
            (Some(names), Ok(place)) => {
                *self.values[place].get_or_insert_with(|| values.intern(names[place].clone()))
            }
        }
    }
}

/// The rows of each transaction, in the order in which transactions first appear.
fn transactions(table: &Table) -> PyResult<Vec<Vec<usize>>> {
    let (sessions, txns) = (&table.session.codes, &table.txn.codes);
    let mut places: HashMap<(i64, i64), usize> = HashMap::new();
    let mut current: HashMap<i64, i64> = HashMap::new();
    let mut rows: Vec<Vec<usize>> = Vec::new();
    for row in 0..table.row_count {
        let (session, txn) = (sessions[row], txns[row]);
        let place = *places.entry((session, txn)).or_insert(rows.len());
        let is_current = current.insert(session, txn) == Some(txn);
        match place == rows.len() {
            true => rows.push(vec![row]),
            false if is_current => rows[place].push(row),
            false => return Err(interleaved(table, row)),
        }
    }
    Ok(rows)
}

fn interleaved(table: &Table, row: usize) -> PyErr {
    bad_value(format!(
        "row {row}: transaction {} of session {} goes on after another transaction of the session began; a session runs \
         one transaction after the other",
        table.txn.datum(row),
        table.session.datum(row)
    ))
}

fn name_count(column: &Column) -> usize {
    column.names.as_ref().map_or(0, Vec::len)
}

fn has_unique_names(table: &Table) -> bool {
    let mut session_of: HashMap<i64, i64> = HashMap::new();
    let rows = table.session.codes.iter().zip(&table.txn.codes);
    rows.into_iter().all(|(&session, &txn)| *session_of.entry(txn).or_insert(session) == session)
}
