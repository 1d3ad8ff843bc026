//! Serial orders of few transactions, tried one after the other.
//!
//! Where predicates add to rows and outcomes are unknown, cases multiply: three unknown additions of six gave thousands
//! of them for eight transactions. A few serial orders of the committed transactions, then with one of unknown outcome,
//! and so on, are checked first; the first is the order of the recording. It costs at most `TRIES` checks of a
//! certificate, some microseconds each.

use certify::{Certificate, Level, Node};
use history::{History, Outcome, TxnId};

/// The most transactions for which it is tried.
const MOST_TXNS: usize = 12;

/// How many orders are tried.
const TRIES: usize = 64;

/// A serial order that explains the history at a level, if one of the first is right.
pub(super) fn explain(history: &History, level: &Level) -> Option<Certificate> {
    if history.txn_count() > MOST_TXNS {
        return None;
    }
    let with_outcome =
        |outcome| -> Vec<TxnId> { history.txns().filter(|&txn| history.outcome(txn) == outcome).collect() };
    let (committed, unknown) = (with_outcome(Outcome::Committed), with_outcome(Outcome::Unknown));
    let mut subsets: Vec<u32> = (0..1 << unknown.len()).collect();
    subsets.sort_by_key(|subset| subset.count_ones());
    let mut tries = TRIES;
    for subset in subsets {
        let taken = unknown.iter().enumerate().filter(|&(place, _)| subset >> place & 1 == 1);
        let taken: Vec<TxnId> = taken.map(|(_, &txn)| txn).collect();
        let mut order = [&committed[..], &taken[..]].concat();
        order.sort_unstable();
        for (from, to) in moves(order.len()) {
            tries = tries.checked_sub(1)?;
            let mut moved = order.clone();
            let txn = moved.remove(from);
            moved.insert(to, txn);
            let certificate = serial(&moved, taken.clone(), level);
            if certify::check(history, level, &certificate).is_ok() {
                return Some(certificate);
            }
        }
    }
    None
}

/// No move, then every transaction to the end and to the start.
fn moves(count: usize) -> impl Iterator<Item = (usize, usize)> {
    let last = count.saturating_sub(1);
    let others = (0..last).map(move |from| (from, last)).chain((1..count).map(|from| (from, 0)));
    (count > 0).then_some((0, 0)).into_iter().chain(others)
}

fn serial(order: &[TxnId], committed_unknown: Vec<TxnId>, level: &Level) -> Certificate {
    let events = level.events_per_txn();
    let nodes = |&txn: &TxnId| {
        let (begin, commit) = (Node::begin(txn, events), Node::commit(txn, events));
        std::iter::once(begin).chain((begin != commit).then_some(commit))
    };
    Certificate::Holds { order: order.iter().flat_map(nodes).collect(), committed_unknown }
}
