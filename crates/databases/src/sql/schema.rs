//! Tables as SQL: drop, create, fill.

use history::Datum;

use super::{CHANGED_BY, Dialect, Query, Returns, Text, old};
use crate::catalog::Shape;
use crate::{ColumnType, Table};

/// Rows in one INSERT: enough to make the way to a server cheap, and few enough for every limit on parameters.
const ROWS_IN_AN_INSERT: usize = 200;

/// Drops a table if it is there.
pub(crate) fn drop_table(table: &Table, dialect: &Dialect) -> String {
    let mut text = Text::new(dialect);
    text.push("DROP TABLE IF EXISTS ").name(&table.name);
    text.text
}

/// Creates a table.
pub(crate) fn create(table: &Table, dialect: &Dialect) -> String {
    let mut text = Text::new(dialect);
    let key = match table.key {
        ColumnType::Int => dialect.int,
        ColumnType::Text => dialect.text_key,
    };
    text.push("CREATE TABLE ").name(&table.name).push(" (").name("k").push(" ").push(key);
    text.push(" NOT NULL PRIMARY KEY");
    for (column, kind) in &table.columns {
        let kind = match kind {
            ColumnType::Int => dialect.int,
            ColumnType::Text => dialect.text,
        };
        text.push(", ").name(column).push(" ").push(kind).push(" NOT NULL");
        if table.keeps_old && dialect.keeps_old() {
            text.push(", ").name(&old(column)).push(" ").push(kind);
        }
    }
    if table.keeps_old && dialect.marks_changes {
        text.push(", ").name(CHANGED_BY).push(" ").push(dialect.int);
    }
    text.push(")").push(dialect.table_options);
    text.text
}

/// Inserts of the rows of a table.
pub(crate) fn fill<'t>(table: &'t Table, dialect: &'t Dialect) -> impl Iterator<Item = Query> + 't {
    let shape = Shape::of(table);
    table.rows.chunks(ROWS_IN_AN_INSERT).map(move |rows| insert(&shape, rows, dialect))
}

fn insert(shape: &Shape, rows: &[(Datum, Vec<Datum>)], dialect: &Dialect) -> Query {
    let mut text = Text::new(dialect);
    text.push("INSERT INTO ")
        .name(&shape.name)
        .push(" (")
        .name("k")
        .push(", ")
        .column_list(shape)
        .push(") VALUES");
    for (place, (key, values)) in rows.iter().enumerate() {
        text.push(if place == 0 { " (" } else { ", (" }).value(key);
        for value in values {
            text.push(", ").value(value);
        }
        text.push(")");
    }
    text.end(Returns::Nothing)
}
