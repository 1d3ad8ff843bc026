//! What a predicate means: which rows it is true of.
//!
//! A predicate is written as a text, `v1 between 3 and 9 and key < 5`, or as data, `["and", ...]`, or given by the
//! versions that match it ([`Predicate::parse`] takes all three; `docs/formats/predicates.md` describes them).
//! It is evaluated as the `WHERE` of SQL is, with three truth values: a comparison with a column that is null or
//! missing, or of things of different kinds, is neither true nor false, `not` leaves it so, and a row matches only if
//! the whole is true. A row that does not exist (unborn or dead) matches nothing, not even `true`.
//!
//! Evaluation costs one look-up of each column that is named, without copying anything.

mod change;
mod data;
mod interval;
mod lexer;
mod print;
mod recorded;
mod term;
mod text;

use std::fmt;

use crate::Datum;

pub use interval::{Interval, Subject};
pub use recorded::RecordedPredicate;
use term::Term;

/// How deep parts of a predicate may stand inside each other.
const MAX_DEPTH: usize = 64;

/// A condition on rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Predicate {
    condition: Condition,
}

/// The condition, with terms whose meaning depends on the row.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Condition {
    Always(bool),
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
    Compare(Term, Comparison, Term),
    Between(Term, Term, Term),
    In(Term, Vec<Datum>),
    IsNull(Term),
    /// Begins with a text.
    HasPrefix(Term, Box<str>),
    /// The versions that match: key and value.
    OneOf(Vec<(Datum, Datum)>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// Why something is no predicate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PredicateError {
    /// What was expected.
    pub expected: String,
    /// What stands there instead.
    pub found: String,
    /// The byte of a text at which it stands, from 0.
    pub at: Option<usize>,
}

impl fmt::Display for PredicateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = self.at {
            write!(out, "byte {}: ", at + 1)?;
        }
        write!(
            out,
            "expected {}, found {} (docs/formats/predicates.md has the grammar)",
            self.expected, self.found
        )
    }
}

impl std::error::Error for PredicateError {}

impl Predicate {
    /// The meaning of a predicate as a history carries it: a text, a list that begins with an operator, or a truth value.
    pub fn parse(datum: &Datum) -> Result<Self, PredicateError> {
        let condition = match datum {
            Datum::Str(text) => text::parse(text)?,
            other => data::parse(other, 0)?,
        };
        Ok(Self { condition })
    }

    /// Whether a row matches. [`Datum::Nil`] is a row that does not exist, and never matches.
    pub fn matches(&self, key: &Datum, row: &Datum) -> bool {
        *row != Datum::Nil && self.condition.truth(key, row) == Some(true)
    }

    /// Whether every row of a key matches, or none does; `None` if that depends on the row.
    pub fn truth_by_key(&self, key: &Datum) -> Option<bool> {
        // Any row will do where none is asked about.
        let truth = || self.condition.truth(key, &Datum::Row([].into())) == Some(true);
        match (&self.condition, self.interval()) {
            (Condition::Always(_), _) | (_, Some(Interval { subject: Subject::Key, .. })) => Some(truth()),
            _ => None,
        }
    }

    /// The predicate as a person would write it.
    pub fn print(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::condition(out, &self.condition)
    }
}

impl Condition {
    /// True, false, or neither.
    fn truth(&self, key: &Datum, row: &Datum) -> Option<bool> {
        match self {
            Self::Always(truth) => Some(*truth),
            Self::And(parts) => all(parts.iter().map(|part| part.truth(key, row))),
            Self::Or(parts) => {
                all(parts.iter().map(|part| part.truth(key, row).map(|truth| !truth))).map(|none| !none)
            }
            Self::Not(inner) => inner.truth(key, row).map(|truth| !truth),
            Self::Compare(left, comparison, right) => {
                comparison.holds(&left.value(key, row), &right.value(key, row))
            }
            Self::Between(term, least, most) => {
                let value = term.value(key, row);
                let from = Comparison::AtLeast.holds(&value, &least.value(key, row));
                let to = Comparison::AtMost.holds(&value, &most.value(key, row));
                all([from, to].into_iter())
            }
            Self::In(term, members) => is_in(&term.value(key, row), members),
            Self::IsNull(term) => Some(*term.value(key, row) == Datum::Nil),
            Self::HasPrefix(term, prefix) => {
                text_of(&term.value(key, row)).map(|text| text.starts_with(&**prefix))
            }
            Self::OneOf(versions) => {
                Some(versions.iter().any(|(listed, value)| listed == key && value == row))
            }
        }
    }
}

/// Whether all are true: false if one is false, otherwise unknown if one is unknown.
fn all(truths: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut result = Some(true);
    for truth in truths {
        match truth {
            Some(true) => {}
            Some(false) => return Some(false),
            None => result = None,
        }
    }
    result
}

/// Equal to one of some values; unknown if it is equal to none and cannot be compared with one.
fn is_in(value: &Datum, members: &[Datum]) -> Option<bool> {
    let differs = |member: &Datum| Comparison::Unequal.holds(value, member);
    all(members.iter().map(differs)).map(|is_none| !is_none)
}

fn text_of(datum: &Datum) -> Option<&str> {
    match datum {
        Datum::Str(text) | Datum::Keyword(text) | Datum::Symbol(text) => Some(text),
        _ => None,
    }
}

impl Comparison {
    /// All of them, those with the longer sign first.
    const ALL: [Self; 6] =
        [Self::AtMost, Self::AtLeast, Self::Unequal, Self::Equal, Self::Less, Self::Greater];

    fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }

    fn from_sign(sign: &str) -> Option<Self> {
        match sign {
            "==" => Some(Self::Equal),
            "<>" => Some(Self::Unequal),
            _ => Self::ALL.into_iter().find(|comparison| comparison.sign() == sign),
        }
    }

    fn holds(self, left: &Datum, right: &Datum) -> Option<bool> {
        let order = term::compare(left, right)?;
        Some(match self {
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        })
    }
}

#[cfg(test)]
mod tests;
