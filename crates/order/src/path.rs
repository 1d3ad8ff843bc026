//! Cheapest paths with small integer costs (Dial 1969): what a proof shows of "a comes before b".
//!
//! The scratch columns are stamped, so that a search costs what it visits and not what the graph holds.

use crate::{Digraph, EdgeId, NONE};

/// Scratch space for searches in one graph.
#[derive(Clone, Debug)]
pub struct PathSearch {
    stamp: Vec<u32>,
    cost: Vec<u32>,
    via: Vec<EdgeId>,
    round: u32,
    buckets: Vec<Vec<u32>>,
}

impl PathSearch {
    /// For a graph with this many nodes.
    pub fn new(node_count: usize) -> Self {
        Self {
            stamp: vec![0; node_count],
            cost: vec![0; node_count],
            via: vec![NONE; node_count],
            round: 0,
            buckets: Vec::new(),
        }
    }

    /// The edges of a cheapest path from one node to another, over edges with a cost and nodes that may be passed.
    ///
    /// From a node to itself the path is a cycle with at least one edge. Costs are small numbers.
    pub fn find(
        &mut self,
        graph: &Digraph,
        from: u32,
        to: u32,
        cost: impl Fn(EdgeId) -> Option<u32>,
        may_pass: impl Fn(u32) -> bool,
    ) -> Option<Vec<EdgeId>> {
        self.round += 1;
        self.buckets.iter_mut().for_each(Vec::clear);
        self.relax(graph, from, 0, to, &cost, &may_pass);
        let mut current = 0;
        while current < self.buckets.len() {
            let Some(node) = self.buckets[current].pop() else {
                current += 1;
                continue;
            };
            if self.cost[node as usize] != current as u32 {
                continue;
            }
            if node == to {
                return Some(self.trace(graph, from, to));
            }
            self.relax(graph, node, current as u32, to, &cost, &may_pass);
        }
        None
    }

    fn relax(
        &mut self,
        graph: &Digraph,
        node: u32,
        so_far: u32,
        target: u32,
        cost: &impl Fn(EdgeId) -> Option<u32>,
        may_pass: &impl Fn(u32) -> bool,
    ) {
        for (edge, to) in graph.out_edges(node) {
            let Some(price) = cost(edge) else { continue };
            if to != target && !may_pass(to) {
                continue;
            }
            let total = so_far + price;
            let row = to as usize;
            if self.stamp[row] != self.round || total < self.cost[row] {
                self.stamp[row] = self.round;
                self.cost[row] = total;
                self.via[row] = edge;
                if self.buckets.len() <= total as usize {
                    self.buckets.resize_with(total as usize + 1, Vec::new);
                }
                self.buckets[total as usize].push(to);
            }
        }
    }

    fn trace(&self, graph: &Digraph, from: u32, to: u32) -> Vec<EdgeId> {
        let mut path = Vec::new();
        let mut node = to;
        loop {
            let edge = self.via[node as usize];
            path.push(edge);
            node = graph.edge(edge).from;
            if node == from {
                break;
            }
        }
        path.reverse();
        path
    }

    /// What the last search that found a path paid for it.
    pub fn cost_of(&self, to: u32) -> u32 {
        self.cost[to as usize]
    }
}

/// A cheapest cycle through one of the given nodes, which must be the nodes of one component; stops looking for a
/// cheaper one after this many tries.
pub fn cheapest_cycle(
    graph: &Digraph,
    nodes: &[u32],
    cost: impl Fn(EdgeId) -> Option<u32>,
    tries: usize,
) -> Option<Vec<EdgeId>> {
    let mut search = PathSearch::new(graph.node_count());
    let mut inside = vec![false; graph.node_count()];
    nodes.iter().for_each(|&node| inside[node as usize] = true);
    let mut best: Option<(u32, Vec<EdgeId>)> = None;
    for &node in nodes.iter().take(tries) {
        let Some(cycle) = search.find(graph, node, node, &cost, |node| inside[node as usize]) else {
            continue;
        };
        let price = search.cost_of(node);
        if best.as_ref().is_none_or(|(known, cycle_known)| (price, cycle.len()) < (*known, cycle_known.len()))
        {
            best = Some((price, cycle));
        }
    }
    best.map(|(_, cycle)| cycle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheaper_of_two_ways_is_taken() {
        let mut graph = Digraph::new(4);
        let dear = graph.add(0, 3);
        let cheap = [graph.add(0, 1), graph.add(1, 2), graph.add(2, 3)];
        let mut search = PathSearch::new(4);
        let cost = |edge| Some(if edge == dear { 3 } else { 0 });
        assert_eq!(search.find(&graph, 0, 3, cost, |_| true), Some(cheap.to_vec()));
        assert_eq!(search.find(&graph, 0, 3, cost, |node| node != 2), Some(vec![dear]));
        assert_eq!(search.find(&graph, 3, 0, cost, |_| true), None);
    }

    #[test]
    fn a_cycle_comes_back_to_its_start() {
        let mut graph = Digraph::new(3);
        graph.add(0, 1);
        graph.add(1, 2);
        graph.add(2, 0);
        graph.add(1, 0);
        assert_eq!(cheapest_cycle(&graph, &[0, 1, 2], |_| Some(1), 10), Some(vec![0, 3]));
    }
}
