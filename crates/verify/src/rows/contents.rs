//! What rows hold, as cells of fixed width.
//!
//! A content is a row of cells: one for each column that occurs anywhere, one for a value that has no columns, and one
//! for the mark of a delete. Small integers are their own cell, so an interval of a column is two comparisons, and a
//! change of columns is a copy of the cells with some of them set; anything else is a number from a table.
//! Each value has its content once, but what changes make of rows is only put down, so equal contents may have different
//! numbers: looking every one up in a hash table was half the time of the whole search.

use history::{Bound, Change, Datum, Interval, Predicate, Subject};
use rustc_hash::FxHashMap;

/// The number of a content; see [`Contents::is_same`].
pub(crate) type ContentNumber = u32;

/// No row and no mark.
pub(crate) const NOTHING: ContentNumber = 0;

/// No such column.
pub(crate) const MISSING: i64 = i64::MIN;
/// Cells from here on are places in the table of things that are no small integers.
pub(crate) const OTHERS: i64 = 1 << 61;

/// All contents that were met so far.
pub(crate) struct Contents {
    columns: Vec<Datum>,
    /// The cells of values without columns and of marks, where there can be any.
    value: Option<usize>,
    mark: Option<usize>,
    /// Whether there was a value without columns that has no cell.
    pub lacks_values: bool,
    width: usize,
    cells: Vec<i64>,
    others: Vec<Datum>,
    place_of: FxHashMap<Datum, i64>,
}

/// A predicate, with the interval of cells that it is where it is one.
pub(crate) struct Filter<'h> {
    pub predicate: &'h Predicate,
    pub fast: Option<Fast>,
}

/// The bounds are included.
#[derive(Clone, Copy)]
pub(crate) enum Fast {
    Cell { slot: usize, least: i64, most: i64 },
    Key { least: i64, most: i64 },
}

/// A change of rows, with the cells that it sets where that is all it does.
pub(crate) struct Edit<'h> {
    change: &'h Change,
    sets: Option<Vec<(usize, i64)>>,
}

impl Contents {
    /// No contents yet; the columns are all that rows and changes will have, and there may be values without columns,
    /// and marks of deletes. Such a value where there may be none is taken down in `lacks_values`.
    pub fn new(columns: Vec<Datum>, has_values: bool, has_marks: bool) -> Self {
        let has_values = has_values || columns.is_empty();
        let value = has_values.then_some(columns.len());
        let mark = has_marks.then_some(columns.len() + usize::from(has_values));
        let width = columns.len() + usize::from(has_values) + usize::from(has_marks);
        let cells = vec![MISSING; width];
        let (others, place_of) = (Vec::new(), FxHashMap::default());
        Self { columns, value, mark, lacks_values: false, width, cells, others, place_of }
    }

    /// A row; nil is nothing.
    pub fn row(&mut self, datum: &Datum) -> ContentNumber {
        match datum {
            Datum::Nil => NOTHING,
            // A row without columns is not nothing.
            Datum::Row(columns) if !columns.is_empty() => {
                let (number, start) = self.push();
                for (name, value) in columns {
                    let slot = self.slot(name).expect("all columns were collected");
                    self.cells[start + slot] = self.cell(value);
                }
                number
            }
            value => {
                let Some(slot) = self.value else {
                    self.lacks_values = true;
                    return NOTHING;
                };
                let (number, start) = self.push();
                self.cells[start + slot] = self.cell(value);
                number
            }
        }
    }

    /// A row of integers, in slots that were asked for.
    pub fn flat_row(&mut self, slots: &[usize], cells: &[i64]) -> ContentNumber {
        let (number, start) = self.push();
        for (&slot, &cell) in slots.iter().zip(cells) {
            self.cells[start + slot] = self.int_cell(cell);
        }
        number
    }

    /// The slots of some columns.
    pub fn slots(&self, names: &[Datum]) -> Vec<usize> {
        names.iter().map(|name| self.slot(name).expect("all columns were collected")).collect()
    }

    /// What a delete leaves.
    pub fn mark(&mut self, datum: &Datum) -> ContentNumber {
        if *datum == Datum::Nil {
            return NOTHING;
        }
        let slot = self.mark.expect("marks were looked for");
        let (number, start) = self.push();
        self.cells[start + slot] = self.cell(datum);
        number
    }

    /// A content of which nothing is known yet, and the place of its cells.
    fn push(&mut self) -> (ContentNumber, usize) {
        let start = self.cells.len();
        self.cells.resize(start + self.width, MISSING);
        ((start / self.width) as ContentNumber, start)
    }

    pub fn is_dead(&self, content: ContentNumber) -> bool {
        content == NOTHING || self.mark.is_some_and(|slot| self.cells_of(content)[slot] != MISSING)
    }

    /// Whether a row has columns, rather than being a value.
    fn has_columns(&self, content: ContentNumber) -> bool {
        self.value.is_none_or(|slot| self.cells_of(content)[slot] == MISSING)
    }

    #[inline]
    pub fn is_same(&self, left: ContentNumber, right: ContentNumber) -> bool {
        left == right || self.cells_of(left).iter().eq(self.cells_of(right))
    }

    /// The cell of a column for a scan: missing for what matches nothing, and a large number for what a comparison of
    /// integers does not decide.
    pub fn lane(&self, content: ContentNumber, slot: usize) -> i64 {
        match self.cells_of(content)[slot] {
            MISSING if !self.is_dead(content) => OTHERS,
            cell => cell,
        }
    }

    #[inline]
    fn cells_of(&self, content: ContentNumber) -> &[i64] {
        &self.cells[content as usize * self.width..][..self.width]
    }

    /// Whether a row matches.
    pub fn matches(&self, filter: &Filter<'_>, key: &Datum, content: ContentNumber) -> bool {
        match filter.fast {
            Some(Fast::Cell { slot, least, most }) => {
                let cell = self.cells_of(content)[slot];
                match cell {
                    MISSING | OTHERS.. => self.matches_slowly(filter, key, content),
                    cell => least <= cell && cell <= most,
                }
            }
            Some(Fast::Key { least, most }) => match key {
                Datum::Int(key) => least <= *key && *key <= most && !self.is_dead(content),
                _ => self.matches_slowly(filter, key, content),
            },
            None => self.matches_slowly(filter, key, content),
        }
    }

    fn matches_slowly(&self, filter: &Filter<'_>, key: &Datum, content: ContentNumber) -> bool {
        !self.is_dead(content) && filter.predicate.matches(key, &self.datum(content))
    }

    /// What becomes of a row.
    pub fn apply(&mut self, edit: &Edit<'_>, content: ContentNumber) -> ContentNumber {
        let start = content as usize * self.width;
        match &edit.sets {
            Some(sets) if !self.is_dead(content) && self.has_columns(content) => {
                let end = self.cells.len();
                // For a few cells, a call that copies any number takes longer than the copy.
                for place in start..start + self.width {
                    self.cells.push(self.cells[place]);
                }
                for &(slot, cell) in sets {
                    self.cells[end + slot] = cell;
                }
                (end / self.width) as ContentNumber
            }
            _ => {
                let changed = edit.change.apply(&self.datum(content));
                self.row(&changed)
            }
        }
    }

    pub fn filter<'h>(&self, predicate: &'h Predicate) -> Filter<'h> {
        let fast = predicate.interval().and_then(|interval| self.fast(&interval));
        Filter { predicate, fast }
    }

    pub fn edit<'h>(&mut self, change: &'h Change) -> Edit<'h> {
        let sets = match change {
            Change::Set(Datum::Row(columns)) if !columns.is_empty() => self.sets(columns),
            _ => None,
        };
        Edit { change, sets }
    }

    /// The cells that a change sets, if it adds to none.
    fn sets(&mut self, columns: &[(Datum, Datum)]) -> Option<Vec<(usize, i64)>> {
        let is_plain =
            |(name, value): &(Datum, Datum)| !matches!(value, Datum::Row(_)) && !is_named(name, "+");
        if !columns.iter().all(is_plain) {
            return None;
        }
        let set = |(name, value): &(Datum, Datum)| Some((self.slot(name)?, self.cell(value)));
        columns.iter().map(set).collect()
    }

    fn fast(&self, interval: &Interval) -> Option<Fast> {
        let int = |bound: &Bound, open: i64, inward: i64| match bound {
            Bound::Unbounded => Some(open),
            Bound::Included(Datum::Int(limit)) => Some(*limit),
            Bound::Excluded(Datum::Int(limit)) => limit.checked_add(inward),
            _ => None,
        };
        let (least, most) = (int(&interval.from, MISSING + 1, 1)?, int(&interval.to, OTHERS - 1, -1)?);
        if (&interval.from, &interval.to) == (&Bound::Unbounded, &Bound::Unbounded) {
            return None;
        }
        match &interval.subject {
            Subject::Key => Some(Fast::Key { least, most }),
            Subject::Value => None,
            Subject::Column(name) => {
                let slot = self.only_slot(name)?;
                // Integers beyond the small ones are in the table.
                Some(Fast::Cell { slot, least: least.max(1 - OTHERS), most: most.min(OTHERS - 1) })
            }
        }
    }

    /// The column of a name, if there is exactly one; where rows have no columns, `v` is their value.
    fn only_slot(&self, name: &str) -> Option<usize> {
        let mut slots = (0..self.columns.len()).filter(|&column| is_named(&self.columns[column], name));
        match (slots.next(), slots.next()) {
            (Some(column), None) => Some(column),
            (None, _) if name == "v" && self.columns.is_empty() => Some(0),
            _ => None,
        }
    }

    fn slot(&self, name: &Datum) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    fn cell(&mut self, datum: &Datum) -> i64 {
        if let Datum::Int(int) = datum
            && (1 - OTHERS..OTHERS).contains(int)
        {
            return *int;
        }
        self.other_cell(datum)
    }

    #[inline]
    fn int_cell(&mut self, int: i64) -> i64 {
        if (1 - OTHERS..OTHERS).contains(&int) { int } else { self.other_cell(&Datum::Int(int)) }
    }

    fn other_cell(&mut self, datum: &Datum) -> i64 {
        if let Some(&cell) = self.place_of.get(datum) {
            return cell;
        }
        let cell = OTHERS + self.others.len() as i64;
        self.others.push(datum.clone());
        self.place_of.insert(datum.clone(), cell);
        cell
    }

    /// The row of a content; nil if there is none.
    fn datum(&self, content: ContentNumber) -> Datum {
        if self.is_dead(content) {
            return Datum::Nil;
        }
        let cells = self.cells_of(content);
        if let Some(slot) = self.value.filter(|_| !self.has_columns(content)) {
            return self.datum_of(cells[slot]);
        }
        let columns = self.columns.iter().zip(cells).filter(|&(_, &cell)| cell != MISSING);
        Datum::row(columns.map(|(name, &cell)| (name.clone(), self.datum_of(cell))).collect())
    }

    fn datum_of(&self, cell: i64) -> Datum {
        if cell < OTHERS { Datum::Int(cell) } else { self.others[(cell - OTHERS) as usize].clone() }
    }
}

fn is_named(column: &Datum, name: &str) -> bool {
    matches!(column, Datum::Str(text) | Datum::Keyword(text) | Datum::Symbol(text) if **text == *name)
}
