//! A predicate as text; what is printed reads back as the same predicate, except where a constant has no text of its own.

use std::fmt::{self, Formatter};

use super::Condition;
use super::term::Term;
use super::text::is_bare_column;
use crate::Datum;

pub(super) fn condition(out: &mut Formatter<'_>, condition: &Condition) -> fmt::Result {
    match condition {
        Condition::Always(truth) => write!(out, "{truth}"),
        Condition::And(parts) if parts.is_empty() => out.write_str("true"),
        Condition::Or(parts) if parts.is_empty() => out.write_str("false"),
        Condition::And(parts) => joined(out, parts, " and "),
        Condition::Or(parts) => joined(out, parts, " or "),
        Condition::Not(inner) => negated(out, inner),
        Condition::Compare(left, comparison, right) => {
            term(out, left)?;
            write!(out, " {} ", comparison.sign())?;
            term(out, right)
        }
        Condition::Between(..) | Condition::In(..) | Condition::IsNull(_) | Condition::HasPrefix(..) => {
            worded(out, condition, "")
        }
        Condition::OneOf(versions) => one_of(out, versions),
    }
}

fn joined(out: &mut Formatter<'_>, parts: &[Condition], word: &str) -> fmt::Result {
    for (place, part) in parts.iter().enumerate() {
        out.write_str(if place == 0 { "" } else { word })?;
        match part {
            Condition::And(inner) | Condition::Or(inner) if !inner.is_empty() => bracketed(out, part)?,
            _ => condition(out, part)?,
        }
    }
    Ok(())
}

fn bracketed(out: &mut Formatter<'_>, inner: &Condition) -> fmt::Result {
    out.write_str("(")?;
    condition(out, inner)?;
    out.write_str(")")
}

fn negated(out: &mut Formatter<'_>, inner: &Condition) -> fmt::Result {
    match inner {
        Condition::Between(..) | Condition::In(..) | Condition::IsNull(_) | Condition::HasPrefix(..) => {
            worded(out, inner, "not ")
        }
        _ => {
            out.write_str("not ")?;
            bracketed(out, inner)
        }
    }
}

/// The conditions that are words, of which the `not` stands inside.
fn worded(out: &mut Formatter<'_>, condition: &Condition, not: &str) -> fmt::Result {
    match condition {
        Condition::Between(subject, least, most) => {
            term(out, subject)?;
            write!(out, " {not}between ")?;
            term(out, least)?;
            out.write_str(" and ")?;
            term(out, most)
        }
        Condition::In(subject, members) => {
            term(out, subject)?;
            write!(out, " {not}in (")?;
            for (place, member) in members.iter().enumerate() {
                out.write_str(if place == 0 { "" } else { ", " })?;
                constant(out, member)?;
            }
            out.write_str(")")
        }
        Condition::IsNull(subject) => {
            term(out, subject)?;
            write!(out, " is {not}null")
        }
        Condition::HasPrefix(subject, prefix) => {
            term(out, subject)?;
            write!(out, " {not}like ")?;
            quoted(out, &format!("{prefix}%"), '\'')
        }
        _ => self::condition(out, condition),
    }
}

fn term(out: &mut Formatter<'_>, shown: &Term) -> fmt::Result {
    match shown {
        Term::Key => out.write_str("key"),
        Term::Value => out.write_str("value"),
        Term::Column(name) if is_bare_column(name) => out.write_str(name),
        Term::Column(name) => quoted(out, name, '"'),
        Term::Constant(datum) => constant(out, datum),
        Term::Remainder(inner, divisor) => {
            term(out, inner)?;
            write!(out, " % {divisor}")
        }
    }
}

fn constant(out: &mut Formatter<'_>, datum: &Datum) -> fmt::Result {
    match datum {
        Datum::Str(text) => quoted(out, text, '\''),
        other => write!(out, "{other}"),
    }
}

fn quoted(out: &mut Formatter<'_>, text: &str, quote: char) -> fmt::Result {
    write!(out, "{quote}{}{quote}", text.replace(quote, &format!("{quote}{quote}")))
}

fn one_of(out: &mut Formatter<'_>, versions: &[(Datum, Datum)]) -> fmt::Result {
    out.write_str("one of {")?;
    for (place, (key, value)) in versions.iter().enumerate() {
        write!(out, "{}{key} = {value}", if place == 0 { "" } else { ", " })?;
    }
    out.write_str("}")
}
