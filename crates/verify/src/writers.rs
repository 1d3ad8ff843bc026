//! The writers of each key, by chain and position: the nearest one before or after a place is one binary search.

use history::{KeyId, TxnId};
use order::{Chains, NONE};

use crate::problem::{Problem, Status};

/// Writers that took part or may have, sorted by key, chain and position of their commit; those on no chain come last.
pub(crate) struct Writers {
    start: Vec<u32>,
    place: Vec<u64>,
    txn: Vec<TxnId>,
    /// Writers that only may have taken part, sorted by key.
    maybe: Vec<(KeyId, TxnId)>,
}

fn place(chain: u32, position: u32) -> u64 {
    u64::from(chain) << 32 | u64::from(position)
}

impl Writers {
    pub(crate) fn new(problem: &Problem<'_>, chains: &Chains) -> Self {
        let keys = problem.history.keys().len();
        let mut writers = Self { start: vec![0], place: Vec::new(), txn: Vec::new(), maybe: Vec::new() };
        let mut entries = Vec::new();
        for key in (0..keys as u32).map(KeyId) {
            entries.clear();
            for &write in problem.index.writes_to(key) {
                let txn = problem.writer(write);
                let commit = problem.shape.commit(txn);
                match problem.status[txn.index()] {
                    Status::In => {
                        entries.push((place(chains.chain_of(commit), chains.position_of(commit)), txn))
                    }
                    Status::Maybe => writers.maybe.push((key, txn)),
                    Status::Out => {}
                }
            }
            entries.sort_unstable();
            writers.place.extend(entries.iter().map(|&(place, _)| place));
            writers.txn.extend(entries.iter().map(|&(_, txn)| txn));
            writers.start.push(writers.txn.len() as u32);
        }
        writers
    }

    fn range(&self, key: KeyId) -> std::ops::Range<usize> {
        self.start[key.index()] as usize..self.start[key.index() + 1] as usize
    }

    /// The number of the first writer of a key at or after a place, within the key's writers.
    #[inline]
    fn lower_bound(&self, key: KeyId, wanted: u64) -> usize {
        let range = self.range(key);
        range.start + self.place[range].partition_point(|&place| place < wanted)
    }

    /// The first writer on a chain at or after a position, other than the one given.
    #[inline]
    pub(crate) fn first_from(&self, key: KeyId, chain: u32, position: u32, but: TxnId) -> Option<TxnId> {
        let end = self.range(key).end;
        let mut at = self.lower_bound(key, place(chain, position));
        if at < end && self.txn[at] == but {
            at += 1;
        }
        (at < end && self.place[at] >> 32 == u64::from(chain)).then(|| self.txn[at])
    }

    /// The last writer on a chain before a position, other than the one given.
    #[inline]
    pub(crate) fn last_before(&self, key: KeyId, chain: u32, end: u32, but: TxnId) -> Option<TxnId> {
        let start = self.range(key).start;
        let mut at = self.lower_bound(key, place(chain, end));
        if at > start && self.txn[at - 1] == but {
            at -= 1;
        }
        (at > start && self.place[at - 1] >> 32 == u64::from(chain)).then(|| self.txn[at - 1])
    }

    /// The writers on a chain from one position up to but without another.
    pub(crate) fn between(&self, key: KeyId, chain: u32, from: u32, to: u32) -> &[TxnId] {
        if from >= to {
            return &[];
        }
        let (start, end) =
            (self.lower_bound(key, place(chain, from)), self.lower_bound(key, place(chain, to)));
        &self.txn[start..end]
    }

    /// A writer on a chain from one position up to but without another, other than the two given.
    #[inline]
    pub(crate) fn any_between(
        &self,
        key: KeyId,
        chain: u32,
        from: u32,
        to: u32,
        but: [TxnId; 2],
    ) -> Option<TxnId> {
        self.between(key, chain, from, to).iter().copied().find(|txn| !but.contains(txn))
    }

    /// The writers of a key that are on no chain.
    pub(crate) fn off_chain(&self, key: KeyId) -> &[TxnId] {
        &self.txn[self.lower_bound(key, place(NONE, 0))..self.range(key).end]
    }

    /// The writers of a key that only may have taken part.
    pub(crate) fn maybe(&self, key: KeyId) -> impl Iterator<Item = TxnId> + '_ {
        let start = self.maybe.partition_point(|&(known, _)| known < key);
        self.maybe[start..].iter().take_while(move |&&(known, _)| known == key).map(|&(_, txn)| txn)
    }

    /// How many pairs of writers of one key there are: what enumerating them would cost.
    pub(crate) fn pair_count(&self) -> u64 {
        let pairs = |count: u64| count * count.saturating_sub(1) / 2;
        self.start.windows(2).map(|ends| pairs(u64::from(ends[1] - ends[0]))).sum()
    }
}
