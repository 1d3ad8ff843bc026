//! When an event happened, and which order that obliges to.
//!
//! A begin lies between its request and the first thing that its client learned or did afterwards; a commit between the
//! last thing that its client did before and the response. The outcome of an unknown transaction was never heard, so
//! nothing ends its commit, whatever the recorder wrote down as the time at which the client gave up.
//! Where clocks ran backwards inside a transaction, a response is taken no earlier than what it answers, so that "before"
//! is always an order.

use history::{History, Outcome, TxnId, TxnTimes};

use crate::{Core, Flaw, Level, Node, Place, RealTime};

/// The earliest and the latest moment of an event, where known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Interval {
    pub request: Option<i64>,
    pub response: Option<i64>,
}

/// The interval of an event, for a level with this many events per transaction.
pub(crate) fn interval(history: &History, txn: TxnId, node: Node, events_per_txn: u32) -> Interval {
    let mut times = history.times(txn);
    if history.outcome(txn) != Outcome::Committed {
        times.commit_response = None;
    }
    match (events_per_txn, node.is_commit(events_per_txn)) {
        (1, _) => whole(&times),
        (_, false) => begin(&times),
        (_, true) => commit(&times),
    }
}

fn whole(times: &TxnTimes) -> Interval {
    Interval { request: times.begin_request, response: commit(times).response }
}

fn begin(times: &TxnTimes) -> Interval {
    let answered = times.begin_response.or(times.commit_request).or(times.commit_response);
    Interval {
        request: times.begin_request,
        response: answered.map(|response| at_least(response, times.begin_request)),
    }
}

fn commit(times: &TxnTimes) -> Interval {
    let request = times.commit_request.or(times.begin_response).or(times.begin_request);
    let response =
        times.commit_response.map(|response| at_least(at_least(response, request), times.begin_request));
    Interval { request, response }
}

fn at_least(time: i64, floor: Option<i64>) -> i64 {
    floor.map_or(time, |floor| time.max(floor))
}

/// Whether a response is before a request by more than the skew.
pub(crate) fn is_before(response: i64, clock_skew: i64, request: i64) -> bool {
    i128::from(response) + i128::from(clock_skew) < i128::from(request)
}

/// Whether real time speaks about an event of the first kind and a later one of the second.
pub(crate) fn obliges(real_time: RealTime, from_commit: bool, to_commit: bool) -> bool {
    match real_time {
        RealTime::Ignored => false,
        RealTime::Strict => true,
        RealTime::ToCommits => to_commit,
        RealTime::AllButBegins => from_commit || to_commit,
    }
}

/// Refuses levels whose parts do not fit together.
pub(crate) fn refuse_senseless(level: &Level) -> Result<(), Flaw> {
    let fits = match level.real_time {
        RealTime::Ignored => true,
        RealTime::Strict => level.core == Core::Serializable,
        RealTime::ToCommits | RealTime::AllButBegins => level.core != Core::Serializable,
    };
    if !fits {
        let why = format!("real time {:?} has no meaning for the core {:?}", level.real_time, level.core);
        return Err(Flaw::new(Place::Level, why));
    }
    if level.clock_skew < 0 {
        let why = format!("the clock skew {} is negative", level.clock_skew);
        return Err(Flaw::new(Place::Level, why));
    }
    Ok(())
}
