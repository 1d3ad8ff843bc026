//! What the transaction at hand knows of the keys that it touched.
//!
//! Most transactions touch a handful of keys: going through those is in the cache, while a row in a table of all keys is
//! not. Only a transaction that touches many, as by a range, uses such a table, which is made for the first of them.

use super::Observed;
use history::{KeyId, OpId};

/// What a transaction knows of a key.
#[derive(Clone, Copy)]
pub(super) struct Touch {
    /// The last operation of the transaction that saw or wrote the key.
    pub op: OpId,
    pub seen: Observed,
    /// The number of the transaction's final write of the key, or one of the following.
    pub write: u32,
    /// How many elements the transaction has appended to it.
    pub appended: u32,
}

pub(super) const NO_WRITE: u32 = u32::MAX;
/// An effect tells of the key.
pub(super) const IN_EFFECT: u32 = u32::MAX - 1;

impl Default for Touch {
    fn default() -> Self {
        Self { op: OpId(0), seen: Observed::Absent, write: NO_WRITE, appended: 0 }
    }
}

/// How many keys a transaction may touch before the table is used.
const FEW: usize = 24;

/// The keys that the transaction at hand touched.
pub(super) struct Touches {
    key_count: usize,
    keys: Vec<KeyId>,
    touches: Vec<Touch>,
    /// For each key the place of its touch, if that place is one of this key; empty until it is needed.
    place: Vec<u32>,
}

impl Touches {
    pub(super) fn new(key_count: usize) -> Self {
        Self { key_count, keys: Vec::new(), touches: Vec::new(), place: Vec::new() }
    }

    /// Another transaction begins.
    pub(super) fn forget(&mut self) {
        self.keys.clear();
        self.touches.clear();
    }

    #[inline]
    pub(super) fn get(&self, key: KeyId) -> Option<Touch> {
        self.find(key).map(|place| self.touches[place])
    }

    #[inline]
    pub(super) fn set(&mut self, key: KeyId, touch: Touch) {
        match self.find(key) {
            Some(place) => self.touches[place] = touch,
            None => self.add(key, touch),
        }
    }

    #[inline]
    fn find(&self, key: KeyId) -> Option<usize> {
        if self.keys.len() <= FEW {
            return self.keys.iter().position(|&known| known == key);
        }
        let place = self.place[key.index()] as usize;
        (self.keys.get(place) == Some(&key)).then_some(place)
    }

    fn add(&mut self, key: KeyId, touch: Touch) {
        self.keys.push(key);
        self.touches.push(touch);
        let count = self.keys.len();
        if count > FEW {
            self.place.resize(self.key_count, 0);
            // The first that is too many brings the others along.
            let first = if count == FEW + 1 { 0 } else { count - 1 };
            (first..count).for_each(|place| self.place[self.keys[place].index()] = place as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_are_found_and_forgotten() {
        let mut touches = Touches::new(1000);
        for count in [3, FEW, FEW + 1, 900, 5, 40] {
            touches.forget();
            for key in 0..count as u32 {
                assert!(touches.get(KeyId(999 - key)).is_none());
                touches.set(KeyId(999 - key), Touch { appended: key, ..Touch::default() });
            }
            for key in 0..count as u32 {
                assert_eq!(touches.get(KeyId(999 - key)).map(|touch| touch.appended), Some(key));
                touches.set(KeyId(999 - key), Touch { appended: key + 7, ..Touch::default() });
                assert_eq!(touches.get(KeyId(999 - key)).map(|touch| touch.appended), Some(key + 7));
            }
            assert!(touches.get(KeyId(999 - count as u32)).is_none());
        }
    }
}
