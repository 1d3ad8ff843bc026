//! The native notation: a history of a few transactions in a few lines, as a paper would write it.
//!
//! ```text
//! init *=0 y=5
//! a: r(x)=0 w(y)=1
//! b: r(y)=5 w(x)=1   abort
//! c: {w(x)=2} {r(x)=2} unknown @[10,20]
//! ```
//!
//! `docs/formats/notation.md` describes it. It holds everything the model holds, and [`print()`] and [`parse`] are
//! inverse to each other. It is meant for people, tests and documents; a large history belongs in the native JSON
//! Lines, which are several times as fast to read.

mod cursor;
mod datum;
mod names;
mod ops;
mod parse;
mod print;

use std::io::Write;

use history::History;

use crate::{Error, Format, Loaded, ReadOptions, Source, Warning, WriteOptions};
use cursor::Cursor;
use parse::Parser;

/// The history that a text in the notation describes.
///
/// ```
/// let history = isoscope_formats::notation::parse("
///     a: r(x)=0 w(y)=1
///     b: r(y)=0 w(x)=1   abort
/// ").unwrap();
/// assert_eq!((history.session_count(), history.txn_count(), history.op_count()), (2, 2, 4));
/// ```
pub fn parse(text: &str) -> Result<History, Error> {
    let mut parser = Parser::new();
    for (line, number) in text.lines().zip(1..) {
        parser.line("notation", number, line)?;
    }
    Ok(parser.finish())
}

/// A history as text in the notation, one transaction a line.
pub fn print(history: &History) -> Result<String, Error> {
    let mut text = Vec::new();
    print::write(history, &mut text)?;
    Ok(String::from_utf8(text).expect("the notation is written from strings"))
}

/// Whether the first line that says something begins as one of the notation does.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let lines = head.split(|&byte| byte == b'\n').map(std::str::from_utf8);
    let mut cursors = lines.map_while(Result::ok).map(|line| {
        let mut cursor = Cursor::new("", 1, line);
        cursor.skip_blanks();
        cursor
    });
    let first = cursors.find(|cursor| !cursor.is_at_end());
    first.is_some_and(parse::begins_like_a_line)
}

/// Reads a file in the notation.
pub(crate) fn read(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    let mut parser = Parser::new();
    while let Some(block) = source.next_block()? {
        for (line, number) in block.bytes.split(|&byte| byte == b'\n').zip(block.first_line..) {
            let line =
                std::str::from_utf8(line).map_err(|error| not_text(block.file, number, line, &error))?;
            parser.line(block.file, number, line)?;
        }
        source.check_memory(parser.builder())?;
    }
    Ok(Loaded::new(parser.finish(), Format::Notation))
}

/// Writes a history in the notation.
pub(crate) fn write(
    history: &History,
    out: &mut dyn Write,
    _options: &WriteOptions,
) -> Result<Vec<Warning>, Error> {
    print::write(history, out)?;
    Ok(Vec::new())
}

fn not_text(file: &str, number: u64, line: &[u8], error: &std::str::Utf8Error) -> Error {
    let column = error.valid_up_to();
    let place = crate::Place::Column(number, column as u64 + 1);
    Error::input(file, place, "text in UTF-8", crate::error::excerpt(&line[column..]))
}

#[cfg(test)]
mod tests;
