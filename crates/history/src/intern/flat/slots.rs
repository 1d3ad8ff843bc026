//! A hash table of numbers, each slot of which can be fetched before it is needed.
//!
//! Linear probing in a power of two, at most half of it full; a slot is the hash and the number. The place of a hash is its upper bits, so a table
//! twice as large has everything in the same order, and growing writes memory in order. A table from a library would
//! do but for one thing: it cannot be asked to bring a slot near without waiting for it, and that was half the time of
//! reading a million rows.

/// The hash above, the number plus one below; zero is an empty slot.
type Slot = u64;

#[derive(Clone, Default, Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    count: usize,
}

impl Slots {
    /// Makes room for more numbers.
    pub fn reserve(&mut self, more: usize) {
        while (self.count + more) * 2 > self.slots.len() {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        let old = std::mem::replace(&mut self.slots, vec![0; size]);
        for slot in old.into_iter().filter(|&slot| slot != 0) {
            self.put(slot);
        }
    }

    /// Where a hash belongs; there must be slots.
    #[inline]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.slots.len() as u64) >> 32) as usize
    }

    #[inline]
    fn put(&mut self, slot: Slot) {
        let mut place = self.home((slot >> 32) as u32);
        while self.slots[place] != 0 {
            place = (place + 1) & (self.slots.len() - 1);
        }
        self.slots[place] = slot;
    }

    /// Adds a number that is not there, for which there is room.
    #[inline]
    pub fn insert(&mut self, hash: u32, number: u32) {
        self.put(u64::from(hash) << 32 | (u64::from(number) + 1));
        self.count += 1;
    }

    /// The number of this hash that is meant.
    #[inline]
    pub fn find(&self, hash: u32, is_meant: impl Fn(u32) -> bool) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mut place = self.home(hash);
        while self.slots[place] != 0 {
            if let Some(number) = number_of(self.slots[place], hash)
                && is_meant(number)
            {
                return Some(number);
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
        None
    }

    /// Something of the slot of a hash, to have it near.
    #[inline]
    pub fn fetch(&self, hash: u32) -> u64 {
        self.slots[self.home(hash)]
    }

    /// The number that a hash probably has.
    #[inline]
    pub fn likely(&self, hash: u32) -> Option<u32> {
        number_of(self.slots[self.home(hash)], hash)
    }

    pub fn heap_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }
}

fn number_of(slot: Slot, hash: u32) -> Option<u32> {
    ((slot >> 32) as u32 == hash && slot != 0).then(|| (slot as u32).wrapping_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_found_also_where_hashes_are_equal_or_at_the_end() {
        let hash_of = |number: u32| match number % 4 {
            0 => u32::MAX,
            1 => 0,
            _ => number.wrapping_mul(0x9E37_79B9),
        };
        let mut slots = Slots::default();
        assert_eq!(slots.find(3, |_| true), None);
        for number in 0..1000 {
            slots.reserve(1);
            assert_eq!(slots.find(hash_of(number), |found| found == number), None);
            slots.insert(hash_of(number), number);
        }
        for number in 0..1000 {
            assert_eq!(slots.find(hash_of(number), |found| found == number), Some(number));
        }
        assert_eq!(slots.find(hash_of(0), |found| found == 1), None);
    }
}
