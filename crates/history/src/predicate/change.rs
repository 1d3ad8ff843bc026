//! What a predicate write makes of a row.

use crate::{Change, Datum};

impl Change {
    /// The row after the change; [`Datum::Nil`] if it is deleted.
    ///
    /// A row of columns is changed in the columns that the change names, anything else is replaced. `{"+": 10}` in the
    /// place of a value adds to what is there; a sum with something that is no number is null.
    pub fn apply(&self, old: &Datum) -> Datum {
        match self {
            Self::Delete => Datum::Nil,
            Self::Set(new) => match (increment(new), old, new) {
                (Some(by), _, _) => sum(old, by),
                (None, Datum::Row(old), Datum::Row(new)) => merged(old, new),
                _ => new.clone(),
            },
        }
    }

    /// Whether the change can have made this of some row.
    pub fn can_make(&self, made: &Datum) -> bool {
        match self {
            Self::Delete => *made == Datum::Nil,
            Self::Set(new) if increment(new).is_some() => true,
            Self::Set(Datum::Row(columns)) => {
                let is_set = |(name, value): &(Datum, Datum)| {
                    increment(value).is_some() || column(made, name) == Some(value)
                };
                matches!(made, Datum::Row(_)) && columns.iter().all(is_set)
            }
            Self::Set(new) => made == new,
        }
    }

    /// Whether what a row becomes depends on what it was, besides that it matched.
    pub fn depends_on_row(&self) -> bool {
        matches!(self, Self::Set(Datum::Row(_)))
    }
}

fn column<'r>(row: &'r Datum, name: &Datum) -> Option<&'r Datum> {
    let Datum::Row(columns) = row else { return None };
    columns.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// What `{"+": n}` adds.
fn increment(change: &Datum) -> Option<&Datum> {
    match change {
        Datum::Row(columns) if columns.len() == 1 => change.column("+"),
        _ => None,
    }
}

fn merged(old: &[(Datum, Datum)], changes: &[(Datum, Datum)]) -> Datum {
    let mut columns = old.to_vec();
    for (name, change) in changes {
        let place = columns.iter().position(|(known, _)| known == name);
        let before = place.map_or(Datum::Nil, |place| columns[place].1.clone());
        let after = increment(change).map_or_else(|| change.clone(), |by| sum(&before, by));
        match place {
            Some(place) => columns[place].1 = after,
            None => columns.push((name.clone(), after)),
        }
    }
    Datum::row(columns)
}

fn sum(left: &Datum, right: &Datum) -> Datum {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => match left.checked_add(right) {
            Some(sum) => Datum::int_from_decimal(&sum.to_string()).unwrap_or(Datum::Nil),
            None => Datum::Nil,
        },
        _ => match (float(left), float(right)) {
            (Some(left), Some(right)) => Datum::float(left + right),
            _ => Datum::Nil,
        },
    }
}

fn whole(datum: &Datum) -> Option<i128> {
    match datum {
        Datum::Int(int) => Some(i128::from(*int)),
        Datum::BigInt(digits) => digits.parse().ok(),
        _ => None,
    }
}

fn float(datum: &Datum) -> Option<f64> {
    match datum {
        Datum::Int(int) => Some(*int as f64),
        Datum::BigInt(digits) => digits.parse().ok(),
        Datum::Float(bits) => Some(f64::from_bits(*bits)),
        _ => None,
    }
}
