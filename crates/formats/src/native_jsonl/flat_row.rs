//! Rows of integers, read without a detour: `{"row":[["v1",6624],["v2",10053]]}`.
//!
//! The rows of a recording have the names of the one before nearly always. So the names are compared byte by byte with
//! those that were read last, the integers between them are read, and nothing is allocated. Whatever looks otherwise is
//! left to the general reader, which also says what is wrong with it.

use history::{Builder, Datum, ShapeId, ValueId};

/// The names of the row that was read last.
#[derive(Default)]
pub(crate) struct LastRow {
    names: Vec<Box<[u8]>>,
    shape: Option<ShapeId>,
    cells: Vec<i64>,
}

impl LastRow {
    /// Reads a row with the names of the last one; gives its id and its length.
    #[inline]
    pub fn read(&mut self, builder: &mut Builder, text: &[u8]) -> Option<(ValueId, usize)> {
        let shape = self.shape?;
        let mut rest = text.strip_prefix(b"{\"row\":[")?;
        self.cells.clear();
        for (place, name) in self.names.iter().enumerate() {
            rest = rest.strip_prefix(if place == 0 { &b"[\""[..] } else { &b",[\""[..] })?;
            rest = rest.strip_prefix(&**name)?.strip_prefix(b"\",")?;
            let (cell, digits) = small_int(rest)?;
            self.cells.push(cell);
            rest = rest[digits..].strip_prefix(b"]")?;
        }
        rest = rest.strip_prefix(b"]}")?;
        Some((builder.values.intern_row(shape, &self.cells), text.len() - rest.len()))
    }

    /// Remembers the names of a row.
    pub fn remember(&mut self, builder: &mut Builder, value: ValueId) {
        let Some((names, _)) = builder.values.row(value) else { return };
        let names = names.to_vec();
        let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
        let spelled = |name: &Datum| match name {
            Datum::Str(text) if text.bytes().all(is_plain) => Some(text.as_bytes().into()),
            _ => None,
        };
        if let Some(spelled) = names.iter().map(spelled).collect() {
            self.names = spelled;
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
