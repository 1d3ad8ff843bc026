//! The reads of each row that are still to come, in the order of the readers' begins.
//!
//! A writer that overwrites what a pending reader needs must wait for that reader, and of two writers the one whose
//! content a pending reader needs comes last. Mostly the first pending read of a row answers both.

use history::{KeyId, TxnId};

use super::contents::ContentNumber;
use super::scripts::{ScriptStep, Scripts};

/// A reader by its place in the order of begins, and what it saw.
#[derive(Clone, Copy, Default)]
pub(crate) struct PendingRead {
    rank: u32,
    pub content: ContentNumber,
}

pub(crate) struct PendingReads {
    by_begin: Vec<TxnId>,
    rank_of: Vec<u32>,
    /// By key, and then by rank.
    all: Vec<PendingRead>,
    start: Vec<u32>,
    /// For each key its first pending read.
    head: Vec<u32>,
    /// A copy of that read: the copies of all keys fit into the cache, all pending reads do not.
    first: Vec<PendingRead>,
    /// For each rank whether the reader has come.
    has_come: Vec<bool>,
}

impl PendingReads {
    pub fn of(scripts: &Scripts<'_>, by_begin: Vec<TxnId>) -> Self {
        let key_count = scripts.history.keys().len();
        let mut rank_of = vec![u32::MAX; scripts.of_txn.len()];
        for (rank, &txn) in by_begin.iter().enumerate() {
            rank_of[txn.index()] = rank as u32;
        }
        let mut start = vec![0u32; key_count + 1];
        for &txn in &by_begin {
            each(scripts, txn, |key, _| start[key.index() + 1] += 1);
        }
        for key in 0..key_count {
            start[key + 1] += start[key];
        }
        let mut next = start.clone();
        let mut all = vec![PendingRead::default(); start[key_count] as usize];
        for (rank, &txn) in by_begin.iter().enumerate() {
            each(scripts, txn, |key, content| {
                all[next[key.index()] as usize] = PendingRead { rank: rank as u32, content };
                next[key.index()] += 1;
            });
        }
        let head = start[..key_count].to_vec();
        let has_come = vec![false; by_begin.len()];
        let first = head.iter().map(|&head| all.get(head as usize).copied().unwrap_or_default()).collect();
        Self { by_begin, rank_of, all, start, head, first, has_come }
    }

    /// The pending reads of a key.
    pub fn of_key(&mut self, key: KeyId) -> impl Iterator<Item = (TxnId, ContentNumber)> {
        let end = self.start[key.index() + 1];
        let mut head = self.head[key.index()];
        while head < end && self.has_come[self.first[key.index()].rank as usize] {
            head += 1;
            self.first[key.index()] = self.all.get(head as usize).copied().unwrap_or_default();
        }
        self.head[key.index()] = head;
        let first = (head < end).then_some(self.first[key.index()]);
        let others = self.all[(head as usize + 1).min(end as usize)..end as usize].iter().copied();
        let is_open = |read: &PendingRead| !self.has_come[read.rank as usize];
        let pending = first.into_iter().chain(others.filter(is_open));
        pending.map(|read| (self.by_begin[read.rank as usize], read.content))
    }

    /// Brings the next pending reads of rows into the cache, all at once instead of one by one.
    pub fn fetch(&self, keys: impl Iterator<Item = KeyId>) {
        let next = |key: KeyId| {
            let has_come = self.has_come[self.first[key.index()].rank as usize];
            has_come.then(|| self.all.get(self.head[key.index()] as usize + 1)).flatten()
        };
        std::hint::black_box(keys.filter_map(next).fold(0, |all, read| all ^ read.rank));
    }

    /// A reader has begun: writers need not wait for it any more.
    pub fn come(&mut self, txn: TxnId) {
        self.has_come[self.rank_of[txn.index()] as usize] = true;
    }

    /// A reader was taken back, so its reads are pending again.
    pub fn put_back(&mut self, scripts: &Scripts<'_>, txn: TxnId) {
        let rank = self.rank_of[txn.index()];
        self.has_come[rank as usize] = false;
        each(scripts, txn, |key, _| {
            let (start, end) = (self.start[key.index()] as usize, self.start[key.index() + 1] as usize);
            let place = start + self.all[start..end].partition_point(|read| read.rank < rank);
            if (place as u32) < self.head[key.index()] {
                self.head[key.index()] = place as u32;
                self.first[key.index()] = self.all[place];
            }
        });
    }
}

/// What a transaction saw of rows before it changed any.
pub(super) fn each(scripts: &Scripts<'_>, txn: TxnId, mut add: impl FnMut(KeyId, ContentNumber)) {
    for step in &scripts.of_txn[txn.index()].steps {
        match step {
            ScriptStep::Read { key, row, .. } => add(*key, *row),
            ScriptStep::Range { shown, .. } | ScriptStep::Query { shown, .. } => {
                shown.iter().for_each(|row| add(row.key, row.content));
            }
            ScriptStep::Write { .. } | ScriptStep::Update { .. } => return,
        }
    }
}
