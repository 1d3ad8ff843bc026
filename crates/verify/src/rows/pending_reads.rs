//! The reads of each row that are still to come, in the order of the readers' begins.
//!
//! A writer that overwrites what a pending reader needs must wait for that reader, and of two writers the one whose
//! content a pending reader needs comes last. Mostly the first pending read of a row answers both.
//!
//! All reads lie in the order of their readers, each with the place of the next read of its row; 12 bytes each. So what
//! is looked at next is what the next readers saw, which lies side by side. With the reads of each row side by side
//! instead, the next reads of 10,000 rows were on as many pages of memory: in `blindw-pred` with 10,000 transactions
//! choosing writers took 220 ms of the processor and takes 90 ms, on a busy machine. Bringing the next reads of all rows
//! that a writer changes into the cache beforehand, which helped then, was left out.

use history::{KeyId, TxnId};

use super::contents::ContentNumber;
use super::scripts::{ScriptStep, Scripts};

/// A reader by its place in the order of begins, what it saw, and the place of the next read of the row.
#[derive(Clone, Copy)]
struct PendingRead {
    rank: u32,
    content: ContentNumber,
    next: u32,
}

/// No further read.
const NONE: u32 = u32::MAX;

pub(crate) struct PendingReads {
    by_begin: Vec<TxnId>,
    rank_of: Vec<u32>,
    /// By rank.
    all: Vec<PendingRead>,
    /// For each rank the place of its first read.
    start: Vec<u32>,
    /// For each key the place of its first pending read.
    head: Vec<u32>,
    /// For each rank whether the reader has come.
    has_come: Vec<bool>,
}

impl PendingReads {
    pub fn of(scripts: &Scripts<'_>, by_begin: Vec<TxnId>) -> Self {
        let key_count = scripts.history.keys().len();
        let mut rank_of = vec![u32::MAX; scripts.of_txn.len()];
        let (mut head, mut last) = (vec![NONE; key_count], vec![NONE; key_count]);
        let mut start = Vec::with_capacity(by_begin.len());
        let mut all: Vec<PendingRead> = Vec::new();
        for (rank, &txn) in by_begin.iter().enumerate() {
            rank_of[txn.index()] = rank as u32;
            start.push(all.len() as u32);
            each(scripts, txn, |key, content| {
                let place = all.len() as u32;
                match std::mem::replace(&mut last[key.index()], place) {
                    NONE => head[key.index()] = place,
                    before => all[before as usize].next = place,
                }
                all.push(PendingRead { rank: rank as u32, content, next: NONE });
            });
        }
        let has_come = vec![false; by_begin.len()];
        Self { by_begin, rank_of, all, start, head, has_come }
    }

    /// The pending reads of a key.
    pub fn of_key(&mut self, key: KeyId) -> impl Iterator<Item = (TxnId, ContentNumber)> {
        let head = &mut self.head[key.index()];
        while let Some(read) = self.all.get(*head as usize)
            && self.has_come[read.rank as usize]
        {
            *head = read.next;
        }
        let read = |place: u32| self.all.get(place as usize);
        let pending = std::iter::successors(read(*head), move |known| read(known.next));
        let is_open = |read: &&PendingRead| !self.has_come[read.rank as usize];
        pending.filter(is_open).map(|read| (self.by_begin[read.rank as usize], read.content))
    }

    /// A reader has begun: writers need not wait for it any more.
    pub fn come(&mut self, txn: TxnId) {
        self.has_come[self.rank_of[txn.index()] as usize] = true;
    }

    /// A reader was taken back, so its reads are pending again.
    pub fn put_back(&mut self, scripts: &Scripts<'_>, txn: TxnId) {
        let rank = self.rank_of[txn.index()] as usize;
        self.has_come[rank] = false;
        let mut place = self.start[rank];
        each(scripts, txn, |key, _| {
            let head = &mut self.head[key.index()];
            *head = place.min(*head);
            place += 1;
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
