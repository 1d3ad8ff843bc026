//! Some nodes lined up in chains: each member of a chain is known to come before the next.
//!
//! A session is a chain. Nodes need not be on a chain; what reachability can say of them is then less.

use crate::NONE;

/// Chains over the nodes of a graph.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    /// For each node its chain and its position there.
    place_of: Vec<(u32, u32)>,
    lengths: Vec<u32>,
}

impl Chains {
    /// No chain yet over this many nodes.
    pub fn new(node_count: usize) -> Self {
        Self { place_of: vec![(NONE, NONE); node_count], lengths: Vec::new() }
    }

    /// Adds a chain; its nodes must be on no other.
    pub fn add(&mut self, nodes: impl IntoIterator<Item = u32>) {
        let chain = self.lengths.len() as u32;
        let mut length = 0;
        for node in nodes {
            debug_assert_eq!(self.chain_of(node), NONE);
            self.place_of[node as usize] = (chain, length);
            length += 1;
        }
        self.lengths.push(length);
    }

    /// How many chains there are.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there is no chain.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// How many nodes there are, on chains or not.
    pub fn node_count(&self) -> usize {
        self.place_of.len()
    }

    /// The length of the longest chain.
    pub fn longest(&self) -> u32 {
        self.lengths.iter().copied().max().unwrap_or(0)
    }

    /// The chain of a node and its place there, or twice [`NONE`].
    #[inline]
    pub fn place_of(&self, node: u32) -> (u32, u32) {
        self.place_of[node as usize]
    }

    /// The chain of a node, or [`NONE`].
    #[inline]
    pub fn chain_of(&self, node: u32) -> u32 {
        self.place_of[node as usize].0
    }

    /// The place of a node in its chain, or [`NONE`].
    #[inline]
    pub fn position_of(&self, node: u32) -> u32 {
        self.place_of[node as usize].1
    }

    /// For tests of what depends on the longest chain: one that is as long, without nodes.
    #[cfg(test)]
    pub(crate) fn add_length(&mut self, length: u32) {
        self.lengths.push(length);
    }
}
