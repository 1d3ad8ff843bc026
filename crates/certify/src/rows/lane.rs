//! One column of all keys: the cells side by side, so that an interval is found by running over them.
//!
//! As long as all cells fit into 32 bits, a copy of that width is searched: the instructions that every processor has
//! compare several numbers of 32 bits at a time, but not of 64.
//! Costs 12 bytes for each key. The engine has a column of its own (`verify/src/rows/lane.rs`): the checker shares no code
//! with it, on purpose.

use history::KeyId;

use super::NONE;

/// The cells of one column.
pub(super) struct Lane {
    wide: Vec<i64>,
    narrow: Vec<i32>,
    /// How many cells the copy cannot hold.
    too_wide: usize,
}

/// What stands for no column in the copy; no interval contains it.
const NARROW_NONE: i32 = i32::MIN;

/// A cell as the copy holds it, if it can.
fn narrowed(cell: i64) -> Option<i32> {
    match cell {
        NONE => Some(NARROW_NONE),
        cell => i32::try_from(cell).ok().filter(|&narrow| narrow != NARROW_NONE),
    }
}

impl Lane {
    /// No key has the column.
    pub fn new(keys: usize) -> Self {
        Self { wide: vec![NONE; keys], narrow: vec![NARROW_NONE; keys], too_wide: 0 }
    }

    #[inline]
    pub fn get(&self, key: KeyId) -> i64 {
        self.wide[key.index()]
    }

    #[inline]
    pub fn set(&mut self, key: KeyId, cell: i64) {
        let before = std::mem::replace(&mut self.wide[key.index()], cell);
        if before != cell {
            let narrow = narrowed(cell);
            self.narrow[key.index()] = narrow.unwrap_or(NARROW_NONE);
            self.too_wide += usize::from(narrow.is_none());
            self.too_wide -= usize::from(narrowed(before).is_none());
        }
    }

    /// Adds the keys whose cells lie between two integers, which are included and are not `NONE`.
    pub fn add_between(&self, least: i64, most: i64, found: &mut Vec<KeyId>) {
        if self.too_wide > 0 {
            return add_hits(&self.wide, |cell| least <= cell && cell <= most, found);
        }
        let (least, most) = (least.max(i64::from(NARROW_NONE + 1)), most.min(i64::from(i32::MAX)));
        // An interval that ends before the least or begins after the greatest number of the copy is empty.
        if let (Ok(least), Ok(most)) = (i32::try_from(least), i32::try_from(most)) {
            add_hits(&self.narrow, |cell| (least <= cell) & (cell <= most), found);
        }
    }
}

/// Cells that are looked at together.
const BLOCK: usize = 64;

/// Adds the keys of the cells that are hits: of some cells at a time, first which they are, then each of them.
fn add_hits<C: Copy>(cells: &[C], is_hit: impl Fn(C) -> bool, found: &mut Vec<KeyId>) {
    let (blocks, rest) = cells.as_chunks::<BLOCK>();
    for (place, block) in blocks.iter().enumerate() {
        let mut hits = bits(block.map(|cell| u8::from(is_hit(cell))));
        while hits != 0 {
            found.push(KeyId::from_index(place * BLOCK + hits.trailing_zeros() as usize));
            hits &= hits - 1;
        }
    }
    let first = cells.len() - rest.len();
    let hits = rest.iter().enumerate().filter(|&(_, &cell)| is_hit(cell));
    found.extend(hits.map(|(place, _)| KeyId::from_index(first + place)));
}

/// The lowest bits of bytes, the first byte's in the lowest place.
fn bits(bytes: [u8; BLOCK]) -> u64 {
    /// Moves the lowest bits of eight bytes into the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let eights = bytes.as_chunks::<8>().0.iter().rev();
    eights.fold(0, |bits, &eight| bits << 8 | u64::from_le_bytes(eight).wrapping_mul(GATHER) >> 56)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells at the limits of both widths are found like all others.
    #[test]
    fn an_interval_is_found_as_by_comparing_each_cell() {
        let limits = [i64::from(i32::MIN), i64::from(i32::MAX), i64::MAX, 0];
        let near = limits.iter().flat_map(|&limit| [limit.saturating_sub(1), limit, limit.saturating_add(1)]);
        let bounds: Vec<i64> = near.chain([NONE + 1]).collect();
        let mut lane = Lane::new(131);
        for key in (0..131).filter(|key| key % 5 != 0) {
            lane.set(KeyId(key), i64::from(key) - 60);
        }
        let changes = bounds.iter().map(|&cell| (65, cell)).chain([(130, 7), (63, NONE), (65, 3)]);
        for (key, cell) in changes.collect::<Vec<_>>() {
            lane.set(KeyId(key), cell);
            for &least in &bounds {
                for &most in &bounds {
                    let is_hit = |&key: &KeyId| (least..=most).contains(&lane.get(key));
                    let asked: Vec<KeyId> = (0..131).map(KeyId).filter(is_hit).collect();
                    let mut found = Vec::new();
                    lane.add_between(least, most, &mut found);
                    assert_eq!(found, asked, "{least} {most} with {cell}");
                }
            }
        }
    }
}
