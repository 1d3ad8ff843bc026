//! Statements and answers as the lines of JSON that `docs/exec.md` describes.

use history::{Bound, Datum};
use serde_json::{Value, json};

use crate::{ColumnType, Reply, Statement, StatementKind, Table};

/// The kind of statement of a name.
pub(super) fn kind(name: &str) -> Option<StatementKind> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

const NAMES: [(&str, StatementKind); 14] = [
    ("read", StatementKind::Read),
    ("read-for-update", StatementKind::ReadForUpdate),
    ("write", StatementKind::Write),
    ("put", StatementKind::Put),
    ("add", StatementKind::Add),
    ("append", StatementKind::Append),
    ("insert", StatementKind::Insert),
    ("delete", StatementKind::Delete),
    ("range", StatementKind::Range),
    ("select", StatementKind::Select),
    ("update", StatementKind::Update),
    ("update-returning", StatementKind::UpdateReturning),
    ("delete-where", StatementKind::DeleteWhere),
    ("sql", StatementKind::Sql),
];

/// The name of a kind of statement.
pub(super) fn name(kind: StatementKind) -> &'static str {
    NAMES.iter().find(|(_, known)| *known == kind).map_or("", |(name, _)| name)
}

/// A message about tables: their rows are empty where they do not matter.
pub(super) fn tables_message(op: &str, tables: &[Table]) -> Value {
    let kind = |kind: ColumnType| if kind == ColumnType::Int { "int" } else { "text" };
    let tables: Vec<_> = tables
        .iter()
        .map(|table| {
            let columns: Vec<_> = table.columns.iter().map(|(name, of)| json!([name, kind(*of)])).collect();
            let rows: Vec<_> = table.rows.iter().map(|(key, row)| json!([value(key), values(row)])).collect();
            json!({"name": table.name, "key": kind(table.key), "columns": columns, "rows": rows})
        })
        .collect();
    json!({"op": op, "tables": tables})
}

/// A statement as a request.
pub(super) fn request(statement: &Statement) -> Value {
    let op = name(statement.kind());
    match statement {
        Statement::Read { table, key }
        | Statement::ReadForUpdate { table, key }
        | Statement::Delete { table, key } => json!({"op": op, "table": table, "key": value(key)}),
        Statement::Write { table, key, column, value: to } => {
            json!({"op": op, "table": table, "key": value(key), "column": column, "value": value(to)})
        }
        Statement::Put { table, key, values: row } | Statement::Insert { table, key, values: row } => {
            json!({"op": op, "table": table, "key": value(key), "values": values(row)})
        }
        Statement::Add { table, key, column, by } => {
            json!({"op": op, "table": table, "key": value(key), "column": column, "by": by})
        }
        Statement::Append { table, key, value: element } => {
            json!({"op": op, "table": table, "key": value(key), "value": value(element)})
        }
        Statement::Range { table, from, to } => {
            json!({"op": op, "table": table, "from": bound(from), "to": bound(to)})
        }
        Statement::Select { table, predicate } | Statement::DeleteWhere { table, predicate } => {
            json!({"op": op, "table": table, "where": value(&predicate.to_datum())})
        }
        Statement::Update { table, predicate, set }
        | Statement::UpdateReturning { table, predicate, set } => {
            let set: Vec<_> = set.iter().map(|(column, to)| json!([column, value(to)])).collect();
            json!({"op": op, "table": table, "where": value(&predicate.to_datum()), "set": set})
        }
        Statement::Sql(text) => json!({"op": op, "text": text}),
    }
}

/// What a program said to a statement; `None` if it is no answer to it.
pub(super) fn answer(statement: &Statement, said: &Value) -> Option<Reply> {
    match statement.kind() {
        StatementKind::Read | StatementKind::ReadForUpdate => match said.get("row")? {
            Value::Null => Some(Reply::Row(None)),
            row => Some(Reply::Row(Some(data(row)?))),
        },
        StatementKind::Put | StatementKind::Append | StatementKind::Insert => {
            said.get("done")?;
            Some(Reply::Done)
        }
        StatementKind::Range | StatementKind::Select | StatementKind::UpdateReturning => {
            rows(said.get("rows")?)
        }
        StatementKind::Sql if said.get("rows").is_some() => rows(said.get("rows")?),
        _ => said.get("count")?.as_u64().map(Reply::Count),
    }
}

fn rows(said: &Value) -> Option<Reply> {
    let row = |row: &Value| match row.as_array()?.as_slice() {
        [key, columns] => Some((datum(key)?, data(columns)?)),
        _ => None,
    };
    Some(Reply::Rows(said.as_array()?.iter().map(row).collect::<Option<_>>()?))
}

fn bound(bound: &Bound) -> Value {
    match bound {
        Bound::Unbounded => Value::Null,
        Bound::Included(key) => json!(["in", value(key)]),
        Bound::Excluded(key) => json!(["ex", value(key)]),
    }
}

fn values(row: &[Datum]) -> Value {
    Value::Array(row.iter().map(value).collect())
}

fn value(datum: &Datum) -> Value {
    match datum {
        Datum::Nil => Value::Null,
        Datum::Bool(truth) => json!(truth),
        Datum::Int(int) => json!(int),
        Datum::Str(text) => json!(text),
        Datum::List(items) => values(items),
        other => json!(other.to_string()),
    }
}

fn data(said: &Value) -> Option<Vec<Datum>> {
    said.as_array()?.iter().map(datum).collect()
}

fn datum(said: &Value) -> Option<Datum> {
    match said {
        Value::Null => Some(Datum::Nil),
        Value::Bool(truth) => Some(Datum::Bool(*truth)),
        Value::Number(number) => match number.as_i64() {
            Some(int) => Some(Datum::Int(int)),
            None => {
                Datum::int_from_decimal(&number.to_string()).or_else(|| number.as_f64().map(Datum::float))
            }
        },
        Value::String(text) => Some(Datum::str(text.as_str())),
        Value::Array(_) | Value::Object(_) => None,
    }
}
