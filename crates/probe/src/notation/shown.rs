//! The conditions of `shown`.

use super::cursor::Cursor;
use super::steps;
use crate::Condition;

/// Conditions with `and` between them.
pub(super) fn parse(cursor: &mut Cursor<'_>, width: usize) -> Result<Vec<Condition>, String> {
    let mut conditions = Vec::new();
    loop {
        cursor.skip_blanks();
        conditions.push(condition(cursor, width)?);
        cursor.skip_blanks();
        match cursor.is_at_end() {
            true => return Ok(conditions),
            false if cursor.eat_word("and") => {}
            false => return Err(cursor.error("`and`")),
        }
    }
}

fn condition(cursor: &mut Cursor<'_>, width: usize) -> Result<Condition, String> {
    if cursor.eat_word("not") {
        cursor.skip_blanks();
        cursor.expect("serializable")?;
        return Ok(Condition::NotSerializable);
    }
    if cursor.eat_word("committed") {
        return committed(cursor);
    }
    if cursor.eat_word("final") {
        cursor.skip_blanks();
        let key = cursor.key()?;
        cursor.expect("=")?;
        return Ok(Condition::Final(key, steps::values(cursor, width)?));
    }
    if !cursor.peek().is_some_and(|char| char.is_ascii_digit()) {
        return Err(cursor.error("`final KEY=VALUE`, `N saw VALUE`, `committed N`, or `not serializable`"));
    }
    saw(cursor)
}

fn committed(cursor: &mut Cursor<'_>) -> Result<Condition, String> {
    let mut txns = Vec::new();
    loop {
        cursor.skip_blanks();
        match cursor.peek() {
            Some(char) if char.is_ascii_digit() => txns.push(cursor.txn()?),
            _ if txns.is_empty() => return Err(cursor.error("the numbers of transactions")),
            _ => return Ok(Condition::Committed(txns)),
        }
    }
}

/// `1 saw 5`, `1 saw 5 before 6`, `1 saw 5 with 6`.
fn saw(cursor: &mut Cursor<'_>) -> Result<Condition, String> {
    let txn = cursor.txn()?;
    cursor.skip_blanks();
    cursor.expect("saw")?;
    cursor.skip_blanks();
    let first = cursor.value()?;
    cursor.skip_blanks();
    let is_before = cursor.eat_word("before");
    if !is_before && !cursor.eat_word("with") {
        return Ok(Condition::Saw(txn, first));
    }
    cursor.skip_blanks();
    let second = cursor.value()?;
    Ok(match is_before {
        true => Condition::SawBefore(txn, first, second),
        false => Condition::SawWith(txn, first, second),
    })
}
