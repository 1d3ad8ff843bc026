//! The order of versions that a history tells: by its lists, or because the database recorded it.

use super::Index;
use crate::{History, OpId};

/// One version of a key is known to be earlier than another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VersionOrder {
    /// The number of the earlier final write.
    pub earlier: u32,
    /// The number of the later final write.
    pub later: u32,
    /// What tells.
    pub telling: Telling,
}

/// What tells the order of two versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Telling {
    /// A list that was read: the later version is further on in it, or not in it at all.
    List(OpId),
    /// The versions that were recorded with the writes.
    Recorded,
}

impl Index {
    /// Writes of a key whose places among its versions were recorded are in that order.
    pub(super) fn order_recorded_versions(&mut self, history: &History) {
        if !history.has_versions() {
            return;
        }
        for key in history.keys().iter().map(|(key, _)| key) {
            let placed = self.writes_to(key).iter().filter_map(|&write| {
                Some((history.op_version(self.writes[write as usize].op)?, write))
            });
            let mut placed: Vec<(i64, u32)> = placed.collect();
            placed.sort_unstable();
            self.order_placed(&placed);
        }
    }

    /// Each version is earlier than those at the next place (usually one).
    fn order_placed(&mut self, placed: &[(i64, u32)]) {
        let mut same: Vec<&[(i64, u32)]> = placed.chunk_by(|a, b| a.0 == b.0).collect();
        same.reverse();
        while let (Some(earlier), Some(later)) = (same.pop(), same.last()) {
            for &(_, earlier) in earlier {
                let telling = Telling::Recorded;
                let pairs = later.iter().map(|&(_, later)| VersionOrder { earlier, later, telling });
                self.version_order.extend(pairs);
            }
        }
    }
}
