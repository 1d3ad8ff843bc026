//! Levels that demand only that all reads of a key by one transaction come from the same transaction.
//!
//! The order plays no part, so there is nothing to search: a transaction is possible if the reads of each key have a
//! possible source in common. Unknown transactions that are not possible did not commit, which may make others
//! impossible; what is left explains the history if it contains all that committed.

use certify::text::facts::{Facts, INITIAL};
use certify::text::judge::Witness;
use certify::text::plan::Plan;

use crate::{TextDecision, core_of};

pub(crate) fn decide(facts: &Facts, plan: &Plan) -> TextDecision<'static> {
    let count = facts.node_count() as u32;
    let mut is_possible = vec![true; count as usize];
    let mut is_changed = true;
    while is_changed {
        is_changed = false;
        for node in 1..count {
            if !is_possible[node as usize] || sources(facts, node, &is_possible).is_ok() {
                continue;
            }
            if !facts.is_unknown(node) {
                return violated(facts, plan, node, &is_possible);
            }
            is_possible[node as usize] = false;
            is_changed = true;
        }
    }
    let mut source = vec![INITIAL; facts.reads().len()];
    for node in (1..count).filter(|&node| is_possible[node as usize]) {
        for (read, from) in sources(facts, node, &is_possible).unwrap_or_default() {
            source[read] = from;
        }
    }
    let order = (1..count).filter(|&node| is_possible[node as usize]);
    TextDecision::Holds(Witness::new(facts, order, source))
}

/// A source for each read of a node, the same for all reads of a key; or the reads that have none in common.
fn sources(facts: &Facts, node: u32, is_possible: &[bool]) -> Result<Vec<(usize, u32)>, Vec<usize>> {
    let mut reads: Vec<usize> = facts.reads_of(node).collect();
    if facts.listed_by(node).iter().any(|&(_, appender)| !is_possible[appender as usize]) {
        return Err(reads);
    }
    reads.sort_by_key(|&read| facts.reads()[read].key);
    let mut found = Vec::with_capacity(reads.len());
    for same_key in reads.chunk_by(|&a, &b| facts.reads()[a].key == facts.reads()[b].key) {
        let is_common = |candidate: &&u32| {
            is_possible[**candidate as usize]
                && same_key[1..].iter().all(|&other| facts.candidates(other).contains(candidate))
        };
        match facts.candidates(same_key[0]).iter().find(is_common) {
            Some(&from) => found.extend(same_key.iter().map(|&read| (read, from))),
            None => return Err(same_key.to_vec()),
        }
    }
    Ok(found)
}

/// The node with everything that its reads may have come from, and what these need in turn.
fn violated(facts: &Facts, plan: &Plan, node: u32, is_possible: &[bool]) -> TextDecision<'static> {
    let mut nodes = vec![node];
    let mut place = 0;
    while place < nodes.len() {
        let reads = sources(facts, nodes[place], is_possible).err().unwrap_or_default();
        let candidates = reads.iter().flat_map(|&read| facts.candidates(read)).copied();
        let new: Vec<u32> = candidates.filter(|other| *other != INITIAL && !nodes.contains(other)).collect();
        nodes.extend(new);
        place += 1;
    }
    core_of::smallest(facts, plan, nodes)
}
