//! Keys and values as unsigned numbers, 0 being what a key held at first.
//!
//! dbcop, PolySI and their kin know nothing but numbers and an implied 0. Numbers stay as they are where that keeps
//! the meaning; otherwise keys are counted and values are moved, which no verdict depends on, and a warning says so.
//! One pass over the operations and a few words for each key.

use history::{Datum, History, InitialDefault, KeyId, ValueId};
use index::Index;

use crate::Warning;
use crate::error::Error;
use crate::registers::Registers;

/// When a format takes 0 to be the initial value of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Zero {
    /// Always, even if a transaction writes 0.
    Always,
    /// Unless a transaction writes 0 to the key.
    UnlessWritten,
}

/// The numbers of a history's keys and values.
#[derive(Debug)]
pub(crate) struct Numbers<'h> {
    history: &'h History,
    keys: Vec<u64>,
    keys_are_numbers: bool,
    /// What each key held at first, if that is known.
    initial: Vec<Option<ValueId>>,
    values_are_numbers: bool,
    shift: u64,
}

impl<'h> Numbers<'h> {
    /// Finds numbers that keep the meaning; adds to the warnings what changes.
    pub fn of(registers: &mut Registers<'h>, zero: Zero, lossy: bool) -> Result<Self, Error> {
        let history = registers.history;
        let numbers: Option<Vec<u64>> = history.keys().iter().map(|(_, key)| number_of(key)).collect();
        let counted = || (0..history.keys().len() as u64).collect();
        let mut numbers = Self {
            history,
            keys_are_numbers: numbers.is_some(),
            keys: numbers.unwrap_or_else(counted),
            initial: initial_values(history),
            values_are_numbers: true,
            shift: 0,
        };
        let uses = numbers.look_at_uses(registers);
        numbers.shift = u64::from(uses.iter().any(|uses| uses.needs_shift(zero)));
        numbers.values_are_numbers &= numbers.shift == 0 || !uses.iter().any(|uses| uses.has_largest);
        if zero == Zero::UnlessWritten && uses.iter().any(|uses| uses.initial_read && uses.initial_written) {
            let sentence = "the initial value of a key is also written, so it cannot be implied";
            if !lossy {
                return Err(Error::cannot_express(sentence).with_hint("--lossy leaves the initial state out"));
            }
            registers.warnings.push(Warning::new("initial-dropped", sentence));
        }
        numbers.warn(&uses, &mut registers.warnings);
        Ok(numbers)
    }

    /// The number of a key.
    #[inline]
    pub fn key(&self, key: KeyId) -> u64 {
        self.keys[key.index()]
    }

    /// The number of a value of a key.
    #[inline]
    pub fn value(&self, key: KeyId, value: ValueId) -> u64 {
        if self.initial[key.index()] == Some(value) {
            return 0;
        }
        let number = match value.small_int() {
            Some(small) => u64::from(small),
            None if self.values_are_numbers => {
                number_of(&self.history.values().original(value)).unwrap_or_default()
            }
            None => u64::from(value.0),
        };
        number + self.shift
    }

    /// Finds out whether all values are numbers, and how each key uses the number 0.
    fn look_at_uses(&mut self, registers: &Registers<'_>) -> Vec<Uses> {
        let mut uses = vec![Uses::default(); self.history.keys().len()];
        for txn in self.history.txns().filter(|&txn| registers.keeps(txn)) {
            for op in registers.ops(txn) {
                let uses = &mut uses[op.key.index()];
                if self.initial[op.key.index()] == Some(op.value) {
                    uses.initial_written |= op.is_write;
                    uses.initial_read |= !op.is_write;
                    uses.is_nonzero_initial |= op.value != ValueId(0);
                } else if op.value == ValueId(0) {
                    uses.zero_used = true;
                    uses.zero_written |= op.is_write;
                } else if op.value.small_int().is_none() {
                    let number = number_of(&self.history.values().original(op.value));
                    self.values_are_numbers &= number.is_some();
                    uses.has_largest |= number == Some(u64::MAX);
                }
            }
        }
        uses
    }

    fn warn(&self, uses: &[Uses], warnings: &mut Vec<Warning>) {
        if !self.keys_are_numbers {
            let sentence = "keys that are no unsigned numbers became numbers by order of appearance";
            warnings.push(Warning::new("keys-renumbered", sentence));
        }
        if self.shift > 0 || !self.values_are_numbers {
            let sentence = "values became other numbers, so that 0 is the initial one alone";
            warnings.push(Warning::new("values-renumbered", sentence));
        }
        if uses.iter().any(|uses| uses.is_nonzero_initial) {
            let sentence = "initial values other than 0 became 0";
            warnings.push(Warning::new("initial-renumbered", sentence));
        }
    }
}

/// How the operations use the number 0 of one key.
#[derive(Clone, Copy, Default)]
struct Uses {
    zero_used: bool,
    zero_written: bool,
    initial_read: bool,
    initial_written: bool,
    is_nonzero_initial: bool,
    /// Whether a value is the largest number, which cannot be moved by one.
    has_largest: bool,
}

impl Uses {
    /// Whether a 0 that is not the initial value would be taken for it.
    fn needs_shift(self, zero: Zero) -> bool {
        let is_plain = zero == Zero::UnlessWritten && self.zero_written && !self.initial_read;
        self.zero_used && !is_plain
    }
}

/// What each key held at first. Where that is unknown: what was read although no transaction wrote it.
pub(crate) fn initial_values(history: &History) -> Vec<Option<ValueId>> {
    let keys = (0..history.keys().len()).map(KeyId::from_index);
    let mut initial: Vec<_> = keys.map(|key| history.initial().value_of(key)).collect();
    if history.initial().default == InitialDefault::UnknownButOne {
        let index = Index::of(history);
        for (number, read) in index.reads().iter().enumerate() {
            if index.sources(number).initial {
                initial[read.key.index()] = Some(read.observed.value());
            }
        }
    }
    initial
}

fn number_of(datum: &Datum) -> Option<u64> {
    match datum {
        Datum::Int(int) => u64::try_from(*int).ok(),
        Datum::BigInt(digits) => digits.parse().ok(),
        _ => None,
    }
}
