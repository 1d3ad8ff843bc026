//! What a predicate compares: the key, the value, a column, a constant, or the remainder of one of them.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::Datum;

/// Something that has a value for each row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Term {
    /// The key of the row.
    Key,
    /// What the row holds, as a whole.
    Value,
    /// A column of the row. In a row without such a column, `k` is the key; and `v` is the value of a row that has no
    /// columns at all.
    Column(Box<str>),
    /// A constant.
    Constant(Datum),
    /// The remainder after division, which has the sign of the divisor.
    Remainder(Box<Term>, i64),
}

impl Term {
    /// The value for a row; null if there is none.
    pub fn value<'a>(&'a self, key: &'a Datum, row: &'a Datum) -> Cow<'a, Datum> {
        match self {
            Self::Key => Cow::Borrowed(key),
            Self::Value => Cow::Borrowed(row),
            Self::Column(name) => Cow::Borrowed(column(name, key, row)),
            Self::Constant(datum) => Cow::Borrowed(datum),
            Self::Remainder(inner, divisor) => Cow::Owned(remainder(&inner.value(key, row), *divisor)),
        }
    }
}

/// A column of a row by its name, as [`Term::Column`] says.
pub(super) fn column<'a>(name: &str, key: &'a Datum, row: &'a Datum) -> &'a Datum {
    let is_scalar = !matches!(row, Datum::Row(_));
    match row.column(name) {
        Some(value) => value,
        None if name == "k" => key,
        None if name == "v" && is_scalar => row,
        None => &Datum::Nil,
    }
}

fn remainder(datum: &Datum, divisor: i64) -> Datum {
    let number = match datum {
        Datum::Int(int) => i128::from(*int),
        Datum::BigInt(digits) => match digits.parse() {
            Ok(number) => number,
            Err(_) => return Datum::Nil,
        },
        _ => return Datum::Nil,
    };
    let divisor = i128::from(divisor);
    match divisor {
        0 => Datum::Nil,
        _ => Datum::Int((((number % divisor) + divisor) % divisor) as i64),
    }
}

/// The order of two values; none if one is null, or if they are of different kinds.
///
/// Numbers compare by size, whatever their type; texts by bytes.
pub(super) fn compare(left: &Datum, right: &Datum) -> Option<Ordering> {
    use Datum::{BigInt, Bool, Float, Int, Keyword, List, Row, Str, Symbol, Tagged};
    match (left, right) {
        (Int(left), Int(right)) => Some(left.cmp(right)),
        (Int(left), Float(right)) => compare_with_float(*left, f64::from_bits(*right)),
        (Float(left), Int(right)) => compare_with_float(*right, f64::from_bits(*left)).map(Ordering::reverse),
        (Float(left), Float(right)) => f64::from_bits(*left).partial_cmp(&f64::from_bits(*right)),
        (BigInt(digits), Float(bits)) => digits.parse::<f64>().ok()?.partial_cmp(&f64::from_bits(*bits)),
        (Float(bits), BigInt(digits)) => f64::from_bits(*bits).partial_cmp(&digits.parse::<f64>().ok()?),
        (Int(_) | BigInt(_), Int(_) | BigInt(_))
        | (Bool(_), Bool(_))
        | (Str(_), Str(_))
        | (Keyword(_), Keyword(_))
        | (Symbol(_), Symbol(_))
        | (List(_), List(_))
        | (Row(_), Row(_))
        | (Tagged(_), Tagged(_)) => Some(left.cmp(right)),
        _ => None,
    }
}

/// An integer and a float, exactly: not every integer is a float.
fn compare_with_float(int: i64, float: f64) -> Option<Ordering> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() {
        return None;
    }
    if float >= LIMIT {
        return Some(Ordering::Less);
    }
    if float < -LIMIT {
        return Some(Ordering::Greater);
    }
    let whole = float.trunc();
    let by_whole = int.cmp(&(whole as i64));
    Some(by_whole.then_with(|| whole.partial_cmp(&float).unwrap_or(Ordering::Equal)))
}
