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
    /// Different keys that those operations touch; a predicate is asked of every key there is.
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
        Op::PredicateRead(_) | Op::PredicateWrite(_) => return is_touched.fill(true),
        Op::RangeRead(range) => range.rows.as_deref(),
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
    use crate::{Builder, Datum, PredicateRead, ValueId};

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

    #[test]
    fn a_predicate_is_asked_of_keys_that_nothing_else_touches() {
        let mut builder = Builder::new();
        let session = builder.session();
        let key = builder.keys.intern("x".into());
        builder.initial.recorded.push((key, ValueId(1)));
        builder.begin(session);
        builder.predicate_read(PredicateRead { predicate: Datum::Bool(true).into(), rows: Some(Vec::new()) });
        builder.end(Outcome::Committed);
        assert_eq!(Summary::of(&builder.finish()).keys, 1);
    }
}
