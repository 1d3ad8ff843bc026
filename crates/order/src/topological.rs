//! Topological orders from scratch (Kahn 1962), plain or by priority. O(edges), and a heap for the priorities.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Digraph, Flat};

/// Some topological order, or `None` if there is a cycle.
pub fn topological_order(graph: &Digraph) -> Option<Vec<u32>> {
    topological_order_of(&Flat::successors(graph))
}

/// Some topological order of a graph given by its successors, or `None` if there is a cycle.
pub fn topological_order_of(successors: &Flat) -> Option<Vec<u32>> {
    let mut waiting = successors.degrees();
    let mut order: Vec<u32> = Vec::with_capacity(waiting.len());
    order.extend((0..waiting.len() as u32).filter(|&node| waiting[node as usize] == 0));
    let mut next = 0;
    while next < order.len() {
        for &to in successors.of(order[next]) {
            waiting[to as usize] -= 1;
            if waiting[to as usize] == 0 {
                order.push(to);
            }
        }
        next += 1;
    }
    (order.len() == waiting.len()).then_some(order)
}

/// The topological order that takes the roots one after the other, each directly after what still has to come before
/// it; of the predecessors of a node the one whose edge was added first comes last. The graph has no cycle; nodes from
/// which no root can be reached are left out. O(edges).
pub fn late_order(graph: &Digraph, roots: impl Iterator<Item = u32>) -> Vec<u32> {
    let predecessors = Flat::predecessors(graph);
    let mut is_seen = vec![false; graph.node_count()];
    let mut order = Vec::with_capacity(graph.node_count());
    let mut path: Vec<(u32, usize)> = Vec::new();
    for root in roots {
        if !std::mem::replace(&mut is_seen[root as usize], true) {
            path.push((root, predecessors.of(root).len()));
        }
        while let Some((node, left)) = path.last_mut() {
            if *left == 0 {
                order.push(*node);
                path.pop();
                continue;
            }
            *left -= 1;
            let before = predecessors.of(*node)[*left];
            if !std::mem::replace(&mut is_seen[before as usize], true) {
                path.push((before, predecessors.of(before).len()));
            }
        }
    }
    order
}

/// The topological order that takes, of the nodes that may come next, one with the smallest priority.
pub fn topological_order_by(graph: &Digraph, priority: impl Fn(u32) -> u64) -> Option<Vec<u32>> {
    let successors = Flat::successors(graph);
    let mut waiting = successors.degrees();
    let roots = (0..graph.node_count() as u32).filter(|&node| waiting[node as usize] == 0);
    let mut ready: BinaryHeap<_> = roots.map(|node| Reverse((priority(node), node))).collect();
    let mut order = Vec::with_capacity(graph.node_count());
    while let Some(Reverse((_, node))) = ready.pop() {
        order.push(node);
        for &to in successors.of(node) {
            waiting[to as usize] -= 1;
            if waiting[to as usize] == 0 {
                ready.push(Reverse((priority(to), to)));
            }
        }
    }
    (order.len() == graph.node_count()).then_some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_order_brings_nodes_only_when_they_are_needed() {
        let mut graph = Digraph::new(5);
        for (from, to) in [(0, 1), (2, 3), (2, 1)] {
            graph.add(from, to);
        }
        assert_eq!(late_order(&graph, [1, 3].into_iter()), [2, 0, 1, 3]);
        assert_eq!(late_order(&graph, [3, 1].into_iter()), [2, 3, 0, 1]);
    }

    #[test]
    fn priorities_break_ties_and_cycles_are_seen() {
        let mut graph = Digraph::new(4);
        graph.add(3, 0);
        assert_eq!(topological_order_by(&graph, u64::from), Some(vec![1, 2, 3, 0]));
        assert_eq!(topological_order_by(&graph, |node| u64::from(9 - node)), Some(vec![3, 2, 1, 0]));
        graph.add(0, 3);
        assert_eq!(topological_order(&graph), None);
        assert_eq!(topological_order_by(&graph, |_| 0), None);
    }
}
