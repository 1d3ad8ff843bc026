//! A directed graph that only grows: edges in one column, threaded into a list of successors and one of predecessors
//! for each node.
//!
//! An edge is 16 bytes and no allocation of its own; its number says when it was added, which is what a proof needs to
//! know which edges another one may rest on.

use crate::NONE;

/// The number of an edge, in order of insertion.
pub type EdgeId = u32;

/// An edge with its place in two lists.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Where it starts.
    pub from: u32,
    /// Where it ends.
    pub to: u32,
    next_out: EdgeId,
    next_in: EdgeId,
}

/// A directed graph.
#[derive(Clone, Debug, Default)]
pub struct Digraph {
    first_out: Vec<EdgeId>,
    first_in: Vec<EdgeId>,
    edges: Vec<Edge>,
}

impl Digraph {
    /// A graph with this many nodes and no edge.
    pub fn new(node_count: usize) -> Self {
        Self { first_out: vec![NONE; node_count], first_in: vec![NONE; node_count], edges: Vec::new() }
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.first_out.len()
    }

    /// How many edges there are.
    pub fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// Makes room for this many more edges.
    pub fn reserve(&mut self, edges: usize) {
        self.edges.reserve(edges);
    }

    /// Adds an edge, even if there is one like it.
    #[inline]
    pub fn add(&mut self, from: u32, to: u32) -> EdgeId {
        let id = self.edges.len() as EdgeId;
        let edge =
            Edge { from, to, next_out: self.first_out[from as usize], next_in: self.first_in[to as usize] };
        self.edges.push(edge);
        self.first_out[from as usize] = id;
        self.first_in[to as usize] = id;
        id
    }

    /// Takes back all edges from this number on.
    pub fn truncate(&mut self, edge_count: usize) {
        while self.edges.len() > edge_count {
            let edge = self.edges[self.edges.len() - 1];
            self.first_out[edge.from as usize] = edge.next_out;
            self.first_in[edge.to as usize] = edge.next_in;
            self.edges.pop();
        }
    }

    /// An edge.
    #[inline]
    pub fn edge(&self, id: EdgeId) -> Edge {
        self.edges[id as usize]
    }

    /// The edges that leave a node, newest first.
    #[inline]
    pub fn out_edges(&self, node: u32) -> impl Iterator<Item = (EdgeId, u32)> + '_ {
        let mut next = self.first_out[node as usize];
        std::iter::from_fn(move || {
            let edge = self.edges.get(next as usize)?;
            let id = std::mem::replace(&mut next, edge.next_out);
            Some((id, edge.to))
        })
    }

    /// The edges that enter a node, newest first.
    #[inline]
    pub fn in_edges(&self, node: u32) -> impl Iterator<Item = (EdgeId, u32)> + '_ {
        let mut next = self.first_in[node as usize];
        std::iter::from_fn(move || {
            let edge = self.edges.get(next as usize)?;
            let id = std::mem::replace(&mut next, edge.next_in);
            Some((id, edge.from))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_newest_first_and_truncate_takes_back() {
        let mut graph = Digraph::new(3);
        graph.add(0, 1);
        graph.add(0, 2);
        graph.add(1, 2);
        assert_eq!(graph.out_edges(0).collect::<Vec<_>>(), [(1, 2), (0, 1)]);
        assert_eq!(graph.in_edges(2).collect::<Vec<_>>(), [(2, 1), (1, 0)]);
        graph.truncate(1);
        assert_eq!(graph.out_edges(0).collect::<Vec<_>>(), [(0, 1)]);
        assert_eq!(graph.in_edges(2).count(), 0);
    }
}
