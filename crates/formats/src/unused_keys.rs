//! Keys that a history knows although nothing in it mentions them.
//!
//! They belong to the counts, so the native formats, which promise to keep everything, write them down.

use history::{History, KeyId, Op, OpId};

/// The keys without an operation, a row or a recorded initial value, in the order of their ids.
pub(crate) fn unused_keys(history: &History) -> Vec<KeyId> {
    let mut is_used = vec![false; history.keys().len()];
    for &(key, _) in &history.initial().recorded {
        is_used[key.index()] = true;
    }
    for op in (0..history.op_count() as u32).map(OpId) {
        let op = history.op(op);
        let rows = match op {
            Op::RangeRead(range) => range.rows.as_deref(),
            Op::PredicateRead(read) => read.rows.as_deref(),
            _ => None,
        };
        let changed = match op {
            Op::PredicateWrite(write) => write.keys.as_deref(),
            _ => None,
        };
        let keys = rows.unwrap_or_default().iter().map(|row| row.key);
        for key in keys.chain(changed.unwrap_or_default().iter().copied()).chain(op.key()) {
            is_used[key.index()] = true;
        }
    }
    let keys = history.keys().iter().map(|(key, _)| key);
    keys.filter(|key| !is_used[key.index()]).collect()
}
