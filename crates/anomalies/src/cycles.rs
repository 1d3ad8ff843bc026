//! The parts of the graph in which a class of cycles can occur, and the automaton of each class.
//!
//! A closed walk belongs to a class if its dependencies do: a small automaton watches how many reads of overwritten
//! versions there were, whether two came in a row, and whether a session or real time took part. Walks are polynomial
//! where simple cycles of a class are not, and nothing is lost: a walk that passes a transaction twice falls apart into
//! cycles, and one of them is of a class at least as severe. So only walks that pass each transaction once are shown.
//!
//! Components of the graph say where there are cycles at all; in a history without cycles that is all there is to do.
//! Components of the product of graph and automaton (linear) say which edges can be part of a cycle of the class.
//! `shortest.rs` starts a search from each of these.

mod shortest;

use std::collections::VecDeque;

use crate::class::{Shape, Tier};
use crate::graph::{Edge, Graph, Kind};

/// A strongly connected part of the graph, with its own numbers.
pub(crate) struct Part {
    txn_count: u32,
    /// Where the edges of each node begin.
    start: Vec<u32>,
    edges: Vec<Local>,
    /// The edges in the numbers of the whole graph.
    whole: Vec<Edge>,
}

#[derive(Clone, Copy)]
struct Local {
    to: u32,
    kind: Kind,
}

/// The parts of a graph in which there are cycles of this strength.
pub(crate) fn parts(graph: &Graph, tier: Tier) -> Vec<Part> {
    let mut edges = edges_in_components(graph, tier);
    edges.sort_unstable();
    edges.dedup_by_key(|edge| (edge.from, edge.to, edge.kind));
    let start = starts(graph.node_count, edges.iter().copied());
    let locals = edges.iter().map(|edge| Local { to: edge.to, kind: edge.kind }).collect();
    Part { txn_count: graph.txn_count, start, edges: locals, whole: edges }.parts(tier)
}

/// The edges that can be part of a cycle: those between nodes that are left when nodes without predecessors are taken away
/// one after the other (Kahn 1962). In most histories there are few, so these alone are copied and sorted.
fn edges_in_components(graph: &Graph, tier: Tier) -> Vec<Edge> {
    let edges = || graph.edges().filter(|edge| is_in_tier(edge.kind, tier));
    let start = starts(graph.node_count, edges());
    let mut free = start.clone();
    let mut ends = vec![0u32; start[graph.node_count as usize] as usize];
    let mut predecessors = vec![0u32; graph.node_count as usize];
    for edge in edges() {
        let place = &mut free[edge.from as usize];
        ends[*place as usize] = edge.to;
        *place += 1;
        predecessors[edge.to as usize] += 1;
    }
    let mut open: Vec<u32> = (0..graph.node_count).filter(|&node| predecessors[node as usize] == 0).collect();
    while let Some(node) = open.pop() {
        for &to in &ends[start[node as usize] as usize..start[node as usize + 1] as usize] {
            predecessors[to as usize] -= 1;
            if predecessors[to as usize] == 0 {
                open.push(to);
            }
        }
    }
    let is_left = |node: u32| predecessors[node as usize] > 0;
    edges().filter(|edge| is_left(edge.from) && is_left(edge.to)).collect()
}

/// Where the edges of each node begin, if they are sorted by it.
fn starts(node_count: u32, edges: impl Iterator<Item = Edge>) -> Vec<u32> {
    let mut start = vec![0u32; node_count as usize + 1];
    edges.for_each(|edge| start[edge.from as usize + 1] += 1);
    for node in 1..start.len() {
        start[node] += start[node - 1];
    }
    start
}

/// The shortest cycle of a class in any of these parts, if they are of its strength, as edges of the whole graph without
/// those that only go on. If one of the length `known` is known already, only shorter ones are worth a long search.
pub(crate) fn shortest(parts: &[Part], shape: Shape, tier: Tier, known: Option<usize>) -> Option<Vec<Edge>> {
    shortest::ShortestSearch::new(parts, Automaton { shape, tier }, known).run()
}

fn is_in_tier(kind: Kind, tier: Tier) -> bool {
    match kind {
        Kind::Process => tier >= Tier::Process,
        Kind::Realtime => tier >= Tier::Realtime,
        _ => true,
    }
}

/// What the automaton remembers: bits.
type State = u8;
/// The last dependency was an anti-dependency.
const LAST_RW: State = 1;
/// The shape has what it needs.
const ENOUGH: State = 2;
/// A session or real time took part, as the tier demands.
const TIERED: State = 4;
/// The next dependency must be an anti-dependency.
const NEED_RW: State = 8;
const STATES: usize = 16;

/// One class as an automaton.
#[derive(Clone, Copy)]
struct Automaton {
    shape: Shape,
    tier: Tier,
}

impl Automaton {
    fn is_tier(self, kind: Kind) -> bool {
        match self.tier {
            Tier::Data => false,
            Tier::Process => kind == Kind::Process,
            Tier::Realtime => kind == Kind::Realtime,
        }
    }

    /// Whether a cycle may start with this edge. Each cycle of the class has one such edge.
    fn is_first(self, kind: Kind) -> bool {
        match (self.shape, self.tier) {
            (Shape::GSingle | Shape::GNonadjacent | Shape::G2Item, _) => kind == Kind::Rw,
            (Shape::G0, Tier::Data) => kind == Kind::Ww,
            (Shape::G1c, Tier::Data) => kind == Kind::Wr,
            (Shape::G0 | Shape::G1c, _) => self.is_tier(kind),
        }
    }

    /// No cycle of the class has fewer edges.
    fn least_length(self) -> u32 {
        if self.shape == Shape::GNonadjacent { 4 } else { 2 }
    }

    fn first_state(self, kind: Kind) -> State {
        let tiered = if self.tier == Tier::Data || self.is_tier(kind) { TIERED } else { 0 };
        tiered
            | match self.shape {
                Shape::G0 | Shape::GSingle => ENOUGH,
                Shape::G1c if kind == Kind::Wr => ENOUGH,
                Shape::G1c => 0,
                Shape::GNonadjacent => LAST_RW,
                Shape::G2Item => NEED_RW,
            }
    }

    fn step(self, state: State, kind: Kind) -> Option<State> {
        if kind == Kind::Through {
            return Some(state);
        }
        let state = if self.is_tier(kind) { state | TIERED } else { state };
        match (self.shape, kind) {
            (_, Kind::Process) if self.tier < Tier::Process => None,
            (_, Kind::Realtime) if self.tier < Tier::Realtime => None,
            (Shape::G2Item, Kind::Rw) => Some(state & !NEED_RW | ENOUGH),
            (Shape::G2Item, _) => (state & NEED_RW == 0).then_some(state),
            (Shape::GNonadjacent, Kind::Rw) => (state & LAST_RW == 0).then_some(state | LAST_RW | ENOUGH),
            (Shape::GNonadjacent, _) => Some(state & !LAST_RW),
            (_, Kind::Rw) => None,
            (Shape::G0, Kind::Wr) => None,
            (Shape::G1c, Kind::Wr) => Some(state | ENOUGH),
            _ => Some(state),
        }
    }

    fn accepts(self, state: State) -> bool {
        state & (ENOUGH | TIERED) == ENOUGH | TIERED && state & (LAST_RW | NEED_RW) == 0
    }
}

impl Part {
    fn node_count(&self) -> usize {
        self.start.len() - 1
    }

    fn out(&self, node: u32) -> std::ops::Range<usize> {
        self.start[node as usize] as usize..self.start[node as usize + 1] as usize
    }

    /// The parts of it in which there are cycles of this strength.
    pub(crate) fn parts(&self, tier: Tier) -> Vec<Self> {
        let kept = |edge: &usize| is_in_tier(self.edges[*edge].kind, tier);
        let found = order::components(self.node_count(), |node| {
            self.out(node).filter(kept).map(|edge| self.edges[edge].to)
        });
        let sizes = found.sizes();
        let mut nodes: Vec<u32> = (0..self.node_count() as u32).collect();
        nodes.retain(|&node| sizes[found.of[node as usize] as usize] > 1);
        nodes.sort_by_key(|&node| (found.of[node as usize], node));
        let mut place = vec![0u32; self.node_count()];
        let mut parts = Vec::new();
        for nodes in nodes.chunk_by(|&a, &b| found.of[a as usize] == found.of[b as usize]) {
            // Nodes are in the order of their numbers, so transactions come first.
            nodes.iter().enumerate().for_each(|(at, &node)| place[node as usize] = at as u32);
            let mut part = Self {
                txn_count: nodes.partition_point(|&node| node < self.txn_count) as u32,
                start: vec![0],
                edges: Vec::new(),
                whole: Vec::new(),
            };
            let component = found.of[nodes[0] as usize];
            for &node in nodes {
                for edge in self.out(node).filter(kept) {
                    let Local { to, kind } = self.edges[edge];
                    if found.of[to as usize] == component {
                        part.edges.push(Local { to: place[to as usize], kind });
                        part.whole.push(self.whole[edge]);
                    }
                }
                part.start.push(part.edges.len() as u32);
            }
            parts.push(part);
        }
        parts.sort_by_key(|part| part.whole.first().map(|edge| edge.from));
        parts
    }

    /// The edges from which a search can succeed.
    fn first_edges(&self, automaton: Automaton) -> Vec<u32> {
        let component = self.product_components(automaton);
        let has_enough = self.with_enough(automaton, &component);
        let is_inside = |edge: &u32| {
            let (from, local) = (self.from(*edge), self.edges[*edge as usize]);
            if !automaton.is_first(local.kind) {
                return false;
            }
            let is_rw = usize::from(local.kind == Kind::Rw && automaton.shape != Shape::G2Item);
            let own = component[2 * from as usize];
            own == component[2 * local.to as usize + is_rw] && has_enough[own as usize]
        };
        (0..self.edges.len() as u32).filter(is_inside).collect()
    }

    fn from(&self, edge: u32) -> u32 {
        self.start.partition_point(|&start| start <= edge) as u32 - 1
    }

    /// Where an edge leads in the graph of (node, whether the last dependency was an anti-dependency), in which no two
    /// anti-dependencies are in a row; two in a row are what G2-item looks for, so there it is the graph itself.
    fn product_step(&self, automaton: Automaton, is_rw: u32, edge: usize) -> Option<u32> {
        let Local { to, kind } = self.edges[edge];
        match (kind, automaton.shape) {
            (Kind::Through, _) => Some(2 * to + is_rw),
            (Kind::Rw, Shape::G2Item) => Some(2 * to),
            (Kind::Rw, Shape::G0 | Shape::G1c) => None,
            (Kind::Rw, _) => (is_rw == 0).then_some(2 * to + 1),
            (Kind::Wr, Shape::G0) => None,
            _ => Some(2 * to),
        }
    }

    fn product_components(&self, automaton: Automaton) -> Vec<u32> {
        let successors = |node: u32| {
            self.out(node / 2).filter_map(move |edge| self.product_step(automaton, node & 1, edge))
        };
        order::components(2 * self.node_count(), successors).of
    }

    /// Which components have all that a cycle of the class needs beside its first edge.
    fn with_enough(&self, automaton: Automaton, component: &[u32]) -> Vec<bool> {
        let needs_tier = automaton.tier != Tier::Data;
        let needs_wr = automaton.shape == Shape::G1c;
        let count = component.iter().max().map_or(0, |&last| last as usize + 1);
        let (mut has_tier, mut has_wr) = (vec![!needs_tier; count], vec![!needs_wr; count]);
        for node in 0..2 * self.node_count() as u32 {
            let own = component[node as usize];
            for edge in self.out(node / 2) {
                let to = self.product_step(automaton, node & 1, edge);
                if to.is_some_and(|to| component[to as usize] == own) {
                    has_tier[own as usize] |= automaton.is_tier(self.edges[edge].kind);
                    has_wr[own as usize] |= self.edges[edge].kind == Kind::Wr;
                }
            }
        }
        has_tier.iter().zip(has_wr).map(|(&tier, wr)| tier && wr).collect()
    }

    /// Of some edges those whose end leads back to their start without an anti-dependency: 64 at a time.
    fn closed_without_rw(&self, automaton: Automaton, edges: Vec<u32>) -> Vec<u32> {
        let mut closed = Vec::new();
        let mut reached = vec![0u64; 2 * self.node_count()];
        let tiered = |state: State| usize::from(state & TIERED != 0);
        for group in edges.chunks(64) {
            reached.fill(0);
            let mut open: VecDeque<(u32, State)> = VecDeque::new();
            for (bit, &edge) in group.iter().enumerate() {
                let (to, state) = (self.edges[edge as usize].to, automaton.first_state(Kind::Rw));
                reached[2 * to as usize + tiered(state)] |= 1 << bit;
                open.push_back((to, state));
            }
            while let Some((node, state)) = open.pop_front() {
                let bits = reached[2 * node as usize + tiered(state)];
                for edge in self.out(node) {
                    let Local { to, kind } = self.edges[edge];
                    let Some(next) = automaton.step(state, kind) else { continue };
                    let there = &mut reached[2 * to as usize + tiered(next)];
                    if *there | bits != *there {
                        *there |= bits;
                        open.push_back((to, next));
                    }
                }
            }
            let is_closed =
                |(bit, edge): (usize, &u32)| reached[2 * self.from(*edge) as usize + 1] >> bit & 1 == 1;
            closed.extend(
                group.iter().enumerate().filter(|&(bit, edge)| is_closed((bit, edge))).map(|(_, edge)| edge),
            );
        }
        closed
    }

    /// Whether a walk passes each transaction once.
    fn is_simple(&self, cycle: &[u32]) -> bool {
        let mut txns: Vec<u32> = cycle
            .iter()
            .map(|&edge| self.edges[edge as usize].to)
            .filter(|&to| to < self.txn_count)
            .collect();
        let count = txns.len();
        txns.sort_unstable();
        txns.dedup();
        txns.len() == count
    }

    /// The walk from transaction to transaction.
    fn collapse(&self, cycle: &[u32]) -> Vec<Edge> {
        let mut hops: Vec<Edge> = Vec::new();
        for &edge in cycle {
            let whole = self.whole[edge as usize];
            match hops.last_mut() {
                Some(last) if whole.kind == Kind::Through => last.to = whole.to,
                _ => hops.push(whole),
            }
        }
        hops
    }
}

#[cfg(test)]
mod tests;
