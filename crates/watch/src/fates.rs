//! What becomes of each transaction of a window when settled events are forgotten.
//!
//! A transaction that is settled is forgotten, unless the last version of a key is not known and depends on it: then it is
//! *tied*, and stays with the writes and reads that this choice is about.

use history::{KeyId, TxnId};
use rustc_hash::FxHashSet;

use crate::graph::{Graph, Inside, Source, pairs};

/// What becomes of a transaction of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Stays,
    Forgotten,
    /// Its begin is settled, its commit is not.
    Half,
    /// It is settled, but a last version is tied to it.
    Tied,
}

pub(crate) struct Fates {
    pub all: Vec<Fate>,
    /// How many choices of tied transactions are lost if the others are forgotten.
    pub loosened: u64,
}

impl Fates {
    pub fn of(graph: &Graph<'_>, inside: &Inside) -> Self {
        let last = open_last_writers(graph, inside);
        let component = if last.is_empty() { Vec::new() } else { graph.components(inside) };
        let tied: FxHashSet<u32> =
            last.iter().map(|&txn| component[graph.events.commit(txn) as usize]).collect();
        let is_inside = |event: u32| !inside.is_outside[event as usize];
        let is_tied =
            |event: u32| !tied.is_empty() && is_inside(event) && tied.contains(&component[event as usize]);
        let fate = |txn: u32| {
            let (begin, commit) = (graph.events.begin(txn), graph.events.commit(txn));
            match (graph.is_node(txn) && is_inside(begin), is_inside(commit)) {
                (false, _) => Fate::Stays,
                (true, false) if is_tied(begin) => Fate::Stays,
                (true, false) if graph.index.writes_of(TxnId(txn)).is_empty() => Fate::Forgotten,
                (true, false) => Fate::Half,
                (true, true) if is_tied(begin) || is_tied(commit) => Fate::Tied,
                (true, true) => Fate::Forgotten,
            }
        };
        let all: Vec<Fate> = (0..graph.parts.len() as u32).map(fate).collect();
        let mut fates = Self { all, loosened: 0 };
        if !tied.is_empty() {
            fates.loosened = fates.count_lost_ties(graph);
        }
        fates
    }

    fn is(&self, txn: u32, fate: Fate) -> bool {
        self.all[txn as usize] == fate
    }

    /// Whether a tied transaction's version of a key may be the last one.
    pub fn keeps_write(&self, graph: &Graph<'_>, txn: u32, key: KeyId) -> bool {
        let mut writers = graph.writers(key).iter();
        !writers.any(|&other| self.is(other, Fate::Forgotten) && graph.is_earlier(txn, other))
    }

    /// Whether all sources of a tied transaction's read stay.
    pub fn keeps_read(&self, graph: &Graph<'_>, read: usize) -> bool {
        let key = graph.index.reads()[read].key;
        let stays = |source: u32| self.is(source, Fate::Tied) && self.keeps_write(graph, source, key);
        match graph.sources[read] {
            Source::Initial => false,
            Source::Txn(source) => stays(source),
            Source::Open => {
                let reader = graph.index.reads()[read].txn.0;
                let mut candidates = graph.candidates(read, reader, graph.writers(key));
                candidates.all(|source| matches!(source, Source::Txn(source) if stays(source)))
            }
        }
    }

    /// Choices of tied transactions that are not kept.
    fn count_lost_ties(&self, graph: &Graph<'_>) -> u64 {
        let mut lost = 0;
        for key in graph.busy() {
            let writers = graph.writers(key).iter().copied();
            let tied: Vec<u32> = writers.filter(|&txn| self.is(txn, Fate::Tied)).collect();
            lost += pairs(&tied).filter(|&(&one, &other)| self.loses_order(graph, one, other, key)).count()
                as u64;
        }
        let reads = graph.index.reads().iter().enumerate();
        let open = reads.filter(|(number, read)| {
            graph.sources[*number] == Source::Open
                && self.is(read.txn.0, Fate::Tied)
                && !self.keeps_read(graph, *number)
        });
        lost + open.count() as u64
    }

    /// Whether something depends on the order of two tied writers of a key, and the rest does not show it any more.
    fn loses_order(&self, graph: &Graph<'_>, one: u32, other: u32, key: KeyId) -> bool {
        let keeps = |key| self.keeps_write(graph, one, key) && self.keeps_write(graph, other, key);
        let is_open = !graph.is_earlier(one, other) && !graph.is_earlier(other, one);
        if !is_open || keeps(key) {
            return false;
        }
        let is_of_pair = |source: Source| source == Source::Txn(one) || source == Source::Txn(other);
        let mut reads = graph.index.reads().iter().enumerate();
        let is_read = reads.any(|(number, read)| {
            let is_third = read.txn.0 != one && read.txn.0 != other;
            read.key == key
                && is_third
                && is_of_pair(graph.sources[number])
                && self.is(read.txn.0, Fate::Tied)
        });
        let keys = |txn: u32| graph.index.writes_of(TxnId(txn)).map(|write| graph.index.writes()[write].key);
        // Writers of a key may not overlap at `strong-si`, whichever key they share.
        let is_apart =
            || keys(one).any(|shared| keys(other).any(|another| another == shared) && keeps(shared));
        is_read || graph.events.per_txn == 2 && !is_apart()
    }

    /// The write that leaves the last version of a key among those that are forgotten.
    pub fn last_write(&self, graph: &Graph<'_>, key: KeyId) -> Option<u32> {
        let writes = graph.index.writes_to(key).iter().copied();
        let mut gone = writes.filter(|&write| self.is(graph.index.writer(write).0, Fate::Forgotten));
        let first = gone.next()?;
        let later = |last: u32, write: u32| match graph
            .is_earlier(graph.index.writer(last).0, graph.index.writer(write).0)
        {
            true => write,
            false => last,
        };
        // One pass finds a last one where the order of all is known, and a second one where one of them is after all.
        let last = gone.clone().fold(first, later);
        Some(std::iter::once(first).chain(gone).fold(last, later))
    }

    /// Pairs of a writer and a reader that keep their read.
    pub fn direct_reads(&self, graph: &Graph<'_>) -> FxHashSet<(u32, u32)> {
        let mut direct = FxHashSet::default();
        for (number, read) in graph.index.reads().iter().enumerate() {
            let Source::Txn(source) = graph.sources[number] else { continue };
            let keeps = match self.all[read.txn.index()] {
                Fate::Stays => !self.is(source, Fate::Forgotten),
                Fate::Tied => self.keeps_read(graph, number),
                Fate::Forgotten | Fate::Half => false,
            };
            let is_written = match self.all[source as usize] {
                Fate::Tied => self.keeps_write(graph, source, read.key),
                _ => true,
            };
            if keeps && is_written {
                direct.insert((source, read.txn.0));
            }
        }
        direct
    }

    pub fn share_a_key(&self, graph: &Graph<'_>, one: u32, other: u32) -> bool {
        let keys = |txn: u32| graph.index.writes_of(TxnId(txn)).map(|write| graph.index.writes()[write].key);
        keys(one).any(|key| keys(other).any(|another| another == key))
    }
}

/// The settled writers of keys whose last version is not known, each of which may have left it.
fn open_last_writers(graph: &Graph<'_>, inside: &Inside) -> Vec<u32> {
    let mut open = Vec::new();
    let mut settled: Vec<u32> = Vec::new();
    for key in graph.busy() {
        let commits = graph.writers(key).iter().copied();
        settled.clear();
        settled.extend(commits.filter(|&txn| !inside.is_outside[graph.events.commit(txn) as usize]));
        let first = open.len();
        let is_last = |&txn: &u32| !settled.iter().any(|&other| graph.is_earlier(txn, other));
        open.extend(settled.iter().copied().filter(is_last));
        if open.len() < first + 2 {
            open.truncate(first);
        }
    }
    open
}
