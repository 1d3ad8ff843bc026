//! What a transaction's operations say about other transactions, and whether they contradict each other.
//!
//! One pass over the operations with a stamp per key, written apart from the index that the engines use.

use history::{History, KeyId, Op, OpId, Outcome, TxnId, ValueId};

use crate::{Flaw, Place};

/// What a read says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    /// The first that the transaction knows of a key comes from outside.
    External { op: OpId, key: KeyId, value: ValueId },
    /// The transaction wrote or read the key before, and what it sees now is something else.
    Contradiction { op: OpId, expected: ValueId },
}

/// What the transaction at hand knows of each key.
pub(crate) struct Observer {
    known: Vec<(u64, ValueId)>,
    stamp: u64,
}

impl Observer {
    pub fn new(history: &History) -> Self {
        Self { known: vec![(0, ValueId::NIL); history.keys().len()], stamp: 0 }
    }

    /// Visits the external and the contradictory reads of a transaction in program order, until one is refused.
    pub fn visit(
        &mut self,
        history: &History,
        txn: TxnId,
        mut visitor: impl FnMut(Seen) -> Result<(), Flaw>,
    ) -> Result<(), Flaw> {
        self.stamp += 1;
        for (id, op) in history.ops(txn) {
            if let Op::Read { key, value: Some(value) } = op {
                if let Some(seen) = self.read(id, key, value) {
                    visitor(seen)?;
                }
            } else if let (Some(key), Some(value)) = (op.key(), op.written()) {
                self.known[key.index()] = (self.stamp, value);
            }
        }
        Ok(())
    }

    fn read(&mut self, op: OpId, key: KeyId, value: ValueId) -> Option<Seen> {
        let (stamp, expected) = self.known[key.index()];
        if stamp != self.stamp {
            self.known[key.index()] = (self.stamp, value);
            return Some(Seen::External { op, key, value });
        }
        (value != expected).then_some(Seen::Contradiction { op, expected })
    }
}

/// The writes of a transaction in program order: the last of each key is its final one.
pub(crate) fn writes(history: &History, txn: TxnId) -> impl Iterator<Item = (KeyId, ValueId)> {
    history.ops(txn).filter_map(|(_, op)| Some((op.key()?, op.written()?)))
}

/// Certificates speak of reads and writes of single keys only; other operations of transactions that may have taken
/// effect are refused.
pub(crate) fn refuse_unsupported(history: &History) -> Result<(), Flaw> {
    let live = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted);
    for (id, op) in live.flat_map(|txn| history.ops(txn)) {
        let what = match op {
            Op::Read { .. } | Op::ReadList { list: None, .. } => continue,
            Op::Write { .. } | Op::Insert { .. } | Op::Delete { .. } => continue,
            Op::ReadList { .. } | Op::Append { .. } => "lists",
            Op::RangeRead(_) => "range reads",
            Op::PredicateRead(_) | Op::PredicateWrite(_) => "predicates",
        };
        let why = format!("certificates for {what} are not supported yet");
        return Err(Flaw::new(Place::Op(id), why));
    }
    Ok(())
}

/// Every value that anybody wrote to a key, committed or not, final or not.
pub(crate) struct EverWritten(Vec<(KeyId, ValueId)>);

impl EverWritten {
    pub fn of(history: &History) -> Self {
        let mut all: Vec<_> = history.txns().flat_map(|txn| writes(history, txn)).collect();
        all.sort_unstable();
        all.dedup();
        Self(all)
    }

    pub fn contains(&self, key: KeyId, value: ValueId) -> bool {
        self.0.binary_search(&(key, value)).is_ok()
    }
}
