//! Lists: an element tells which transaction appended it, and a list in which order the appends came.
//!
//! A list is whole if each of its elements was appended by a transaction that may have committed, and all that the
//! transaction appended stands together and in its order. Of the lists of a key that committed transactions saw, the
//! longest tells the order of its versions; a transaction that appended to the key and is not in it came later. A list that is no
//! start of the longest tells an order of its own, which contradicts the other one, or what it lacks does; what a
//! transaction of unknown outcome saw counts if it committed.
//!
//! A history in which a range read concerns a list is left to others: it is not indexed.
//!
//! Costs one look-up per element of the longest list of each key, and one comparison per element of the others.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Index;
use super::versions::{Telling, VersionOrder};
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
}

/// The transaction that appended each element.
struct Appends {
    by: FxHashMap<(KeyId, ValueId), OpId>,
    /// For each append, the next one of its transaction to the same key.
    next: FxHashMap<OpId, OpId>,
    first: FxHashMap<(TxnId, KeyId), OpId>,
}

impl Index {
    /// Finds what is wrong with lists, and the order of versions that they tell.
    pub(super) fn order_lists(&mut self, history: &History, reads: &[ListRead]) {
        self.first_of_list = first_of_list(history);
        if self.first_of_list.is_none() {
            return;
        }
        let Some(appends) = self.appends(history) else { return };
        let mut reads = reads.to_vec();
        let is_committed = |read: &ListRead| history.outcome(read.txn) == Outcome::Committed;
        // The longest of a committed reader first.
        reads.sort_by_key(|read| (read.key, !is_committed(read), u32::MAX - read.length, read.op));
        for of_key in reads.chunk_by(|a, b| a.key == b.key) {
            self.order_key(history, &appends, of_key);
        }
    }

    /// Elements that are appended twice, and lists that are overwritten, are not told apart.
    fn appends(&mut self, history: &History) -> Option<Appends> {
        let mut appends =
            Appends { by: FxHashMap::default(), next: FxHashMap::default(), first: FxHashMap::default() };
        let mut last: FxHashMap<(TxnId, KeyId), OpId> = FxHashMap::default();
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
                    self.unindexed = self.unindexed.or(Some(id));
                    return None;
                }
                let Op::Append { value, .. } = op else { continue };
                if appends.by.insert((key, value), id).is_some() {
                    self.unindexed = self.unindexed.or(Some(id));
                    return None;
                }
                match last.insert((txn, key), id) {
                    None => drop(appends.first.insert((txn, key), id)),
                    Some(before) => drop(appends.next.insert(before, id)),
                }
            }
        }
        if let Some(range) = range_over_list(history, &is_list) {
            self.unindexed = self.unindexed.or(Some(range));
            return None;
        }
        let starts_empty = |key: KeyId| history.initial().value_of(key) == Some(ValueId::NIL);
        let lists = (0..is_list.len()).filter(|&key| is_list[key] == Some(true)).map(KeyId::from_index);
        if let Some(key) = lists.into_iter().find(|&key| !starts_empty(key)) {
            let of_key = |&op: &OpId| history.op(op).key() == Some(key);
            self.unindexed = self.unindexed.or((0..history.op_count() as u32).map(OpId).find(of_key));
            return None;
        }
        Some(appends)
    }

    fn order_key(&mut self, history: &History, appends: &Appends, reads: &[ListRead]) {
        let longest = reads[0];
        let is_told = history.outcome(longest.txn) == Outcome::Committed;
        let list = longest.outside(history);
        for (place, read) in reads.iter().enumerate() {
            let outside = read.outside(history);
            let is_start = place > 0 && is_told && list.starts_with(outside);
            if is_start {
                continue;
            }
            match self.versions_of(history, appends, read) {
                Err(finding) => self.findings.push(finding),
                Ok(versions) => self.tell(history, read, &versions),
            }
        }
    }

    /// The versions that a list is made of, as numbers of final writes.
    fn versions_of(
        &self,
        history: &History,
        appends: &Appends,
        read: &ListRead,
    ) -> Result<Vec<u32>, Finding> {
        let list = read.outside(history);
        let finding =
            |kind, value, other| Finding { kind, txn: read.txn, read: read.op, key: read.key, value, other };
        let mut versions: Vec<u32> = Vec::new();
        let mut listed: FxHashSet<TxnId> = FxHashSet::default();
        let mut place = 0;
        while place < list.len() {
            let Some(&first) = appends.by.get(&(read.key, list[place])) else {
                return Err(finding(FindingKind::ThinAirRead, list[place], None));
            };
            let txn = history.txn_of(first);
            if !listed.insert(txn) {
                return Err(finding(kind_of_repeat(list, place), list[place], Some(first)));
            }
            if history.outcome(txn) == Outcome::Aborted {
                return Err(finding(FindingKind::AbortedRead, list[place], Some(first)));
            }
            if txn == read.txn {
                return Err(finding(FindingKind::FutureRead, list[place], Some(first)));
            }
            let mut append = appends.first[&(txn, read.key)];
            loop {
                if list.get(place) != history.op(append).value_appended().as_ref() {
                    let value = list[place.min(list.len() - 1)];
                    return Err(finding(FindingKind::IntermediateRead, value, Some(append)));
                }
                place += 1;
                match appends.next.get(&append) {
                    Some(&next) => append = next,
                    None => break,
                }
            }
            let is_version = |&write: &usize| self.writes[write].key == read.key;
            versions.extend(self.writes_of(txn).find(is_version).map(|write| write as u32));
        }
        Ok(versions)
    }

    /// The order of the versions of a list, and that all others came later.
    fn tell(&mut self, history: &History, read: &ListRead, versions: &[u32]) {
        let writers = versions.iter().map(|&write| self.writes[write as usize].txn);
        let unknown = writers.filter(|&txn| history.outcome(txn) == Outcome::Unknown);
        self.listed.extend(unknown.map(|txn| (read.op, txn)));
        let telling = Telling::List(read.op);
        let pairs =
            versions.windows(2).map(|pair| VersionOrder { earlier: pair[0], later: pair[1], telling });
        self.version_order.extend(pairs);
        let Some(&last) = versions.last() else { return };
        let mut listed = versions.to_vec();
        listed.sort_unstable();
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

/// A transaction comes twice in a list: with the same element, or its elements do not stand together.
fn kind_of_repeat(list: &[ValueId], place: usize) -> FindingKind {
    match list[..place].contains(&list[place]) {
        true => FindingKind::DuplicatedElement,
        false => FindingKind::IntermediateRead,
    }
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
    let mut ops = history.txns().flat_map(|txn| history.ops(txn));
    ops.find(|(_, op)| is_over_list(op)).map(|(id, _)| id)
}

fn first_of_list(history: &History) -> Option<OpId> {
    let mut ops = history.txns().flat_map(|txn| history.ops(txn));
    let of_list = |op: &Op<'_>| matches!(op, Op::Append { .. } | Op::ReadList { list: Some(_), .. });
    ops.find(|(_, op)| of_list(op)).map(|(id, _)| id)
}
