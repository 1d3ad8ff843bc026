//! The neighbours of every node of a graph in two flat arrays, for passes that visit all edges.
//!
//! Made by counting, O(nodes + edges); following the threaded lists of a [`Digraph`] instead costs a cache miss for
//! each edge, which a pass over 60,000 edges notices.

use crate::{Digraph, Edge};

/// For each node its successors, or its predecessors.
#[derive(Clone, Debug)]
pub struct Flat {
    start: Vec<u32>,
    nodes: Vec<u32>,
}

impl Flat {
    /// Where the edges of each node lead.
    pub fn successors(graph: &Digraph) -> Self {
        Self::new(graph, |edge| (edge.from, edge.to))
    }

    /// Where the edges into each node come from.
    pub fn predecessors(graph: &Digraph) -> Self {
        Self::new(graph, |edge| (edge.to, edge.from))
    }

    fn new(graph: &Digraph, ends: impl Fn(Edge) -> (u32, u32)) -> Self {
        let mut start = vec![0u32; graph.node_count() + 2];
        let edges = || (0..graph.edge_count() as u32).map(|id| ends(graph.edge(id)));
        // Shifted by two, so that filling leaves the starts where they belong.
        edges().for_each(|(at, _)| start[at as usize + 2] += 1);
        for node in 2..start.len() {
            start[node] += start[node - 1];
        }
        let mut nodes = vec![0; graph.edge_count()];
        for (at, other) in edges() {
            let next = &mut start[at as usize + 1];
            nodes[*next as usize] = other;
            *next += 1;
        }
        start.pop();
        Self { start, nodes }
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.start.len() - 1
    }

    /// The neighbours of a node, in the order in which their edges were added.
    #[inline]
    pub fn of(&self, node: u32) -> &[u32] {
        &self.nodes[self.start[node as usize] as usize..self.start[node as usize + 1] as usize]
    }

    /// How many times each node is a neighbour.
    pub fn degrees(&self) -> Vec<u32> {
        let mut degrees = vec![0; self.node_count()];
        self.nodes.iter().for_each(|&node| degrees[node as usize] += 1);
        degrees
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_in_the_order_of_their_edges() {
        let mut graph = Digraph::new(4);
        for (from, to) in [(2, 1), (0, 1), (2, 0), (2, 3)] {
            graph.add(from, to);
        }
        let (out, into) = (Flat::successors(&graph), Flat::predecessors(&graph));
        assert_eq!(
            (out.of(0), out.of(1), out.of(2), out.of(3)),
            (&[1][..], &[][..], &[1, 0, 3][..], &[][..])
        );
        assert_eq!((into.of(0), into.of(1), into.of(3)), (&[2][..], &[2, 0][..], &[2][..]));
        assert_eq!(out.degrees(), [1, 2, 0, 1]);
        assert_eq!(Flat::successors(&Digraph::new(0)).node_count(), 0);
    }
}
