//! Visible writers by a search backward from the reader.
//!
//! All steps lead backward in the order, so a way from a rival to the reader stays between the two. If they are near one
//! another, few nodes are there: of ten million operations of a causal store 12,000 reads have a rival, at a distance of
//! 150 transactions in the median, and clocks of all 500,000 transactions would say the same. The searches together may
//! take half as many steps as the clocks have to join; what they leave is decided by clocks.

use super::Hit;
use super::clocks::Walk;
use super::suspects::Suspect;

/// How many nodes one search may pass.
const MOST_NODES: usize = 4_096;

/// Searches, with the columns that they share.
pub(super) struct Nearby<'w> {
    walk: &'w Walk<'w>,
    /// The search that reached each node.
    stamp: Vec<u32>,
    round: u32,
    /// The nodes that were reached.
    reached: Vec<u32>,
    /// How many steps may still be taken.
    steps: usize,
}

impl<'w> Nearby<'w> {
    pub(super) fn new(walk: &'w Walk<'w>) -> Self {
        let steps = (walk.facts.node_count() + walk.facts.reads().len()) / 2;
        Self::with_steps(walk, steps)
    }

    pub(super) fn with_steps(walk: &'w Walk<'w>, steps: usize) -> Self {
        Self { walk, stamp: vec![0; walk.facts.node_count()], round: 0, reached: Vec::new(), steps }
    }

    /// Adds the hits of the suspects that a search decides, and keeps the others.
    pub(super) fn take_decided(&mut self, suspects: &mut Vec<Suspect>, part: u32, hits: &mut Vec<Hit>) {
        suspects.retain(|suspect| {
            let is_decided = self.search(suspect);
            if is_decided {
                let is_reached = |node: u32| self.stamp[node as usize] == self.round;
                self.walk.add_seen(suspect, part, hits, is_reached);
            }
            !is_decided
        });
    }

    /// Reaches all nodes that lead to the reader and are not before its first rival; whether that succeeded.
    fn search(&mut self, suspect: &Suspect) -> bool {
        let position = &self.walk.witness.position;
        if self.walk.has_many_rivals(suspect) {
            return false;
        }
        let Some(first) = self.walk.rivals(suspect).last() else { return true };
        let bound = position[first as usize];
        self.round += 1;
        self.reached.clear();
        self.reached.push(suspect.reader);
        let (mut next, mut is_backward) = (0, true);
        while let Some(&node) = self.reached.get(next) {
            if self.steps == 0 || next == MOST_NODES || !is_backward {
                return false;
            }
            next += 1;
            self.walk.for_each_before(node, &mut |before| {
                self.steps = self.steps.saturating_sub(1);
                let place = position[before as usize];
                is_backward &= place < position[node as usize];
                if place >= bound && self.stamp[before as usize] != self.round {
                    self.stamp[before as usize] = self.round;
                    self.reached.push(before);
                }
            });
        }
        is_backward
    }
}
