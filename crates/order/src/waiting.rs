//! Places that wait to be visited, smallest first; one that is added while an earlier or the same place is visited is
//! visited again.
//!
//! A bit for each place, so that adding one costs nothing and passing over 64 that do not wait costs one look.

/// The places that wait.
pub(crate) struct Waiting {
    words: Vec<u64>,
    /// No earlier word has a bit.
    first: usize,
}

impl Waiting {
    pub(crate) fn new(places: usize) -> Self {
        Self { words: vec![0; places.div_ceil(64)], first: 0 }
    }

    #[inline]
    pub(crate) fn add(&mut self, place: u32) {
        let word = place as usize / 64;
        self.words[word] |= 1 << (place % 64);
        self.first = self.first.min(word);
    }

    /// The smallest place that waits; it waits no longer.
    pub(crate) fn next(&mut self) -> Option<u32> {
        while let Some(word) = self.words.get_mut(self.first) {
            if *word != 0 {
                let bit = word.trailing_zeros();
                *word &= *word - 1;
                return Some(self.first as u32 * 64 + bit);
            }
            self.first += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_first_even_if_it_comes_late() {
        let mut waiting = Waiting::new(200);
        [130, 5, 199, 5].into_iter().for_each(|place| waiting.add(place));
        assert_eq!(waiting.next(), Some(5));
        assert_eq!(waiting.next(), Some(130));
        waiting.add(7);
        assert_eq!((waiting.next(), waiting.next(), waiting.next()), (Some(7), Some(199), None));
        waiting.add(0);
        assert_eq!((waiting.next(), waiting.next()), (Some(0), None));
    }
}
