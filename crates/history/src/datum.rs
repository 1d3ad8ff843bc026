//! A key or value as the input wrote it, kept for printing and for order comparisons.

use std::cmp::Ordering;
use std::fmt;

/// A key or a value of any type that the formats know.
///
/// Equality is equality of the observed thing: `1` and `"1"` differ, and so do `"a"` and `:a`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Datum {
    /// Null, nil, or an absent key.
    Nil,
    /// A truth value.
    Bool(bool),
    /// An integer that fits in 64 bits.
    Int(i64),
    /// A larger integer, in canonical decimal text (no leading zeros, no plus sign).
    BigInt(Box<str>),
    /// A floating-point number by its bits, so that equality is exact.
    Float(u64),
    /// A string.
    Str(Box<str>),
    /// A keyword, without its colon.
    Keyword(Box<str>),
    /// A bare symbol.
    Symbol(Box<str>),
    /// A vector, list or tuple.
    List(Box<[Datum]>),
    /// A map or a row of named columns, sorted by name and without repeated names.
    Row(Box<[(Datum, Datum)]>),
    /// A tagged form, such as `#inst "..."`.
    Tagged(Box<(Box<str>, Datum)>),
}

impl Datum {
    /// A string.
    pub fn str(text: impl Into<Box<str>>) -> Self {
        Self::Str(text.into())
    }

    /// A float; a float is never equal to an integer.
    pub fn float(number: f64) -> Self {
        Self::Float(number.to_bits())
    }

    /// An unsigned integer, which may not fit in 64 signed bits.
    pub fn uint(number: u64) -> Self {
        i64::try_from(number).map_or_else(|_| Self::BigInt(number.to_string().into()), Self::Int)
    }

    /// An integer from decimal digits with an optional sign, or `None` if the text is something else.
    pub fn int_from_decimal(text: &str) -> Option<Self> {
        if let Ok(int) = text.parse::<i64>() {
            return Some(Self::Int(int));
        }
        let (sign, digits) = match text.as_bytes().first()? {
            b'-' => ("-", &text[1..]),
            b'+' => ("", &text[1..]),
            _ => ("", text),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = digits.trim_start_matches('0');
        let canonical = format!("{sign}{digits}");
        Some(canonical.parse().map_or_else(|_| Self::BigInt(canonical.into()), Self::Int))
    }

    /// A row from its columns; of two columns of one name the later one stays.
    pub fn row(mut columns: Vec<(Datum, Datum)>) -> Self {
        if columns.is_sorted_by(|left, right| left.0 < right.0) {
            return Self::Row(columns.into());
        }
        columns.reverse();
        columns.sort_by(|left, right| left.0.cmp(&right.0));
        columns.dedup_by(|later, earlier| later.0 == earlier.0);
        Self::Row(columns.into())
    }

    /// The value of a named column of a row.
    pub fn column(&self, name: &str) -> Option<&Datum> {
        let Self::Row(columns) = self else { return None };
        let named = |datum: &Datum| matches!(datum, Self::Str(text) | Self::Keyword(text) | Self::Symbol(text) if **text == *name);
        columns.iter().find(|(column, _)| named(column)).map(|(_, value)| value)
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Nil => 0,
            Self::Bool(_) => 1,
            Self::Int(_) | Self::BigInt(_) | Self::Float(_) => 2,
            Self::Str(_) => 3,
            Self::Keyword(_) => 4,
            Self::Symbol(_) => 5,
            Self::List(_) => 6,
            Self::Row(_) => 7,
            Self::Tagged(_) => 8,
        }
    }
}

impl From<i64> for Datum {
    fn from(int: i64) -> Self {
        Self::Int(int)
    }
}

impl From<&str> for Datum {
    fn from(text: &str) -> Self {
        Self::str(text)
    }
}

impl PartialOrd for Datum {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Numbers by size, texts by bytes, and things of different kinds by kind: what a range of keys is measured with.
impl Ord for Datum {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(left), Self::Bool(right)) => left.cmp(right),
            (Self::Str(left), Self::Str(right))
            | (Self::Keyword(left), Self::Keyword(right))
            | (Self::Symbol(left), Self::Symbol(right)) => left.cmp(right),
            (Self::List(left), Self::List(right)) => left.cmp(right),
            (Self::Row(left), Self::Row(right)) => left.cmp(right),
            (Self::Tagged(left), Self::Tagged(right)) => left.cmp(right),
            _ if self.rank() == 2 && other.rank() == 2 => compare_numbers(self, other),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

fn compare_numbers(left: &Datum, right: &Datum) -> Ordering {
    match (left, right) {
        (Datum::Int(left), Datum::Int(right)) => left.cmp(right),
        (Datum::BigInt(left), Datum::BigInt(right)) => compare_big(left, right),
        (Datum::Int(_), Datum::BigInt(big)) => {
            if big.starts_with('-') {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        (Datum::BigInt(_), Datum::Int(_)) => compare_numbers(right, left).reverse(),
        _ => as_float(left).total_cmp(&as_float(right)).then_with(|| is_float(left).cmp(&is_float(right))),
    }
}

fn compare_big(left: &str, right: &str) -> Ordering {
    match (left.strip_prefix('-'), right.strip_prefix('-')) {
        (None, None) => left.len().cmp(&right.len()).then_with(|| left.cmp(right)),
        (Some(left), Some(right)) => compare_big(right, left),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
    }
}

fn is_float(number: &Datum) -> bool {
    matches!(number, Datum::Float(_))
}

fn as_float(number: &Datum) -> f64 {
    match number {
        Datum::Int(int) => *int as f64,
        Datum::Float(bits) => f64::from_bits(*bits),
        Datum::BigInt(digits) => digits.parse().unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}

/// As a person would write it: strings that look like words are not quoted.
impl fmt::Display for Datum {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => out.write_str("nil"),
            Self::Bool(truth) => write!(out, "{truth}"),
            Self::Int(int) => write!(out, "{int}"),
            Self::BigInt(digits) => out.write_str(digits),
            Self::Float(bits) => write!(out, "{:?}", f64::from_bits(*bits)),
            Self::Str(text) if is_plain_word(text) => out.write_str(text),
            Self::Str(text) => write!(out, "{text:?}"),
            Self::Keyword(text) => write!(out, ":{text}"),
            Self::Symbol(text) => out.write_str(text),
            Self::List(items) => {
                out.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(out, "{}{item}", if index == 0 { "" } else { " " })?;
                }
                out.write_str("]")
            }
            Self::Row(columns) => {
                out.write_str("{")?;
                for (index, (name, value)) in columns.iter().enumerate() {
                    write!(out, "{}{name}: {value}", if index == 0 { "" } else { ", " })?;
                }
                out.write_str("}")
            }
            Self::Tagged(tagged) => write!(out, "#{} {}", tagged.0, tagged.1),
        }
    }
}

fn is_plain_word(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && chars.all(|char| char.is_alphanumeric() || char == '_')
        && !matches!(text, "nil" | "true" | "false" | "null")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_compare_across_sizes() {
        let big = Datum::int_from_decimal("18446744073709551615").unwrap();
        let bigger = Datum::int_from_decimal("18446744073709551616").unwrap();
        let small = Datum::int_from_decimal("-18446744073709551616").unwrap();
        let mut all = [bigger.clone(), Datum::Int(3), small.clone(), big.clone(), Datum::float(2.5)];
        all.sort();
        assert_eq!(all, [small, Datum::float(2.5), Datum::Int(3), big, bigger]);
    }

    #[test]
    fn decimal_text_is_canonical() {
        assert_eq!(Datum::int_from_decimal("+0007"), Some(Datum::Int(7)));
        assert_eq!(Datum::int_from_decimal("00018446744073709551615"), Some(Datum::uint(u64::MAX)));
        assert_eq!(Datum::int_from_decimal("1x"), None);
        assert_eq!(Datum::int_from_decimal("-"), None);
    }

    #[test]
    fn a_row_keeps_the_later_of_two_columns() {
        let row = Datum::row(vec![("v".into(), 1.into()), ("k".into(), 0.into()), ("v".into(), 2.into())]);
        assert_eq!(row.to_string(), "{k: 0, v: 2}");
        assert_eq!(row.column("v"), Some(&Datum::Int(2)));
    }
}
