//! Rows as bytes, for stores of bytes: keys in the order of their values, so that a scan is a range.
//!
//! A key is the name of its table, a zero, and the key itself: an integer with its sign turned around, big end first, or
//! a text as it is. A row is its columns one after the other, an integer as 8 bytes, a text with its length before it.

use std::ops::Bound as RangeBound;

use history::{Bound, Datum};

use crate::catalog::Shape;
use crate::{ColumnType, Failure};

/// Both ends of a range of keys.
pub(crate) type Ends = (RangeBound<Vec<u8>>, RangeBound<Vec<u8>>);

const SIGN: u64 = 1 << 63;

/// The bytes of a key.
pub(crate) fn key(shape: &Shape, key: &Datum) -> Result<Vec<u8>, Failure> {
    let mut bytes = prefix(shape, 0);
    match (shape.key, key) {
        (ColumnType::Int, Datum::Int(int)) => bytes.extend((*int as u64 ^ SIGN).to_be_bytes()),
        (ColumnType::Text, Datum::Str(text)) => bytes.extend(text.as_bytes()),
        (kind, other) => return Err(wrong_type(shape, "k", kind, other)),
    }
    Ok(bytes)
}

/// The key of bytes, which [`key`] made.
pub(crate) fn key_from(shape: &Shape, bytes: &[u8]) -> Result<Datum, Failure> {
    let rest = bytes.get(shape.name.len() + 1..).ok_or_else(|| damaged(shape))?;
    match shape.key {
        ColumnType::Int => {
            let eight = rest.try_into().map_err(|_| damaged(shape))?;
            Ok(Datum::Int((u64::from_be_bytes(eight) ^ SIGN) as i64))
        }
        ColumnType::Text => text(shape, rest),
    }
}

/// The bytes of a row.
pub(crate) fn row(shape: &Shape, row: &[Datum]) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::with_capacity(16 * row.len());
    for ((name, kind), value) in shape.columns.iter().zip(row) {
        match (kind, value) {
            (ColumnType::Int, Datum::Int(int)) => bytes.extend(int.to_be_bytes()),
            (ColumnType::Text, Datum::Str(text)) => {
                bytes.extend((text.len() as u64).to_be_bytes());
                bytes.extend(text.as_bytes());
            }
            (kind, other) => return Err(wrong_type(shape, name, *kind, other)),
        }
    }
    Ok(bytes)
}

/// The row of bytes, which [`row`] made.
pub(crate) fn row_from(shape: &Shape, bytes: &[u8]) -> Result<Vec<Datum>, Failure> {
    let mut rest = bytes;
    let mut take = |count: usize| -> Result<&[u8], Failure> {
        let (taken, left) = rest.split_at_checked(count).ok_or_else(|| damaged(shape))?;
        rest = left;
        Ok(taken)
    };
    let column = |(_, kind): &(String, ColumnType)| {
        let number = i64::from_be_bytes(take(8)?.try_into().expect("eight bytes"));
        match kind {
            ColumnType::Int => Ok(Datum::Int(number)),
            ColumnType::Text => text(shape, take(number as usize)?),
        }
    };
    shape.columns.iter().map(column).collect()
}

/// The range of bytes between two keys of a table; `None` if nothing can lie between them.
pub(crate) fn range(shape: &Shape, from: &Bound, to: &Bound) -> Result<Option<Ends>, Failure> {
    let from = match from {
        Bound::Unbounded => RangeBound::Included(prefix(shape, 0)),
        Bound::Included(at) => RangeBound::Included(key(shape, at)?),
        Bound::Excluded(at) => RangeBound::Excluded(key(shape, at)?),
    };
    let to = match to {
        // The keys of the table follow a zero: they all come before this.
        Bound::Unbounded => RangeBound::Excluded(prefix(shape, 1)),
        Bound::Included(at) => RangeBound::Included(key(shape, at)?),
        Bound::Excluded(at) => RangeBound::Excluded(key(shape, at)?),
    };
    let is_empty = match (&from, &to) {
        (RangeBound::Included(from), RangeBound::Included(to)) => from > to,
        (
            RangeBound::Included(from) | RangeBound::Excluded(from),
            RangeBound::Included(to) | RangeBound::Excluded(to),
        ) => from >= to,
        _ => false,
    };
    Ok((!is_empty).then_some((from, to)))
}

/// The name of the table with a byte behind it that no name holds.
fn prefix(shape: &Shape, end: u8) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(shape.name.len() + 9);
    bytes.extend(shape.name.as_bytes());
    bytes.push(end);
    bytes
}

fn text(shape: &Shape, bytes: &[u8]) -> Result<Datum, Failure> {
    std::str::from_utf8(bytes).map(Datum::str).map_err(|_| damaged(shape))
}

fn wrong_type(shape: &Shape, column: &str, kind: ColumnType, found: &Datum) -> Failure {
    let kind = if kind == ColumnType::Int { "integer" } else { "text" };
    Failure::refused(format!("{}.{column}: {found} is no {kind}", shape.name))
}

fn damaged(shape: &Shape) -> Failure {
    Failure::refused(format!(
        "table {}: the store returned bytes that isoscope did not put there",
        shape.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(key: ColumnType) -> Shape {
        let columns = vec![("n".into(), ColumnType::Int), ("t".into(), ColumnType::Text)];
        Shape { name: "a".into(), key, columns, keeps_old: false }
    }

    #[test]
    fn keys_keep_their_order_and_come_back() {
        let ints = [i64::MIN, -256, -1, 0, 1, 255, 256, i64::MAX].map(Datum::Int);
        let texts = ["", "\0", "a", "a\0", "aa", "b", "é", "\u{10ffff}"].map(Datum::from);
        for (kind, keys) in [(ColumnType::Int, ints), (ColumnType::Text, texts)] {
            let shape = shape(kind);
            let bytes: Vec<_> = keys.iter().map(|one| key(&shape, one).unwrap()).collect();
            assert!(bytes.is_sorted(), "{bytes:?}");
            for (bytes, key) in bytes.iter().zip(&keys) {
                assert_eq!(key_from(&shape, bytes).unwrap(), *key);
            }
            let (RangeBound::Included(from), RangeBound::Excluded(to)) =
                range(&shape, &Bound::Unbounded, &Bound::Unbounded).unwrap().unwrap()
            else {
                panic!("the whole table")
            };
            assert!(bytes.iter().all(|bytes| *bytes >= from && *bytes < to));
            let longer = Shape { name: "aa".into(), ..shape };
            let other = prefix(&longer, 0);
            assert!(other < from || other >= to, "tables do not overlap");
        }
    }

    #[test]
    fn rows_come_back_and_damage_is_noticed() {
        let shape = shape(ColumnType::Int);
        let held = vec![Datum::Int(-5), Datum::from("é,7")];
        let bytes = row(&shape, &held).unwrap();
        assert_eq!(row_from(&shape, &bytes).unwrap(), held);
        for end in 0..bytes.len() {
            assert!(row_from(&shape, &bytes[..end]).is_err());
        }
        assert!(row_from(&shape, &[0xff; 30]).is_err());
        assert!(row(&shape, &["x".into(), "y".into()]).is_err());
    }
}
