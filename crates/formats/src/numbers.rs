//! Keys and values as unsigned numbers, 0 being what a key held at first.
//!
//! dbcop, PolySI and their kin know nothing but numbers and an implied 0. Numbers stay as they are where that keeps
//! the meaning; otherwise keys are counted and values are moved, which no verdict depends on, and a warning says so.
//! Two passes over the operations and a byte for each key.

use history::{Datum, History, Index, InitialDefault, KeyId, ValueId};

use crate::Warning;
use crate::error::Error;
use crate::registers::Registers;

/// When a format takes 0 to be the initial value of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Zero {
    /// Always, even if somebody writes 0.
    Always,
    /// Unless somebody writes 0 to the key.
    UnlessWritten,
}

/// The numbers of a history's keys and values.
#[derive(Debug)]
pub(crate) struct Numbers<'h> {
    history: &'h History,
    keys_are_numbers: bool,
    values_are_numbers: bool,
    shift: u64,
    /// What each key held at first, where that has to be found out.
    found_initial: Option<Vec<Option<ValueId>>>,
}

impl<'h> Numbers<'h> {
    /// Finds numbers that keep the meaning; adds to the warnings what changes.
    pub fn of(registers: &mut Registers<'h>, zero: Zero, lossy: bool) -> Result<Self, Error> {
        let history = registers.history;
        let is_number = |datum: &Datum| number_of(datum).is_some();
        let mut numbers = Self {
            history,
            keys_are_numbers: history.keys().iter().all(|(_, key)| is_number(key)),
            values_are_numbers: true,
            shift: 0,
            found_initial: find_initial(history),
        };
        numbers.values_are_numbers = registers
            .kept_ops()
            .all(|op| numbers.is_initial(op.key, op.value) || fits(&history.values().original(op.value)));
        let uses = numbers.uses(registers);
        numbers.shift = u64::from(uses.iter().any(|uses| uses.needs_shift(zero)));
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
    pub fn key(&self, key: KeyId) -> u64 {
        match self.keys_are_numbers {
            true => number_of(self.history.keys().original(key)).unwrap_or_default(),
            false => u64::from(key.0),
        }
    }

    /// The number of a value of a key.
    pub fn value(&self, key: KeyId, value: ValueId) -> u64 {
        if self.is_initial(key, value) {
            return 0;
        }
        let number = match (self.values_are_numbers, value.small_int()) {
            (true, Some(small)) => u64::from(small),
            (true, None) => number_of(&self.history.values().original(value)).unwrap_or_default(),
            (false, _) => u64::from(value.0),
        };
        number + self.shift
    }

    fn is_initial(&self, key: KeyId, value: ValueId) -> bool {
        let initial = match &self.found_initial {
            Some(found) => found[key.index()],
            None => self.history.initial().value_of(key),
        };
        initial == Some(value)
    }

    fn uses(&self, registers: &Registers<'_>) -> Vec<Uses> {
        let mut uses = vec![Uses::default(); self.history.keys().len()];
        for op in registers.kept_ops() {
            let uses = &mut uses[op.key.index()];
            let is_zero = self.value(op.key, op.value) == 0;
            match (self.is_initial(op.key, op.value), op.is_write) {
                (true, true) => uses.initial_written = true,
                (true, false) => uses.initial_read = true,
                (false, is_write) if is_zero => {
                    uses.zero_used = true;
                    uses.zero_written |= is_write;
                }
                _ => {}
            }
            uses.is_nonzero_initial |= is_zero && op.value != ValueId(0);
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
}

impl Uses {
    /// Whether a 0 that is not the initial value would be taken for it.
    fn needs_shift(self, zero: Zero) -> bool {
        let is_plain = zero == Zero::UnlessWritten && self.zero_written && !self.initial_read;
        self.zero_used && !is_plain
    }
}

/// Where the initial values are unknown: those that were read although nobody wrote them.
pub(crate) fn find_initial(history: &History) -> Option<Vec<Option<ValueId>>> {
    if history.initial().default != InitialDefault::UnknownButOne {
        return None;
    }
    let mut found: Vec<_> = (0..history.keys().len())
        .map(|key| history.initial().value_of(KeyId::from_index(key)))
        .collect();
    let index = Index::of(history);
    for (number, read) in index.reads().iter().enumerate() {
        if index.sources(number).initial {
            found[read.key.index()] = Some(read.value);
        }
    }
    Some(found)
}

fn number_of(datum: &Datum) -> Option<u64> {
    match datum {
        Datum::Int(int) => u64::try_from(*int).ok(),
        Datum::BigInt(digits) => digits.parse().ok(),
        _ => None,
    }
}

/// Whether a value is a number that can be moved by one.
fn fits(datum: &Datum) -> bool {
    number_of(datum).is_some_and(|number| number < u64::MAX)
}
