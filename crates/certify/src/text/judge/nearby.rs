//! Visible writers by a search backward from the reader.
//!
//! All steps lead backward in the order, so a way from a rival to the reader stays between the two. If they are near one
//! another, few nodes are there: of ten million operations of a causal store 12,000 reads have a rival, at a distance of
//! 150 transactions in the median, and clocks of all 500,000 transactions would say the same. The searches together may
//! take about as long as the clocks would; what they leave is decided by clocks.

use super::Hit;
use super::clocks::Walk;
use super::suspects::Suspect;

/// Clocks of so many sessions take about as long as one step.
const SESSIONS_A_STEP: usize = 16;

/// The part of all steps that one search may take.
const MOST_SHARE: usize = 16;

/// So many steps a search takes at least, in the mean.
const FEWEST_STEPS: usize = 8;

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
        Self::with_steps(walk, Self::most_steps(walk))
    }

    fn most_steps(walk: &Walk<'_>) -> usize {
        let nodes = 1..walk.facts.node_count() as u32;
        let sessions = nodes.filter(|&node| walk.facts.session_start(node) == node).count();
        (walk.facts.node_count() + walk.facts.reads().len()) * sessions.div_ceil(SESSIONS_A_STEP) / 2
    }

    /// With more suspects than this, searches would end before most of them are decided.
    pub(super) fn most_suspects(walk: &Walk<'_>) -> usize {
        Self::most_steps(walk) / FEWEST_STEPS
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
        let Some(first) = self.walk.rivals(suspect).last() else { return true };
        let is_only = suspect.rival_count() == 1;
        let bound = position[first as usize];
        let most_steps = self.steps / MOST_SHARE;
        self.round += 1;
        self.reached.clear();
        self.reached.push(suspect.reader);
        let (mut next, mut steps, mut is_backward) = (0, 0, true);
        while let Some(&node) = self.reached.get(next) {
            if steps >= most_steps || !is_backward {
                self.steps -= steps.min(self.steps);
                return false;
            }
            next += 1;
            self.walk.for_each_before(node, &mut |before| {
                steps += 1;
                let place = position[before as usize];
                is_backward &= place < position[node as usize];
                if place >= bound && self.stamp[before as usize] != self.round {
                    self.stamp[before as usize] = self.round;
                    self.reached.push(before);
                }
            });
            if is_only && self.stamp[first as usize] == self.round {
                break;
            }
        }
        self.steps -= steps.min(self.steps);
        is_backward
    }
}
