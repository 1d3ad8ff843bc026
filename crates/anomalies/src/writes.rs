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
    intermediate_start: Vec<u32>,
    /// In the order of values, the first one of each value.
    by_value: Vec<Write>,
    /// Final writes in the order of transactions.
    finals: Vec<(TxnId, ValueId)>,
    /// Values that a transaction replaced itself.
    intermediates: Vec<ValueId>,
}

impl Writes {
    /// Of all writes, in the order of their operations.
    pub(crate) fn new(writes: Vec<(KeyId, Write)>, key_count: usize) -> Self {
        let by_key_start = starts(writes.iter().map(|&(key, _)| key), key_count);
        let mut by_value = in_order_of_keys(&writes, &by_key_start);
        drop(writes);
        let mut all = Self {
            start: vec![0],
            final_start: vec![0],
            intermediate_start: vec![0],
            by_value: Vec::new(),
            finals: Vec::new(),
            intermediates: Vec::new(),
        };
        let mut kept = 0;
        for key in 0..key_count {
            let of_key = by_key_start[key] as usize..by_key_start[key + 1] as usize;
            let first_kept = kept;
            all.finals.extend(
                by_value[of_key.clone()]
                    .iter()
                    .filter(|write| write.is_final)
                    .map(|write| (write.txn, write.value)),
            );
            let intermediate = by_value[of_key.clone()].iter().filter(|write| !write.is_final);
            all.intermediates.extend(intermediate.map(|write| write.value));
            // Stable, so the first write of a value comes first.
            by_value[of_key.clone()].sort_by_key(|write| write.value);
            for place in of_key {
                let write = by_value[place];
                if kept > first_kept && by_value[kept - 1].value == write.value {
                    by_value[kept - 1].is_repeated = true;
                } else {
                    by_value[kept] = write;
                    kept += 1;
                }
            }
            all.start.push(kept as u32);
            all.final_start.push(all.finals.len() as u32);
            all.intermediate_start.push(all.intermediates.len() as u32);
        }
        by_value.truncate(kept);
        all.by_value = by_value;
        all
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

    /// Whether a transaction that wrote this value replaced it itself. Few values of a key are such.
    pub(crate) fn is_intermediate(&self, key: KeyId, value: ValueId) -> bool {
        self.intermediates[range(&self.intermediate_start, key)].contains(&value)
    }

    /// The final writes of a key, in the order of their transactions.
    pub(crate) fn finals(&self, key: KeyId) -> &[(TxnId, ValueId)] {
        &self.finals[range(&self.final_start, key)]
    }
}

fn range(start: &[u32], key: KeyId) -> std::ops::Range<usize> {
    start[key.index()] as usize..start[key.index() + 1] as usize
}

/// The writes sorted by key, those of a key in their order.
fn in_order_of_keys(writes: &[(KeyId, Write)], start: &[u32]) -> Vec<Write> {
    let Some(&(_, blank)) = writes.first() else { return Vec::new() };
    let mut next = start.to_vec();
    let mut sorted = vec![blank; writes.len()];
    for &(key, write) in writes {
        let place = &mut next[key.index()];
        sorted[*place as usize] = write;
        *place += 1;
    }
    sorted
}

/// How many of a sequence of keys come before each key.
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
