//! Remembers the ids of keys by how the input spells them.
//!
//! Interning a text needs it as an owned thing; nearly all of a recording were seen just before, so a lookup by the bytes
//! spares the copy. The cache has a fixed size. A key has two slots that it may be in, and takes the place of another key
//! if both are taken: with one slot each, a quarter of 5,000 keys displaced each other.
//!
//! Spellings of at most 16 bytes are compared as two words; a box for each was a third of the time of reading `.hist`.

use std::hash::Hasher;

use history::KeyId;
use rustc_hash::FxHasher;

const SLOTS: usize = 1 << 14;

/// Longer spellings are not worth keeping.
const LONGEST: usize = 64;

/// The longest spelling that is kept as two words.
const SHORT: usize = 16;

/// Ids of keys by their spelling.
#[derive(Default)]
pub(crate) struct KeyCache {
    short: Vec<(Short, KeyId)>,
    long: Vec<Option<(Box<[u8]>, KeyId)>>,
}

/// A spelling of at most 16 bytes: its first and its last bytes, which may overlap, and how many there are. An empty slot
/// has none.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Short {
    first: u64,
    last: u64,
    length: u32,
}

impl Short {
    #[inline]
    fn of(spelling: &[u8]) -> Option<Self> {
        let length = spelling.len() as u32;
        let word = |bytes: Option<&[u8; 8]>| bytes.copied().map(u64::from_le_bytes);
        let half = |bytes: Option<&[u8; 4]>| bytes.copied().map(|bytes| u64::from(u32::from_le_bytes(bytes)));
        let (first, last) = match spelling.len() {
            8..=SHORT => (word(spelling.first_chunk())?, word(spelling.last_chunk())?),
            4..8 => (half(spelling.first_chunk())?, half(spelling.last_chunk())?),
            length @ 1..4 => (
                u64::from(spelling[0]) | u64::from(spelling[length / 2]) << 8,
                u64::from(spelling[length - 1]),
            ),
            _ => return None,
        };
        Some(Self { first, last, length })
    }

    /// The first of the two slots that it may be in; the other one is beside it.
    #[inline]
    fn slot(self) -> usize {
        const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
        let mixed = (self.first ^ self.last.rotate_left(29)).wrapping_mul(MULTIPLIER);
        (mixed >> (64 - SLOTS.ilog2())) as usize & (SLOTS - 2)
    }
}

impl KeyCache {
    /// The id of what was spelled so, if it is remembered.
    #[inline]
    pub fn get(&self, spelling: &[u8]) -> Option<KeyId> {
        let Some(short) = Short::of(spelling) else { return self.get_long(spelling) };
        let slots: &[(Short, KeyId); 2] = self.short.get(short.slot()..)?.first_chunk()?;
        slots.iter().find(|(known, _)| *known == short).map(|&(_, id)| id)
    }

    fn get_long(&self, spelling: &[u8]) -> Option<KeyId> {
        let (known, id) = self.long.get(slot_of(spelling))?.as_ref()?;
        (**known == *spelling).then_some(*id)
    }

    /// Remembers an id; one spelling has to mean one thing.
    pub fn put(&mut self, spelling: &[u8], id: KeyId) {
        if spelling.len() > LONGEST || spelling.is_empty() {
            return;
        }
        let Some(short) = Short::of(spelling) else { return self.put_long(spelling, id) };
        if self.short.is_empty() {
            self.short.resize(SLOTS, (Short::default(), KeyId(0)));
        }
        let slot = short.slot();
        let is_taken = self.short[slot].0.length > 0;
        self.short.swap(slot, slot + usize::from(is_taken));
        self.short[slot] = (short, id);
    }

    fn put_long(&mut self, spelling: &[u8], id: KeyId) {
        if self.long.is_empty() {
            self.long.resize_with(SLOTS, || None);
        }
        self.long[slot_of(spelling)] = Some((spelling.into(), id));
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
            for number in 0..20_000u32 {
                let text = match number % 4 {
                    0 => format!("{number}"),
                    1 => format!("k{number}"),
                    2 => format!("a longer key {number}"),
                    _ => format!("some-key-{number}"),
                };
                let key = KeyId(number);
                assert!(cache.get(text.as_bytes()).is_none_or(|found| found == key), "round {round}");
                cache.put(text.as_bytes(), key);
                assert_eq!(cache.get(text.as_bytes()), Some(key));
            }
        }
        cache.put(b"", KeyId(7));
        assert_eq!(cache.get(b""), None);
        assert_eq!(cache.get(&[b'x'; 100]), None);
    }

    #[test]
    fn short_spellings_that_differ_anywhere_differ() {
        let mut cache = KeyCache::default();
        for length in 1..=SHORT + 1 {
            let text = vec![b'a'; length];
            cache.put(&text, KeyId(0));
            for place in 0..length {
                let mut other = text.clone();
                other[place] = b'b';
                assert_eq!(cache.get(&other), None, "{length} {place}");
            }
            assert_eq!(cache.get(&text), Some(KeyId(0)));
        }
    }
}
