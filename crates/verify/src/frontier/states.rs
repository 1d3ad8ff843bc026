//! States of the search over frontiers, end to end in one column of words.
//!
//! The words of a state are its positions and what each key holds. How many reads and writes of a value are left follows
//! from the positions; it is counted for a state when those that follow it are made.

use std::ops::Range;

use order::NONE;
use rustc_hash::FxHashSet;

use crate::problem::INITIAL;
use crate::steps::Steps;

/// Where the words of a state are.
pub(super) struct Layout {
    pub rows: Vec<Range<u32>>,
    pub key_count: usize,
}

/// Where a state comes from: a state of the layer before, and the row whose next transaction was taken.
#[derive(Clone, Copy)]
pub(super) struct Parent {
    pub state: u32,
    pub row: u32,
}

impl Layout {
    pub(super) fn new(steps: &Steps) -> Self {
        Self { rows: steps.rows.clone(), key_count: steps.key_count }
    }

    /// How many words a state has.
    pub(super) fn stride(&self) -> usize {
        self.rows.len() + self.key_count
    }

    /// The state before any transaction.
    pub(super) fn first(&self) -> States {
        let mut words = vec![0; self.rows.len()];
        words.resize(self.stride(), INITIAL);
        States { words, parents: vec![Parent { state: 0, row: 0 }], is_cut: false }
    }

    pub(super) fn positions<'w>(&self, words: &'w [u32]) -> &'w [u32] {
        &words[..self.rows.len()]
    }

    pub(super) fn holders<'w>(&self, words: &'w [u32]) -> &'w [u32] {
        &words[self.rows.len()..]
    }

    /// The next transaction of a row, if there is one.
    #[inline]
    pub(super) fn next(&self, words: &[u32], row: usize) -> Option<u32> {
        let step = self.rows[row].start + words[row];
        (step < self.rows[row].end).then_some(step)
    }

    /// The rows whose next transaction sees what is there; one alone if it changes nothing.
    pub(super) fn rows_that_fit(&self, steps: &Steps, words: &[u32], takes_equal: bool) -> Vec<u32> {
        let holders = self.holders(words);
        let mut fitting = Vec::new();
        for row in 0..self.rows.len() {
            let Some(step) = self.next(words, row) else { continue };
            let accesses = steps.accesses_of(step);
            if !accesses.iter().all(|access| access.fits(holders[access.key as usize])) {
                continue;
            }
            let changes_nothing = accesses.iter().all(|access| {
                access.write == NONE || (takes_equal && access.write == holders[access.key as usize])
            });
            if changes_nothing {
                return vec![row as u32];
            }
            fitting.push(row as u32);
        }
        fitting
    }

    /// Takes the next transaction of a row, and gives its number.
    fn take(&self, steps: &Steps, words: &mut [u32], row: u32) -> u32 {
        let step = self.rows[row as usize].start + words[row as usize];
        words[row as usize] += 1;
        let holders = &mut words[self.rows.len()..];
        for access in steps.accesses_of(step).iter().filter(|access| access.write != NONE) {
            holders[access.key as usize] = access.write;
        }
        step
    }
}

/// The states after so many transactions.
pub(super) struct States {
    words: Vec<u32>,
    pub parents: Vec<Parent>,
    /// Whether there were more that were not kept.
    pub is_cut: bool,
}

impl States {
    pub(super) fn len(&self) -> usize {
        self.parents.len()
    }

    pub(super) fn words(&self, layout: &Layout, state: usize) -> &[u32] {
        &self.words[state * layout.stride()..][..layout.stride()]
    }

    /// Keeps only where the states come from.
    pub(super) fn forget_words(&mut self) {
        self.words = Vec::new();
    }
}

/// States that may come next.
pub(super) struct Next {
    seed: u64,
    seen: FxHashSet<u64>,
    /// Costs, with some bits of the hash to break ties, and where the states come from.
    candidates: Vec<(u64, Parent)>,
    child: Vec<u32>,
}

impl Next {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, seen: FxHashSet::default(), candidates: Vec::new(), child: Vec::new() }
    }

    /// Notes the state that follows another, unless it is known or has no cost, which means that it leads nowhere. The
    /// cost is asked for with the words of the state and the transaction that was taken.
    pub(super) fn consider(
        &mut self,
        layout: &Layout,
        steps: &Steps,
        words: &[u32],
        parent: Parent,
        cost: impl FnOnce(&[u32], u32) -> Option<u32>,
    ) {
        self.child.clear();
        self.child.extend_from_slice(words);
        let step = layout.take(steps, &mut self.child, parent.row);
        let hash = hash(self.seed, self.child.iter().copied());
        if !self.seen.insert(hash) {
            return;
        }
        if let Some(cost) = cost(&self.child, step) {
            self.candidates.push((u64::from(cost) << 32 | (hash & 0xffff_ffff), parent));
        }
    }

    /// The cheapest of the states, so many at most.
    pub(super) fn best(mut self, layout: &Layout, steps: &Steps, old: &States, width: usize) -> States {
        let is_cut = self.candidates.len() > width;
        if is_cut {
            self.candidates.select_nth_unstable_by_key(width, |&(cost, _)| cost);
            self.candidates.truncate(width);
        }
        let mut states = States {
            words: Vec::with_capacity(self.candidates.len() * layout.stride()),
            parents: self.candidates.iter().map(|&(_, parent)| parent).collect(),
            is_cut,
        };
        for &(_, parent) in &self.candidates {
            let start = states.words.len();
            states.words.extend_from_slice(old.words(layout, parent.state as usize));
            layout.take(steps, &mut states.words[start..], parent.row);
        }
        states
    }
}

/// A hash of words.
pub(super) fn hash(seed: u64, words: impl IntoIterator<Item = impl Into<u64>>) -> u64 {
    let mix = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = words.into_iter().map(Into::into).fold(seed ^ 0x51ed_270b, mix);
    hash ^ (hash >> 29)
}
