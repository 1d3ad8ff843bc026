//! A transaction that cannot come next may have come before.
//!
//! When nothing can come, a waiting transaction is put back into the order, after everything that must precede it, at a
//! place where its reads see what was there and where its writes change nothing for anybody: the value is there already,
//! or it is overwritten before anybody reads it. What comes next is not touched by that. With few values such places
//! are many: of 10,000 sessions of 10 transactions on 100 keys with 3 values, a few dozen transactions are put back.
//!
//! Places are labels with gaps between them, so that a transaction fits between two others. For each key the labels of
//! its versions and of its reads are kept in order; a place is found by going from version to version.

use std::collections::BTreeMap;

use history::TxnId;

use crate::classes::Classes;
use crate::problem::{INITIAL, Problem};

/// The gap between the labels of transactions that come one after the other.
pub(super) const GAP: u64 = 1 << 20;

/// What happened to a key.
#[derive(Clone, Default)]
struct Events {
    /// Labels with the write that came there.
    versions: Vec<(u64, u32)>,
    /// Labels of reads.
    reads: Vec<u64>,
}

impl Events {
    /// How many versions there are before a label.
    fn versions_before(&self, label: u64) -> usize {
        self.versions.partition_point(|&(known, _)| known < label)
    }
}

/// The order so far, in which transactions find a place.
pub(super) struct Past {
    txns: BTreeMap<u64, TxnId>,
    keys: Vec<Events>,
}

impl Past {
    /// No transaction came yet.
    pub(super) fn new(key_count: usize) -> Self {
        Self { txns: BTreeMap::new(), keys: vec![Events::default(); key_count] }
    }

    /// Adds a transaction behind all others; gives its label.
    pub(super) fn push(&mut self, problem: &Problem<'_>, txn: TxnId) -> u64 {
        let last = self.txns.last_key_value().map_or(0, |(&label, _)| label);
        self.put(problem, txn, last + GAP);
        last + GAP
    }

    fn put(&mut self, problem: &Problem<'_>, txn: TxnId, label: u64) {
        self.txns.insert(label, txn);
        for read in problem.index.reads_of(txn) {
            let reads = &mut self.keys[problem.index.reads()[read].key.index()].reads;
            reads.insert(reads.partition_point(|&known| known < label), label);
        }
        for write in problem.index.writes_of(txn) {
            let events = &mut self.keys[problem.index.writes()[write].key.index()];
            events.versions.insert(events.versions_before(label), (label, write as u32));
        }
    }

    /// Puts a transaction into the order behind a label, if it has a place there that is found with so many tries; gives
    /// its label.
    pub(super) fn insert(
        &mut self,
        problem: &Problem<'_>,
        classes: &Classes,
        txn: TxnId,
        floor: u64,
        tries: &mut usize,
    ) -> Option<u64> {
        let mut after = floor;
        while *tries > 0 {
            *tries -= 1;
            if after == u64::MAX {
                return None;
            }
            after = self.fitting(problem, classes, txn, after)?;
            let next = self.txns.range(after + 1..).next().map(|(&label, _)| label)?;
            let label = after + (next - after) / 2;
            match self.disturbed(problem, classes, txn, label) {
                None if label > after => {
                    self.put(problem, txn, label);
                    return Some(label);
                }
                // There is no room between the two.
                None => after = next,
                Some(end) => after = end,
            }
        }
        None
    }

    /// The first label from one on behind which the reads of a transaction see what they saw.
    fn fitting(&self, problem: &Problem<'_>, classes: &Classes, txn: TxnId, from: u64) -> Option<u64> {
        let mut after = from;
        loop {
            let start = after;
            for read in problem.index.reads_of(txn) {
                let versions = &self.keys[problem.index.reads()[read].key.index()].versions;
                let seen = versions.partition_point(|&(known, _)| known <= after);
                let holder = if seen == 0 { INITIAL } else { versions[seen - 1].1 };
                if !classes.fits(problem, read, holder) {
                    let is_fitting = |&&(_, write): &&(u64, u32)| classes.fits(problem, read, write);
                    after = versions[seen..].iter().find(is_fitting)?.0;
                }
            }
            if after == start {
                return Some(after);
            }
        }
    }

    /// If the writes of a transaction at a label would be read by others, the label of the next version of that key.
    fn disturbed(&self, problem: &Problem<'_>, classes: &Classes, txn: TxnId, label: u64) -> Option<u64> {
        let mut end = None;
        for write in problem.index.writes_of(txn) {
            let key = problem.index.writes()[write].key;
            let events = &self.keys[key.index()];
            let next = events.versions_before(label);
            let next_label = events.versions.get(next).map_or(u64::MAX, |&(label, _)| label);
            let holder = if next == 0 { INITIAL } else { events.versions[next - 1].1 };
            if classes.is_same(holder, write as u32) {
                continue;
            }
            // A transaction reads before it writes, so a read by the next writer counts.
            let first_read = events.reads.get(events.reads.partition_point(|&known| known < label));
            if next_label == u64::MAX || first_read.is_some_and(|&read| read <= next_label) {
                end = end.max(Some(next_label));
            }
        }
        end
    }

    /// The transactions in their order.
    pub(super) fn order(&self) -> impl Iterator<Item = TxnId> + '_ {
        self.txns.values().copied()
    }
}
