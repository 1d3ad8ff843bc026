//! The tables that were prepared: what a driver must know of them, and checks of what a workload gives.
//!
//! Every name that reaches SQL comes from here, so nothing else has to be made safe.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use history::Datum;

use crate::{ColumnType, Failure, Table};

/// No database has a shorter limit on names.
const LONGEST_NAME: usize = 40;

/// A table without its rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub name: String,
    pub key: ColumnType,
    pub columns: Vec<(String, ColumnType)>,
    pub keeps_old: bool,
}

impl Shape {
    /// The shape of a table.
    pub fn of(table: &Table) -> Self {
        let Table { name, key, columns, keeps_old, .. } = table;
        Self { name: name.clone(), key: *key, columns: columns.clone(), keeps_old: *keeps_old }
    }

    /// The place of a column.
    pub fn column(&self, name: &str) -> Result<usize, Failure> {
        let place = self.columns.iter().position(|(column, _)| column == name);
        place.ok_or_else(|| Failure::refused(format!("table {} has no column {name}", self.name)))
    }

    /// Whether a predicate may name this: a column or the key.
    pub fn check_column(&self, name: &str) -> Result<(), Failure> {
        if name == "k" { Ok(()) } else { self.column(name).map(|_| ()) }
    }

    /// Whether there is one value for each column.
    pub fn check_width(&self, values: &[Datum]) -> Result<(), Failure> {
        if values.len() == self.columns.len() {
            return Ok(());
        }
        Err(Failure::refused(format!(
            "table {} has {} columns beside its key, found {} values",
            self.name,
            self.columns.len(),
            values.len()
        )))
    }

    /// What a column holds in a row that is made by an append.
    pub fn empty_value(kind: ColumnType) -> Datum {
        match kind {
            ColumnType::Int => Datum::Int(0),
            ColumnType::Text => Datum::str(""),
        }
    }
}

/// All tables that were prepared, shared by the sessions.
#[derive(Clone, Default, Debug)]
pub(crate) struct Catalog {
    tables: Arc<RwLock<BTreeMap<String, Arc<Shape>>>>,
}

impl Catalog {
    /// Checks tables and remembers them.
    pub fn prepare(&self, tables: &[Table]) -> Result<(), Failure> {
        for table in tables {
            check(table)?;
        }
        let mut known = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        known.extend(tables.iter().map(|table| (table.name.clone(), Arc::new(Shape::of(table)))));
        Ok(())
    }

    /// A table by its name.
    pub fn table(&self, name: &str) -> Result<Arc<Shape>, Failure> {
        let known = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        known.get(name).cloned().ok_or_else(|| Failure::refused(format!("no table {name} was prepared")))
    }
}

/// Whether every name and every value of a table is as [`Table`] says.
fn check(table: &Table) -> Result<(), Failure> {
    check_name(&table.name)?;
    if table.columns.is_empty() {
        return Err(Failure::refused(format!("table {} needs a column beside its key", table.name)));
    }
    for (column, _) in &table.columns {
        check_name(column)?;
        if column == "k" {
            return Err(Failure::refused(format!("table {}: `k` is the key, not a column", table.name)));
        }
    }
    for (key, values) in &table.rows {
        check_value(table, "k", key, table.key)?;
        if values.len() != table.columns.len() {
            let message = format!("table {}, key {key}: expected one value for each column", table.name);
            return Err(Failure::refused(message));
        }
        for ((column, kind), value) in table.columns.iter().zip(values) {
            check_value(table, column, value, *kind)?;
        }
    }
    Ok(())
}

/// Whether a name is one in every database.
fn check_name(name: &str) -> Result<(), Failure> {
    let is_good = name.len() <= LONGEST_NAME
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_');
    if is_good {
        return Ok(());
    }
    let message = format!("`{name}` is no name of a table or column: lower-case letters, digits and `_`");
    Err(Failure::refused(message))
}

fn check_value(table: &Table, column: &str, value: &Datum, kind: ColumnType) -> Result<(), Failure> {
    let what = match (kind, value) {
        (ColumnType::Int, Datum::Int(_)) | (ColumnType::Text, Datum::Str(_)) => return Ok(()),
        (ColumnType::Int, _) => "integer",
        (ColumnType::Text, _) => "text",
    };
    Err(Failure::refused(format!("{}.{column}: {value} is no {what}", table.name)))
}
