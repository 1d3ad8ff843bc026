//! What is known of transactions by the numbers that the input gives them.
//!
//! Numbers are mostly dense, and those of a session increase, so a plain column is found nearly always in the cache
//! where a hash table misses it: half of the time of reading PolySI text went into these misses. Large numbers go into a
//! hash table all the same.

use rustc_hash::FxHashMap;

/// Numbers below this have a row whatever comes.
const ALWAYS_DIRECT: u64 = 1 << 12;
/// Numbers below this many times the count of entries have a row...
const SPREAD: u64 = 64;
/// ... as long as they are below this: at most 32 MiB.
const DIRECT_LIMIT: u64 = 1 << 22;
/// Beyond that, numbers below this many times the count of entries have a row.
const SPREAD_OF_MANY: u64 = 8;

const EMPTY: (u32, u32) = (u32::MAX, u32::MAX);

/// Pairs of ids by number.
#[derive(Debug, Default)]
pub(crate) struct ByNumber {
    direct: Vec<(u32, u32)>,
    other: FxHashMap<u64, (u32, u32)>,
    count: u64,
}

impl ByNumber {
    /// The pair of a number, which is this one if the number is new.
    #[inline]
    pub fn get_or_insert(&mut self, number: u64, pair: (u32, u32)) -> (u32, u32) {
        debug_assert_ne!(pair, EMPTY, "stands for a number that is not there");
        match self.direct.get(number as usize) {
            Some(&known) if known != EMPTY => known,
            _ => self.look_further(number, pair),
        }
    }

    fn look_further(&mut self, number: u64, pair: (u32, u32)) -> (u32, u32) {
        if let Some(&known) = self.other.get(&number) {
            return known;
        }
        self.count += 1;
        let bound = (self.count * SPREAD).clamp(ALWAYS_DIRECT, DIRECT_LIMIT);
        if number < bound.max(self.count * SPREAD_OF_MANY) {
            let slot = number as usize;
            if slot >= self.direct.len() {
                self.direct.resize((slot + 1).next_power_of_two(), EMPTY);
            }
            self.direct[slot] = pair;
        } else {
            self.other.insert(number, pair);
        }
        pair
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_keeps_its_first_pair_wherever_it_is_kept() {
        let mut known = ByNumber::default();
        let numbers = [0, 7, u64::MAX, ALWAYS_DIRECT, ALWAYS_DIRECT - 1, 3, 1 << 40];
        for (place, &number) in numbers.iter().enumerate() {
            assert_eq!(known.get_or_insert(number, (place as u32, 1)), (place as u32, 1));
        }
        known.count = ALWAYS_DIRECT;
        known.get_or_insert(2 * ALWAYS_DIRECT, (9, 9));
        for (place, &number) in numbers.iter().enumerate() {
            assert_eq!(known.get_or_insert(number, (8, 8)), (place as u32, 1), "{number}");
        }
    }
}
