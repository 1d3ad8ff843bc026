//! How much a recording could have shown, from some of its pieces.
//!
//! Transactions that meet are near one another in the recording, so pieces can be counted by themselves; pairs across the
//! end of a piece are few. Pieces at equal distances are counted, and the rest is taken to be like them. The error comes
//! from how much the pieces differ.

use history::{History, Outcome};

use crate::LazyIndex;
use crate::chances::{ChanceErrors, Chances};

/// So many pieces are counted.
const SLICES: usize = 16;

/// Pieces that are counted.
pub(super) struct Slices {
    /// Every so many pieces one is counted.
    stride: usize,
    seen: usize,
    /// The committed transactions of each, and the numbers.
    counted: Vec<(u64, [u64; 5])>,
}

impl Slices {
    /// For a recording of so many pieces.
    pub fn of(piece_count: usize) -> Self {
        Self { stride: piece_count.div_ceil(SLICES).max(1), seen: 0, counted: Vec::new() }
    }

    /// Counts a piece, if it is one of those that are counted.
    pub fn note(&mut self, history: &History) {
        // From the middle, so that the beginning, where keys hold their first values, is nothing special.
        if self.seen % self.stride == self.stride / 2 {
            let committed = history.txns().filter(|&txn| history.outcome(txn) == Outcome::Committed).count();
            let found = Chances::of(history, &LazyIndex::default());
            let numbers = [
                found.read_conflicts,
                found.write_conflicts,
                found.lost_update,
                found.read_skew,
                found.write_skew,
            ];
            self.counted.push((committed as u64, numbers));
        }
        self.seen += 1;
    }

    /// The estimate for so many committed transactions; `None` if no committed transaction was counted.
    pub fn estimate(&self, committed: usize) -> Option<Chances> {
        let of_sample: u64 = self.counted.iter().map(|(committed, _)| committed).sum();
        if of_sample == 0 {
            return None;
        }
        let numbers = [0, 1, 2, 3, 4].map(|place| self.estimate_one(place, of_sample, committed));
        let [read_conflicts, write_conflicts, lost_update, read_skew, write_skew] = numbers;
        let errors = ChanceErrors {
            read_conflicts: read_conflicts.1,
            write_conflicts: write_conflicts.1,
            lost_update: lost_update.1,
            read_skew: read_skew.1,
            write_skew: write_skew.1,
        };
        Some(Chances {
            read_conflicts: read_conflicts.0,
            write_conflicts: write_conflicts.0,
            lost_update: lost_update.0,
            read_skew: read_skew.0,
            write_skew: write_skew.0,
            errors: Some(errors),
        })
    }

    /// A number for all transactions, and two standard errors of it.
    fn estimate_one(&self, place: usize, of_sample: u64, committed: usize) -> (u64, u64) {
        let sum: u64 = self.counted.iter().map(|(_, numbers)| numbers[place]).sum();
        let rate = sum as f64 / of_sample as f64;
        // Of a quotient of sums: how far each piece is from what the rate expects of it.
        let residue = |&(committed, numbers): &(u64, [u64; 5])| {
            (numbers[place] as f64 - rate * committed as f64).powi(2)
        };
        let (count, residues) = (self.counted.len() as f64, self.counted.iter().map(residue).sum::<f64>());
        let deviation = (residues * count / (count - 1.0).max(1.0)).sqrt() / of_sample as f64;
        ((rate * committed as f64).round() as u64, (2.0 * deviation * committed as f64).ceil() as u64)
    }
}
