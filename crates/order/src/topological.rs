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
