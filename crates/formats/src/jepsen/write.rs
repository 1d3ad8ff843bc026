//! Histories to Jepsen's EDN.
//!
//! With times, invocations and completions stand in the order of time, so that "completed before invoked" is what it
//! was; without, only completions are written, from which no order can be inferred across processes.

use std::io::Write;

use history::{Datum, History, KeyId, Op, OpId, Outcome, PredicateRead, TxnId, ValueId};

use super::write_losses::{Losses, initial_stand_in};
use crate::edn::print_datum;
use crate::{Error, Warning, WriteOptions};

/// Writes a history as EDN, one operation a line.
pub(crate) fn write_edn(
    history: &History,
    out: &mut dyn Write,
    options: &WriteOptions,
) -> Result<Vec<Warning>, Error> {
    let mut losses = Losses::new(options);
    losses.note_columns(history)?;
    let mut writer = Writer {
        history,
        processes: processes(history, &mut losses),
        initial: initial_stand_in(history, &mut losses)?,
        losses,
        line: String::new(),
        index: 0,
    };
    writer.initial_state(out)?;
    for (txn, is_completion) in writer.schedule()? {
        writer.event(txn, is_completion, out)?;
    }
    Ok(writer.losses.warnings)
}

/// A process number for each session: its own if all have one, else its place.
fn processes(history: &History, losses: &mut Losses) -> Vec<i64> {
    let named: Option<Vec<i64>> = history
        .sessions()
        .map(|session| match history.session_name(session) {
            Some(Datum::Int(number)) => Some(number),
            _ => None,
        })
        .collect();
    let is_distinct = |numbers: &Vec<i64>| {
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        sorted.windows(2).all(|pair| pair[0] != pair[1])
    };
    if let Some(numbers) = named.filter(is_distinct) {
        return numbers;
    }
    if history.sessions().any(|session| history.session_name(session).is_some()) {
        losses.names("the names of sessions, which became processes with numbers");
    }
    (0..history.session_count() as i64).collect()
}

struct Writer<'h> {
    history: &'h History,
    processes: Vec<i64>,
    /// The value that is written as nil because it is the initial one.
    initial: Option<ValueId>,
    losses: Losses,
    line: String,
    index: u64,
}

impl Writer<'_> {
    /// The events in the order in which they are written: a transaction, and whether it is its completion.
    fn schedule(&mut self) -> Result<Vec<(TxnId, bool)>, Error> {
        self.check_unknown_ends()?;
        let has_times = self.history.has_times() && self.times_fit()?;
        // At one moment, what is invoked comes before what completes: they may have overlapped.
        let mut events: Vec<(i64, bool, TxnId)> = Vec::new();
        for txn in self.history.txns() {
            if let Some(start) = self.history.times(txn).start().filter(|_| has_times) {
                events.push((start, false, txn));
            }
            events.push((self.end_of(txn), true, txn));
        }
        if has_times {
            events.sort();
        }
        Ok(events.into_iter().map(|(_, is_completion, txn)| (txn, is_completion)).collect())
    }

    /// When the completion is written: after everything else if nothing is known to follow it.
    fn end_of(&self, txn: TxnId) -> i64 {
        let end = self.history.times(txn).end();
        let is_known = self.history.outcome(txn) != Outcome::Unknown;
        end.filter(|_| is_known).unwrap_or(i64::MAX)
    }

    /// A process is over when it does not learn an outcome.
    fn check_unknown_ends(&mut self) -> Result<(), Error> {
        for session in self.history.sessions() {
            let txns: Vec<_> = self.history.session_txns(session).collect();
            let before_last = &txns[..txns.len().saturating_sub(1)];
            let goes_on = |&&txn: &&TxnId| self.history.outcome(txn) == Outcome::Unknown;
            if let Some(&txn) = before_last.iter().find(goes_on) {
                let what = "that a session goes on after a transaction of unknown outcome";
                self.losses.semantic(&self.history.txn_label(txn), what)?;
            }
        }
        Ok(())
    }

    /// Whether each process does one thing after the other.
    fn times_fit(&mut self) -> Result<bool, Error> {
        for session in self.history.sessions() {
            let mut latest = i64::MIN;
            for txn in self.history.session_txns(session) {
                let end = self.end_of(txn);
                let start = self.history.times(txn).start().unwrap_or(end);
                if (start <= latest && latest != i64::MIN) || end < start {
                    let what = "transactions of one session that overlap in time";
                    self.losses.semantic(&self.history.txn_label(txn), what)?;
                    return Ok(false);
                }
                latest = end;
            }
        }
        Ok(true)
    }

    fn initial_state(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        let recorded: Vec<_> = self.history.initial().recorded.clone();
        let recorded: Vec<_> = recorded.into_iter().filter(|&(_, value)| value != ValueId::NIL).collect();
        if recorded.is_empty() {
            return Ok(());
        }
        for kind in [":invoke", ":ok"] {
            self.begin_line(kind, i64::from(u32::MAX), ":init");
            self.line.push('{');
            for (place, &(key, value)) in recorded.iter().enumerate() {
                self.line.push_str(if place == 0 { "" } else { ", " });
                self.key(key)?;
                self.line.push(' ');
                self.value(value)?;
            }
            self.line.push('}');
            self.end_line(out)?;
        }
        Ok(())
    }

    fn event(&mut self, txn: TxnId, is_completion: bool, out: &mut dyn Write) -> Result<(), Error> {
        let kind = match (is_completion, self.history.outcome(txn)) {
            (false, _) => ":invoke",
            (true, Outcome::Committed) => ":ok",
            (true, Outcome::Aborted) => ":fail",
            (true, Outcome::Unknown) => ":info",
        };
        let process = self.processes[self.history.session_of(txn).index()];
        self.begin_line(kind, process, ":txn");
        self.line.push('[');
        let mut is_first = true;
        for op in self.history.op_range(txn).map(OpId) {
            if self.history.is_failed(op) || !self.can_be_said(txn, op)? {
                continue;
            }
            self.line.push_str(if is_first { "" } else { " " });
            is_first = false;
            self.op(op, is_completion)?;
        }
        self.line.push(']');
        self.end_line(out)
    }

    fn begin_line(&mut self, kind: &str, process: i64, f: &str) {
        let index = self.index;
        self.line = format!("{{:index {index}, :type {kind}, :process {process}, :f {f}, :value ");
        self.index += 1;
    }

    fn end_line(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        self.line.push_str("}\n");
        out.write_all(self.line.as_bytes())?;
        Ok(())
    }

    /// Whether a micro-operation can say what the operation says; if not, that is a loss.
    fn can_be_said(&mut self, txn: TxnId, op: OpId) -> Result<bool, Error> {
        let outcome = self.history.outcome(txn);
        let is_nil = |value: ValueId| value == ValueId::NIL || Some(value) == self.initial;
        let problem = match self.history.op(op) {
            Op::RangeRead(_) => "a range read",
            Op::PredicateWrite(_) => "a predicate write",
            Op::PredicateRead(PredicateRead { rows: Some(rows), .. })
                if rows.iter().any(|row| row.is_dead) =>
            {
                "a read of dead rows"
            }
            Op::Read { value: None, .. } | Op::ReadList { list: None, .. }
                if outcome == Outcome::Committed =>
            {
                "an unknown read of a committed transaction"
            }
            Op::Read { value: Some(value), .. } if outcome == Outcome::Unknown && is_nil(value) => {
                "a read of nil in a transaction of unknown outcome"
            }
            Op::Read { value: Some(value), .. }
                if matches!(self.history.values().original(value), Datum::List(_)) =>
            {
                "a register that holds a list"
            }
            _ => return Ok(true),
        };
        self.losses.semantic(&self.history.txn_label(txn), problem)?;
        Ok(false)
    }

    fn op(&mut self, op: OpId, is_completion: bool) -> Result<(), Error> {
        match self.history.op(op) {
            Op::Read { key, value } => {
                self.begin_op(":r", key)?;
                self.value(value.filter(|_| is_completion).unwrap_or(ValueId::NIL))?;
            }
            Op::ReadList { key, list } => {
                self.begin_op(":r", key)?;
                self.list(list.filter(|_| is_completion))?;
            }
            Op::Write { key, value } => {
                self.begin_op(":w", key)?;
                self.value(value)?;
            }
            Op::Append { key, value } => {
                self.begin_op(":append", key)?;
                self.value(value)?;
            }
            Op::Insert { key, value } => {
                self.begin_op(":insert", key)?;
                self.value(value)?;
            }
            Op::Delete { key, tombstone } => {
                self.begin_op(":delete", key)?;
                self.value(tombstone.unwrap_or(ValueId::NIL))?;
            }
            Op::PredicateRead(read) => self.predicate_read(read, is_completion)?,
            Op::RangeRead(_) | Op::PredicateWrite(_) => unreachable!("such an operation cannot be said"),
        }
        self.line.push(']');
        Ok(())
    }

    fn begin_op(&mut self, word: &str, key: KeyId) -> Result<(), Error> {
        self.line.push('[');
        self.line.push_str(word);
        self.line.push(' ');
        self.key(key)?;
        self.line.push(' ');
        Ok(())
    }

    fn list(&mut self, list: Option<&[ValueId]>) -> Result<(), Error> {
        let Some(list) = list else {
            self.line.push_str("nil");
            return Ok(());
        };
        self.line.push('[');
        for (place, &value) in list.iter().enumerate() {
            self.line.push_str(if place == 0 { "" } else { " " });
            self.value(value)?;
        }
        self.line.push(']');
        Ok(())
    }

    fn predicate_read(&mut self, read: &PredicateRead, is_completion: bool) -> Result<(), Error> {
        self.line.push_str("[:rp ");
        self.datum(read.predicate.datum())?;
        let Some(rows) = read.rows.as_ref().filter(|_| is_completion) else {
            self.line.push_str(" nil");
            return Ok(());
        };
        self.line.push_str(" {");
        for (place, row) in rows.iter().enumerate() {
            self.line.push_str(if place == 0 { "" } else { ", " });
            self.key(row.key)?;
            self.line.push(' ');
            self.value(row.value)?;
        }
        self.line.push('}');
        Ok(())
    }

    fn key(&mut self, key: KeyId) -> Result<(), Error> {
        self.datum(self.history.keys().original(key))
    }

    fn value(&mut self, value: ValueId) -> Result<(), Error> {
        match Some(value) == self.initial {
            true => self.datum(&Datum::Nil),
            false => self.datum(&self.history.values().original(value)),
        }
    }

    fn datum(&mut self, datum: &Datum) -> Result<(), Error> {
        print_datum(&mut self.line, datum).map_err(Error::cannot_express)
    }
}
