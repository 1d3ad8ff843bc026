//! Which chains the closure is kept for.
//!
//! A session is a chain, and so is a transaction that is not linked to its session. If there are more chains than the closure can be kept for, the
//! longest stay: what is on no chain is decided by the search, which needs no closure. The lines of time are always kept.
//!
//! The closure takes half the room if no chain is longer than `SHORT_CHAIN`. Chains that are longer are cut into pieces
//! where that does not double their number: a piece is a chain too.
//!
//! The bound keeps a history of a thousand short sessions from asking for more than the options allow.

use order::{Chains, Reach, SHORT_CHAIN};

use crate::problem::{Problem, Status};
use crate::time::Timeline;

/// The most chains that pay: the work for a read grows with their number.
pub(crate) const CHAIN_LIMIT: usize = 256;

pub(crate) fn cover(problem: &Problem<'_>, timeline: &Timeline, closure_bytes: usize) -> Chains {
    let node_count = timeline.node_count as usize;
    let mut sessions = session_chains(problem);
    sessions.sort_by_key(|chain| std::cmp::Reverse(chain.len()));
    let lines: Vec<Vec<u32>> = timeline.chains.iter().map(|line| line.clone().collect()).collect();
    let longest = longest_piece(sessions.iter().chain(&lines).map(Vec::len));
    let pieces = |chains: &[Vec<u32>]| -> Vec<Vec<u32>> {
        chains.iter().flat_map(|chain| chain.chunks(longest)).map(<[u32]>::to_vec).collect()
    };
    let (mut sessions, lines) = (pieces(&sessions), pieces(&lines));
    sessions.truncate(chain_limit(node_count, longest as u32, closure_bytes).saturating_sub(lines.len()));
    let mut chains = Chains::new(node_count);
    sessions.into_iter().chain(lines).for_each(|chain| chains.add(chain));
    chains
}

/// How long the pieces are that chains are cut into: as long as the longest, if cutting does not pay.
fn longest_piece(lengths: impl Iterator<Item = usize> + Clone) -> usize {
    let pieces: usize = lengths.clone().map(|length| length.div_ceil(SHORT_CHAIN as usize)).sum();
    match pieces < 2 * lengths.clone().count() {
        true => SHORT_CHAIN as usize,
        false => lengths.max().unwrap_or(0).max(1),
    }
}

fn chain_limit(node_count: usize, longest: u32, closure_bytes: usize) -> usize {
    let mut limit = CHAIN_LIMIT;
    while limit > 1 && Reach::bytes(node_count, limit, longest) > closure_bytes {
        limit -= 1;
    }
    limit
}

fn nodes_of(problem: &Problem<'_>, txn: history::TxnId) -> std::ops::RangeInclusive<u32> {
    problem.shape.begin(txn)..=problem.shape.commit(txn)
}

/// The sessions, and each transaction that is not linked to its own.
fn session_chains(problem: &Problem<'_>) -> Vec<Vec<u32>> {
    let distance = problem.links().distance;
    let mut chains: Vec<Vec<u32>> = Vec::new();
    for session in problem.history.sessions() {
        let mut in_order = vec![Vec::new(); distance];
        let mut place = 0;
        for txn in problem.history.session_txns(session) {
            if problem.status[txn.index()] == Status::Out || !problem.hands_on(txn) {
                continue;
            }
            match problem.is_linked(txn) {
                true => {
                    in_order[place % distance].extend(nodes_of(problem, txn));
                    place += 1;
                }
                false => chains.push(nodes_of(problem, txn).collect()),
            }
        }
        chains.extend(in_order);
    }
    chains.retain(|chain| !chain.is_empty());
    chains
}
