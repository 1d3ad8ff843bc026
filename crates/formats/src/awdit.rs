//! AWDIT text: `r KEY VALUE` or `w KEY VALUE` a line, transactions between rules of `-`, sessions between rules of `=`.
//!
//! Nothing is implied: keys are absent at first, and a history whose keys start with something writes it down as an
//! ordinary first session. Rules with nothing between them make neither a transaction nor a session.

use history::{Builder, Datum, Outcome, SessionId};

use crate::error::Error;
use crate::parts::Parts;
use crate::scan::decimal;
use crate::source::Block;
use crate::{Format, Loaded, ReadOptions, Source};

/// Whether the first line that is not blank is an operation or a rule followed by one.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let mut lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let is_rule = |line: &&[u8]| {
        line.is_empty() || line.iter().all(|&byte| byte == b'-') || line.iter().all(|&byte| byte == b'=')
    };
    let first = lines.find(|line| !is_rule(line)).unwrap_or_default();
    let block = Block { bytes: first, first_line: 1, file: "" };
    operation(&block, &mut 0).is_ok()
}

/// Reads a whole history.
pub(crate) fn read(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    let mut reader = Reader::default();
    reader.all(source)?;
    Ok(Loaded::new(reader.builder.finish(), Format::Awdit))
}

/// Reads a large file on several threads; `None` if it has to be read from beginning to end.
pub(crate) fn read_parts(parts: &Parts<'_>) -> Option<Loaded> {
    let read = |source: &mut Source<'_>, _| {
        let mut reader = Reader::default();
        reader.all(source).map(|()| reader)
    };
    let mut whole = Reader::default();
    parts.read(read)?.into_iter().try_for_each(|part| whole.join(part))?;
    Some(Loaded::new(whole.builder.finish(), Format::Awdit))
}

/// Where the first rule begins, so that no transaction is cut.
pub(crate) fn cut(text: &[u8]) -> Option<usize> {
    let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text).map(|end| end + 1));
    starts.into_iter().find(|&start| matches!(text.get(start), Some(b'-' | b'=')))
}

#[derive(Default)]
struct Reader {
    builder: Builder,
    session: Option<SessionId>,
    is_open: bool,
    /// Whether a rule that ends a session was before the first transaction.
    begins_with_rule: bool,
    /// Whether a rule ended a session anywhere.
    has_rule: bool,
}

impl Reader {
    /// Reads to the end.
    fn all(&mut self, source: &mut Source<'_>) -> Result<(), Error> {
        while let Some(block) = source.next_block()? {
            let mut index = 0;
            while index < block.bytes.len() {
                self.line(&block, &mut index)?;
            }
            source.check_memory(&self.builder)?;
        }
        self.end_txn();
        Ok(())
    }

    /// Appends what a later part of the file says: its first session may go on from the part before.
    fn join(&mut self, part: Self) -> Option<()> {
        let mut known = vec![None; part.builder.session_count()];
        if !part.begins_with_rule
            && let Some(first) = known.first_mut()
        {
            *first = self.session;
        }
        let last = part.session.map(SessionId::index);
        let joined = self.builder.join(part.builder, &known).ok()?;
        self.session = last.map(|last| joined.sessions[last]).or(self.session.filter(|_| !part.has_rule));
        Some(())
    }

    #[inline]
    fn line(&mut self, block: &Block<'_>, index: &mut usize) -> Result<(), Error> {
        match block.bytes[*index] {
            b'\n' | b'\r' => {}
            b'-' => {
                skip_rule(block, index, b'-');
                self.end_txn();
            }
            b'=' => {
                skip_rule(block, index, b'=');
                self.end_txn();
                self.session = None;
                self.has_rule = true;
                self.begins_with_rule |= self.builder.session_count() == 0;
            }
            _ => {
                let (is_write, key, value) = operation(block, index)?;
                self.operation(is_write, key, value);
            }
        }
        end_of_line(block, index)
    }

    #[inline]
    fn operation(&mut self, is_write: bool, key: u64, value: u64) {
        let builder = &mut self.builder;
        if !self.is_open {
            let session = *self.session.get_or_insert_with(|| builder.session());
            builder.begin(session);
            self.is_open = true;
        }
        let key = match i64::try_from(key) {
            Ok(int) => builder.keys.intern_int(int),
            Err(_) => builder.keys.intern(Datum::uint(key)),
        };
        let value = match i64::try_from(value) {
            Ok(int) => builder.values.intern_int(int),
            Err(_) => builder.values.intern(Datum::uint(value)),
        };
        match is_write {
            true => builder.write(key, value),
            false => builder.read(key, value),
        };
    }

    fn end_txn(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.builder.end(Outcome::Committed);
        }
    }
}

#[inline]
fn operation(block: &Block<'_>, index: &mut usize) -> Result<(bool, u64, u64), Error> {
    let is_write = match block.bytes.get(*index) {
        Some(b'r') => false,
        Some(b'w') => true,
        _ => return Err(block.error(*index, "`r KEY VALUE`, `w KEY VALUE` or a rule of `-` or `=`")),
    };
    *index += 1;
    let key = number_after_blank(block, index, "a blank and a key")?;
    let value = number_after_blank(block, index, "a blank and a value")?;
    Ok((is_write, key, value))
}

#[inline]
fn number_after_blank(block: &Block<'_>, index: &mut usize, expected: &str) -> Result<u64, Error> {
    let start = *index;
    if !matches!(block.bytes.get(start), Some(b' ' | b'\t')) {
        return Err(block.error(start, expected));
    }
    while let Some(b' ' | b'\t') = block.bytes.get(*index) {
        *index += 1;
    }
    decimal(block.bytes, index).ok_or_else(|| block.error(start, expected))
}

fn skip_rule(block: &Block<'_>, index: &mut usize, mark: u8) {
    while block.bytes.get(*index) == Some(&mark) {
        *index += 1;
    }
}

#[inline]
fn end_of_line(block: &Block<'_>, index: &mut usize) -> Result<(), Error> {
    while let Some(b' ' | b'\t' | b'\r') = block.bytes.get(*index) {
        *index += 1;
    }
    match block.bytes.get(*index) {
        None => Ok(()),
        Some(b'\n') => {
            *index += 1;
            Ok(())
        }
        _ => Err(block.error(*index, "the end of the line")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use history::{History, Summary};

    fn read_text(text: &str) -> Result<History, Error> {
        let options = ReadOptions::default();
        let mut source = Source::new("t", text.as_bytes(), &options);
        read(&mut source, &options).map(|loaded| loaded.history)
    }

    #[test]
    fn rules_separate_transactions_and_sessions() {
        let history = read_text("w 1 0\nw 2 0\n====\nr 1 0\n---\nw 1 1\n===\nr 1 1").unwrap();
        let summary = Summary::of(&history);
        assert_eq!((summary.sessions, summary.committed, summary.operations), (3, 4, 5));
    }

    #[test]
    fn what_is_no_line_is_refused_with_its_place() {
        let refusal = |text| read_text(text).unwrap_err().to_string();
        assert_eq!(refusal("w 1 1\nr 1\n"), "t:2:4: expected a blank and a value, found the end of the line");
        assert_eq!(refusal("w 1 1 1\n"), "t:1:7: expected the end of the line, found `1`");
        assert!(refusal("x 1 1").starts_with("t:1:1: expected `r KEY VALUE`"));
    }
}
