//! Predicates in brackets: `[all]`, `[v=30]`, `[k>0 and k<2]`, `[v%3=0]`, `[k in 1 2]`.

use databases::{Comparison, Where};

use crate::notation::Cursor;

/// Two letters before one: `<=` begins with `<`.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<>", Comparison::NotEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
    ("=", Comparison::Equal),
];

/// A predicate with its brackets: terms with `and` between them, and `or` between those.
pub(crate) fn parse_bracketed(cursor: &mut Cursor<'_>, columns: &[String]) -> Result<Where, String> {
    cursor.expect("[")?;
    let mut alternatives = vec![conjunction(cursor, columns)?];
    while cursor.eat_word("or") {
        alternatives.push(conjunction(cursor, columns)?);
    }
    cursor.expect("]")?;
    Ok(one_or(alternatives, Where::Or))
}

fn conjunction(cursor: &mut Cursor<'_>, columns: &[String]) -> Result<Where, String> {
    let mut parts = Vec::new();
    loop {
        cursor.skip_blanks();
        parts.push(term(cursor, columns)?);
        cursor.skip_blanks();
        if !cursor.eat_word("and") {
            return Ok(one_or(parts, Where::And));
        }
    }
}

fn one_or(mut parts: Vec<Where>, many: fn(Vec<Where>) -> Where) -> Where {
    match parts.len() {
        1 => parts.remove(0),
        _ => many(parts),
    }
}

fn term(cursor: &mut Cursor<'_>, columns: &[String]) -> Result<Where, String> {
    if cursor.eat_word("all") {
        return Ok(Where::All);
    }
    let error = cursor.error(&format!("`all` or a column, one of k, {}", columns.join(", ")));
    let name = cursor.take_while(|char| char.is_ascii_alphanumeric() || char == '_').to_owned();
    if name != "k" && !columns.contains(&name) {
        return Err(error);
    }
    cursor.skip_blanks();
    if cursor.eat("%") {
        return modulo(cursor, name);
    }
    if cursor.eat_word("in") {
        return list(cursor, name);
    }
    let found = COMPARISONS.iter().find(|(symbol, _)| cursor.eat(symbol));
    let (_, comparison) = found.ok_or_else(|| cursor.error("a comparison, `%` or `in`"))?;
    cursor.skip_blanks();
    let value = if name == "k" { cursor.key()? } else { cursor.value()? };
    Ok(Where::Compare(name, *comparison, value))
}

fn modulo(cursor: &mut Cursor<'_>, name: String) -> Result<Where, String> {
    let divisor = cursor.integer()?;
    if divisor <= 0 {
        return Err(format!("expected a positive number after `%`, found {divisor}"));
    }
    cursor.expect("=")?;
    Ok(Where::Modulo(name, divisor, cursor.integer()?))
}

fn list(cursor: &mut Cursor<'_>, name: String) -> Result<Where, String> {
    let mut values = Vec::new();
    loop {
        cursor.skip_blanks();
        match cursor.peek() {
            Some(char) if char.is_ascii_digit() || char == '-' => values.push(cursor.value()?),
            _ if values.is_empty() => return Err(cursor.error("integers")),
            _ => return Ok(Where::In(name, values)),
        }
    }
}
