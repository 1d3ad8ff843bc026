//! What real time obliges to, by the definition: one event ended before the other could have started.

use certify::{Core, Level, RealTime};
use history::{History, Outcome, TxnId};

/// Whether an event (a transaction, and whether it is its commit) must precede another one by the clock.
///
/// For the serializable core only the pair (commit, begin) is asked for: the end of one and the start of another.
pub(crate) fn obliges(history: &History, level: &Level, from: (TxnId, bool), to: (TxnId, bool)) -> bool {
    let is_obliged = match (level.core, level.real_time) {
        (_, RealTime::Ignored) => false,
        (Core::Serializable, RealTime::Strict) => from.1 && !to.1,
        (_, RealTime::ToCommits) => to.1,
        (_, RealTime::AllButBegins) => from.1 || to.1,
        (core, real_time) => panic!("{real_time:?} has no meaning for {core:?}"),
    };
    let is_one_clock = history.session_of(from.0) == history.session_of(to.0);
    let clock_skew = if is_one_clock { 0 } else { level.clock_skew };
    match (latest(history, from), earliest(history, to)) {
        (Some(end), Some(start)) => is_obliged && end.saturating_add(clock_skew) < start,
        _ => false,
    }
}

/// The latest moment of an event. Nothing tells when a transaction of unknown outcome committed.
fn latest(history: &History, (txn, is_commit): (TxnId, bool)) -> Option<i64> {
    let times = history.times(txn);
    let heard = times.commit_response.filter(|_| history.outcome(txn) == Outcome::Committed);
    match is_commit {
        true => heard,
        false => times.begin_response.or(times.commit_request).or(heard),
    }
}

/// The earliest moment of an event.
fn earliest(history: &History, (txn, is_commit): (TxnId, bool)) -> Option<i64> {
    let times = history.times(txn);
    match is_commit {
        true => times.commit_request.or(times.begin_response).or(times.begin_request),
        false => times.begin_request,
    }
}
