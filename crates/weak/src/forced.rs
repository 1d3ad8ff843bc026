//! Levels where what is visible does not depend on the order, on histories in which every read has one source.
//!
//! An order is guessed, its hits become pairs that every order has, and the next order contains them; until there are no
//! hits, or a cycle. A round is one evaluation; sessions taken in turn need two to five of them on what databases do.
//! Where what is visible depends on the order, a guess may still be right at once; otherwise `choices.rs` goes on.

use certify::text::facts::{Facts, INITIAL};
use certify::text::judge::{Hit, Judge, Witness};
use certify::text::plan::{Plan, Readers};
use rustc_hash::FxHashMap;

use crate::Options;
use crate::paths;
use crate::sorted::Pairs;

pub(crate) enum ForcedDecision {
    Holds(Witness),
    /// These nodes contradict themselves.
    Contradiction(Vec<u32>),
    /// A hit depends on the order that was guessed.
    OrderMatters,
    Stopped,
}

pub(crate) fn decide(
    facts: &Facts,
    plan: &Plan,
    nodes: &[u32],
    mut source: Vec<u32>,
    options: &Options<'_>,
) -> ForcedDecision {
    let mut is_in = vec![false; facts.node_count()];
    nodes.iter().for_each(|&node| is_in[node as usize] = true);
    let mut forced: FxHashMap<(u32, u32), Hit> = FxHashMap::default();
    let mut witness = Witness::default();
    let is_static = plan.is_static();
    loop {
        let pairs = Pairs::new(facts.node_count(), |add| {
            visit_known(facts, plan, &is_in, &source, add);
            forced.keys().for_each(|&(from, to)| add(from, to));
        });
        let order = match (witness.position.is_empty(), options.priority.is_empty()) {
            (true, true) => pairs.order(nodes),
            (true, false) => pairs.order_by(nodes, |node| options.priority[node as usize]),
            (false, _) => pairs.order_by(nodes, |node| u64::from(witness.position[node as usize])),
        };
        let order = match order {
            Ok(order) => order,
            Err(left) => {
                let cycle = pairs.cycle(&left);
                witness.source = source;
                return ForcedDecision::Contradiction(nodes_of(
                    facts,
                    plan,
                    (&witness, &is_in),
                    &forced,
                    &cycle,
                ));
            }
        };
        // Millions of reads are in both: neither outlives its use.
        drop(pairs);
        witness = Witness::new(facts, order, source);
        let Ok(hits) = Judge::new(facts, plan, options.stop).hits(&witness) else {
            return ForcedDecision::Stopped;
        };
        if hits.is_empty() {
            return ForcedDecision::Holds(witness);
        }
        if !is_static {
            return ForcedDecision::OrderMatters;
        }
        for hit in hits {
            let source = witness.source[hit.read as usize];
            if source == INITIAL {
                let reader = facts.reader(hit.read as usize);
                return ForcedDecision::Contradiction(
                    nodes_of_hit(facts, plan, &witness, &hit, reader).into_iter().collect(),
                );
            }
            forced.entry((hit.rival, source)).or_insert(hit);
        }
        source = std::mem::take(&mut witness.source);
    }
}

/// The pairs that the level's order contains and those that lists show, among nodes that are taken as committed.
pub(crate) fn visit_known(
    facts: &Facts,
    plan: &Plan,
    is_in: &[bool],
    source: &[u32],
    add: &mut dyn FnMut(u32, u32),
) {
    let is_in = |node: u32| is_in[node as usize];
    let (session, reads_from) = (facts.mask(&plan.session), facts.mask(&plan.reads_from));
    for node in (1..facts.node_count() as u32).filter(|&node| is_in(node)) {
        facts.earlier_in_session(node, &session, is_in).for_each(|before| add(before, node));
        if facts.is_in(node, &reads_from) {
            let mut last = INITIAL;
            for read in facts.reads_of(node) {
                let from = source[read];
                if from != INITIAL && from != last {
                    add(from, node);
                    last = from;
                }
            }
        }
    }
    if plan.real_time != Readers::None {
        let (real_time, timeline) = (facts.mask(&plan.real_time), facts.timeline());
        let nodes = (1..facts.node_count() as u32).filter(|&node| is_in(node));
        for node in nodes.filter(|&node| facts.is_in(node, &real_time)) {
            timeline.directly_before(facts, node, &mut |before| {
                if is_in(before) {
                    add(before, node);
                }
            });
        }
    }
    let told = facts.told().iter().filter(|&&(from, to, by)| is_in(from) && is_in(to) && is_in(by));
    told.for_each(|&(from, to, _)| add(from, to));
}

/// A node that is taken as committed and whose list shows a pair.
pub(crate) fn teller(facts: &Facts, is_in: &[bool], from: u32, to: u32) -> Option<u32> {
    let told = facts.told().iter().filter(|&&(first, second, _)| (first, second) == (from, to));
    told.map(|&(.., by)| by).find(|&by| is_in[by as usize])
}

/// The nodes of a cycle, and those that its forced pairs rest on.
fn nodes_of(
    facts: &Facts,
    plan: &Plan,
    (witness, is_in): (&Witness, &[bool]),
    forced: &FxHashMap<(u32, u32), Hit>,
    cycle: &[u32],
) -> Vec<u32> {
    let mut nodes = cycle.to_vec();
    for (place, &from) in cycle.iter().enumerate() {
        let to = cycle[(place + 1) % cycle.len()];
        if let Some(hit) = forced.get(&(from, to)) {
            let reader = facts.reader(hit.read as usize);
            nodes.extend(nodes_of_hit(facts, plan, witness, hit, reader));
        }
        nodes.extend(teller(facts, is_in, from, to));
    }
    nodes.retain(|&node| node != INITIAL);
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

fn nodes_of_hit(facts: &Facts, plan: &Plan, witness: &Witness, hit: &Hit, reader: u32) -> Vec<u32> {
    let mut nodes = paths::way(facts, witness, &plan.parts[hit.part as usize], hit.rival, reader).nodes;
    nodes.push(witness.source[hit.read as usize]);
    nodes.retain(|&node| node != INITIAL);
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}
