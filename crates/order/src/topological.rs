//! Topological orders from scratch (Kahn 1962), plain or by priority. O(edges), and a heap for the priorities.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Digraph;

/// Some topological order, or `None` if there is a cycle.
pub fn topological_order(graph: &Digraph) -> Option<Vec<u32>> {
    let mut waiting = in_degrees(graph);
    let mut order: Vec<u32> =
        (0..graph.node_count() as u32).filter(|&node| waiting[node as usize] == 0).collect();
    let mut next = 0;
    while next < order.len() {
        let node = order[next];
        next += 1;
        for (_, to) in graph.out_edges(node) {
            waiting[to as usize] -= 1;
            if waiting[to as usize] == 0 {
                order.push(to);
            }
        }
    }
    (order.len() == graph.node_count()).then_some(order)
}

/// The topological order that takes, of the nodes that may come next, one with the smallest priority.
pub fn topological_order_by(graph: &Digraph, priority: impl Fn(u32) -> u64) -> Option<Vec<u32>> {
    let mut waiting = in_degrees(graph);
    let roots = (0..graph.node_count() as u32).filter(|&node| waiting[node as usize] == 0);
    let mut ready: BinaryHeap<_> = roots.map(|node| Reverse((priority(node), node))).collect();
    let mut order = Vec::with_capacity(graph.node_count());
    while let Some(Reverse((_, node))) = ready.pop() {
        order.push(node);
        for (_, to) in graph.out_edges(node) {
            waiting[to as usize] -= 1;
            if waiting[to as usize] == 0 {
                ready.push(Reverse((priority(to), to)));
            }
        }
    }
    (order.len() == graph.node_count()).then_some(order)
}

fn in_degrees(graph: &Digraph) -> Vec<u32> {
    let mut degrees = vec![0; graph.node_count()];
    for id in 0..graph.edge_count() as u32 {
        degrees[graph.edge(id).to as usize] += 1;
    }
    degrees
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
