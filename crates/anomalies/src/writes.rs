//! All writes of a history, found by key and value.
//!
//! Sorted by key and value instead of hashed: a key has few writes in most histories, so a search within them stays in
//! the cache, and the table takes a third of the memory.

use history::{KeyId, OpId, TxnId, ValueId};

/// A write of a version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Write {
    pub txn: TxnId,
    pub op: OpId,
    pub value: ValueId,
    /// Whether the transaction had not written the key before.
    pub is_first: bool,
    /// Whether the transaction did not write the key again.
    pub is_final: bool,
    /// Whether another write has the same key and value.
    pub is_repeated: bool,
}

/// The writes, key by key.
#[derive(Debug)]
pub(crate) struct Writes {
    /// Where the writes of each key begin, by value and by transaction.
    start: Vec<u32>,
    final_start: Vec<u32>,
    /// In the order of values, the first one of each value.
    by_value: Vec<Write>,
    /// Final writes in the order of transactions.
    finals: Vec<(TxnId, ValueId)>,
}

impl Writes {
    /// Of all writes, in the order of their operations.
    pub(crate) fn new(mut writes: Vec<(KeyId, Write)>, key_count: usize) -> Self {
        // Stable, so the order of operations is kept within a key.
        writes.sort_by_key(|&(key, _)| key);
        let is_final = |&&(_, write): &&(KeyId, Write)| write.is_final;
        let finals = writes.iter().filter(is_final).map(|&(_, write)| (write.txn, write.value)).collect();
        let final_start = starts(writes.iter().filter(is_final).map(|&(key, _)| key), key_count);
        writes
            .chunk_by_mut(|a, b| a.0 == b.0)
            .for_each(|of_key| of_key.sort_by_key(|(_, write)| write.value));
        writes.dedup_by(|later, first| {
            let is_same = (later.0, later.1.value) == (first.0, first.1.value);
            first.1.is_repeated |= is_same;
            is_same
        });
        let start = starts(writes.iter().map(|&(key, _)| key), key_count);
        Self { start, final_start, by_value: writes.into_iter().map(|(_, write)| write).collect(), finals }
    }

    fn of_key(&self, key: KeyId) -> &[Write] {
        &self.by_value[range(&self.start, key)]
    }

    /// The first write of a value.
    pub(crate) fn of(&self, key: KeyId, value: ValueId) -> Option<Write> {
        let writes = self.of_key(key);
        let place = writes.binary_search_by_key(&value, |write| write.value).ok()?;
        Some(writes[place])
    }

    /// Whether a value of a key was written twice.
    pub(crate) fn has_repeats(&self, key: KeyId) -> bool {
        self.of_key(key).iter().any(|write| write.is_repeated)
    }

    /// The final writes of a key, in the order of their transactions.
    pub(crate) fn finals(&self, key: KeyId) -> &[(TxnId, ValueId)] {
        &self.finals[range(&self.final_start, key)]
    }
}

fn range(start: &[u32], key: KeyId) -> std::ops::Range<usize> {
    start[key.index()] as usize..start[key.index() + 1] as usize
}

/// Where each key begins in a sorted sequence of keys.
fn starts(keys: impl Iterator<Item = KeyId>, key_count: usize) -> Vec<u32> {
    let mut start = vec![0u32; key_count + 1];
    keys.for_each(|key| start[key.index() + 1] += 1);
    for key in 0..key_count {
        start[key + 1] += start[key];
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(txn: u32, value: u32, is_final: bool) -> Write {
        let (txn, op, value) = (TxnId(txn), OpId(10 * txn + value), ValueId(value));
        Write { txn, op, value, is_first: true, is_final, is_repeated: false }
    }

    #[test]
    fn writes_are_found_by_key_and_value() {
        let [one, two] = [KeyId(0), KeyId(2)];
        let all = vec![(two, write(0, 5, true)), (one, write(1, 7, false)), (one, write(1, 6, true))];
        let writes = Writes::new(all, 3);
        assert_eq!(writes.of(two, ValueId(5)), Some(write(0, 5, true)));
        assert_eq!(writes.of(one, ValueId(7)), Some(write(1, 7, false)));
        assert_eq!(writes.of(one, ValueId(5)), None);
        assert_eq!(writes.of(KeyId(1), ValueId(5)), None);
        assert_eq!(writes.finals(one), [(TxnId(1), ValueId(6))]);
        assert_eq!(writes.finals(KeyId(1)), []);
    }

    #[test]
    fn a_value_that_was_written_twice_is_marked_and_both_final_writes_are_kept() {
        let key = KeyId(0);
        let writes = Writes::new(vec![(key, write(3, 5, true)), (key, write(4, 5, true))], 1);
        assert!(writes.has_repeats(key));
        assert_eq!(
            writes.of(key, ValueId(5)).map(|write| (write.txn, write.is_repeated)),
            Some((TxnId(3), true))
        );
        assert_eq!(writes.finals(key), [(TxnId(3), ValueId(5)), (TxnId(4), ValueId(5))]);
    }
}
