//! Reachability by chains: for each node and chain, the first position it reaches and the last that reaches it.
//!
//! `a` reaches `b` iff `first[a][chain of b] <= position of b`: one look-up, and nodes x chains words instead of
//! nodes x nodes bits (10,000 transactions of 25 sessions: 1 MB, not 12; 100,000 of 50: 20 MB, not 1.25 GB).
//! Bringing everything up to date is one pass over the edges in topological order, O(edges x chains), which the
//! compiler turns into vector instructions; after one edge only the rows that improve are touched.
//!
//! Rows only ever improve. What one edge improves is remembered as a bit per node and chain until it is asked for, so
//! that whoever derives edges from reachability looks only at what is new; a pass over everything remembers nothing,
//! since it is followed by a look at everything.

use crate::rows::Rows;
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
    stack: Vec<u32>,
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
            stack: Vec::new(),
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
    pub fn rebuild(&mut self, successors: &Flat, order: &[u32]) {
        self.forget_improvements();
        let along = |&node: &u32| successors.of(node).iter().map(move |&to| (node, to));
        self.forward.rows.take_better(self.width, order.iter().rev().flat_map(along));
        let against = order.iter().flat_map(along).map(|(node, to)| (to, node));
        self.backward.rows.take_better(self.width, against);
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

    /// Brings everything up to date with one edge that was noted.
    pub fn spread(&mut self, graph: &Digraph, edge: EdgeId) {
        let edge = graph.edge(edge);
        self.improve(Improved::Forward, edge.from, edge.to);
        self.improve(Improved::Backward, edge.to, edge.from);
        self.stack.push(edge.from);
        while let Some(node) = self.stack.pop() {
            for (_, before) in graph.in_edges(node) {
                if self.improve(Improved::Forward, before, node) {
                    self.stack.push(before);
                }
            }
        }
        self.stack.push(edge.to);
        while let Some(node) = self.stack.pop() {
            for (_, after) in graph.out_edges(node) {
                if self.improve(Improved::Backward, after, node) {
                    self.stack.push(after);
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
        reach.rebuild(&Flat::successors(&graph), &topological_order(&graph).unwrap());
        (graph, reach)
    }

    fn assert_exact(graph: &Digraph, reach: &Reach) {
        for from in 0..graph.node_count() as u32 {
            let mut seen = vec![false; graph.node_count()];
            let mut stack = vec![from];
            while let Some(node) = stack.pop() {
                if !std::mem::replace(&mut seen[node as usize], true) {
                    stack.extend(graph.out_edges(node).map(|(_, to)| to));
                }
            }
            for (to, &seen) in seen.iter().enumerate() {
                assert_eq!(reach.reaches(from, to as u32), seen, "{from} to {to}");
            }
        }
    }

    #[test]
    fn spreading_equals_rebuilding() {
        for edges in [vec![(2, 3)], vec![(1, 4), (3, 2)], vec![(1, 6), (6, 5)], vec![(5, 6), (6, 0)]] {
            let (mut graph, mut reach) = chained();
            for &(from, to) in &edges {
                let edge = graph.add(from, to);
                reach.spread(&graph, edge);
            }
            assert_exact(&graph, &reach);
            let (_, mut rebuilt) = chained();
            rebuilt.rebuild(&Flat::successors(&graph), &topological_order(&graph).unwrap());
            assert_eq!(reach.forward.rows, rebuilt.forward.rows);
            assert_eq!(reach.backward.rows, rebuilt.backward.rows);
        }
    }

    #[test]
    fn improvements_are_told_once() {
        let (mut graph, mut reach) = chained();
        assert_eq!(tell(&mut reach), []);
        let edge = graph.add(1, 4);
        reach.spread(&graph, edge);
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
