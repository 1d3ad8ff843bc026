//! An order that probably explains a window, so that no engine has to look for one.
//!
//! Events come one after the other, as soon as everything came that is known to precede them. Of several the one comes
//! that was asked for first; a transaction that only reads comes at once, which loses nothing. A version is not
//! overwritten while a read of it is still to come, and at `strong-si` a transaction does not begin while another one
//! that writes the same key has begun and not committed: these wait, and if nothing else can come, there is no guess.
//!
//! It proves nothing. An order that the checker accepts is an explanation like any other; where it does not, or where
//! reads have several possible sources or outcomes are unknown, the engine is asked. The idea is that of `schedule.rs` in
//! `verify`, without everything that windows do not need. It costs a tenth of the engine: on 50,000 transactions of
//! `general` the engine took 8,000 instructions for each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use certify::Node;
use history::{Outcome, TxnId};
use index::SourceClass;

use crate::graph::{Graph, Source};

/// An order in the making.
struct Guess<'g, 'a> {
    graph: &'g Graph<'a>,
    /// For each node how many nodes that precede it have not come.
    missing: Vec<u32>,
    /// For each write, and then for each key's initial state, how many reads of it have not come.
    pending: Vec<u32>,
    /// For each read the number of what it read in `pending`.
    slots: Vec<u32>,
    /// For each key the number of what it holds in `pending`.
    held: Vec<u32>,
    /// For each key whether a transaction that writes it has begun and not committed.
    is_claimed: Vec<bool>,
    /// Events that may come next, by when they were asked for.
    ready: BinaryHeap<Reverse<(i64, u32)>>,
    /// What an event waits for: that this number has no pending reads, or, behind all numbers, that a key is not claimed.
    waiting: Vec<(u32, u32)>,
    order: Vec<Node>,
}

/// An order of all events that follows the edges and in which every read sees what it read, if one is found.
pub(crate) fn explain(graph: &Graph<'_>) -> Option<Vec<Node>> {
    let is_left_out = |txn: TxnId| graph.history.outcome(txn) != Outcome::Aborted && !graph.is_node(txn.0);
    if graph.history.txns().any(is_left_out) {
        return None;
    }
    let mut guess = Guess::new(graph)?;
    let roots: Vec<u32> =
        (0..guess.missing.len() as u32).filter(|&node| guess.missing[node as usize] == 0).collect();
    roots.into_iter().for_each(|node| guess.release(node));
    while let Some(Reverse((_, event))) = guess.ready.pop() {
        match guess.obstacle(event) {
            Some(slot) => guess.waiting.push((slot, event)),
            None => guess.come(event),
        }
    }
    let wanted = (0..graph.parts.len() as u32).filter(|&txn| graph.is_node(txn)).count();
    (guess.order.len() == wanted * graph.events.per_txn as usize).then_some(guess.order)
}

impl<'g, 'a> Guess<'g, 'a> {
    fn new(graph: &'g Graph<'a>) -> Option<Self> {
        let index = graph.index;
        let (writes, keys) = (index.writes().len() as u32, graph.history.keys().len());
        let mut slots = Vec::with_capacity(index.reads().len());
        let mut pending = vec![0; writes as usize + keys];
        for (number, read) in index.reads().iter().enumerate() {
            let slot = match (graph.sources[number], index.source_class(number)) {
                (Source::Initial, _) => writes + read.key.0,
                (Source::Txn(_), SourceClass::Write(write)) => write,
                _ if graph.is_node(read.txn.0) => return None,
                _ => 0,
            };
            pending[slot as usize] += u32::from(graph.is_node(read.txn.0));
            slots.push(slot);
        }
        Some(Self {
            missing: graph.degrees(),
            pending,
            slots,
            held: (0..keys as u32).map(|key| writes + key).collect(),
            is_claimed: vec![false; if graph.events.per_txn == 2 { keys } else { 0 }],
            ready: BinaryHeap::new(),
            waiting: Vec::new(),
            order: Vec::with_capacity(graph.parts.len() * graph.events.per_txn as usize),
            graph,
        })
    }

    /// Everything that precedes a node came.
    fn release(&mut self, node: u32) {
        if node >= self.graph.event_count() {
            return self.pass(node);
        }
        let (events, txn) = (self.graph.events, node / self.graph.events.per_txn);
        if !self.graph.is_node(txn) {
            return;
        }
        let moments = &self.graph.moments[txn as usize];
        let asked = match node == events.commit(txn) {
            _ if self.graph.index.writes_of(TxnId(txn)).is_empty() => None,
            true => moments.commit_request,
            false => moments.begin_request,
        };
        self.ready.push(Reverse((asked.unwrap_or(i64::MIN), node)));
    }

    /// A node came: what waited for it alone is released. Moments come at once, and lead to other moments only along a line.
    fn pass(&mut self, node: u32) {
        let mut passed = Some(node);
        while let Some(node) = passed.take() {
            for &to in self.graph.observed().get(node) {
                self.missing[to as usize] -= 1;
                if self.missing[to as usize] > 0 {
                    continue;
                }
                match to < self.graph.event_count() || passed.is_some() {
                    true => self.release(to),
                    false => passed = Some(to),
                }
            }
        }
    }

    /// What an event has to wait for.
    fn obstacle(&self, event: u32) -> Option<u32> {
        let (graph, events) = (self.graph, self.graph.events);
        let txn = event / events.per_txn;
        let mut keys = graph.index.writes_of(TxnId(txn)).map(|write| graph.index.writes()[write].key);
        if event != events.commit(txn) {
            let claimed = keys.find(|key| self.is_claimed[key.index()])?;
            return Some(self.pending.len() as u32 + claimed.0);
        }
        let is_read = |&slot: &u32| {
            self.pending[slot as usize] > 0 && self.pending[slot as usize] > self.own_reads(txn, slot)
        };
        keys.map(|key| self.held[key.index()]).find(is_read)
    }

    /// How many reads of a transaction that come with its commit are of this number.
    fn own_reads(&self, txn: u32, slot: u32) -> u32 {
        if self.graph.events.per_txn == 2 {
            return 0;
        }
        let reads = &self.slots[self.graph.index.reads_of(TxnId(txn))];
        reads.iter().filter(|&&read| read == slot).count() as u32
    }

    fn come(&mut self, event: u32) {
        let (index, events) = (self.graph.index, self.graph.events);
        let txn = event / events.per_txn;
        let (is_begin, is_commit) = (event == events.begin(txn), event == events.commit(txn));
        for read in index.reads_of(TxnId(txn)).filter(|_| is_begin) {
            let slot = self.slots[read];
            self.pending[slot as usize] -= 1;
            if self.pending[slot as usize] == 0 {
                self.wake(slot);
            }
        }
        for write in index.writes_of(TxnId(txn)) {
            let key = index.writes()[write].key;
            if events.per_txn == 2 {
                self.is_claimed[key.index()] = is_begin;
            }
            if is_commit {
                self.held[key.index()] = write as u32;
                self.wake(self.pending.len() as u32 + key.0);
            }
        }
        self.order.push(Node(event));
        self.pass(event);
    }

    /// What waited for this looks again.
    fn wake(&mut self, slot: u32) {
        let mut place = 0;
        while let Some(&(awaited, event)) = self.waiting.get(place) {
            if awaited == slot {
                self.waiting.swap_remove(place);
                // It has waited long enough to come before all others.
                self.ready.push(Reverse((i64::MIN, event)));
            } else {
                place += 1;
            }
        }
    }
}
