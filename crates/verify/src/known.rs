//! The known graph: edges that are in every explanation, each with its reason.
//!
//! A reason is a kind and one number, because the ends of the edge tell the rest; the path that a derived edge rests on
//! is not stored but found again when a proof needs it, among the edges that are older.

use history::TxnId;
use order::{Digraph, EdgeId};

use crate::problem::{INITIAL, OPEN, Problem, Status, UNUSED};

/// Why an edge is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// From one transaction of a session to the next.
    Session,
    /// Into, along or out of the line of time.
    Time,
    /// From begin to commit.
    Within,
    /// From the writer to the reader of a version: the read.
    ReadFrom(u32),
    /// From the reader of a version to the writer of a later one: the read.
    Overwritten(u32),
    /// From one version to a later one, as the history tells: the number of that order.
    Told(u32),
    /// The writer was visible to this read, so the version that was read is later.
    Visible(u32),
    /// One of two writers of a key began before the other committed, so it committed before the other began: a write
    /// of the first.
    Exclusive(u32),
}

impl Reason {
    /// What a path should pay for the edge: few transactions, and few derivations.
    pub(crate) fn cost(self) -> u32 {
        match self {
            Self::Session | Self::Time | Self::Within => 0,
            Self::ReadFrom(_) | Self::Told(_) => 1,
            Self::Overwritten(_) => 2,
            Self::Visible(_) | Self::Exclusive(_) => 3,
        }
    }
}

/// The graph with its reasons.
pub(crate) struct KnownGraph {
    pub graph: Digraph,
    reasons: Vec<(u8, u32)>,
}

impl KnownGraph {
    pub(crate) fn new(node_count: usize) -> Self {
        Self { graph: Digraph::new(node_count), reasons: Vec::new() }
    }

    pub(crate) fn add(&mut self, from: u32, to: u32, reason: Reason) -> EdgeId {
        self.reasons.push(match reason {
            Reason::Session => (0, 0),
            Reason::Time => (1, 0),
            Reason::Within => (2, 0),
            Reason::ReadFrom(read) => (3, read),
            Reason::Overwritten(read) => (4, read),
            Reason::Visible(read) => (5, read),
            Reason::Exclusive(write) => (6, write),
            Reason::Told(order) => (7, order),
        });
        self.graph.add(from, to)
    }

    pub(crate) fn reason(&self, edge: EdgeId) -> Reason {
        match self.reasons[edge as usize] {
            (0, _) => Reason::Session,
            (1, _) => Reason::Time,
            (2, _) => Reason::Within,
            (3, read) => Reason::ReadFrom(read),
            (4, read) => Reason::Overwritten(read),
            (5, read) => Reason::Visible(read),
            (6, write) => Reason::Exclusive(write),
            (_, order) => Reason::Told(order),
        }
    }

    /// Begin to commit, session order, reads whose source is known, and versions whose order is told. The line of time comes from `time`.
    pub(crate) fn add_observed(&mut self, problem: &Problem<'_>) {
        let (shape, distance) = (problem.shape, problem.links().distance);
        let took_part = |txn: &TxnId| problem.status[txn.index()] != Status::Out;
        let edges = problem.source.len() + problem.history.txn_count() * shape.events as usize;
        self.graph.reserve(edges);
        self.reasons.reserve(edges);
        if shape.events == 2 {
            for txn in problem.history.txns().filter(took_part) {
                self.add(shape.begin(txn), shape.commit(txn), Reason::Within);
            }
        }
        for session in problem.history.sessions() {
            let mut before = Vec::new();
            for txn in problem.history.session_txns(session) {
                let hands_on = problem.hands_on(txn);
                if !took_part(&txn) || !problem.is_linked(txn) || (distance > 1 && !hands_on) {
                    continue;
                }
                let (from, to) = (before.len().saturating_sub(2 * distance - 1), before.len() + 1);
                for &earlier in &before[from..to.saturating_sub(distance).max(from)] {
                    self.add(shape.commit(earlier), shape.begin(txn), Reason::Session);
                }
                if hands_on {
                    before.push(txn);
                }
            }
        }
        // Add one edge for each pair of writer and reader: a quarter of the edges is left of TPC-C.
        let mut last_reader = vec![TxnId(u32::MAX); problem.history.txn_count()];
        for (read, &source) in problem.source.iter().enumerate() {
            if matches!(source, INITIAL | OPEN | UNUSED) {
                continue;
            }
            let (writer, reader) = (problem.writer(source), problem.reader(read as u32));
            if std::mem::replace(&mut last_reader[writer.index()], reader) != reader {
                self.add_read_from(problem, read as u32, source);
            }
        }
        for (number, order) in problem.index.version_order().iter().enumerate() {
            let (earlier, later) = (problem.writer(order.earlier), problem.writer(order.later));
            if problem.told_by(order).all(|txn| problem.is_in(txn)) {
                self.add(shape.commit(earlier), shape.install(later), Reason::Told(number as u32));
            }
        }
    }

    /// The edge from a write to a read of it.
    pub(crate) fn add_read_from(&mut self, problem: &Problem<'_>, read: u32, write: u32) -> EdgeId {
        let shape = problem.shape;
        let (writer, reader) = (problem.writer(write), problem.reader(read));
        self.add(shape.commit(writer), shape.begin(reader), Reason::ReadFrom(read))
    }
}
