//! Saturation: adds every edge that all explanations share, as far as reachability shows it.
//!
//! If `s` read `x` from `t`, and `u` is another writer of `x`:
//!
//! - `t`'s version is earlier than `u`'s: then `s` comes before `u`;
//! - `u` was visible to `s`: then `u`'s version is earlier than `t`'s.
//!
//! `t`'s version is earlier than `u`'s once `install(t)` reaches `commit(u)`. Only the nearest `u` on each chain matters,
//! since the others follow along the chain, and it is found by a short search: no pair of writers is ever enumerated.
//! An open read loses a candidate that comes after it, or that another writer overwrote before it; with one candidate
//! left it is a known read.
//!
//! Work is done in rounds over what improved. A round that adds many edges is followed by one sweep over the graph in
//! topological order, a round that adds few by spreading each edge alone.
//!
//! Measured: BL-10k has 370,925 pairs of writers, of which 1,871 that matter are left after 7 rounds in 86 ms; a million
//! transactions of 8 operations have 80 million pairs, of which 2,400 are left after 17 s. Asking the row of the reader or
//! of the version's writer before looking at another writer saves a tenth of the whole check of `duplicates`.
//!
//! The closure is not undone during the search: the search keeps only an order, which needs no undoing, and what it
//! decides is a few hundred choices.

mod open;

use history::TxnId;
use order::{EdgeId, Improved, NONE, Reach, topological_order};

use crate::known::{KnownGraph, Reason};
use crate::options::Limit;
use crate::problem::{INITIAL, OPEN, Problem, UNUSED};
use crate::time::MaybeEdge;
use crate::writers::{Group, Selected, Writers};

/// No explanation exists.
#[derive(Clone, Debug)]
pub(crate) enum Contradiction {
    /// These edges form a cycle.
    Cycle(Vec<EdgeId>),
    /// This edge is forced, and its end reaches its start.
    Backward { from: u32, to: u32, reason: Reason },
    /// A read of the initial state, although this writer was visible to it.
    Overwritten { read: u32, writer: TxnId },
    /// Every candidate of this read was dropped.
    Sourceless { read: u32 },
}

/// How saturation ended, if not by running out of work.
pub(crate) enum Stop {
    Contradiction(Contradiction),
    Limit(Limit),
}

impl From<Contradiction> for Stop {
    fn from(contradiction: Contradiction) -> Self {
        Self::Contradiction(contradiction)
    }
}

/// Why a candidate of an open read was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dropped {
    /// The read comes before it.
    After,
    /// This writer came in between.
    Between(TxnId),
}

/// A candidate that was dropped, when the graph had this many edges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drop {
    pub read: u32,
    pub candidate: u32,
    pub why: Dropped,
    pub edge_count: u32,
}

/// The state of saturation; what the later stages build on.
pub(crate) struct Saturation<'p, 'a> {
    pub problem: &'p mut Problem<'a>,
    pub known: KnownGraph,
    pub reach: Reach,
    pub writers: Writers,
    pub drops: Vec<Drop>,
    /// How many open reads became known.
    pub settled: u64,
    pub rounds: u64,
    /// Edges out of transactions that only may have taken part, to be added when one did.
    pub maybe_edges: Vec<MaybeEdge>,
    readers: Readers,
    open_of_read: Vec<u32>,
    open_of_write: Vec<(u32, u32)>,
    waiting: Vec<u32>,
    is_waiting: Vec<bool>,
    fresh: Vec<EdgeId>,
    /// Whether a transaction was taken in that the writers do not list yet.
    is_stale: bool,
    /// The chains that improved at the node that is looked at.
    improved: Selected,
    scratch: (Vec<u32>, Vec<u32>),
    /// Scratch: the writers that a rule found, with their chains and positions.
    found: Vec<(TxnId, u32, u32)>,
}

/// For each write the reads that certainly came from it, as threaded lists.
struct Readers {
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Readers {
    fn new(problem: &Problem<'_>) -> Self {
        let mut readers =
            Self { first: vec![NONE; problem.index.writes().len()], next: vec![NONE; problem.source.len()] };
        for (read, &source) in problem.source.iter().enumerate() {
            if !matches!(source, INITIAL | OPEN | UNUSED) {
                readers.add(source, read as u32);
            }
        }
        readers
    }

    fn add(&mut self, write: u32, read: u32) {
        self.next[read as usize] = std::mem::replace(&mut self.first[write as usize], read);
    }

    fn after(&self, read: u32) -> Option<u32> {
        Some(self.next[read as usize]).filter(|&read| read != NONE)
    }

    fn first(&self, write: u32) -> Option<u32> {
        Some(self.first[write as usize]).filter(|&read| read != NONE)
    }
}

impl<'p, 'a> Saturation<'p, 'a> {
    pub(crate) fn new(
        problem: &'p mut Problem<'a>,
        known: KnownGraph,
        chains: order::Chains,
        maybe_edges: Vec<MaybeEdge>,
    ) -> Self {
        let writers = Writers::new(problem, &chains);
        let improved = Selected::all(chains.len());
        let mut open_of_read = Vec::new();
        let mut open_of_write = Vec::new();
        if !problem.open.is_empty() {
            open_of_read = vec![NONE; problem.source.len()];
            for (open, entry) in problem.open.iter().enumerate() {
                open_of_read[entry.read as usize] = open as u32;
                let writes = entry.candidates.iter().filter(|&&write| write != INITIAL);
                open_of_write.extend(writes.map(|&write| (write, open as u32)));
            }
            open_of_write.sort_unstable();
        }
        Self {
            readers: Readers::new(problem),
            waiting: (0..problem.open.len() as u32).collect(),
            is_waiting: vec![true; problem.open.len()],
            problem,
            known,
            reach: Reach::new(chains),
            writers,
            drops: Vec::new(),
            settled: 0,
            found: Vec::new(),
            rounds: 0,
            maybe_edges,
            open_of_read,
            open_of_write,
            fresh: Vec::new(),
            is_stale: false,
            improved,
            scratch: (Vec::new(), Vec::new()),
        }
    }

    /// The closure of what was observed, and the consequences of reads of the initial state.
    pub(crate) fn start(&mut self) -> Result<(), Stop> {
        self.sweep()?;
        self.follow_initial_reads()?;
        Ok(self.bring_up_to_date()?)
    }

    /// Runs to a fixed point.
    pub(crate) fn run(&mut self, limit: &dyn Fn() -> Option<Limit>) -> Result<(), Stop> {
        let mut improved = Vec::new();
        loop {
            if let Some(limit) = limit() {
                return Err(Stop::Limit(limit));
            }
            self.reach.take_queue(&mut improved);
            if improved.is_empty() && self.waiting.is_empty() {
                return Ok(());
            }
            self.rounds += 1;
            for &node in &improved {
                self.follow(node)?;
            }
            for open in std::mem::take(&mut self.waiting) {
                self.is_waiting[open as usize] = false;
                self.narrow(open)?;
            }
            if std::mem::take(&mut self.is_stale) {
                self.renew_writers()?;
            }
            self.bring_up_to_date()?;
        }
    }

    /// Applies the rules to what improved at one node.
    fn follow(&mut self, node: u32) -> Result<(), Contradiction> {
        let shape = self.problem.shape;
        let (mut ahead, mut behind) = std::mem::take(&mut self.scratch);
        self.reach.take_improved(Improved::Forward, node, &mut ahead);
        self.reach.take_improved(Improved::Backward, node, &mut behind);
        if node as usize >= self.problem.history.txn_count() * shape.events as usize {
            return Ok(());
        }
        let txn = shape.txn(node);
        if node == shape.install(txn) && !ahead.is_empty() {
            ahead = self.only_improved(ahead, |state| state.follow_versions(txn))?;
        }
        if node == shape.begin(txn) {
            behind = self.only_improved(behind, |state| state.follow_reads(txn))?;
        }
        self.scratch = (ahead, behind);
        Ok(())
    }

    /// Limits the rules to some chains; outside of this all are looked at.
    fn only_improved(
        &mut self,
        chains: Vec<u32>,
        apply: impl FnOnce(&mut Self) -> Result<(), Contradiction>,
    ) -> Result<Vec<u32>, Contradiction> {
        self.improved.select(chains);
        let result = apply(self);
        let chains = self.improved.select_all();
        result.map(|()| chains)
    }

    /// `install(txn)` reaches more of some chains: its versions are earlier than more others.
    fn follow_versions(&mut self, txn: TxnId) -> Result<(), Contradiction> {
        let is_in = self.problem.is_in(txn);
        for write in self.problem.index.writes_of(txn) {
            let write = write as u32;
            if !self.open_of_write.is_empty() {
                self.wake_readers_of(write);
            }
            if is_in && (self.readers.first(write).is_some() || self.problem.shape.writers_exclude()) {
                self.precede_next_versions(txn, write)?;
            }
        }
        Ok(())
    }

    /// The next later version on each chain comes after all reads of this one.
    fn precede_next_versions(&mut self, txn: TxnId, write: u32) -> Result<(), Contradiction> {
        let (shape, key) = (self.problem.shape, self.problem.index.writes()[write as usize].key);
        let install = shape.install(txn);
        let mut next = std::mem::take(&mut self.found);
        next.clear();
        self.writers.for_each_group(key, &self.improved, |group| {
            let reached = self.reach.first(install, group.chain as usize);
            if reached != NONE
                && let Some((later, position)) = group.first_from(reached, txn)
            {
                next.push((later, group.chain, position));
            }
        });
        if shape.writers_exclude() {
            for &(later, ..) in &next {
                self.add(shape.commit(txn), shape.install(later), Reason::Exclusive(write))?;
            }
        }
        let mut reader = self.readers.first(write).filter(|_| !next.is_empty());
        while let Some(read) = reader {
            let begin = shape.begin(self.problem.reader(read));
            for &(later, chain, position) in &next {
                // Most are known: the row of the reader says so without a look at the writer.
                if self.reach.first(begin, chain as usize) > position {
                    self.precede(read, later)?;
                }
            }
            reader = self.readers.after(read);
        }
        self.found = next;
        Ok(())
    }

    /// A read comes before the writer of a later version.
    fn precede(&mut self, read: u32, later: TxnId) -> Result<(), Contradiction> {
        let reader = self.problem.reader(read);
        if reader == later {
            return Ok(());
        }
        let shape = self.problem.shape;
        self.add(shape.begin(reader), shape.commit(later), Reason::Overwritten(read))
    }

    /// More of some chains reach `begin(txn)`: it sees more versions.
    fn follow_reads(&mut self, txn: TxnId) -> Result<(), Contradiction> {
        for read in self.problem.index.reads_of(txn) {
            let read = read as u32;
            match self.problem.source[read as usize] {
                UNUSED => {}
                OPEN => self.wake(self.open_of_read[read as usize]),
                source => self.follow_visible(read, source)?,
            }
        }
        Ok(())
    }

    /// The last writer on each chain that is visible to a read wrote an earlier version than the one it read.
    fn follow_visible(&mut self, read: u32, source: u32) -> Result<(), Contradiction> {
        let shape = self.problem.shape;
        let external = self.problem.index.reads()[read as usize];
        let begin = shape.begin(external.txn);
        let install = (source != INITIAL).then(|| shape.install(self.problem.writer(source)));
        let mut visible = std::mem::take(&mut self.found);
        visible.clear();
        self.writers.for_each_group(external.key, &self.improved, |group| {
            let chain = group.chain as usize;
            // What reaches the writer of the version is known to be earlier, and the writer's row says up to where.
            let (known, end) =
                (install.map_or(0, |node| self.reach.end(node, chain)), self.reach.end(begin, chain));
            if known < end
                && let Some((earlier, position)) = group.last_before(end, external.txn)
                && known <= position
            {
                visible.push((earlier, group.chain, position));
            }
        });
        for &(earlier, ..) in &visible {
            let Some(install) = install else {
                return Err(Contradiction::Overwritten { read, writer: earlier });
            };
            if shape.install(earlier) != install {
                self.add(shape.commit(earlier), install, Reason::Visible(read))?;
            }
        }
        self.found = visible;
        Ok(())
    }

    /// A read of the initial state comes before every writer of the key.
    fn precede_all_writers(&mut self, read: u32) -> Result<(), Contradiction> {
        let external = self.problem.index.reads()[read as usize];
        let first = |group: Group<'_>| group.first_from(0, external.txn).map(|(later, _)| later);
        let mut later: Vec<TxnId> = self.writers.groups(external.key).filter_map(first).collect();
        later.extend(self.writers.off_chain(external.key));
        later.into_iter().try_for_each(|later| self.precede(read, later))
    }

    /// Somebody was taken in: the rules have to be applied again with its writes.
    fn renew_writers(&mut self) -> Result<(), Contradiction> {
        self.writers = Writers::new(self.problem, self.reach.chains());
        self.reach.mark_all();
        self.follow_initial_reads()
    }

    fn follow_initial_reads(&mut self) -> Result<(), Contradiction> {
        let reads = 0..self.problem.source.len() as u32;
        let mut initial =
            reads.filter(|&read| self.problem.source[read as usize] == INITIAL).collect::<Vec<_>>();
        initial.drain(..).try_for_each(|read| self.precede_all_writers(read))
    }

    fn add(&mut self, from: u32, to: u32, reason: Reason) -> Result<(), Contradiction> {
        if self.reach.reaches(from, to) {
            return Ok(());
        }
        if self.reach.reaches(to, from) {
            return Err(Contradiction::Backward { from, to, reason });
        }
        let edge = self.known.add(from, to, reason);
        self.reach.note(from, to);
        self.fresh.push(edge);
        Ok(())
    }

    fn bring_up_to_date(&mut self) -> Result<(), Contradiction> {
        let fresh = std::mem::take(&mut self.fresh);
        if fresh.len() * 32 > self.known.graph.node_count() {
            return self.sweep();
        }
        for &edge in &fresh {
            let ends = self.known.graph.edge(edge);
            if self.reach.reaches(ends.to, ends.from) {
                return self.sweep();
            }
            self.reach.spread(&self.known.graph, edge);
        }
        Ok(())
    }

    fn sweep(&mut self) -> Result<(), Contradiction> {
        let Some(order) = topological_order(&self.known.graph) else {
            return Err(self.find_cycle());
        };
        self.reach.rebuild(&self.known.graph, &order);
        Ok(())
    }

    pub(crate) fn find_cycle(&self) -> Contradiction {
        let graph = &self.known.graph;
        let found = order::components(graph.node_count(), |node| graph.out_edges(node).map(|(_, to)| to));
        let sizes = found.sizes();
        let smallest = (0..found.count).filter(|&id| sizes[id] > 1).min_by_key(|&id| sizes[id]).unwrap_or(0);
        let nodes: Vec<u32> = (0..graph.node_count() as u32)
            .filter(|&node| found.of[node as usize] == smallest as u32)
            .collect();
        let tries = (2_000_000 / nodes.len().max(1)).max(1);
        let cost = |edge| Some(self.known.reason(edge).cost());
        Contradiction::Cycle(order::cheapest_cycle(graph, &nodes, cost, tries).unwrap_or_default())
    }
}
