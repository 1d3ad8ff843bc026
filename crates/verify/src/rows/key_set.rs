//! Sets of keys, a bit for each key of the history.
//!
//! The rows that match a predicate are found 64 at a time, as bits; kept like that they are counted, asked and changed
//! without a list.

use history::KeyId;

/// Keys with a bit each.
#[derive(Clone)]
pub(crate) struct KeySet {
    words: Vec<u64>,
}

const BITS: usize = u64::BITS as usize;

impl KeySet {
    /// The keys whose bits are set, 64 in each word.
    pub fn of_words(words: Vec<u64>) -> Self {
        Self { words }
    }

    /// Those of the first keys for which something is true.
    pub fn of_keys(count: usize, is_in: impl Fn(KeyId) -> bool) -> Self {
        let mut set = Self { words: vec![0; count.div_ceil(BITS)] };
        (0..count).map(KeyId::from_index).filter(|&key| is_in(key)).for_each(|key| set.toggle(key));
        set
    }

    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    #[inline]
    pub fn has(&self, key: KeyId) -> bool {
        self.words[key.index() / BITS] >> (key.index() % BITS) & 1 == 1
    }

    /// Takes a key out if it is in, and in if it is not.
    #[inline]
    pub fn toggle(&mut self, key: KeyId) {
        self.words[key.index() / BITS] ^= 1 << (key.index() % BITS);
    }

    /// The keys in their order.
    pub fn each(&self, mut add: impl FnMut(KeyId)) {
        for (place, &word) in self.words.iter().enumerate() {
            let mut left = word;
            while left != 0 {
                add(KeyId::from_index(place * BITS + left.trailing_zeros() as usize));
                left &= left - 1;
            }
        }
    }
}
