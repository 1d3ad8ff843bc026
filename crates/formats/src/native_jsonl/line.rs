//! One transaction as a native line, built operation by operation without IO.
//!
//! A recorder with many clients lets each build its own line and takes the writer's lock only to append it.

use history::{Bound, Change, Datum, OpTimes, Outcome, TxnTimes};

use super::encode::{array, datum, int, pair, put, times as put_times};

/// A transaction in the making; what is said of an operation is said of the last one.
///
/// ```
/// use isoscope_formats::native_jsonl::TxnLine;
/// use history::{Datum, Outcome, TxnTimes};
///
/// let mut line = TxnLine::new(3, None);
/// line.read(&Datum::from("x"), &Datum::from(0));
/// line.set_op_version(7);
/// line.write(&Datum::from("y"), &Datum::from(1));
/// let line = line.end(Outcome::Committed, TxnTimes::span(10, Some(20)));
/// assert_eq!(line, br#"{"s":3,"ops":[["r","x",0,{"v":7}],["w","y",1]],"o":"c","t":[10,null,null,20]}
/// "#);
/// ```
#[derive(Clone, Debug)]
pub struct TxnLine {
    bytes: Vec<u8>,
    state: State,
}

/// Which brackets are open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    NoOp,
    InOp,
    InAttributes,
}

/// What stands before the first operation.
const OPEN_OPS: &[u8] = b",\"ops\":[";

/// A row that a range or predicate read returned.
pub type RecordedRow = (Datum, Datum, bool);

impl TxnLine {
    /// A transaction of a session, with a name if it has one.
    pub fn new(session: u64, name: Option<&Datum>) -> Self {
        Self::reusing(Vec::with_capacity(256), session, name)
    }

    /// The same in the room of an earlier line.
    pub(super) fn reusing(mut bytes: Vec<u8>, session: u64, name: Option<&Datum>) -> Self {
        bytes.clear();
        put(&mut bytes, format_args!("{{\"s\":{session}"));
        if let Some(name) = name {
            bytes.extend(b",\"n\":");
            datum(&mut bytes, name);
        }
        Self { bytes, state: State::NoOp }.open_ops()
    }

    /// The same, of a transaction that runs at an isolation level.
    pub fn at_level(session: u64, name: Option<&Datum>, level: Option<&str>) -> Self {
        Self::reusing_at(Vec::with_capacity(256), session, name, level)
    }

    pub(super) fn reusing_at(
        bytes: Vec<u8>,
        session: u64,
        name: Option<&Datum>,
        level: Option<&str>,
    ) -> Self {
        let mut line = Self::reusing(bytes, session, name);
        if let Some(level) = level {
            line.bytes.truncate(line.bytes.len() - OPEN_OPS.len());
            line.bytes.extend(b",\"l\":");
            datum(&mut line.bytes, &Datum::str(level));
            line = line.open_ops();
        }
        line
    }

    fn open_ops(mut self) -> Self {
        self.bytes.extend(OPEN_OPS);
        self
    }

    /// Read one key; nil if it was absent.
    pub fn read(&mut self, key: &Datum, value: &Datum) {
        self.op_with_value("r", key, value);
    }

    /// Read one key and never learned the answer.
    pub fn read_unknown(&mut self, key: &Datum) {
        self.op("r?", key);
    }

    /// Read a list, oldest element first.
    pub fn read_list(&mut self, key: &Datum, elements: &[Datum]) {
        self.op("l", key);
        self.bytes.push(b',');
        array(&mut self.bytes, elements, datum);
    }

    /// Read a list and never learned the answer.
    pub fn read_list_unknown(&mut self, key: &Datum) {
        self.op("l?", key);
    }

    /// Write one key.
    pub fn write(&mut self, key: &Datum, value: &Datum) {
        self.op_with_value("w", key, value);
    }

    /// Append one element to a list.
    pub fn append(&mut self, key: &Datum, value: &Datum) {
        self.op_with_value("a", key, value);
    }

    /// Insert a key.
    pub fn insert(&mut self, key: &Datum, value: &Datum) {
        self.op_with_value("i", key, value);
    }

    /// Delete a key, leaving a mark if the recorder leaves marks.
    pub fn delete(&mut self, key: &Datum, tombstone: Option<&Datum>) {
        match tombstone {
            None => self.op("d", key),
            Some(mark) => self.op_with_value("d=", key, mark),
        }
    }

    /// Read the keys between two bounds; the rows are `None` if the answer never came.
    pub fn range_read(&mut self, from: &Bound, to: &Bound, rows: Option<&[RecordedRow]>) {
        self.begin_op(if rows.is_some() { "range" } else { "range?" });
        self.bound(from);
        self.bytes.push(b',');
        self.bound(to);
        self.rows(rows);
    }

    /// Read the rows that satisfy a predicate; they are `None` if the answer never came.
    pub fn predicate_read(&mut self, predicate: &Datum, rows: Option<&[RecordedRow]>) {
        self.op(if rows.is_some() { "p" } else { "p?" }, predicate);
        self.rows(rows);
    }

    /// Change the rows that satisfy a predicate.
    pub fn predicate_write(&mut self, predicate: &Datum, change: &Change, row_count: Option<u64>) {
        match change {
            Change::Set(value) => self.op_with_value("pw", predicate, value),
            Change::Delete => self.op("pd", predicate),
        }
        if let Some(count) = row_count {
            self.begin_attribute("rows");
            put(&mut self.bytes, format_args!("{count}"));
        }
    }

    /// The keys of the rows that the last operation, a predicate write, changed, as the database told.
    pub fn set_changed_keys<'k>(&mut self, keys: impl IntoIterator<Item = &'k Datum>) {
        self.begin_attribute("keys");
        let keys: Vec<&Datum> = keys.into_iter().collect();
        array(&mut self.bytes, &keys, |out, key| datum(out, key));
    }

    /// The read by predicate before the last operation, a predicate write, is what the same statement returned.
    pub fn set_returning(&mut self) {
        self.begin_attribute("returned");
        self.bytes.extend(b"true");
    }

    /// The database refused the last operation: it did not happen.
    pub fn mark_failed(&mut self) {
        self.begin_attribute("f");
        self.bytes.extend(b"true");
    }

    /// The place of the last operation's version in its key's version order.
    pub fn set_op_version(&mut self, version: i64) {
        self.begin_attribute("v");
        int(&mut self.bytes, version);
    }

    /// The times of the last operation.
    pub fn set_op_times(&mut self, times: OpTimes) {
        self.begin_attribute("t");
        put_times(&mut self.bytes, &[times.request, times.response]);
    }

    /// The whole line with its line break.
    pub fn end(mut self, outcome: Outcome, times: TxnTimes) -> Vec<u8> {
        self.close_op();
        self.bytes.extend(match outcome {
            Outcome::Committed => b"],\"o\":\"c\"",
            Outcome::Aborted => b"],\"o\":\"a\"",
            Outcome::Unknown => b"],\"o\":\"u\"",
        });
        if !times.is_empty() {
            self.bytes.extend(b",\"t\":");
            let four =
                [times.begin_request, times.begin_response, times.commit_request, times.commit_response];
            put_times(&mut self.bytes, &four);
        }
        self.bytes.extend(b"}\n");
        self.bytes
    }

    fn op(&mut self, code: &str, argument: &Datum) {
        self.begin_op(code);
        datum(&mut self.bytes, argument);
    }

    fn op_with_value(&mut self, code: &str, argument: &Datum, value: &Datum) {
        self.op(code, argument);
        self.bytes.push(b',');
        datum(&mut self.bytes, value);
    }

    fn begin_op(&mut self, code: &str) {
        if self.close_op() {
            self.bytes.push(b',');
        }
        self.bytes.extend(b"[\"");
        self.bytes.extend(code.as_bytes());
        self.bytes.extend(b"\",");
        self.state = State::InOp;
    }

    /// Closes the last operation; says whether there was one.
    fn close_op(&mut self) -> bool {
        match self.state {
            State::NoOp => {}
            State::InOp => self.bytes.push(b']'),
            State::InAttributes => self.bytes.extend(b"}]"),
        }
        self.state != State::NoOp
    }

    fn begin_attribute(&mut self, name: &str) {
        assert!(self.state != State::NoOp, "no operation yet");
        let before = if self.state == State::InOp { ",{" } else { "," };
        put(&mut self.bytes, format_args!("{before}\"{name}\":"));
        self.state = State::InAttributes;
    }

    fn bound(&mut self, bound: &Bound) {
        match bound {
            Bound::Unbounded => self.bytes.extend(b"null"),
            Bound::Included(key) => pair(&mut self.bytes, &"in".into(), key),
            Bound::Excluded(key) => pair(&mut self.bytes, &"ex".into(), key),
        }
    }

    fn rows(&mut self, rows: Option<&[RecordedRow]>) {
        let Some(rows) = rows else { return };
        self.bytes.push(b',');
        array(&mut self.bytes, rows, |out, (key, value, is_dead)| {
            pair(out, key, value);
            if *is_dead {
                out.pop();
                out.extend(b",true]");
            }
        });
    }
}
