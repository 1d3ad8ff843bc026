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
//! First whole passes are made: the closure is brought up to date in one sweep along a topological order, and the rules
//! are applied with the windows of each key's writers (`windows`, `pass`). When a pass adds few edges, each is spread
//! alone, and the rules are applied only to what that improved (`follow`).
//!
//! Measured: BL-10k has 370,925 pairs of writers, of which 17,783 are unordered at the start, and 1,871 that matter are
//! left after 8 rounds in 36 ms of processor time. Looking for the nearest writer on every chain instead of at windows
//! took 116 ms on the same busy machine, and hot keys 200 ms instead of 79.
//!
//! The closure is not undone during the search: the search keeps only an order, which needs no undoing, and what it
//! decides is a few hundred choices.

mod follow;
mod open;
mod pass;
mod simple;
#[cfg(test)]
mod tests;

use history::{OpId, TxnId};
use order::{EdgeId, Flat, NONE, Reach, parallel, topological_order_of};

use crate::known::{KnownGraph, Reason};
use crate::options::{Limit, Patience};
use crate::problem::{INITIAL, OPEN, Problem, UNUSED};
use crate::time::MaybeEdge;
use crate::windows::Windows;
use crate::writers::{Group, Selected, Writers};
use open::OpenReaders;

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

impl From<Limit> for Stop {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
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

/// How many cycles are looked for at once, each in a component of its own.
const CYCLES: usize = 32;

/// How many edges a search for the cheapest cycle of a component looks at, after it found a first one.
const CYCLE_STEPS: u64 = 20_000_000;

/// How many contradictions are looked for at once.
const TOLERATED: usize = 1000;

/// The state of saturation; what the later stages build on.
pub(crate) struct Saturation<'p, 'a> {
    pub problem: &'p mut Problem<'a>,
    pub known: KnownGraph,
    pub reach: Reach,
    pub writers: Writers,
    /// Whom the writers were unordered with in the last pass.
    pub windows: Windows,
    pub drops: Vec<Drop>,
    /// How many open reads became known.
    pub settled: u64,
    pub rounds: u64,
    /// Edges out of transactions that only may have taken part, to be added when one did.
    pub maybe_edges: Vec<MaybeEdge>,
    readers: Readers,
    /// The keys that a transaction read.
    is_read: Vec<bool>,
    open_of_read: Vec<u32>,
    open_readers: OpenReaders,
    waiting: Vec<u32>,
    is_waiting: Vec<bool>,
    fresh: Vec<EdgeId>,
    /// The topological order of the last sweep.
    order: Vec<u32>,
    /// Whether a transaction was taken in that the writers do not list yet.
    is_stale: bool,
    /// Whether one ever was.
    has_taken_in: bool,
    /// How many edges were observed.
    observed_count: usize,
    /// Contradictions that saturation did not stop at, if it is to find several.
    pub tolerated: Option<Vec<Contradiction>>,
    /// Whether an edge that is added counts at once; if not, only the next sweep looks at it.
    is_noting: bool,
    patience: Patience<'p>,
    /// Made when an unknown transaction is first taken in.
    told_by_txn: Option<Vec<(TxnId, u32)>>,
    listed_by_txn: Option<Vec<(TxnId, (OpId, TxnId))>>,
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

fn keys_that_are_read(problem: &Problem<'_>) -> Vec<bool> {
    let mut is_read = vec![false; problem.history.keys().len()];
    for (read, &source) in problem.index.reads().iter().zip(&problem.source) {
        is_read[read.key.index()] |= source != UNUSED;
    }
    is_read
}

impl<'p, 'a> Saturation<'p, 'a> {
    pub(crate) fn new(
        problem: &'p mut Problem<'a>,
        known: KnownGraph,
        chains: order::Chains,
        maybe_edges: Vec<MaybeEdge>,
        limit: &'p dyn Fn() -> Option<Limit>,
    ) -> Self {
        let writers = Writers::new(problem, &chains);
        let observed_count = known.graph.edge_count();
        let improved = Selected::all(chains.len());
        let mut open_of_read = Vec::new();
        if !problem.open.is_empty() {
            open_of_read = vec![NONE; problem.source.len()];
            for (open, entry) in problem.open.iter().enumerate() {
                open_of_read[entry.read as usize] = open as u32;
            }
        }
        Self {
            readers: Readers::new(problem),
            open_readers: OpenReaders::new(problem),
            is_read: keys_that_are_read(problem),
            windows: Windows::default(),
            waiting: Vec::new(),
            is_waiting: vec![false; problem.open.len()],
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
            fresh: Vec::new(),
            order: Vec::new(),
            is_stale: false,
            has_taken_in: false,
            observed_count,
            tolerated: None,
            is_noting: true,
            patience: Patience::new(limit),
            told_by_txn: None,
            listed_by_txn: None,
            improved,
            scratch: (Vec::new(), Vec::new()),
        }
    }

    /// Only the closure of what was observed, and the consequences of reads of the initial state.
    pub(crate) fn start(&mut self) -> Result<(), Stop> {
        self.sweep()?;
        self.writers.list(self.problem, self.reach.chains());
        for read in 0..self.problem.source.len() as u32 {
            if self.problem.source[read as usize] == INITIAL {
                self.precede_all_writers(read)?;
            }
        }
        self.stop_if_contradicted()?;
        self.sweep()
    }

    /// Runs to a fixed point.
    pub(crate) fn run(&mut self, by_windows: bool) -> Result<(), Stop> {
        let mut is_first = true;
        loop {
            self.patience.ask()?;
            self.rounds += 1;
            self.sweep()?;
            self.find_windows(by_windows, is_first);
            self.pass(std::mem::take(&mut is_first))?;
            self.stop_if_contradicted()?;
            while self.spread_fresh()? {
                self.patience.ask()?;
                let is_new = self.follow_improved()?;
                self.stop_if_contradicted()?;
                if !is_new {
                    return Ok(());
                }
            }
            if std::mem::take(&mut self.is_stale) {
                // A transaction was taken in: the rules have to be applied again with its writes.
                self.writers = Writers::new(self.problem, self.reach.chains());
                is_first = true;
            }
        }
    }

    /// Applies the rules to what improved; false if nothing did.
    fn follow_improved(&mut self) -> Result<bool, Stop> {
        let mut improved = Vec::new();
        self.reach.take_queue(&mut improved);
        if improved.is_empty() && self.waiting.is_empty() {
            return Ok(false);
        }
        self.rounds += 1;
        let windows = std::mem::take(&mut self.windows);
        for &node in &improved {
            self.follow(&windows, node)?;
        }
        for open in std::mem::take(&mut self.waiting) {
            self.is_waiting[open as usize] = false;
            self.narrow(&windows, open)?;
        }
        self.windows = windows;
        Ok(true)
    }

    /// A read of the initial state comes before every writer of the key.
    fn precede_all_writers(&mut self, read: u32) -> Result<(), Stop> {
        let external = self.problem.index.reads()[read as usize];
        let first = |group: Group<'_>| group.first_from(0, external.txn).map(|(later, _)| later);
        let mut later: Vec<TxnId> = self.writers.groups(external.key).filter_map(first).collect();
        later.extend(self.writers.off_chain(external.key));
        later.into_iter().try_for_each(|later| self.precede(read, later))
    }

    fn add(&mut self, from: u32, to: u32, reason: Reason) -> Result<(), Stop> {
        if !self.is_noting {
            self.known.add(from, to, reason);
            return Ok(());
        }
        if self.reach.is_noted(from, to) {
            return Ok(());
        }
        let is_backward = self.reach.is_noted(to, from);
        // An edge into the line of time cannot be told alone: the sweep finds the cycle that it closes.
        if is_backward && reason != Reason::Time {
            return self.tolerate(Contradiction::Backward { from, to, reason });
        }
        let edge = self.known.add(from, to, reason);
        if !is_backward {
            self.reach.note(from, to);
        }
        self.fresh.push(edge);
        Ok(())
    }

    /// Goes on after a contradiction if several are wanted: what it would add is left out.
    fn tolerate(&mut self, contradiction: Contradiction) -> Result<(), Stop> {
        match &mut self.tolerated {
            Some(tolerated) if tolerated.len() < TOLERATED => {
                tolerated.push(contradiction);
                Ok(())
            }
            _ => Err(contradiction.into()),
        }
    }

    /// Stops at the first of the contradictions that were tolerated, which stays with the others.
    fn stop_if_contradicted(&self) -> Result<(), Stop> {
        match self.tolerated.as_ref().and_then(|tolerated| tolerated.first()) {
            Some(first) => Err(first.clone().into()),
            None => Ok(()),
        }
    }

    /// Brings the closure up to date edge by edge; false if a sweep is better.
    fn spread_fresh(&mut self) -> Result<bool, Stop> {
        let fresh = std::mem::take(&mut self.fresh);
        if self.is_stale || fresh.len() * 32 > self.known.graph.node_count() {
            return Ok(false);
        }
        let graph = &self.known.graph;
        if !fresh.is_empty() {
            self.reach.spread(graph, &fresh, &self.order);
        }
        // A cycle is for the sweep to find.
        let is_cyclic = |&edge: &EdgeId| self.reach.reaches(graph.edge(edge).to, graph.edge(edge).from);
        Ok(!fresh.iter().any(is_cyclic))
    }

    /// Brings the closure up to date in one sweep along a topological order, which is kept.
    fn sweep(&mut self) -> Result<(), Stop> {
        let graph = &self.known.graph;
        let ((successors, order), predecessors) = parallel::join_if(
            graph.node_count() >= parallel::LARGE,
            || {
                let successors = Flat::successors(graph);
                let order = topological_order_of(&successors);
                (successors, order)
            },
            || Flat::predecessors(graph),
        );
        let Some(order) = order else {
            if self.tolerated.is_some() {
                self.tolerated = Some(self.find_cycles(CYCLES));
            }
            return Err(self.find_cycle().into());
        };
        self.reach.rebuild(&successors, &predecessors, &order);
        self.order = order;
        Ok(())
    }

    pub(crate) fn find_cycle(&self) -> Contradiction {
        self.find_cycles(1).pop().unwrap_or(Contradiction::Cycle(Vec::new()))
    }

    /// Cycles in the smallest components that have any, the smallest last.
    fn find_cycles(&self, count: usize) -> Vec<Contradiction> {
        let graph = &self.known.graph;
        let found = order::components(graph.node_count(), |node| graph.out_edges(node).map(|(_, to)| to));
        let sizes = found.sizes();
        let mut smallest: Vec<usize> = (0..found.count).filter(|&id| sizes[id] > 1).collect();
        smallest.sort_by_key(|&id| (sizes[id], id));
        smallest.truncate(count);
        let cycle = |&id: &usize| {
            let nodes = (0..graph.node_count() as u32).filter(|&node| found.of[node as usize] == id as u32);
            let nodes: Vec<u32> = nodes.collect();
            let cost = |edge| Some(self.known.reason(edge).cost());
            Contradiction::Cycle(order::cheapest_cycle(graph, &nodes, cost, CYCLE_STEPS).unwrap_or_default())
        };
        smallest.iter().rev().map(cycle).collect()
    }
}
