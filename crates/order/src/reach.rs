//! Reachability by chains: for each node and chain, the first position it reaches and the last that reaches it.
//!
//! `a` reaches `b` iff `first[a][chain of b] <= position of b`: one look-up, and nodes x chains words instead of
//! nodes x nodes bits (10,000 transactions of 25 sessions: 1 MB, not 12; 100,000 of 50: 20 MB, not 1.25 GB).
//! Bringing everything up to date is one pass over the edges in topological order, O(edges x chains), which the
//! compiler turns into vector instructions; after few edges only the rows that improve are touched.
//!
//! Rows only ever improve. What one edge improves is remembered as a bit per node and chain until it is asked for, so
//! that a caller which derives edges from reachability looks only at what is new; a pass over everything remembers nothing,
//! since it is followed by a look at everything.

use crate::parallel;
use crate::rows::Rows;
use crate::waiting::Waiting;
use crate::{Chains, Digraph, EdgeId, Flat, NONE};

/// What improved at a node since it was last asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Improved {
    /// The node reaches more of these chains.
    Forward,
    /// More of these chains reach the node.
    Backward,
}

/// One direction of the closure.
#[derive(Clone, Debug, Default)]
struct Side {
    /// nodes x width.
    rows: Rows,
    /// nodes x words: the chains whose entry improved.
    dirty: Vec<u64>,
}

/// The closure.
#[derive(Clone, Debug)]
pub struct Reach {
    chains: Chains,
    width: usize,
    words: usize,
    /// The first position of the chain that the node reaches, itself included, turned around so that larger is better
    /// on both sides.
    forward: Side,
    /// One more than the last position that reaches the node, itself included.
    backward: Side,
    queue: Vec<u32>,
    is_queued: Vec<bool>,
}

impl Reach {
    /// Every node reaches itself; what improves from now on is new.
    pub fn new(chains: Chains) -> Self {
        let (nodes, width) = (chains.node_count(), chains.len());
        let words = width.div_ceil(64).max(1);
        let longest = chains.longest();
        let side = || Side { rows: Rows::new(nodes * width, longest), dirty: vec![0; nodes * words] };
        let mut reach = Self {
            width,
            words,
            forward: side(),
            backward: side(),
            queue: Vec::new(),
            is_queued: vec![false; nodes],
            chains,
        };
        for node in 0..nodes {
            let (chain, position) =
                (reach.chains.chain_of(node as u32), reach.chains.position_of(node as u32));
            if chain != NONE {
                reach.forward.rows.set_turned(node * width + chain as usize, position);
                reach.backward.rows.set(node * width + chain as usize, position + 1);
            }
        }
        reach
    }

    /// The bytes that the closure of this many nodes and chains takes, if no chain is longer than this.
    pub fn bytes(nodes: usize, chains: usize, longest: u32) -> usize {
        nodes * (chains * 2 * Rows::entry_bytes(longest) + chains.div_ceil(64) * 16)
    }

    /// The chains.
    pub fn chains(&self) -> &Chains {
        &self.chains
    }

    /// The first position of a chain that a node reaches, itself included; [`NONE`] for none.
    #[inline]
    pub fn first(&self, node: u32, chain: usize) -> u32 {
        self.forward.rows.get_turned(node as usize * self.width + chain)
    }

    /// One more than the last position of a chain that reaches a node, itself included; 0 for none.
    #[inline]
    pub fn end(&self, node: u32, chain: usize) -> u32 {
        self.backward.rows.get(node as usize * self.width + chain)
    }

    /// Whether one node is known to reach another; a node reaches itself.
    ///
    /// Complete when at least one of the two is on a chain.
    #[inline]
    pub fn reaches(&self, from: u32, to: u32) -> bool {
        let chain = self.chains.chain_of(to);
        if chain != NONE {
            return self.first(from, chain as usize) <= self.chains.position_of(to);
        }
        let chain = self.chains.chain_of(from);
        from == to || (chain != NONE && self.end(to, chain as usize) > self.chains.position_of(from))
    }

    /// Whether the row of either end says that one node reaches another: after [`Reach::note`] one may know more than
    /// the other.
    #[inline]
    pub fn is_noted(&self, from: u32, to: u32) -> bool {
        let chain = self.chains.chain_of(from);
        self.reaches(from, to)
            || (chain != NONE && self.end(to, chain as usize) > self.chains.position_of(from))
    }

    /// Brings everything up to date with the graph, whose topological order this is; nothing is new afterwards.
    pub fn rebuild(&mut self, successors: &Flat, predecessors: &Flat, order: &[u32]) {
        self.forget_improvements();
        let (chains, forward, backward) = (&self.chains, &mut self.forward.rows, &mut self.backward.rows);
        parallel::join_if(
            order.len() >= parallel::LARGE,
            || forward.sweep(true, chains, order.iter().rev().copied(), successors),
            || backward.sweep(false, chains, order.iter().copied(), predecessors),
        );
    }

    /// Nothing is new any more.
    fn forget_improvements(&mut self) {
        for node in std::mem::take(&mut self.queue) {
            self.is_queued[node as usize] = false;
            let words = node as usize * self.words..(node as usize + 1) * self.words;
            self.forward.dirty[words.clone()].fill(0);
            self.backward.dirty[words].fill(0);
        }
    }

    /// Takes an edge into account at its two ends only: enough to see at once that it makes others superfluous. The
    /// rest follows with [`Reach::spread`] or [`Reach::rebuild`].
    pub fn note(&mut self, from: u32, to: u32) {
        self.improve(Improved::Forward, from, to);
        self.improve(Improved::Backward, to, from);
    }

    /// Brings everything up to date with some edges that were noted. The order is one of all nodes, topological but for
    /// those edges: it lets a node be looked at once for all of them.
    pub fn spread(&mut self, graph: &Digraph, edges: &[EdgeId], order: &[u32]) {
        let mut place = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&node, at)| place[node as usize] = at);
        let last = order.len() as u32 - 1;
        let mut waiting = Waiting::new(order.len());
        for edge in edges.iter().map(|&edge| graph.edge(edge)) {
            self.improve(Improved::Forward, edge.from, edge.to);
            self.improve(Improved::Backward, edge.to, edge.from);
            waiting.add(last - place[edge.from as usize]);
        }
        while let Some(at) = waiting.next() {
            let node = order[(last - at) as usize];
            for (_, before) in graph.in_edges(node) {
                if self.improve(Improved::Forward, before, node) {
                    waiting.add(last - place[before as usize]);
                }
            }
        }
        edges.iter().for_each(|&edge| waiting.add(place[graph.edge(edge).to as usize]));
        while let Some(at) = waiting.next() {
            let node = order[at as usize];
            for (_, after) in graph.out_edges(node) {
                if self.improve(Improved::Backward, after, node) {
                    waiting.add(place[after as usize]);
                }
            }
        }
    }

    /// The nodes at which something improved since this was last asked.
    pub fn take_queue(&mut self, into: &mut Vec<u32>) {
        into.clear();
        std::mem::swap(into, &mut self.queue);
        into.iter().for_each(|&node| self.is_queued[node as usize] = false);
    }

    /// The chains that improved at a node since it was last asked, which are forgotten.
    pub fn take_improved(&mut self, side: Improved, node: u32, into: &mut Vec<u32>) {
        into.clear();
        let words = node as usize * self.words..(node as usize + 1) * self.words;
        for (place, word) in self.side(side).dirty[words].iter_mut().enumerate() {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                into.push((place * 64) as u32 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }

    fn side(&mut self, side: Improved) -> &mut Side {
        match side {
            Improved::Forward => &mut self.forward,
            Improved::Backward => &mut self.backward,
        }
    }

    fn enqueue(&mut self, node: u32) {
        if !std::mem::replace(&mut self.is_queued[node as usize], true) {
            self.queue.push(node);
        }
    }

    /// Takes the better of two rows entry by entry; says whether the first one changed.
    #[inline]
    fn improve(&mut self, side: Improved, node: u32, by: u32) -> bool {
        let (width, words) = (self.width, self.words);
        let Side { rows, dirty } = self.side(side);
        let note = |chain: usize| dirty[node as usize * words + chain / 64] |= 1 << (chain % 64);
        let is_better = rows.improve(width, node, by, note);
        if is_better {
            self.enqueue(node);
        }
        is_better
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topological_order;

    /// Two chains 0 1 2 and 3 4 5, and node 6 on none.
    fn chained() -> (Digraph, Reach) {
        let mut chains = Chains::new(7);
        chains.add([0, 1, 2]);
        chains.add([3, 4, 5]);
        let mut graph = Digraph::new(7);
        for (from, to) in [(0, 1), (1, 2), (3, 4), (4, 5)] {
            graph.add(from, to);
        }
        let mut reach = Reach::new(chains);
        rebuild(&mut reach, &graph);
        (graph, reach)
    }

    fn rebuild(reach: &mut Reach, graph: &Digraph) {
        let (successors, predecessors) = (Flat::successors(graph), Flat::predecessors(graph));
        reach.rebuild(&successors, &predecessors, &topological_order(graph).unwrap());
    }

    fn reached_from(graph: &Digraph, from: u32) -> Vec<bool> {
        let mut seen = vec![false; graph.node_count()];
        let mut stack = vec![from];
        while let Some(node) = stack.pop() {
            if !std::mem::replace(&mut seen[node as usize], true) {
                stack.extend(graph.out_edges(node).map(|(_, to)| to));
            }
        }
        seen
    }

    fn assert_exact(graph: &Digraph, reach: &Reach) {
        for from in 0..graph.node_count() as u32 {
            for (to, &seen) in reached_from(graph, from).iter().enumerate() {
                assert_eq!(reach.reaches(from, to as u32), seen, "{from} to {to}");
            }
        }
    }

    /// Exact unless both ends are on no chain.
    fn assert_closure_on_chains(graph: &Digraph, reach: &Reach) {
        let is_on_chain = |node: u32| reach.chains().chain_of(node) != NONE;
        for from in 0..graph.node_count() as u32 {
            let seen = reached_from(graph, from);
            for (to, seen) in (0..).zip(seen).filter(|&(to, _)| is_on_chain(from) || is_on_chain(to)) {
                assert_eq!(reach.reaches(from, to), seen, "{from} to {to}");
                assert_eq!(reach.is_noted(from, to), seen, "{from} to {to}");
            }
        }
    }

    #[test]
    fn spreading_equals_rebuilding() {
        for edges in [vec![(2, 3)], vec![(1, 4), (3, 2)], vec![(1, 6), (6, 5)], vec![(5, 6), (6, 0)]] {
            let (mut graph, mut reach) = chained();
            let order = topological_order(&graph).unwrap();
            let edges: Vec<EdgeId> = edges.iter().map(|&(from, to)| graph.add(from, to)).collect();
            reach.spread(&graph, &edges, &order);
            assert_exact(&graph, &reach);
            let (_, mut rebuilt) = chained();
            rebuild(&mut rebuilt, &graph);
            assert_eq!(reach.forward.rows, rebuilt.forward.rows);
            assert_eq!(reach.backward.rows, rebuilt.backward.rows);
        }
    }

    /// On random graphs over chains of both widths: rebuilding in steps, and spreading what comes later.
    #[test]
    fn random_graphs_have_exact_closures() {
        let mut seed = 5u64;
        let mut random = |bound: u32| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((seed >> 33) % u64::from(bound)) as u32
        };
        for round in 0..200 {
            let mut graph = Digraph::new(30);
            let mut chains = Chains::new(30);
            for chain in 0..3 {
                // Two of eleven nodes are on no chain.
                let members: Vec<u32> = (0..30).filter(|node| node % 3 == chain && node % 11 > 1).collect();
                for pair in members.windows(2) {
                    graph.add(pair[0], pair[1]);
                }
                chains.add(members);
            }
            if round % 2 == 0 {
                chains.add_length(crate::SHORT_CHAIN + 1);
            }
            let mut reach = Reach::new(chains);
            for step in 0..4 {
                let order = topological_order(&graph).unwrap();
                let pairs = (0..random(12)).map(|_| (random(30), random(30)));
                let pairs: Vec<_> = pairs.filter(|(from, to)| from < to).collect();
                let edges: Vec<EdgeId> = pairs.iter().map(|&(from, to)| graph.add(from, to)).collect();
                if step < 2 {
                    pairs.iter().for_each(|&(from, to)| reach.note(from, to));
                    rebuild(&mut reach, &graph);
                } else {
                    reach.spread(&graph, &edges, &order);
                }
                assert_closure_on_chains(&graph, &reach);
            }
        }
    }

    #[test]
    fn improvements_are_told_once() {
        let (mut graph, mut reach) = chained();
        assert_eq!(tell(&mut reach), []);
        let edge = graph.add(1, 4);
        reach.spread(&graph, &[edge], &topological_order(&graph).unwrap());
        let told = tell(&mut reach);
        assert_eq!(told, [(0, 1, "forward"), (1, 1, "forward"), (4, 0, "backward"), (5, 0, "backward")]);
        assert_eq!(tell(&mut reach), []);
    }

    fn tell(reach: &mut Reach) -> Vec<(u32, u32, &'static str)> {
        let (mut nodes, mut improved, mut told) = (Vec::new(), Vec::new(), Vec::new());
        reach.take_queue(&mut nodes);
        for &node in &nodes {
            for (side, name) in [(Improved::Forward, "forward"), (Improved::Backward, "backward")] {
                reach.take_improved(side, node, &mut improved);
                told.extend(improved.iter().map(|&chain| (node, chain, name)));
            }
        }
        told.sort();
        told
    }
}
