//! The counts that every command reports about a history.

use crate::{History, Op, Outcome};

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
    /// Different keys that those operations touch.
    pub keys: usize,
}

impl Summary {
    /// Counts.
    pub fn of(history: &History) -> Self {
        let mut summary =
            Self { sessions: history.session_count(), transactions: history.txn_count(), ..Self::default() };
        let mut is_touched = vec![false; history.keys().len()];
        for txn in history.txns() {
            match history.outcome(txn) {
                Outcome::Committed => summary.committed += 1,
                Outcome::Aborted => summary.aborted += 1,
                Outcome::Unknown => summary.unknown += 1,
            }
            if history.outcome(txn) == Outcome::Committed {
                for (_, op) in history.ops(txn) {
                    summary.operations += 1;
                    touch(&op, &mut is_touched);
                }
            }
        }
        summary.keys = is_touched.iter().filter(|&&touched| touched).count();
        summary
    }
}

fn touch(op: &Op<'_>, is_touched: &mut [bool]) {
    let rows = match op {
        Op::RangeRead(range) => range.rows.as_deref(),
        Op::PredicateRead(read) => read.rows.as_deref(),
        _ => None,
    };
    let keys = rows.unwrap_or_default().iter().map(|row| row.key);
    for key in keys.chain(op.key()) {
        is_touched[key.index()] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, ValueId};

    #[test]
    fn only_what_happened_in_committed_transactions_is_counted() {
        let mut builder = Builder::new();
        let session = builder.session();
        let [x, y, z] = ["x", "y", "z"].map(|key| builder.keys.intern(key.into()));
        builder.begin(session);
        builder.write(x, ValueId(1));
        builder.write(y, ValueId(1));
        builder.mark_failed();
        builder.end(Outcome::Committed);
        builder.begin(session);
        builder.write(z, ValueId(1));
        builder.end(Outcome::Aborted);
        let summary = Summary::of(&builder.finish());
        assert_eq!((summary.committed, summary.aborted), (1, 1));
        assert_eq!((summary.operations, summary.keys), (1, 1));
    }
}
