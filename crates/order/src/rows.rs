//! The rows of one direction of the closure: for each node and chain a number, of which larger is better and 0 is none.
//!
//! Nothing else of the engine is so large and read so much in no order, so a row is kept as small as it can be: 16 bits
//! an entry while all chains are shorter than 65,536, else 32. A row of 20 chains is then 40 bytes, in most cases in one
//! line of the cache, and an instruction compares twice as many entries. That zero is none spares a pass that would fill
//! the rows: they come from the kernel as they have to be.
//!
//! Measured on 100,000 transactions of 20 sessions: sweeps were 12 % of 866 ms with 32 bits, and 8 % of 500 ms with 16.
//! Passing over neighbours that another one leads to (268,337 of 402,015 edges) halved them once more, from some 35 ms to
//! some 18 each; the small history, whose rows are all in the cache, gained nothing by it and lost nothing.

use crate::{Chains, Flat};

/// Numbers of 16 or of 32 bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Rows {
    Short(Vec<u16>),
    Long(Vec<u32>),
}

/// The length of the longest chain for which 16 bits do.
pub(crate) const SHORT_CHAIN: u32 = u16::MAX as u32;

impl Default for Rows {
    fn default() -> Self {
        Self::Short(Vec::new())
    }
}

impl Rows {
    /// So many entries, none of which is anything.
    pub(crate) fn new(entries: usize, longest_chain: u32) -> Self {
        match longest_chain <= SHORT_CHAIN {
            true => Self::Short(vec![0; entries]),
            false => Self::Long(vec![0; entries]),
        }
    }

    /// The bytes of an entry.
    pub(crate) fn entry_bytes(longest_chain: u32) -> usize {
        if longest_chain <= SHORT_CHAIN { 2 } else { 4 }
    }

    /// An entry.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> u32 {
        match self {
            Self::Short(rows) => u32::from(rows[at]),
            Self::Long(rows) => rows[at],
        }
    }

    /// An entry, turned around: smaller is better, and none is [`crate::NONE`].
    #[inline]
    pub(crate) fn get_turned(&self, at: usize) -> u32 {
        match self {
            Self::Short(rows) => match rows[at] {
                0 => crate::NONE,
                entry => u32::from(!entry),
            },
            Self::Long(rows) => !rows[at],
        }
    }

    /// Sets an entry, which must fit.
    pub(crate) fn set(&mut self, at: usize, entry: u32) {
        match self {
            Self::Short(rows) => rows[at] = entry as u16,
            Self::Long(rows) => rows[at] = entry,
        }
    }

    /// Sets an entry to what [`Rows::get_turned`] is to give.
    pub(crate) fn set_turned(&mut self, at: usize, entry: u32) {
        match self {
            Self::Short(rows) => rows[at] = !(entry as u16),
            Self::Long(rows) => rows[at] = !entry,
        }
    }

    /// The row of each node takes what is better in the rows of its neighbours, which are right already.
    ///
    /// A neighbour on another chain is passed over if the node has something better on that chain: then another neighbour
    /// leads there, and from there to this one. Nearly all edges from a write to a read are of that kind, and passing
    /// over them spares a look at a row that is in no cache.
    pub(crate) fn sweep(
        &mut self,
        is_turned: bool,
        chains: &Chains,
        order: impl Iterator<Item = u32>,
        to: &Flat,
    ) {
        match (self, is_turned) {
            (Self::Short(rows), true) => sweep(rows, chains, order, to, |position| !(position as u16)),
            (Self::Short(rows), false) => sweep(rows, chains, order, to, |position| position as u16 + 1),
            (Self::Long(rows), true) => sweep(rows, chains, order, to, |position| !position),
            (Self::Long(rows), false) => sweep(rows, chains, order, to, |position| position + 1),
        }
    }

    /// The row of one node takes what is better in another; calls back with the entries that changed, and says whether
    /// any did.
    #[inline]
    pub(crate) fn improve(&mut self, width: usize, mine: u32, other: u32, note: impl FnMut(usize)) -> bool {
        match self {
            Self::Short(rows) => improve(rows, width, mine, other, note),
            Self::Long(rows) => improve(rows, width, mine, other, note),
        }
    }
}

fn sweep<T: Copy + Ord>(
    rows: &mut [T],
    chains: &Chains,
    order: impl Iterator<Item = u32>,
    neighbours: &Flat,
    entry_of: impl Fn(u32) -> T,
) {
    let width = chains.len();
    order.for_each(|node| {
        let own = chains.chain_of(node);
        for &other in neighbours.of(node) {
            let (chain, position) = chains.place_of(other);
            let is_elsewhere = chain != crate::NONE && chain != own;
            if is_elsewhere && rows[node as usize * width + chain as usize] > entry_of(position) {
                continue;
            }
            let (mine, other) = two_rows(rows, node, other, width);
            for (mine, &other) in mine.iter_mut().zip(other) {
                *mine = (*mine).max(other);
            }
        }
    });
}

#[inline]
fn improve<T: Copy + Ord>(
    rows: &mut [T],
    width: usize,
    mine: u32,
    other: u32,
    mut note: impl FnMut(usize),
) -> bool {
    let (mine, other) = two_rows(rows, mine, other, width);
    if !mine.iter().zip(other).fold(false, |any, (mine, other)| any | (other > mine)) {
        return false;
    }
    for (chain, (mine, &other)) in mine.iter_mut().zip(other).enumerate() {
        if other > *mine {
            *mine = other;
            note(chain);
        }
    }
    true
}

#[inline]
fn two_rows<T>(rows: &mut [T], mine: u32, other: u32, width: usize) -> (&mut [T], &[T]) {
    let (mine, other) = (mine as usize * width, other as usize * width);
    if mine < other {
        let (low, high) = rows.split_at_mut(other);
        (&mut low[mine..mine + width], &high[..width])
    } else {
        let (low, high) = rows.split_at_mut(mine);
        (&mut high[..width], &low[other..other + width])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_widths_say_the_same() {
        for longest in [10, SHORT_CHAIN, SHORT_CHAIN + 1] {
            let mut rows = Rows::new(6, longest);
            assert_eq!((rows.get(4), rows.get_turned(4)), (0, crate::NONE));
            let last = longest.min(SHORT_CHAIN) - 1;
            rows.set(4, last + 1);
            assert_eq!(rows.get(4), last + 1);
            for position in [0, 7, last] {
                rows.set_turned(5, position);
                assert_eq!(rows.get_turned(5), position);
            }
            rows.set_turned(2, 3);
            let mut changed = Vec::new();
            assert!(rows.improve(3, 0, 1, |chain| changed.push(chain)));
            assert_eq!(changed, [1]);
            assert!(!rows.improve(3, 0, 1, |_| panic!("nothing is better")));
            assert_eq!((rows.get(1), rows.get_turned(2)), (last + 1, 3), "the better entry stays");
        }
    }
}
