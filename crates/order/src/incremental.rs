//! A topological order kept up to date while edges come and go (Pearce and Kelly 2006).
//!
//! An edge that agrees with the order costs nothing. One that does not is repaired by searching forward from its end
//! and backward from its start, only among nodes between the two in the order, and giving both finds their places
//! again, those before first. Taking edges back costs nothing either: the order stays valid.
//!
//! The edges known from the start never change and lie in flat arrays; those that come and go are threaded lists.
//! On a cycle the path shown is one with the fewest edges of the second kind, which makes the shortest conflict.

use std::collections::VecDeque;

use crate::{Digraph, EdgeId, Flat, NONE};

/// What became of an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// It is in the graph, with this number among the edges that come and go.
    Added(EdgeId),
    /// It would close a cycle and is not in the graph. The cycle without it: the path from its end to its start, as
    /// nodes with the edge that leads to each ([`NONE`] for the first node and for known edges).
    Cycle(Vec<(u32, EdgeId)>),
}

/// A graph with a topological order.
#[derive(Clone, Debug)]
pub struct IncrementalOrder {
    position: Vec<u32>,
    known_out: Flat,
    known_in: Flat,
    extra: Digraph,
    moved: Vec<u32>,
    stamp: Vec<u32>,
    round: u32,
    forward: Vec<u32>,
    backward: Vec<u32>,
    stack: Vec<u32>,
    places: Vec<u32>,
}

impl IncrementalOrder {
    /// The known graph, and a topological order of it.
    pub fn new(known: &Digraph, order: &[u32]) -> Self {
        let mut position = vec![0; known.node_count()];
        for (place, &node) in order.iter().enumerate() {
            position[node as usize] = place as u32;
        }
        Self {
            position,
            known_out: Flat::successors(known),
            known_in: Flat::predecessors(known),
            extra: Digraph::new(known.node_count()),
            moved: Vec::new(),
            stamp: vec![0; known.node_count()],
            round: 0,
            forward: Vec::new(),
            backward: Vec::new(),
            stack: Vec::new(),
            places: Vec::new(),
        }
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.position.len()
    }

    /// Whether the first node is before the second in the current order.
    #[inline]
    pub fn is_before(&self, a: u32, b: u32) -> bool {
        self.position[a as usize] < self.position[b as usize]
    }

    /// The place of a node in the current order.
    #[inline]
    pub fn position(&self, node: u32) -> u32 {
        self.position[node as usize]
    }

    /// The current order.
    pub fn order(&self) -> Vec<u32> {
        let mut order = vec![0; self.position.len()];
        for (node, &place) in self.position.iter().enumerate() {
            order[place as usize] = node as u32;
        }
        order
    }

    /// How many edges there are beyond the known ones.
    pub fn extra_count(&self) -> usize {
        self.extra.edge_count()
    }

    /// Takes back all edges beyond the known ones from this number on.
    pub fn truncate(&mut self, extra_count: usize) {
        self.extra.truncate(extra_count);
    }

    /// The nodes whose place changed since this was last asked.
    pub fn take_moved(&mut self, into: &mut Vec<u32>) {
        into.clear();
        std::mem::swap(into, &mut self.moved);
    }

    /// Adds an edge, and repairs the order.
    pub fn insert(&mut self, from: u32, to: u32) -> Inserted {
        let (low, high) = (self.position(to), self.position(from));
        if high < low {
            return Inserted::Added(self.extra.add(from, to));
        }
        if !self.search_forward(to, high, from) {
            return Inserted::Cycle(self.path_with_fewest_extras(to, from));
        }
        self.search_backward(from, low);
        self.reorder();
        Inserted::Added(self.extra.add(from, to))
    }

    /// Collects what `start` reaches up to a place; false if that includes `target`.
    fn search_forward(&mut self, start: u32, high: u32, target: u32) -> bool {
        self.round += 1;
        self.forward.clear();
        self.stack.clear();
        self.stack.push(start);
        self.stamp[start as usize] = self.round;
        while let Some(node) = self.stack.pop() {
            if node == target {
                return false;
            }
            self.forward.push(node);
            for &to in self.known_out.of(node) {
                if self.position[to as usize] <= high && self.stamp[to as usize] != self.round {
                    self.stamp[to as usize] = self.round;
                    self.stack.push(to);
                }
            }
            for (_, to) in self.extra.out_edges(node) {
                if self.position[to as usize] <= high && self.stamp[to as usize] != self.round {
                    self.stamp[to as usize] = self.round;
                    self.stack.push(to);
                }
            }
        }
        true
    }

    fn search_backward(&mut self, start: u32, low: u32) {
        self.round += 1;
        self.backward.clear();
        self.stack.push(start);
        self.stamp[start as usize] = self.round;
        while let Some(node) = self.stack.pop() {
            self.backward.push(node);
            for &from in self.known_in.of(node) {
                if self.position[from as usize] >= low && self.stamp[from as usize] != self.round {
                    self.stamp[from as usize] = self.round;
                    self.stack.push(from);
                }
            }
            for (_, from) in self.extra.in_edges(node) {
                if self.position[from as usize] >= low && self.stamp[from as usize] != self.round {
                    self.stamp[from as usize] = self.round;
                    self.stack.push(from);
                }
            }
        }
    }

    /// Gives the places of both finds to those before first, then to those after, each in their old order.
    fn reorder(&mut self) {
        let position = &mut self.position;
        self.backward.sort_unstable_by_key(|&node| position[node as usize]);
        self.forward.sort_unstable_by_key(|&node| position[node as usize]);
        self.places.clear();
        self.places.extend(self.backward.iter().chain(&self.forward).map(|&node| position[node as usize]));
        self.places.sort_unstable();
        for (&node, &place) in self.backward.iter().chain(&self.forward).zip(&self.places) {
            if position[node as usize] != place {
                position[node as usize] = place;
                self.moved.push(node);
            }
        }
    }

    fn path_with_fewest_extras(&mut self, start: u32, target: u32) -> Vec<(u32, EdgeId)> {
        let high = self.position(target);
        let mut parent: rustc_hash::FxHashMap<u32, (u32, EdgeId, u32)> = rustc_hash::FxHashMap::default();
        let mut queue = VecDeque::from([(start, 0)]);
        parent.insert(start, (NONE, NONE, 0));
        while let Some((node, cost)) = queue.pop_front() {
            if node == target {
                break;
            }
            if parent[&node].2 < cost {
                continue;
            }
            let known = self.known_out.of(node).iter().map(|&to| (NONE, to, 0));
            let extra = self.extra.out_edges(node).map(|(edge, to)| (edge, to, 1));
            for (edge, to, price) in known.chain(extra) {
                let total = cost + price;
                let is_better = parent.get(&to).is_none_or(|&(_, _, known)| total < known);
                if self.position[to as usize] <= high && is_better {
                    parent.insert(to, (node, edge, total));
                    if price == 0 {
                        queue.push_front((to, total))
                    } else {
                        queue.push_back((to, total))
                    };
                }
            }
        }
        let mut path = Vec::new();
        let mut node = target;
        while node != NONE {
            let (before, edge, _) = parent[&node];
            path.push((node, edge));
            node = before;
        }
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_valid(graph: &IncrementalOrder, edges: &[(u32, u32)]) {
        for &(from, to) in edges {
            assert!(graph.is_before(from, to), "{from} before {to}");
        }
        let mut order = graph.order();
        order.sort();
        assert!(order.iter().enumerate().all(|(place, &node)| place as u32 == node));
    }

    #[test]
    fn random_edges_keep_a_valid_order_or_show_a_cycle() {
        let mut seed = 7u64;
        let mut random = |bound: u32| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((seed >> 33) % u64::from(bound)) as u32
        };
        for _ in 0..200 {
            let mut known = Digraph::new(12);
            known.add(0, 1);
            known.add(5, 2);
            let mut edges = vec![(0, 1), (5, 2)];
            let order = crate::topological_order(&known).unwrap();
            let mut graph = IncrementalOrder::new(&known, &order);
            for _ in 0..40 {
                let (from, to) = (random(12), random(12));
                if from == to {
                    continue;
                }
                match graph.insert(from, to) {
                    Inserted::Added(_) => edges.push((from, to)),
                    Inserted::Cycle(path) => {
                        assert_eq!((path[0].0, path[path.len() - 1].0), (to, from));
                        for step in path.windows(2) {
                            assert!(edges.contains(&(step[0].0, step[1].0)));
                        }
                    }
                }
                assert_valid(&graph, &edges);
                if random(10) == 0 {
                    let keep = graph.extra_count() / 2;
                    graph.truncate(keep);
                    edges.truncate(keep + 2);
                }
            }
        }
    }
}
