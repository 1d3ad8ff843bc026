//! Anomalies as sentences.

use history::{History, KeyId, Op, OpId, TxnId, ValueId};

use crate::facts::Facts;
use crate::graph::{Edge, Kind};
use crate::{Anomaly, Class};

/// How many elements of a list are shown.
const SHOWN: usize = 6;

/// Adds the sentences.
pub(crate) fn explain(history: &History, facts: &Facts<'_>, anomaly: &mut Anomaly) {
    let words = Words { history, facts };
    match anomaly.class {
        Class::Cycle(..) => anomaly.sentences = anomaly.cycle.iter().map(|edge| words.edge(edge)).collect(),
        // The order of versions is not kept, so the sentence was made when it was found.
        Class::CyclicVersions => {}
        class => anomaly.sentences = vec![words.direct(class, &anomaly.ops)],
    }
}

struct Words<'a> {
    history: &'a History,
    facts: &'a Facts<'a>,
}

impl Words<'_> {
    fn txn(&self, txn: u32) -> String {
        self.history.txn_label(TxnId(txn))
    }

    fn label(&self, op: OpId) -> String {
        self.history.txn_label(self.history.txn_of(op))
    }

    fn key(&self, key: KeyId) -> String {
        self.history.keys().original(key).to_string()
    }

    fn value(&self, value: ValueId) -> String {
        self.history.values().original(value).to_string()
    }

    fn edge(&self, edge: &Edge) -> String {
        let (from, to, key) = (self.txn(edge.from), self.txn(edge.to), self.key_of(edge));
        let value = match edge.value {
            ValueId::NIL => self.last_write(edge),
            value => self.value(value),
        };
        let is_list = self.facts.is_list.get(edge.key.index()).is_some_and(|&is_list| is_list);
        match (edge.kind, is_list) {
            (Kind::Ww, true) => {
                format!("{from} before {to}: {to} appended {value} to {key} after what {from} appended")
            }
            (Kind::Ww, false) => {
                format!("{from} before {to}: {to} wrote {key} = {value} over what {from} wrote")
            }
            (Kind::Wr, true) => {
                format!("{from} before {to}: {to} read {key} with {value}, which {from} appended")
            }
            (Kind::Wr, false) => format!("{from} before {to}: {to} read {key} = {value}, which {from} wrote"),
            (Kind::Rw, true) => {
                format!("{from} before {to}: {from} read {key} without {value}, which {to} appended")
            }
            (Kind::Rw, false) => {
                format!("{from} before {to}: {from} read a version of {key} that {to} replaced with {value}")
            }
            (Kind::Process, _) => format!("{from} before {to}: both are in one session"),
            (Kind::Realtime | Kind::Through, _) => {
                format!("{from} before {to}: {from} had ended when {to} began")
            }
        }
    }

    fn key_of(&self, edge: &Edge) -> String {
        match edge.kind {
            Kind::Ww | Kind::Wr | Kind::Rw => self.key(edge.key),
            _ => String::new(),
        }
    }

    /// What the later transaction of an edge that passed other nodes wrote.
    fn last_write(&self, edge: &Edge) -> String {
        let writes = self.facts.writes.finals(edge.key);
        match writes.binary_search_by_key(&TxnId(edge.to), |&(txn, _)| txn) {
            Ok(place) => self.value(writes[place].1),
            Err(_) => "nil".into(),
        }
    }

    /// What an operation was about, such as `x = [1, 2]`.
    fn content(&self, op: OpId) -> String {
        let key = self.history.op(op).key().map(|key| self.key(key)).unwrap_or_default();
        let content = match self.history.op(op) {
            Op::ReadList { list: Some(list), .. } => self.list(list),
            op => op.value().or(op.value_appended()).map_or("nil".into(), |value| self.value(value)),
        };
        format!("{key} = {content}")
    }

    fn list(&self, list: &[ValueId]) -> String {
        let hidden = list.len().saturating_sub(SHOWN);
        let shown = list[hidden..].iter().map(|&value| self.value(value));
        let dots = (hidden > 0).then(|| "...".to_owned());
        format!("[{}]", dots.into_iter().chain(shown).collect::<Vec<_>>().join(", "))
    }

    fn direct(&self, class: Class, ops: &[OpId]) -> String {
        let label = |place: usize| ops.get(place).map(|&op| self.label(op)).unwrap_or_default();
        let content = |place: usize| ops.get(place).map(|&op| self.content(op)).unwrap_or_default();
        let written = |place: usize| {
            let op = ops.get(place).map(|&op| self.history.op(op));
            let value = op.and_then(|op| op.value_appended().or(op.written()));
            value.map(|value| self.value(value)).unwrap_or_default()
        };
        match class {
            Class::Internal => {
                format!("{} read {} although it had {} itself", label(1), content(1), self.did(ops.first()))
            }
            Class::FutureRead => {
                format!("{} read {}, and wrote {} only later", label(1), content(1), written(0))
            }
            Class::G1a => format!(
                "{} read {}, and {} was written by {}, which aborted",
                label(1),
                content(1),
                written(0),
                label(0)
            ),
            Class::G1b => format!(
                "{} read {}, and {} wrote the key again after {}",
                label(1),
                content(1),
                label(0),
                written(0)
            ),
            Class::DirtyUpdate => format!(
                "{} read {}: {}, which {} wrote, comes after {}, which {} wrote and which aborted",
                label(2),
                content(2),
                written(1),
                label(1),
                written(0),
                label(0)
            ),
            Class::DuplicateElements => {
                format!("{} read {}, which has an element twice", label(0), content(0))
            }
            Class::IncompatibleOrder if ops.first().is_some_and(|&op| !self.history.op(op).is_read()) => {
                format!(
                    "{} read {}, in which {} is not where {} appended it",
                    label(1),
                    content(1),
                    written(0),
                    label(0)
                )
            }
            Class::IncompatibleOrder => {
                format!("{} read {}, and {} read {}", label(0), content(0), label(1), content(1))
            }
            Class::LostUpdate => {
                format!("{} and {} both read {}, and both wrote the key", label(0), label(1), content(0))
            }
            Class::CyclicVersions | Class::Cycle(..) => String::new(),
        }
    }

    fn did(&self, op: Option<&OpId>) -> String {
        let Some(&op) = op else { return String::new() };
        let verb = if self.history.op(op).is_read() { "read" } else { "written" };
        format!("{verb} {}", self.content(op))
    }
}
