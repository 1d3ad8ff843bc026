//! Which chains the closure is kept for.
//!
//! A session is a chain, or several where it was cut. If there are more chains than the closure can be kept for, the
//! longest stay: what is on no chain is decided by the search, which needs no closure. The lines of time are always kept.
//!
//! The bound keeps a history of a thousand short sessions from asking for more than `CLOSURE_BYTES`.

use order::{Chains, Reach};

use crate::problem::{Problem, Status};
use crate::time::Timeline;

/// The largest closure that is built.
const CLOSURE_BYTES: usize = 1 << 30;

/// The most chains that pay: the work for a read grows with their number.
const CHAIN_LIMIT: usize = 256;

pub(crate) fn cover(problem: &Problem<'_>, timeline: &Timeline) -> Chains {
    let node_count = timeline.node_count as usize;
    let mut lists = session_chains(problem);
    lists.sort_by_key(|chain| std::cmp::Reverse(chain.len()));
    lists.truncate(chain_limit(node_count).saturating_sub(timeline.chains.len()));
    let mut chains = Chains::new(node_count);
    lists.into_iter().for_each(|chain| chains.add(chain));
    timeline.chains.iter().for_each(|chain| chains.add(chain.clone()));
    chains
}

fn chain_limit(node_count: usize) -> usize {
    let mut limit = CHAIN_LIMIT;
    while limit > 1 && Reach::bytes(node_count, limit) > CLOSURE_BYTES {
        limit -= 1;
    }
    limit
}

fn nodes_of(problem: &Problem<'_>, txn: history::TxnId) -> std::ops::RangeInclusive<u32> {
    problem.shape.begin(txn)..=problem.shape.commit(txn)
}

/// The stretches of sessions between cuts.
fn session_chains(problem: &Problem<'_>) -> Vec<Vec<u32>> {
    let mut chains: Vec<Vec<u32>> = Vec::new();
    for session in problem.history.sessions() {
        chains.push(Vec::new());
        for txn in problem.history.session_txns(session) {
            if !problem.is_linked(txn) {
                chains.push(Vec::new());
            }
            if problem.status[txn.index()] != Status::Out
                && problem.hands_on(txn)
                && let Some(chain) = chains.last_mut()
            {
                chain.extend(nodes_of(problem, txn));
            }
        }
    }
    chains.retain(|chain| !chain.is_empty());
    chains
}
