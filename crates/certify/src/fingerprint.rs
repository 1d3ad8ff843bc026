//! A number that tells histories apart, so that a certificate is never checked against the wrong one by mistake.
//!
//! It covers all that a certificate may rest on: sessions, outcomes, levels, times, operations with their keys and values as
//! the input wrote them, and the initial state; not names, not the format, not how keys are numbered. It guards against
//! mistakes, not against forgers: those gain nothing, since the certificate itself is checked against the history.
//! Two 64-bit lanes, mixed word by word: 8 million operations with times take 0.3 s (`examples/measure.rs`, on a busy
//! machine).

use std::fmt;
use std::str::FromStr;

use history::{Bound, Datum, History, InitialDefault, KeyId, Op, OpId, Outcome, Row, TxnId, ValueId};

/// The fingerprint of a history.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Fingerprint(u128);

impl Fingerprint {
    /// Computes it; the same history read from another format has the same one, if that format kept all of it.
    pub fn of(history: &History) -> Self {
        let mut words = Words::new(history);
        words.add(FORM);
        words.add(history.session_count() as u64);
        words.initial_state();
        for txn in history.txns() {
            words.txn(txn);
        }
        words.mix.finish()
    }
}

/// Changes whenever the meaning of the number does.
const FORM: u64 = 1;

/// Prints 32 hexadecimal digits.
impl fmt::Display for Fingerprint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:032x}", self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let number = is_hex.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        number.map(Self).ok_or_else(|| "a fingerprint is 32 hexadecimal digits in lower case".into())
    }
}

#[derive(Clone, Copy)]
struct Mix {
    low: u64,
    high: u64,
}

impl Mix {
    const fn new() -> Self {
        Self { low: 0x243f_6a88_85a3_08d3, high: 0x1319_8a2e_0370_7344 }
    }

    #[inline]
    fn add(&mut self, word: u64) {
        self.low = (self.low ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        self.high = (self.high.rotate_left(23) ^ word).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        self.high ^= self.high >> 32;
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        self.add(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
    }

    fn finish(self) -> Fingerprint {
        let low = scatter(self.low ^ self.high.rotate_left(32));
        let high = scatter(self.high.wrapping_add(low));
        Fingerprint(u128::from(high) << 64 | u128::from(low))
    }
}

/// Lets every bit of a word depend on every other.
fn scatter(mut word: u64) -> u64 {
    word = (word ^ (word >> 31)).wrapping_mul(0x7fb5_d329_728e_a185);
    word = (word ^ (word >> 27)).wrapping_mul(0x81da_def4_bc2d_d44d);
    word ^ (word >> 33)
}

/// Equal data have equal numbers, and different data different ones, up to chance.
fn number_of(datum: &Datum) -> u64 {
    let mut mix = Mix::new();
    add_datum(&mut mix, datum);
    mix.finish().0 as u64
}

fn add_datum(mix: &mut Mix, datum: &Datum) {
    let mut tagged = |tag: u64, bytes: &[u8]| {
        mix.add(tag);
        mix.add_bytes(bytes);
    };
    match datum {
        Datum::Nil => tagged(0, &[]),
        Datum::Bool(truth) => tagged(1, &[u8::from(*truth)]),
        Datum::Int(int) => tagged(2, &int.to_le_bytes()),
        Datum::BigInt(digits) => tagged(3, digits.as_bytes()),
        Datum::Float(bits) => tagged(4, &bits.to_le_bytes()),
        Datum::Str(text) => tagged(5, text.as_bytes()),
        Datum::Keyword(text) => tagged(6, text.as_bytes()),
        Datum::Symbol(text) => tagged(7, text.as_bytes()),
        Datum::List(items) => {
            tagged(8, &(items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| add_datum(mix, item));
        }
        Datum::Row(columns) => {
            tagged(9, &(columns.len() as u64).to_le_bytes());
            let parts = columns.iter().flat_map(|(name, value)| [name, value]);
            parts.for_each(|part| add_datum(mix, part));
        }
        Datum::Tagged(pair) => {
            tagged(10, pair.0.as_bytes());
            add_datum(mix, &pair.1);
        }
    }
}

struct Words<'h> {
    history: &'h History,
    mix: Mix,
    key_numbers: Vec<u64>,
    /// Of values that are not small integers, by their place in the table.
    value_numbers: Vec<Option<u64>>,
    /// The same of rows and lists of integers, which have places of their own.
    row_numbers: Vec<Option<u64>>,
}

impl<'h> Words<'h> {
    fn new(history: &'h History) -> Self {
        Self {
            history,
            mix: Mix::new(),
            key_numbers: history.keys().iter().map(|(_, datum)| number_of(datum)).collect(),
            value_numbers: Vec::new(),
            row_numbers: Vec::new(),
        }
    }

    fn add(&mut self, word: u64) {
        self.mix.add(word);
    }

    fn key(&mut self, key: KeyId) {
        self.mix.add(self.key_numbers[key.index()]);
    }

    fn value(&mut self, value: ValueId) {
        let number = match value.small_int() {
            Some(int) => u64::from(int),
            None => self.table_number(value),
        };
        self.add(number);
    }

    fn table_number(&mut self, value: ValueId) -> u64 {
        let history = self.history;
        let numbers = match value.is_flat() {
            true => &mut self.row_numbers,
            false => &mut self.value_numbers,
        };
        let place = value.table_place();
        if place >= numbers.len() {
            numbers.resize(place + 1, None);
        }
        *numbers[place].get_or_insert_with(|| number_of(&history.values().original(value)))
    }

    fn initial_state(&mut self) {
        match self.history.initial().default {
            InitialDefault::UnknownButOne => self.add(0),
            InitialDefault::Value(value) => {
                self.add(1);
                self.value(value);
            }
        }
        let mut recorded = self.history.initial().recorded.clone();
        recorded.sort_by_key(|&(key, _)| self.key_numbers[key.index()]);
        self.add(recorded.len() as u64);
        for (key, value) in recorded {
            self.key(key);
            self.value(value);
        }
    }

    fn txn(&mut self, txn: TxnId) {
        let outcome = match self.history.outcome(txn) {
            Outcome::Committed => 0,
            Outcome::Aborted => 1,
            Outcome::Unknown => 2,
        };
        self.add(u64::from(self.history.session_of(txn).0) << 2 | outcome);
        let times = self.history.times(txn);
        for time in [times.begin_request, times.begin_response, times.commit_request, times.commit_response] {
            self.add(time.map_or(i64::MIN, |time| time) as u64);
        }
        if let Some(level) = self.history.txn_level(txn) {
            self.add(number_of(&Datum::Str(level.into())));
        }
        let ops = self.history.op_range(txn);
        self.add(ops.len() as u64);
        let any_failed = self.history.failed_op_count() > 0;
        for op in ops.map(OpId) {
            if any_failed {
                self.add(u64::from(self.history.is_failed(op)));
            }
            if let Some(version) = self.history.op_version(op) {
                self.add(version as u64 | 1 << 63);
            }
            self.op(self.history.op(op));
        }
    }

    fn op(&mut self, op: Op<'_>) {
        match op {
            Op::Read { key, value } => self.one(0, key, value),
            Op::Write { key, value } => self.one(1, key, Some(value)),
            Op::Insert { key, value } => self.one(2, key, Some(value)),
            Op::Delete { key, tombstone } => self.one(3, key, tombstone),
            Op::Append { key, value } => self.one(4, key, Some(value)),
            Op::ReadList { key, list } => {
                self.one(5, key, None);
                self.add(list.map_or(u64::MAX, |list| list.len() as u64));
                list.into_iter().flatten().for_each(|&value| self.value(value));
            }
            Op::RangeRead(range) => {
                self.add(6 << 1);
                self.bound(&range.from);
                self.bound(&range.to);
                self.rows(range.rows.as_deref());
            }
            // These have no certificates yet; their debug forms tell them apart within one reader.
            Op::PredicateRead(read) => self.mix.add_bytes(format!("{read:?}").as_bytes()),
            Op::PredicateWrite(write) => self.mix.add_bytes(format!("{write:?}").as_bytes()),
        }
    }

    fn bound(&mut self, bound: &Bound) {
        match bound {
            Bound::Unbounded => self.add(0),
            Bound::Included(datum) => add_datum(&mut self.mix, datum),
            Bound::Excluded(datum) => {
                self.add(1);
                add_datum(&mut self.mix, datum);
            }
        }
    }

    fn rows(&mut self, rows: Option<&[Row]>) {
        self.add(rows.map_or(u64::MAX, |rows| rows.len() as u64));
        for row in rows.into_iter().flatten() {
            self.one(u64::from(row.is_dead), row.key, Some(row.value));
        }
    }

    fn one(&mut self, kind: u64, key: KeyId, value: Option<ValueId>) {
        self.add(kind << 1 | u64::from(value.is_some()));
        self.key(key);
        if let Some(value) = value {
            self.value(value);
        }
    }
}
