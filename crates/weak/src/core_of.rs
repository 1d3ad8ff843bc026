//! The few transactions that a violation needs.
//!
//! The nodes of a cycle with what its pairs rest on contradict themselves; each of them is left out in turn, and stays
//! out if the rest still does. A way through a matrix is found by taking its operators apart again.

use certify::text::facts::Facts;
use certify::text::judge::Witness;
use certify::text::matrix::{self, Rows};
use certify::text::plan::Plan;
use certify::text::saturate;
use spec::{Base, Rel};

use crate::TextDecision;
use crate::paths::{Way, read_from};

/// Cores of more nodes than this are not made smaller.
const MOST_NODES: usize = 400;

/// The nodes, with those that show that unknown ones among them committed.
pub(crate) fn with_certainty(facts: &Facts, mut nodes: Vec<u32>) -> Vec<u32> {
    if nodes.iter().any(|&node| facts.is_unknown(node)) {
        let certain = saturate::certainty(facts);
        for place in 0..nodes.len() {
            let mut node = nodes[place];
            while let Some(by) = certain[node as usize].filter(|&by| by != node) {
                nodes.push(by);
                node = by;
            }
        }
    }
    nodes.retain(|&node| node != 0);
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// The outcome for nodes that contradict themselves: as few of them as leaving out one after the other gives.
pub(crate) fn smallest(facts: &Facts, plan: &Plan, nodes: Vec<u32>) -> TextDecision<'static> {
    let mut nodes = with_certainty(facts, nodes);
    let is_core = |nodes: &[u32]| saturate::contradiction(&facts.restricted(nodes), plan).is_some();
    if !is_core(&nodes) {
        return TextDecision::Choices(nodes);
    }
    if nodes.len() <= MOST_NODES {
        let mut place = 0;
        while place < nodes.len() {
            let mut rest = nodes.clone();
            rest.remove(place);
            match is_core(&rest) {
                true => nodes = rest,
                false => place += 1,
            }
        }
    }
    TextDecision::Contradiction(nodes)
}

/// Adds what a pair of a relation rests on.
pub(crate) fn take_apart(
    facts: &Facts,
    witness: &Witness,
    rel: &Rel,
    from: u32,
    to: u32,
    way: &mut Way,
) -> bool {
    let rows = |rel: &Rel| matrix::evaluate(facts, witness, rel, None, &|| false).ok();
    let place = |node: u32| witness.position[node as usize] as usize;
    let node = |place: usize| witness.order[place];
    match rel {
        Rel::Union(left, right) => [left, right].into_iter().any(|side| {
            rows(side).is_some_and(|rows| rows.has(place(from), place(to)))
                && take_apart(facts, witness, side, from, to, way)
        }),
        Rel::Inter(left, right) => {
            [left, right].into_iter().all(|side| take_apart(facts, witness, side, from, to, way))
        }
        Rel::Join(left, right) => {
            let (Some(first), Some(second)) = (rows(left), rows(right)) else { return false };
            let middle = second.related_to(place(to)).find(|&middle| first.has(place(from), middle));
            middle.is_some_and(|middle| {
                way.nodes.push(node(middle));
                take_apart(facts, witness, left, from, node(middle), way)
                    && take_apart(facts, witness, right, node(middle), to, way)
            })
        }
        Rel::Closure(inner) => {
            let Some(rows) = rows(inner) else { return false };
            let Some(steps) = shortest(&rows, place(from), place(to)) else { return false };
            way.nodes.extend(steps.iter().map(|&place| node(place)));
            steps.windows(2).all(|pair| take_apart(facts, witness, inner, node(pair[0]), node(pair[1]), way))
        }
        Rel::Inverse(inner) => take_apart(facts, witness, inner, to, from, way),
        Rel::Base(Base::Before) => {
            way.before.push((from, to));
            true
        }
        Rel::Base(Base::ReadsFrom) => {
            way.reads.extend(read_from(facts, witness, from, to));
            true
        }
        _ => true,
    }
}

/// The fewest steps from one position to another.
fn shortest(rows: &Rows, from: usize, to: usize) -> Option<Vec<usize>> {
    let mut next: rustc_hash::FxHashMap<usize, usize> = rustc_hash::FxHashMap::default();
    let mut queue = std::collections::VecDeque::from([to]);
    let mut is_first = true;
    while let Some(at) = queue.pop_front() {
        if at == from && !is_first {
            break;
        }
        is_first = false;
        for before in rows.related_to(at) {
            if let std::collections::hash_map::Entry::Vacant(entry) = next.entry(before) {
                entry.insert(at);
                queue.push_back(before);
            }
        }
    }
    let mut steps = vec![from];
    let mut at = *next.get(&from)?;
    while at != to {
        steps.push(at);
        at = next[&at];
    }
    steps.push(to);
    Some(steps)
}
