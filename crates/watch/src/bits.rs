//! Which nodes each node reaches, as rows of bits.
//!
//! A window has some thousands of nodes, so a row is some hundred bytes and a pass over all edges takes well below a
//! millisecond. Chains as in `order` would need no matrix, and pay only where a history has hundreds of thousands of
//! transactions.

/// A square of bits for the events that play a part, and rows without a column for the moments after them.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// For each node its row, or `NOWHERE`; events have the column of the same number.
    places: Vec<u32>,
    words: usize,
    bits: Vec<u64>,
}

const NOWHERE: u32 = u32::MAX;

impl Reach {
    /// No node reaches another. For each event whether it plays a part, and the number of moments, which come after all
    /// events and cannot be reached.
    pub fn new(events: impl Iterator<Item = bool>, moments: u32) -> Self {
        let mut next = 0;
        let mut places: Vec<u32> = events
            .map(|plays_a_part| {
                next += u32::from(plays_a_part);
                if plays_a_part { next - 1 } else { NOWHERE }
            })
            .collect();
        places.extend(next..next + moments);
        let words = (next as usize).div_ceil(64);
        Self { places, words, bits: vec![0; (next + moments) as usize * words] }
    }

    /// The word and the bit that say whether one node reaches the other; none if one of them plays no part.
    #[inline]
    fn bit(&self, from: u32, to: u32) -> Option<(usize, u64)> {
        let (from, to) = (self.places[from as usize], self.places[to as usize]);
        let word = from as usize * self.words + to as usize / 64;
        (from != NOWHERE && to != NOWHERE).then_some((word, 1 << (to % 64)))
    }

    /// Whether a path of known edges leads from one node to the other.
    #[inline]
    pub fn get(&self, from: u32, to: u32) -> bool {
        self.bit(from, to).is_some_and(|(word, bit)| self.bits[word] & bit != 0)
    }

    /// Notes one edge alone.
    #[inline]
    pub fn set(&mut self, from: u32, to: u32) {
        if let Some((word, bit)) = self.bit(from, to) {
            self.bits[word] |= bit;
        }
    }

    /// Everything that the second node reaches is reached by the first.
    pub fn join(&mut self, into: u32, from: u32) {
        let (into, from) = (self.places[into as usize], self.places[from as usize]);
        if into == NOWHERE || from == NOWHERE {
            return;
        }
        let (into, from) = (into as usize * self.words, from as usize * self.words);
        for word in 0..self.words {
            self.bits[into + word] |= self.bits[from + word];
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.bits.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::Reach;

    #[test]
    fn events_without_a_part_take_no_room() {
        // Events 0, 2 and 3 play a part, and there are two moments, 5 and 6.
        let mut reach = Reach::new([true, false, true, true, false].into_iter(), 2);
        assert_eq!(reach.bits.len(), 5);
        reach.set(2, 3);
        reach.join(5, 2);
        reach.join(0, 5);
        assert!(reach.get(0, 3) && reach.get(5, 3) && !reach.get(3, 0) && !reach.get(6, 3));
        reach.set(1, 3);
        reach.join(1, 2);
        assert!(!reach.get(1, 3) && !reach.get(3, 4));
    }
}
