//! Histories of reads and writes as PolySI and Plume text.
//!
//! Aborted transactions keep their writes only, all under the number -1, and empty ones leave no line.

use std::io::Write;

use history::{Datum, History, Outcome, SessionId, TxnId};

use crate::error::Error;
use crate::numbers::{Numbers, Zero};
use crate::registers::{Abilities, Registers};
use crate::{Format, Warning, WriteOptions};

/// Writes a history of reads and writes.
pub(crate) fn write(
    history: &History,
    out: &mut dyn Write,
    options: &WriteOptions,
) -> Result<Vec<Warning>, Error> {
    let mut registers = Registers::of(history, Format::Polysi, ABILITIES, options)?;
    let numbers = Numbers::of(&mut registers, Zero::UnlessWritten, options.lossy)?;
    let names = Names::of(&mut registers);
    let mut lines = Vec::new();
    for txn in history.txns().filter(|&txn| registers.keeps(txn)) {
        lines.clear();
        let (session, name) = (names.session(history.session_of(txn)), names.txn(txn));
        for op in registers.ops(txn) {
            if name.is_some() || op.is_write {
                lines.extend_from_slice(if op.is_write { b"w(" } else { b"r(" });
                push_number(&mut lines, numbers.key(op.key), b',');
                push_number(&mut lines, numbers.value(op.key, op.value), b',');
                push_number(&mut lines, session, b',');
                match name {
                    Some(name) => push_number(&mut lines, name, b')'),
                    None => lines.extend_from_slice(b"-1)"),
                }
                lines.push(b'\n');
            }
        }
        out.write_all(&lines)?;
    }
    Ok(registers.warnings)
}

const ABILITIES: Abilities = Abilities { aborted: true, names: true, ..Abilities::NONE };

/// Appends a number in decimal and the mark that follows it.
fn push_number(line: &mut Vec<u8>, mut number: u64, mark: u8) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    line.extend_from_slice(&digits[first..]);
    line.push(mark);
}

/// The numbers of sessions and transactions: their names if those are different numbers, else their places.
struct Names<'h> {
    history: &'h History,
    sessions_are_numbers: bool,
    txns_are_numbers: bool,
}

impl<'h> Names<'h> {
    fn of(registers: &mut Registers<'h>) -> Self {
        let history = registers.history;
        let is_committed = |&txn: &TxnId| history.outcome(txn) == Outcome::Committed;
        let sessions = || history.sessions().map(|session| history.session_name(session));
        let txns = || history.txns().filter(is_committed).map(|txn| history.txn_name(txn));
        let names = Self {
            history,
            sessions_are_numbers: are_different_numbers(sessions()),
            txns_are_numbers: are_different_numbers(txns()),
        };
        let loses_sessions = !names.sessions_are_numbers && sessions().flatten().next().is_some();
        if loses_sessions || (!names.txns_are_numbers && txns().flatten().next().is_some()) {
            let sentence =
                "names of sessions or transactions that are not all different numbers became numbers";
            registers.warnings.push(Warning::new("names-renumbered", sentence));
        }
        names.warn_of_aborted(registers);
        names
    }

    fn session(&self, session: SessionId) -> u64 {
        match self.history.session_name(session) {
            Some(name) if self.sessions_are_numbers => unsigned(&name).unwrap_or_default(),
            _ => u64::from(session.0),
        }
    }

    /// `None` for the common mark of aborted transactions.
    fn txn(&self, txn: TxnId) -> Option<u64> {
        if self.history.outcome(txn) != Outcome::Committed {
            return None;
        }
        match self.history.txn_name(txn) {
            Some(name) if self.txns_are_numbers => unsigned(&name),
            _ => Some(u64::from(txn.0)),
        }
    }

    fn warn_of_aborted(&self, registers: &mut Registers<'h>) {
        let aborted = self.history.txns().filter(|&txn| self.txn(txn).is_none()).count();
        if aborted > 0 {
            let sentence =
                format!("of {aborted} aborted transactions only the writes are kept, without bounds");
            registers.warnings.push(Warning::new("aborted-merged", sentence));
        }
    }
}

fn are_different_numbers(names: impl Iterator<Item = Option<Datum>>) -> bool {
    let numbers: Option<Vec<u64>> = names.map(|name| unsigned(&name?)).collect();
    numbers.is_some_and(|mut numbers| {
        numbers.sort_unstable();
        numbers.windows(2).all(|pair| pair[0] != pair[1])
    })
}

fn unsigned(name: &Datum) -> Option<u64> {
    match name {
        Datum::Int(int) => u64::try_from(*int).ok(),
        Datum::BigInt(digits) => digits.parse().ok(),
        _ => None,
    }
}
