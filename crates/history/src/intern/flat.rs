//! Rows and short lists of integers without a box for each name and each column.
//!
//! The rows of a table have few shapes (lists of column names) and mostly integers in them, and there may be millions.
//! As a [`Datum`] each costs three allocations and half a dozen cache misses to compare; here it is its cells behind
//! each other, and a look-up touches the hash table and the cells. A list is a row without names: the versions of a
//! Cobra log are lists of three integers. Rows with anything else in them are not flat, and which rows are flat depends
//! on nothing but the row, so equal rows have equal numbers.

use crate::Datum;
use slots::Slots;

mod slots;

/// A row has at most so many columns, and the rows of a history so many shapes.
pub(super) const MAX_COLUMNS: usize = 32;
const MAX_SHAPES: usize = 256;
/// Rows that are looked up side by side.
const AT_ONCE: usize = 64;

/// What the cells of a row are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// Columns with these names, which are sorted.
    Columns(Box<[Datum]>),
    /// So many elements of a list.
    List(usize),
}

impl Shape {
    fn width(&self) -> usize {
        match self {
            Self::Columns(names) => names.len(),
            Self::List(length) => *length,
        }
    }

    fn is_possible(&self) -> bool {
        let is_sorted = match self {
            Self::Columns(names) => names.is_sorted_by(|left, right| left < right),
            Self::List(_) => true,
        };
        is_sorted && (1..=MAX_COLUMNS).contains(&self.width())
    }
}

/// Rows of integers by their numbers.
#[derive(Clone, Default, Debug)]
pub(super) struct FlatRows {
    shapes: Vec<Shape>,
    /// For each row its shape and the place of its first cell; empty while there is one shape.
    places: Vec<(u32, u32)>,
    cells: Vec<i64>,
    count: usize,
    numbers: Slots,
}

impl FlatRows {
    /// The number of a row, if it is flat.
    pub fn intern(&mut self, datum: &Datum) -> Option<u32> {
        let (shape, cells) = flatten(datum)?;
        let shape = self.shape(&shape)?;
        let mut number = 0;
        self.intern_all(shape, &cells, |found| number = found);
        Some(number)
    }

    /// The number of a row that was seen.
    pub fn get(&self, datum: &Datum) -> Option<u32> {
        let (shape, cells) = flatten(datum)?;
        let shape = self.find_shape(&shape)?;
        self.find(hash_of(shape, &cells), shape, &cells)
    }

    /// The number of a shape; none if its names are not sorted, or there are too many.
    pub fn shape(&mut self, shape: &Shape) -> Option<u32> {
        if let Some(number) = self.find_shape(shape) {
            return Some(number);
        }
        if !shape.is_possible() || self.shapes.len() == MAX_SHAPES {
            return None;
        }
        if self.shapes.len() == 1 {
            self.places = (0..self.count as u32).map(|number| self.place(number)).collect();
        }
        self.shapes.push(shape.clone());
        Some(self.shapes.len() as u32 - 1)
    }

    fn find_shape(&self, shape: &Shape) -> Option<u32> {
        self.shapes.iter().position(|known| known == shape).map(|number| number as u32)
    }

    /// The numbers of rows of a shape, whose cells are behind each other.
    ///
    /// Where a row is in the hash table and whether its cells are equal are two waits for memory, and parsing between
    /// them kept the processor from having many at a time. So the rows of an answer are looked up side by side.
    pub fn intern_all(&mut self, shape: u32, cells: &[i64], mut found: impl FnMut(u32)) {
        let width = self.shapes[shape as usize].width();
        let mut hashes = [0; AT_ONCE];
        for some in cells.chunks(AT_ONCE * width) {
            let hashes = &mut hashes[..some.len() / width];
            self.numbers.reserve(hashes.len());
            for (hash, row) in hashes.iter_mut().zip(some.chunks_exact(width)) {
                *hash = hash_of(shape, row);
            }
            self.fetch(hashes);
            for (hash, row) in hashes.iter().zip(some.chunks_exact(width)) {
                found(self.intern_row(*hash, shape, row));
            }
        }
    }

    /// Brings what will be looked up near to the processor.
    fn fetch(&self, hashes: &[u32]) {
        let fetched = hashes.iter().fold(0, |all, &hash| all ^ self.numbers.fetch(hash));
        let cell = |number: u32| self.cells[self.place(number).1 as usize];
        let cells = hashes.iter().filter_map(|&hash| self.numbers.likely(hash)).map(cell);
        std::hint::black_box(cells.fold(fetched as i64, |all, cell| all ^ cell));
    }

    fn intern_row(&mut self, hash: u32, shape: u32, row: &[i64]) -> u32 {
        if let Some(number) = self.find(hash, shape, row) {
            return number;
        }
        let number = self.count as u32;
        if self.shapes.len() > 1 {
            self.places.push((shape, self.cells.len() as u32));
        }
        self.cells.extend_from_slice(row);
        self.count += 1;
        self.numbers.insert(hash, number);
        number
    }

    fn find(&self, hash: u32, shape: u32, row: &[i64]) -> Option<u32> {
        self.numbers.find(hash, |number| {
            let (of, start) = self.place(number);
            of == shape && self.cells[start as usize..].iter().zip(row).all(|(left, right)| left == right)
        })
    }

    /// The shape of a row and the place of its first cell.
    #[inline]
    fn place(&self, number: u32) -> (u32, u32) {
        match self.places.get(number as usize) {
            Some(&place) => place,
            None => (0, number * self.shapes[0].width() as u32),
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The place of a row's shape among all shapes.
    pub fn shape_of(&self, number: u32) -> usize {
        self.place(number).0 as usize
    }

    /// The shape and the cells of a row.
    pub fn row(&self, number: u32) -> (&Shape, &[i64]) {
        let (shape, start) = self.place(number);
        let shape = &self.shapes[shape as usize];
        (shape, &self.cells[start as usize..][..shape.width()])
    }

    pub fn datum(&self, number: u32) -> Datum {
        let (shape, cells) = self.row(number);
        let cells = cells.iter().map(|&cell| Datum::Int(cell));
        match shape {
            Shape::Columns(names) => Datum::Row(names.iter().cloned().zip(cells).collect()),
            Shape::List(_) => Datum::List(cells.collect()),
        }
    }

    /// Whether a row is this, without a copy of it.
    pub fn is_datum(&self, number: u32, datum: &Datum) -> bool {
        let (shape, cells) = self.row(number);
        let is_cell = |value: &Datum, cell: &i64| *value == Datum::Int(*cell);
        match (shape, datum) {
            (Shape::Columns(names), Datum::Row(columns)) => {
                let is_column = |(((name, value), known), cell): (((&Datum, &Datum), &Datum), &i64)| {
                    name == known && is_cell(value, cell)
                };
                let named = columns.iter().map(|(name, value)| (name, value));
                columns.len() == names.len() && named.zip(names).zip(cells).all(is_column)
            }
            (Shape::List(length), Datum::List(elements)) => {
                elements.len() == *length
                    && elements.iter().zip(cells).all(|(element, cell)| is_cell(element, cell))
            }
            _ => false,
        }
    }

    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// Whether so many more cells may have no place.
    pub fn is_full(&self, more: usize) -> bool {
        self.cells.len() + more > u32::MAX as usize || self.count + more > 1 << 30
    }

    pub fn heap_bytes(&self) -> usize {
        self.places.capacity() * 8 + self.cells.capacity() * 8 + self.numbers.heap_bytes()
    }
}

fn flatten(datum: &Datum) -> Option<(Shape, Vec<i64>)> {
    let cell = |value: &Datum| match value {
        Datum::Int(int) => Some(*int),
        _ => None,
    };
    match datum {
        Datum::Row(columns) => {
            let cells = columns.iter().map(|(_, value)| cell(value)).collect::<Option<_>>()?;
            Some((Shape::Columns(columns.iter().map(|(name, _)| name.clone()).collect()), cells))
        }
        Datum::List(elements) if elements.len() <= MAX_COLUMNS => {
            Some((Shape::List(elements.len()), elements.iter().map(cell).collect::<Option<_>>()?))
        }
        _ => None,
    }
}

fn hash_of(shape: u32, cells: &[i64]) -> u32 {
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |hash: u64, &cell: &i64| (hash.rotate_left(23) ^ cell as u64).wrapping_mul(MULTIPLIER);
    (cells.iter().fold(u64::from(shape), mix) >> 32) as u32
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
            let datum = match number % 5 {
                0 => row(&[("v1", number), ("v2", -number)]),
                1 => row(&[("v1", number)]),
                2 => Datum::List(Box::new([number.into(), 1.into()])),
                3 => Datum::List(Box::new([number.into()])),
                _ => row(&[("v2", number)]),
            };
            known.push((rows.intern(&datum).expect("rows of integers are flat"), datum));
        }
        for (number, datum) in &known {
            assert_eq!(rows.intern(datum), Some(*number));
            assert_eq!(rows.get(datum), Some(*number));
            assert_eq!(rows.datum(*number), *datum);
            assert!(rows.is_datum(*number, datum));
            assert!(known.iter().filter(|(_, other)| rows.is_datum(*number, other)).count() == 1);
        }
        assert_eq!(rows.count, known.len());
    }

    #[test]
    fn rows_of_other_things_are_not_flat() {
        let mut rows = FlatRows::default();
        for datum in [
            Datum::Nil,
            Datum::Int(1),
            row(&[]),
            Datum::List(Box::new([])),
            Datum::List(Box::new([1.into(), "text".into()])),
            Datum::List(vec![1.into(); MAX_COLUMNS + 1].into()),
            Datum::row(vec![("v".into(), Datum::Nil)]),
            Datum::row(vec![("v".into(), "text".into())]),
            Datum::row(vec![("v".into(), row(&[("w", 1)]))]),
        ] {
            assert_eq!(rows.intern(&datum), None, "{datum}");
        }
        assert_eq!(rows.shape(&Shape::Columns(["b".into(), "a".into()].into())), None);
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
