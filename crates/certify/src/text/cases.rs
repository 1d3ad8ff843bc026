//! Whatever is chosen for a few transactions contradicts itself: a tree of cases.
//!
//! A case decides whether an unknown transaction committed, where a read with several sources came from, or which of two
//! transactions comes first. Each leaf is a contradiction of what is certain in it (`saturate.rs`). The cases of a choice
//! exclude no possibility, so a tree whose leaves all contradict themselves is a proof. Where lists show orders of
//! writers this takes the place of the definition, whose histories know no lists. Exponential in the choices, so the
//! cases are counted.

use history::{OpId, TxnId};

use super::facts::{Facts, INITIAL};
use super::matrix::{self, Rows};
use super::plan::Plan;
use super::saturate::{self, Forced};

/// More cases than this are not tried.
const MOST_CASES: usize = 20_000;

/// What is assumed in a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assumed {
    /// The transaction committed.
    Committed(TxnId),
    /// The transaction did not commit.
    Aborted(TxnId),
    /// The read of the key came from the transaction, or from the initial state.
    Source(OpId, u32, Option<TxnId>),
    /// The first transaction comes before the second.
    Before(TxnId, TxnId),
}

/// Why there is no way to choose.
#[derive(Clone, Debug)]
pub enum Refutation {
    /// What is certain contradicts itself: the facts, and the cycle.
    Cycle(Box<Facts>, Vec<Forced>),
    /// One of these is true, and each is refuted; a transaction that cannot have aborted needs no more.
    Cases(Vec<(Assumed, Option<Refutation>)>),
}

/// Refutes every choice for the transactions of these facts; nothing if one is possible, or there are too many.
pub fn refute(facts: &Facts, plan: &Plan) -> Option<Refutation> {
    let mut left = MOST_CASES;
    refute_within(facts, plan, &mut left)
}

fn refute_within(facts: &Facts, plan: &Plan, left: &mut usize) -> Option<Refutation> {
    *left = left.checked_sub(1)?;
    if let Some(cycle) = saturate::contradiction(facts, plan) {
        return Some(Refutation::Cycle(Box::new(facts.clone()), cycle));
    }
    let mut cases = Vec::new();
    for (assumed, facts) in split(facts, plan)? {
        let refuted = match facts {
            Some(facts) => Some(refute_within(&facts, plan, left)?),
            None => None,
        };
        cases.push((assumed, refuted));
    }
    Some(Refutation::Cases(cases))
}

/// The cases of the next choice, each with its facts, or without if it contradicts itself at once. Nothing is left to
/// choose if there is none.
fn split(facts: &Facts, plan: &Plan) -> Option<Vec<(Assumed, Option<Facts>)>> {
    let certain = saturate::certainty(facts);
    if let Some(node) = (1..facts.node_count() as u32).find(|&node| certain[node as usize].is_none()) {
        let txn = facts.txn(node);
        return Some(vec![
            (Assumed::Committed(txn), Some(facts.with_committed(node))),
            (Assumed::Aborted(txn), facts.without(node)),
        ]);
    }
    if let Some(read) = (0..facts.reads().len()).find(|&read| facts.only_source(read).is_none()) {
        let (op, key) = (facts.reads()[read].op, facts.reads()[read].key);
        let case = |&node: &u32| {
            let txn = (node != INITIAL).then(|| facts.txn(node));
            (Assumed::Source(op, key, txn), Some(facts.with_source(read, node)))
        };
        return Some(facts.candidates(read).iter().map(case).collect());
    }
    let (first, second) = open_pair(facts, plan)?;
    let case = |from: u32, to: u32| {
        (Assumed::Before(facts.txn(from), facts.txn(to)), Some(facts.with_order(from, to)))
    };
    Some(vec![case(first, second), case(second, first)])
}

/// Two transactions that are not ordered yet: of writers of one key, if there are any.
fn open_pair(facts: &Facts, plan: &Plan) -> Option<(u32, u32)> {
    let count = facts.node_count();
    let mut known = Rows::empty(count);
    saturate::known(facts, plan).iter().for_each(|pair| known.add(pair.from as usize, pair.to as usize));
    let known = matrix::closure(known, &|| false).ok()?;
    let is_open = |&(first, second): &(u32, u32)| {
        !known.has(first as usize, second as usize) && !known.has(second as usize, first as usize)
    };
    let pairs = |nodes: &[u32]| {
        let nodes = nodes.to_vec();
        (0..nodes.len()).flat_map(move |place| {
            let nodes = nodes.clone();
            (place + 1..nodes.len()).map(move |other| (nodes[place], nodes[other]))
        })
    };
    let of_key = (0..facts.key_count() as u32).flat_map(|key| pairs(facts.writers(key)));
    let all: Vec<u32> = (1..count as u32).collect();
    of_key.chain(pairs(&all)).find(is_open)
}
