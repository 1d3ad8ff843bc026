//! The pass over the operations that finds external reads, final writes, and what contradicts its own transaction.

use super::{ExternalRead, FinalWrite, Index};
use crate::{Finding, FindingKind, History, KeyId, Op, OpId, Outcome, TxnId, ValueId};

/// The pass over the operations.
pub(super) struct Scan<'h> {
    history: &'h History,
    /// For each key: the transaction that touched it last, and what it knows of it.
    touched: Vec<Touch>,
}

#[derive(Clone, Copy)]
pub(super) struct Touch {
    stamp: u32,
    /// The last operation of the transaction on the key.
    op: OpId,
    /// The number of the transaction's final write of the key, or `NO_WRITE`.
    write: u32,
}

const NO_WRITE: u32 = u32::MAX;

impl<'h> Scan<'h> {
    pub(super) fn new(history: &'h History) -> Self {
        let untouched = Touch { stamp: u32::MAX, op: OpId(0), write: NO_WRITE };
        Self { history, touched: vec![untouched; history.keys().len()] }
    }

    pub(super) fn run(mut self, index: &mut Index) {
        index.read_start.push(0);
        index.write_start.push(0);
        for txn in self.history.txns() {
            if self.history.outcome(txn) != Outcome::Aborted {
                for (id, op) in self.history.ops(txn) {
                    self.visit(index, txn, id, op);
                }
            }
            index.read_start.push(index.reads.len() as u32);
            index.write_start.push(index.writes.len() as u32);
        }
    }

    pub(super) fn visit(&mut self, index: &mut Index, txn: TxnId, id: OpId, op: Op<'_>) {
        match op {
            Op::Read { key, value: Some(value) } => self.visit_read(index, txn, id, key, value),
            Op::Read { value: None, .. } | Op::ReadList { list: None, .. } => {}
            Op::Write { key, .. } | Op::Insert { key, .. } | Op::Delete { key, .. } => {
                self.visit_write(index, txn, id, key, op.written().unwrap_or(ValueId::NIL));
            }
            _ => index.unindexed = index.unindexed.or(Some(id)),
        }
    }

    pub(super) fn visit_write(
        &mut self,
        index: &mut Index,
        txn: TxnId,
        op: OpId,
        key: KeyId,
        value: ValueId,
    ) {
        let touch = &mut self.touched[key.index()];
        if touch.stamp == txn.0 && touch.write != NO_WRITE {
            index.writes[touch.write as usize] = FinalWrite { txn, key, value, op };
            touch.op = op;
            return;
        }
        *touch = Touch { stamp: txn.0, op, write: index.writes.len() as u32 };
        index.writes.push(FinalWrite { txn, key, value, op });
    }

    pub(super) fn visit_read(&mut self, index: &mut Index, txn: TxnId, op: OpId, key: KeyId, value: ValueId) {
        let touch = self.touched[key.index()];
        if touch.stamp != txn.0 {
            self.touched[key.index()] = Touch { stamp: txn.0, op, write: NO_WRITE };
            index.reads.push(ExternalRead { txn, key, value, op });
            return;
        }
        if self.history.op(touch.op).value() == Some(value) {
            return;
        }
        let kind = if touch.write == NO_WRITE {
            FindingKind::NonRepeatableRead
        } else {
            self.kind_after_own_write(txn, op, key, value)
        };
        index.findings.push(Finding { kind, txn, read: op, key, value, other: Some(touch.op) });
    }

    pub(super) fn kind_after_own_write(
        &self,
        txn: TxnId,
        read: OpId,
        key: KeyId,
        value: ValueId,
    ) -> FindingKind {
        let wrote = |op: &Op<'_>| op.key() == Some(key) && op.written() == Some(value);
        let (mut before, mut after) = (false, false);
        for (id, op) in self.history.ops(txn).filter(|(_, op)| wrote(op)) {
            before |= id < read;
            after |= id > read;
            debug_assert!(id != read, "a read does not write ({op:?})");
        }
        match (before, after) {
            (true, _) => FindingKind::NotMyLastWrite,
            (false, true) => FindingKind::FutureRead,
            _ => FindingKind::NotMyOwnWrite,
        }
    }
}
