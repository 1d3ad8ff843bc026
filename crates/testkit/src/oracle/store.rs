//! What a key can hold, and what is known of its place in the key's version order.

use history::Datum;

/// What a key holds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Cell {
    /// Nothing: never inserted, or deleted without a mark.
    Absent,
    /// An initial value that no read returned.
    Unseen,
    /// A row; a list is a [`Datum::List`].
    Live(Datum),
    /// The mark that a delete left.
    Dead(Datum),
}

impl Cell {
    /// A row with this value; nil is no row.
    pub fn holding(value: Datum) -> Self {
        match value {
            Datum::Nil => Self::Absent,
            value => Self::Live(value),
        }
    }

    /// What a delete leaves.
    pub fn deleted(mark: Option<Datum>) -> Self {
        match mark {
            None | Some(Datum::Nil) => Self::Absent,
            Some(mark) => Self::Dead(mark),
        }
    }

    /// The row, if there is one.
    pub fn row(&self) -> Option<&Datum> {
        match self {
            Self::Live(value) => Some(value),
            _ => None,
        }
    }
}

/// Numbers for cells, so that states are small.
#[derive(Default)]
pub(super) struct Cells(Vec<Cell>);

impl Cells {
    pub fn number(&mut self, cell: Cell) -> u16 {
        let place = self.0.iter().position(|known| *known == cell).unwrap_or_else(|| {
            self.0.push(cell);
            self.0.len() - 1
        });
        u16::try_from(place).expect("fewer than 2^16 different contents")
    }

    /// A list with elements behind it; `None` if the cell is no list.
    pub fn appended(&mut self, number: u16, elements: &[Datum]) -> Option<u16> {
        let mut list = match self.get(number) {
            Cell::Absent => Vec::new(),
            Cell::Live(Datum::List(held)) => held.to_vec(),
            _ => return None,
        };
        list.extend_from_slice(elements);
        Some(self.number(Cell::Live(Datum::List(list.into()))))
    }

    pub fn get(&self, number: u16) -> &Cell {
        &self.0[usize::from(number)]
    }
}

/// A key in the store: what it holds, and what is known of versions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Slot {
    pub cell: u16,
    /// The recorded place of what it holds, once it is known.
    version: Option<i64>,
    /// The greatest recorded place of what it held before.
    before: Option<i64>,
}

impl Slot {
    pub fn initial(cell: u16) -> Self {
        Self { cell, version: None, before: None }
    }

    /// Whether what it holds can have this place, as an operation says.
    pub fn told(&mut self, version: i64) -> bool {
        let is_possible = match self.version {
            Some(known) => known == version,
            None => self.before < Some(version),
        };
        self.version = Some(version);
        is_possible
    }

    /// Something else is stored; whether its place, if recorded, can be its place.
    pub fn overwrite(&mut self, cell: u16, version: Option<i64>) -> bool {
        let before = self.before.max(self.version);
        *self = Self { cell, version: None, before };
        version.is_none_or(|version| self.told(version))
    }
}
