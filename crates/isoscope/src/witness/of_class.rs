//! A class of anomalies as a witness, so that it is drawn like the violation of a level.
//!
//! The transactions of the class are taken out of the history with everything that they say about one another. The
//! classes are in every explanation of the history, so no engine is asked and there is no certificate.

use anomalies::{Anomaly, Edge, Kind};
use explain::EdgeKind;
use history::{History, KeyId, Op, OpId, TxnId, ValueId, visible};
use index::Index;

use super::edges::{self, WitnessEdge};
use super::{Part, Witness};
use crate::answer::AskedLevel;
use crate::explanation::Line;
use crate::units::counted;

impl Witness {
    /// The picture of a class that was found; `None` if its transactions cannot be taken out of the history.
    pub fn of_class(history: &History, anomaly: &Anomaly) -> Option<Self> {
        let mut txns = anomaly.txns.clone();
        txns.sort_unstable();
        txns.dedup();
        let part = Part::of(history, &|txn| txns.binary_search(&txn).is_ok(), &|_| true)?;
        let steps = anomaly.cycle.iter().zip(&anomaly.sentences);
        let edges: Vec<WitnessEdge> =
            steps.filter_map(|(edge, reason)| edge_of(history, &part, edge, reason)).collect();
        let index = Index::of(&part.history);
        let line = |text: &String| Line { depth: 0, text: visible(text) };
        Some(Self {
            level: AskedLevel::Own(anomaly.class.name().to_owned()),
            also: Vec::new(),
            anomaly: None,
            found: Some((anomaly.class.name(), anomaly.class.meaning())),
            headline: format!("{}, {}", anomaly.class.name(), counted(txns.len(), "transaction")),
            participants: edges::participants(&part.history),
            support: edges::support(&part.history, &index, &edges),
            edges,
            lines: anomaly.sentences.iter().map(line).collect(),
            certificate: None,
            is_minimal: true,
            txns: part.txns,
            history: part.history,
        })
    }
}

/// The edge between the transactions of the part, at the operations that show it.
fn edge_of(history: &History, part: &Part, edge: &Edge, reason: &str) -> Option<WitnessEdge> {
    let place = |txn: u32| part.txns.iter().position(|&known| known == TxnId(txn)).map(TxnId::from_index);
    let (from, to) = (place(edge.from)?, place(edge.to)?);
    let kind = match edge.kind {
        Kind::Ww => EdgeKind::Ww,
        Kind::Wr => EdgeKind::Wr,
        Kind::Rw => EdgeKind::Rw,
        Kind::Process => EdgeKind::So,
        Kind::Realtime | Kind::Through => EdgeKind::Rt,
    };
    let is_about_key = matches!(edge.kind, Kind::Ww | Kind::Wr | Kind::Rw);
    let name = is_about_key.then(|| history.keys().original(edge.key));
    let key = name.and_then(|name| part.history.keys().iter().find(|(_, known)| *known == name));
    let op = |txn, is_read: bool| op_on(&part.history, txn, key?.0, is_read, edge.value, history);
    Some(WitnessEdge {
        from,
        to,
        kind,
        key: name.map(|name| visible(&name.to_string())),
        from_op: op(from, kind == EdgeKind::Rw),
        to_op: op(to, kind == EdgeKind::Wr),
        reason: visible(reason),
    })
}

/// The first read of a key, or the write of a value, or else the last write.
fn op_on(
    part: &History,
    txn: TxnId,
    key: KeyId,
    is_read: bool,
    value: ValueId,
    whole: &History,
) -> Option<OpId> {
    let mut ops = part.ops(txn).filter(|(_, op)| op.key() == Some(key) && op.is_read() == is_read);
    if is_read {
        return ops.next().map(|(id, _)| id);
    }
    let wanted = whole.values().original(value);
    let writes: Vec<(OpId, Op<'_>)> = ops.collect();
    let is_wanted = |op: &Op<'_>| {
        let written = op.value_appended().or(op.written());
        written.is_some_and(|written| part.values().original(written) == wanted)
    };
    writes.iter().find(|(_, op)| is_wanted(op)).or(writes.last()).map(|&(id, _)| id)
}
