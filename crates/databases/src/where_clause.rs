//! Conditions on rows, as far as every database understands them, with their meaning and their form as data.
//!
//! A column is named, and `k` is the key. Comparisons are SQL's without null: tables here have no nulls, and a missing
//! column satisfies nothing.

use std::cmp::Ordering;

use history::{Bound, Datum};

/// How a column is compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// As SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// Whether two values that compare so satisfy it.
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order == Ordering::Equal,
            Self::NotEqual => order != Ordering::Equal,
            Self::Less => order == Ordering::Less,
            Self::LessOrEqual => order != Ordering::Greater,
            Self::Greater => order == Ordering::Greater,
            Self::GreaterOrEqual => order != Ordering::Less,
        }
    }
}

/// Which rows a statement is about. What a history says that a statement was about is a `history::Predicate`, which may
/// be more than a database is asked here; [`Where::to_datum`] is the way there.
#[derive(Clone, PartialEq, Debug)]
pub enum Where {
    /// Every row.
    All,
    /// A column, or `k` for the key, compared with a value.
    Compare(String, Comparison, Datum),
    /// A column from one value to another, both included.
    Between(String, Datum, Datum),
    /// A column is one of these.
    In(String, Vec<Datum>),
    /// An integer column leaves this remainder when divided by this positive number: `column, divisor, remainder`.
    Modulo(String, i64, i64),
    /// All of these.
    And(Vec<Where>),
    /// One of these.
    Or(Vec<Where>),
    /// Not this.
    Not(Box<Where>),
}

impl Where {
    /// As a history carries it: a list that begins with an operator (`docs/formats/predicates.md`).
    pub fn to_datum(&self) -> Datum {
        let list = |items: Vec<Datum>| Datum::List(items.into());
        let parts = |name: &str, parts: &[Self]| {
            list(std::iter::once(name.into()).chain(parts.iter().map(Self::to_datum)).collect())
        };
        let column = |name: &String| Datum::str(name.as_str());
        match self {
            Self::All => Datum::Bool(true),
            Self::Compare(name, comparison, value) => {
                list(vec![comparison.symbol().into(), column(name), value.clone()])
            }
            Self::Between(name, from, to) => {
                list(vec!["between".into(), column(name), from.clone(), to.clone()])
            }
            Self::In(name, values) => list(vec!["in".into(), column(name), list(values.clone())]),
            Self::Modulo(name, divisor, remainder) => {
                let rest = list(vec!["%".into(), column(name), Datum::Int(*divisor)]);
                list(vec!["=".into(), rest, Datum::Int(*remainder)])
            }
            Self::And(all) => parts("and", all),
            Self::Or(any) => parts("or", any),
            Self::Not(part) => list(vec!["not".into(), part.to_datum()]),
        }
    }

    /// Bounds outside of which no key satisfies it; a store without indexes looks between them only.
    pub(crate) fn key_range(&self) -> (Bound, Bound) {
        let everything = (Bound::Unbounded, Bound::Unbounded);
        match self {
            Self::Compare(name, comparison, key) if name == "k" => match comparison {
                Comparison::Equal => (Bound::Included(key.clone()), Bound::Included(key.clone())),
                Comparison::NotEqual => everything,
                Comparison::Less => (Bound::Unbounded, Bound::Excluded(key.clone())),
                Comparison::LessOrEqual => (Bound::Unbounded, Bound::Included(key.clone())),
                Comparison::Greater => (Bound::Excluded(key.clone()), Bound::Unbounded),
                Comparison::GreaterOrEqual => (Bound::Included(key.clone()), Bound::Unbounded),
            },
            Self::Between(name, from, to) if name == "k" => {
                (Bound::Included(from.clone()), Bound::Included(to.clone()))
            }
            Self::In(name, keys) if name == "k" => match (keys.iter().min(), keys.iter().max()) {
                (Some(least), Some(most)) => (Bound::Included(least.clone()), Bound::Included(most.clone())),
                _ => everything,
            },
            Self::And(parts) => parts.iter().map(Self::key_range).fold(everything, |held, part| {
                (tighter(held.0, part.0, Ordering::Greater), tighter(held.1, part.1, Ordering::Less))
            }),
            _ => everything,
        }
    }

    /// Whether a row satisfies it; `column` gives the row's columns by name, and the key as `k`.
    pub fn holds<'r>(&self, column: &impl Fn(&str) -> Option<&'r Datum>) -> bool {
        match self {
            Self::All => true,
            Self::Compare(name, comparison, value) => {
                column(name).is_some_and(|held| comparison.holds(held.cmp(value)))
            }
            Self::Between(name, from, to) => column(name).is_some_and(|held| held >= from && held <= to),
            Self::In(name, values) => column(name).is_some_and(|held| values.contains(held)),
            Self::Modulo(name, divisor, remainder) => match column(name) {
                // SQL's remainder has the sign of the dividend, a history's that of the divisor; for what is not
                // negative they are the same.
                Some(Datum::Int(held)) => held.checked_rem(*divisor) == Some(*remainder),
                _ => false,
            },
            Self::And(parts) => parts.iter().all(|part| part.holds(column)),
            Self::Or(parts) => parts.iter().any(|part| part.holds(column)),
            Self::Not(part) => !part.holds(column),
        }
    }
}

/// The bound that leaves less: the one whose key compares so, or of two at one key the one without it.
fn tighter(one: Bound, other: Bound, wins: Ordering) -> Bound {
    let key = |bound: &Bound| match bound {
        Bound::Unbounded => None,
        Bound::Included(key) | Bound::Excluded(key) => Some(key.clone()),
    };
    match (key(&one), key(&other)) {
        (None, _) => other,
        (_, None) => one,
        (Some(here), Some(there)) if here == there => match one {
            Bound::Excluded(_) => one,
            _ => other,
        },
        (Some(here), Some(there)) => {
            if here.cmp(&there) == wins {
                one
            } else {
                other
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a driver takes a predicate for and what a checker of the history will take it for.
    #[test]
    fn the_data_means_the_same() {
        let v = || "v".to_owned();
        let predicates = [
            Where::All,
            Where::Compare(v(), Comparison::NotEqual, 3.into()),
            Where::Compare("k".into(), Comparison::GreaterOrEqual, 5.into()),
            Where::Between(v(), 2.into(), 4.into()),
            Where::In(v(), vec![1.into(), 7.into()]),
            Where::Modulo(v(), 3, 1),
            Where::Not(Box::new(Where::Or(vec![
                Where::And(vec![]),
                Where::Compare(v(), Comparison::Less, 2.into()),
            ]))),
        ];
        for predicate in predicates {
            let meant = history::Predicate::parse(&predicate.to_datum()).unwrap();
            for (key, value) in (0..10).flat_map(|key| (0..10).map(move |value| (key, value))) {
                let (key, value) = (Datum::Int(key), Datum::Int(value));
                let asked = predicate.holds(&|name| if name == "k" { Some(&key) } else { Some(&value) });
                let row = Datum::row(vec![("v".into(), value.clone())]);
                assert_eq!(meant.matches(&key, &row), asked, "{predicate:?}, key {key}, value {value}");
            }
        }
    }

    #[test]
    fn no_key_outside_its_range_satisfies_a_predicate() {
        let k = |comparison, key: i64| Where::Compare("k".into(), comparison, key.into());
        let cases = [
            (Where::All, "..."),
            (k(Comparison::Equal, 3), "[3, 3]"),
            (Where::And(vec![k(Comparison::Greater, 2), k(Comparison::LessOrEqual, 6)]), "(2, 6]"),
            (Where::And(vec![k(Comparison::GreaterOrEqual, 2), k(Comparison::Greater, 2)]), "(2, ..."),
            (Where::And(vec![k(Comparison::Less, 9), k(Comparison::Less, 4)]), "..., 4)"),
            (Where::In("k".into(), vec![7.into(), 5.into()]), "[5, 7]"),
            (Where::Between("k".into(), 5.into(), 2.into()), "[5, 2]"),
            (Where::Or(vec![k(Comparison::Equal, 1), k(Comparison::Equal, 8)]), "..."),
            (Where::Not(Box::new(k(Comparison::Equal, 1))), "..."),
        ];
        for (predicate, expected) in cases {
            let (from, to) = predicate.key_range();
            let shown = match (&from, &to) {
                (Bound::Unbounded, Bound::Unbounded) => "...".into(),
                _ => format!("{}, {}", shown(&from, "[", "("), shown_end(&to)),
            };
            assert_eq!(shown, expected, "{predicate:?}");
            for key in (0..10).map(Datum::Int) {
                let is_inside = match &from {
                    Bound::Unbounded => true,
                    Bound::Included(from) => key >= *from,
                    Bound::Excluded(from) => key > *from,
                } && match &to {
                    Bound::Unbounded => true,
                    Bound::Included(to) => key <= *to,
                    Bound::Excluded(to) => key < *to,
                };
                assert!(is_inside || !predicate.holds(&|_| Some(&key)), "{predicate:?}, {key}");
            }
        }
    }

    fn shown(bound: &Bound, included: &str, excluded: &str) -> String {
        match bound {
            Bound::Unbounded => "...".into(),
            Bound::Included(key) => format!("{included}{key}"),
            Bound::Excluded(key) => format!("{excluded}{key}"),
        }
    }

    fn shown_end(bound: &Bound) -> String {
        match bound {
            Bound::Unbounded => "...".into(),
            Bound::Included(key) => format!("{key}]"),
            Bound::Excluded(key) => format!("{key})"),
        }
    }
}
