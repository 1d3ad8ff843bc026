//! Histories and recordings to native lines.

use std::io::{self, Write};

use history::{
    Clock, Datum, History, InitialDefault, KeyId, Op, OpId, OpTimes, Row, SessionId, TxnId, ValueId,
};

use super::VERSION;
use super::encode::{array, datum, pair, put};
use super::line::{RecordedRow, TxnLine};
use crate::unused_keys::unused_keys;
use crate::{Error, Warning, WriteOptions};

/// Writes a recording while it is made: the header first, then a line for each thing that becomes known.
///
/// Each line goes out in one write, so after a crash at most the last one is cut off, which the reader notices.
/// Sessions have numbers of the recorder's choice and need no introduction; a name is given before the first
/// transaction.
#[derive(Debug)]
pub struct NativeWriter<W: Write> {
    out: W,
}

impl<W: Write> NativeWriter<W> {
    /// Begins a recording: writes the header.
    pub fn new(mut out: W, clock: Clock) -> io::Result<Self> {
        let clock = match clock {
            Clock::Nanoseconds => "nanoseconds",
            Clock::Position => "position",
        };
        out.write_all(format!("{{\"isoscope\":{VERSION},\"clock\":\"{clock}\"}}\n").as_bytes())?;
        Ok(Self { out })
    }

    /// Goes on with a recording whose header is already written.
    pub fn resume(out: W) -> Self {
        Self { out }
    }

    /// The value with which keys start that have no other; without this line they are absent at first.
    pub fn default_value(&mut self, value: &Datum) -> io::Result<()> {
        self.line("default", |out| datum(out, value))
    }

    /// The values with which keys start are not known; each has one that no transaction writes.
    pub fn default_unknown(&mut self) -> io::Result<()> {
        self.line("default?", |out| out.extend(b"true"))
    }

    /// Keys with the values with which they start.
    pub fn initial(&mut self, pairs: &[(Datum, Datum)]) -> io::Result<()> {
        self.line("initial", |out| array(out, pairs, |out, (key, value)| pair(out, key, value)))
    }

    /// Keys that are there although nothing else mentions them.
    pub fn keys(&mut self, keys: &[Datum]) -> io::Result<()> {
        self.line("keys", |out| array(out, keys, datum))
    }

    /// Something for people, which readers pass over: the workload, the database, its version.
    pub fn note(&mut self, note: &Datum) -> io::Result<()> {
        self.line("note", |out| datum(out, note))
    }

    /// Promises that [`NativeWriter::closed`] will follow: without it, a reader knows that the recording broke off.
    pub fn open(&mut self) -> io::Result<()> {
        self.line("recording", |out| out.extend(b"\"open\""))
    }

    /// Every transaction that wrote something is recorded.
    pub fn closed(&mut self) -> io::Result<()> {
        self.line("recording", |out| out.extend(b"\"closed\""))
    }

    /// All transactions that began before this moment are recorded.
    pub fn before(&mut self, time: i64) -> io::Result<()> {
        self.line("before", |out| put(out, format_args!("{time}")))
    }

    /// A session, with its name if it has one.
    pub fn session(&mut self, number: u64, name: Option<&Datum>) -> io::Result<()> {
        self.line("session", |out| {
            put(out, format_args!("{number}"));
            if let Some(name) = name {
                out.extend(b",\"name\":");
                datum(out, name);
            }
        })
    }

    /// A session whose transactions run at an isolation level, unless they say otherwise.
    pub fn session_at(&mut self, number: u64, name: Option<&Datum>, level: &str) -> io::Result<()> {
        self.line("session", |out| {
            put(out, format_args!("{number}"));
            if let Some(name) = name {
                out.extend(b",\"name\":");
                datum(out, name);
            }
            out.extend(b",\"level\":");
            datum(out, &Datum::str(level));
        })
    }

    /// Appends a transaction, as [`TxnLine::end`] gives it.
    pub fn transaction(&mut self, line: &[u8]) -> io::Result<()> {
        debug_assert!(line.starts_with(b"{\"s\":") && line.ends_with(b"}\n"));
        self.out.write_all(line)
    }

    /// Appends a transaction of a history, without a name, in a session of this number.
    pub fn append(&mut self, history: &History, txn: TxnId, session: u64) -> io::Result<()> {
        self.out.write_all(&txn_line(history, txn, session, None, Vec::new()))
    }

    /// What keys hold before the first transaction of a history.
    pub fn initial_state(&mut self, history: &History) -> io::Result<()> {
        write_initial(history, self)
    }

    /// Hands everything to the operating system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Ends the recording and gives back where it was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn line(&mut self, name: &str, content: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut line = format!("{{\"{name}\":").into_bytes();
        content(&mut line);
        line.extend(b"}\n");
        self.out.write_all(&line)
    }
}

/// Writes a history as native lines.
pub(crate) fn write(
    history: &History,
    out: &mut dyn Write,
    _options: &WriteOptions,
) -> Result<Vec<Warning>, Error> {
    let mut writer = NativeWriter::new(out, history.clock())?;
    write_initial(history, &mut writer)?;
    let unused: Vec<_> =
        unused_keys(history).into_iter().map(|key| history.keys().original(key).clone()).collect();
    if !unused.is_empty() {
        writer.keys(&unused)?;
    }
    let mut room = Vec::new();
    for session in history.sessions() {
        write_session(history, session, &mut writer, &mut room)?;
    }
    writer.flush()?;
    Ok(Vec::new())
}

fn write_initial<W: Write>(history: &History, writer: &mut NativeWriter<W>) -> io::Result<()> {
    /// Lines of a readable length, and no copy of the whole state.
    const PAIRS_IN_A_LINE: usize = 100;
    match history.initial().default {
        InitialDefault::UnknownButOne => writer.default_unknown()?,
        InitialDefault::Value(value) => writer.default_value(&history.values().original(value))?,
    }
    for part in history.initial().recorded.chunks(PAIRS_IN_A_LINE) {
        let original = |&(key, value): &(KeyId, ValueId)| {
            (history.keys().original(key).clone(), history.values().original(value))
        };
        writer.initial(&part.iter().map(original).collect::<Vec<_>>())?;
    }
    Ok(())
}

fn write_session<W: Write>(
    history: &History,
    session: SessionId,
    writer: &mut NativeWriter<W>,
    room: &mut Vec<u8>,
) -> io::Result<()> {
    let number = u64::from(session.0);
    let name = history.session_name(session);
    let txns = history.session_txns(session);
    if name.is_some() || txns.len() == 0 {
        writer.session(number, name.as_ref())?;
    }
    for txn in txns {
        let name = history.txn_name(txn);
        *room = txn_line(history, txn, number, name.as_ref(), std::mem::take(room));
        writer.transaction(room)?;
    }
    Ok(())
}

fn txn_line(history: &History, txn: TxnId, session: u64, name: Option<&Datum>, room: Vec<u8>) -> Vec<u8> {
    let mut line = TxnLine::reusing_at(room, session, name, history.txn_level(txn).as_deref());
    for op in history.op_range(txn).map(OpId) {
        write_op(history, history.op(op), &mut line);
        write_attributes(history, op, &mut line);
    }
    line.end(history.outcome(txn), history.times(txn))
}

fn write_op(history: &History, op: Op<'_>, line: &mut TxnLine) {
    let key_of = |key: KeyId| history.keys().original(key);
    let value_of = |value: ValueId| history.values().original(value);
    let rows_of = |rows: &Vec<Row>| -> Vec<RecordedRow> {
        let row_of = |row: &Row| (key_of(row.key).clone(), value_of(row.value), row.is_dead);
        rows.iter().map(row_of).collect()
    };
    match op {
        Op::Read { key, value: None } => line.read_unknown(key_of(key)),
        Op::Read { key, value: Some(value) } => line.read(key_of(key), &value_of(value)),
        Op::ReadList { key, list: None } => line.read_list_unknown(key_of(key)),
        Op::ReadList { key, list: Some(list) } => {
            let elements: Vec<_> = list.iter().map(|&value| value_of(value)).collect();
            line.read_list(key_of(key), &elements);
        }
        Op::Write { key, value } => line.write(key_of(key), &value_of(value)),
        Op::Append { key, value } => line.append(key_of(key), &value_of(value)),
        Op::Insert { key, value } => line.insert(key_of(key), &value_of(value)),
        Op::Delete { key, tombstone } => line.delete(key_of(key), tombstone.map(value_of).as_ref()),
        Op::RangeRead(range) => {
            line.range_read(&range.from, &range.to, range.rows.as_ref().map(rows_of).as_deref());
        }
        Op::PredicateRead(read) => {
            line.predicate_read(read.predicate.datum(), read.rows.as_ref().map(rows_of).as_deref());
        }
        Op::PredicateWrite(write) => {
            line.predicate_write(write.predicate.datum(), &write.change, write.row_count);
            if let Some(keys) = &write.keys {
                line.set_changed_keys(keys.iter().map(|&key| key_of(key)));
            }
            if write.is_returning {
                line.set_returning();
            }
        }
    }
}

fn write_attributes(history: &History, op: OpId, line: &mut TxnLine) {
    if let Some(version) = history.op_version(op) {
        line.set_op_version(version);
    }
    let times = history.op_times(op);
    if times != OpTimes::default() {
        line.set_op_times(times);
    }
    if history.is_failed(op) {
        line.mark_failed();
    }
}
