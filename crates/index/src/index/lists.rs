//! Lists: an element tells which transaction appended it, and a list in which order the appends came.
//!
//! A list is whole if each of its elements was appended by a transaction that may have committed, and all that the
//! transaction appended stands together and in its order (`appends.rs`). Of the lists of a key that committed transactions
//! saw, the longest tells the order of its versions; a transaction that appended to the key and is not in it came later. A list that is no
//! start of the longest tells an order of its own, which contradicts the other one, or what it lacks does; what a
//! transaction of unknown outcome saw counts if it committed.
//!
//! Where an element was appended by several transactions, only what is certain is told, and [`Index::guessing`] tells
//! what is likely: an order that it leads to may explain the history, but a contradiction means nothing.
//!
//! A history in which a range read concerns a list is left to others: it is not indexed.
//!
//! Costs one look-up per element of the longest list of each key, and one comparison per element of the others.

use super::appends::Appends;
use super::versions::{Telling, VersionOrder};
use super::{Index, SourceKind};
use crate::{Finding, FindingKind};
use history::{History, KeyId, Op, OpId, Outcome, TxnId, ValueId};

/// An external read of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListRead {
    pub(super) txn: TxnId,
    pub(super) key: KeyId,
    pub(super) op: OpId,
    /// How many of the elements came from outside.
    pub(super) length: u32,
}

impl ListRead {
    /// The elements that came from outside.
    pub(super) fn outside<'h>(&self, history: &'h History) -> &'h [ValueId] {
        match history.op(self.op) {
            Op::ReadList { list: Some(list), .. } => &list[..self.length as usize],
            _ => &[],
        }
    }

    /// Whether an element came from outside that the reader itself appends only later.
    fn has_own_element(&self, history: &History) -> bool {
        let outside = self.outside(history);
        let appends = history.ops(self.txn).filter(|(_, op)| op.key() == Some(self.key));
        let mut elements = appends.filter_map(|(_, op)| op.value_appended());
        elements.any(|element| outside.contains(&element))
    }

    /// Something that is wrong with it.
    pub(super) fn finding(&self, kind: FindingKind, value: ValueId, other: Option<OpId>) -> Finding {
        Finding { kind, txn: self.txn, read: self.op, key: self.key, value, other }
    }
}

impl Index {
    /// Finds what is wrong with lists, and the order of versions that they tell.
    pub(super) fn order_lists(&mut self, history: &History, reads: &[ListRead], guesses: bool) {
        self.first_of_list = if history.has_lists() { first_of_list(history) } else { None };
        if self.first_of_list.is_none() {
            return;
        }
        self.unindexed = self.unindexed.or(not_only_lists(history));
        if self.unindexed.is_some() {
            return;
        }
        let appends = Appends::of(history, self, guesses);
        self.doubtful = appends.first_doubtful(self);
        if history.has_predicates() {
            self.unindexed = self.doubtful;
        }
        let mut reads = reads.to_vec();
        let is_committed = |read: &ListRead| history.outcome(read.txn) == Outcome::Committed;
        // The longest of a committed reader first.
        reads.sort_by_key(|read| (read.key, !is_committed(read), u32::MAX - read.length, read.op));
        for of_key in reads.chunk_by(|a, b| a.key == b.key) {
            self.order_key(history, &appends, of_key);
        }
        self.members.sort_unstable();
    }

    fn order_key(&mut self, history: &History, appends: &Appends<'_>, reads: &[ListRead]) {
        let longest = reads[0];
        let is_told = history.outcome(longest.txn) == Outcome::Committed;
        let has_repeats = appends.has_repeats(longest.key);
        let list = longest.outside(history);
        for (place, read) in reads.iter().enumerate() {
            let outside = read.outside(history);
            let is_start = place > 0 && is_told && list.starts_with(outside);
            if is_start && !has_repeats && !read.has_own_element(history) {
                continue;
            }
            let made_of = match appends.made_of(self, read) {
                Ok(made_of) => made_of,
                Err(finding) => {
                    self.findings.push(finding);
                    continue;
                }
            };
            if has_repeats {
                self.set_source(read, made_of.last());
                let writers = made_of.known().map(|write| self.writers[write as usize]);
                self.members.push((read.op, writers.collect()));
            }
            if !is_start {
                let known: Vec<u32> = made_of.known().collect();
                self.tell(history, read, &known, made_of.is_whole.then(|| made_of.possible()));
            }
        }
    }

    /// A list whose last element several transactions appended may still tell which one it was.
    fn set_source(&mut self, read: &ListRead, write: Option<u32>) {
        let number = self.reads_of(read.txn).find(|&number| self.reads[number].op == read.op);
        if let (Some(number), Some(write)) = (number, write) {
            (self.read_kind[number], self.read_source[number]) = (SourceKind::Write, write);
        }
    }

    /// The order of the versions of a list, and that all others came later than all that may be in it.
    fn tell(&mut self, history: &History, read: &ListRead, versions: &[u32], possible: Option<Vec<u32>>) {
        let writers = versions.iter().map(|&write| self.writes[write as usize].txn);
        let unknown = writers.filter(|&txn| history.outcome(txn) == Outcome::Unknown);
        self.listed.extend(unknown.map(|txn| (read.op, txn)));
        let telling = Telling::List(read.op);
        let pairs =
            versions.windows(2).map(|pair| VersionOrder { earlier: pair[0], later: pair[1], telling });
        self.version_order.extend(pairs);
        let (Some(&last), Some(listed)) = (versions.last(), possible) else { return };
        let unseen = self.writes_to(read.key).iter().copied();
        let unseen = unseen.filter(|&write| {
            self.writes[write as usize].txn != read.txn && listed.binary_search(&write).is_err()
        });
        let mut unseen: Vec<u32> = unseen.collect();
        unseen.sort_unstable();
        let later = unseen.into_iter().map(|later| VersionOrder { earlier: last, later, telling });
        self.version_order.extend(later);
    }
}

/// An operation because of which lists are not told apart from other things: a list that is also written or read as a
/// value, that is in a range that was read, or that does not start empty.
fn not_only_lists(history: &History) -> Option<OpId> {
    let mut is_list = vec![None; history.keys().len()];
    for txn in history.txns() {
        for (id, op) in history.ops(txn) {
            let (key, kind) = match op {
                Op::Append { key, .. } | Op::ReadList { key, list: Some(_) } => (key, true),
                Op::Write { key, .. } | Op::Insert { key, .. } | Op::Delete { key, .. } => (key, false),
                Op::Read { key, value: Some(_) } => (key, false),
                _ => continue,
            };
            if *is_list[key.index()].get_or_insert(kind) != kind {
                return Some(id);
            }
        }
    }
    if let Some(range) = range_over_list(history, &is_list) {
        return Some(range);
    }
    let starts_empty = |key: KeyId| history.initial().value_of(key) == Some(ValueId::NIL);
    let mut lists = (0..is_list.len()).filter(|&key| is_list[key] == Some(true)).map(KeyId::from_index);
    let key = lists.find(|&key| !starts_empty(key))?;
    let of_key = |&op: &OpId| history.op(op).key() == Some(key);
    (0..history.op_count() as u32).map(OpId).find(of_key)
}

/// A read of a range that a list is in: what it should have returned of a list is not said.
fn range_over_list(history: &History, is_list: &[Option<bool>]) -> Option<OpId> {
    let lists = (0..is_list.len()).filter(|&key| is_list[key] == Some(true)).map(KeyId::from_index);
    let lists: Vec<KeyId> = lists.collect();
    let is_over_list = |op: &Op<'_>| match op {
        Op::RangeRead(range) if range.rows.is_some() => {
            lists.iter().any(|&key| range.contains(history.keys().original(key)))
        }
        _ => false,
    };
    if !history.has_ranges() {
        return None;
    }
    let mut ops = history.txns().flat_map(|txn| history.ops(txn));
    ops.find(|(_, op)| is_over_list(op)).map(|(id, _)| id)
}

fn first_of_list(history: &History) -> Option<OpId> {
    let mut ops = history.txns().flat_map(|txn| history.ops(txn));
    let of_list = |op: &Op<'_>| matches!(op, Op::Append { .. } | Op::ReadList { list: Some(_), .. });
    ops.find(|(_, op)| of_list(op)).map(|(id, _)| id)
}
