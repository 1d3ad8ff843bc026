//! Remembers the ids of keys by how the input spells them.
//!
//! Interning a text needs it as an owned thing; nearly all of a recording were seen just before, so a lookup by the bytes
//! spares the copy. The cache has a fixed size, and a key takes the place of another with the same hash.

use std::hash::Hasher;

use history::KeyId;
use rustc_hash::FxHasher;

const SLOTS: usize = 1 << 14;

/// Longer spellings are not worth keeping.
const LONGEST: usize = 64;

/// Ids of keys by their spelling.
#[derive(Default)]
pub(crate) struct KeyCache {
    slots: Vec<Option<(Box<[u8]>, KeyId)>>,
}

impl KeyCache {
    /// The id of what was spelled so, if it is remembered.
    #[inline]
    pub fn get(&self, spelling: &[u8]) -> Option<KeyId> {
        let (known, id) = self.slots.get(slot_of(spelling))?.as_ref()?;
        (**known == *spelling).then_some(*id)
    }

    /// Remembers an id; one spelling has to mean one thing.
    pub fn put(&mut self, spelling: &[u8], id: KeyId) {
        if spelling.len() > LONGEST || spelling.is_empty() {
            return;
        }
        if self.slots.is_empty() {
            self.slots.resize_with(SLOTS, || None);
        }
        self.slots[slot_of(spelling)] = Some((spelling.into(), id));
    }
}

fn slot_of(spelling: &[u8]) -> usize {
    let mut hasher = FxHasher::default();
    hasher.write(spelling);
    hasher.finish() as usize >> 7 & (SLOTS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spelling_has_one_id_whatever_was_forgotten() {
        let mut cache = KeyCache::default();
        for round in 0..2 {
            for number in 0..20_000 {
                let text = format!("key{number}");
                assert!(cache.get(text.as_bytes()).is_none_or(|key| key == KeyId(number)), "round {round}");
                cache.put(text.as_bytes(), KeyId(number));
                assert_eq!(cache.get(text.as_bytes()), Some(KeyId(number)));
            }
        }
        cache.put(b"", KeyId(7));
        assert_eq!(cache.get(b""), None);
        assert_eq!(cache.get(&[b'x'; 100]), None);
    }
}
