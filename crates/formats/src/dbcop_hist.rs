//! dbcop 0.2 text, `.hist`: transactions in brackets, sessions between rules of `-`.
//!
//! ```text
//! // two sessions
//! [x:=1 y:=1] [x==1]!
//! ---
//! [y==?]
//! ```
//!
//! `:=` writes, `==` reads, `==?` reads the initial value, and `!` marks a transaction that did not commit. A variable
//! starts with 0 unless a transaction writes 0 to it. Every line ends with a line break, the last one too.

use history::{Builder, Datum, KeyId, Outcome, SessionId, ValueId};

use crate::error::Error;
use crate::key_cache::KeyCache;
use crate::scan::decimal;
use crate::source::Block;
use crate::zero_implied::ZeroImplied;
use crate::{Format, Loaded, ReadOptions, Source};

/// Whether a byte may be part of a name.
const IS_PART: [bool; 256] = {
    let mut is_part = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        is_part[byte] = byte >= 0x80 || byte == b'_' as usize || (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    is_part
};

/// Whether the first line that is neither blank nor a comment nor a rule begins with an event in a bracket.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let mut lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let is_other = |line: &&[u8]| line.starts_with(b"//") || line.iter().all(|&byte| byte == b'-');
    let first = lines.find(|line| !is_other(line)).unwrap_or_default();
    let Some(event) = first.strip_prefix(b"[") else {
        return false;
    };
    let name_end = event.iter().position(|&byte| byte == b':' || byte == b'=');
    name_end.is_some_and(|end| end > 0 && matches!(event.get(end..end + 2), Some(b":=" | b"==")))
}

/// Reads a whole history.
pub(crate) fn read(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    let mut reader = Reader::default();
    while let Some(block) = source.next_block()? {
        if block.bytes.last() != Some(&b'\n') {
            return Err(block.error(block.bytes.len(), "a line break at the end of the last line"));
        }
        let mut index = 0;
        while index < block.bytes.len() {
            reader.line(&block, &mut index)?;
        }
        source.check_memory(&reader.builder)?;
    }
    Ok(Loaded::new(reader.zero.finish(reader.builder), Format::DbcopHist))
}

#[derive(Default)]
struct Reader {
    builder: Builder,
    zero: ZeroImplied,
    session: Option<SessionId>,
    cache: KeyCache,
}

impl Reader {
    fn line(&mut self, block: &Block<'_>, index: &mut usize) -> Result<(), Error> {
        loop {
            skip_blanks(block, index);
            match block.bytes[*index] {
                b'\n' => break,
                b'[' => self.txn(block, index)?,
                b'-' => self.rule(block, index)?,
                b'/' if block.bytes[*index..].starts_with(b"//") => skip_to_line_end(block, index),
                _ => return Err(block.error(*index, "`[`, a rule of `-`, or a comment after `//`")),
            }
        }
        *index += 1;
        Ok(())
    }

    fn rule(&mut self, block: &Block<'_>, index: &mut usize) -> Result<(), Error> {
        if *index > 0 && block.bytes[*index - 1] != b'\n' {
            return Err(block.error(*index, "the rule at the beginning of its line"));
        }
        if self.session.take().is_none() {
            self.builder.session();
        }
        while block.bytes[*index] == b'-' {
            *index += 1;
        }
        skip_blanks(block, index);
        match block.bytes[*index] {
            b'\n' => Ok(()),
            _ => Err(block.error(*index, "nothing else in the line of a rule")),
        }
    }

    fn txn(&mut self, block: &Block<'_>, index: &mut usize) -> Result<(), Error> {
        let builder = &mut self.builder;
        let session = *self.session.get_or_insert_with(|| builder.session());
        builder.begin(session);
        *index += 1;
        loop {
            self.event(block, index)?;
            skip_blanks(block, index);
            if block.bytes[*index] == b']' {
                break;
            }
        }
        *index += 1;
        let is_aborted = block.bytes[*index] == b'!';
        *index += usize::from(is_aborted);
        self.builder.end(if is_aborted { Outcome::Aborted } else { Outcome::Committed });
        Ok(())
    }

    fn event(&mut self, block: &Block<'_>, index: &mut usize) -> Result<(), Error> {
        skip_blanks(block, index);
        let key = self.variable(block, index)?;
        let is_write = match block.bytes.get(*index..*index + 2) {
            Some(b":=") => true,
            Some(b"==") => false,
            _ => return Err(block.error(*index, "`:=` or `==`")),
        };
        *index += 2;
        if !is_write && block.bytes[*index] == b'?' {
            *index += 1;
            self.zero.read_initial(&mut self.builder, key);
            return Ok(());
        }
        let start = *index;
        let value = decimal(block.bytes, index)
            .ok_or_else(|| block.error(start, "a version, or `?` if it is read"))?;
        let value = self.value(value);
        match is_write {
            true => self.zero.write(&mut self.builder, key, value),
            false => _ = self.builder.read(key, value),
        }
        Ok(())
    }

    /// A variable by its name, which was mostly seen before.
    fn variable(&mut self, block: &Block<'_>, index: &mut usize) -> Result<KeyId, Error> {
        let rest = &block.bytes[*index..];
        let length = rest.iter().position(|&byte| !IS_PART[usize::from(byte)]).unwrap_or(rest.len());
        let spelling = &rest[..length];
        let key = match self.cache.get(spelling) {
            Some(key) => key,
            None => {
                let name = name(spelling).ok_or_else(|| block.error(*index, "the name of a variable"))?;
                let key = self.builder.keys.intern(name);
                self.cache.put(spelling, key);
                key
            }
        };
        *index += length;
        Ok(key)
    }

    fn value(&mut self, number: u64) -> ValueId {
        match i64::try_from(number) {
            Ok(int) => self.builder.values.intern_int(int),
            Err(_) => self.builder.values.intern(Datum::uint(number)),
        }
    }
}

/// A name of letters, digits and `_`; one of digits only is a number.
fn name(spelling: &[u8]) -> Option<Datum> {
    let name = std::str::from_utf8(spelling).ok()?;
    if name.is_empty() || !name.chars().all(|char| char.is_alphanumeric() || char == '_') {
        return None;
    }
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
    match is_number {
        true => Datum::int_from_decimal(name),
        false => Some(Datum::str(name)),
    }
}

/// Every block ends with a line break, so there is always a byte after blanks.
fn skip_blanks(block: &Block<'_>, index: &mut usize) {
    while let b' ' | b'\t' | b'\r' = block.bytes[*index] {
        *index += 1;
    }
}

fn skip_to_line_end(block: &Block<'_>, index: &mut usize) {
    while block.bytes[*index] != b'\n' {
        *index += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use history::{History, Op, OpId, Summary};

    fn read_text(text: &str) -> Result<History, Error> {
        let options = ReadOptions::default();
        let mut source = Source::new("t", text.as_bytes(), &options);
        read(&mut source, &options).map(|loaded| loaded.history)
    }

    #[test]
    fn brackets_are_transactions_and_rules_separate_sessions() {
        let history = read_text("// head\n[x:=1 größe:=2][x==1]!\n\n---\n[x==?]\n").unwrap();
        let summary = Summary::of(&history);
        assert_eq!((summary.sessions, summary.committed, summary.aborted), (2, 2, 1));
        assert_eq!(summary.operations, 3);
        assert_eq!(history.op(OpId(3)).value(), Some(ValueId(0)));
    }

    #[test]
    fn the_initial_value_is_absent_where_zero_is_written() {
        let history = read_text("[x:=0]\n---\n[x==?]\n").unwrap();
        let read = history.op(OpId(1));
        assert!(matches!(read, Op::Read { value: Some(ValueId::NIL), .. }));
    }

    #[test]
    fn what_is_no_history_is_refused_with_its_place() {
        let refusal = |text| read_text(text).unwrap_err().to_string();
        assert_eq!(
            refusal("[x==1]"),
            "t:1:7: expected a line break at the end of the last line, found the end of the file"
        );
        assert_eq!(refusal("[]\n"), "t:1:2: expected the name of a variable, found `]`");
        assert_eq!(refusal("[x:=?]\n"), "t:1:5: expected a version, or `?` if it is read, found `?]`");
        assert_eq!(refusal("[x==1\n"), "t:1:6: expected the name of a variable, found the end of the line");
    }
}
