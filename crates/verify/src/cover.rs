//! Which chains the closure is kept for.
//!
//! With session order a session is a chain. Without it, reads-from edges are followed greedily. If there are more
//! chains than the closure can be kept for, the longest stay: what is on no chain is decided by the search, which needs
//! no closure. The lines of time are always kept.
//!
//! Measured on BlindW-RW with 16,000 transactions: 24 chains, 3 MB. The bound keeps a history of a thousand short
//! sessions from asking for more than `CLOSURE_BYTES`.

use order::{Chains, Reach};

use crate::known::{KnownGraph, Reason};
use crate::problem::{Problem, Status};
use crate::time::Timeline;

/// The largest closure that is built.
const CLOSURE_BYTES: usize = 1 << 30;

/// The most chains that pay: the work for a read grows with their number.
const CHAIN_LIMIT: usize = 256;

pub(crate) fn cover(problem: &Problem<'_>, known: &KnownGraph, timeline: &Timeline) -> Chains {
    let node_count = timeline.node_count as usize;
    let mut lists =
        if problem.level.sessions { session_chains(problem) } else { greedy_chains(problem, known) };
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

fn session_chains(problem: &Problem<'_>) -> Vec<Vec<u32>> {
    let chain = |session| {
        let txns = problem.history.session_txns(session);
        let took_part = txns.filter(|txn| problem.status[txn.index()] != Status::Out);
        took_part
            .filter(|&txn| problem.hands_on(txn))
            .flat_map(|txn| nodes_of(problem, txn))
            .collect::<Vec<u32>>()
    };
    problem.history.sessions().map(chain).filter(|chain| !chain.is_empty()).collect()
}

/// Follows reads-from edges from writer to reader, each transaction on one chain.
fn greedy_chains(problem: &Problem<'_>, known: &KnownGraph) -> Vec<Vec<u32>> {
    let shape = problem.shape;
    let mut chain_of_tail = vec![usize::MAX; problem.history.txn_count()];
    let mut chains: Vec<Vec<u32>> = Vec::new();
    let Some(order) = order::topological_order(&known.graph) else {
        return chains;
    };
    let txn_nodes = problem.history.txn_count() as u32 * shape.events;
    for node in order.into_iter().filter(|&node| node < txn_nodes && node == shape.begin(shape.txn(node))) {
        let txn = shape.txn(node);
        if problem.status[txn.index()] == Status::Out || !problem.hands_on(txn) {
            continue;
        }
        let before = known.graph.in_edges(node).find_map(|(edge, from)| {
            let is_read = matches!(known.reason(edge), Reason::ReadFrom(_));
            (is_read && chain_of_tail[shape.txn(from).index()] != usize::MAX).then(|| shape.txn(from))
        });
        let chain = match before {
            Some(tail) => std::mem::replace(&mut chain_of_tail[tail.index()], usize::MAX),
            None => {
                chains.push(Vec::new());
                chains.len() - 1
            }
        };
        chains[chain].extend(nodes_of(problem, txn));
        chain_of_tail[txn.index()] = chain;
    }
    chains
}
