//! Between which cells all changes of a transaction lie, column by column.
//!
//! Where the interval of an open transaction's predicate lies outside of all cells before and after the changes, none of
//! the changed rows need be looked at for that transaction. Costs two cells for each change and column; what a writer
//! changes is found once, when it is chosen, and kept until it commits.

use history::KeyId;

use super::contents::{ContentNumber, Contents, Fast, Filter, MISSING, OTHERS};
use super::table::RowTable;

/// A row that changes, with what it holds before and after.
pub(super) type RowChange = (KeyId, ContentNumber, ContentNumber);

/// What a transaction writes when it commits now.
pub(super) struct Writes {
    pub effects: Vec<(KeyId, ContentNumber)>,
    /// The rows that hold something else then; a transaction writes each row once.
    pub changes: Vec<RowChange>,
    pub extents: Extents,
}

impl Writes {
    pub fn of(contents: &Contents, table: &RowTable, effects: Vec<(KeyId, ContentNumber)>) -> Self {
        let rows = effects.iter().map(|&(key, after)| (key, table.now(key), after));
        let changes: Vec<RowChange> =
            rows.filter(|&(_, before, after)| !contents.is_same(before, after)).collect();
        let extents = Extents::of(contents, table, &changes);
        Self { effects, changes, extents }
    }
}

/// For each slot with a lane the least and the greatest cell before or after the changes.
pub(super) struct Extents {
    of_slot: Vec<Option<(i64, i64)>>,
}

impl Extents {
    pub fn of(contents: &Contents, table: &RowTable, changes: &[RowChange]) -> Self {
        let mut of_slot = Vec::new();
        for slot in table.slots() {
            of_slot.resize(slot + 1, None);
            of_slot[slot] = extent(contents, slot, changes);
        }
        Self { of_slot }
    }

    /// Whether no changed row matches a predicate, neither before nor after.
    pub fn is_outside(&self, filter: &Filter<'_>) -> bool {
        let Some(Fast::Cell { slot, least, most }) = filter.fast else { return false };
        let extent = self.of_slot.get(slot).copied().flatten();
        extent.is_some_and(|(lowest, highest)| highest < least || most < lowest)
    }
}

/// `None` if a cell is decided by no comparison of integers.
fn extent(contents: &Contents, slot: usize, changes: &[RowChange]) -> Option<(i64, i64)> {
    let (mut lowest, mut highest) = (i64::MAX, MISSING);
    for &(_, before, after) in changes {
        for cell in [contents.lane(before, slot), contents.lane(after, slot)] {
            highest = highest.max(cell);
            // A row that is not there matches nothing.
            lowest = if cell == MISSING { lowest } else { lowest.min(cell) };
        }
    }
    (highest < OTHERS).then_some((lowest, highest))
}
