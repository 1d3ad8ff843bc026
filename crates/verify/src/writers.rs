//! The writers of each key, by chain and position: the nearest one before or after a place is one short search.
//!
//! Where all keys have windows and every writer is on a chain, the lists are not used, so they are made only on demand:
//! making them was 3 % of the time for 100,000 transactions.

use history::{KeyId, TxnId};
use order::{Chains, NONE};

use crate::problem::{Problem, Status};

/// Writers that took part or may have, sorted by key, chain and position of their commit; those on no chain come last.
pub(crate) struct Writers {
    start: Vec<u32>,
    place: Vec<u64>,
    txn: Vec<TxnId>,
    /// For a key with many writers, the place of its table in `starts`; `NONE` for the others.
    table: Vec<u32>,
    /// Tables of where the writers on each chain start, with one more row for the end of the last.
    starts: Vec<u32>,
    /// Whether any writer is on no chain.
    has_off_chain: bool,
    /// Writers that only may have taken part, sorted by key.
    maybe: Vec<(KeyId, TxnId)>,
    is_listed: bool,
    pair_count: u64,
}

fn place(chain: u32, position: u32) -> u64 {
    u64::from(chain) << 32 | u64::from(position)
}

/// How many places come before a bound: most keys have few writers, for which looking at each is fastest.
#[inline]
fn group_size(places: &[u64], bound: u64) -> usize {
    match places.len() {
        0..=12 => places.iter().take_while(|&&place| place < bound).count(),
        _ => places.partition_point(|&place| place < bound),
    }
}

/// The chains that a rule has to look at: all, or a list.
pub(crate) struct Selected {
    is_in: Vec<bool>,
    list: Option<Vec<u32>>,
}

impl Selected {
    pub(crate) fn all(chain_count: usize) -> Self {
        Self { is_in: vec![true; chain_count], list: None }
    }

    pub(crate) fn select(&mut self, chains: Vec<u32>) {
        self.is_in.fill(false);
        chains.iter().for_each(|&chain| self.is_in[chain as usize] = true);
        self.list = Some(chains);
    }

    pub(crate) fn select_all(&mut self) -> Vec<u32> {
        self.is_in.fill(true);
        self.list.take().unwrap_or_default()
    }
}

/// The writers of a key on one chain, in its order.
#[derive(Clone, Copy)]
pub(crate) struct Group<'w> {
    pub chain: u32,
    places: &'w [u64],
    txns: &'w [TxnId],
}

impl<'w> Group<'w> {
    #[inline]
    fn before(&self, position: u32) -> usize {
        group_size(self.places, place(self.chain, position))
    }

    /// The first writer at or after a position, other than the one given, with its position.
    #[inline]
    pub(crate) fn first_from(&self, position: u32, but: TxnId) -> Option<(TxnId, u32)> {
        let at = (self.before(position)..self.txns.len()).find(|&at| self.txns[at] != but)?;
        Some((self.txns[at], self.places[at] as u32))
    }

    /// The last writer before a position, other than the one given, with its position.
    #[inline]
    pub(crate) fn last_before(&self, end: u32, but: TxnId) -> Option<(TxnId, u32)> {
        let at = (0..self.before(end)).rev().find(|&at| self.txns[at] != but)?;
        Some((self.txns[at], self.places[at] as u32))
    }

    /// The writers from one position up to but without another.
    #[inline]
    pub(crate) fn between(&self, from: u32, to: u32) -> &'w [TxnId] {
        if from >= to { &[] } else { &self.txns[self.before(from)..self.before(to)] }
    }
}

impl Writers {
    /// The writers, listed if it is plain that they will be used.
    pub(crate) fn new(problem: &Problem<'_>, chains: &Chains) -> Self {
        let is_simple = |txn: TxnId| match problem.status[txn.index()] {
            Status::In => chains.chain_of(problem.shape.commit(txn)) != NONE,
            Status::Maybe => false,
            Status::Out => problem.index.writes_of(txn).is_empty(),
        };
        match problem.open.is_empty() && problem.history.txns().all(is_simple) {
            true => Self::unlisted(problem),
            false => Self::listed(problem, chains),
        }
    }

    fn unlisted(problem: &Problem<'_>) -> Self {
        let keys = (0..problem.history.keys().len() as u32).map(KeyId);
        let pairs = keys.map(|key| pairs(problem.index.writes_to(key).len())).sum();
        Self {
            start: vec![0],
            place: Vec::new(),
            txn: Vec::new(),
            table: Vec::new(),
            starts: Vec::new(),
            has_off_chain: false,
            maybe: Vec::new(),
            is_listed: false,
            pair_count: pairs,
        }
    }

    /// Lists them if they are not.
    pub(crate) fn list(&mut self, problem: &Problem<'_>, chains: &Chains) {
        if !self.is_listed {
            *self = Self::listed(problem, chains);
        }
    }

    fn listed(problem: &Problem<'_>, chains: &Chains) -> Self {
        let mut writers = Self { is_listed: true, pair_count: 0, ..Self::unlisted(problem) };
        let mut entries = Vec::new();
        for key in (0..problem.history.keys().len() as u32).map(KeyId) {
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
            writers.pair_count += pairs(entries.len());
            writers.add_table(key, chains.len() as u32);
        }
        writers.has_off_chain = writers.place.iter().any(|&known| known >= place(NONE, 0));
        writers
    }

    /// With several writers per chain, a table costs less than they do and saves a search.
    fn add_table(&mut self, key: KeyId, chain_count: u32) {
        let range = self.range(key);
        if range.len() < 2 * chain_count as usize {
            self.table.push(NONE);
            return;
        }
        self.table.push(self.starts.len() as u32);
        for chain in 0..=chain_count {
            let start = self.place[range.clone()].partition_point(|&known| known < place(chain, 0));
            self.starts.push((range.start + start) as u32);
        }
    }

    fn range(&self, key: KeyId) -> std::ops::Range<usize> {
        debug_assert!(self.is_listed, "asked for writers that are not listed");
        self.start[key.index()] as usize..self.start[key.index() + 1] as usize
    }

    /// The number of the first writer of a key at or after a place, within the key's writers.
    #[inline]
    fn lower_bound(&self, key: KeyId, wanted: u64) -> usize {
        let range = self.range(key);
        range.start + self.place[range].partition_point(|&place| place < wanted)
    }

    /// The writers of a key, chain by chain; those on no chain are left out.
    pub(crate) fn groups(&self, key: KeyId) -> impl Iterator<Item = Group<'_>> {
        let range = self.range(key);
        let (mut places, mut txns) = (&self.place[range.clone()], &self.txn[range]);
        std::iter::from_fn(move || {
            let chain = (*places.first()? >> 32) as u32;
            if chain == NONE {
                return None;
            }
            let size = group_size(places, place(chain + 1, 0));
            let group = Group { chain, places: &places[..size], txns: &txns[..size] };
            (places, txns) = (&places[size..], &txns[size..]);
            Some(group)
        })
    }

    /// The writers of a key on one chain, if there are any.
    #[inline]
    pub(crate) fn group_on(&self, key: KeyId, chain: u32) -> Option<Group<'_>> {
        let group = match self.table[key.index()] {
            NONE => {
                let (start, end) = (self.lower_bound(key, place(chain, 0)), self.range(key).end);
                start..start + group_size(&self.place[start..end], place(chain + 1, 0))
            }
            table => {
                let table = (table + chain) as usize;
                self.starts[table] as usize..self.starts[table + 1] as usize
            }
        };
        (!group.is_empty()).then(|| Group {
            chain,
            places: &self.place[group.clone()],
            txns: &self.txn[group],
        })
    }

    /// Calls back with the writers of a key on each of some chains.
    #[inline]
    pub(crate) fn for_each_group<'w>(
        &'w self,
        key: KeyId,
        chains: &Selected,
        mut call: impl FnMut(Group<'w>),
    ) {
        // Looking for each chain pays when they are few and the writers many.
        match &chains.list {
            Some(list) if list.len() * 4 < self.range(key).len() => {
                list.iter().filter_map(|&chain| self.group_on(key, chain)).for_each(call);
            }
            _ => self.groups(key).filter(|group| chains.is_in[group.chain as usize]).for_each(&mut call),
        }
    }

    /// The writers of a key that are on no chain.
    pub(crate) fn off_chain(&self, key: KeyId) -> &[TxnId] {
        if !self.has_off_chain {
            return &[];
        }
        &self.txn[self.lower_bound(key, place(NONE, 0))..self.range(key).end]
    }

    /// The writers of a key that only may have taken part.
    pub(crate) fn maybe(&self, key: KeyId) -> impl Iterator<Item = TxnId> + '_ {
        let start = self.maybe.partition_point(|&(known, _)| known < key);
        self.maybe[start..].iter().take_while(move |&&(known, _)| known == key).map(|&(_, txn)| txn)
    }

    /// Whether there are writers, of any key, that windows do not tell of.
    pub(crate) fn has_others(&self) -> bool {
        self.has_off_chain || !self.maybe.is_empty()
    }

    /// How many pairs of writers of one key there are: what enumerating them would cost.
    pub(crate) fn pair_count(&self) -> u64 {
        self.pair_count
    }
}

fn pairs(count: usize) -> u64 {
    let count = count as u64;
    count * count.saturating_sub(1) / 2
}
