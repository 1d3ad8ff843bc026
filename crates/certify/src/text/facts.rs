//! What a level's text speaks of, in columns: who read which key from where, and who wrote it.
//!
//! Transactions that may have committed are numbered session by session from 1; 0 is the initial state. So session order
//! is a comparison of numbers, and the writers of a key in ascending order are grouped by session. Operations are
//! sorted by key with one counting sort: within a key the operations of a transaction stand together, so that final
//! writes, reads of own writes and sources fall out of one sequential pass, without a hash map. Every read is kept, also
//! a second one of the same key: some levels allow that to return something else.
//!
//! O(n log w) for n operations and w writes of a key; about 30 bytes an operation at the peak.

mod collect;
mod lists;
mod predicates;
mod timeline;
mod unmatched;
mod versions;

use std::sync::Arc;

use history::{History, KeyId, OpId, Outcome, TxnId};

use super::plan::Readers;
use crate::{Flaw, Place};
use collect::Collected;
use lists::DoubtfulList;
use predicates::RowWrites;
pub use timeline::{Span, Timeline};
pub use unmatched::{Unmatched, UnmatchedScan, VisibleRows};

/// The node of the initial state.
pub const INITIAL: u32 = 0;

/// No node, or no source yet.
const NONE: u32 = u32::MAX;

/// Marks a number as that of a group of candidates.
const GROUP: u32 = 1 << 31;

/// A read that did not return the transaction's own write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read {
    /// The key.
    pub key: u32,
    /// The node that it came from, or a group of candidates.
    source: u32,
    /// The operation.
    pub op: OpId,
}

/// An order of two writers of a key that a list or recorded versions show: (earlier, later, the node whose read shows it;
/// the earlier one itself if versions do).
pub type Told = (u32, u32, u32);

/// The reads, writes and sessions of the transactions that may have committed.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// For each node but the initial one its transaction.
    txns: Vec<TxnId>,
    /// For each node the first node of its session.
    session_start: Vec<u32>,
    is_unknown: Vec<bool>,
    /// For each node the number of the level that it ran at; empty if none is recorded.
    level: Vec<u32>,
    level_names: Vec<String>,
    /// For each node when it began and ended; empty if the history has no times.
    spans: Vec<Span>,
    clock_skew: i64,
    timeline: std::sync::OnceLock<Timeline>,
    read_start: Vec<u32>,
    reads: Vec<Read>,
    write_start: Vec<u32>,
    written: Vec<u32>,
    key_start: Vec<u32>,
    writers: Vec<u32>,
    group_start: Vec<u32>,
    candidates: Vec<u32>,
    told: Vec<Told>,
    /// For each key whether writers of it were left out; empty if none were.
    lacks_writers: Vec<bool>,
    /// (reader, appender): a list that the reader saw has elements of the appender.
    listed: Vec<(u32, u32)>,
    /// Reads that no possible transaction explains, and reads that contradict their own transaction.
    unexplained: Vec<(u32, OpId)>,
    /// Whether such a read is a proof: not where ranges or unknown initial values leave open what there was at first.
    has_sure_sources: bool,
    doubtful: Vec<DoubtfulList>,
    /// Rows that predicates did not match, where there are no reads for them.
    unmatched: Option<Arc<Unmatched>>,
}

/// Which facts are asked for.
struct Reading<'a> {
    /// The transactions whose reads count.
    reads: &'a dyn Fn(TxnId) -> bool,
    guess: lists::Guess<'a>,
    /// Whether rows that predicates did not match are left out of the reads.
    is_unmatched_apart: bool,
}

/// Some transactions, by the levels that they ran at.
#[derive(Clone, Debug)]
pub struct Mask {
    is_all: bool,
    /// For each level whether its transactions are among them.
    has: Vec<bool>,
}

impl Facts {
    /// The facts of a history for a level: where each transaction is bound by the level that it ran at, the reads of
    /// transactions that may see uncommitted values are left out.
    ///
    /// # Errors
    /// As [`Facts::of`].
    pub fn for_level(history: &History, level: &spec::Level) -> Result<Self, Flaw> {
        match level.name == spec::recorded::NAME && !level.allows_uncommitted {
            true => {
                let reads = &|txn| !spec::recorded::reads_uncommitted(history, txn);
                Self::reading(history, &Reading { reads, guess: None, is_unmatched_apart: false })
            }
            false => Self::of(history),
        }
    }

    /// The facts of a history.
    ///
    /// # Errors
    /// If it has operations of which levels do not speak: predicates whose effects on rows are not known, versions that
    /// not all writes of a key record, lists that are not only appended to, or initial values that may be one of several.
    pub fn of(history: &History) -> Result<Self, Flaw> {
        Self::reading(history, &Reading { reads: &|_| true, guess: None, is_unmatched_apart: false })
    }

    /// The facts of a history without a read for each row that a predicate did not match, for levels whose plan is local.
    ///
    /// # Errors
    /// As [`Facts::of`].
    pub fn with_unmatched_apart(history: &History) -> Result<Self, Flaw> {
        Self::reading(history, &Reading { reads: &|_| true, guess: None, is_unmatched_apart: true })
    }

    /// The facts as if lists were made of these transactions, where several appended the same element. An order that
    /// explains these facts is worth a try for those that are certain; a contradiction means nothing.
    ///
    /// # Errors
    /// As [`Facts::of`].
    pub fn guessing(history: &History, guess: &dyn Fn(OpId) -> Option<Vec<TxnId>>) -> Result<Self, Flaw> {
        let guess = Some(guess);
        Self::reading(history, &Reading { reads: &|_| true, guess, is_unmatched_apart: false })
    }

    /// The facts of a history with the reads of some transactions, and lists that may be guessed.
    fn reading(history: &History, reading: &Reading<'_>) -> Result<Self, Flaw> {
        refuse(history)?;
        let row_writes = RowWrites::of(history)?;
        let mut facts = Self::default();
        facts.number(history);
        let unmatched =
            reading.is_unmatched_apart.then(|| Arc::new(Unmatched::of(history, &facts, &row_writes)));
        let mut is_impossible = vec![false; facts.node_count()];
        loop {
            let mut collected = Collected::of(history, &facts, &row_writes, &is_impossible, reading)?;
            let is_possible = |&&(node, _): &&(u32, OpId)| !is_impossible[node as usize];
            let contradictions = unmatched.iter().flat_map(|unmatched| &unmatched.contradictions);
            collected.unexplained.extend(contradictions.filter(is_possible));
            let is_open = |&&(node, _): &&(u32, OpId)| facts.is_unknown[node as usize];
            let dropped: Vec<u32> =
                collected.unexplained.iter().filter(is_open).map(|&(node, _)| node).collect();
            if dropped.is_empty() {
                facts.take(history, collected, &is_impossible);
                facts.unmatched = unmatched;
                facts.has_sure_sources = !history.has_ranges()
                    && (0..history.keys().len())
                        .all(|key| history.initial().value_of(KeyId::from_index(key)).is_some());
                return Ok(facts);
            }
            // What an unknown transaction read cannot have been if it committed: so it did not.
            dropped.into_iter().for_each(|node| is_impossible[node as usize] = true);
        }
    }

    fn number(&mut self, history: &History) {
        let (names, places) = history.level_table();
        self.level_names = names.iter().map(|name| spec::recorded::canonical(name)).collect();
        let has_levels = history.has_levels();
        self.level.extend(has_levels.then_some(NONE));
        let has_times = history.has_times();
        self.spans.extend(has_times.then(Span::default));
        self.session_start.push(INITIAL);
        self.is_unknown.push(false);
        for session in history.sessions() {
            let start = self.session_start.len() as u32;
            for txn in history.session_txns(session) {
                let outcome = history.outcome(txn);
                if outcome != Outcome::Aborted {
                    self.txns.push(txn);
                    self.session_start.push(start);
                    self.is_unknown.push(outcome == Outcome::Unknown);
                    self.spans.extend(has_times.then(|| span_of(history, txn)));
                    self.level.extend(has_levels.then(|| places[txn.index()].unwrap_or(NONE)));
                }
            }
        }
    }

    fn take(&mut self, history: &History, mut collected: Collected, is_impossible: &[bool]) {
        collected.extra.sort_unstable_by_key(|&(op, key, _)| (op, key));
        self.read_start = vec![0; self.node_count() + 1];
        self.reads.reserve_exact(collected.read_count);
        let extra_of = match collected.extra.is_empty() {
            true => Vec::new(),
            false => ranges_by_txn(history, &collected.extra),
        };
        for node in 1..self.node_count() as u32 {
            let txn = self.txn(node);
            if !is_impossible[node as usize] {
                for op in history.op_range(txn) {
                    let source = collected.source[op as usize];
                    if source != NONE {
                        let key = history.op_key(OpId(op)).map_or(0, |key| key.0);
                        self.reads.push(Read { key, source, op: OpId(op) });
                    }
                }
                if let Some(&(from, to)) = extra_of.get(txn.index())
                    && from < to
                {
                    let extra = &collected.extra[from as usize..to as usize];
                    self.reads.extend(extra.iter().map(|&(op, key, source)| Read { key, source, op }));
                    let start = self.read_start[node as usize] as usize;
                    self.reads[start..].sort_by_key(|read| read.op);
                }
            }
            self.read_start[node as usize + 1] = self.reads.len() as u32;
        }
        self.key_start = collected.key_start;
        self.writers = collected.writers;
        (self.write_start, self.written) = transposed(self.node_count(), &self.key_start, &self.writers);
        self.group_start = collected.group_start;
        self.candidates = collected.candidates;
        self.told = collected.told;
        self.listed = collected.listed;
        self.listed.sort_unstable();
        self.unexplained = collected.unexplained;
        self.doubtful = collected.doubtful;
    }

    /// Whether several transactions appended the same element to a list, so that lists show less than what explains them.
    pub fn is_doubtful(&self) -> bool {
        !self.doubtful.is_empty()
    }

    /// Checks the lists to which several transactions appended the same element along an order.
    pub(super) fn check_doubtful(&self, witness: &super::judge::Witness) -> Result<(), Flaw> {
        self.doubtful.iter().try_for_each(|list| list.check(self, witness))
    }

    /// How many nodes there are, with the initial one.
    pub fn node_count(&self) -> usize {
        self.session_start.len()
    }

    /// How many keys there are.
    pub fn key_count(&self) -> usize {
        self.key_start.len() - 1
    }

    /// The transaction of a node that is not the initial one.
    pub fn txn(&self, node: u32) -> TxnId {
        self.txns[node as usize - 1]
    }

    /// The node of a transaction, if it may have committed. A search: for certificates, not for loops.
    pub fn node_of(&self, txn: TxnId) -> Option<u32> {
        self.txns.iter().position(|&known| known == txn).map(|place| place as u32 + 1)
    }

    /// The node of each transaction, or nothing for one that did not commit.
    pub fn nodes(&self, txn_count: usize) -> Vec<Option<u32>> {
        let mut nodes = vec![None; txn_count];
        for (place, txn) in self.txns.iter().enumerate() {
            nodes[txn.index()] = Some(place as u32 + 1);
        }
        nodes
    }

    /// Whether the outcome of the node's transaction is unknown.
    #[inline]
    pub fn is_unknown(&self, node: u32) -> bool {
        self.is_unknown[node as usize]
    }

    /// The name of the level that the node's transaction ran at, if that is recorded.
    pub fn level_of(&self, node: u32) -> Option<&str> {
        let level = *self.level.get(node as usize).filter(|&&level| level != NONE)?;
        Some(&self.level_names[level as usize])
    }

    /// The transactions for which a part of a text counts.
    pub fn mask(&self, readers: &Readers) -> Mask {
        let has = match readers {
            Readers::None | Readers::All => Vec::new(),
            Readers::At(levels) => self.level_names.iter().map(|name| levels.contains(name)).collect(),
        };
        Mask { is_all: readers.is_all(), has }
    }

    /// Whether a node is among some transactions.
    #[inline]
    pub fn is_in(&self, node: u32, mask: &Mask) -> bool {
        mask.is_all || {
            let level = self.level.get(node as usize).copied().unwrap_or(NONE);
            mask.has.get(level as usize).copied().unwrap_or(false)
        }
    }

    /// The nodes that session order puts before a node, among those that are taken as committed, but for those that
    /// another of them comes after already. Where session order counts for all transactions, that is the one before.
    pub fn earlier_in_session<'f>(
        &'f self,
        node: u32,
        mask: &'f Mask,
        is_taken: impl Fn(u32) -> bool + 'f,
    ) -> impl Iterator<Item = u32> + 'f {
        let mut is_done = !self.is_in(node, mask);
        let earlier = (self.session_start(node)..node).rev().filter(move |&before| is_taken(before));
        earlier.take_while(move |&before| {
            let is_wanted = !is_done;
            is_done |= self.is_in(before, mask);
            is_wanted
        })
    }

    /// The first node of a node's session.
    #[inline]
    pub fn session_start(&self, node: u32) -> u32 {
        self.session_start[node as usize]
    }

    /// Whether the first precedes the second in its session; the initial state precedes all.
    #[inline]
    pub fn is_session_before(&self, first: u32, second: u32) -> bool {
        first < second && (first == INITIAL || self.session_start(first) == self.session_start(second))
    }

    /// The numbers of a node's reads, in program order.
    #[inline]
    pub fn reads_of(&self, node: u32) -> std::ops::Range<usize> {
        self.read_start[node as usize] as usize..self.read_start[node as usize + 1] as usize
    }

    /// All reads, node by node.
    #[inline]
    pub fn reads(&self) -> &[Read] {
        &self.reads
    }

    /// The node that made a read.
    pub fn reader(&self, read: usize) -> u32 {
        self.read_start.partition_point(|&start| start as usize <= read) as u32 - 1
    }

    /// The only node that a read can have come from, if there is only one.
    #[inline]
    pub fn only_source(&self, read: usize) -> Option<u32> {
        let source = self.reads[read].source;
        (source & GROUP == 0).then_some(source)
    }

    /// The number of the group of possible sources that a read shares with others, if it has several.
    #[inline]
    pub fn group_of(&self, read: usize) -> Option<u32> {
        let source = self.reads[read].source;
        (source & GROUP != 0).then_some(source & !GROUP)
    }

    /// The nodes that a read can have come from.
    pub fn candidates(&self, read: usize) -> &[u32] {
        let source = &self.reads[read].source;
        match source & GROUP {
            0 => std::slice::from_ref(source),
            _ => {
                let group = (source & !GROUP) as usize;
                &self.candidates[self.group_start[group] as usize..self.group_start[group + 1] as usize]
            }
        }
    }

    /// The keys that a node writes, ascending.
    #[inline]
    pub fn written(&self, node: u32) -> &[u32] {
        &self.written[self.write_start[node as usize] as usize..self.write_start[node as usize + 1] as usize]
    }

    /// Whether a node writes a key; the initial state writes all.
    #[inline]
    pub fn writes(&self, node: u32, key: u32) -> bool {
        node == INITIAL || self.written(node).binary_search(&key).is_ok()
    }

    /// The nodes that write a key, ascending, without the initial one.
    #[inline]
    pub fn writers(&self, key: u32) -> &[u32] {
        &self.writers[self.key_start[key as usize] as usize..self.key_start[key as usize + 1] as usize]
    }

    /// Orders of writers that lists and recorded versions show.
    pub fn told(&self) -> &[Told] {
        &self.told
    }

    /// (reader, appender), ascending: a list that the reader saw has elements of the appender, whose outcome is unknown;
    /// so both committed, or the reader did not.
    pub fn listed(&self) -> &[(u32, u32)] {
        &self.listed
    }

    /// The part of [`Facts::listed`] whose reader is this node.
    pub fn listed_by(&self, reader: u32) -> &[(u32, u32)] {
        let start = self.listed.partition_point(|&(known, _)| known < reader);
        let end = self.listed.partition_point(|&(known, _)| known <= reader);
        &self.listed[start..end]
    }

    /// Whether a read that nothing explains is a proof that no level with committed sources holds.
    pub fn has_sure_sources(&self) -> bool {
        self.has_sure_sources
    }

    /// Reads of committed transactions that nothing explains, whatever the order.
    pub fn unexplained(&self) -> &[(u32, OpId)] {
        &self.unexplained
    }

    /// The facts about some nodes alone, which are given ascending: reads that may have come from elsewhere are left out.
    /// What contradicts itself there does so in the whole, at every level that only grows with what there is.
    pub fn restricted(&self, nodes: &[u32]) -> Self {
        let mut facts = self.renumbered(nodes, &|places| places.into_iter().collect());
        let kept =
            |key: u32| facts.writers(key).len() == self.writers(key).len() && self.has_all_writers(key);
        facts.lacks_writers = (0..self.key_count() as u32).map(|key| !kept(key)).collect();
        facts
    }

    /// Whether no writer of a key was left out.
    pub fn has_all_writers(&self, key: u32) -> bool {
        self.lacks_writers.get(key as usize).is_none_or(|lacks| !lacks)
    }

    /// The facts if a transaction of unknown outcome committed.
    pub(super) fn with_committed(&self, node: u32) -> Self {
        let mut facts = self.clone();
        facts.is_unknown[node as usize] = false;
        facts
    }

    /// The facts if a transaction of unknown outcome did not commit, nor any that can only have read from it; nothing if
    /// one of these committed.
    pub(super) fn without(&self, node: u32) -> Option<Self> {
        let mut is_gone = vec![false; self.node_count()];
        is_gone[node as usize] = true;
        loop {
            let lacks_source = |&node: &u32| {
                let mut reads = self.reads_of(node);
                let is_lost = |read| self.candidates(read).iter().all(|&source| is_gone[source as usize]);
                reads.any(is_lost) || self.listed_by(node).iter().any(|&(_, other)| is_gone[other as usize])
            };
            let more =
                (1..self.node_count() as u32).filter(|&node| !is_gone[node as usize]).find(lacks_source);
            match more {
                None => break,
                Some(node) if self.is_unknown(node) => is_gone[node as usize] = true,
                Some(_) => return None,
            }
        }
        let rest: Vec<u32> = (1..self.node_count() as u32).filter(|&node| !is_gone[node as usize]).collect();
        Some(self.renumbered(&rest, &|places| Some(places.into_iter().flatten().collect())))
    }

    /// The facts if a read came from this one of its possible sources.
    pub(super) fn with_source(&self, read: usize, node: u32) -> Self {
        let mut facts = self.clone();
        facts.reads[read].source = node;
        facts
    }

    /// The facts if a node comes before another.
    pub(super) fn with_order(&self, first: u32, second: u32) -> Self {
        let mut facts = self.clone();
        facts.told.push((first, second, first));
        facts
    }

    /// The facts about some nodes, ascending, in which a read has the sources that are made of the places of its
    /// candidates, or is left out.
    fn renumbered(&self, nodes: &[u32], sources: &dyn Fn(Vec<Option<u32>>) -> Option<Vec<u32>>) -> Self {
        let place_of = |node: u32| match node {
            INITIAL => Some(INITIAL),
            node => nodes.binary_search(&node).ok().map(|place| place as u32 + 1),
        };
        let mut facts = Self { key_start: vec![0], group_start: vec![0], ..Self::default() };
        facts.session_start.push(INITIAL);
        facts.is_unknown.push(false);
        facts.level.extend(self.level.first());
        facts.spans.extend(self.spans.first());
        facts.clock_skew = self.clock_skew;
        facts.level_names.clone_from(&self.level_names);
        facts.read_start = vec![0, 0];
        let mut start = (NONE, 0);
        for (place, &node) in nodes.iter().enumerate() {
            if self.session_start(node) != start.0 {
                start = (self.session_start(node), place as u32 + 1);
            }
            facts.txns.push(self.txn(node));
            facts.session_start.push(start.1);
            facts.is_unknown.push(self.is_unknown(node));
            facts.level.extend(self.level.get(node as usize));
            facts.spans.extend(self.spans.get(node as usize));
            for read in self.reads_of(node) {
                let places = self.candidates(read).iter().map(|&node| place_of(node)).collect();
                let Some(places) = sources(places) else { continue };
                let source = facts.source_of(places);
                facts.reads.push(Read { source, ..self.reads[read] });
            }
            facts.read_start.push(facts.reads.len() as u32);
        }
        for key in 0..self.key_count() as u32 {
            let writers = self.writers(key).iter().filter_map(|&node| place_of(node));
            facts.writers.extend(writers);
            facts.key_start.push(facts.writers.len() as u32);
        }
        (facts.write_start, facts.written) = transposed(facts.node_count(), &facts.key_start, &facts.writers);
        let told = self.told.iter().filter_map(|&(a, b, c)| Some((place_of(a)?, place_of(b)?, place_of(c)?)));
        facts.told = told.collect();
        facts.lacks_writers.clone_from(&self.lacks_writers);
        let listed = self.listed.iter().filter_map(|&(a, b)| Some((place_of(a)?, place_of(b)?)));
        facts.listed = listed.collect();
        facts
    }

    /// The same without reads that may have come from several places.
    pub fn with_single_sources(&self) -> Self {
        let mut facts = self.clone();
        facts.reads.clear();
        facts.read_start.truncate(1);
        for node in 0..self.node_count() as u32 {
            let single = self.reads_of(node).filter(|&read| self.only_source(read).is_some());
            facts.reads.extend(single.map(|read| self.reads[read]));
            facts.read_start.push(facts.reads.len() as u32);
        }
        facts
    }

    fn source_of(&mut self, places: Vec<u32>) -> u32 {
        if let [only] = places[..] {
            return only;
        }
        self.candidates.extend(places);
        self.group_start.push(self.candidates.len() as u32);
        GROUP | (self.group_start.len() as u32 - 2)
    }
}

/// When a transaction surely had not begun, and when it surely had committed, if it did.
fn span_of(history: &History, txn: TxnId) -> Span {
    let times = history.times(txn);
    let is_committed = history.outcome(txn) == Outcome::Committed;
    Span { begin: times.begin_request, end: times.commit_response.filter(|_| is_committed) }
}

/// For each transaction its part of the extra reads.
fn ranges_by_txn(history: &History, extra: &[(OpId, u32, u32)]) -> Vec<(u32, u32)> {
    let mut ranges = vec![(0, 0); history.txn_count()];
    for (place, &(op, ..)) in extra.iter().enumerate() {
        let range = &mut ranges[history.txn_of(op).index()];
        if range.0 == range.1 {
            *range = (place as u32, place as u32);
        }
        range.1 = place as u32 + 1;
    }
    ranges
}

/// The keys of each node, from the nodes of each key.
fn transposed(node_count: usize, key_start: &[u32], writers: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut start = vec![0u32; node_count + 1];
    for &node in writers {
        start[node as usize + 1] += 1;
    }
    for node in 0..node_count {
        start[node + 1] += start[node];
    }
    let mut next = start.clone();
    let mut keys = vec![0; writers.len()];
    for key in 0..key_start.len() - 1 {
        for &node in &writers[key_start[key] as usize..key_start[key + 1] as usize] {
            keys[next[node as usize] as usize] = key as u32;
            next[node as usize] += 1;
        }
    }
    (start, keys)
}

fn refuse(history: &History) -> Result<(), Flaw> {
    match history.has_versions() && (history.has_lists() || history.has_predicates()) {
        true => Err(Flaw::new(
            Place::Whole,
            "versions beside lists or predicates are not supported at this level yet",
        )),
        false => Ok(()),
    }
}
