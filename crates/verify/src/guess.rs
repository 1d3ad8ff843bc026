//! A first total order: topological, and otherwise by the hints that the recording leaves.
//!
//! With times, an event is taken to have happened in the middle of its interval. Without, transactions are taken to have
//! happened in the order of the recording, if it mixes sessions; and else sessions are taken to have progressed evenly: a
//! transaction's hint is how far through its session it is. On BL-10k this leaves 444 of
//! 2,023 open choices wrong, on BlindW-RW with 16,000 transactions 62 of 330.

use history::TxnId;

use crate::known::KnownGraph;
use crate::problem::Problem;

/// The guessed order of all nodes, those of time included.
pub(crate) fn guess(problem: &Problem<'_>, known: &KnownGraph, use_hints: bool) -> Vec<u32> {
    if !use_hints {
        return order::topological_order(&known.graph).unwrap_or_default();
    }
    by_hints(known, &hints(problem))
}

/// The order of all nodes that follows hints where the known graph leaves a choice.
pub(crate) fn by_hints(known: &KnownGraph, hints: &[u64]) -> Vec<u32> {
    // Moments of the time line come as soon as they can: they hold up what comes after them.
    let hint = |node: u32| hints.get(node as usize).copied().unwrap_or(0);
    order::topological_order_by(&known.graph, hint).unwrap_or_default()
}

/// For each event of a transaction when it seems to have happened.
pub(crate) fn hints(problem: &Problem<'_>) -> Vec<u64> {
    let txn_nodes = problem.history.txn_count() as u32 * problem.shape.events;
    match problem.history.has_times() {
        true => (0..txn_nodes).map(|node| time_hint(problem, node)).collect(),
        false => (0..txn_nodes).map(|node| untimed_hint(problem, node)).collect(),
    }
}

/// Whether the recording suggests an order of all transactions.
pub(crate) fn is_recorded(problem: &Problem<'_>) -> bool {
    problem.history.has_times() || problem.history.recorded_place(TxnId(0)).is_some()
}

/// For each event of a transaction when it was asked for, in a history with times; else its place in the recording.
pub(crate) fn request_hints(problem: &Problem<'_>) -> Vec<u64> {
    if !problem.history.has_times() {
        return hints(problem);
    }
    let txn_nodes = problem.history.txn_count() as u32 * problem.shape.events;
    let hint = |node: u32| {
        let (shape, txn) = (problem.shape, problem.shape.txn(node));
        let times = problem.history.times(txn);
        let own = if node == shape.commit(txn) { times.commit_request } else { times.begin_request };
        unsigned(own.or_else(|| neighbour_time(problem, txn)))
    };
    (0..txn_nodes).map(hint).collect()
}

/// Order-preserving from signed to unsigned; unknown times come last.
fn unsigned(time: Option<i64>) -> u64 {
    time.map_or(u64::MAX, |time| (time as u64) ^ (1 << 63))
}

fn untimed_hint(problem: &Problem<'_>, node: u32) -> u64 {
    let shape = problem.shape;
    let txn = shape.txn(node);
    if let Some(place) = problem.history.recorded_place(txn) {
        return u64::from(place) * 2 + u64::from(node != shape.begin(txn));
    }
    let session = problem.history.session_of(txn);
    let length = problem.history.session_txns(session).len() as u64;
    let place = problem.history.place_in_session(txn) as u64 * 2 + u64::from(node != shape.begin(txn));
    (place << 32) / (2 * length)
}

fn time_hint(problem: &Problem<'_>, node: u32) -> u64 {
    let shape = problem.shape;
    let txn = shape.txn(node);
    let times = problem.history.times(txn);
    let time = if node == shape.commit(txn) {
        middle(times.commit_request.or(times.begin_request), times.commit_response)
    } else {
        middle(times.begin_request, times.begin_response)
    };
    unsigned(time.or_else(|| neighbour_time(problem, txn)))
}

fn middle(from: Option<i64>, to: Option<i64>) -> Option<i64> {
    match (from, to) {
        (Some(from), Some(to)) => Some(from / 2 + to / 2),
        (from, to) => from.or(to),
    }
}

fn neighbour_time(problem: &Problem<'_>, txn: TxnId) -> Option<i64> {
    problem.history.times(txn).begin_request
}
