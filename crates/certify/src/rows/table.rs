//! What all keys hold, with rows of integers kept as columns side by side.
//!
//! Most rows are a few integers under the same names, and most predicates are an interval of one column (`v between 3
//! and 9`): the rows that match are found by running over one column, a change of columns sets some cells, and a row is
//! compared with what a read returned cell by cell. Anything else is kept as it is, and asked one by one.
//!
//! Costs 12 bytes for each column and key. Checking 500 transactions of `blindw-pred` on 10,000 rows took 651 million
//! instructions with rows as they are written, of which a predicate asked those that its interval did not exclude. With
//! columns it took 141 million, and takes 89 million since columns are searched in 32 bits (`lane.rs`), what is no row
//! of integers is kept apart, and a row that changes is copied once.

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet};

use history::{Change, Datum, History, KeyId, Op, Predicate, Subject, ValueId};

use super::lane::Lane;
use crate::effects::Content;

/// No such column, or no row of integers.
pub(super) const NONE: i64 = i64::MIN;

/// The most columns; rows of histories with more, or with names that are no texts, are kept as they are.
const MOST_COLUMNS: usize = 16;

/// What a key holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    Nothing,
    /// A row of integers, which are kept apart.
    Integers,
    /// Anything else, which is kept apart too.
    Other,
}

/// The columns that rows of integers may have, in their order.
pub(super) struct Columns {
    names: Vec<Datum>,
}

impl Columns {
    fn of(history: &History) -> Self {
        let mut names: BTreeSet<Datum> = history.values().shapes().flatten().cloned().collect();
        for (_, op) in history.txns().flat_map(|txn| history.ops(txn)) {
            if let Op::PredicateWrite(write) = op
                && let Change::Set(Datum::Row(columns)) = &write.change
            {
                names.extend(columns.iter().map(|(name, _)| name.clone()));
            }
        }
        let is_plain = names.len() <= MOST_COLUMNS && names.iter().all(|name| text_of(name).is_some());
        Self { names: if is_plain { names.into_iter().collect() } else { Vec::new() } }
    }

    pub fn count(&self) -> usize {
        self.names.len()
    }

    fn place(&self, name: &Datum) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The column that a predicate means by a name, if only one has it.
    fn named(&self, name: &str) -> Option<usize> {
        let mut places = (0..self.names.len()).filter(|&place| text_of(&self.names[place]) == Some(name));
        let first = places.next()?;
        places.next().is_none().then_some(first)
    }

    /// What a content is, with its cells if it is a row of integers.
    fn held(&self, content: &Content, cells: &mut [i64]) -> Held {
        cells.fill(NONE);
        match &content.datum {
            Datum::Nil => Held::Nothing,
            Datum::Row(columns) if !content.is_dead && !columns.is_empty() => {
                for (name, value) in columns {
                    match (self.place(name), value) {
                        (Some(place), Datum::Int(int)) if *int != NONE => cells[place] = *int,
                        _ => {
                            cells.fill(NONE);
                            return Held::Other;
                        }
                    }
                }
                Held::Integers
            }
            _ => Held::Other,
        }
    }

    /// The cells that a change sets, if that is all that it does to a row of integers.
    pub fn sets(&self, change: &Change) -> Option<Vec<(usize, i64)>> {
        let Change::Set(Datum::Row(columns)) = change else { return None };
        let set = |(name, value): &(Datum, Datum)| match value {
            // `{"+": n}` adds instead.
            Datum::Int(int) if *int != NONE && text_of(name) != Some("+") => Some((self.place(name)?, *int)),
            _ => None,
        };
        columns.iter().map(set).collect::<Option<Vec<_>>>().filter(|sets| !sets.is_empty())
    }

    fn datum(&self, cell: impl Fn(usize) -> i64) -> Datum {
        let columns = self.names.iter().enumerate().map(|(place, name)| (name, cell(place)));
        let columns = columns.filter(|&(_, cell)| cell != NONE);
        Datum::row(columns.map(|(name, cell)| (name.clone(), Datum::Int(cell))).collect())
    }

    /// Whether a row of integers is this value.
    fn is_value(&self, history: &History, value: ValueId, cell: impl Fn(usize) -> i64) -> bool {
        match history.values().row(value) {
            // All columns are there, in the order of both.
            Some((names, cells)) if names.len() == self.names.len() => {
                cells.iter().enumerate().all(|(place, &int)| int != NONE && int == cell(place))
            }
            _ => history.values().is_original(value, &self.datum(cell)),
        }
    }
}

/// The text of a name that a predicate can mean.
fn text_of(name: &Datum) -> Option<&str> {
    match name {
        Datum::Str(text) | Datum::Keyword(text) | Datum::Symbol(text) => Some(text),
        _ => None,
    }
}

/// The rows that a transaction changed, and what they hold then.
#[derive(Default)]
pub(super) struct Changes {
    pub keys: Vec<KeyId>,
    held: Vec<Held>,
    /// As many for each row as there are columns.
    cells: Vec<i64>,
    /// What keys hold that hold neither nothing nor a row of integers.
    others: BTreeMap<KeyId, Content>,
}

/// The rows as they are committed.
pub(super) struct Table<'h> {
    pub history: &'h History,
    pub columns: Columns,
    held: Vec<Held>,
    /// For each column the cells of all keys.
    lanes: Vec<Lane>,
    /// What keys hold that hold neither nothing nor a row of integers.
    others: BTreeMap<KeyId, Content>,
    /// Rows of integers as they are written, for predicates that are no interval.
    written: Vec<OnceCell<Datum>>,
    /// Whether there is any.
    has_written: Cell<bool>,
}

impl<'h> Table<'h> {
    /// The initial state.
    pub fn new(history: &'h History) -> Self {
        let columns = Columns::of(history);
        let keys = history.keys().len();
        let lanes = (0..columns.count()).map(|_| Lane::new(keys)).collect();
        let mut table = Self {
            history,
            columns,
            held: vec![Held::Nothing; keys],
            lanes,
            others: BTreeMap::new(),
            written: vec![OnceCell::new(); keys],
            has_written: Cell::new(false),
        };
        let mut cells = vec![NONE; table.columns.count()];
        for (key, _) in history.keys().iter() {
            let value = history.initial().value_of(key).unwrap_or(ValueId::NIL);
            let content = Content::row(history.values().original(value));
            let held = table.columns.held(&content, &mut cells);
            table.set(key, held, &cells);
            if held == Held::Other {
                table.others.insert(key, content);
            }
        }
        table
    }

    /// What a key holds; the content of another kind is put there by the caller.
    fn set(&mut self, key: KeyId, held: Held, cells: &[i64]) {
        if std::mem::replace(&mut self.held[key.index()], held) == Held::Other {
            self.others.remove(&key);
        }
        if self.has_written.get() {
            self.written[key.index()].take();
        }
        for (lane, &cell) in self.lanes.iter_mut().zip(cells) {
            lane.set(key, cell);
        }
    }

    /// Takes over what a transaction changed.
    pub fn commit(&mut self, mut changes: Changes) {
        let width = self.columns.count();
        for (place, (&key, &held)) in changes.keys.iter().zip(&changes.held).enumerate() {
            self.set(key, held, &changes.cells[place * width..][..width]);
        }
        self.others.append(&mut changes.others);
    }

    /// A row of integers as it is written.
    fn written(&self, key: KeyId) -> &Datum {
        self.has_written.set(true);
        let datum = || self.columns.datum(|column| self.lanes[column].get(key));
        self.written[key.index()].get_or_init(datum)
    }
}

/// The rows as a transaction sees them: with its own changes.
pub(super) struct View<'r, 'h> {
    pub table: &'r Table<'h>,
    pub own: Changes,
    /// For each key its place among the changes, or `UNCHANGED`.
    pub own_place: &'r mut [u32],
}

/// The place of a key that the transaction has not changed.
pub(super) const UNCHANGED: u32 = u32::MAX;

impl View<'_, '_> {
    fn own_place(&self, key: KeyId) -> Option<usize> {
        let place = self.own_place[key.index()];
        (place != UNCHANGED).then_some(place as usize)
    }

    fn held(&self, key: KeyId) -> Held {
        self.own_place(key).map_or(self.table.held[key.index()], |place| self.own.held[place])
    }

    /// What a key holds that holds neither nothing nor a row of integers.
    fn other(&self, key: KeyId) -> &Content {
        let others = if self.own_place(key).is_some() { &self.own.others } else { &self.table.others };
        &others[&key]
    }

    fn own_cells(&self, place: usize) -> &[i64] {
        let width = self.table.columns.count();
        &self.own.cells[place * width..][..width]
    }

    fn datum(&self, key: KeyId) -> Datum {
        match (self.held(key), self.own_place(key)) {
            (Held::Nothing, _) => Datum::Nil,
            (Held::Integers, Some(place)) => self.table.columns.datum(|column| self.own_cells(place)[column]),
            (Held::Integers, None) => self.table.columns.datum(|column| self.table.lanes[column].get(key)),
            (Held::Other, _) => self.other(key).datum.clone(),
        }
    }

    pub fn is_dead(&self, key: KeyId) -> bool {
        match self.held(key) {
            Held::Nothing => true,
            Held::Integers => false,
            Held::Other => self.other(key).is_dead,
        }
    }

    /// Whether a key holds a value, or a mark of that value.
    pub fn is_value(&self, key: KeyId, value: ValueId) -> bool {
        let (history, table) = (self.table.history, self.table);
        match (self.held(key), self.own_place(key)) {
            (Held::Nothing, _) => history.values().is_original(value, &Datum::Nil),
            (Held::Integers, Some(place)) => {
                table.columns.is_value(history, value, |column| self.own_cells(place)[column])
            }
            (Held::Integers, None) => {
                table.columns.is_value(history, value, |column| table.lanes[column].get(key))
            }
            (Held::Other, _) => history.values().is_original(value, &self.other(key).datum),
        }
    }

    fn matches(&self, predicate: &Predicate, key: KeyId) -> bool {
        let name = self.table.history.keys().original(key);
        match self.held(key) {
            Held::Nothing => false,
            Held::Integers if self.own_place(key).is_some() => predicate.matches(name, &self.datum(key)),
            Held::Integers => predicate.matches(name, self.table.written(key)),
            Held::Other => {
                let content = self.other(key);
                !content.is_dead && predicate.matches(name, &content.datum)
            }
        }
    }

    /// The rows that match, by key.
    pub fn matching(&self, predicate: &Predicate) -> Vec<KeyId> {
        let Some((column, least, most)) = self.cells_of(predicate) else {
            let keys = (0..self.table.held.len()).map(KeyId::from_index);
            return keys.filter(|&key| self.matches(predicate, key)).collect();
        };
        let mut found = Vec::new();
        self.table.lanes[column].add_between(least, most, &mut found);
        let is_to_be_asked = !self.own.keys.is_empty() || !self.table.others.is_empty();
        if is_to_be_asked {
            found.retain(|&key| self.own_place(key).is_none());
            let others = self.table.others.keys().filter(|&&key| self.own_place(key).is_none());
            let asked = others.chain(&self.own.keys).copied();
            found.extend(asked.filter(|&key| self.matches(predicate, key)));
            found.sort_unstable();
        }
        found
    }

    /// The column whose cells decide whether a row of integers matches, with the least and the greatest that do.
    fn cells_of(&self, predicate: &Predicate) -> Option<(usize, i64, i64)> {
        let interval = predicate.interval()?;
        let Subject::Column(name) = &interval.subject else { return None };
        let column = self.table.columns.named(name)?;
        let (least, most) = interval.integers()?;
        // In a row without such a column, `k` is the key.
        (&**name != "k").then_some((column, least.max(NONE + 1), most))
    }

    /// Changes a row.
    pub fn put(&mut self, key: KeyId, content: Content) {
        let (place, width) = (self.own_row(key), self.table.columns.count());
        let held = self.table.columns.held(&content, &mut self.own.cells[place * width..][..width]);
        self.own.held[place] = held;
        match held {
            Held::Other => _ = self.own.others.insert(key, content),
            Held::Nothing | Held::Integers => _ = self.own.others.remove(&key),
        }
    }

    /// The place of a key among the changes, where it has the cells that it had until now. A content of another kind is
    /// not put there: that is for the caller.
    fn own_row(&mut self, key: KeyId) -> usize {
        if let Some(place) = self.own_place(key) {
            return place;
        }
        let place = self.own.keys.len();
        self.own_place[key.index()] = place as u32;
        self.own.keys.push(key);
        self.own.held.push(self.table.held[key.index()]);
        self.own.cells.extend(self.table.lanes.iter().map(|lane| lane.get(key)));
        place
    }

    /// Applies a change to rows that match.
    pub fn change(&mut self, change: &Change, keys: &[KeyId]) {
        let sets = self.table.columns.sets(change);
        let width = self.table.columns.count();
        for &key in keys {
            match (&sets, self.held(key)) {
                (Some(sets), Held::Integers) => {
                    let cells = self.own_row(key) * width;
                    sets.iter().for_each(|&(column, int)| self.own.cells[cells + column] = int);
                }
                _ => {
                    let changed = change.apply(&self.datum(key));
                    self.put(key, Content::row(changed));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least integer is also what stands for a missing column.
    #[test]
    fn a_row_without_a_column_is_no_row_with_the_least_integer_in_it() {
        let text = "init *=nil\na: w(1)={\"w\": 5} w(2)={\"v\": -9223372036854775808, \"w\": 5}\n";
        let history = formats::notation::parse(text).unwrap();
        let written: Vec<(KeyId, ValueId)> = history
            .txns()
            .flat_map(|txn| history.ops(txn))
            .filter_map(|(_, op)| Some((op.key()?, op.written()?)))
            .collect();
        let (table, mut own_place) = (Table::new(&history), vec![UNCHANGED; 2]);
        let mut view = View { table: &table, own: Changes::default(), own_place: &mut own_place };
        for &(key, value) in &written {
            view.put(key, Content::row(history.values().original(value)));
        }
        for &(key, own) in &written {
            for &(_, value) in &written {
                assert_eq!(view.is_value(key, value), own == value, "{own:?} {value:?}");
            }
        }
    }

    /// Rows that are found by their cells are those that match when they are asked one by one.
    #[test]
    fn rows_are_found_by_cells_as_by_asking() {
        let text = "init *=nil\na: w(1)={\"v\": 4} w(2)={\"v\": 0, \"w\": 7} w(x)=0\n";
        let history = formats::notation::parse(text).unwrap();
        let row = |v: Datum| Datum::Row(vec![(Datum::str("v"), v)].into());
        let scalars = [-3, 0, 4, i64::MAX, i64::MIN].map(Datum::Int).into_iter().chain([Datum::str("4")]);
        let data: Vec<Datum> = scalars.clone().chain(scalars.map(row)).chain([row(Datum::Nil)]).collect();
        let contents = data.into_iter().map(Content::row).chain([Content::mark(Datum::Nil)]);
        let texts = [
            "v >= 0",
            "v < 4",
            "v between -3 and 3",
            "v = 4",
            "v > 9223372036854775807",
            "k <= 1",
            "v != 0",
            "w > 0",
        ];
        let all: Vec<KeyId> = history.keys().iter().map(|(key, _)| key).collect();
        for content in contents {
            for (of_table, own) in [(&all[..], &all[..0]), (&all[..1], &all[1..2]), (&all[..], &all[2..])] {
                let mut table = Table::new(&history);
                let mut own_place = vec![UNCHANGED; all.len()];
                let put = |table: &Table<'_>, own_place: &mut [u32], keys: &[KeyId]| {
                    let mut view = View { table, own: Changes::default(), own_place };
                    keys.iter().for_each(|&key| view.put(key, content.clone()));
                    view.own
                };
                let changes = put(&table, &mut own_place, of_table);
                table.commit(changes);
                own_place.fill(UNCHANGED);
                let changes = put(&table, &mut own_place, own);
                let view = View { table: &table, own: changes, own_place: &mut own_place };
                for text in texts {
                    let predicate = Predicate::parse(&Datum::str(text)).unwrap();
                    let asked = all.iter().copied().filter(|&key| {
                        let is_put = of_table.contains(&key) || own.contains(&key);
                        is_put
                            && !content.is_dead
                            && predicate.matches(history.keys().original(key), &content.datum)
                    });
                    let asked: Vec<KeyId> = asked.collect();
                    assert_eq!(view.matching(&predicate), asked, "{text} of {content:?}");
                }
            }
        }
    }
}
