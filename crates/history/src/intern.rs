//! Keys and values to ids and back.
//!
//! The table holds each original once; the hash table holds only its row number (4 bytes and a control byte), so ten
//! million distinct values are some 330 MB by calculation when they are 64-bit hashes, and nothing when they are small
//! integers.

mod flat;

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::ids::Place;
use crate::{Datum, KeyId, ValueId};
use flat::{FlatRows, Shape};

/// Integers below this may be found by direct indexing instead of hashing.
const DIRECT_LIMIT: usize = 1 << 22;
/// Integers below this are found by direct indexing in every history. A larger bound costs histories of a few
/// transactions more than all that follows: a key of four million took a table of 16 MiB, each time that a history was
/// made.
const ALWAYS_DIRECT: usize = 1 << 12;
/// Larger integers are found by direct indexing if they are below this many times the number of entries.
const SPREAD: usize = 64;

/// How many other integers that were seen lately are found without a look at the originals.
const RECENT: usize = 1 << 13;
/// With fewer entries than this, that table costs more than it saves.
const FEW: usize = 1 << 10;

#[derive(Clone, Default, Debug)]
struct InternTable {
    originals: Vec<Datum>,
    rows: HashTable<u32>,
    /// The rows of the integers below its length; larger integers are in the hash table.
    direct: Vec<u32>,
    /// Integers that are too large for the direct table, with their rows: keys are often hashes, and few are hot.
    recent: Vec<(i64, u32)>,
}

const EMPTY: u32 = u32::MAX;

impl InternTable {
    #[inline]
    fn intern_int(&mut self, int: i64) -> u32 {
        match usize::try_from(int).ok().and_then(|slot| self.direct.get(slot)) {
            Some(&row) if row != EMPTY => row,
            _ => self.intern_new_int(int),
        }
    }

    /// The rows of several integers, in their order. All are looked up before new ones get their rows, so that the misses of
    /// the cache overlap: a million keys do not fit into it, and a reader that looks them up one by one between two
    /// numbers of a text spends most of its time there.
    fn intern_ints(&mut self, ints: &[i64], rows: &mut Vec<u32>) {
        rows.clear();
        let find = |&int: &i64| usize::try_from(int).ok().and_then(|slot| self.direct.get(slot));
        rows.extend(ints.iter().map(|int| find(int).copied().unwrap_or(EMPTY)));
        for (row, &int) in rows.iter_mut().zip(ints).filter(|(row, _)| **row == EMPTY) {
            *row = self.intern_int(int);
        }
    }

    /// The row of an integer that is not in the direct table (yet).
    #[cold]
    #[inline(never)]
    fn intern_new_int(&mut self, int: i64) -> u32 {
        let bound = ALWAYS_DIRECT.max(self.originals.len() * SPREAD).min(DIRECT_LIMIT).max(self.direct.len());
        let Some(slot) = usize::try_from(int).ok().filter(|&slot| slot < bound) else {
            return self.intern_large(int);
        };
        if slot >= self.direct.len() {
            self.enlarge_direct((slot + 1).next_power_of_two());
        }
        if self.direct[slot] == EMPTY {
            self.direct[slot] = self.push(Datum::Int(int));
        }
        self.direct[slot]
    }

    fn intern_large(&mut self, int: i64) -> u32 {
        if self.originals.len() < FEW {
            return self.intern_hashed(Datum::Int(int));
        }
        const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
        let slot = (int as u64).wrapping_mul(MULTIPLIER) >> (u64::BITS - RECENT.ilog2());
        match self.recent.get(slot as usize) {
            Some(&(known, row)) if known == int && row != EMPTY => row,
            _ => {
                let row = self.intern_hashed(Datum::Int(int));
                self.recent.resize(RECENT, (0, EMPTY));
                self.recent[slot as usize] = (int, row);
                row
            }
        }
    }

    /// Enlarges the direct table, and enters the integers that it has room for now.
    fn enlarge_direct(&mut self, length: usize) {
        let before = self.direct.len();
        self.direct.resize(length, EMPTY);
        for (row, original) in self.originals.iter().enumerate() {
            if let Datum::Int(int) = original
                && (before as i64..length as i64).contains(int)
            {
                self.direct[*int as usize] = row as u32;
            }
        }
    }

    fn intern(&mut self, datum: Datum) -> u32 {
        match datum {
            Datum::Int(int) => self.intern_int(int),
            other => self.intern_hashed(other),
        }
    }

    fn intern_ref(&mut self, datum: &Datum) -> u32 {
        match datum {
            Datum::Int(int) => self.intern_int(*int),
            other => self.get(other).unwrap_or_else(|| self.intern_hashed(other.clone())),
        }
    }

    fn intern_hashed(&mut self, datum: Datum) -> u32 {
        let hash = hash_of(&datum);
        let originals = &self.originals;
        if let Some(&row) = self.rows.find(hash, |&row| originals[row as usize] == datum) {
            return row;
        }
        if self.rows.len() == self.rows.capacity() {
            self.grow();
        }
        let row = self.push(datum);
        let originals = &self.originals;
        self.rows.insert_unique(hash, row, |&row| hash_of(&originals[row as usize]));
        row
    }

    /// Enlarges the hash table in the order of the rows. Its own way of growing visits the originals at random, which
    /// for hundreds of thousands of them is most of the time.
    #[cold]
    fn grow(&mut self) {
        let mut rows = HashTable::with_capacity((self.rows.len() * 2).max(16));
        let direct = 0..self.direct.len() as i64;
        for (row, original) in self.originals.iter().enumerate() {
            let is_direct = matches!(original, Datum::Int(int) if direct.contains(int));
            if !is_direct {
                rows.insert_unique(hash_of(original), row as u32, |_| unreachable!("there is room for all"));
            }
        }
        self.rows = rows;
    }

    fn get(&self, datum: &Datum) -> Option<u32> {
        match datum {
            Datum::Int(int) if (0..self.direct.len() as i64).contains(int) => {
                Some(self.direct[*int as usize]).filter(|&row| row != EMPTY)
            }
            _ => self.rows.find(hash_of(datum), |&row| self.originals[row as usize] == *datum).copied(),
        }
    }

    fn push(&mut self, datum: Datum) -> u32 {
        self.originals.push(datum);
        (self.originals.len() - 1) as u32
    }

    fn heap_bytes(&self) -> usize {
        self.originals.capacity() * size_of::<Datum>()
            + self.rows.allocation_size()
            + self.direct.capacity() * 4
            + self.recent.capacity() * size_of::<(i64, u32)>()
    }
}

fn hash_of(datum: &Datum) -> u64 {
    let mut hasher = FxHasher::default();
    datum.hash(&mut hasher);
    hasher.finish()
}

/// The keys of a history.
#[derive(Clone, Default, Debug)]
pub struct Keys {
    table: InternTable,
    /// Room for [`Keys::intern_ints`].
    rows: Vec<u32>,
}

impl Keys {
    /// How many different keys there are; ids run from 0 to this.
    pub fn len(&self) -> usize {
        self.table.originals.len()
    }

    /// Whether no key was seen.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key as it was written.
    pub fn original(&self, key: KeyId) -> &Datum {
        &self.table.originals[key.index()]
    }

    /// The id of a key that was seen.
    pub fn get(&self, datum: &Datum) -> Option<KeyId> {
        self.table.get(datum).map(KeyId)
    }

    /// The id of an integer key.
    #[inline]
    pub fn intern_int(&mut self, int: i64) -> KeyId {
        KeyId(self.table.intern_int(int))
    }

    /// The ids of several integer keys, in their order; takes less than one after the other.
    pub fn intern_ints(&mut self, ints: &[i64], ids: &mut Vec<KeyId>) {
        let mut rows = std::mem::take(&mut self.rows);
        self.table.intern_ints(ints, &mut rows);
        ids.clear();
        ids.extend(rows.iter().copied().map(KeyId));
        self.rows = rows;
    }

    /// The id of any key.
    pub fn intern(&mut self, datum: Datum) -> KeyId {
        KeyId(self.table.intern(datum))
    }

    /// The id here of each key of a part of the recording.
    pub(crate) fn absorb(&mut self, part: &Self) -> Vec<KeyId> {
        part.table.originals.iter().map(|original| KeyId(self.table.intern_ref(original))).collect()
    }

    /// All keys in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (KeyId, &Datum)> {
        self.table.originals.iter().enumerate().map(|(index, datum)| (KeyId::from_index(index), datum))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.table.heap_bytes()
    }
}

/// The values of a history that are not small integers; see [`ValueId`].
#[derive(Clone, Debug)]
pub struct Values {
    table: InternTable,
    rows: FlatRows,
}

impl Default for Values {
    fn default() -> Self {
        let mut table = InternTable::default();
        table.intern_hashed(Datum::Nil);
        Self { table, rows: FlatRows::default() }
    }
}

/// Column names or the length of a list, for [`Values::intern_rows`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShapeId(u32);

impl Values {
    /// The value as it was written.
    pub fn original(&self, value: ValueId) -> Datum {
        match value.place() {
            Place::Int(int) => Datum::Int(int),
            Place::Table(index) => self.table.originals[index].clone(),
            Place::Row(number) => self.rows.datum(number),
        }
    }

    /// Whether a value was written like this, without a copy of it.
    pub fn is_original(&self, value: ValueId, datum: &Datum) -> bool {
        match value.place() {
            Place::Int(int) => *datum == Datum::Int(int),
            Place::Table(index) => self.table.originals[index] == *datum,
            Place::Row(number) => self.rows.is_datum(number, datum),
        }
    }

    /// The names and numbers of a value that is a row of integers.
    pub fn row(&self, value: ValueId) -> Option<(&[Datum], &[i64])> {
        match value.place() {
            Place::Row(number) => match self.rows.row(number) {
                (Shape::Columns(names), cells) => Some((names, cells)),
                (Shape::List(_), _) => None,
            },
            Place::Int(_) | Place::Table(_) => None,
        }
    }

    /// All lists of column names that rows have.
    pub fn shapes(&self) -> impl Iterator<Item = Vec<&Datum>> {
        let other_rows = self.table.originals.iter().filter_map(|datum| match datum {
            Datum::Row(columns) => Some(columns.iter().map(|(name, _)| name).collect()),
            _ => None,
        });
        let flat_rows = self.rows.shapes().iter().filter_map(|shape| match shape {
            Shape::Columns(names) => Some(names.iter().collect()),
            Shape::List(_) => None,
        });
        flat_rows.chain(other_rows)
    }

    /// The id of a value that was seen.
    pub fn get(&self, datum: &Datum) -> Option<ValueId> {
        match datum {
            Datum::Int(int) if ValueId::of_small_int(*int).is_some() => ValueId::of_small_int(*int),
            Datum::Row(_) | Datum::List(_) if let Some(number) = self.rows.get(datum) => {
                Some(ValueId::of_row(number))
            }
            _ => self.table.get(datum).map(ValueId::of_table),
        }
    }

    /// The id of an integer value.
    #[inline]
    pub fn intern_int(&mut self, int: i64) -> ValueId {
        ValueId::of_small_int(int).unwrap_or_else(|| self.intern_hashed(Datum::Int(int)))
    }

    /// The id of any value.
    pub fn intern(&mut self, datum: Datum) -> ValueId {
        match datum {
            Datum::Int(int) => self.intern_int(int),
            Datum::Row(_) | Datum::List(_) => {
                let known = if self.rows.is_full(flat::MAX_COLUMNS) {
                    self.rows.get(&datum)
                } else {
                    self.rows.intern(&datum)
                };
                known.map_or_else(|| self.intern_hashed(datum), ValueId::of_row)
            }
            other => self.intern_hashed(other),
        }
    }

    /// The id of column names, if rows of integers with them can be interned as such: they are sorted and not too many.
    pub fn shape(&mut self, names: &[Datum]) -> Option<ShapeId> {
        self.shape_id(&Shape::Columns(names.into()))
    }

    /// The id of lists of so many integers, if these can be interned by [`Values::intern_rows`].
    pub fn list_shape(&mut self, length: usize) -> Option<ShapeId> {
        self.shape_id(&Shape::List(length))
    }

    fn shape_id(&mut self, shape: &Shape) -> Option<ShapeId> {
        self.rows.shape(shape).filter(|_| !self.rows.is_full(flat::MAX_COLUMNS)).map(ShapeId)
    }

    /// The ids of rows of integers, each with as many cells as the shape has names.
    #[inline]
    pub fn intern_rows(&mut self, shape: ShapeId, cells: &[i64], mut found: impl FnMut(ValueId)) {
        assert!(!self.rows.is_full(cells.len()), "more than 2^30 different rows");
        self.rows.intern_all(shape.0, cells, |number| found(ValueId::of_row(number)));
    }

    /// The id here of each value in the table of a part of the recording.
    pub(crate) fn absorb_table(&mut self, part: &Self) -> Vec<ValueId> {
        part.table.originals.iter().map(|original| self.intern(original.clone())).collect()
    }

    /// The id here of each row of integers of a part of the recording.
    pub(crate) fn absorb_rows(&mut self, part: &Self) -> Vec<ValueId> {
        let shapes: Vec<Option<ShapeId>> =
            part.rows.shapes().iter().map(|shape| self.shape_id(shape)).collect();
        let mut ids = Vec::with_capacity(part.rows.len());
        for number in 0..part.rows.len() as u32 {
            match shapes[part.rows.shape_of(number)] {
                Some(shape) => self.intern_rows(shape, part.rows.row(number).1, |id| ids.push(id)),
                None => ids.push(self.intern(part.rows.datum(number))),
            }
        }
        ids
    }

    fn intern_hashed(&mut self, datum: Datum) -> ValueId {
        let row = self.table.intern_hashed(datum);
        assert!(row < ValueId::ROW_BIT, "more than 2^30 different values");
        ValueId::of_table(row)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.table.heap_bytes() + self.rows.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_things_get_equal_ids_and_come_back() {
        let mut values = Values::default();
        let all =
            [Datum::Nil, 7.into(), (-1).into(), (1i64 << 40).into(), "a".into(), Datum::Keyword("a".into())];
        let ids: Vec<_> = all.iter().map(|datum| values.intern(datum.clone())).collect();
        for (datum, &id) in all.iter().zip(&ids) {
            assert_eq!(values.intern(datum.clone()), id);
            assert_eq!(values.get(datum), Some(id));
            assert_eq!(values.original(id), *datum);
        }
        let mut distinct = ids.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(ids[0], ValueId::NIL);
    }

    #[test]
    fn keys_are_dense_in_order_of_appearance() {
        let mut keys = Keys::default();
        assert_eq!(keys.intern_int(1 << 40), KeyId(0));
        assert_eq!(keys.intern_int(5), KeyId(1));
        assert_eq!(keys.intern("x".into()), KeyId(2));
        assert_eq!(keys.intern(Datum::Int(5)), KeyId(1));
        assert_eq!(keys.get(&Datum::Int(1 << 40)), Some(KeyId(0)));
        assert_eq!(keys.get(&Datum::Int(6)), None);
        assert_eq!(keys.len(), 3);
    }

    #[test]
    fn a_large_key_makes_no_large_table_until_there_are_many() {
        let mut keys = Keys::default();
        let large = [4_000_000, 100_000, 5_000];
        large.iter().enumerate().for_each(|(row, &key)| assert_eq!(keys.intern_int(key), KeyId(row as u32)));
        assert!(keys.heap_bytes() < 20_000, "{} bytes", keys.heap_bytes());
        for key in (0..90_000).filter(|key| !large.contains(key)) {
            let id = keys.intern_int(key);
            assert_eq!(keys.get(&Datum::Int(key)), Some(id));
        }
        keys.intern_int(4_000_001);
        assert!(keys.table.direct.len() >= 4_000_000, "many keys are found directly");
        for (row, &key) in large.iter().enumerate() {
            assert_eq!(
                (keys.intern_int(key), keys.get(&Datum::Int(key))),
                (KeyId(row as u32), Some(KeyId(row as u32)))
            );
            assert_eq!(keys.original(KeyId(row as u32)), &Datum::Int(key));
        }
        assert_eq!(keys.len(), 90_003);
    }
}
