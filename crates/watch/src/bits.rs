//! Which nodes each node reaches, as rows of bits.
//!
//! A window has some thousands of nodes, so a row is some hundred bytes and a pass over all edges takes well below a
//! millisecond. Chains as in `order` would need no matrix, and pay only where a history has hundreds of thousands of
//! transactions.

/// A square of bits for the first nodes, and rows without a column for the others.
#[derive(Debug)]
pub(crate) struct Reach {
    words: usize,
    bits: Vec<u64>,
}

impl Reach {
    /// No node reaches another; only nodes below `columns` can be asked for.
    pub fn new(rows: usize, columns: usize) -> Self {
        let words = columns.div_ceil(64);
        Self { words, bits: vec![0; rows * words] }
    }

    /// Whether a path of known edges leads from one node to the other.
    #[inline]
    pub fn get(&self, from: u32, to: u32) -> bool {
        self.bits[from as usize * self.words + to as usize / 64] >> (to % 64) & 1 == 1
    }

    /// Notes one edge alone.
    #[inline]
    pub fn set(&mut self, from: u32, to: u32) {
        self.bits[from as usize * self.words + to as usize / 64] |= 1 << (to % 64);
    }

    /// Everything that the second node reaches is reached by the first.
    pub fn join(&mut self, into: u32, from: u32) {
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
