//! PolySI, IsoVista and Plume text: `r(key,value,session,txn)` or `w(key,value,session,txn)`, one operation a line.
//!
//! A transaction is all lines with its number, which is global; lines are in program order, and the transactions of a
//! session are in the order of their first lines. Transaction -1 marks aborted writes. A key starts with 0 unless
//! a transaction writes 0 to it.
//!
//! Lines of one transaction mostly stand together and go straight into the model. Each such run is a fragment; only
//! when a transaction has several are they joined in a second pass.

mod write;

use std::ops::Range;

use history::{Builder, Datum, History, KeyId, OpId, Outcome, SessionId, TxnId, ValueId};
use rustc_hash::FxHashMap;

use crate::by_number::ByNumber;
use crate::error::Error;
use crate::parts::Parts;
use crate::scan::decimal;
use crate::source::Block;
use crate::zero_implied::ZeroImplied;
use crate::{Format, Loaded, ReadOptions, Source};
pub(crate) use write::write;

/// Whether the first line that is not blank is an operation, or has the shape of one.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let start = head.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
    let end = head[start..].iter().position(|&byte| byte == b'\n').map_or(head.len(), |end| start + end);
    let line = head[start..end].trim_ascii_end();
    let count = |mark: u8| line.iter().filter(|&&byte| byte == mark).count();
    let is_operation = line.starts_with(b"r(") || line.starts_with(b"w(");
    is_operation && line.ends_with(b")") && count(b',') == 3 && count(b'=') == 0
}

/// One line.
struct Line {
    is_write: bool,
    key: u64,
    value: u64,
    session: u64,
    /// `None` for the -1 of aborted writes.
    txn: Option<u64>,
}

/// Session and transaction of the last line of a block: most lines end like the one before.
#[derive(Default)]
struct End {
    /// Where they stand in the block, with the bracket.
    bytes: Range<usize>,
    session: u64,
    txn: Option<u64>,
}

/// The operation at an index, which moves behind its bracket.
#[inline]
fn line_at(block: &Block<'_>, index: &mut usize, end: &mut End) -> Result<Line, Error> {
    let bytes = block.bytes;
    let is_write = match bytes.get(*index..*index + 2) {
        Some(b"r(") => false,
        Some(b"w(") => true,
        _ => return Err(block.error(*index, "`r(` or `w(`")),
    };
    *index += 2;
    let key = number_before(block, index, b',', "a key and `,`")?;
    let value = number_before(block, index, b',', "a value and `,`")?;
    if !bytes[*index..].starts_with(&bytes[end.bytes.clone()]) || end.bytes.is_empty() {
        *end = end_at(block, *index)?;
    }
    *index += end.bytes.len();
    Ok(Line { is_write, key, value, session: end.session, txn: end.txn })
}

/// Session, transaction and bracket at an index.
fn end_at(block: &Block<'_>, start: usize) -> Result<End, Error> {
    let mut place = start;
    let index = &mut place;
    let session = number_before(block, index, b',', "a session and `,`")?;
    let txn = match block.bytes.get(*index..*index + 3) {
        Some(b"-1)") => {
            *index += 3;
            None
        }
        _ => Some(number_before(block, index, b')', "a transaction (or -1) and `)`")?),
    };
    Ok(End { bytes: start..place, session, txn })
}

#[inline]
fn number_before(block: &Block<'_>, index: &mut usize, mark: u8, expected: &str) -> Result<u64, Error> {
    let start = *index;
    match decimal(block.bytes, index) {
        Some(number) if block.bytes.get(*index) == Some(&mark) => {
            *index += 1;
            Ok(number)
        }
        _ => Err(block.error(start, expected)),
    }
}

/// Reads a whole history.
pub(crate) fn read(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    let mut reader = Reader::default();
    reader.all(source)?;
    Ok(Loaded::new(reader.finish(), Format::Polysi))
}

/// Reads a large file on several threads; `None` if it has to be read from beginning to end.
pub(crate) fn read_parts(parts: &Parts<'_>) -> Option<Loaded> {
    let read = |source: &mut Source<'_>, _| {
        let mut reader = Reader { is_part: true, ..Reader::default() };
        reader.all(source).map(|()| reader)
    };
    let mut whole = Reader::default();
    parts.read(read)?.into_iter().try_for_each(|part| whole.join(part))?;
    Some(Loaded::new(whole.finish(), Format::Polysi))
}

/// Where the first transaction begins of which the line before is another one.
pub(crate) fn cut(text: &[u8]) -> Option<usize> {
    let txn_of =
        |line: &[u8]| line.iter().rposition(|&byte| byte == b',').map(|comma| line[comma..].to_vec());
    let mut last = None;
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text) {
        let txn = txn_of(text[start..end].trim_ascii_end());
        if last.is_some() && txn != last {
            return Some(start);
        }
        (last, start) = (txn, end + 1);
    }
    None
}

#[derive(Default)]
struct Reader {
    builder: Builder,
    zero: ZeroImplied,
    sessions: FxHashMap<u64, SessionId>,
    /// The session of each transaction and the number of its first fragment.
    txns: ByNumber,
    /// Whether the transactions are looked up only when the parts of a file are joined.
    is_part: bool,
    /// The number of each transaction of a part.
    numbers: Vec<u64>,
    /// The places of aborted writes among the fragments.
    aborted: Vec<u32>,
    /// The fragment that is open: session and transaction as in the file.
    open: Option<(u64, Option<u64>)>,
    /// Whether a transaction has several fragments.
    is_fragmented: bool,
    /// The keys of the last operations of the open fragment, which are looked up together.
    keys: Vec<i64>,
    /// For each of these whether it is written, and the value.
    values: Vec<(bool, ValueId)>,
    /// Room for their ids.
    ids: Vec<KeyId>,
}

/// How many keys are looked up together at most.
const OPS_AT_A_TIME: usize = 64;

/// Stands for the -1 of aborted writes among the numbers of a part's transactions. A file in which a transaction has this
/// number is not read in parts.
const ABORTED: u64 = u64::MAX;

impl Reader {
    /// Reads to the end.
    fn all(&mut self, source: &mut Source<'_>) -> Result<(), Error> {
        while let Some(block) = source.next_block()? {
            let (mut index, mut end) = (0, End::default());
            while index < block.bytes.len() {
                match block.bytes[index] {
                    b'\n' => index += 1,
                    b'\r' if block.bytes.get(index + 1) == Some(&b'\n') => index += 2,
                    _ => {
                        let start = index;
                        let line = line_at(&block, &mut index, &mut end)?;
                        self.add(&line, &block, start)?;
                        if !matches!(block.bytes.get(index), None | Some(b'\n' | b'\r')) {
                            return Err(block.error(index, "the end of the line"));
                        }
                    }
                }
            }
            source.check_memory(&self.builder)?;
        }
        self.close();
        Ok(())
    }

    /// Appends what a later part of the file says; `None` if a transaction is in two sessions.
    fn join(&mut self, part: Self) -> Option<()> {
        let mut numbers: Vec<(SessionId, u64)> =
            part.sessions.iter().map(|(&number, &session)| (session, number)).collect();
        numbers.sort_unstable();
        let known: Vec<Option<SessionId>> =
            numbers.iter().map(|(_, number)| self.sessions.get(number).copied()).collect();
        let joined = self.builder.join(part.builder, &known).ok()?;
        self.zero.join(part.zero, &joined);
        self.sessions.extend(numbers.iter().map(|&(_, number)| number).zip(joined.sessions));
        let first = joined.txns_before as u32;
        self.aborted.extend(part.aborted.iter().map(|row| first + row));
        for (fragment, number) in (first..).zip(part.numbers).filter(|&(_, number)| number != ABORTED) {
            let session = self.builder.session_of_row(fragment as usize);
            let (owner, first) = self.txns.get_or_insert(number, (session.0, fragment));
            self.is_fragmented |= first != fragment;
            if owner != session.0 {
                return None;
            }
        }
        Some(())
    }

    #[inline]
    fn add(&mut self, line: &Line, block: &Block<'_>, start: usize) -> Result<(), Error> {
        if self.open != Some((line.session, line.txn)) {
            self.close();
            self.open_fragment(line, block, start)?;
        }
        let value = number(line.value, |int| self.builder.values.intern_int(int));
        let value = value.unwrap_or_else(|| self.builder.values.intern(Datum::uint(line.value)));
        match i64::try_from(line.key) {
            Ok(key) => {
                self.keys.push(key);
                self.values.push((line.is_write, value));
                if self.keys.len() == OPS_AT_A_TIME {
                    self.add_ops();
                }
            }
            Err(_) => {
                self.add_ops();
                let key = self.builder.keys.intern(Datum::uint(line.key));
                self.add_op(key, line.is_write, value);
            }
        }
        Ok(())
    }

    /// Adds the operations whose keys were not looked up yet.
    fn add_ops(&mut self) {
        let (mut keys, mut values) = (std::mem::take(&mut self.keys), std::mem::take(&mut self.values));
        let mut ids = std::mem::take(&mut self.ids);
        self.builder.keys.intern_ints(&keys, &mut ids);
        for (&key, (is_write, value)) in ids.iter().zip(values.drain(..)) {
            self.add_op(key, is_write, value);
        }
        keys.clear();
        (self.keys, self.values, self.ids) = (keys, values, ids);
    }

    #[inline]
    fn add_op(&mut self, key: KeyId, is_write: bool, value: ValueId) {
        match is_write {
            true => self.zero.write(&mut self.builder, key, value),
            false => _ = self.builder.read(key, value),
        }
    }

    fn open_fragment(&mut self, line: &Line, block: &Block<'_>, start: usize) -> Result<(), Error> {
        let builder = &mut self.builder;
        let session = *self
            .sessions
            .entry(line.session)
            .or_insert_with(|| builder.named_session(Datum::uint(line.session)));
        let fragment = builder.txn_count() as u32;
        if let (Some(txn), false) = (line.txn, self.is_part) {
            let (owner, first) = self.txns.get_or_insert(txn, (session.0, fragment));
            if owner != session.0 {
                return Err(block.error(start, format!("transaction {txn} in one session only")));
            }
            self.is_fragmented |= first != fragment;
        }
        builder.begin(session);
        match line.txn {
            Some(txn) => builder.name_txn(Datum::uint(txn)),
            None => self.aborted.push(fragment),
        }
        if self.is_part {
            if line.txn == Some(ABORTED) {
                return Err(block.error(start, "a smaller number of a transaction, in a part of a file"));
            }
            self.numbers.push(line.txn.unwrap_or(ABORTED));
        }
        self.open = Some((line.session, line.txn));
        Ok(())
    }

    fn close(&mut self) {
        if let Some((_, txn)) = self.open.take() {
            self.add_ops();
            self.builder.end(match txn {
                Some(_) => Outcome::Committed,
                None => Outcome::Aborted,
            });
        }
    }

    fn finish(mut self) -> History {
        self.close();
        for (number, &row) in (1..).zip(&self.aborted) {
            self.builder.name_row(row as usize, Datum::str(format!("aborted_{number}")));
        }
        let history = self.zero.finish(self.builder);
        match self.is_fragmented {
            true => join_fragments(&history),
            false => history,
        }
    }
}

/// Joins the fragments of each transaction, which have its name, at the place of the first.
fn join_fragments(fragments: &History) -> History {
    let mut builder = Builder::new();
    builder.keys = fragments.keys().clone();
    builder.values = fragments.values().clone();
    builder.initial = fragments.initial().clone();
    for session in fragments.sessions() {
        let joined = builder.named_session(fragments.session_name(session).unwrap_or(Datum::Nil));
        for txn in group_by_name(fragments, session) {
            builder.begin(joined);
            if let Some(name) = fragments.txn_name(txn[0]) {
                builder.name_txn(name);
            }
            for &fragment in &txn {
                for op in fragments.op_range(fragment).map(OpId) {
                    builder.op(fragments.op(op));
                }
            }
            builder.end(fragments.outcome(txn[0]));
        }
    }
    builder.finish()
}

fn group_by_name(fragments: &History, session: SessionId) -> Vec<Vec<TxnId>> {
    let mut txns: Vec<Vec<TxnId>> = Vec::new();
    let mut place_of = FxHashMap::default();
    for fragment in fragments.session_txns(session) {
        let place = match fragments.txn_name(fragment) {
            Some(name) => *place_of.entry(name).or_insert(txns.len()),
            None => txns.len(),
        };
        match txns.get_mut(place) {
            Some(txn) => txn.push(fragment),
            None => txns.push(vec![fragment]),
        }
    }
    txns
}

#[inline]
fn number<T>(number: u64, intern: impl FnOnce(i64) -> T) -> Option<T> {
    i64::try_from(number).ok().map(intern)
}

#[cfg(test)]
mod tests {
    use super::*;
    use history::Summary;

    fn read_text(text: &str) -> Result<History, Error> {
        let options = ReadOptions::default();
        let mut source = Source::new("t", text.as_bytes(), &options);
        read(&mut source, &options).map(|loaded| loaded.history)
    }

    #[test]
    fn lines_of_one_transaction_are_joined_wherever_they_stand() {
        let history = read_text("w(1,1,7,1)\nr(1,1,8,2)\nw(2,1,7,1)\nw(3,1,7,-1)\nw(1,2,7,3)\n").unwrap();
        let summary = Summary::of(&history);
        assert_eq!((summary.sessions, summary.committed, summary.aborted), (2, 3, 1));
        assert_eq!(history.ops(TxnId(0)).count(), 2);
        assert_eq!(history.txn_name(TxnId(0)), Some(Datum::Int(1)));
        assert_eq!(history.outcome(TxnId(1)), Outcome::Aborted);
        assert_eq!(history.txn_label(TxnId(1)), "aborted_1");
    }

    #[test]
    fn what_is_no_operation_is_refused_with_its_place() {
        let refusal = |text| read_text(text).unwrap_err().to_string();
        assert_eq!(refusal("w(1,1,1,1)\nw(1,1,1"), "t:2:7: expected a session and `,`, found `1`");
        assert_eq!(refusal("x"), "t:1:1: expected `r(` or `w(`, found `x`");
        assert_eq!(
            refusal("w(1,1,1,1)\nr(1,1,2,1)\n"),
            "t:2:1: expected transaction 1 in one session only, found `r(1,1,2,1)`"
        );
        assert_eq!(
            refusal("r(1,18446744073709551616,1,1)"),
            "t:1:5: expected a value and `,`, found `18446744073709551616,1,1)`"
        );
        assert_eq!(refusal("r(1,-1,1,1)"), "t:1:5: expected a value and `,`, found `-1,1,1)`");
        assert!(looks_like(b"r(1,-1,1,1)\n") && !looks_like(b"r(x)=[1,2,3,4]\n"));
        assert_eq!(refusal("r(1,1,1,1)x"), "t:1:11: expected the end of the line, found `x`");
    }
}
