//! A table of a workload, and how its rows appear in the history.
//!
//! A workload of one table records its keys as they are; one of several tables records `table/key`. A row of one
//! column is recorded as that column, a wider one as a row of named columns. In the database the tables are called
//! `isoscope_...`, so that a workload never drops a table of another program.

use databases::{ColumnType, Table};
use history::Datum;

/// A table with what the recorder has to know of it.
#[derive(Clone, Debug)]
pub struct Relation {
    /// The table as the database sees it, with its first rows.
    pub table: Table,
    /// Its name in the history.
    pub label: String,
    /// Whether its keys carry its name in the history.
    pub is_one_of_several: bool,
    /// Keys 0 to this less one may exist, and no others; `None` if keys are made up on the way.
    pub key_limit: Option<u32>,
    /// Whether a row is a list that is appended to.
    pub holds_lists: bool,
    /// Whether rows are written by condition, so that they are read by condition in the end too.
    pub is_by_condition: bool,
}

impl Relation {
    /// A table of integer keys and integer columns, one of several; it starts empty.
    pub fn new(name: &str, columns: &[&str]) -> Self {
        let table = Table {
            name: format!("isoscope_{name}"),
            key: ColumnType::Int,
            columns: columns.iter().map(|&column| (column.to_owned(), ColumnType::Int)).collect(),
            rows: Vec::new(),
            keeps_old: false,
        };
        Self {
            table,
            label: name.to_owned(),
            is_one_of_several: true,
            key_limit: None,
            holds_lists: false,
            is_by_condition: false,
        }
    }

    /// The same, being the only one.
    pub fn alone(self) -> Self {
        Self { is_one_of_several: false, ..self }
    }

    /// The same, its keys being 0 to `limit` less one.
    pub fn with_key_limit(self, limit: u32) -> Self {
        Self { key_limit: Some(limit), ..self }
    }

    /// The same, with rows for the first keys.
    pub fn filled(mut self, count: u32, row: impl Fn(i64) -> Vec<i64>) -> Self {
        let rows = (0..i64::from(count)).map(|key| (Datum::Int(key), integers(&row(key))));
        self.table.rows = rows.collect();
        self
    }

    /// Its name in the database.
    pub fn name(&self) -> &str {
        &self.table.name
    }

    /// A key as the history has it.
    pub fn recorded_key(&self, key: &Datum) -> Datum {
        match (self.is_one_of_several, key) {
            (false, _) => key.clone(),
            (true, Datum::Str(text)) => Datum::str(format!("{}/{text}", self.label)),
            (true, key) => Datum::str(format!("{}/{key}", self.label)),
        }
    }

    /// A row as the history has it.
    pub fn recorded_value(&self, values: &[Datum]) -> Datum {
        match values {
            [value] => value.clone(),
            values => {
                let names = self.table.columns.iter().map(|(name, _)| Datum::str(name.as_str()));
                Datum::row(names.zip(values.iter().cloned()).collect())
            }
        }
    }
}

/// Integers as a database takes them.
pub fn integers(values: &[i64]) -> Vec<Datum> {
    values.iter().copied().map(Datum::Int).collect()
}

/// The columns of a row of integers.
pub fn numbers<const N: usize>(row: &[Datum]) -> [i64; N] {
    std::array::from_fn(|place| row.get(place).map_or(0, integer))
}

/// An integer as a database gave it; 0 for what is none, which no table of integers holds.
pub fn integer(value: &Datum) -> i64 {
    match value {
        Datum::Int(value) => *value,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_recorded_by_name_where_there_are_several() {
        let accounts = Relation::new("accounts", &["balance", "w"]);
        assert_eq!(accounts.recorded_key(&Datum::Int(3)), Datum::from("accounts/3"));
        assert_eq!(accounts.recorded_value(&integers(&[90, 7])).to_string(), "{balance: 90, w: 7}");
        let registers = Relation::new("registers", &["v"]).alone();
        assert_eq!(registers.recorded_key(&Datum::Int(3)), Datum::Int(3));
        assert_eq!(registers.recorded_value(&integers(&[90])), Datum::Int(90));
    }
}
