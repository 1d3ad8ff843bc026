//! A predicate from data: a list that begins with an operator, as programs write it.
//!
//! The operator is a string, a keyword or a symbol, so that JSON and EDN have the same forms. The first argument of a
//! comparison names a column and the others are constants; with one argument it is about the value, which are the
//! forms of Jepsen's closed predicates: `:true`, `[:= 2]`, `[:mod 2 0]`.

use super::term::Term;
use super::text::{named, prefix_of};
use super::{Comparison, Condition, MAX_DEPTH, PredicateError, text_of};
use crate::Datum;

pub(super) fn parse(datum: &Datum, depth: usize) -> Result<Condition, PredicateError> {
    if depth > MAX_DEPTH {
        return Err(error(format!("at most {MAX_DEPTH} parts inside each other"), datum));
    }
    match datum {
        Datum::Bool(truth) => Ok(Condition::Always(*truth)),
        Datum::List(items) => match items.split_first() {
            Some((head, arguments)) => operator(datum, head, arguments, depth),
            None => Err(error("an operator and its arguments", datum)),
        },
        other => match text_of(other) {
            Some("true") => Ok(Condition::Always(true)),
            Some("false") => Ok(Condition::Always(false)),
            // Inside a list a text is a predicate of its own.
            Some(text) => super::text::parse(text),
            None => Err(error("a text, true, or a list that begins with an operator", other)),
        },
    }
}

fn operator(
    whole: &Datum,
    head: &Datum,
    arguments: &[Datum],
    depth: usize,
) -> Result<Condition, PredicateError> {
    let parts = || arguments.iter().map(|part| parse(part, depth + 1)).collect::<Result<Vec<_>, _>>();
    let wrong = |expected: &str| Err(error(expected, whole));
    let name = text_of(head).unwrap_or_default();
    if let Some(comparison) = Comparison::from_sign(name) {
        return match arguments {
            [constant] => Ok(Condition::Compare(Term::Value, comparison, Term::Constant(constant.clone()))),
            [subject, constant] => {
                Ok(Condition::Compare(self::subject(subject)?, comparison, Term::Constant(constant.clone())))
            }
            _ => wrong("one or two arguments of a comparison"),
        };
    }
    match (name, arguments) {
        ("and", _) => Ok(Condition::And(parts()?)),
        ("or", _) => Ok(Condition::Or(parts()?)),
        ("not", [inner]) => Ok(Condition::Not(Box::new(parse(inner, depth + 1)?))),
        ("between", [subject, least, most]) => Ok(Condition::Between(
            self::subject(subject)?,
            Term::Constant(least.clone()),
            Term::Constant(most.clone()),
        )),
        ("in", [subject, Datum::List(members)]) => {
            Ok(Condition::In(self::subject(subject)?, members.to_vec()))
        }
        ("is-null", [subject]) => Ok(Condition::IsNull(self::subject(subject)?)),
        ("like", [subject, Datum::Str(pattern)]) => match prefix_of(pattern) {
            Some(prefix) => Ok(Condition::HasPrefix(self::subject(subject)?, prefix.into())),
            None => wrong("a pattern whose only % is at its end, and without _"),
        },
        ("mod", [Datum::Int(divisor), rest]) if *divisor != 0 => Ok(Condition::Compare(
            Term::Remainder(Box::new(Term::Value), *divisor),
            Comparison::Equal,
            Term::Constant(rest.clone()),
        )),
        ("matches", versions) => {
            Ok(Condition::OneOf(versions.iter().map(version).collect::<Result<_, _>>()?))
        }
        _ => wrong(
            "one of the operators = != < <= > >= between in is-null like mod and or not matches, with its arguments",
        ),
    }
}

/// What a comparison is about: a name, or `["%", name, divisor]`.
fn subject(datum: &Datum) -> Result<Term, PredicateError> {
    if let Datum::List(items) = datum
        && let [head, inner, Datum::Int(divisor)] = &**items
        && text_of(head) == Some("%")
        && *divisor != 0
    {
        return Ok(Term::Remainder(Box::new(simple_subject(inner)?), *divisor));
    }
    simple_subject(datum)
}

fn simple_subject(datum: &Datum) -> Result<Term, PredicateError> {
    match text_of(datum) {
        Some(name) => Ok(named(name)),
        None => Err(error("the name of a column, key or value", datum)),
    }
}

fn version(datum: &Datum) -> Result<(Datum, Datum), PredicateError> {
    match datum {
        Datum::List(pair) if pair.len() == 2 => Ok((pair[0].clone(), pair[1].clone())),
        _ => Err(error("a version that matches, [key, value]", datum)),
    }
}

fn error(expected: impl Into<String>, found: &Datum) -> PredicateError {
    let mut shown: String = found.to_string().chars().take(60).collect();
    if shown.len() < found.to_string().len() {
        shown.push_str("...");
    }
    PredicateError { expected: expected.into(), found: format!("`{shown}`"), at: None }
}
