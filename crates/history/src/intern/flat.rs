//! Rows of integers without a box for each name and each column.
//!
//! The rows of a table have few shapes (lists of column names) and mostly integers in them, and there may be millions.
//! As a [`Datum`] each costs three allocations and half a dozen cache misses to compare; here it is its cells behind
//! each other, and a look-up touches the hash table and the cells. Rows with anything else in them are not flat, and
//! which rows are flat depends on nothing but the row, so equal rows have equal numbers.

use hashbrown::HashTable;

use crate::Datum;

/// A row has at most so many columns, and the rows of a history so many shapes.
const MAX_COLUMNS: usize = 32;
const MAX_SHAPES: usize = 256;

/// Rows of integers by their numbers.
#[derive(Clone, Default, Debug)]
pub(super) struct FlatRows {
    /// The names of the columns, sorted.
    shapes: Vec<Box<[Datum]>>,
    /// For each row its shape and the place of its first cell.
    rows: Vec<(u32, u32)>,
    cells: Vec<i64>,
    numbers: HashTable<u32>,
}

impl FlatRows {
    /// The number of a row, if it is flat.
    pub fn intern(&mut self, datum: &Datum) -> Option<u32> {
        let (names, cells) = flatten(datum)?;
        let shape = self.shape(&names)?;
        Some(self.intern_cells(shape, &cells))
    }

    /// The number of a row that was seen.
    pub fn get(&self, datum: &Datum) -> Option<u32> {
        let (names, cells) = flatten(datum)?;
        let shape = self.find_shape(&names)?;
        self.find(shape, &cells)
    }

    /// The number of a shape; none if the names are not sorted, or there are too many.
    pub fn shape(&mut self, names: &[Datum]) -> Option<u32> {
        if let Some(shape) = self.find_shape(names) {
            return Some(shape);
        }
        let is_shape = !names.is_empty()
            && names.len() <= MAX_COLUMNS
            && self.shapes.len() < MAX_SHAPES
            && names.is_sorted_by(|left, right| left < right);
        is_shape.then(|| {
            self.shapes.push(names.into());
            self.shapes.len() as u32 - 1
        })
    }

    fn find_shape(&self, names: &[Datum]) -> Option<u32> {
        self.shapes.iter().position(|shape| **shape == *names).map(|shape| shape as u32)
    }

    /// The number of a row of a shape.
    pub fn intern_cells(&mut self, shape: u32, cells: &[i64]) -> u32 {
        if let Some(number) = self.find(shape, cells) {
            return number;
        }
        let number = self.rows.len() as u32;
        self.rows.push((shape, self.cells.len() as u32));
        self.cells.extend_from_slice(cells);
        if self.numbers.len() == self.numbers.capacity() {
            self.grow();
        }
        self.numbers.insert_unique(hash_of(shape, cells), number, |_| unreachable!("there is room"));
        number
    }

    /// Enlarges the hash table in the order of the rows, so that their cells are read one after the other.
    #[cold]
    fn grow(&mut self) {
        let mut numbers = HashTable::with_capacity((self.rows.len() * 2).max(16));
        for (number, &(shape, start)) in self.rows.iter().enumerate().take(self.numbers.len()) {
            let cells = &self.cells[start as usize..][..self.shapes[shape as usize].len()];
            numbers.insert_unique(hash_of(shape, cells), number as u32, |_| unreachable!("there is room"));
        }
        self.numbers = numbers;
    }

    fn find(&self, shape: u32, cells: &[i64]) -> Option<u32> {
        let hash = hash_of(shape, cells);
        let is_equal =
            |start: usize| self.cells[start..].iter().zip(cells).all(|(left, right)| left == right);
        if self.shapes.len() == 1 {
            // All rows are equally long: their places need no look-up.
            return self.numbers.find(hash, |&number| is_equal(number as usize * cells.len())).copied();
        }
        let is_same = |&number: &u32| {
            let (of, start) = self.rows[number as usize];
            of == shape && is_equal(start as usize)
        };
        self.numbers.find(hash, is_same).copied()
    }

    /// The names and cells of a row.
    pub fn row(&self, number: u32) -> (&[Datum], &[i64]) {
        let (shape, start) = self.rows[number as usize];
        let names = &self.shapes[shape as usize];
        (names, &self.cells[start as usize..][..names.len()])
    }

    pub fn datum(&self, number: u32) -> Datum {
        let (names, cells) = self.row(number);
        Datum::Row(names.iter().cloned().zip(cells.iter().map(|&cell| Datum::Int(cell))).collect())
    }

    pub fn shapes(&self) -> impl Iterator<Item = &[Datum]> {
        self.shapes.iter().map(|names| &**names)
    }

    /// Whether no more cells have a place.
    pub fn is_full(&self) -> bool {
        self.cells.len() > u32::MAX as usize - MAX_COLUMNS || self.rows.len() >= 1 << 30
    }

    pub fn heap_bytes(&self) -> usize {
        self.rows.capacity() * 8 + self.cells.capacity() * 8 + self.numbers.allocation_size()
    }
}

fn flatten(datum: &Datum) -> Option<(Vec<Datum>, Vec<i64>)> {
    let Datum::Row(columns) = datum else { return None };
    let cell = |(_, value): &(Datum, Datum)| match value {
        Datum::Int(int) => Some(*int),
        _ => None,
    };
    let cells = columns.iter().map(cell).collect::<Option<Vec<i64>>>()?;
    Some((columns.iter().map(|(name, _)| name.clone()).collect(), cells))
}

fn hash_of(shape: u32, cells: &[i64]) -> u64 {
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |hash: u64, &cell: &i64| (hash.rotate_left(23) ^ cell as u64).wrapping_mul(MULTIPLIER);
    let hash = cells.iter().fold(u64::from(shape), mix);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(columns: &[(&str, i64)]) -> Datum {
        Datum::row(columns.iter().map(|&(name, value)| (name.into(), value.into())).collect())
    }

    #[test]
    fn equal_rows_have_equal_numbers_and_come_back() {
        let mut rows = FlatRows::default();
        let mut known = Vec::new();
        for number in 0..1000 {
            let datum = match number % 3 {
                0 => row(&[("v1", number), ("v2", -number)]),
                1 => row(&[("v1", number)]),
                _ => row(&[("v2", number)]),
            };
            known.push((rows.intern(&datum).expect("rows of integers are flat"), datum));
        }
        for (number, datum) in &known {
            assert_eq!(rows.intern(datum), Some(*number));
            assert_eq!(rows.get(datum), Some(*number));
            assert_eq!(rows.datum(*number), *datum);
        }
        assert_eq!(rows.rows.len(), known.len());
    }

    #[test]
    fn rows_of_other_things_are_not_flat() {
        let mut rows = FlatRows::default();
        for datum in [
            Datum::Nil,
            Datum::Int(1),
            row(&[]),
            Datum::row(vec![("v".into(), Datum::Nil)]),
            Datum::row(vec![("v".into(), "text".into())]),
            Datum::row(vec![("v".into(), row(&[("w", 1)]))]),
        ] {
            assert_eq!(rows.intern(&datum), None, "{datum}");
        }
        assert_eq!(rows.shape(&["b".into(), "a".into()]), None);
    }

    #[test]
    fn where_there_are_too_many_shapes_rows_stay_as_they_are() {
        let mut rows = FlatRows::default();
        let named = |number: usize| Datum::row(vec![(format!("c{number}").as_str().into(), 1.into())]);
        for number in 0..MAX_SHAPES {
            assert_eq!(rows.intern(&named(number)), Some(number as u32));
        }
        assert_eq!(rows.intern(&named(MAX_SHAPES)), None);
        assert_eq!(rows.get(&named(MAX_SHAPES)), None);
        assert_eq!(rows.intern(&named(3)), Some(3));
    }
}
