//! Is an outcome serializable? The committed transactions are run one after another on a table in memory, in every
//! order, until one gives the same answers and leaves the same rows.
//!
//! Schedules have at most nine transactions and usually two or three; an order that gives a wrong answer is left at
//! once, so the search is quick where it could be long: it costs at most the orders of the committed transactions.

use std::collections::BTreeMap;

use databases::{Reply, Statement};
use history::{Bound, Datum};

use crate::{Run, Schedule, Txn};

/// Rows by their keys.
type Rows = BTreeMap<Datum, Vec<Datum>>;

/// An order of the committed transactions that gives what was seen and what is left, if there is one.
pub fn order_of(schedule: &Schedule, run: &Run) -> Option<Vec<Txn>> {
    let rows: Rows = schedule.table.rows.iter().cloned().collect();
    let mut search = SerialSearch { schedule, run, order: Vec::new() };
    search.extend(&rows, &run.committed()).then_some(search.order)
}

struct SerialSearch<'r> {
    schedule: &'r Schedule,
    run: &'r Run,
    order: Vec<Txn>,
}

impl SerialSearch<'_> {
    fn extend(&mut self, rows: &Rows, open: &[Txn]) -> bool {
        if open.is_empty() {
            return *rows == self.run.left;
        }
        for &next in open {
            let Some(after) = self.replay(next, rows) else { continue };
            let rest: Vec<Txn> = open.iter().copied().filter(|txn| *txn != next).collect();
            self.order.push(next);
            if self.extend(&after, &rest) {
                return true;
            }
            self.order.pop();
        }
        false
    }

    /// The rows after a transaction, if its statements answer here what they answered there.
    fn replay(&self, txn: Txn, rows: &Rows) -> Option<Rows> {
        let mut rows = rows.clone();
        let columns: Vec<&str> = self.schedule.table.columns.iter().map(|(name, _)| name.as_str()).collect();
        let answers = &self.run.answers[txn.0];
        for (statement, seen) in self.schedule.statements(txn).zip(answers) {
            if answer(&mut rows, &columns, statement)? != *seen {
                return None;
            }
        }
        Some(rows)
    }
}

/// What a statement answers on these rows, and what it makes of them; nothing if it cannot succeed.
pub fn answer(rows: &mut Rows, columns: &[&str], statement: &Statement) -> Option<Reply> {
    let place = |name: &str| columns.iter().position(|column| *column == name);
    Some(match statement {
        Statement::Read { key, .. } | Statement::ReadForUpdate { key, .. } => {
            Reply::Row(rows.get(key).cloned())
        }
        Statement::Write { key, column, value, .. } => {
            let place = place(column)?;
            change(rows.get_mut(key), |row| row[place] = value.clone())
        }
        Statement::Add { key, column, by, .. } => {
            let place = place(column)?;
            change(rows.get_mut(key), |row| add(&mut row[place], *by))
        }
        Statement::Put { key, values, .. } => {
            rows.insert(key.clone(), values.clone());
            Reply::Done
        }
        Statement::Insert { key, values, .. } => match rows.insert(key.clone(), values.clone()) {
            None => Reply::Done,
            Some(_) => return None,
        },
        Statement::Delete { key, .. } => Reply::Count(u64::from(rows.remove(key).is_some())),
        Statement::Range { from, to, .. } => Reply::Rows(selected(rows, |key, _| is_between(key, from, to))),
        Statement::Select { predicate, .. } => {
            Reply::Rows(selected(rows, |key, row| predicate.holds(&column_of(columns, key, row))))
        }
        Statement::Update { predicate, set, .. } | Statement::UpdateReturning { predicate, set, .. } => {
            let found = selected(rows, |key, row| predicate.holds(&column_of(columns, key, row)));
            for (key, mut row) in found.iter().cloned() {
                set.iter()
                    .try_for_each(|(column, value)| place(column).map(|place| row[place] = value.clone()))?;
                rows.insert(key, row);
            }
            match statement {
                Statement::Update { .. } => Reply::Count(found.len() as u64),
                _ => Reply::Rows(found),
            }
        }
        Statement::DeleteWhere { predicate, .. } => {
            let before = rows.len();
            rows.retain(|key, row| !predicate.holds(&column_of(columns, key, row)));
            Reply::Count((before - rows.len()) as u64)
        }
        // A schedule never asks these: their meaning is the database's own.
        Statement::Append { .. } | Statement::Sql(_) => return None,
    })
}

fn change(row: Option<&mut Vec<Datum>>, how: impl FnOnce(&mut Vec<Datum>)) -> Reply {
    Reply::Count(row.map(how).map_or(0, |()| 1))
}

fn add(value: &mut Datum, by: i64) {
    if let Datum::Int(number) = value {
        *number = number.wrapping_add(by);
    }
}

fn selected(rows: &Rows, is_found: impl Fn(&Datum, &[Datum]) -> bool) -> Vec<(Datum, Vec<Datum>)> {
    let found = rows.iter().filter(|(key, row)| is_found(key, row));
    found.map(|(key, row)| (key.clone(), row.clone())).collect()
}

fn is_between(key: &Datum, from: &Bound, to: &Bound) -> bool {
    let after = match from {
        Bound::Unbounded => true,
        Bound::Included(bound) => key >= bound,
        Bound::Excluded(bound) => key > bound,
    };
    after
        && match to {
            Bound::Unbounded => true,
            Bound::Included(bound) => key <= bound,
            Bound::Excluded(bound) => key < bound,
        }
}

/// A row's columns by name, and its key as `k`.
fn column_of<'r>(
    columns: &'r [&str],
    key: &'r Datum,
    row: &'r [Datum],
) -> impl Fn(&str) -> Option<&'r Datum> {
    move |name| match name {
        "k" => Some(key),
        _ => row.get(columns.iter().position(|column| *column == name)?),
    }
}
