//! A certificate as JSON text; `docs/certificates.md` describes the form.
//!
//! Written as it goes, one step to a line, so that a million transactions need no more memory than their certificate.

use std::fmt::Display;
use std::io::{self, Write};

use crate::notation::{LitText, NodeText};
use crate::{Certificate, Core, Fingerprint, Level, RealTime, Rule, Step};

/// The version of the form.
pub(crate) const VERSION: u32 = 1;

/// Writes a certificate with the level and the history that it is for.
///
/// Give it a buffered writer.
pub fn write(
    certificate: &Certificate,
    level: &Level,
    history: Fingerprint,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "{{\"isoscope_certificate\": {VERSION},")?;
    writeln!(out, " \"history\": \"{history}\",")?;
    write_level(level, out)?;
    match certificate {
        Certificate::Holds { order, committed_unknown } => {
            writeln!(out, " \"verdict\": \"holds\",")?;
            write!(out, " \"committed_unknown\": ")?;
            write_list(committed_unknown.iter().map(|txn| txn.0), out)?;
            write!(out, ",\n \"order\": ")?;
            write_list(order.iter().map(|&node| Quoted(NodeText(node, level.events_per_txn()))), out)?;
        }
        Certificate::Violated { steps, keys } => {
            writeln!(out, " \"verdict\": \"violated\",")?;
            if let Some(keys) = keys {
                write!(out, " \"keys\": ")?;
                write_list(keys.iter().map(|key| key.0), out)?;
                writeln!(out, ",")?;
            }
            write!(out, " \"steps\": [")?;
            for (number, step) in steps.iter().enumerate() {
                out.write_all(if number == 0 { b"\n  " } else { b",\n  " })?;
                write_step(step, level.events_per_txn(), out)?;
            }
            out.write_all(b"]")?;
        }
    }
    out.write_all(b"}\n")
}

fn write_level(level: &Level, out: &mut impl Write) -> io::Result<()> {
    let name = level.name().map_or_else(|| "null".into(), |name| format!("\"{name}\""));
    let (core, real_time) = (core_name(level.core), real_time_name(level.real_time));
    writeln!(
        out,
        " \"level\": {{\"name\": {name}, \"core\": \"{core}\", \"sessions\": {}, \"real_time\": \"{real_time}\", \"clock_skew\": {}}},",
        level.sessions, level.clock_skew
    )
}

pub(crate) fn core_name(core: Core) -> &'static str {
    match core {
        Core::Serializable => "serializable",
        Core::Snapshot => "snapshot",
        Core::Prefix => "prefix",
    }
}

pub(crate) fn real_time_name(real_time: RealTime) -> &'static str {
    match real_time {
        RealTime::Ignored => "ignored",
        RealTime::Strict => "strict",
        RealTime::ToCommits => "to_commits",
        RealTime::AllButBegins => "all_but_begins",
    }
}

fn write_step(step: &Step, events_per_txn: u32, out: &mut impl Write) -> io::Result<()> {
    write!(out, "{{\"rule\": \"{}\"", rule_name(&step.rule))?;
    match &step.rule {
        Rule::Internal(op) | Rule::ListOrder(op) | Rule::Listed(op) | Rule::RowCount(op) => {
            write!(out, ", \"read\": {}", op.0)?
        }
        Rule::Sources(read) => {
            write!(out, ", \"read\": {}", read.op.0)?;
            if let Some(key) = read.key {
                write!(out, ", \"key\": {}", key.0)?;
            }
        }
        Rule::Case(steps) => {
            write!(out, ", \"steps\": [")?;
            for (number, step) in steps.iter().enumerate() {
                out.write_all(if number == 0 { b"\n    " } else { b",\n    " })?;
                write_step(step, events_per_txn, out)?;
            }
            write!(out, "]")?;
        }
        Rule::Derived(hints) => {
            write!(out, ", \"from\": ")?;
            write_list(hints.iter(), out)?;
        }
        _ => {}
    }
    write!(out, ", \"clause\": ")?;
    write_list(step.clause.iter().map(|&lit| Quoted(LitText(lit, events_per_txn))), out)?;
    out.write_all(b"}")
}

pub(crate) fn rule_name(rule: &Rule) -> &'static str {
    match rule {
        Rule::Session => "session",
        Rule::RealTime => "real_time",
        Rule::BeginCommit => "begin_commit",
        Rule::Initial => "initial",
        Rule::Internal(_) => "internal",
        Rule::Sources(_) => "sources",
        Rule::ListOrder(_) => "list_order",
        Rule::Listed(_) => "listed",
        Rule::RecordedOrder => "recorded_order",
        Rule::ReadAfterWrite => "read_after_write",
        Rule::ReadCommitted => "read_committed",
        Rule::OneInitial => "one_initial",
        Rule::TwoWriters => "two_writers",
        Rule::Overwritten => "overwritten",
        Rule::OneWay => "one_way",
        Rule::RowCount(_) => "row_count",
        Rule::Case(_) => "case",
        Rule::Cycle => "cycle",
        Rule::NoOrder => "no_order",
        Rule::Derived(_) => "derived",
    }
}

/// Text that needs no escapes, in quotes.
struct Quoted<T>(T);

impl<T: Display> Display for Quoted<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "\"{}\"", self.0)
    }
}

fn write_list<T: Display>(items: impl Iterator<Item = T>, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"[")?;
    for (number, item) in items.enumerate() {
        out.write_all(if number == 0 { b"" } else { b", " })?;
        write!(out, "{item}")?;
    }
    out.write_all(b"]")
}
