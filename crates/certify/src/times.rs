//! When an event happened, and which order that obliges to.
//!
//! A begin lies between its request and the first thing that its client learned or did afterwards; a commit between the
//! last thing that its client did before and the response. The outcome of an unknown transaction was never heard, so
//! nothing ends its commit, whatever the recorder wrote down as the time at which the client gave up.
//! The times of a session never run backwards (`history::Builder` refuses them), so that "before" is always an order.

use history::{Clock, History, Outcome, TxnId, TxnTimes};

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
    Interval { request: times.begin_request, response: times.commit_response }
}

fn begin(times: &TxnTimes) -> Interval {
    let response = times.begin_response.or(times.commit_request).or(times.commit_response);
    Interval { request: times.begin_request, response }
}

fn commit(times: &TxnTimes) -> Interval {
    let request = times.commit_request.or(times.begin_response).or(times.begin_request);
    Interval { request, response: times.commit_response }
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
    if !(0..=Level::LARGEST_CLOCK_SKEW).contains(&level.clock_skew) {
        let (skew, largest) = (level.clock_skew, Level::LARGEST_CLOCK_SKEW);
        let why = format!("the clock skew is {skew}, and must be from 0 to {largest}");
        return Err(Flaw::new(Place::Level, why));
    }
    Ok(())
}

/// Refuses real time where the history has no clock, and a skew where it has one clock for all.
pub(crate) fn refuse_without_clock(history: &History, level: &Level) -> Result<(), Flaw> {
    if level.needs_times() && !history.has_times() {
        return Err(Flaw::new(Place::Level, "it respects real time, and the history has no times"));
    }
    if level.clock_skew != 0 && history.clock() == Clock::Position {
        let why = format!(
            "the clock skew is {}, and the times of the history are places in one recording, which have no skew",
            level.clock_skew
        );
        return Err(Flaw::new(Place::Level, why));
    }
    Ok(())
}
