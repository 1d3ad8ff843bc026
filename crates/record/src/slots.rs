//! How far a recording has come: the earliest begin of a transaction that is not recorded yet.
//!
//! A session notes the clock in its slot, *then* reads the clock again for the begin that it records, and clears the
//! slot after its line is written. The mark reads the clock *first*, then the slots, and takes the least. So a
//! transaction that is not in the file when the mark is written began at the moment of the mark or later: either its
//! slot was seen, or it read the clock after the mark did.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// No transaction is in progress.
const IDLE: i64 = i64::MAX;

/// The least time between two marks.
const INTERVAL_NS: i64 = 100_000_000;

/// The slots of all sessions.
#[derive(Default)]
pub(crate) struct Slots {
    all: Mutex<Vec<Arc<AtomicI64>>>,
    last_mark: AtomicI64,
    /// How far the slowest clock of a client is behind, as a number below zero.
    slowest: AtomicI64,
}

/// The slot of one session.
pub(crate) struct Slot(Arc<AtomicI64>);

impl Slots {
    /// A slot for a new session.
    pub fn add(&self) -> Slot {
        let slot = Arc::new(AtomicI64::new(IDLE));
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        // Sessions that ended are not looked at for ever.
        all.retain(|slot| Arc::strong_count(slot) > 1);
        all.push(Arc::clone(&slot));
        Slot(slot)
    }

    /// A client's clock differs from that of the recording by this much.
    pub fn note_offset(&self, offset_ns: i64) {
        self.slowest.fetch_min(offset_ns, Ordering::SeqCst);
    }

    /// The moment of the next mark, if it is time for one.
    pub fn due(&self, clock: impl FnOnce() -> i64) -> Option<i64> {
        let now = clock();
        let last = self.last_mark.load(Ordering::Relaxed);
        let is_due = now.saturating_sub(last) >= INTERVAL_NS;
        let is_mine =
            || self.last_mark.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        (is_due && is_mine()).then(|| self.before(now))
    }

    /// All transactions that began before this are recorded, if the clock was read before this call.
    fn before(&self, now: i64) -> i64 {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let least = all.iter().map(|slot| slot.load(Ordering::SeqCst)).fold(now, i64::min);
        least.saturating_add(self.slowest.load(Ordering::SeqCst))
    }
}

impl Slot {
    /// A transaction is about to begin; its begin has to be read from the clock after this call.
    pub fn begin(&self, now: i64) {
        self.0.store(now, Ordering::SeqCst);
    }

    /// The transaction is recorded.
    pub fn clear(&self) {
        self.0.store(IDLE, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_transaction_in_progress_counts() {
        let slots = Slots::default();
        let (one, other) = (slots.add(), slots.add());
        assert_eq!(slots.due(|| 5), None);
        one.begin(7);
        other.begin(9);
        assert_eq!(slots.due(|| INTERVAL_NS), Some(7));
        assert_eq!(slots.due(|| INTERVAL_NS + 1), None);
        one.clear();
        assert_eq!(slots.due(|| 2 * INTERVAL_NS), Some(9));
        other.clear();
        slots.note_offset(-4);
        assert_eq!(slots.due(|| 3 * INTERVAL_NS), Some(3 * INTERVAL_NS - 4));
    }
}
