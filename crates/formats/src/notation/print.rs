//! A history to lines of the notation.

use std::fmt::Write as _;
use std::io::{self, Write};

use history::{
    Bound, Change, Clock, Datum, History, InitialDefault, KeyId, Op, OpId, OpTimes, Outcome, Row, SessionId,
    TxnId, TxnTimes, ValueId,
};
use rustc_hash::FxHashMap;

use super::datum::print_datum;
use super::names::{Label, print_label, print_txn_name};
use super::ops::can_stand_bare;
use crate::unused_keys::unused_keys;

/// Writes a history, one transaction a line.
pub(super) fn write(history: &History, out: &mut dyn Write) -> io::Result<()> {
    let mut printer = Printer { history, line: String::new() };
    printer.clock(out)?;
    printer.initial_values(out)?;
    printer.unused_keys(out)?;
    let labels = labels(history);
    for session in history.sessions() {
        printer.session(session, &labels[session.index()], out)?;
    }
    Ok(())
}

/// A label for each session, each different.
fn labels(history: &History) -> Vec<Label> {
    let mut counts: FxHashMap<Option<Datum>, u64> = FxHashMap::default();
    let label = |session| {
        let name = history.session_name(session);
        let count = counts.entry(name.clone()).or_insert(0);
        *count += 1;
        let number = *count;
        Label { name, number }
    };
    history.sessions().map(label).collect()
}

struct Printer<'h> {
    history: &'h History,
    line: String,
}

impl Printer<'_> {
    fn end_line(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.line.push('\n');
        out.write_all(self.line.as_bytes())?;
        self.line.clear();
        Ok(())
    }

    fn clock(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.history.clock() == Clock::Nanoseconds {
            return Ok(());
        }
        self.line.push_str("clock position");
        self.end_line(out)
    }

    fn initial_values(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let initial = self.history.initial();
        let is_default = initial.default == InitialDefault::Value(ValueId(0)) && !has_lists(self.history);
        if is_default && initial.recorded.is_empty() {
            return Ok(());
        }
        self.line.push_str("init");
        match initial.default {
            InitialDefault::UnknownButOne => self.line.push_str(" *=?"),
            InitialDefault::Value(_) if is_default => {}
            InitialDefault::Value(value) => {
                self.line.push_str(" *=");
                self.value(value);
            }
        }
        for &(key, value) in &initial.recorded {
            self.line.push(' ');
            self.key(key);
            self.line.push('=');
            self.value(value);
        }
        self.end_line(out)
    }

    fn unused_keys(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let unused = unused_keys(self.history);
        if unused.is_empty() {
            return Ok(());
        }
        self.line.push_str("keys");
        for key in unused {
            self.line.push(' ');
            self.key(key);
        }
        self.end_line(out)
    }

    fn session(&mut self, session: SessionId, label: &Label, out: &mut dyn Write) -> io::Result<()> {
        let txns = self.history.session_txns(session);
        if txns.len() == 0 {
            print_label(&mut self.line, label);
            return self.end_line(out);
        }
        for txn in txns {
            print_label(&mut self.line, label);
            self.line.push(' ');
            self.txn(txn);
            self.end_line(out)?;
        }
        Ok(())
    }

    fn txn(&mut self, txn: TxnId) {
        let name = self.history.txn_name(txn);
        let ops = self.history.op_range(txn);
        let is_braced = name.is_some() || ops.is_empty();
        if let Some(name) = name {
            print_txn_name(&mut self.line, &name);
        }
        self.line.push_str(if is_braced { "{" } else { "" });
        for (place, op) in ops.map(OpId).enumerate() {
            self.line.push_str(if place == 0 { "" } else { " " });
            self.op(op);
        }
        self.line.push_str(if is_braced { "}" } else { "" });
        self.line.push_str(match self.history.outcome(txn) {
            Outcome::Committed => "",
            Outcome::Aborted => " abort",
            Outcome::Unknown => " unknown",
        });
        if let Some(level) = self.history.txn_level(txn) {
            self.line.push_str(" at ");
            print_datum(&mut self.line, &Datum::str(level));
        }
        self.txn_times(self.history.times(txn));
    }

    fn txn_times(&mut self, times: TxnTimes) {
        if times.is_empty() {
            return;
        }
        self.line.push_str(" @[");
        self.time(times.begin_request);
        if times.begin_response.is_some() {
            self.line.push_str("..");
            self.time(times.begin_response);
        }
        self.line.push(',');
        if times.commit_request.is_some() {
            self.time(times.commit_request);
            self.line.push_str("..");
        }
        self.time(times.commit_response);
        self.line.push(']');
    }

    fn op(&mut self, op: OpId) {
        match self.history.op(op) {
            Op::Read { key, value } => {
                self.keyed("r", key);
                self.value_or_unknown(value);
            }
            Op::ReadList { key, list } => {
                self.keyed("r", key);
                self.list_read(list);
            }
            Op::Write { key, value } => self.keyed_value("w", key, value),
            Op::Append { key, value } => self.keyed_value("a", key, value),
            Op::Insert { key, value } => self.keyed_value("i", key, value),
            Op::Delete { key, tombstone } => match tombstone {
                None => self.keyed("d", key),
                Some(mark) => self.keyed_value("d", key, mark),
            },
            Op::RangeRead(range) => {
                self.range(&range.from, &range.to);
                self.rows(range.rows.as_deref());
            }
            Op::PredicateRead(read) => {
                self.predicate("p", read.predicate.datum());
                self.rows(read.rows.as_deref());
            }
            Op::PredicateWrite(write) => {
                self.change(write.predicate.datum(), &write.change);
                if let Some(count) = write.row_count {
                    self.put(format_args!("*{count}"));
                }
                if write.is_returning {
                    self.line.push('<');
                }
                self.changed_keys(write.keys.as_deref());
            }
        }
        self.suffixes(op);
    }

    fn suffixes(&mut self, op: OpId) {
        if let Some(version) = self.history.op_version(op) {
            self.put(format_args!("^{version}"));
        }
        let times = self.history.op_times(op);
        if times != OpTimes::default() {
            self.line.push_str("@[");
            self.time(times.request);
            self.line.push(',');
            self.time(times.response);
            self.line.push(']');
        }
        if self.history.is_failed(op) {
            self.line.push('!');
        }
    }

    fn keyed(&mut self, word: &str, key: KeyId) {
        self.line.push_str(word);
        self.line.push('(');
        self.key(key);
        self.line.push(')');
    }

    fn keyed_value(&mut self, word: &str, key: KeyId, value: ValueId) {
        self.keyed(word, key);
        self.line.push('=');
        self.value(value);
    }

    fn value_or_unknown(&mut self, value: Option<ValueId>) {
        self.line.push('=');
        let Some(value) = value else {
            self.line.push('?');
            return;
        };
        // In square brackets it would be a read of a list.
        let is_list = matches!(self.history.values().original(value), Datum::List(_));
        self.line.push_str(if is_list { "<" } else { "" });
        self.value(value);
        self.line.push_str(if is_list { ">" } else { "" });
    }

    fn list_read(&mut self, list: Option<&[ValueId]>) {
        let Some(list) = list else {
            self.line.push_str("=[?]");
            return;
        };
        self.line.push_str("=[");
        for (place, &value) in list.iter().enumerate() {
            self.line.push_str(if place == 0 { "" } else { " " });
            self.value(value);
        }
        self.line.push(']');
    }

    fn range(&mut self, from: &Bound, to: &Bound) {
        match from {
            Bound::Unbounded => self.line.push_str("r["),
            Bound::Included(key) => self.bound("r[", key, ""),
            Bound::Excluded(key) => self.bound("r(", key, ""),
        }
        self.line.push_str("..");
        match to {
            Bound::Unbounded => self.line.push(']'),
            Bound::Included(key) => self.bound("", key, "]"),
            Bound::Excluded(key) => self.bound("", key, ")"),
        }
    }

    fn bound(&mut self, before: &str, key: &Datum, after: &str) {
        self.line.push_str(before);
        print_datum(&mut self.line, key);
        self.line.push_str(after);
    }

    fn rows(&mut self, rows: Option<&[Row]>) {
        let Some(rows) = rows else {
            self.line.push_str("=?");
            return;
        };
        self.line.push_str("={");
        for (place, row) in rows.iter().enumerate() {
            self.line.push_str(if place == 0 { "" } else { " " });
            self.line.push_str(if row.is_dead { "~" } else { "" });
            self.key(row.key);
            self.line.push('=');
            self.value(row.value);
        }
        self.line.push('}');
    }

    fn predicate(&mut self, word: &str, predicate: &Datum) {
        self.line.push_str(word);
        match predicate {
            Datum::Str(text) if can_stand_bare(text) => self.put(format_args!("({text})")),
            other => self.bound("(", other, ")"),
        }
    }

    fn changed_keys(&mut self, keys: Option<&[KeyId]>) {
        let Some(keys) = keys else { return };
        self.line.push_str("~{");
        for (place, &key) in keys.iter().enumerate() {
            self.line.push_str(if place == 0 { "" } else { " " });
            self.key(key);
        }
        self.line.push('}');
    }

    fn change(&mut self, predicate: &Datum, change: &Change) {
        match change {
            Change::Delete => self.predicate("pd", predicate),
            Change::Set(value) => {
                self.predicate("pw", predicate);
                self.bound("=", value, "");
            }
        }
    }

    fn key(&mut self, key: KeyId) {
        print_datum(&mut self.line, self.history.keys().original(key));
    }

    fn value(&mut self, value: ValueId) {
        match value.small_int() {
            Some(int) => self.put(format_args!("{int}")),
            None => print_datum(&mut self.line, &self.history.values().original(value)),
        }
    }

    fn time(&mut self, time: Option<i64>) {
        match time {
            Some(time) => self.put(format_args!("{time}")),
            None => self.line.push('?'),
        }
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.line.write_fmt(text).expect("a string takes everything");
    }
}

/// Whether a key is used as a list; the parser gives such keys another default.
fn has_lists(history: &History) -> bool {
    (0..history.op_count() as u32).any(|op| {
        let op = history.op(OpId(op));
        matches!(op, Op::ReadList { .. } | Op::Append { .. })
    })
}
