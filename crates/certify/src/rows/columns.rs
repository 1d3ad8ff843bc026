//! The integers of a column of all rows side by side, so that a predicate is asked of few rows.
//!
//! Most predicates are an interval of one column (`v between 3 and 9`). A row whose column is an integer outside of that
//! interval does not match; every other row is asked. A column is filled when a predicate first asks about it, and costs
//! 16 bytes for each row.

use history::{Datum, History, KeyId, Predicate, Subject};

use crate::effects::Content;

/// The most columns that are kept; predicates on others are asked of every row.
const MOST_COLUMNS: usize = 16;

/// What a column of a row tells.
#[derive(Clone, Copy)]
pub(super) enum Cell {
    /// There is no row, so no predicate matches.
    NoRow,
    Int(i64),
    /// The predicate has to be asked.
    Other,
}

struct Column {
    subject: Subject,
    cells: Vec<Cell>,
}

#[derive(Default)]
pub(super) struct Columns {
    columns: Vec<Column>,
}

/// The rows that a predicate is asked of.
pub(super) enum Asked<'c> {
    All,
    /// Those with such an integer in the column, and those without an integer.
    Between(&'c [Cell], i64, i64),
}

impl Asked<'_> {
    /// False only if the row of a key, as it is committed, does not match.
    #[inline]
    pub fn has(&self, key: KeyId) -> bool {
        match *self {
            Asked::All => true,
            Asked::Between(cells, least, most) => match cells[key.index()] {
                Cell::NoRow => false,
                Cell::Int(int) => least <= int && int <= most,
                Cell::Other => true,
            },
        }
    }
}

impl Columns {
    /// Fills the column that a predicate is about, if it is an interval of one.
    pub fn prepare(&mut self, history: &History, held: &[Content], predicate: &Predicate) {
        let Some(interval) = predicate.interval().filter(|interval| interval.integers().is_some()) else {
            return;
        };
        let is_known = self.columns.iter().any(|column| column.subject == interval.subject);
        if is_known || self.columns.len() == MOST_COLUMNS {
            return;
        }
        let cell = |(key, content): (usize, &Content)| {
            cell(history, &interval.subject, KeyId::from_index(key), content)
        };
        let cells = held.iter().enumerate().map(cell).collect();
        self.columns.push(Column { subject: interval.subject, cells });
    }

    /// The rows that a predicate is asked of.
    pub fn asked(&self, predicate: &Predicate) -> Asked<'_> {
        let Some(interval) = predicate.interval() else { return Asked::All };
        let column = self.columns.iter().find(|column| column.subject == interval.subject);
        match (column, interval.integers()) {
            (Some(column), Some((least, most))) => Asked::Between(&column.cells, least, most),
            _ => Asked::All,
        }
    }

    /// Takes over what a row holds now.
    pub fn set(&mut self, history: &History, key: KeyId, content: &Content) {
        for column in &mut self.columns {
            column.cells[key.index()] = cell(history, &column.subject, key, content);
        }
    }
}

fn cell(history: &History, subject: &Subject, key: KeyId, content: &Content) -> Cell {
    if content.is_dead {
        return Cell::NoRow;
    }
    match subject.of(history.keys().original(key), &content.datum) {
        Datum::Int(int) => Cell::Int(*int),
        _ => Cell::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row that is not asked does not match, whatever it holds.
    #[test]
    fn rows_that_are_not_asked_do_not_match() {
        let history = formats::notation::parse("init *=nil\na: w(1)=0 w(2)=0 w(x)=0\n").unwrap();
        let row = |v: Datum| Datum::Row(vec![(Datum::str("v"), v)].into());
        let scalars = [-3, 0, 4, i64::MAX, i64::MIN].map(Datum::Int).into_iter().chain([Datum::str("4")]);
        let data: Vec<Datum> = scalars.clone().chain(scalars.map(row)).chain([row(Datum::Nil)]).collect();
        let contents = data.into_iter().map(Content::row).chain([Content::mark(Datum::Nil)]);
        let texts =
            ["v >= 0", "v < 4", "v between -3 and 3", "v = 4", "v > 9223372036854775807", "k <= 1", "v != 0"];
        for content in contents {
            let held = vec![content.clone(); history.keys().len()];
            let mut columns = Columns::default();
            for text in texts {
                let predicate = Predicate::parse(&Datum::str(text)).unwrap();
                columns.prepare(&history, &held, &predicate);
                for (key, name) in history.keys().iter() {
                    let is_match = !content.is_dead && predicate.matches(name, &content.datum);
                    assert!(columns.asked(&predicate).has(key) || !is_match, "{text} of {name}: {content:?}");
                }
            }
        }
    }
}
