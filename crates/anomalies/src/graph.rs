//! The dependency graph: transactions, and nodes through which sessions and real time pass in linear size.
//!
//! A session is a chain of nodes, one after each transaction: the transaction leads to its node (an edge of the
//! session), the node to the next one and to the next transaction (edges that go on). Real time is one such chain, with
//! a node for each transaction that ended. So any two transactions of a session, or that do not overlap, are one edge
//! apart, and the graph has a few edges for each transaction.

use history::{KeyId, ValueId};

/// Why one transaction comes before another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// It wrote an earlier version.
    Ww,
    /// It wrote the version that the other read.
    Wr,
    /// It read a version that the other replaced.
    Rw,
    /// It is earlier in the session.
    Process,
    /// It had ended when the other began.
    Realtime,
    /// Goes on with the edge that led here.
    Through,
}

/// An edge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edge {
    /// Where it starts.
    pub from: u32,
    /// Where it ends.
    pub to: u32,
    /// Why it is there.
    pub kind: Kind,
    /// The key of a dependency.
    pub key: KeyId,
    /// The version that was written later, or read, or that replaced what was read.
    pub value: ValueId,
}

impl Edge {
    /// An edge that is not about a key.
    pub(crate) fn plain(from: u32, to: u32, kind: Kind) -> Self {
        Self { from, to, kind, key: KeyId(0), value: ValueId::NIL }
    }
}

/// A graph in the making: transactions are nodes, others come after them.
///
/// Chains have twice as many edges as dependencies, so edges without a key are kept as pairs of nodes.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub txn_count: u32,
    pub node_count: u32,
    dependencies: Vec<Edge>,
    process: Vec<(u32, u32)>,
    realtime: Vec<(u32, u32)>,
    through: Vec<(u32, u32)>,
}

impl Graph {
    /// A graph with room for so many dependencies.
    pub(crate) fn new(txn_count: usize, dependencies: usize) -> Self {
        Self {
            txn_count: txn_count as u32,
            node_count: txn_count as u32,
            dependencies: Vec::with_capacity(dependencies),
            process: Vec::new(),
            realtime: Vec::new(),
            through: Vec::new(),
        }
    }

    /// All edges.
    pub(crate) fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        let of = |kind| move |&(from, to): &(u32, u32)| Edge::plain(from, to, kind);
        let chains = self.process.iter().map(of(Kind::Process));
        let chains = chains.chain(self.realtime.iter().map(of(Kind::Realtime)));
        self.dependencies.iter().copied().chain(chains.chain(self.through.iter().map(of(Kind::Through))))
    }

    /// Adds an edge.
    pub(crate) fn push(&mut self, edge: Edge) {
        match edge.kind {
            Kind::Ww | Kind::Wr | Kind::Rw => self.dependencies.push(edge),
            Kind::Process => self.process.push((edge.from, edge.to)),
            Kind::Realtime => self.realtime.push((edge.from, edge.to)),
            Kind::Through => self.through.push((edge.from, edge.to)),
        }
    }

    /// A dependency; a transaction does not depend on itself.
    pub(crate) fn depend(&mut self, from: u32, to: u32, kind: Kind, key: KeyId, value: ValueId) {
        if from != to {
            self.push(Edge { from, to, kind, key, value });
        }
    }

    /// A node that is no transaction.
    pub(crate) fn node(&mut self) -> u32 {
        self.node_count += 1;
        self.node_count - 1
    }

    /// Each of the first depends on each of the second, other than itself: two chains of nodes, if that is fewer edges.
    pub(crate) fn depend_all(&mut self, from: &[u32], to: &[(u32, ValueId)], kind: Kind, key: KeyId) {
        if from.len().saturating_mul(to.len()) <= 8 * (from.len() + to.len()) {
            for &from in from {
                to.iter().for_each(|&(to, value)| self.depend(from, to, kind, key, value));
            }
            return;
        }
        // `up[i]` leads to the first i + 1, `down[i]` to those from i on.
        let up: Vec<u32> = to.iter().map(|_| self.node()).collect();
        let down: Vec<u32> = to.iter().map(|_| self.node()).collect();
        for (place, &(to, _)) in to.iter().enumerate() {
            self.push(Edge::plain(up[place], to, Kind::Through));
            self.push(Edge::plain(down[place], to, Kind::Through));
            if place > 0 {
                self.push(Edge::plain(up[place], up[place - 1], Kind::Through));
                self.push(Edge::plain(down[place - 1], down[place], Kind::Through));
            }
        }
        for &from in from {
            let own = to.iter().position(|&(to, _)| to == from);
            let value = ValueId::NIL;
            let edge = |to| Edge { from, to, kind, key, value };
            match own {
                None => self.dependencies.extend(up.last().map(|&last| edge(last))),
                Some(own) => {
                    self.dependencies.extend(own.checked_sub(1).map(|before| edge(up[before])));
                    self.dependencies.extend(down.get(own + 1).map(|&after| edge(after)));
                }
            }
        }
    }

    /// Transactions that come one after the other, as one chain.
    pub(crate) fn chain(&mut self, txns: impl Iterator<Item = u32>, kind: Kind) {
        let mut last: Option<u32> = None;
        for txn in txns {
            let node = self.node();
            if let Some(last) = last {
                self.push(Edge::plain(last, node, Kind::Through));
                self.push(Edge::plain(last, txn, Kind::Through));
            }
            self.push(Edge::plain(txn, node, kind));
            last = Some(node);
        }
    }

    /// Transactions with their start and end: one that ended before another started comes before it.
    pub(crate) fn intervals(&mut self, spans: &[(u32, Option<i64>, Option<i64>)]) {
        let mut ends: Vec<(i64, u32)> = spans.iter().filter_map(|&(txn, _, end)| Some((end?, txn))).collect();
        let mut starts: Vec<(i64, u32)> =
            spans.iter().filter_map(|&(txn, start, _)| Some((start?, txn))).collect();
        ends.sort_unstable();
        starts.sort_unstable();
        let mut ended = ends.into_iter().peekable();
        let mut last: Option<u32> = None;
        for (start, txn) in starts {
            while let Some(&(end, before)) = ended.peek().filter(|&&(end, _)| end < start) {
                let _ = end;
                ended.next();
                let node = self.node();
                self.push(Edge::plain(before, node, Kind::Realtime));
                self.through.extend(last.map(|last| (last, node)));
                last = Some(node);
            }
            self.through.extend(last.map(|last| (last, txn)));
        }
    }
}
