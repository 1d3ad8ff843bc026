//! Lists of waiting transactions, one for each class.
//!
//! A transaction is in one list at a time. It leaves a list by entering another or by [`Lists::leave`], which only
//! makes its entry stale; the entry is dropped when its list is taken.

use history::TxnId;
use order::NONE;

#[derive(Clone, Copy)]
struct Entry {
    txn: TxnId,
    stamp: u32,
    next: u32,
}

/// The lists, by number.
pub(super) struct Lists {
    first: Vec<u32>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// For each transaction the stamp of its entry that counts.
    stamp: Vec<u32>,
}

impl Lists {
    pub(super) fn new(list_count: usize, txn_count: usize) -> Self {
        Self {
            first: vec![NONE; list_count],
            entries: Vec::new(),
            free: Vec::new(),
            stamp: vec![0; txn_count],
        }
    }

    pub(super) fn enter(&mut self, list: usize, txn: TxnId) {
        self.leave(txn);
        let entry = Entry { txn, stamp: self.stamp[txn.index()], next: self.first[list] };
        self.first[list] = match self.free.pop() {
            Some(place) => {
                self.entries[place as usize] = entry;
                place
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
    }

    pub(super) fn leave(&mut self, txn: TxnId) {
        self.stamp[txn.index()] += 1;
    }

    /// Empties a list into a vector, in the order in which its members entered.
    pub(super) fn take(&mut self, list: usize, into: &mut Vec<TxnId>) {
        let start = into.len();
        let mut place = std::mem::replace(&mut self.first[list], NONE);
        while place != NONE {
            let entry = self.entries[place as usize];
            if entry.stamp == self.stamp[entry.txn.index()] {
                into.push(entry.txn);
            }
            self.free.push(place);
            place = entry.next;
        }
        into[start..].reverse();
    }
}
