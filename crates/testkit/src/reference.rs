//! The reference semantics of the spec crate, asked about a history of the model.

use history::{History, Op, Outcome, TxnId};
use spec::{SmallHistory, SmallTimes, SmallTxn};

/// Whether a level of the standard library holds; `None` if there is no such level.
///
/// What no level of the library can express (a transaction that contradicts its own writes, initial values that are not
/// recorded) must not be in the history.
pub fn holds(history: &History, level: &str, clock_skew: i64) -> Option<bool> {
    let level = spec::library::level(level)?;
    Some(spec::oracle::holds(&small(history, clock_skew), level))
}

/// The history as the reference semantics wants it.
fn small(history: &History, clock_skew: i64) -> SmallHistory {
    let initial = history
        .keys()
        .iter()
        .map(|(key, _)| history.initial().value_of(key).map_or(0, |value| value.0));
    SmallHistory {
        initial: initial.collect(),
        clock_skew,
        txns: history.txns().map(|txn| small_txn(history, txn)).collect(),
    }
}

fn small_txn(history: &History, txn: TxnId) -> SmallTxn {
    let mut small = SmallTxn {
        session: history.session_of(txn).index(),
        outcome: history.outcome(txn),
        times: small_times(history, txn),
        ..SmallTxn::committed(0, &[], &[])
    };
    for (_, op) in history.ops(txn) {
        match op {
            Op::Read {
                key,
                value: Some(value),
            } => {
                let is_own = small.writes.iter().any(|&(written, _)| written == key.index());
                if !is_own {
                    small.reads.push((key.index(), value.0));
                }
            }
            op => {
                if let (Some(key), Some(value)) = (op.key(), op.written()) {
                    small.writes.retain(|&(written, _)| written != key.index());
                    small.writes.push((key.index(), value.0));
                }
            }
        }
    }
    small
}

fn small_times(history: &History, txn: TxnId) -> SmallTimes {
    let times = history.times(txn);
    let is_heard = history.outcome(txn) == Outcome::Committed;
    SmallTimes {
        begin_request: times.begin_request,
        begin_response: times.begin_response,
        commit_request: times.commit_request,
        commit_response: times.commit_response.filter(|_| is_heard),
    }
}
