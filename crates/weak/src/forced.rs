//! Levels where what is visible does not depend on the order, on histories in which every read has one source.
//!
//! An order is guessed, its hits become pairs that every order has, and are added to the order; until there are no
//! hits, or a cycle. A round is one evaluation; sessions taken in turn need two to five of them on what databases do. The
//! first two are whole, so that the checker need not evaluate the order again; later ones look for what earlier ones did
//! not look for.
//! Where what is visible depends on the order, a guess may still be right at once; otherwise `choices.rs` goes on.

use certify::text::facts::{Facts, INITIAL};
use certify::text::judge::{Accepted, Hit, Judge, Judgement, Witness};
use certify::text::plan::{Plan, Readers};
use rustc_hash::FxHashMap;

use crate::Options;
use crate::before::{Before, Mender};
use crate::paths;
use crate::sorted::Pairs;

pub(crate) enum ForcedDecision<'f> {
    Holds(Witness),
    /// The same, and the judge has evaluated the order whole.
    Accepted(Accepted<'f>),
    /// These nodes contradict themselves.
    Contradiction(Vec<u32>),
    /// A hit depends on the order that was guessed.
    OrderMatters,
    Stopped,
}

pub(crate) fn decide<'f>(
    facts: &'f Facts,
    plan: &Plan,
    nodes: &[u32],
    source: Vec<u32>,
    options: &Options<'_>,
) -> ForcedDecision<'f> {
    let mut is_in = vec![false; facts.node_count()];
    nodes.iter().for_each(|&node| is_in[node as usize] = true);
    let mut forced: FxHashMap<(u32, u32), Hit> = FxHashMap::default();
    let mut before = Before::new(facts, plan, &is_in);
    let order = match options.priority {
        [] => before.order(nodes, &source),
        priority => before.order_by(nodes, &source, |node| priority[node as usize]),
    };
    let Some(order) = order else {
        let witness = Witness { source, ..Witness::default() };
        return contradiction(facts, plan, nodes, (&witness, &is_in), &forced);
    };
    let mut witness = Witness::new(facts, order, source);
    let mut mender = Mender::new(facts.node_count());
    let mut looked = None;
    let judge = Judge::new(facts, plan, options.stop);
    for round in 0.. {
        if round < WHOLE_ROUNDS {
            looked = None;
        }
        let hits = match judge.judge(witness, &mut looked) {
            Err(_) => return ForcedDecision::Stopped,
            Ok(Judgement::Accepted(accepted)) => return ForcedDecision::Accepted(accepted),
            Ok(Judgement::NoMoreHits(witness)) => return ForcedDecision::Holds(witness),
            Ok(Judgement::Hits(judged, hits)) => {
                witness = judged;
                hits
            }
        };
        if !plan.is_static() {
            return ForcedDecision::OrderMatters;
        }
        let mut new = Vec::new();
        for hit in hits {
            let source = witness.source[hit.read as usize];
            if source == INITIAL {
                let reader = facts.reader(hit.read as usize);
                return ForcedDecision::Contradiction(nodes_of_hit(facts, plan, &witness, &hit, reader));
            }
            forced.entry((hit.rival, source)).or_insert_with(|| {
                new.push((hit.rival, source));
                hit
            });
        }
        if !put_before(&mut before, &mut mender, &mut witness, nodes, &new) {
            break;
        }
    }
    contradiction(facts, plan, nodes, (&witness, &is_in), &forced)
}

/// So many orders are evaluated whole, although hits were looked for along the one before: one that has no hits then need
/// not be evaluated again by the checker.
const WHOLE_ROUNDS: usize = 2;

/// Adding pairs one by one may take so many steps for each node and read, in all rounds.
const MOST_WORK: usize = 64;

/// Adds pairs to what every order has, and to the order; false if that cannot be.
fn put_before(
    before: &mut Before<'_>,
    mender: &mut Mender,
    witness: &mut Witness,
    nodes: &[u32],
    pairs: &[(u32, u32)],
) -> bool {
    let most = (witness.position.len() + witness.source.len()) * MOST_WORK;
    for &(first, second) in pairs {
        if mender.work > most {
            break;
        }
        before.force(first, second);
        if !mender.put_before(before, witness, first, second) {
            return false;
        }
    }
    if mender.work <= most {
        return true;
    }
    pairs.iter().for_each(|&(first, second)| before.force(first, second));
    let order = before.order_by(nodes, &witness.source, |node| u64::from(witness.position[node as usize]));
    let is_found = order.is_some();
    for (place, node) in (1..).zip(order.into_iter().flatten()) {
        witness.order[place] = node;
        witness.position[node as usize] = place as u32;
    }
    is_found
}

/// The nodes of a short cycle of known and forced pairs, which there is.
fn contradiction(
    facts: &Facts,
    plan: &Plan,
    nodes: &[u32],
    (witness, is_in): (&Witness, &[bool]),
    forced: &FxHashMap<(u32, u32), Hit>,
) -> ForcedDecision<'static> {
    let pairs = Pairs::new(facts.node_count(), |add| {
        visit_known(facts, plan, is_in, &witness.source, add);
        forced.keys().for_each(|&(from, to)| add(from, to));
    });
    let left = pairs.order(nodes).err().unwrap_or_default();
    let cycle = pairs.cycle(&left);
    ForcedDecision::Contradiction(nodes_of(facts, plan, (witness, is_in), forced, &cycle))
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
