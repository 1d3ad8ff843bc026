//! Two transactions, each of which overwrote a row that the other one saw: the rows to ask about first.
//!
//! If both saw the same content of a row, and one of them changed the row, the other one comes before it in every serial
//! order in which contents are not written twice. Two rows that say so in opposite directions are a write skew, and one
//! row that both changed is a lost update. To ask about these rows alone takes milliseconds, where the rows on which a
//! search for an order ended are dozens. What is found here proves nothing: the engine decides about the rows.
//!
//! One pass over the operations and a sort of what was seen. Measured on six runs of `blindw-pred` on PostgreSQL at
//! repeatable read (1,000 commits): at `serializable` two of them were undecided after 12 and 17 s of processor time, and
//! the others took 2 to 9 s.

use certify::Core;
use history::{History, KeyId, Op, Outcome, Row, TxnId, ValueId};

/// How many sets of rows are asked about.
const MOST: usize = 3;

/// A content of a row, with a transaction that saw it.
type Sight = (KeyId, ValueId, TxnId);

/// Sets of rows on which two transactions probably contradict a level.
pub(super) fn suspects(history: &History, core: Core) -> Vec<Vec<KeyId>> {
    let (mut seen, mut overwritten) = (Vec::new(), Vec::new());
    for txn in history.txns().filter(|&txn| history.outcome(txn) == Outcome::Committed) {
        look_at(history, txn, &mut seen, &mut overwritten);
    }
    seen.sort_unstable();
    // The first transaction of each entry comes before the second one, by this row.
    let mut before: Vec<(TxnId, TxnId, KeyId)> = Vec::new();
    for &(key, value, writer) in &overwritten {
        let first = seen.partition_point(|&(other, content, _)| (other, content) < (key, value));
        let readers =
            seen[first..].iter().take_while(|&&(other, content, _)| (other, content) == (key, value));
        before.extend(
            readers.filter(|&&(.., reader)| reader != writer).map(|&(.., reader)| (reader, writer, key)),
        );
    }
    before.sort_unstable();
    before.dedup();
    let mut found: Vec<Vec<KeyId>> = Vec::new();
    for &(one, other, key) in before.iter().filter(|(one, other, _)| one < other) {
        let first = before.partition_point(|&(from, to, _)| (from, to) < (other, one));
        let back = before[first..].iter().take_while(|&&(from, to, _)| (from, to) == (other, one));
        for &(.., back) in
            back.filter(|&&(.., back)| core == Core::Serializable || core == Core::Snapshot && back == key)
        {
            let mut keys = vec![key, back];
            keys.sort_unstable();
            keys.dedup();
            if !found.contains(&keys) {
                found.push(keys);
            }
            if found.len() == MOST {
                return found;
            }
        }
    }
    found
}

/// Notes what a transaction saw of rows before it changed them, and which of these it changed.
fn look_at(history: &History, txn: TxnId, seen: &mut Vec<Sight>, overwritten: &mut Vec<Sight>) {
    let first = seen.len();
    let mut changed: Vec<KeyId> = Vec::new();
    for (_, op) in history.ops(txn) {
        let mut see = |key: KeyId, value: ValueId| {
            if !changed.contains(&key) {
                seen.push((key, value, txn));
            }
        };
        let mut see_rows = |rows: &Option<Vec<Row>>| {
            let rows = rows.iter().flatten().filter(|row| !row.is_dead);
            rows.for_each(|row| see(row.key, row.value));
        };
        match op {
            Op::Read { key, value: Some(value) } => see(key, value),
            Op::RangeRead(read) => see_rows(&read.rows),
            Op::PredicateRead(read) => see_rows(&read.rows),
            Op::PredicateWrite(write) => changed.extend(write.keys.iter().flatten()),
            Op::Write { key, .. } | Op::Insert { key, .. } | Op::Delete { key, .. } => changed.push(key),
            _ => {}
        }
    }
    overwritten.extend(seen[first..].iter().filter(|(key, ..)| changed.contains(key)));
}
