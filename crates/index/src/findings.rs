//! What is wrong inside a transaction or between a read and its possible sources, whatever the order.
//!
//! A finding is a verdict about the database, never an error of the input.

use std::fmt;

use history::{History, KeyId, Op, OpId, Row, TxnId, ValueId};

/// Why no order of transactions explains a read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FindingKind {
    /// No transaction wrote the value, and it is not the initial one.
    ThinAirRead,
    /// Only transactions that did not commit wrote the value.
    AbortedRead,
    /// Only writes that their own transaction overwrote have the value.
    IntermediateRead,
    /// Only a later write of the same transaction has the value.
    FutureRead,
    /// The transaction had written the key, and read another transaction's value.
    NotMyOwnWrite,
    /// The transaction had written the key twice, and read the earlier value.
    NotMyLastWrite,
    /// Two reads of a key in one transaction, without a write of its own between them, differ.
    NonRepeatableRead,
    /// A list has an element twice.
    DuplicatedElement,
    /// A range or predicate read returned a row twice.
    DuplicatedRow,
    /// A range read returned a row that is not in the range.
    RowOutOfBounds,
    /// A row was returned whose value is only the mark of a delete.
    TombstoneServed,
    /// A predicate read returned a row that does not match.
    RowNotMatching,
    /// Nothing that a key ever held explains all that a transaction saw of it, by predicates and otherwise.
    UnexplainedRow,
    /// A predicate write changed another number of rows than the database said.
    WrongRowCount,
}

impl FindingKind {
    /// The name as printed and as used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::ThinAirRead => "thin-air read",
            Self::AbortedRead => "aborted read",
            Self::IntermediateRead => "intermediate read",
            Self::FutureRead => "future read",
            Self::NotMyOwnWrite => "not my own write",
            Self::NotMyLastWrite => "not my last write",
            Self::NonRepeatableRead => "non-repeatable read",
            Self::DuplicatedElement => "duplicated element",
            Self::DuplicatedRow => "duplicated row",
            Self::RowOutOfBounds => "row out of bounds",
            Self::TombstoneServed => "tombstone served as a row",
            Self::RowNotMatching => "row that does not match",
            Self::UnexplainedRow => "unexplained row",
            Self::WrongRowCount => "wrong row count",
        }
    }
}

/// One such read, with the operations concerned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What is wrong.
    pub kind: FindingKind,
    /// The transaction that read.
    pub txn: TxnId,
    /// The read.
    pub read: OpId,
    /// The key read.
    pub key: KeyId,
    /// The value read.
    pub value: ValueId,
    /// The other operation concerned: the write that may not be read, or the read or write it contradicts.
    pub other: Option<OpId>,
}

impl Finding {
    /// The finding as a sentence.
    pub fn sentence(&self, history: &History) -> String {
        Sentence { finding: self, history }.to_string()
    }
}

struct Sentence<'a> {
    finding: &'a Finding,
    history: &'a History,
}

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (finding, history) = (self.finding, self.history);
        let txn = history.txn_label(finding.txn);
        let key = match finding.key.index() < history.keys().len() {
            true => history.keys().original(finding.key).to_string(),
            false => "nothing".into(),
        };
        let value = history.values().original(finding.value).to_string();
        let other = finding.other.map(|op| history.txn_label(history.txn_of(op))).unwrap_or_default();
        match finding.kind {
            FindingKind::DuplicatedElement => {
                return write!(out, "{txn} read a list {key} with {value} twice");
            }
            FindingKind::DuplicatedRow => {
                return write!(out, "{txn} was given the row {key} twice by one read");
            }
            FindingKind::RowOutOfBounds => {
                return write!(out, "{txn} was given the row {key} by a read of a range that it is not in");
            }
            FindingKind::UnexplainedRow => {
                write!(out, "nothing that {key} ever held explains all that {txn} saw of it")?;
                let saw = self.sightings();
                return if saw.is_empty() { Ok(()) } else { write!(out, ": {}", saw.join(", then ")) };
            }
            FindingKind::WrongRowCount => {
                return write!(out, "{txn} reported an impossible number of changed rows");
            }
            _ => write!(out, "{txn} read {key} = {value}, ")?,
        }
        match finding.kind {
            FindingKind::ThinAirRead if finding.other.is_some() => {
                write!(out, "which no transaction wrote, and {other} read another initial value of {key}")
            }
            FindingKind::ThinAirRead => write!(out, "which no transaction wrote"),
            FindingKind::AbortedRead => write!(out, "which only {other} wrote, and {other} did not commit"),
            FindingKind::IntermediateRead => write!(out, "which {other} overwrote before it committed"),
            FindingKind::FutureRead => write!(out, "which it wrote itself only later"),
            FindingKind::NotMyOwnWrite => {
                write!(out, "although it had itself written {}", self.other_value())
            }
            FindingKind::NotMyLastWrite => {
                write!(out, "although it had itself overwritten that with {}", self.other_value())
            }
            FindingKind::NonRepeatableRead => write!(out, "but had read {} before", self.other_value()),
            FindingKind::TombstoneServed => write!(out, "as a row, which is only the mark of its delete"),
            FindingKind::RowNotMatching => write!(out, "which does not match the predicate"),
            FindingKind::DuplicatedElement
            | FindingKind::DuplicatedRow
            | FindingKind::RowOutOfBounds
            | FindingKind::UnexplainedRow
            | FindingKind::WrongRowCount => Ok(()),
        }
    }
}

impl Sentence<'_> {
    /// What the transaction was shown of the key and wrote to it, in its order.
    fn sightings(&self) -> Vec<String> {
        let key = self.finding.key;
        let value = |value: ValueId| self.history.values().original(value);
        let returned = |rows: &Option<Vec<Row>>| {
            let row = rows.iter().flatten().find(|row| row.key == key);
            row.map(|row| format!("saw {}", value(row.value)))
        };
        let sighting = |op: Op<'_>| match op {
            Op::Read { key: read, value: Some(seen) } if read == key => Some(format!("saw {}", value(seen))),
            Op::RangeRead(range) => returned(&range.rows),
            Op::PredicateRead(read) => returned(&read.rows),
            Op::PredicateWrite(write) => write.keys.as_ref()?.contains(&key).then(|| "changed it".into()),
            op if op.key() == Some(key) && op.written().is_some() => Some("wrote it".into()),
            _ => None,
        };
        self.history.ops(self.finding.txn).filter_map(|(_, op)| sighting(op)).collect()
    }

    fn other_value(&self) -> String {
        let op = self.finding.other.map(|op| self.history.op(op));
        let value = op.and_then(|op| op.value());
        value.map_or_else(
            || "something else".into(),
            |value| self.history.values().original(value).to_string(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Index;
    use history::{Builder, Datum, InitialState, Outcome, PredicateRead};

    #[test]
    fn two_sights_that_do_not_go_together_are_both_told() {
        let mut builder = Builder::new();
        builder.initial = InitialState::all(ValueId(0));
        let (session, key) = (builder.session(), builder.keys.intern("x".into()));
        builder.begin(session);
        for seen in [1, 2] {
            let value = builder.values.intern_int(seen);
            let rows = Some(vec![Row { key, value, is_dead: false }]);
            builder
                .predicate_read(PredicateRead { predicate: Datum::str(format!("v >= {seen}")).into(), rows });
        }
        builder.end(Outcome::Committed);
        let history = builder.finish();
        let index = Index::of(&history);
        let sentences: Vec<_> = index.findings().iter().map(|finding| finding.sentence(&history)).collect();
        assert_eq!(sentences, ["nothing that x ever held explains all that T1 saw of it: saw 1, then saw 2"]);
    }
}
