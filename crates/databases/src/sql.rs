//! Statements as SQL, for all databases that speak it.
//!
//! A [`Dialect`] is what they differ in. Values are parameters, never text; names come from the catalog. One statement
//! is compiled in well below a microsecond, and its text is the same each time, so that drivers can keep it prepared.

mod dialect;
mod schema;

#[cfg(feature = "duckdb")]
pub(crate) use dialect::DUCKDB;
#[cfg(feature = "turso")]
pub(crate) use dialect::TURSO;
pub(crate) use dialect::{Dialect, MYSQL, POSTGRES, SQLITE};
pub(crate) use schema::{create, drop_table, fill};

use history::{Bound, Datum};

use crate::catalog::{Catalog, Shape};
use crate::{Failure, Reply, Statement, Where};

/// A statement, ready to be sent.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Query {
    pub text: String,
    pub parameters: Vec<Datum>,
    pub returns: Returns,
}

/// What the answer is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Returns {
    Nothing,
    Count,
    /// Columns, without the key.
    Row,
    /// The key and the columns.
    Rows,
}

impl Query {
    /// The answer from the rows that came back.
    pub fn answer_rows(&self, mut rows: Vec<Vec<Datum>>) -> Reply {
        match self.returns {
            Returns::Row => Reply::Row(rows.pop()),
            _ => Reply::Rows(rows.into_iter().map(split_key).collect()),
        }
    }

    /// The answer from the number of rows that were found.
    pub fn answer_count(&self, count: u64) -> Reply {
        if self.returns == Returns::Count { Reply::Count(count) } else { Reply::Done }
    }

    /// Whether rows come back.
    pub fn returns_rows(&self) -> bool {
        matches!(self.returns, Returns::Row | Returns::Rows)
    }
}

/// The first column as the key of a row.
pub(crate) fn split_key(mut row: Vec<Datum>) -> (Datum, Vec<Datum>) {
    if row.is_empty() {
        return (Datum::Nil, row);
    }
    let key = row.remove(0);
    (key, row)
}

/// Whether SQL as it stands counts rows rather than returning some, for a database that answers both with rows.
#[cfg(feature = "duckdb")]
pub(crate) fn only_counts(text: &str) -> bool {
    let text = text.trim_start().to_ascii_uppercase();
    let changes_rows = ["INSERT", "UPDATE", "DELETE"].iter().any(|verb| text.starts_with(verb));
    changes_rows && !text.contains("RETURNING")
}

/// Compiles a statement; [`Statement::Sql`] is none of its business.
pub(crate) fn compile(statement: &Statement, dialect: &Dialect, catalog: &Catalog) -> Result<Query, Failure> {
    let Some(table) = statement.table() else {
        return Err(Failure::refused("SQL as it stands is sent, not compiled"));
    };
    let shape = &*catalog.table(table)?;
    match statement {
        Statement::Read { key, .. } => read(shape, key, "", dialect),
        Statement::ReadForUpdate { key, .. } => match dialect.for_update {
            Some(clause) => read(shape, key, clause, dialect),
            None => Err(Failure::refused("this database has no SELECT ... FOR UPDATE")),
        },
        Statement::Write { key, column, value, .. } => write(shape, key, column, value, dialect),
        Statement::Add { key, column, by, .. } => add(shape, key, column, *by, dialect),
        Statement::Put { key, values, .. } => put(shape, key, values, dialect),
        Statement::Append { key, value, .. } => append(shape, key, value, dialect),
        Statement::Insert { key, values, .. } => {
            let mut text = Text::new(dialect);
            text.insert_row(shape, key, values)?;
            Ok(text.end(Returns::Nothing))
        }
        Statement::Delete { key, .. } => {
            let mut text = Text::new(dialect);
            text.push("DELETE FROM ").name(&shape.name).push(" WHERE ").name("k").push(" = ").value(key);
            Ok(text.end(Returns::Count))
        }
        Statement::Range { from, to, .. } => range(shape, from, to, dialect),
        Statement::Select { predicate, .. } => {
            let mut text = Text::new(dialect);
            text.select_rows(shape).push(" WHERE ").predicate(shape, predicate)?.push(" ORDER BY ").name("k");
            Ok(text.end(Returns::Rows))
        }
        Statement::Update { predicate, set, .. } => {
            Ok(update(shape, predicate, set, None, dialect)?.end(Returns::Count))
        }
        Statement::UpdateReturning { .. } if !dialect.update_returning => {
            Err(Failure::refused("this database has no UPDATE ... RETURNING"))
        }
        Statement::UpdateReturning { .. } if !shape.keeps_old => {
            Err(Failure::refused(format!("table {table} does not keep what its rows held")))
        }
        Statement::UpdateReturning { predicate, set, .. } => {
            let mut text = update(shape, predicate, set, None, dialect)?;
            text.push(" RETURNING ").name("k");
            shape.columns.iter().for_each(|(column, _)| {
                text.push(", ").name(&old(column));
            });
            Ok(text.end(Returns::Rows))
        }
        Statement::DeleteWhere { predicate, .. } => {
            let mut text = Text::new(dialect);
            text.push("DELETE FROM ").name(&shape.name).push(" WHERE ").predicate(shape, predicate)?;
            Ok(text.end(Returns::Count))
        }
        Statement::Sql(_) => unreachable!("it has no table"),
    }
}

fn write(
    shape: &Shape,
    key: &Datum,
    column: &str,
    value: &Datum,
    dialect: &Dialect,
) -> Result<Query, Failure> {
    let mut text = Text::new(dialect);
    text.push("UPDATE ").name(&shape.name).push(" SET ").column(shape, column)?.push(" = ").value(value);
    text.push(" WHERE ").name("k").push(" = ").value(key);
    Ok(text.end(Returns::Count))
}

fn add(shape: &Shape, key: &Datum, column: &str, by: i64, dialect: &Dialect) -> Result<Query, Failure> {
    let mut text = Text::new(dialect);
    text.push("UPDATE ").name(&shape.name).push(" SET ").column(shape, column)?.push(" = ");
    text.name(column).push(" + ").value(&Datum::Int(by)).push(" WHERE ").name("k").push(" = ").value(key);
    Ok(text.end(Returns::Count))
}

fn read(shape: &Shape, key: &Datum, lock: &str, dialect: &Dialect) -> Result<Query, Failure> {
    let mut text = Text::new(dialect);
    text.push("SELECT ").column_list(shape).push(" FROM ").name(&shape.name);
    text.push(" WHERE ").name("k").push(" = ").value(key).push(lock);
    Ok(text.end(Returns::Row))
}

fn put(shape: &Shape, key: &Datum, values: &[Datum], dialect: &Dialect) -> Result<Query, Failure> {
    let mut text = Text::new(dialect);
    text.insert_row(shape, key, values)?.push(dialect.on_conflict);
    for (place, (column, _)) in shape.columns.iter().enumerate() {
        text.push(if place == 0 { " " } else { ", " }).name(column).push(" = ").excluded(column);
    }
    Ok(text.end(Returns::Nothing))
}

fn append(shape: &Shape, key: &Datum, value: &Datum, dialect: &Dialect) -> Result<Query, Failure> {
    let (list, _) = &shape.columns[0];
    let mut values: Vec<_> = shape.columns.iter().map(|(_, kind)| Shape::empty_value(*kind)).collect();
    values[0] = as_text(value);
    let mut text = Text::new(dialect);
    text.insert_row(shape, key, &values)?.push(dialect.on_conflict);
    text.push(" ").name(list).push(" = CASE WHEN ").old(shape, list).push(" = '' THEN ").excluded(list);
    text.push(" ELSE ").push(dialect.concat.0).old(shape, list).push(dialect.concat.1).push("','");
    text.push(dialect.concat.1).excluded(list).push(dialect.concat.2).push(" END");
    Ok(text.end(Returns::Nothing))
}

fn as_text(value: &Datum) -> Datum {
    match value {
        Datum::Str(_) => value.clone(),
        other => Datum::str(other.to_string()),
    }
}

fn range(shape: &Shape, from: &Bound, to: &Bound, dialect: &Dialect) -> Result<Query, Failure> {
    let mut text = Text::new(dialect);
    text.select_rows(shape);
    let mut joint = " WHERE ";
    for (bound, included, excluded) in [(from, " >= ", " > "), (to, " <= ", " < ")] {
        let (symbol, key) = match bound {
            Bound::Unbounded => continue,
            Bound::Included(key) => (included, key),
            Bound::Excluded(key) => (excluded, key),
        };
        text.push(joint).name("k").push(symbol).value(key);
        joint = " AND ";
    }
    text.push(" ORDER BY ").name("k");
    Ok(text.end(Returns::Rows))
}

fn update<'d>(
    shape: &Shape,
    predicate: &Where,
    set: &[(String, Datum)],
    mark: Option<i64>,
    dialect: &'d Dialect,
) -> Result<Text<'d>, Failure> {
    if set.is_empty() {
        return Err(Failure::refused("an update sets at least one column"));
    }
    let mut text = Text::new(dialect);
    text.push("UPDATE ").name(&shape.name);
    // MySQL runs the assignments one after the other, so the old columns come first.
    let mut between = " SET ";
    for (column, _) in shape.columns.iter().filter(|_| shape.keeps_old && dialect.keeps_old()) {
        text.push(between).name(&old(column)).push(" = ").name(column);
        between = ", ";
    }
    if let Some(mark) = mark {
        text.push(between).name(CHANGED_BY).push(" = ").value(&Datum::Int(mark));
        between = ", ";
    }
    for (column, value) in set {
        text.push(between).column(shape, column)?.push(" = ").value(value);
        between = ", ";
    }
    text.push(" WHERE ").predicate(shape, predicate)?;
    Ok(text)
}

/// An update that marks the rows it changes with a number, and the query that returns these rows as they were before: for
/// databases without `UPDATE ... RETURNING`. The transaction has locked the rows, so nothing comes between the two.
pub(crate) fn update_with_mark(
    statement: &Statement,
    mark: i64,
    dialect: &Dialect,
    catalog: &Catalog,
) -> Result<[Query; 2], Failure> {
    let Statement::UpdateReturning { table, predicate, set } = statement else {
        return Err(Failure::refused("only an update that returns rows marks them"));
    };
    let shape = &*catalog.table(table)?;
    if !shape.keeps_old {
        return Err(Failure::refused(format!("table {table} does not keep what its rows held")));
    }
    let update = update(shape, predicate, set, Some(mark), dialect)?.end(Returns::Count);
    let mut text = Text::new(dialect);
    text.push("SELECT ").name("k");
    for (column, _) in &shape.columns {
        text.push(", ").name(&old(column));
    }
    text.push(" FROM ").name(&shape.name).push(" WHERE ").name(CHANGED_BY).push(" = ");
    text.value(&Datum::Int(mark)).push(" ORDER BY ").name("k");
    Ok([update, text.end(Returns::Rows)])
}

/// The column with the mark of the last update that changed the row.
const CHANGED_BY: &str = "changed_by";

/// The column that keeps what another one held before the last update.
fn old(column: &str) -> String {
    format!("{column}_before")
}

/// SQL in the making.
struct Text<'d> {
    dialect: &'d Dialect,
    text: String,
    parameters: Vec<Datum>,
}

impl<'d> Text<'d> {
    fn new(dialect: &'d Dialect) -> Self {
        Self { dialect, text: String::with_capacity(128), parameters: Vec::new() }
    }

    fn end(self, returns: Returns) -> Query {
        Query { text: self.text, parameters: self.parameters, returns }
    }

    fn push(&mut self, part: &str) -> &mut Self {
        self.text.push_str(part);
        self
    }

    fn name(&mut self, name: &str) -> &mut Self {
        self.text.push(self.dialect.quote);
        self.text.push_str(name);
        self.text.push(self.dialect.quote);
        self
    }

    fn value(&mut self, value: &Datum) -> &mut Self {
        self.parameters.push(value.clone());
        self.dialect.placeholder(&mut self.text, self.parameters.len());
        self
    }

    fn column(&mut self, shape: &Shape, column: &str) -> Result<&mut Self, Failure> {
        shape.column(column)?;
        Ok(self.name(column))
    }

    fn column_list(&mut self, shape: &Shape) -> &mut Self {
        for (place, (column, _)) in shape.columns.iter().enumerate() {
            self.push(if place == 0 { "" } else { ", " }).name(column);
        }
        self
    }

    fn select_rows(&mut self, shape: &Shape) -> &mut Self {
        self.push("SELECT ").name("k").push(", ").column_list(shape).push(" FROM ").name(&shape.name)
    }

    fn insert_row(&mut self, shape: &Shape, key: &Datum, values: &[Datum]) -> Result<&mut Self, Failure> {
        shape.check_width(values)?;
        self.push("INSERT INTO ").name(&shape.name).push(" (").name("k").push(", ").column_list(shape);
        self.push(") VALUES (").value(key);
        for value in values {
            self.push(", ").value(value);
        }
        Ok(self.push(")"))
    }

    /// The value that an insert brought, in what it does on a conflict.
    fn excluded(&mut self, column: &str) -> &mut Self {
        let (before, after) = self.dialect.excluded;
        self.push(before).name(column).push(after)
    }

    /// The value that was there before, in what an insert does on a conflict.
    fn old(&mut self, shape: &Shape, column: &str) -> &mut Self {
        self.name(&shape.name).push(".").name(column)
    }

    fn predicate(&mut self, shape: &Shape, predicate: &Where) -> Result<&mut Self, Failure> {
        match predicate {
            Where::All => Ok(self.push("1 = 1")),
            Where::Compare(column, comparison, value) => {
                shape.check_column(column)?;
                Ok(self.name(column).push(" ").push(comparison.symbol()).push(" ").value(value))
            }
            Where::Between(column, from, to) => {
                shape.check_column(column)?;
                Ok(self.name(column).push(" BETWEEN ").value(from).push(" AND ").value(to))
            }
            Where::In(_, values) if values.is_empty() => Ok(self.push("1 = 0")),
            Where::In(column, values) => {
                shape.check_column(column)?;
                self.name(column).push(" IN (");
                for (place, value) in values.iter().enumerate() {
                    self.push(if place == 0 { "" } else { ", " }).value(value);
                }
                Ok(self.push(")"))
            }
            Where::Modulo(column, divisor, remainder) => {
                shape.check_column(column)?;
                self.name(column).push(" % ").value(&Datum::Int(*divisor));
                Ok(self.push(" = ").value(&Datum::Int(*remainder)))
            }
            Where::And(parts) => self.joined(shape, parts, " AND ", "1 = 1"),
            Where::Or(parts) => self.joined(shape, parts, " OR ", "1 = 0"),
            Where::Not(part) => {
                self.push("NOT (").predicate(shape, part)?;
                Ok(self.push(")"))
            }
        }
    }

    fn joined(
        &mut self,
        shape: &Shape,
        parts: &[Where],
        joint: &str,
        empty: &str,
    ) -> Result<&mut Self, Failure> {
        if parts.is_empty() {
            return Ok(self.push(empty));
        }
        for (place, part) in parts.iter().enumerate() {
            self.push(if place == 0 { "" } else { joint }).push("(").predicate(shape, part)?.push(")");
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests;
