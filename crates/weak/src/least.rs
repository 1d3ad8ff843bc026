//! Reads with several possible sources, at levels where what is visible follows from sessions and reads.
//!
//! A row that a predicate did not match may have come from every transaction that left another row: with predicates these are
//! most of the reads, and as choices of a solver they took minutes. First only reads with one source count: what they force
//! is in every order, so a cycle is a violation, and otherwise there is an order to start from. Along this order each other read
//! takes the earliest source that nothing excludes: an earlier source makes less visible. A hit excludes sources: those of its
//! read that stand before the visible writer, or, if its read has one source only, those that made the writer visible. What is
//! excluded only grows, so it ends; if a read has no source left, the search over choices goes on.
//!
//! A read whose sources all stand after its reader, as where clients heard of commits in another order than they happened,
//! moves the reader behind the first of them, and all begins again.
//!
//! A round is one evaluation. 1,000 transactions of `blindw-pred` on PostgreSQL have some hundred thousand such reads.

use certify::text::facts::{Facts, INITIAL};
use certify::text::judge::{Hit, Judge, Witness};
use certify::text::plan::Plan;

use crate::{Options, TextDecision, core_of, forced, paths};

/// More orders than this are not tried.
pub(crate) const MOST_ORDERS: usize = 40;

/// More rounds along one order than this are not tried.
const MOST_ROUNDS: usize = 60;

/// Decides a level; nothing if choices are needed.
pub(crate) fn decide(
    facts: &Facts,
    plan: &Plan,
    certain: &[u32],
    options: &Options<'_>,
) -> Option<TextDecision<'static>> {
    if !plan.is_static() {
        return None;
    }
    let single = facts.with_single_sources();
    let mut priority = options.priority.to_vec();
    for _ in 0..MOST_ORDERS {
        let options = &Options { priority: &priority, ..*options };
        let order = match order_of_single_sources(&single, plan, certain, options) {
            forced::ForcedDecision::Holds(witness) => witness,
            forced::ForcedDecision::Accepted(accepted) => accepted.into_witness(),
            forced::ForcedDecision::Contradiction(nodes) => {
                return Some(core_of::smallest(facts, plan, nodes));
            }
            forced::ForcedDecision::Stopped => return Some(TextDecision::Stopped),
            forced::ForcedDecision::OrderMatters => return None,
        };
        match along(facts, plan, &order, options) {
            Along::Holds(witness) => return Some(TextDecision::Holds(witness)),
            Along::Stopped => return Some(TextDecision::Stopped),
            Along::Lost => return None,
            Along::Late(late) => priority = moved(&order, late),
        }
    }
    None
}

/// Places in an order in which each of these readers stands behind its source.
pub(crate) fn moved(order: &Witness, late: Vec<(u32, u32)>) -> Vec<u64> {
    let mut places: Vec<u64> = order.position.iter().map(|&place| u64::from(place) << 20).collect();
    for (reader, source) in late {
        let place = places[source as usize] + 1;
        places[reader as usize] = places[reader as usize].max(place);
    }
    places
}

/// What came of one order.
enum Along {
    Holds(Witness),
    Stopped,
    /// (reader, source): all possible sources of a read stand after its reader, this one first.
    Late(Vec<(u32, u32)>),
    Lost,
}

/// Looks for sources along one order.
fn along(facts: &Facts, plan: &Plan, order: &Witness, options: &Options<'_>) -> Along {
    let source = (0..facts.reads().len()).map(|read| facts.only_source(read).unwrap_or(0)).collect();
    let mut witness = Witness::new(facts, order.order[1..].iter().copied(), source);
    let mut least = vec![0; facts.reads().len()];
    let mut open: Vec<(u32, u32)> = Vec::new();
    for &reader in &witness.order[1..] {
        let several = facts.reads_of(reader).filter(|&read| facts.only_source(read).is_none());
        open.extend(several.map(|read| (read as u32, reader)));
    }
    for _ in 0..MOST_ROUNDS {
        let mut late = Vec::new();
        for &(read, reader) in &open {
            let Some(source) = earliest(facts, &witness, read as usize, least[read as usize]) else {
                return Along::Lost;
            };
            witness.source[read as usize] = source;
            if witness.position[source as usize] > witness.position[reader as usize] {
                late.push((reader, source));
            }
        }
        if !late.is_empty() {
            return Along::Late(late);
        }
        let Ok(hits) = Judge::new(facts, plan, options.stop).hits(&witness) else { return Along::Stopped };
        if hits.is_empty() {
            return Along::Holds(witness);
        }
        open.clear();
        hits.iter().for_each(|hit| exclude(facts, plan, &witness, hit, &mut least, &mut open));
        open.sort_unstable();
        open.dedup();
    }
    Along::Lost
}

/// Excludes the sources that a hit shows to be wrong, and notes the reads that need another one.
fn exclude(
    facts: &Facts,
    plan: &Plan,
    witness: &Witness,
    hit: &Hit,
    least: &mut [u32],
    open: &mut Vec<(u32, u32)>,
) {
    let is_open = |read: u32| facts.only_source(read as usize).is_none();
    let reader = facts.reader(hit.read as usize);
    if is_open(hit.read) {
        let bound = &mut least[hit.read as usize];
        *bound = (*bound).max(witness.position[hit.rival as usize]);
        return open.push((hit.read, reader));
    }
    let way = paths::way(facts, witness, &plan.parts[hit.part as usize], hit.rival, reader);
    for &read in way.reads.iter().filter(|&&read| is_open(read)) {
        let chosen = witness.source[read as usize];
        least[read as usize] = least[read as usize].max(witness.position[chosen as usize] + 1);
        open.push((read, facts.reader(read as usize)));
    }
}

/// What reads with one source force of every order; these are the facts about such reads alone.
pub(crate) fn order_of_single_sources<'f>(
    single: &'f Facts,
    plan: &Plan,
    certain: &[u32],
    options: &Options<'_>,
) -> forced::ForcedDecision<'f> {
    let source = (0..single.reads().len()).map(|read| single.only_source(read).unwrap_or(0)).collect();
    forced::decide(single, plan, certain, source, options)
}

/// The possible source of a read that stands first in the order, from a place on.
fn earliest(facts: &Facts, witness: &Witness, read: usize, least: u32) -> Option<u32> {
    // Nothing stands before the initial state, which most rows that did not match may have held.
    if least == 0 && facts.candidates(read).first() == Some(&INITIAL) {
        return Some(INITIAL);
    }
    let is_there = |&node: &u32| witness.has(node) && witness.position[node as usize] >= least;
    let candidates = facts.candidates(read).iter().copied().filter(is_there);
    candidates.min_by_key(|&node| witness.position[node as usize])
}
