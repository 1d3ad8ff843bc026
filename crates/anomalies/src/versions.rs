//! The order of the versions of each key, as far as every explanation has it, and the graph that follows from it.
//!
//! *Lists*: the longest list that a committed transaction read is the order; committed appends that it does not contain
//! come after it. *Recorded versions*: the order of their numbers. *Registers*: the initial state comes first, and each
//! named assumption adds an order: also that of commits which the recording notes. Only neighbours become edges, so the graph is linear in the history, except that the
//! readers of a version of a register are linked to all versions that directly follow it.

mod lists;

use history::{History, KeyId, OpId, Outcome, TxnId, ValueId};
use rustc_hash::FxHashMap;

use crate::ClassSearch;
use crate::class::Tier;
use crate::commits;
use crate::facts::{Assumptions, Facts, Version};
use crate::graph::{Graph, Kind};

/// The orders.
pub(crate) struct Versions {
    /// For each list the operation that read the longest one.
    pub longest: Vec<Option<OpId>>,
    /// For each list its elements in their order, each once.
    pub orders: Vec<Vec<ValueId>>,
    /// For each key which version directly follows which; not for lists.
    successors: Vec<Vec<(Version, Version)>>,
    /// Keys whose versions have a cyclic order, with versions on the cycle.
    pub cyclic: Vec<(KeyId, Vec<Version>)>,
    is_ordered: Vec<bool>,
    final_count: Vec<usize>,
    /// Keys with a value that two operations wrote, so that its writer is not known.
    has_repeats: Vec<bool>,
}

impl Versions {
    pub(crate) fn of(history: &History, facts: &Facts<'_>, assumptions: &Assumptions) -> Self {
        let keys = history.keys().len();
        let all = || (0..keys).map(KeyId::from_index);
        let mut versions = Self {
            longest: vec![None; keys],
            orders: vec![Vec::new(); keys],
            successors: vec![Vec::new(); keys],
            cyclic: Vec::new(),
            is_ordered: facts.is_list.clone(),
            final_count: all().map(|key| facts.writes.finals(key).len()).collect(),
            has_repeats: all().map(|key| facts.writes.has_repeats(key)).collect(),
        };
        versions.order_lists(facts);
        versions.order_recorded(history, facts);
        versions.order_assumed(history, facts, assumptions);
        versions.drop_cyclic();
        versions
    }

    /// How many keys have several versions whose order is not known.
    pub(crate) fn unordered_keys(&self, history: &History) -> usize {
        let is_unordered = |key: &usize| !self.is_ordered[*key] && self.final_count[*key] > 1;
        (0..history.keys().len()).filter(|key| is_unordered(key) || self.has_repeats[*key]).count()
    }

    fn order_lists(&mut self, facts: &Facts<'_>) {
        for (key, longest) in facts.longest.iter().enumerate() {
            let Some(longest) = longest.map(|place| &facts.seen[place as usize]) else { continue };
            self.longest[key] = Some(longest.op);
            self.orders[key].extend_from_slice(longest.content.values());
        }
        let mut is_known = rustc_hash::FxHashSet::default();
        for order in &mut self.orders {
            is_known.clear();
            order.retain(|&element| is_known.insert(element));
        }
    }

    /// Keys of which every final write records its version.
    fn order_recorded(&mut self, history: &History, facts: &Facts<'_>) {
        if !history.has_versions() {
            return;
        }
        for key in history.keys().iter().map(|(key, _)| key).filter(|key| !facts.is_list[key.index()]) {
            let written = facts.writes.finals(key).iter();
            let placed: Option<Vec<(i64, ValueId)>> = written
                .filter(|(txn, _)| facts.took_part[txn.index()])
                .map(|&(_, value)| Some((history.op_version(facts.writer(key, value)?.op)?, value)))
                .collect();
            let Some(mut placed) = placed else { continue };
            placed.sort_unstable();
            if placed.windows(2).all(|pair| pair[0].0 != pair[1].0) {
                self.is_ordered[key.index()] = true;
                let pairs = placed.windows(2).map(|pair| (Some(pair[0].1), Some(pair[1].1)));
                self.successors[key.index()].extend(pairs);
            }
        }
    }

    fn order_assumed(&mut self, history: &History, facts: &Facts<'_>, assumptions: &Assumptions) {
        if *assumptions == Assumptions::default() {
            return;
        }
        let touches = touches(history, facts);
        for of_key in touches.chunk_by(|a, b| a.key == b.key) {
            let successors = &mut self.successors[of_key[0].key.index()];
            if assumptions.writes_follow_reads {
                successors.extend(of_key.iter().filter_map(Touch::replaced));
            }
            if assumptions.sequential_keys {
                for pair in of_key.windows(2) {
                    if history.session_of(pair[0].txn) == history.session_of(pair[1].txn) {
                        successors.push((pair[0].last(), pair[1].first()));
                    }
                }
            }
            if assumptions.noted_commits {
                order_by_commits(history, of_key, successors);
            }
            if assumptions.linearizable_keys {
                order_by_time(history, of_key, successors);
            }
            successors.retain(|(earlier, later)| earlier != later);
            successors.sort_unstable();
            successors.dedup();
        }
    }

    /// A cyclic order says nothing; the initial state is before everything.
    fn drop_cyclic(&mut self) {
        for key in 0..self.successors.len() {
            let cycle = match self.successors[key].iter().find(|(_, later)| later.is_none()) {
                Some(&(earlier, _)) => vec![earlier, None],
                None => cycle_of(&self.successors[key]),
            };
            if !cycle.is_empty() {
                self.cyclic.push((KeyId::from_index(key), cycle));
                self.successors[key].clear();
            }
        }
    }

    /// The dependencies, and what the search wants beside them.
    pub(crate) fn graph(&self, history: &History, facts: &Facts<'_>, search: &ClassSearch) -> Graph {
        let mut graph = Graph::new(history.txn_count(), 2 * facts.seen.len());
        lists::Lists::of(self, history, facts).add(&mut graph);
        self.add_registers(&mut graph, history, facts);
        let took_part = |txn: &TxnId| facts.took_part[txn.index()];
        let is_in_real_time = search.tier >= Tier::Realtime && history.has_times();
        // Elle has no sessions beside real time, which orders them too.
        let of_session = match is_in_real_time && search.only_most_severe {
            true => Kind::Realtime,
            false => Kind::Process,
        };
        if search.tier >= Tier::Process {
            for session in history.sessions() {
                let txns = history.session_txns(session).filter(took_part);
                graph.chain(txns.map(|txn| txn.0), of_session);
            }
        }
        if is_in_real_time {
            let span = |txn: TxnId| {
                let times = history.times(txn);
                let end = times.end().filter(|_| history.outcome(txn) == Outcome::Committed);
                (txn.0, times.start(), end.map(|end| end.saturating_add(search.clock_skew)))
            };
            let spans: Vec<_> = history.txns().filter(took_part).map(span).collect();
            graph.intervals(&spans);
        }
        graph
    }

    fn add_registers(&self, graph: &mut Graph, history: &History, facts: &Facts<'_>) {
        let mut readers: FxHashMap<(KeyId, Version), Vec<u32>> = FxHashMap::default();
        for seen in facts.seen.iter().filter(|seen| !facts.is_list[seen.key.index()] && seen.is_external) {
            let (key, reader) = (seen.key, seen.txn.0);
            let Some(version) = facts.version_of(history, key, seen.version()) else { continue };
            readers.entry((key, version)).or_default().push(reader);
            let writer = version.and_then(|version| facts.live_writer(history, key, version));
            if let (Some(writer), Some(version)) = (writer, version) {
                graph.depend(writer.txn.0, reader, Kind::Wr, key, version);
            }
        }
        for key in (0..self.successors.len()).filter(|&key| !facts.is_list[key]).map(KeyId::from_index) {
            let no_readers = Vec::new();
            let readers_of = |version| readers.get(&(key, version)).unwrap_or(&no_readers);
            let written = facts.writes.finals(key).iter();
            let written = written.filter(|(txn, _)| facts.took_part[txn.index()]);
            let written: Vec<(u32, ValueId)> = written.map(|&(txn, value)| (txn.0, value)).collect();
            graph.depend_all(readers_of(None), &written, Kind::Rw, key);
            for &(earlier, later) in &self.successors[key.index()] {
                let Some(later) = later else { continue };
                let Some(writer) = facts.live_writer(history, key, later) else { continue };
                let before = earlier.and_then(|earlier| facts.live_writer(history, key, earlier));
                if let Some(before) = before {
                    graph.depend(before.txn.0, writer.txn.0, Kind::Ww, key, later);
                }
                if earlier.is_some() {
                    for &reader in readers_of(earlier) {
                        graph.depend(reader, writer.txn.0, Kind::Rw, key, later);
                    }
                }
            }
        }
    }
}

/// What a committed transaction did to a register.
struct Touch {
    key: KeyId,
    txn: TxnId,
    read: Option<Version>,
    written: Option<ValueId>,
}

impl Touch {
    fn first(&self) -> Version {
        self.read.unwrap_or(self.written)
    }

    fn last(&self) -> Version {
        self.written.or(self.read.flatten())
    }

    fn replaced(&self) -> Option<(Version, Version)> {
        Some((self.read?, Some(self.written?)))
    }
}

/// By key, and within a key in the order of the transactions.
fn touches(history: &History, facts: &Facts<'_>) -> Vec<Touch> {
    let mut by: FxHashMap<(KeyId, TxnId), (Option<Version>, Option<ValueId>)> = FxHashMap::default();
    for seen in facts.seen.iter().filter(|seen| seen.is_external && !facts.is_list[seen.key.index()]) {
        if let Some(version) = facts.version_of(history, seen.key, seen.version()) {
            by.entry((seen.key, seen.txn)).or_default().0 = Some(version);
        }
    }
    for key in (0..facts.is_list.len()).filter(|&key| !facts.is_list[key]).map(KeyId::from_index) {
        let writes = facts.writes.finals(key).iter();
        for &(txn, value) in writes.filter(|(txn, _)| history.outcome(*txn) == Outcome::Committed) {
            by.entry((key, txn)).or_default().1 = Some(value);
        }
    }
    let touch = |((key, txn), (read, written))| Touch { key, txn, read, written };
    let mut touches: Vec<Touch> = by.into_iter().map(touch).collect();
    touches.sort_unstable_by_key(|touch| (touch.key, touch.txn));
    touches
}

/// The order of the commits that the recording notes; equal ones are not ordered.
fn order_by_commits(history: &History, touches: &[Touch], successors: &mut Vec<(Version, Version)>) {
    let noted = |touch: &Touch| Some((commits::position(history, touch.txn)?, Some(touch.written?)));
    let mut placed: Vec<(i64, Version)> = touches.iter().filter_map(noted).collect();
    placed.sort_unstable();
    let later = placed.windows(2).filter(|pair| pair[0].0 < pair[1].0);
    successors.extend(later.map(|pair| (pair[0].1, pair[1].1)));
}

/// Of the transactions that ended before one began, those after which no other of them ran as a whole.
fn order_by_time(history: &History, touches: &[Touch], successors: &mut Vec<(Version, Version)>) {
    let span = |touch: &Touch| {
        let times = history.times(touch.txn);
        Some((times.start()?, times.end()?))
    };
    let mut by_end: Vec<(i64, i64, &Touch)> =
        touches.iter().filter_map(|touch| span(touch).map(|(start, end)| (end, start, touch))).collect();
    by_end.sort_unstable_by_key(|&(end, start, touch)| (end, start, touch.txn));
    let mut latest_start: Vec<i64> = Vec::with_capacity(by_end.len());
    for &(_, start, _) in &by_end {
        latest_start.push(latest_start.last().map_or(start, |&last| start.max(last)));
    }
    for &(_, start, later) in &by_end {
        let ended = by_end.partition_point(|&(end, ..)| end < start);
        let Some(latest) = ended.checked_sub(1).map(|last| latest_start[last]) else { continue };
        for &(end, _, earlier) in by_end[..ended].iter().rev() {
            if end < latest {
                break;
            }
            successors.push((earlier.last(), later.first()));
        }
    }
}

/// Versions on a cycle of an order, if it has one.
fn cycle_of(successors: &[(Version, Version)]) -> Vec<Version> {
    let mut versions: Vec<Version> = successors.iter().flat_map(|&(a, b)| [a, b]).collect();
    versions.sort_unstable();
    versions.dedup();
    let number = |version: Version| versions.partition_point(|&known| known < version) as u32;
    let mut graph = order::Digraph::new(versions.len());
    for &(earlier, later) in successors {
        graph.add(number(earlier), number(later));
    }
    let cycle = order::shortest_cycle(&graph, |_| 1, 2, 1_000_000).unwrap_or_default();
    cycle.into_iter().map(|edge| versions[graph.edge(edge).from as usize]).collect()
}
