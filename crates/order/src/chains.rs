//! Some nodes lined up in chains: each member of a chain is known to come before the next.
//!
//! A session is a chain. Nodes need not be on a chain; what reachability can say of them is then less.

use crate::NONE;

/// Chains over the nodes of a graph.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    chain_of: Vec<u32>,
    position_of: Vec<u32>,
    lengths: Vec<u32>,
}

impl Chains {
    /// No chain yet over this many nodes.
    pub fn new(node_count: usize) -> Self {
        Self { chain_of: vec![NONE; node_count], position_of: vec![NONE; node_count], lengths: Vec::new() }
    }

    /// Adds a chain; its nodes must be on no other.
    pub fn add(&mut self, nodes: impl IntoIterator<Item = u32>) {
        let chain = self.lengths.len() as u32;
        let mut length = 0;
        for node in nodes {
            debug_assert_eq!(self.chain_of[node as usize], NONE);
            self.chain_of[node as usize] = chain;
            self.position_of[node as usize] = length;
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
        self.chain_of.len()
    }

    /// The chain of a node, or [`NONE`].
    #[inline]
    pub fn chain_of(&self, node: u32) -> u32 {
        self.chain_of[node as usize]
    }

    /// The place of a node in its chain, or [`NONE`].
    #[inline]
    pub fn position_of(&self, node: u32) -> u32 {
        self.position_of[node as usize]
    }
}
