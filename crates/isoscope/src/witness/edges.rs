//! The edges of a witness with the operations that they connect.

use explain::{Edge, EdgeKind, Explanation};
use history::{History, KeyId, Op, OpId, TxnId, visible};
use index::Index;

use crate::units::counted;

/// A step of the argument: one transaction before another, for one reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WitnessEdge {
    /// The transaction of the witness that comes before.
    pub from: TxnId,
    /// The transaction of the witness that comes after.
    pub to: TxnId,
    /// Why.
    pub kind: EdgeKind,
    /// The key, as people see it.
    pub key: Option<String>,
    /// The operation of the first transaction that is concerned, by its place in the witness.
    pub from_op: Option<OpId>,
    /// The operation of the second transaction.
    pub to_op: Option<OpId>,
    /// The reason as a sentence, safe to print.
    pub reason: String,
}

impl WitnessEdge {
    /// `rw x`, or `so`.
    pub fn label(&self) -> String {
        match &self.key {
            Some(key) => format!("{} {key}", self.kind.name()),
            None => self.kind.name().to_owned(),
        }
    }
}

/// The edges of a cycle, or of a read and the write that it must not have seen.
pub(crate) fn of(history: &History, index: &Index, told: Option<&Explanation>) -> Vec<WitnessEdge> {
    let Some(told) = told else { return Vec::new() };
    let cycle: Vec<WitnessEdge> = told.cycle.iter().filter_map(|edge| with_ops(history, edge)).collect();
    if !cycle.is_empty() {
        return cycle;
    }
    let mut findings = index.findings().iter();
    let finding = findings.find(|finding| told.transactions.contains(&finding.txn));
    let Some((finding, other)) = finding.and_then(|finding| Some((finding, finding.other?))) else {
        return Vec::new();
    };
    let from = history.txn_of(other);
    if from == finding.txn || history.op(other).is_read() {
        return Vec::new();
    }
    vec![WitnessEdge {
        from,
        to: finding.txn,
        kind: EdgeKind::Wr,
        key: Some(key_text(history, finding.key)),
        from_op: Some(other),
        to_op: Some(finding.read),
        reason: visible(&finding.sentence(history)),
    }]
}

/// The reads of which only one write can be the source, unless an edge between these transactions is there already.
pub(crate) fn support(history: &History, index: &Index, edges: &[WitnessEdge]) -> Vec<WitnessEdge> {
    let mut support: Vec<WitnessEdge> = Vec::new();
    for (number, read) in index.reads().iter().enumerate() {
        let sources = index.sources(number);
        let (&[write], false) = (sources.writes, sources.initial) else { continue };
        let write = index.writes()[write as usize];
        let is_same = |edge: &WitnessEdge| (edge.from, edge.to) == (write.txn, read.txn);
        if edges.iter().chain(&support).any(is_same) || write.txn == read.txn {
            continue;
        }
        let key = key_text(history, read.key);
        let (reader, writer) = (history.txn_label(read.txn), history.txn_label(write.txn));
        support.push(WitnessEdge {
            from: write.txn,
            to: read.txn,
            kind: EdgeKind::Wr,
            reason: format!("{} read {key} from {}", visible(&reader), visible(&writer)),
            key: Some(key),
            from_op: Some(write.op),
            to_op: Some(read.op),
        });
    }
    support
}

/// `lost update on key 17 (G-single), 2 transactions`, where all transactions of the witness count.
pub(crate) fn headline(history: &History, told: &Explanation) -> String {
    const SHOWN: usize = 3;
    let names: Vec<String> = told.keys.iter().take(SHOWN).map(|&key| key_text(history, key)).collect();
    let more = if told.keys.len() > SHOWN { ", ..." } else { "" };
    let on = match names.len() {
        0 => String::new(),
        1 => format!(" on key {}", names[0]),
        _ => format!(" on keys {}{more}", names.join(", ")),
    };
    let class = told.anomaly.class().map_or_else(String::new, |class| format!(" ({class})"));
    format!("{}{on}{class}, {}", told.anomaly.name(), counted(history.txn_count(), "transaction"))
}

fn key_text(history: &History, key: KeyId) -> String {
    visible(&history.keys().original(key).to_string())
}

/// A step with the operations that it connects.
pub(crate) fn with_ops(history: &History, edge: &Edge) -> Option<WitnessEdge> {
    let (from, to) = (edge.from?, edge.to?);
    let written = |txn| last_write(history, txn, edge.key?);
    let (from_op, to_op) = match edge.kind {
        EdgeKind::Wr => (written(from), edge.read),
        EdgeKind::Rw => (edge.read, written(to)),
        EdgeKind::Ww => (written(from), written(to)),
        EdgeKind::So | EdgeKind::Rt | EdgeKind::Derived => (None, None),
    };
    let is_of = |txn: TxnId| move |op: &OpId| history.txn_of(*op) == txn;
    Some(WitnessEdge {
        from,
        to,
        kind: edge.kind,
        key: edge.key.map(|key| key_text(history, key)),
        from_op: from_op.filter(is_of(from)),
        to_op: to_op.filter(is_of(to)),
        reason: visible(&edge.reason),
    })
}

fn last_write(history: &History, txn: TxnId, key: KeyId) -> Option<OpId> {
    let writes = history.ops(txn).filter(|(_, op)| !op.is_read());
    let touches = |op: &Op<'_>| match op {
        Op::PredicateWrite(_) => true,
        op => op.key() == Some(key),
    };
    writes.filter(|(_, op)| touches(op)).map(|(id, _)| id).last()
}

/// What each transaction of the witness saw and did: `T812 (session 3) read 17 = 40, then wrote 17 = 45`.
pub(crate) fn participants(history: &History) -> Vec<String> {
    let one = |txn: TxnId| {
        let ops: Vec<String> = history.ops(txn).map(|(_, op)| op_text(history, op)).collect();
        let end = match history.outcome(txn) {
            history::Outcome::Committed => "",
            history::Outcome::Aborted => ", then aborted",
            history::Outcome::Unknown => "; whether it committed is unknown",
        };
        let session = explain::session_phrase(history, txn);
        let level = history.txn_level(txn).map(|level| format!(" at {level}")).unwrap_or_default();
        let note = history.txn_note(txn).map(|note| format!("; recorded with {}", short(&note)));
        let note = note.unwrap_or_default();
        let ops = ops.join(", then ");
        visible(&format!("{} ({session}{level}) {ops}{end}{note}", history.txn_label(txn)))
    };
    history.txns().map(one).collect()
}

/// The first characters of a note.
fn short(note: &str) -> String {
    const MOST_CHARS: usize = 160;
    match note.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}...", &note[..end]),
        None => note.to_owned(),
    }
}

/// An operation as people say it: `read 17 = 40`.
pub fn op_text(history: &History, op: Op<'_>) -> String {
    let key = |key: KeyId| history.keys().original(key).to_string();
    let value = |value| history.values().original(value).to_string();
    let rows = |rows: &Option<Vec<history::Row>>| match rows {
        None => "an unknown answer".to_owned(),
        Some(rows) if rows.is_empty() => "no row".to_owned(),
        Some(rows) => {
            let shown: Vec<String> =
                rows.iter().map(|row| format!("{} = {}", key(row.key), value(row.value))).collect();
            shown.join(", ")
        }
    };
    match op {
        Op::Read { key: of, value: Some(seen) } if seen == history::ValueId::NIL => {
            format!("found no row {}", key(of))
        }
        Op::Read { key: of, value: Some(seen) } => format!("read {} = {}", key(of), value(seen)),
        Op::ReadList { key: of, list: Some(list) } => {
            let list: Vec<String> = list.iter().map(|&element| value(element)).collect();
            format!("read {} = [{}]", key(of), list.join(", "))
        }
        Op::Read { key: of, value: None } | Op::ReadList { key: of, list: None } => {
            format!("read {} without an answer", key(of))
        }
        Op::Write { key: of, value: new } => format!("wrote {} = {}", key(of), value(new)),
        Op::Append { key: of, value: new } => format!("appended {} to {}", value(new), key(of)),
        Op::Insert { key: of, value: new } => format!("inserted {} = {}", key(of), value(new)),
        Op::Delete { key: of, .. } => format!("deleted {}", key(of)),
        Op::RangeRead(range) => format!("read a range and found {}", rows(&range.rows)),
        Op::PredicateRead(read) => {
            format!("read where {} and found {}", read.predicate, rows(&read.rows))
        }
        Op::PredicateWrite(write) => match &write.change {
            history::Change::Delete => format!("deleted where {}", write.predicate),
            history::Change::Set(new) => format!("set {new} where {}", write.predicate),
        },
    }
}
