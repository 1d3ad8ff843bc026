//! Histories of reads and writes as Cobra logs.
//!
//! A history whose values are the versions of a log is written with its write ids, so that it comes back as it was.
//! Any other is written with values that stand for themselves. Aborted transactions have no place in a log.

use std::io::Write;

use history::{Datum, History, KeyId, Outcome, SessionId, TxnId, ValueId};

use super::{ABSENT, COLLECTED, DELETED, INITIAL, NOT_RECORDED};
use crate::error::Error;
use crate::numbers::initial_values;
use crate::registers::{Abilities, RegisterOp, Registers};
use crate::{Format, Warning, WriteOptions};

/// Creates a log by name and has it filled.
pub(crate) type CreateLog<'a> =
    dyn FnMut(&str, &mut dyn FnMut(&mut dyn Write) -> Result<(), Error>) -> Result<(), Error> + 'a;

/// Writes a history of one session as one log.
pub(crate) fn write(
    history: &History,
    out: &mut dyn Write,
    options: &WriteOptions,
) -> Result<Vec<Warning>, Error> {
    if history.session_count() > 1 {
        return Err(Error::cannot_express(
            "a Cobra log holds one session, and a history of several is a folder",
        )
        .with_hint("name a folder to write to"));
    }
    let mut writer = Writer::new(history, options)?;
    for session in history.sessions() {
        writer.session(session, out)?;
    }
    Ok(writer.registers.warnings)
}

/// Writes a history as a folder of logs.
pub(crate) fn write_folder(
    history: &History,
    options: &WriteOptions,
    create: &mut CreateLog<'_>,
) -> Result<Vec<Warning>, Error> {
    let mut writer = Writer::new(history, options)?;
    for session in history.sessions() {
        let name = format!("T{}.log", writer.session_number(session));
        create(&name, &mut |out| writer.session(session, out))?;
    }
    Ok(writer.registers.warnings)
}

const ABILITIES: Abilities = Abilities { empty_txns: true, times: true, names: true, ..Abilities::NONE };

struct Writer<'h> {
    history: &'h History,
    registers: Registers<'h>,
    has_versions: bool,
    has_times: bool,
    keys_are_ints: bool,
    values_are_ints: bool,
    sessions_are_numbered: bool,
    txns_are_numbered: bool,
    /// What each key held at first, if that is known.
    initial: Vec<Option<ValueId>>,
    record: Vec<u8>,
}

impl<'h> Writer<'h> {
    fn new(history: &'h History, options: &WriteOptions) -> Result<Self, Error> {
        let registers = Registers::of(history, Format::Cobra, ABILITIES, options)?;
        let is_int = |datum: &Datum| matches!(datum, Datum::Int(_));
        // A log's name has no room for a sign.
        let unsigned = |name: &Datum| matches!(name, Datum::Int(0..));
        let sessions = history.sessions().map(|session| history.session_name(session).filter(unsigned));
        let txns = history.txns().map(|txn| history.txn_name(txn));
        let mut writer = Self {
            history,
            registers,
            has_versions: false,
            has_times: history.has_times() && history.txns().all(|txn| has_span(history, txn)),
            keys_are_ints: history.keys().iter().all(|(_, key)| is_int(key)),
            values_are_ints: false,
            sessions_are_numbered: are_different_ints(sessions),
            txns_are_numbered: are_different_ints(txns),
            initial: initial_values(history),
            record: Vec::new(),
        };
        writer.has_versions = writer.txns_are_numbered && writer.all_values_are_versions();
        writer.values_are_ints = writer.all_values_are_ints();
        writer.judge_losses(options)?;
        writer.warn();
        Ok(writer)
    }

    fn all_values_are_versions(&self) -> bool {
        let mut any = false;
        let all = self.kept_txns().all(|txn| {
            let own = self.txn_id(txn);
            self.registers.ops(txn).all(|op| {
                let version = self.version(op.value);
                any |= version.is_some();
                match version {
                    Some([_, txn_id, _]) => !op.is_write || txn_id == own,
                    None => !op.is_write && self.is_initial(&op) && self.initial_word(op.value).is_some(),
                }
            })
        });
        all && any
    }

    fn all_values_are_ints(&self) -> bool {
        let is_int = |value: ValueId| {
            value.small_int().is_some() || matches!(self.history.values().original(value), Datum::Int(_))
        };
        self.kept_ops().all(|op| is_int(op.value) || op.value == ValueId::NIL)
    }

    fn kept_txns(&self) -> impl Iterator<Item = TxnId> {
        self.history.txns().filter(|&txn| self.registers.keeps(txn))
    }

    fn kept_ops(&self) -> impl Iterator<Item = RegisterOp> {
        self.kept_txns().flat_map(|txn| self.registers.ops(txn))
    }

    /// Refuses what would be read back with another meaning, or names it if the loss is accepted.
    fn judge_losses(&mut self, options: &WriteOptions) -> Result<(), Error> {
        let losses = [
            (
                self.has_times && self.has_inner_times(),
                "inner-times-dropped",
                "cobra cannot hold the begin's response and the commit's request, on which levels of snapshot \
                 isolation in real time depend",
            ),
            (
                !self.has_versions && self.has_only_deletes(),
                "deletes-ambiguous",
                "cobra cannot hold deletes of a history that writes no value: they would be read as versions",
            ),
            (
                !self.has_versions && self.hides_initial_value(),
                "initial-dropped",
                "cobra holds an initial value only where a read saw it, and here a key that starts with a value is \
                 read as absent",
            ),
        ];
        for (_, name, sentence) in losses.into_iter().filter(|&(is_lost, ..)| is_lost) {
            if !options.lossy {
                let hint = "--lossy writes what it can hold; native holds everything";
                return Err(Error::cannot_express(sentence).with_hint(hint));
            }
            self.registers.warnings.push(Warning::new(name, sentence));
        }
        Ok(())
    }

    fn has_inner_times(&self) -> bool {
        let mut times = self.kept_txns().map(|txn| self.history.times(txn));
        times.any(|times| times.begin_response.is_some() || times.commit_request.is_some())
    }

    /// Whether there are deletes, and nothing that tells that write ids are not recorded.
    fn has_only_deletes(&self) -> bool {
        let is_delete = |op: &RegisterOp| op.is_write && op.value == ValueId::NIL;
        let is_telling = |op: RegisterOp| op.value != ValueId::NIL && (op.is_write || !self.is_initial(&op));
        self.kept_ops().any(|op| is_delete(&op)) && !self.kept_ops().any(is_telling)
    }

    /// Whether a key starts with a value that no read saw, and some read says that the key was absent.
    fn hides_initial_value(&self) -> bool {
        let mut is_seen = vec![false; self.initial.len()];
        self.kept_ops()
            .filter(|op| !op.is_write && self.is_initial(op))
            .for_each(|op| is_seen[op.key.index()] = true);
        let is_hidden = |op: &RegisterOp| {
            let key = op.key.index();
            !is_seen[key] && self.initial[key].is_some_and(|value| value != ValueId::NIL)
        };
        self.kept_ops().any(|op| !op.is_write && op.value == ValueId::NIL && is_hidden(&op))
    }

    fn warn(&mut self) {
        let mut warn = |is_lost: bool, name, sentence: &str| {
            if is_lost {
                self.registers.warnings.push(Warning::new(name, sentence));
            }
        };
        warn(!self.keys_are_ints, "keys-renumbered", "keys that are no 64-bit integers became numbers");
        let moves_values = !self.values_are_ints && !self.has_versions;
        warn(moves_values, "values-renumbered", "values that are not all 64-bit integers became numbers");
        let drops_times = self.history.has_times() && !self.has_times;
        warn(
            drops_times,
            "times-dropped",
            "not every transaction has a begin and an end, so none is written",
        );
        let names = |txn| self.history.txn_name(txn).is_some();
        let drops_names = !self.txns_are_numbered && self.history.txns().any(names);
        warn(drops_names, "names-renumbered", "names of transactions that are no integers became numbers");
    }

    fn session_number(&self, session: SessionId) -> i64 {
        match self.history.session_name(session) {
            Some(Datum::Int(name)) if self.sessions_are_numbered => name,
            _ => i64::from(session.0),
        }
    }

    fn session(&mut self, session: SessionId, out: &mut dyn Write) -> Result<(), Error> {
        for txn in self.history.session_txns(session) {
            if self.registers.keeps(txn) {
                self.txn(txn);
                out.write_all(&self.record)?;
            }
        }
        Ok(())
    }

    fn txn(&mut self, txn: TxnId) {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        let times = self.history.times(txn);
        self.push(&mut record, b'S', self.txn_id(txn), times.start());
        for op in self.registers.ops(txn) {
            match op.is_write {
                true => self.push_write(&mut record, &op),
                false => self.push_read(&mut record, &op),
            }
        }
        self.push(&mut record, b'C', self.txn_id(txn), times.end());
        self.record = record;
    }

    fn push(&self, record: &mut Vec<u8>, opcode: u8, txn_id: u64, time: Option<i64>) {
        push_record(record, opcode, &[txn_id]);
        if let Some(time) = time.filter(|_| self.has_times) {
            record.extend_from_slice(&time.to_be_bytes());
        }
    }

    fn push_write(&self, record: &mut Vec<u8>, op: &RegisterOp) {
        let key = self.key(op.key);
        match self.version(op.value).filter(|_| self.has_versions) {
            Some([write_id, _, value]) => push_record(record, b'W', &[write_id, key, value]),
            None => push_record(record, b'W', &[self.write_id(op), key, self.value(op.value)]),
        }
    }

    fn push_read(&self, record: &mut Vec<u8>, op: &RegisterOp) {
        let key = self.key(op.key);
        let version = self.version(op.value).filter(|_| self.has_versions);
        let words = match version {
            Some([write_id, txn_id, value]) => [txn_id, write_id, key, value],
            None if op.value == ValueId::NIL => [ABSENT, ABSENT, key, 0],
            None if self.is_initial(op) => [INITIAL, INITIAL, key, self.value(op.value)],
            None => [NOT_RECORDED, NOT_RECORDED, key, self.value(op.value)],
        };
        push_record(record, b'R', &words);
    }

    fn write_id(&self, op: &RegisterOp) -> u64 {
        match op.value {
            ValueId::NIL => DELETED,
            _ => NOT_RECORDED,
        }
    }

    fn txn_id(&self, txn: TxnId) -> u64 {
        match self.history.txn_name(txn) {
            Some(Datum::Int(name)) if self.txns_are_numbered => name as u64,
            _ => u64::from(txn.0) + 1,
        }
    }

    fn key(&self, key: KeyId) -> u64 {
        match self.history.keys().original(key) {
            Datum::Int(int) if self.keys_are_ints => *int as u64,
            _ => u64::from(key.0),
        }
    }

    fn value(&self, value: ValueId) -> u64 {
        match self.initial_word(value) {
            Some(word) if self.values_are_ints || self.has_versions || value == ValueId::NIL => word,
            _ => u64::from(value.0),
        }
    }

    fn initial_word(&self, value: ValueId) -> Option<u64> {
        if let Some(small) = value.small_int() {
            return Some(u64::from(small));
        }
        match self.history.values().original(value) {
            Datum::Int(int) => Some(int as u64),
            Datum::Nil => Some(0),
            _ => None,
        }
    }

    fn is_initial(&self, op: &RegisterOp) -> bool {
        self.initial[op.key.index()] == Some(op.value)
    }

    /// Write id, transaction and value hash, if the value is the version of a log.
    fn version(&self, value: ValueId) -> Option<[u64; 3]> {
        if value.small_int().is_some() {
            return None;
        }
        let Datum::List(parts) = self.history.values().original(value) else {
            return None;
        };
        match &*parts {
            &[Datum::Int(write_id), Datum::Int(txn_id), Datum::Int(value)] => {
                let version = [write_id, txn_id, value].map(|part| part as u64);
                let is_plain =
                    |part: &u64| ![INITIAL, ABSENT, NOT_RECORDED].contains(part) && !COLLECTED.contains(part);
                version[..2].iter().all(is_plain).then_some(version)
            }
            _ => None,
        }
    }
}

fn push_record(record: &mut Vec<u8>, opcode: u8, words: &[u64]) {
    record.push(opcode);
    for word in words {
        record.extend_from_slice(&word.to_be_bytes());
    }
}

fn has_span(history: &History, txn: TxnId) -> bool {
    let times = history.times(txn);
    // The first byte of a time must not look like the record that follows a begin without one.
    const LARGEST_TIME: i64 = (b'C' as i64) << 56;
    let is_writable = |time: Option<i64>| time.is_some_and(|time| (0..LARGEST_TIME).contains(&time));
    history.outcome(txn) != Outcome::Committed || (is_writable(times.start()) && is_writable(times.end()))
}

fn are_different_ints(names: impl Iterator<Item = Option<Datum>>) -> bool {
    let int = |name| match name {
        Some(Datum::Int(int)) => Some(int),
        _ => None,
    };
    let ints: Option<Vec<i64>> = names.map(int).collect();
    ints.is_some_and(|mut ints| {
        ints.sort_unstable();
        ints.windows(2).all(|pair| pair[0] != pair[1])
    })
}
