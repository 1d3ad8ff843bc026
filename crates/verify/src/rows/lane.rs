//! One column of all rows: the cells side by side, so that an interval is found by running over them.
//!
//! As long as all cells fit into 32 bits, a copy of that width is searched: the instructions that every processor has
//! compare several numbers of 32 bits at a time, but not of 64. Looking for the rows of predicates in 1,500 transactions
//! of `blindw-pred` took 186 million instructions with numbers of 64 bits and took 87 million with 32, listed one by one.
//! Costs 4 bytes more for each row, and a second store for each change: setting cells takes 49 million instructions
//! instead of 30 million.

use history::KeyId;

use super::contents::MISSING;
use super::key_set::KeySet;

/// The cells of one column.
#[derive(Clone, Default)]
pub(crate) struct Lane {
    wide: Vec<i64>,
    narrow: Vec<i32>,
    /// How many cells the copy cannot hold.
    too_wide: usize,
}

/// A missing cell in the copy; no interval contains it.
const NARROW_MISSING: i32 = i32::MIN;

fn narrowed(cell: i64) -> Option<i32> {
    match cell {
        MISSING => Some(NARROW_MISSING),
        cell => i32::try_from(cell).ok().filter(|&narrow| narrow != NARROW_MISSING),
    }
}

impl Lane {
    pub fn of(wide: Vec<i64>) -> Self {
        let narrow = wide.iter().map(|&cell| narrowed(cell).unwrap_or(NARROW_MISSING)).collect();
        let too_wide = wide.iter().filter(|&&cell| narrowed(cell).is_none()).count();
        Self { wide, narrow, too_wide }
    }

    pub fn is_empty(&self) -> bool {
        self.wide.is_empty()
    }

    /// Sets a cell; gives back what it was.
    pub fn replace(&mut self, row: usize, cell: i64) -> i64 {
        let before = std::mem::replace(&mut self.wide[row], cell);
        if before == cell {
            return before;
        }
        let narrow = narrowed(cell);
        self.narrow[row] = narrow.unwrap_or(NARROW_MISSING);
        self.too_wide += usize::from(narrow.is_none());
        self.too_wide -= usize::from(narrowed(before).is_none());
        before
    }

    /// The rows whose cells lie between two numbers, which are included.
    pub fn between(&self, least: i64, most: i64) -> KeySet {
        if self.too_wide > 0 {
            let is_hit = |key: KeyId| (least..=most).contains(&self.wide[key.index()]);
            return KeySet::of_keys(self.wide.len(), is_hit);
        }
        let (least, most) = (least.max(i64::from(i32::MIN + 1)), most.min(i64::from(i32::MAX)));
        let (Ok(least), Ok(most)) = (i32::try_from(least), i32::try_from(most)) else {
            return KeySet::of_keys(self.wide.len(), |_| false);
        };
        let (blocks, rest) = self.narrow.as_chunks::<BLOCK>();
        let mut last = [NARROW_MISSING; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let blocks = blocks.iter().chain([&last]);
        KeySet::of_words(blocks.map(|block| bits_between(block, least, most)).collect())
    }
}

const BLOCK: usize = 64;

/// One bit for each cell that lies between two numbers.
fn bits_between(cells: &[i32; BLOCK], least: i32, most: i32) -> u64 {
    /// Moves the lowest bits of eight bytes into the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut hits = [0u8; BLOCK];
    for (hit, &cell) in hits.iter_mut().zip(cells) {
        *hit = u8::from(least <= cell) & u8::from(cell <= most);
    }
    let bytes = hits.as_chunks::<8>().0.iter().rev();
    bytes.fold(0, |bits, &bytes| bits << 8 | u64::from_le_bytes(bytes).wrapping_mul(GATHER) >> 56)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(lane: &Lane, least: i64, most: i64) -> Vec<usize> {
        let (set, mut rows) = (lane.between(least, most), Vec::new());
        set.each(|key| rows.push(key.index()));
        assert_eq!(set.count(), rows.len());
        assert!((0..lane.wide.len()).all(|row| set.has(KeyId::from_index(row)) == rows.contains(&row)));
        rows
    }

    /// Cells at the limits of both widths are found like all others.
    #[test]
    fn an_interval_is_found_as_by_comparing_each_cell() {
        let limits = [i64::from(i32::MIN), i64::from(i32::MAX), i64::MAX, 0];
        let near = limits.iter().flat_map(|&limit| [limit.saturating_sub(1), limit, limit.saturating_add(1)]);
        let bounds: Vec<i64> = near.chain([MISSING + 1]).collect();
        let mut lane = Lane::of((0..131).map(|row| if row % 5 == 0 { MISSING } else { row - 60 }).collect());
        let changes = bounds.iter().map(|&cell| (65, cell)).chain([(130, 7), (63, MISSING), (65, 3)]);
        for (row, cell) in changes.collect::<Vec<_>>() {
            lane.replace(row, cell);
            for &least in &bounds {
                for &most in &bounds {
                    let is_hit = |&row: &usize| (least..=most).contains(&lane.wide[row]);
                    let asked: Vec<usize> = (0..131).filter(is_hit).collect();
                    assert_eq!(between(&lane, least, most), asked, "{least} {most} with {cell}");
                }
            }
        }
    }
}
