//! How far a state of the search over frontiers is from going on.
//!
//! A session whose next transaction waits for a value costs the distance to the next write of that value in another
//! session. A session that is behind the others costs the square of that. And where values are few, more reads than
//! writes that are left of a value cost: a state that used up the writes of a value without its readers ends long before
//! the others. A state in which a read waits for a value that is never written again has no cost: it leads nowhere.
//!
//! A row of distances for each value that is read: one byte for each transaction. What is left of a value at a position
//! is in a table of its own, where values and sessions are few.

use crate::problem::INITIAL;
use crate::steps::{Access, Steps};

use super::states::Layout;

/// The largest table of distances, in bytes.
const LARGEST_TABLE: usize = 1 << 26;

/// The most values times sessions for which what is left of each value is counted.
const FEW_COUNTS: usize = 1024;

/// The cost of one transaction that a session waits for.
const UNIT: u32 = 8;

/// The largest distance that is told apart, and the one of a value that is not written again.
const FAR: u8 = 64;
const NEVER: u8 = u8::MAX;

/// What counts how much.
#[derive(Clone, Copy)]
pub(super) struct Weights {
    pub balance: Balance,
    /// How much it counts that a session is behind the others.
    pub behind: u32,
}

/// How much it counts that more of a value is left to read than to write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Balance {
    Ignored,
    /// The ratio.
    Ratio,
    /// The ratio, times the reads that are left.
    Weighted,
}

/// What the costs of states are computed from.
pub(super) struct Cost {
    /// For each value that is read a row, with for each session and position how far the next write of it is.
    distances: Vec<u8>,
    /// For each session and position a row: how many reads and writes of each value the rest of the session has. Empty
    /// if values are many.
    rest: Vec<Left>,
    row_start: Vec<usize>,
    width: usize,
    /// For each value that is read its key, and whether the initial state fits it too.
    key_of: Vec<(u32, bool)>,
}

/// How many reads and writes of a value are left.
#[derive(Clone, Copy, Default)]
pub(super) struct Left {
    reads: u32,
    writes: u32,
}

impl Cost {
    /// `None` if the tables would be too large.
    pub(super) fn new(steps: &Steps, layout: &Layout) -> Option<Self> {
        let (width, values) = (steps.len() + layout.rows.len(), steps.value_count);
        if values.saturating_mul(width) > LARGEST_TABLE {
            return None;
        }
        let mut key_of = vec![(0, false); values];
        for access in &steps.accesses {
            if let Some(entry) = key_of.get_mut(access.read as usize) {
                *entry = (access.key, entry.1 || access.initial);
            }
        }
        let counts =
            values * layout.rows.len() <= FEW_COUNTS && values * width * size_of::<Left>() <= LARGEST_TABLE;
        let rest = vec![Left::default(); if counts { values * width } else { 0 }];
        let distances = vec![NEVER; values * width];
        let mut cost = Self { distances, rest, row_start: Vec::new(), width, key_of };
        cost.find_distances(steps, layout);
        if counts {
            cost.count_rest(steps, layout);
        }
        Some(cost)
    }

    /// Whether what is left of each value is counted.
    pub(super) fn counts(&self) -> bool {
        !self.rest.is_empty()
    }

    fn count_rest(&mut self, steps: &Steps, layout: &Layout) {
        let values = self.key_of.len();
        for (row, &start) in layout.rows.iter().zip(&self.row_start) {
            for step in row.clone().rev() {
                let at = (start + (step - row.start) as usize) * values;
                self.rest.copy_within(at + values..at + 2 * values, at);
                for access in steps.accesses_of(step) {
                    count(&mut self.rest[at..at + values], access, 1);
                }
            }
        }
    }

    /// What is left of each value at the positions of a state.
    pub(super) fn left(&self, layout: &Layout, words: &[u32], left: &mut Vec<Left>) {
        let values = if self.counts() { self.key_of.len() } else { 0 };
        left.clear();
        left.resize(values, Left::default());
        for (&start, &position) in self.row_start.iter().zip(layout.positions(words)) {
            let at = (start + position as usize) * values;
            for (sum, rest) in left.iter_mut().zip(&self.rest[at..]) {
                sum.reads += rest.reads;
                sum.writes += rest.writes;
            }
        }
    }

    fn find_distances(&mut self, steps: &Steps, layout: &Layout) {
        let mut start = 0;
        for row in &layout.rows {
            self.row_start.push(start);
            for step in row.clone().rev() {
                let at = start + (step - row.start) as usize;
                for value in 0..self.key_of.len() {
                    let behind = self.distances[value * self.width + at + 1];
                    let distance = if behind == NEVER { NEVER } else { FAR.min(behind + 1) };
                    self.distances[value * self.width + at] = distance;
                }
                for access in steps.accesses_of(step) {
                    if let Some(row) = self.distances.get_mut(access.write as usize * self.width + at)
                        && (access.write as usize) < self.key_of.len()
                    {
                        *row = 0;
                    }
                }
            }
            start += row.len() + 1;
        }
    }

    /// The cost of a state that a transaction led to; `None` if it leads nowhere. What is left is told for the state
    /// before the transaction.
    pub(super) fn of(
        &self,
        layout: &Layout,
        steps: &Steps,
        (words, step): (&[u32], u32),
        left: &mut [Left],
        weights: Weights,
    ) -> Option<u32> {
        let waiting = self.waiting(layout, steps, words, weights.behind)?;
        let accesses = steps.accesses_of(step);
        accesses.iter().for_each(|access| count(left, access, -1));
        let imbalance = self.imbalance(layout.holders(words), left, weights.balance);
        accesses.iter().for_each(|access| count(left, access, 1));
        Some(waiting.saturating_add(imbalance?))
    }

    fn waiting(&self, layout: &Layout, steps: &Steps, words: &[u32], weight: u32) -> Option<u32> {
        let (positions, holders) = (layout.positions(words), layout.holders(words));
        let mean = positions.iter().sum::<u32>() / positions.len() as u32;
        let mut cost = 0u32;
        for row in 0..positions.len() {
            let Some(step) = layout.next(words, row) else { continue };
            for access in steps.accesses_of(step) {
                if !access.fits(holders[access.key as usize]) {
                    cost += UNIT * u32::from(self.nearest(access.read, positions, row)?);
                }
            }
            let behind = mean.saturating_sub(positions[row]).min(1 << 12);
            cost = cost.saturating_add(2 * weight * behind * behind);
        }
        Some(cost)
    }

    /// How far the next write of a value in another row is.
    fn nearest(&self, value: u32, positions: &[u32], row: usize) -> Option<u8> {
        let distances = self.distances.get(value as usize * self.width..)?;
        let others = (0..positions.len()).filter(|&other| other != row);
        let nearest = others.map(|other| distances[self.row_start[other] + positions[other] as usize]).min();
        nearest.filter(|&distance| distance != NEVER)
    }

    /// How much more is left to read than to write; `None` if a value is to be read that is neither there nor written
    /// again.
    fn imbalance(&self, holders: &[u32], left: &[Left], balance: Balance) -> Option<u32> {
        let mut cost = 0u32;
        for (value, left) in left.iter().enumerate().filter(|(_, left)| left.reads > 0) {
            let (key, initial) = self.key_of[value];
            let holder = holders[key as usize];
            let is_there = holder == value as u32 || (initial && holder == INITIAL);
            let (reads, writes) = (left.reads, left.writes + u32::from(is_there));
            cost = cost.saturating_add(match balance {
                _ if writes == 0 => return None,
                Balance::Ignored => 0,
                Balance::Ratio => 4 * UNIT * reads / writes,
                Balance::Weighted => (4 * UNIT / 5).saturating_mul(reads).saturating_mul(reads) / writes,
            });
        }
        Some(cost)
    }
}

/// Counts an access as left, or no longer.
fn count(left: &mut [Left], access: &Access, change: i32) {
    if let Some(left) = left.get_mut(access.read as usize) {
        left.reads = left.reads.wrapping_add_signed(change);
    }
    if let Some(left) = left.get_mut(access.write as usize) {
        left.writes = left.writes.wrapping_add_signed(change);
    }
}
