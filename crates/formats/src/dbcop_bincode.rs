//! dbcop `history.bincode`: fixed-size little-endian records without a magic number or a version.
//!
//! `docs/formats/dbcop.md` gives the layout. The counts in the header are not to be trusted and are passed over; the
//! lengths of the vectors are, but nothing is allocated by them. Every variable starts at 0 before every transaction.
//! Reading is one pass over the window and interns nothing that is a small integer.

use std::io::Write;

use history::{Builder, Datum, History, InitialState, Outcome, ValueId};

use crate::error::Error;
use crate::numbers::{Numbers, Zero};
use crate::registers::{Abilities, RegisterOp, Registers};
use crate::{Format, Loaded, ReadOptions, Source, Warning, WriteOptions};

const EVENT_BYTES: usize = 18;

/// How many events are taken from the source at a time.
const EVENTS_AT_ONCE: usize = 4096;

/// The longest text of a header that is believed.
const LONGEST_TEXT: u64 = 1 << 16;

/// Whether a file begins like this: a header with three texts, and a first event if it is near enough.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    header_end(head).is_some_and(|end| first_event_is_plausible(&head[end..]))
}

fn header_end(head: &[u8]) -> Option<usize> {
    let mut place = 5 * 8;
    for _ in 0..3 {
        let length = usize::try_from(u64_at(head, place)?).ok()?;
        let text = head.get(place + 8..(place + 8).checked_add(length)?)?;
        std::str::from_utf8(text).ok()?;
        place += 8 + length;
    }
    u64_at(head, place).map(|_| place)
}

/// Sessions, and in the first that has one a transaction and its first event.
fn first_event_is_plausible(lengths: &[u8]) -> bool {
    const MANY: u64 = 1 << 32;
    let mut words =
        lengths.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
    let nested = (words.next(), words.find(|&length| length > 0), words.next());
    let (Some(sessions), Some(txns), Some(events)) = nested else {
        return lengths.len() >= 8;
    };
    let has_room = sessions < MANY && txns < MANY && events < MANY;
    has_room && sessions > 0
}

fn u64_at(bytes: &[u8], place: usize) -> Option<u64> {
    let word = bytes.get(place..place.checked_add(8)?)?;
    Some(u64::from_le_bytes(word.try_into().ok()?))
}

/// Reads a whole history.
pub(crate) fn read(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    let mut builder = Builder::new();
    builder.initial = InitialState::all(ValueId(0));
    read_header(source)?;
    for _ in 0..read_u64(source, "the number of sessions")? {
        let session = builder.session();
        for _ in 0..read_u64(source, "the number of transactions of a session")? {
            builder.begin(session);
            read_events(source, &mut builder)?;
            let is_committed = read_bool(source, "whether the transaction committed")?;
            builder.end(if is_committed { Outcome::Committed } else { Outcome::Aborted });
            source.check_memory(&builder)?;
        }
    }
    if !source.is_empty()? {
        return Err(source.error("the end of the file", "more bytes"));
    }
    Ok(Loaded::new(builder.finish(), Format::DbcopBincode))
}

fn read_header(source: &mut Source<'_>) -> Result<(), Error> {
    for count in ["id", "nodes", "variables", "transactions", "events"] {
        read_u64(source, count)?;
    }
    for text in ["information", "start", "end"] {
        let length = read_u64(source, text)?;
        if length > LONGEST_TEXT {
            return Err(source.error(
                format!("the length of the text `{text}`, at most {LONGEST_TEXT}"),
                length.to_string(),
            ));
        }
        let length = length as usize;
        let ahead = source.peek(length)?;
        let is_text = ahead.get(..length).is_some_and(|text| std::str::from_utf8(text).is_ok());
        if !is_text {
            return Err(source.error(format!("{length} bytes of text (`{text}`)"), "something else"));
        }
        source.consume(length);
    }
    Ok(())
}

fn read_events(source: &mut Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let mut left = read_u64(source, "the number of events of a transaction")?;
    while left > 0 {
        let wanted = left.min(EVENTS_AT_ONCE as u64) as usize;
        let window = source.peek(wanted * EVENT_BYTES)?;
        let whole = (window.len() / EVENT_BYTES).min(wanted);
        let taken = add_events(&window[..whole * EVENT_BYTES], builder);
        source.consume(taken * EVENT_BYTES);
        if taken < wanted.min(whole) {
            return Err(source.error("an event whose two marks are 00 or 01", "another byte"));
        }
        if whole == 0 {
            let found = format!("the end of the file with {left} events missing");
            return Err(source.error("an event of 18 bytes", found));
        }
        left -= taken as u64;
    }
    Ok(())
}

/// Adds events until one is malformed; how many there were before it.
fn add_events(events: &[u8], builder: &mut Builder) -> usize {
    for (number, event) in events.chunks_exact(EVENT_BYTES).enumerate() {
        let key = u64::from_le_bytes(event[1..9].try_into().unwrap_or_default());
        let value = u64::from_le_bytes(event[9..17].try_into().unwrap_or_default());
        let key = match i64::try_from(key) {
            Ok(int) => builder.keys.intern_int(int),
            Err(_) => builder.keys.intern(Datum::uint(key)),
        };
        let value = match i64::try_from(value) {
            Ok(int) => builder.values.intern_int(int),
            Err(_) => builder.values.intern(Datum::uint(value)),
        };
        match event[0] {
            0 => builder.read(key, value),
            1 => builder.write(key, value),
            _ => return number,
        };
        match event[17] {
            0 => builder.mark_failed(),
            1 => {}
            _ => return number,
        }
    }
    events.len() / EVENT_BYTES
}

#[inline]
fn read_u64(source: &mut Source<'_>, what: &str) -> Result<u64, Error> {
    match u64_at(source.peek(8)?, 0) {
        Some(number) => {
            source.consume(8);
            Ok(number)
        }
        None => Err(source.error(format!("8 bytes ({what})"), "the end of the file")),
    }
}

#[inline]
fn read_bool(source: &mut Source<'_>, what: &str) -> Result<bool, Error> {
    match source.peek_byte()? {
        Some(mark @ (0 | 1)) => {
            source.consume(1);
            Ok(mark == 1)
        }
        Some(other) => Err(source.error(format!("00 or 01 ({what})"), format!("{other:02x}"))),
        None => Err(source.error(format!("a byte ({what})"), "the end of the file")),
    }
}

/// Writes a history of reads and writes.
pub(crate) fn write(
    history: &History,
    out: &mut dyn Write,
    options: &WriteOptions,
) -> Result<Vec<Warning>, Error> {
    let mut registers = Registers::of(history, Format::DbcopBincode, ABILITIES, options)?;
    let numbers = Numbers::of(&mut registers, Zero::Always, options.lossy)?;
    let counts = [
        0,
        history.session_count() as u64,
        history.keys().len() as u64,
        history.txn_count() as u64,
        history.op_count() as u64,
    ];
    for count in counts {
        out.write_all(&count.to_le_bytes())?;
    }
    for text in ["written by isoscope", "", ""] {
        out.write_all(&(text.len() as u64).to_le_bytes())?;
        out.write_all(text.as_bytes())?;
    }
    write_sessions(&registers, &numbers, out)?;
    Ok(registers.warnings)
}

const ABILITIES: Abilities =
    Abilities { aborted: true, failed_ops: true, empty_txns: true, ..Abilities::NONE };

fn write_sessions(
    registers: &Registers<'_>,
    numbers: &Numbers<'_>,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let history = registers.history;
    let mut record = Vec::new();
    out.write_all(&(history.session_count() as u64).to_le_bytes())?;
    for session in history.sessions() {
        let txns = history.session_txns(session);
        out.write_all(&(txns.len() as u64).to_le_bytes())?;
        for txn in txns {
            record.clear();
            record.extend_from_slice(&[0; 8]);
            registers.ops(txn).for_each(|op| push_event(&op, numbers, &mut record));
            let events = (record.len() - 8) / EVENT_BYTES;
            record[..8].copy_from_slice(&(events as u64).to_le_bytes());
            record.push(u8::from(history.outcome(txn) == Outcome::Committed));
            out.write_all(&record)?;
        }
    }
    Ok(())
}

fn push_event(op: &RegisterOp, numbers: &Numbers<'_>, record: &mut Vec<u8>) {
    record.push(u8::from(op.is_write));
    record.extend_from_slice(&numbers.key(op.key).to_le_bytes());
    record.extend_from_slice(&numbers.value(op.key, op.value).to_le_bytes());
    record.push(u8::from(!op.is_failed));
}
