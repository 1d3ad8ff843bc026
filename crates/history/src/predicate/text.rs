//! A predicate from its text, `v % 3 = 0 and not (key in (1, 2) or name like 'a%')`.
//!
//! By recursive descent; how deep it goes is limited, so that no text can exhaust the stack.

use super::lexer::Lexer;
use super::term::Term;
use super::{Comparison, Condition, PredicateError};
use crate::Datum;

const RESERVED: [&str; 8] = ["and", "or", "not", "between", "in", "is", "like", "null"];

pub(super) fn parse(text: &str) -> Result<Condition, PredicateError> {
    let mut lexer = Lexer::new(text);
    let condition = disjunction(&mut lexer)?;
    match lexer.is_at_end() {
        true => Ok(condition),
        false => Err(lexer.error("`and`, `or` or the end")),
    }
}

fn disjunction(lexer: &mut Lexer<'_>) -> Result<Condition, PredicateError> {
    let mut parts = vec![conjunction(lexer)?];
    while lexer.eat_word("or") {
        parts.push(conjunction(lexer)?);
    }
    Ok(single_or(parts, Condition::Or))
}

fn conjunction(lexer: &mut Lexer<'_>) -> Result<Condition, PredicateError> {
    let mut parts = vec![negation(lexer)?];
    while lexer.eat_word("and") {
        parts.push(negation(lexer)?);
    }
    Ok(single_or(parts, Condition::And))
}

fn single_or(mut parts: Vec<Condition>, several: impl Fn(Vec<Condition>) -> Condition) -> Condition {
    match parts.len() {
        1 => parts.remove(0),
        _ => several(parts),
    }
}

fn negation(lexer: &mut Lexer<'_>) -> Result<Condition, PredicateError> {
    lexer.enter()?;
    let condition = if lexer.eat_word("not") {
        Condition::Not(Box::new(negation(lexer)?))
    } else if lexer.eat("(") {
        let inner = disjunction(lexer)?;
        lexer.expect(")")?;
        inner
    } else {
        simple(lexer)?
    };
    lexer.leave();
    Ok(condition)
}

/// A comparison, or a truth value that stands alone.
fn simple(lexer: &mut Lexer<'_>) -> Result<Condition, PredicateError> {
    let term = term(lexer)?;
    if let Some(comparison) = sign(lexer) {
        return Ok(Condition::Compare(term, comparison, self::term(lexer)?));
    }
    if lexer.eat_word("is") {
        let is_negated = lexer.eat_word("not");
        lexer.expect_word("null")?;
        return Ok(negated_if(is_negated, Condition::IsNull(term)));
    }
    let is_negated = lexer.eat_word("not");
    let condition = if lexer.eat_word("between") {
        let least = self::term(lexer)?;
        lexer.expect_word("and")?;
        Condition::Between(term, least, self::term(lexer)?)
    } else if lexer.eat_word("in") {
        Condition::In(term, members(lexer)?)
    } else if lexer.eat_word("like") {
        Condition::HasPrefix(term, pattern(lexer)?)
    } else {
        match term {
            Term::Constant(Datum::Bool(truth)) if !is_negated => Condition::Always(truth),
            _ => return Err(lexer.error("a comparison: = != < <= > >= between in is like")),
        }
    };
    Ok(negated_if(is_negated, condition))
}

fn negated_if(is_negated: bool, condition: Condition) -> Condition {
    if is_negated { Condition::Not(Box::new(condition)) } else { condition }
}

fn sign(lexer: &mut Lexer<'_>) -> Option<Comparison> {
    let signs = ["<=", ">=", "!=", "<>", "==", "=", "<", ">"];
    let sign = signs.into_iter().find(|sign| lexer.eat(sign))?;
    Comparison::from_sign(sign)
}

fn members(lexer: &mut Lexer<'_>) -> Result<Vec<Datum>, PredicateError> {
    lexer.expect("(")?;
    let mut members = Vec::new();
    while !lexer.eat(")") {
        if !members.is_empty() {
            lexer.expect(",")?;
        }
        members.push(constant(lexer)?.ok_or_else(|| lexer.error("a constant"))?);
    }
    Ok(members)
}

/// A pattern of `like`: a text and a `%` behind it.
fn pattern(lexer: &mut Lexer<'_>) -> Result<Box<str>, PredicateError> {
    if !lexer.rest().starts_with('\'') {
        return Err(lexer.error("a pattern such as 'abc%'"));
    }
    let mut error = lexer.error("a pattern whose only % is at its end, and without _");
    let pattern = lexer.quoted('\'')?;
    let Some(prefix) = prefix_of(&pattern) else {
        error.found = format!("'{pattern}'");
        return Err(error);
    };
    Ok(prefix.into())
}

/// The prefix that a pattern asks for, if it asks for nothing else.
pub(super) fn prefix_of(pattern: &str) -> Option<&str> {
    pattern.strip_suffix('%').filter(|prefix| !prefix.contains(['%', '_', '\\']))
}

fn term(lexer: &mut Lexer<'_>) -> Result<Term, PredicateError> {
    let mut term = match constant(lexer)? {
        Some(constant) => Term::Constant(constant),
        None => name(lexer)?,
    };
    if lexer.eat("%") {
        match lexer.number()? {
            Some(Datum::Int(divisor)) if divisor != 0 => term = Term::Remainder(Box::new(term), divisor),
            _ => return Err(lexer.error("a divisor, an integer other than 0")),
        }
    }
    Ok(term)
}

fn constant(lexer: &mut Lexer<'_>) -> Result<Option<Datum>, PredicateError> {
    if let Some(number) = lexer.number()? {
        return Ok(Some(number));
    }
    if lexer.rest().starts_with('\'') {
        return Ok(Some(Datum::str(lexer.quoted('\'')?)));
    }
    if lexer.eat(":") {
        return match lexer.take_word() {
            "" => Err(lexer.error("a keyword after `:`")),
            word => Ok(Some(Datum::Keyword(word.into()))),
        };
    }
    if lexer.eat_word("true") {
        return Ok(Some(Datum::Bool(true)));
    }
    if lexer.eat_word("false") {
        return Ok(Some(Datum::Bool(false)));
    }
    Ok(None)
}

fn name(lexer: &mut Lexer<'_>) -> Result<Term, PredicateError> {
    if lexer.rest().starts_with('"') {
        return Ok(Term::Column(lexer.quoted('"')?.into()));
    }
    let word = lexer.peek_word();
    if word.is_empty() || RESERVED.iter().any(|reserved| word.eq_ignore_ascii_case(reserved)) {
        return Err(lexer.error("a column, `key`, `value`, or a constant (a text in '...')"));
    }
    lexer.take_word();
    Ok(named(word))
}

/// What a bare name stands for.
pub(super) fn named(word: &str) -> Term {
    match word {
        "key" => Term::Key,
        "value" => Term::Value,
        column => Term::Column(column.into()),
    }
}

/// Whether a name can stand without quotes and is a column then.
pub(super) fn is_bare_column(name: &str) -> bool {
    let is_taken = |word: &str| name.eq_ignore_ascii_case(word);
    let special = ["key", "value", "true", "false"];
    Lexer::new(name).peek_word() == name
        && !name.is_empty()
        && !RESERVED.iter().any(|&word| is_taken(word))
        && !special.iter().any(|&word| is_taken(word))
}
