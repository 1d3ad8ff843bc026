//! The predicates that are one interval of one thing, for which a sorted list of versions answers at once.

use super::term::Term;
use super::{Comparison, Condition, Predicate};
use crate::{Bound, Datum};

/// What an interval is of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Subject {
    /// The key.
    Key,
    /// The value as a whole.
    Value,
    /// A column by its name; see the module `predicate` for what `k` and `v` are where there is none.
    Column(Box<str>),
}

impl Subject {
    /// The subject's value for a row; null if there is none.
    pub fn of<'a>(&self, key: &'a Datum, row: &'a Datum) -> &'a Datum {
        match self {
            Self::Key => key,
            Self::Value => row,
            Self::Column(name) => super::term::column(name, key, row),
        }
    }
}

/// All rows whose key, value or column lies between two bounds, which are of one kind.
#[derive(Clone, PartialEq, Debug)]
pub struct Interval {
    /// What lies between them.
    pub subject: Subject,
    /// The lower bound.
    pub from: Bound,
    /// The upper bound.
    pub to: Bound,
}

impl Interval {
    /// The least and the greatest integer in the interval, if its bounds are integers; the first is greater than the
    /// second if there is none.
    pub fn integers(&self) -> Option<(i64, i64)> {
        let least = match &self.from {
            Bound::Unbounded => i64::MIN,
            Bound::Included(Datum::Int(least)) => *least,
            Bound::Excluded(Datum::Int(below)) => below.checked_add(1)?,
            _ => return None,
        };
        let most = match &self.to {
            Bound::Unbounded => i64::MAX,
            Bound::Included(Datum::Int(most)) => *most,
            Bound::Excluded(Datum::Int(above)) => above.checked_sub(1)?,
            _ => return None,
        };
        Some((least, most))
    }
}

impl Predicate {
    /// The interval that this predicate is, if it is one: `v = 3`, `v < 5`, `v between 3 and 9`, `key >= 2 and key < 4`.
    ///
    /// The rows that match are exactly those whose subject is of the bounds' kind (a number, a text, ...) and lies
    /// between them.
    pub fn interval(&self) -> Option<Interval> {
        interval(&self.condition)
    }
}

fn interval(condition: &Condition) -> Option<Interval> {
    match condition {
        Condition::Compare(term, comparison, Term::Constant(constant)) => {
            one_sided(subject(term)?, *comparison, constant.clone())
        }
        Condition::Between(term, Term::Constant(least), Term::Constant(most)) if is_one_kind(least, most) => {
            let (from, to) = (Bound::Included(least.clone()), Bound::Included(most.clone()));
            Some(Interval { subject: subject(term)?, from, to })
        }
        Condition::And(parts) => match &parts[..] {
            [first, second] => both(interval(first)?, interval(second)?),
            _ => None,
        },
        _ => None,
    }
}

fn subject(term: &Term) -> Option<Subject> {
    match term {
        Term::Key => Some(Subject::Key),
        Term::Value => Some(Subject::Value),
        Term::Column(name) => Some(Subject::Column(name.clone())),
        Term::Constant(_) | Term::Remainder(..) => None,
    }
}

fn one_sided(subject: Subject, comparison: Comparison, constant: Datum) -> Option<Interval> {
    if constant == Datum::Nil {
        return None;
    }
    let (from, to) = match comparison {
        Comparison::Equal => (Bound::Included(constant.clone()), Bound::Included(constant)),
        Comparison::Less => (Bound::Unbounded, Bound::Excluded(constant)),
        Comparison::AtMost => (Bound::Unbounded, Bound::Included(constant)),
        Comparison::Greater => (Bound::Excluded(constant), Bound::Unbounded),
        Comparison::AtLeast => (Bound::Included(constant), Bound::Unbounded),
        Comparison::Unequal => return None,
    };
    Some(Interval { subject, from, to })
}

/// A lower and an upper bound of the same thing.
fn both(first: Interval, second: Interval) -> Option<Interval> {
    let limit = |bound: &Bound| match bound {
        Bound::Unbounded => None,
        Bound::Included(limit) | Bound::Excluded(limit) => Some(limit.clone()),
    };
    let (low, high) = match (&first.from, &first.to, &second.from, &second.to) {
        (low, Bound::Unbounded, Bound::Unbounded, high) => (low.clone(), high.clone()),
        (Bound::Unbounded, high, low, Bound::Unbounded) => (low.clone(), high.clone()),
        _ => return None,
    };
    let is_fitting = first.subject == second.subject && is_one_kind(&limit(&low)?, &limit(&high)?);
    is_fitting.then_some(Interval { subject: first.subject, from: low, to: high })
}

fn is_one_kind(left: &Datum, right: &Datum) -> bool {
    super::term::compare(left, right).is_some()
}
