//! The operations of the notation, read.
//!
//! What follows an operation without a blank belongs to it: `*3` rows changed, `^7` version, `@[1,2]` request and
//! response, `!` refused by the database.

use history::{
    Bound, Builder, Change, Datum, KeyId, OpTimes, Predicate, PredicateRead, PredicateWrite, RangeRead, Row,
};

use super::cursor::Cursor;
use crate::Error;

const OPERATIONS: [&str; 8] = ["r", "w", "a", "i", "d", "p", "pw", "pd"];

/// Whether an operation comes next: its word and an opening bracket.
pub(super) fn is_next(cursor: &Cursor<'_>) -> bool {
    let mut ahead = *cursor;
    OPERATIONS.contains(&ahead.word()) && matches!(ahead.peek(), b'(' | b'[')
}

/// Reads one operation into the open transaction; the keys of list operations are noted.
pub(super) fn operation(
    cursor: &mut Cursor<'_>,
    builder: &mut Builder,
    list_keys: &mut Vec<KeyId>,
) -> Result<(), Error> {
    let start = *cursor;
    match cursor.word() {
        "r" => read(cursor, builder, list_keys)?,
        "w" => {
            let (key, value) = key_and_value(cursor)?;
            let (key, value) = (builder.keys.intern(key), builder.values.intern(value));
            builder.write(key, value);
        }
        "a" => {
            let (key, value) = key_and_value(cursor)?;
            let (key, value) = (builder.keys.intern(key), builder.values.intern(value));
            list_keys.push(key);
            builder.append(key, value);
        }
        "i" => {
            let (key, value) = key_and_value(cursor)?;
            let (key, value) = (builder.keys.intern(key), builder.values.intern(value));
            builder.insert(key, value);
        }
        "d" => delete(cursor, builder)?,
        "p" => predicate_read(cursor, builder)?,
        "pw" => return predicate_write(cursor, builder),
        "pd" => return predicate_delete(cursor, builder),
        _ => return Err(start.error("an operation such as r(x)=1, w(x)=1 or a(x)=1")),
    }
    suffixes(cursor, builder)
}

fn read(cursor: &mut Cursor<'_>, builder: &mut Builder, list_keys: &mut Vec<KeyId>) -> Result<(), Error> {
    let is_included = cursor.peek() == b'[';
    if !is_included && cursor.peek() != b'(' {
        return Err(cursor.error("`(` and a key"));
    }
    cursor.advance(1);
    cursor.skip_blanks();
    if cursor.eat("..") {
        return range(cursor, builder, Bound::Unbounded);
    }
    let key = cursor.datum()?;
    cursor.skip_blanks();
    if cursor.eat("..") {
        let bound = if is_included { Bound::Included } else { Bound::Excluded };
        return range(cursor, builder, bound(key));
    }
    if is_included {
        return Err(cursor.error("`..` and the other end of the range"));
    }
    cursor.expect(")")?;
    if !cursor.eat_equals() {
        return Err(cursor.error("`=` and what was read, or =? if that is unknown"));
    }
    let key = builder.keys.intern(key);
    read_one(cursor, builder, list_keys, key)
}

fn read_one(
    cursor: &mut Cursor<'_>,
    builder: &mut Builder,
    list_keys: &mut Vec<KeyId>,
    key: KeyId,
) -> Result<(), Error> {
    if cursor.eat("?") {
        builder.read_unknown(key);
    } else if cursor.eat("[?]") {
        list_keys.push(key);
        builder.read_list_unknown(key);
    } else if cursor.peek() == b'[' {
        let Datum::List(items) = cursor.datum()? else {
            return Err(cursor.error("a list"));
        };
        let list: Vec<_> = items.into_iter().map(|item| builder.values.intern(item)).collect();
        list_keys.push(key);
        builder.read_list(key, &list);
    } else {
        let value = cursor.datum()?;
        let value = builder.values.intern(value);
        builder.read(key, value);
    }
    Ok(())
}

fn range(cursor: &mut Cursor<'_>, builder: &mut Builder, from: Bound) -> Result<(), Error> {
    cursor.skip_blanks();
    let end = match cursor.peek() {
        b']' | b')' => None,
        _ => Some(cursor.datum()?),
    };
    cursor.skip_blanks();
    let is_included = cursor.eat("]");
    if !is_included {
        cursor.expect(")")?;
    }
    let to = match end {
        None => Bound::Unbounded,
        Some(key) if is_included => Bound::Included(key),
        Some(key) => Bound::Excluded(key),
    };
    let rows = rows(cursor, builder)?;
    builder.range_read(RangeRead { from, to, rows });
    Ok(())
}

fn rows(cursor: &mut Cursor<'_>, builder: &mut Builder) -> Result<Option<Vec<Row>>, Error> {
    if !cursor.eat_equals() {
        return Err(cursor.error("`=` and the rows, as in ={x=1 y=2}, or =? if they are unknown"));
    }
    if cursor.eat("?") {
        return Ok(None);
    }
    cursor.expect("{")?;
    let mut rows = Vec::new();
    loop {
        cursor.skip_blanks();
        if cursor.eat("}") {
            return Ok(Some(rows));
        }
        let is_dead = cursor.eat("~");
        let key = cursor.datum()?;
        if !cursor.eat_equals() {
            return Err(cursor.error("`=` and what the row holds"));
        }
        let value = cursor.datum()?;
        let (key, value) = (builder.keys.intern(key), builder.values.intern(value));
        rows.push(Row { key, value, is_dead });
    }
}

fn delete(cursor: &mut Cursor<'_>, builder: &mut Builder) -> Result<(), Error> {
    let key = argument(cursor)?;
    let tombstone = if cursor.eat_equals() { Some(cursor.datum()?) } else { None };
    let key = builder.keys.intern(key);
    let tombstone = tombstone.map(|mark| builder.values.intern(mark));
    builder.delete(key, tombstone);
    Ok(())
}

fn predicate_read(cursor: &mut Cursor<'_>, builder: &mut Builder) -> Result<(), Error> {
    let predicate = predicate(cursor)?;
    let rows = rows(cursor, builder)?;
    builder.predicate_read(PredicateRead { predicate: predicate.into(), rows });
    Ok(())
}

fn predicate_write(cursor: &mut Cursor<'_>, builder: &mut Builder) -> Result<(), Error> {
    let predicate = predicate(cursor)?;
    if !cursor.eat_equals() {
        return Err(cursor.error("`=` and what the rows are set to"));
    }
    let value = cursor.datum()?;
    end_predicate_write(cursor, builder, predicate, Change::Set(value))
}

fn predicate_delete(cursor: &mut Cursor<'_>, builder: &mut Builder) -> Result<(), Error> {
    let predicate = predicate(cursor)?;
    end_predicate_write(cursor, builder, predicate, Change::Delete)
}

fn end_predicate_write(
    cursor: &mut Cursor<'_>,
    builder: &mut Builder,
    predicate: Datum,
    change: Change,
) -> Result<(), Error> {
    let mut row_count = None;
    if cursor.eat("*") {
        let start = *cursor;
        let count = cursor.digits().parse();
        row_count = Some(count.map_err(|_| start.error("how many rows were changed"))?);
    }
    let is_returning = cursor.eat("<");
    let keys = if cursor.eat("~{") { Some(changed_keys(cursor, builder)?) } else { None };
    let predicate = predicate.into();
    builder.predicate_write(PredicateWrite { predicate, change, row_count, keys, is_returning });
    suffixes(cursor, builder)
}

fn changed_keys(cursor: &mut Cursor<'_>, builder: &mut Builder) -> Result<Vec<KeyId>, Error> {
    let mut keys = Vec::new();
    loop {
        cursor.skip_blanks();
        if cursor.eat("}") {
            return Ok(keys);
        }
        let key = cursor.datum()?;
        keys.push(builder.keys.intern(key));
    }
}

/// `(predicate)`: a text as it stands, or any value.
fn predicate(cursor: &mut Cursor<'_>) -> Result<Datum, Error> {
    let start = *cursor;
    if let Ok(datum) = argument(cursor) {
        return Ok(datum);
    }
    *cursor = start;
    cursor.expect("(")?;
    let Some(length) = predicate_length(cursor.rest()) else {
        return Err(cursor.error("a predicate and `)`"));
    };
    let text = Datum::str(cursor.rest()[..length].trim());
    if let Err(error) = Predicate::parse(&text) {
        cursor.advance(leading_blanks(cursor.rest()) + error.at.unwrap_or(0));
        return Err(cursor.error(error.expected));
    }
    cursor.advance(length + 1);
    Ok(text)
}

fn leading_blanks(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// How long a predicate's text is up to the bracket that closes it, which is not one inside quotes.
fn predicate_length(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (place, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b')') if depth == 0 => return Some(place),
            (None, b')') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Whether a predicate that is a text can stand as it is, and is read back as it was.
pub(super) fn can_stand_bare(text: &str) -> bool {
    let written = format!("({text})");
    let mut cursor = Cursor::new("", 1, &written);
    let is_plain = !text.contains(char::is_control) && Predicate::parse(&Datum::str(text)).is_ok();
    is_plain && predicate(&mut cursor).is_ok_and(|read| read == Datum::str(text)) && cursor.is_at_end()
}

/// `(key)`.
fn argument(cursor: &mut Cursor<'_>) -> Result<Datum, Error> {
    cursor.expect("(")?;
    cursor.skip_blanks();
    let argument = cursor.datum()?;
    cursor.skip_blanks();
    cursor.expect(")")?;
    Ok(argument)
}

/// `(key)=value`.
fn key_and_value(cursor: &mut Cursor<'_>) -> Result<(Datum, Datum), Error> {
    let key = argument(cursor)?;
    if !cursor.eat_equals() {
        return Err(cursor.error("`=` and what was written"));
    }
    Ok((key, cursor.datum()?))
}

fn suffixes(cursor: &mut Cursor<'_>, builder: &mut Builder) -> Result<(), Error> {
    if cursor.eat("^") {
        builder.set_op_version(cursor.stored_int("a version")?);
    }
    if cursor.eat("@[") {
        let times = op_times(cursor)?;
        builder.set_op_times(times).map_err(|backwards| cursor.backwards(&backwards))?;
    }
    if cursor.eat("!") {
        builder.mark_failed();
    }
    match cursor.peek() {
        0 | b' ' | b'\t' | b'\r' | b',' | b'}' | b'#' => Ok(()),
        _ => Err(cursor.error("a blank before what follows the operation")),
    }
}

fn op_times(cursor: &mut Cursor<'_>) -> Result<OpTimes, Error> {
    let request = time(cursor)?;
    cursor.expect(",")?;
    let response = time(cursor)?;
    cursor.expect("]")?;
    Ok(OpTimes { request, response })
}

/// A time, or `?` if it was not recorded.
pub(super) fn time(cursor: &mut Cursor<'_>) -> Result<Option<i64>, Error> {
    if cursor.peek() == b' ' {
        cursor.skip_blanks();
    }
    if cursor.eat("?") {
        return Ok(None);
    }
    cursor.stored_int("a time").map(Some)
}
