//! Rows of integers, read without a detour: `{"row":[["v1",6624],["v2",10053]]}`.
//!
//! The rows of a recording have the names of the one before nearly always. So what is between the integers is compared
//! with what was there last, the integers are read, and nothing is allocated. The rows of an answer get their ids
//! together, which is much faster than one by one. Whatever looks otherwise is left to the general reader, which also
//! says what is wrong with it.

use history::{Builder, Datum, Row, ShapeId, ValueId};

/// What a row looks like, and rows that look so.
#[derive(Default)]
pub(crate) struct RowReader {
    shape: Option<ShapeId>,
    /// What is before each integer.
    before: Vec<Box<[u8]>>,
    /// The integers of rows that have no id yet.
    cells: Vec<i64>,
    waiting: usize,
    /// Room for the rows of an answer, kept from one to the next.
    pub room: Vec<Row>,
}

impl RowReader {
    /// Reads a row that looks like the last one; gives its length. Its id comes with [`Self::assign`].
    #[inline]
    pub fn read(&mut self, text: &[u8]) -> Option<usize> {
        self.shape?;
        let known = self.cells.len();
        let length = self.read_cells(text);
        match length {
            Some(_) => self.waiting += 1,
            None => self.cells.truncate(known),
        }
        length
    }

    #[inline]
    fn read_cells(&mut self, text: &[u8]) -> Option<usize> {
        let mut rest = text;
        for before in &self.before {
            rest = rest.strip_prefix(&**before)?;
            let (cell, digits) = small_int(rest)?;
            self.cells.push(cell);
            rest = &rest[digits..];
        }
        rest = rest.strip_prefix(b"]]}")?;
        Some(text.len() - rest.len())
    }

    /// Gives the last rows their ids, as many as were read.
    pub fn assign(&mut self, builder: &mut Builder, rows: &mut [Row]) {
        if let Some(shape) = self.shape {
            let first = rows.len() - self.waiting;
            let mut rows = rows[first..].iter_mut();
            builder.values.intern_rows(shape, &self.cells, |value| {
                rows.next().expect("as many rows as were read").value = value;
            });
        }
        self.forget();
    }

    /// Forgets rows that have no id.
    pub fn forget(&mut self) {
        self.cells.clear();
        self.waiting = 0;
    }

    /// Remembers what a row looks like.
    pub fn remember(&mut self, builder: &mut Builder, value: ValueId) {
        let Some((names, _)) = builder.values.row(value) else { return };
        let names = names.to_vec();
        let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
        let before = |(place, name): (usize, &Datum)| match name {
            Datum::Str(text) if text.bytes().all(is_plain) => {
                let start = if place == 0 { "{\"row\":[" } else { "]," };
                Some(format!("{start}[\"{text}\",").into_bytes().into())
            }
            _ => None,
        };
        if let Some(before) = names.iter().enumerate().map(before).collect() {
            self.before = before;
            self.shape = builder.values.shape(&names);
        }
    }
}

/// An integer of at most 18 digits, and its length.
#[inline]
fn small_int(text: &[u8]) -> Option<(i64, usize)> {
    let sign = usize::from(text.first() == Some(&b'-'));
    let digits = text[sign..].iter().take(19).take_while(|byte| byte.is_ascii_digit()).count();
    let is_plain = (1..=18).contains(&digits) && (digits == 1 || text[sign] != b'0');
    let is_followed = text.get(sign + digits) == Some(&b']');
    if !is_plain || !is_followed || sign == 1 && text[1] == b'0' {
        return None;
    }
    let value = text[sign..sign + digits].iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    Some((if sign == 1 { -value } else { value }, sign + digits))
}
