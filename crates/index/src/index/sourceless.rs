//! Reads without a source: what anybody wrote in vain, and initial values that were not recorded.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{ExternalRead, Observed};
use crate::{Finding, FindingKind};
use history::{History, KeyId, Op, OpId, Outcome, TxnId, ValueId};

/// What anybody wrote, even in vain; a delete leaves no row, whatever its mark.
pub(super) fn written_values(history: &History) -> FxHashSet<(KeyId, ValueId)> {
    let mut written = FxHashSet::default();
    for (_, op) in history.txns().flat_map(|txn| history.ops(txn)) {
        let (Some(key), Some(value)) = (op.key(), op.written().or(op.value_appended())) else { continue };
        written.insert((key, value));
        if matches!(op, Op::Delete { .. }) {
            written.insert((key, ValueId::NIL));
        }
    }
    written
}

/// For each key whose initial value is unknown, a read that saw it.
#[derive(Default)]
pub(super) struct GuessedInitial {
    pub(super) read_of: Vec<Option<(OpId, ValueId)>>,
}

impl GuessedInitial {
    pub(super) fn read_of(&self, key: KeyId) -> Option<OpId> {
        self.read_of.get(key.index()).copied().flatten().map(|(read, _)| read)
    }

    /// Whether a read may have seen the initial state of its key.
    pub(super) fn may_be(&self, read: &ExternalRead) -> bool {
        match self.read_of.get(read.key.index()).copied().flatten() {
            Some((_, value)) => read.observed.allows_initial(value),
            // No read pins the initial state, so the row may have been absent, even if a later transaction deletes the key.
            None => read.observed.allows_initial(ValueId::NIL),
        }
    }
}

/// The writers, in vain, of the values of reads without a source: one pass over the history, made only if there are any.
pub(super) struct Elsewhere {
    aborted: FxHashMap<(KeyId, ValueId), OpId>,
    /// Writes that were overwritten by their own transaction; two, in case one is by the reader itself.
    overwritten: FxHashMap<(KeyId, ValueId), [Option<OpId>; 2]>,
}

impl Elsewhere {
    pub(super) fn of(history: &History, sourceless: &[ExternalRead]) -> Self {
        let wanted: FxHashSet<(KeyId, ValueId)> =
            sourceless.iter().map(|read| (read.key, read.observed.value())).collect();
        let mut elsewhere = Self { aborted: FxHashMap::default(), overwritten: FxHashMap::default() };
        for txn in history.txns() {
            for (id, op) in history.ops(txn) {
                let (Some(key), Some(value)) = (op.key(), op.written().or(op.value_appended())) else {
                    continue;
                };
                if wanted.contains(&(key, value)) {
                    elsewhere.note(history, txn, id, (key, value));
                }
            }
        }
        elsewhere
    }

    pub(super) fn note(&mut self, history: &History, txn: TxnId, op: OpId, what: (KeyId, ValueId)) {
        if history.outcome(txn) == Outcome::Aborted {
            self.aborted.entry(what).or_insert(op);
            return;
        }
        let known = self.overwritten.entry(what).or_default();
        match known {
            [None, _] => known[0] = Some(op),
            [Some(first), None] if history.txn_of(*first) != txn => known[1] = Some(op),
            _ => {}
        }
    }

    /// Whether a row was returned whose value is only the mark of a delete.
    fn is_live_mark(&self, history: &History, read: &ExternalRead) -> bool {
        let Observed::Live(value) = read.observed else { return false };
        let what = (read.key, value);
        let ops = self.overwritten.get(&what).into_iter().flatten().flatten();
        let mut writes = ops.chain(self.aborted.get(&what)).map(|&op| history.op(op)).peekable();
        writes.peek().is_some() && writes.all(|op| matches!(op, Op::Delete { .. }))
    }

    pub(super) fn explain(
        &self,
        history: &History,
        read: &ExternalRead,
        guessed: &GuessedInitial,
    ) -> Finding {
        let what = (read.key, read.observed.value());
        let overwritten = self.overwritten.get(&what).into_iter().flatten().flatten().copied();
        let (own, others): (Vec<OpId>, Vec<OpId>) =
            overwritten.partition(|&op| history.txn_of(op) == read.txn);
        let (kind, other) = match (self.aborted.get(&what), others.first(), own.first()) {
            _ if matches!(read.observed, Observed::RowEffect(..)) => (FindingKind::UnexplainedRow, None),
            _ if self.is_live_mark(history, read) => (FindingKind::TombstoneServed, None),
            (Some(&op), _, _) => (FindingKind::AbortedRead, Some(op)),
            (_, Some(&op), _) => (FindingKind::IntermediateRead, Some(op)),
            (_, _, Some(&op)) => (FindingKind::FutureRead, Some(op)),
            _ => (FindingKind::ThinAirRead, guessed.read_of(read.key)),
        };
        Finding { kind, txn: read.txn, read: read.op, key: read.key, value: read.observed.value(), other }
    }
}
