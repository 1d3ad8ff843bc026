//! Cobra logs: a folder of `T*.log` files, each one session of records in big-endian 64-bit words.
//!
//! `docs/formats/cobra.md` gives the records and the constants. A log either names the writer of every read (a value
//! is then a version: the list of write id, transaction and value hash), or it records values alone (a value is then
//! the value hash, and different writes may have the same). The first write tells which.
//!
//! One pass over the window. Plain values cost as little as any integer. A version is a list of three integers that is
//! interned without a box; those of a transaction are looked up together, since a log of versions is read at the speed of
//! memory that is visited at random.

mod write;

use history::{Builder, Datum, KeyId, Outcome, SessionId, ShapeId, TxnTimes, ValueId};
use rustc_hash::FxHashSet;

use crate::error::{Error, Place};
use crate::input::Folder;
use crate::{Format, Loaded, ReadOptions, Source, Warning};
pub(crate) use write::{write, write_folder};

/// As transaction and write id of a read: the initial value.
const INITIAL: u64 = 0xbebe_ebee;
/// As transaction and write id of a read: the key did not exist.
const ABSENT: u64 = 0xdead_beef;
/// As write id: a delete.
const DELETED: u64 = 0xabcd_efab;
/// As transaction or write id: the log was thinned by garbage collection.
const COLLECTED: [u64; 2] = [0x2333_2333, 0x6666_6666];
/// As write id: not recorded, so that values stand for themselves.
const NOT_RECORDED: u64 = 0xabdd_efee;

/// How much of a log is looked at for its first write.
const HEAD: usize = 64 << 10;

/// What a value is in a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Values {
    /// Write id, transaction and value hash: reads name their writer.
    Versions,
    /// The value hash alone.
    Plain,
}

/// Whether a single log begins like this: a transaction and its first record.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let is_record = |place: usize| matches!(head.get(place), Some(b'R' | b'W' | b'C'));
    head.first() == Some(&b'S') && (is_record(9) || is_record(17))
}

/// Reads one log: a history of one session.
pub(crate) fn read(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    let values = values_of(source.peek(HEAD)?);
    let mut reader = Reader::new(values.unwrap_or(Values::Versions));
    let session = reader.builder.session();
    reader.log(source, session)?;
    Ok(reader.finish())
}

/// Reads a folder of logs.
pub(crate) fn read_folder(folder: &Folder<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    if folder.is_empty() {
        return Err(Error::unknown_format(&folder.name, "a folder without T*.log files"));
    }
    let mut values = None;
    for log in folder.logs() {
        values = values_of(log?.1.peek(HEAD)?);
        if values.is_some() {
            break;
        }
    }
    let mut reader = Reader::new(values.unwrap_or(Values::Versions));
    for log in folder.logs() {
        let (name, mut source) = log?;
        let session = match name {
            Some(name) => reader.builder.named_session(name),
            None => reader.builder.session(),
        };
        reader.log(&mut source, session)?;
    }
    Ok(reader.finish())
}

/// What the first write of a log says, or else its first read of something written; `None` if there is neither.
fn values_of(head: &[u8]) -> Option<Values> {
    let of_write_id = |write_id| match write_id {
        NOT_RECORDED => Values::Plain,
        _ => Values::Versions,
    };
    let begin_bytes = begin_bytes(head);
    let (mut place, mut from_read) = (0, None);
    loop {
        let word = |number: usize| word_at(head, place + 1 + 8 * number);
        let length = match head.get(place) {
            // A delete has its own write id whether write ids are recorded or not.
            Some(b'W') if word(0) == Some(DELETED) => WRITE_BYTES,
            Some(b'W') => return word(0).map(of_write_id).or(from_read),
            Some(b'R') => {
                let is_initial = |id| matches!(id, INITIAL | ABSENT);
                from_read = from_read.or(word(1).filter(|&id| !is_initial(id)).map(of_write_id));
                READ_BYTES
            }
            Some(b'S' | b'C') => begin_bytes,
            _ => return from_read,
        };
        place += length;
    }
}

const VERSION_PARTS: usize = 3;
const READ_BYTES: usize = 33;
const WRITE_BYTES: usize = 25;

/// The bytes of a begin or commit: with a time if the first one has another word before the next record.
fn begin_bytes(head: &[u8]) -> usize {
    match head.get(9) {
        None | Some(b'R' | b'W' | b'C') => 9,
        Some(_) => 17,
    }
}

#[inline]
fn word_at(bytes: &[u8], place: usize) -> Option<u64> {
    let word = bytes.get(place..place.checked_add(8)?)?;
    Some(u64::from_be_bytes(word.try_into().ok()?))
}

struct Reader {
    builder: Builder,
    values: Values,
    txn_ids: FxHashSet<u64>,
    /// For each key, what was read as its initial value.
    initial: Vec<Option<ValueId>>,
    differing_initials: usize,
    /// Lists of three integers.
    shape: Option<ShapeId>,
    /// The operations of the transaction so far, whose versions are looked up at its end.
    pending: Vec<Pending>,
    /// The versions of these operations: write id, transaction and value hash.
    version_parts: Vec<i64>,
    versions: Vec<ValueId>,
}

/// An operation that was read and is not in the history yet.
#[derive(Clone, Copy)]
struct Pending {
    kind: Kind,
    key: KeyId,
    /// The value; `None` if it is the next version.
    value: Option<ValueId>,
}

#[derive(Clone, Copy)]
enum Kind {
    Read,
    Write,
    Delete,
}

impl Reader {
    fn new(values: Values) -> Self {
        let mut builder = Builder::new();
        Self {
            shape: builder.values.list_shape(VERSION_PARTS),
            builder,
            values,
            txn_ids: FxHashSet::default(),
            initial: Vec::new(),
            differing_initials: 0,
            pending: Vec::new(),
            version_parts: Vec::new(),
            versions: Vec::new(),
        }
    }

    fn log(&mut self, source: &mut Source<'_>, session: SessionId) -> Result<(), Error> {
        let begin_bytes = begin_bytes(source.peek(HEAD)?);
        while !source.is_empty()? {
            let mut times = TxnTimes::default();
            let txn_id = self.begin(source, session, begin_bytes, &mut times)?;
            while self.op(source, txn_id)? {}
            self.add_pending();
            commit(source, txn_id, begin_bytes, &mut times)?;
            let times = self.builder.set_times(times);
            times.map_err(|backwards| {
                Error::backwards(source.file(), Place::Byte(source.offset()), &backwards)
            })?;
            self.builder.end(Outcome::Committed);
            source.check_memory(&self.builder)?;
        }
        Ok(())
    }

    fn begin(
        &mut self,
        source: &mut Source<'_>,
        session: SessionId,
        bytes: usize,
        times: &mut TxnTimes,
    ) -> Result<u64, Error> {
        let words = record(source, b'S', bytes, "a begin `S`")?;
        if !self.txn_ids.insert(words[0]) {
            let found = format!("{} for the second time", words[0]);
            return Err(source.error("a transaction id of its own", found));
        }
        times.begin_request = time(source, bytes, words[1])?;
        source.consume(bytes);
        self.builder.begin(session);
        self.builder.name_txn(Datum::Int(words[0] as i64));
        Ok(words[0])
    }

    /// Takes a read or write if it is next.
    #[inline]
    fn op(&mut self, source: &mut Source<'_>, txn_id: u64) -> Result<bool, Error> {
        let bytes = match source.peek_byte()? {
            Some(b'R') => READ_BYTES,
            Some(b'W') => WRITE_BYTES,
            _ => return Ok(false),
        };
        let window = source.peek(bytes)?;
        if window.len() < bytes {
            let found = format!("the end of the file after {}", window.len());
            return Err(source.error(format!("a record of {bytes} bytes"), found));
        }
        let word = |number: usize| word_at(window, 1 + 8 * number).unwrap_or_default();
        let refusal = match bytes {
            READ_BYTES => self.read(word(0), word(1), word(2), word(3)),
            _ => self.write(txn_id, word(0), word(1), word(2)),
        };
        match refusal {
            Ok(()) => {
                source.consume(bytes);
                Ok(true)
            }
            Err(Refusal { expected, found }) => Err(source.error(expected, found)),
        }
    }

    #[inline]
    fn read(&mut self, writer: u64, write_id: u64, key: u64, value: u64) -> Result<(), Refusal> {
        let key = self.builder.keys.intern_int(key as i64);
        let is_initial = matches!(writer, INITIAL | ABSENT) && matches!(write_id, INITIAL | ABSENT);
        let value = match self.values {
            _ if is_initial => Some(self.initial_value(key, write_id == ABSENT, value)),
            Values::Plain => Some(self.builder.values.intern_int(value as i64)),
            Values::Versions if COLLECTED.contains(&writer) || COLLECTED.contains(&write_id) => {
                return Err(Refusal::new(
                    "a whole log",
                    "a read from a transaction that was collected as garbage",
                ));
            }
            Values::Versions => self.version(write_id, writer, value),
        };
        self.pending.push(Pending { kind: Kind::Read, key, value });
        Ok(())
    }

    #[inline]
    fn write(&mut self, txn_id: u64, write_id: u64, key: u64, value: u64) -> Result<(), Refusal> {
        let key = self.builder.keys.intern_int(key as i64);
        let value = match (self.values, write_id == NOT_RECORDED) {
            (Values::Plain, true) => Some(self.builder.values.intern_int(value as i64)),
            (Values::Plain, false) if write_id == DELETED => {
                Some(self.builder.values.intern_int(value as i64))
            }
            (Values::Versions, false) => self.version(write_id, txn_id, value),
            _ => {
                return Err(Refusal::new("write ids either recorded or not, throughout", "both kinds"));
            }
        };
        let kind = if write_id == DELETED { Kind::Delete } else { Kind::Write };
        self.pending.push(Pending { kind, key, value });
        Ok(())
    }

    /// A version, which is looked up with the others of its transaction if that is possible.
    #[inline]
    fn version(&mut self, write_id: u64, txn_id: u64, value: u64) -> Option<ValueId> {
        let parts = [write_id, txn_id, value].map(|part| part as i64);
        if self.shape.is_none() {
            return Some(self.builder.values.intern(Datum::List(parts.map(Datum::Int).into())));
        }
        self.version_parts.extend_from_slice(&parts);
        None
    }

    /// Adds the operations of a transaction to the history.
    fn add_pending(&mut self) {
        self.versions.clear();
        if let Some(shape) = self.shape {
            let versions = &mut self.versions;
            self.builder.values.intern_rows(shape, &self.version_parts, |version| versions.push(version));
        }
        self.version_parts.clear();
        let mut versions = self.versions.iter();
        for Pending { kind, key, value } in self.pending.drain(..) {
            let Some(value) = value.or_else(|| versions.next().copied()) else { continue };
            match kind {
                Kind::Read => self.builder.read(key, value),
                Kind::Write => self.builder.write(key, value),
                // Without a hash of its own the mark is what a read of an absent key sees.
                Kind::Delete => self.builder.delete(key, Some(value).filter(|&value| value != ValueId(0))),
            };
        }
    }

    /// The value of a read of the initial state. Where values are versions there is one for each key; where they are
    /// plain, absence is not the same as a value.
    fn initial_value(&mut self, key: KeyId, is_absent: bool, value: u64) -> ValueId {
        let seen = match is_absent {
            true => ValueId::NIL,
            false => self.builder.values.intern_int(value as i64),
        };
        if self.values == Values::Plain && is_absent {
            return seen;
        }
        if self.initial.len() <= key.index() {
            self.initial.resize(key.index() + 1, None);
        }
        let first = *self.initial[key.index()].get_or_insert(seen);
        self.differing_initials += usize::from(first != seen);
        match self.values {
            Values::Versions => first,
            Values::Plain => seen,
        }
    }

    fn finish(mut self) -> Loaded {
        let initial = self.initial.iter().enumerate();
        self.builder.initial.recorded = initial
            .filter_map(|(key, value)| Some((KeyId::from_index(key), (*value)?)))
            .filter(|&(_, value)| value != ValueId::NIL)
            .collect();
        let mut loaded = Loaded::new(self.builder.finish(), Format::Cobra);
        if self.differing_initials > 0 && self.values == Values::Versions {
            let sentence = format!(
                "reads of the initial state that saw another value than the first one ({}) count as the same version",
                self.differing_initials
            );
            loaded.warnings.push(Warning::new("initial-values-differ", sentence));
        }
        loaded
    }
}

struct Refusal {
    expected: &'static str,
    found: &'static str,
}

impl Refusal {
    fn new(expected: &'static str, found: &'static str) -> Self {
        Self { expected, found }
    }
}

fn commit(source: &mut Source<'_>, txn_id: u64, bytes: usize, times: &mut TxnTimes) -> Result<(), Error> {
    let words = record(source, b'C', bytes, "a record `R`, `W` or `C`")?;
    if words[0] != txn_id {
        return Err(
            source.error(format!("the commit of transaction {txn_id}"), format!("that of {}", words[0]))
        );
    }
    times.commit_response = time(source, bytes, words[1])?;
    source.consume(bytes);
    Ok(())
}

/// The one or two words of a begin or commit, which stays.
fn record(source: &mut Source<'_>, opcode: u8, bytes: usize, expected: &str) -> Result<[u64; 2], Error> {
    let window = source.peek(bytes)?;
    match window.first() {
        Some(&byte) if byte == opcode && window.len() >= bytes => {
            let second = if bytes > 9 { word_at(window, 9) } else { None };
            Ok([word_at(window, 1).unwrap_or_default(), second.unwrap_or_default()])
        }
        Some(&byte) if byte == opcode => {
            let found = format!("the end of the file after {}", window.len());
            Err(source.error(format!("{expected} of {bytes} bytes"), found))
        }
        Some(&byte) => Err(source.error(expected, format!("opcode {byte:02x}"))),
        None => Err(source.error(expected, "the end of the file")),
    }
}

fn time(source: &Source<'_>, bytes: usize, word: u64) -> Result<Option<i64>, Error> {
    if bytes == 9 {
        return Ok(None);
    }
    match i64::try_from(word) {
        Ok(time) => Ok(Some(time)),
        Err(_) => Err(Error::input(
            source.file(),
            Place::Byte(source.offset() + 9),
            "a time below 2^63",
            word.to_string(),
        )),
    }
}
