//! Statements without SQL: each as reads and writes of rows by key, for stores that know nothing else.

use history::{Bound, Datum};

use crate::catalog::{Catalog, Shape};
use crate::{Failure, Reply, Statement, Where};

/// The columns of a row.
pub(crate) type Columns = Vec<Datum>;

/// A transaction of a store of rows. What it writes it must see itself.
pub(crate) trait RowStore {
    /// The row of a key.
    fn get(&mut self, table: &Shape, key: &Datum) -> Result<Option<Columns>, Failure>;

    /// The row of a key, kept from being changed by others, where the store can do that.
    fn get_for_update(&mut self, _table: &Shape, _key: &Datum) -> Result<Option<Columns>, Failure> {
        Err(Failure::refused("this store cannot lock what it reads"))
    }

    /// Puts a row in the place of the one that is there, if any.
    fn put(&mut self, table: &Shape, key: &Datum, row: Columns) -> Result<(), Failure>;

    /// Notes that the row which was put last is its list with this element behind it.
    fn note_append(&mut self, _table: &Shape, _key: &Datum, _element: &str) {}

    /// Removes a row that is there.
    fn delete(&mut self, table: &Shape, key: &Datum) -> Result<(), Failure>;

    /// The rows between two keys, in the order of the keys.
    fn scan(&mut self, table: &Shape, from: &Bound, to: &Bound) -> Result<Vec<(Datum, Columns)>, Failure>;
}

/// Runs a statement.
pub(crate) fn execute(
    store: &mut dyn RowStore,
    catalog: &Catalog,
    statement: &Statement,
) -> Result<Reply, Failure> {
    let Some(table) = statement.table() else {
        return Err(Failure::refused("this store knows no SQL"));
    };
    let shape = &*catalog.table(table)?;
    match statement {
        Statement::Read { key, .. } => Ok(Reply::Row(store.get(shape, key)?)),
        Statement::ReadForUpdate { key, .. } => Ok(Reply::Row(store.get_for_update(shape, key)?)),
        Statement::Write { key, column, value, .. } => {
            let place = shape.column(column)?;
            change(store, shape, key, |row| {
                row[place] = value.clone();
                Ok(())
            })
        }
        Statement::Add { key, column, by, .. } => {
            let place = shape.column(column)?;
            change(store, shape, key, |row| add(&mut row[place], *by))
        }
        Statement::Put { key, values, .. } => {
            shape.check_width(values)?;
            store.put(shape, key, values.clone())?;
            Ok(Reply::Done)
        }
        Statement::Append { key, value, .. } => append(store, shape, key, value),
        Statement::Insert { key, values, .. } => insert(store, shape, key, values),
        Statement::Delete { key, .. } => {
            let is_there = store.get(shape, key)?.is_some();
            if is_there {
                store.delete(shape, key)?;
            }
            Ok(Reply::Count(u64::from(is_there)))
        }
        Statement::Range { from, to, .. } => Ok(Reply::Rows(store.scan(shape, from, to)?)),
        Statement::Select { predicate, .. } => Ok(Reply::Rows(matching(store, shape, predicate)?)),
        Statement::Update { predicate, set, .. } => {
            Ok(Reply::Count(update(store, shape, predicate, set)?.len() as u64))
        }
        Statement::UpdateReturning { predicate, set, .. } => {
            Ok(Reply::Rows(update(store, shape, predicate, set)?))
        }
        Statement::DeleteWhere { predicate, .. } => {
            let rows = matching(store, shape, predicate)?;
            for (key, _) in &rows {
                store.delete(shape, key)?;
            }
            Ok(Reply::Count(rows.len() as u64))
        }
        Statement::Sql(_) => unreachable!("it has no table"),
    }
}

fn change(
    store: &mut dyn RowStore,
    shape: &Shape,
    key: &Datum,
    change: impl FnOnce(&mut Columns) -> Result<(), Failure>,
) -> Result<Reply, Failure> {
    let Some(mut row) = store.get(shape, key)? else {
        return Ok(Reply::Count(0));
    };
    change(&mut row)?;
    store.put(shape, key, row)?;
    Ok(Reply::Count(1))
}

fn add(value: &mut Datum, by: i64) -> Result<(), Failure> {
    match value {
        Datum::Int(held) => {
            let sum = held.checked_add(by);
            *held = sum.ok_or_else(|| Failure::refused(format!("{held} + {by} is out of range")))?;
            Ok(())
        }
        other => Err(Failure::refused(format!("{other} is no integer to add to"))),
    }
}

fn append(store: &mut dyn RowStore, shape: &Shape, key: &Datum, value: &Datum) -> Result<Reply, Failure> {
    let element = match value {
        Datum::Str(text) => text.to_string(),
        other => other.to_string(),
    };
    let mut row = match store.get(shape, key)? {
        Some(row) => row,
        None => shape.columns.iter().map(|(_, kind)| Shape::empty_value(*kind)).collect(),
    };
    row[0] = longer_list(&row[0], &element);
    store.put(shape, key, row)?;
    store.note_append(shape, key, &element);
    Ok(Reply::Done)
}

/// A list, as the text of its elements, with one more element.
pub(crate) fn longer_list(list: &Datum, element: &str) -> Datum {
    match list {
        Datum::Str(list) if !list.is_empty() => Datum::str(format!("{list},{element}")),
        _ => Datum::str(element),
    }
}

fn insert(store: &mut dyn RowStore, shape: &Shape, key: &Datum, values: &[Datum]) -> Result<Reply, Failure> {
    shape.check_width(values)?;
    if store.get(shape, key)?.is_some() {
        let message = format!("the key {key} is in table {} already", shape.name);
        return Err(Failure::aborted(message).with_code("duplicate-key"));
    }
    store.put(shape, key, values.to_vec())?;
    Ok(Reply::Done)
}

/// Sets columns of the rows that satisfy a predicate; gives back their keys.
/// Sets columns of the rows that satisfy a predicate; the rows as they were before.
fn update(
    store: &mut dyn RowStore,
    shape: &Shape,
    predicate: &Where,
    set: &[(String, Datum)],
) -> Result<Vec<(Datum, Columns)>, Failure> {
    let set: Vec<_> = set
        .iter()
        .map(|(column, value)| shape.column(column).map(|place| (place, value)))
        .collect::<Result<_, _>>()?;
    let found = matching(store, shape, predicate)?;
    for (key, row) in &found {
        let mut row = row.clone();
        for &(place, value) in &set {
            row[place] = value.clone();
        }
        store.put(shape, key, row)?;
    }
    Ok(found)
}

fn matching(
    store: &mut dyn RowStore,
    shape: &Shape,
    predicate: &Where,
) -> Result<Vec<(Datum, Columns)>, Failure> {
    let (from, to) = predicate.key_range();
    let mut rows = store.scan(shape, &from, &to)?;
    rows.retain(|(key, columns)| {
        predicate.holds(&|name| match name {
            "k" => Some(key),
            _ => shape.column(name).ok().map(|place| &columns[place]),
        })
    });
    Ok(rows)
}
