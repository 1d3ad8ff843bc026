//! The shortest cycle among the facts of order that rest on no assumption.
//!
//! The engine ends at the first contradiction it meets, which need not be the one that is easiest to tell. All facts
//! under the final conflict are true together, so any cycle among them will do: the one with the fewest lines to tell
//! is taken. Costs one shortest-path search per event of the last cycle.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use certify::{Node, Rule, Step, StepId};

use crate::argument::{Argument, By, Conflict, Fact, FactId};
use crate::edge::{Use, before};
use crate::terms::Terms;

/// Facts of order, each from one event to the next.
pub(crate) type Path = Vec<FactId>;

/// Larger arguments are told as they are.
const MAX_EDGES: usize = 20_000;
const MAX_STARTS: usize = 200;
const MAX_REWRITES: usize = 8;

/// A fact of order as the steps it is made of: what follows by a path becomes the path.
pub(crate) fn flatten(argument: &Argument, steps: &[Step], fact: FactId) -> Path {
    let mut path = Path::new();
    let mut stack = vec![fact];
    while let Some(fact) = stack.pop() {
        match parts(argument, steps, fact) {
            Some(parts) if path.len() < MAX_EDGES => stack.extend(parts.into_iter().rev()),
            _ => path.push(fact),
        }
    }
    path
}

/// The path that a fact follows from, in order; `None` if it has another reason.
fn parts(argument: &Argument, steps: &[Step], fact: FactId) -> Option<Path> {
    let Fact { lit, by } = argument.fact(fact);
    match by {
        By::Path(path) => Some(path.clone()),
        By::Rule(step, premises) if steps[*step as usize].rule == Rule::Cycle => {
            let (from, to) = before(lit)?;
            chain(argument, premises, from, to)
        }
        _ => None,
    }
}

/// Puts facts of order one behind the other, from one event to another.
fn chain(argument: &Argument, facts: &[FactId], from: Node, to: Node) -> Option<Path> {
    let mut next = BTreeMap::new();
    for &fact in facts {
        let (a, b) = before(&argument.fact(fact).lit)?;
        next.insert(a, (b, fact));
    }
    let mut path = Path::new();
    let mut at = from;
    while path.is_empty() || at != to {
        let (b, fact) = next.remove(&at)?;
        path.push(fact);
        at = b;
    }
    Some(path)
}

/// The cycle of a conflict, as it is; `None` if the conflict is none.
pub(crate) fn of_conflict(argument: &Argument, steps: &[Step], conflict: &Conflict) -> Option<Path> {
    let Conflict::Cycle(facts) = conflict else {
        return None;
    };
    let (start, _) = before(&argument.fact(*facts.first()?).lit)?;
    let cycle = chain(argument, facts, start, start)?;
    let flat: Path = cycle.iter().flat_map(|&fact| flatten(argument, steps, fact)).collect();
    Some(cut_to_simple(argument, flat))
}

/// A closed walk that meets an event twice contains a shorter one; the shortest such part is kept.
fn cut_to_simple(argument: &Argument, walk: Path) -> Path {
    let mut last_seen = BTreeMap::new();
    let mut best = 0..walk.len();
    for (place, &fact) in walk.iter().enumerate() {
        let Some((from, _)) = before(&argument.fact(fact).lit) else {
            continue;
        };
        if let Some(earlier) = last_seen.insert(from, place)
            && place - earlier < best.len()
        {
            best = earlier..place;
        }
    }
    walk[best].to_vec()
}

/// The cycle that is easiest to tell among all facts that a cycle rests on.
pub(crate) fn easiest(argument: &Argument, steps: &[Step], cycle: Path) -> Path {
    let edges = edges_under(argument, steps, &cycle);
    if edges.len() >= MAX_EDGES {
        return cycle;
    }
    let costs = costs(argument);
    let cost = |fact: FactId| costs[fact.0 as usize];
    let mut graph: BTreeMap<Node, Vec<(Node, u32, FactId)>> = BTreeMap::new();
    for &fact in &edges {
        if let Some((a, b)) = before(&argument.fact(fact).lit) {
            graph.entry(a).or_default().push((b, cost(fact), fact));
        }
    }
    let total = |path: &Path| path.iter().map(|&fact| cost(fact)).sum::<u32>();
    let starts = graph.keys().copied().take(MAX_STARTS);
    let cycles = starts.filter_map(|start| cheapest_cycle(&graph, start));
    let best = cycles.min_by_key(total);
    match best {
        Some(best) if total(&best) < total(&cycle) => best,
        _ => cycle,
    }
}

/// Rewrites a cycle so that it needs no order of writes that only a read decides.
///
/// Such an order, `u` before `t` because a reader `s` of `t`'s version came after `u`, closes a cycle with a path from
/// `t` to `u`. Then `s` read a version that `u` overwrote: so `s` is before `u`, which closes a cycle with the path from
/// `u` to `s`. That is what people call the anomaly.
pub(crate) fn with_plain_reads(
    terms: &Terms<'_>,
    argument: &mut Argument,
    steps: &[Step],
    mut cycle: Path,
) -> Path {
    for _ in 0..MAX_REWRITES {
        let Some(rewritten) = rewrite_once(terms, argument, steps, &cycle) else {
            break;
        };
        cycle = rewritten;
    }
    cycle
}

fn rewrite_once(terms: &Terms<'_>, argument: &mut Argument, steps: &[Step], cycle: &Path) -> Option<Path> {
    let place = (0..cycle.len()).find(|&place| read_after(terms, argument, steps, cycle[place]).is_some())?;
    let (step, read_order) = read_after(terms, argument, steps, cycle[place])?;
    let Fact { lit, by } = argument.fact(cycle[place]).clone();
    let By::Rule(_, mut premises) = by else { return None };
    let mut rest = cycle[place + 1..].to_vec();
    rest.extend(&cycle[..place]);
    premises.retain(|&premise| premise != read_order);
    premises.push(match rest[..] {
        [only] => only,
        _ => argument.add(!lit, By::Path(rest)),
    });
    let reader_first = argument.add(!argument.fact(read_order).lit, By::Rule(step, premises));
    let mut rewritten = vec![reader_first];
    rewritten.extend(flatten(argument, steps, read_order));
    Some(cut_to_simple(argument, rewritten))
}

/// For an order of writes that a read decides: the rule's step, and the fact that the reader came after the other writer.
fn read_after(
    terms: &Terms<'_>,
    argument: &Argument,
    steps: &[Step],
    fact: FactId,
) -> Option<(StepId, FactId)> {
    let Fact { lit, by: By::Rule(step, premises) } = argument.fact(fact) else {
        return None;
    };
    let Use::Overwritten { writer, .. } = Use::of(terms, &steps[*step as usize]) else {
        return None;
    };
    if terms.txn(before(lit)?.0) != Some(writer) {
        return None;
    }
    let is_order = |premise: &FactId| before(&argument.fact(*premise).lit).is_some();
    let order = premises.iter().copied().find(is_order)?;
    Some((*step, order))
}

/// All facts of order under the cycle that hold without assumption, in pieces that are no paths themselves.
fn edges_under(argument: &Argument, steps: &[Step], cycle: &Path) -> Path {
    let mut is_seen = vec![false; argument.facts.len()];
    let mut edges = Path::new();
    let mut stack = cycle.clone();
    while let Some(fact) = stack.pop() {
        if std::mem::replace(&mut is_seen[fact.0 as usize], true) {
            continue;
        }
        let is_order = before(&argument.fact(fact).lit).is_some();
        if is_order && parts(argument, steps, fact).is_none() {
            edges.push(fact);
        }
        if let By::Rule(_, premises) | By::Path(premises) = &argument.fact(fact).by {
            stack.extend(premises);
        }
    }
    edges
}

/// How many lines each fact takes to tell, about.
fn costs(argument: &Argument) -> Vec<u32> {
    const LIMIT: u32 = 1 << 20;
    let mut costs: Vec<u32> = Vec::with_capacity(argument.facts.len());
    for fact in &argument.facts {
        let sum = |facts: &[FactId]| {
            facts.iter().map(|fact| costs[fact.0 as usize]).fold(1u32, |sum, cost| sum.saturating_add(cost))
        };
        let cost = match &fact.by {
            By::Assumed => 1,
            By::Rule(_, premises) | By::Path(premises) => sum(premises),
            By::Contradiction(conflict) => sum(conflict.premises()).saturating_add(2),
            By::Step(_) => 10,
        };
        costs.push(cost.min(LIMIT));
    }
    costs
}

fn cheapest_cycle(graph: &BTreeMap<Node, Vec<(Node, u32, FactId)>>, start: Node) -> Option<Path> {
    let mut best: BTreeMap<Node, (u32, Option<(Node, FactId)>)> = BTreeMap::new();
    let mut open = BinaryHeap::from([Reverse((0u32, start))]);
    let mut closing: Option<(u32, Node, FactId)> = None;
    best.insert(start, (0, None));
    while let Some(Reverse((cost, at))) = open.pop() {
        if best.get(&at).is_some_and(|&(known, _)| known < cost) {
            continue;
        }
        for &(to, edge_cost, fact) in graph.get(&at).into_iter().flatten() {
            let cost = cost.saturating_add(edge_cost);
            if to == start {
                if closing.is_none_or(|(known, ..)| cost < known) {
                    closing = Some((cost, at, fact));
                }
            } else if best.get(&to).is_none_or(|&(known, _)| cost < known) {
                best.insert(to, (cost, Some((at, fact))));
                open.push(Reverse((cost, to)));
            }
        }
    }
    let (_, mut at, fact) = closing?;
    let mut path = vec![fact];
    while let Some(&(_, Some((from, fact)))) = best.get(&at) {
        path.push(fact);
        at = from;
    }
    path.reverse();
    Some(path)
}
