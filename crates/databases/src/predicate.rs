//! Conditions on rows, as far as every database understands them, with their meaning and their form as data.
//!
//! A column is named, and `k` is the key. Comparisons are SQL's without null: tables here have no nulls, and a missing
//! column satisfies nothing.

use std::cmp::Ordering;

use history::Datum;

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

/// A condition on a row.
#[derive(Clone, PartialEq, Debug)]
pub enum Predicate {
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
    And(Vec<Predicate>),
    /// One of these.
    Or(Vec<Predicate>),
    /// Not this.
    Not(Box<Predicate>),
}

impl Predicate {
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
                // SQL's remainder has the sign of the dividend.
                Some(Datum::Int(held)) => held.checked_rem(*divisor) == Some(*remainder),
                _ => false,
            },
            Self::And(parts) => parts.iter().all(|part| part.holds(column)),
            Self::Or(parts) => parts.iter().any(|part| part.holds(column)),
            Self::Not(part) => !part.holds(column),
        }
    }
}
