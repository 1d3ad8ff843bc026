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
        self.find_within(graph, from, to, cost, may_pass, u32::MAX, &mut u64::MAX.clone())
    }

    /// The same for paths that cost at most so much, looking at no more than so many edges; what was looked at is
    /// taken off.
    #[expect(clippy::too_many_arguments, reason = "a search, its ends and its two limits")]
    fn find_within(
        &mut self,
        graph: &Digraph,
        from: u32,
        to: u32,
        cost: impl Fn(EdgeId) -> Option<u32>,
        may_pass: impl Fn(u32) -> bool,
        most: u32,
        steps: &mut u64,
    ) -> Option<Vec<EdgeId>> {
        self.round += 1;
        self.buckets.iter_mut().for_each(Vec::clear);
        self.relax(graph, from, 0, to, &cost, &may_pass, steps);
        let mut current = 0;
        while current < self.buckets.len() && current <= most as usize && *steps > 0 {
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
            self.relax(graph, node, current as u32, to, &cost, &may_pass, steps);
        }
        None
    }

    #[expect(clippy::too_many_arguments, reason = "a step of the search above")]
    fn relax(
        &mut self,
        graph: &Digraph,
        node: u32,
        so_far: u32,
        target: u32,
        cost: &impl Fn(EdgeId) -> Option<u32>,
        may_pass: &impl Fn(u32) -> bool,
        steps: &mut u64,
    ) {
        for (edge, to) in graph.out_edges(node) {
            *steps = steps.saturating_sub(1);
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

/// A cheapest cycle through one of the given nodes, which must be the nodes of one component, and among equally cheap
/// ones one with few edges; stops looking for a better one after so many edges.
///
/// A search goes no further than the best cycle so far. So in a sparse component of thousands of nodes every node has its
/// search: 5,000 nodes with two edges each take 0.2 million edges.
pub fn cheapest_cycle(
    graph: &Digraph,
    nodes: &[u32],
    cost: impl Fn(EdgeId) -> Option<u32>,
    steps: u64,
) -> Option<Vec<EdgeId>> {
    let mut search = PathSearch::new(graph.node_count());
    let mut inside = vec![false; graph.node_count()];
    nodes.iter().for_each(|&node| inside[node as usize] = true);
    let may_pass = |node: u32| inside[node as usize];
    let mut best: Option<(u32, Vec<EdgeId>)> = None;
    let mut steps = steps;
    for &node in nodes {
        // The search for a first cycle has no limit.
        let found = match &best {
            None => search.find(graph, node, node, &cost, may_pass),
            Some(_) if steps == 0 => break,
            Some((most, _)) => search.find_within(graph, node, node, &cost, may_pass, *most, &mut steps),
        };
        let Some(cycle) = found else { continue };
        let price = search.cost_of(node);
        if best.as_ref().is_none_or(|(known, cycle_known)| (price, cycle.len()) < (*known, cycle_known.len()))
        {
            best = Some((price, cycle));
        }
    }
    best.map(|(_, cycle)| cycle)
}

/// A cheapest cycle of the graph, as far as looking at so many edges shows: a search from each node that is on a cycle,
/// which goes no further than the best cycle so far. A cycle that costs `enough` ends the search.
pub fn shortest_cycle(
    graph: &Digraph,
    cost: impl Fn(EdgeId) -> u32,
    enough: u32,
    steps: u64,
) -> Option<Vec<EdgeId>> {
    let components = crate::components(graph.node_count(), |node| graph.out_edges(node).map(|(_, to)| to));
    let sizes = components.sizes();
    let component = |node: u32| components.of[node as usize];
    let mut search = PathSearch::new(graph.node_count());
    let mut best: Option<(u32, Vec<EdgeId>)> = None;
    let mut steps = steps;
    for start in 0..graph.node_count() as u32 {
        if sizes[component(start) as usize] < 2 {
            continue;
        }
        let most = match &best {
            Some((price, _)) if *price <= enough => break,
            // The search for a first cycle has no limit.
            None => u32::MAX,
            Some(_) if steps == 0 => break,
            Some((price, _)) => price - 1,
        };
        let mut unlimited = u64::MAX;
        let left = if best.is_none() { &mut unlimited } else { &mut steps };
        let may_pass = |node| component(node) == component(start);
        let found = search.find_within(graph, start, start, |edge| Some(cost(edge)), may_pass, most, left);
        best = found.map(|cycle| (search.cost_of(start), cycle)).or(best);
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
    fn the_shortest_cycle_of_all_components() {
        let mut graph = Digraph::new(7);
        for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 4)] {
            graph.add(from, to);
        }
        assert_eq!(shortest_cycle(&graph, |_| 1, 2, 1000), Some(vec![4, 5, 6]));
        assert_eq!(shortest_cycle(&graph, |edge| u32::from(edge > 3) * 2, 2, 1000), Some(vec![0, 1, 2, 3]));
        assert_eq!(shortest_cycle(&Digraph::new(3), |_| 1, 2, 1000), None);
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

    #[test]
    fn the_cheapest_cycle_may_be_far_from_the_first_node() {
        let count = 1000;
        let mut graph = Digraph::new(count);
        for node in 0..count as u32 {
            graph.add(node, (node + 1) % count as u32);
        }
        let back = graph.add(700, 698);
        let nodes: Vec<u32> = (0..count as u32).collect();
        assert_eq!(cheapest_cycle(&graph, &nodes, |_| Some(1), 2_000_000), Some(vec![698, 699, back]));
        assert_eq!(cheapest_cycle(&graph, &nodes, |_| Some(1), 0).map(|cycle| cycle.len()), Some(count));
    }
}
