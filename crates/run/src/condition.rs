//! Conditions as the history has them: data that says what the condition is.
//!
//! The form is the one of `docs/formats/predicates.md`: a list that begins with an operator.

use databases::{Comparison, Predicate};
use history::Datum;

/// A condition as data.
pub fn recorded(predicate: &Predicate) -> Datum {
    let list = |items: Vec<Datum>| Datum::List(items.into());
    let text = |text: &str| Datum::str(text);
    match predicate {
        Predicate::All => Datum::Bool(true),
        Predicate::Compare(column, comparison, value) => {
            list(vec![text(symbol(*comparison)), text(column), value.clone()])
        }
        Predicate::Between(column, from, to) => {
            list(vec![text("between"), text(column), from.clone(), to.clone()])
        }
        Predicate::In(column, values) => {
            list(vec![text("in"), text(column), Datum::List(values.clone().into())])
        }
        Predicate::Modulo(column, divisor, remainder) => {
            let rest = list(vec![text("%"), text(column), (*divisor).into()]);
            list(vec![text("="), rest, (*remainder).into()])
        }
        Predicate::And(parts) => {
            list(std::iter::once(text("and")).chain(parts.iter().map(recorded)).collect())
        }
        Predicate::Or(parts) => list(std::iter::once(text("or")).chain(parts.iter().map(recorded)).collect()),
        Predicate::Not(part) => list(vec![text("not"), recorded(part)]),
    }
}

fn symbol(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "!=",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}
