//! The counts that every command reports about a history.

use crate::{History, Outcome};

/// How much there is of everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Sessions.
    pub sessions: usize,
    /// Transactions, whatever became of them.
    pub transactions: usize,
    /// Committed transactions.
    pub committed: usize,
    /// Aborted transactions.
    pub aborted: usize,
    /// Transactions of unknown outcome.
    pub unknown: usize,
    /// Operations of committed transactions that did not fail.
    pub operations: usize,
    /// Different keys in the whole history.
    pub keys: usize,
}

impl Summary {
    /// Counts.
    pub fn of(history: &History) -> Self {
        let mut summary = Self {
            sessions: history.session_count(),
            transactions: history.txn_count(),
            keys: history.keys().len(),
            ..Self::default()
        };
        for txn in history.txns() {
            match history.outcome(txn) {
                Outcome::Committed => {
                    summary.committed += 1;
                    summary.operations += history.ops(txn).count();
                }
                Outcome::Aborted => summary.aborted += 1,
                Outcome::Unknown => summary.unknown += 1,
            }
        }
        summary
    }
}
