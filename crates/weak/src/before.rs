//! Orders by what must stand before each node, without a list of all pairs.
//!
//! The facts say what stands before a node: the transaction before it in its session, the sources of its reads. A node that
//! is not ready waits at one node that must come first, and is looked at again when that one is placed. That is Kahn's
//! algorithm, each pair is looked at about once, and nothing is built: lists of all pairs (`sorted.rs`) took two passes
//! over all reads that missed the cache at each, twelve times as long on five million reads.
//!
//! A pair that an order lacks is added as by Pearce and Kelly ("A dynamic topological sort algorithm for directed acyclic
//! graphs", 2006), on one side: of the nodes between the two, those that lead to the first move before the second. Costs
//! what stands between them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use certify::text::facts::{Facts, INITIAL, Mask};
use certify::text::judge::Witness;
use certify::text::plan::{Plan, Readers};
use rustc_hash::FxHashMap;

const NONE: u32 = u32::MAX;

/// What must stand before each node.
pub(crate) struct Before<'a> {
    facts: &'a Facts,
    is_in: &'a [bool],
    session: Mask,
    reads_from: Mask,
    real_time: Option<Mask>,
    /// (later, earlier) by lists and versions, sorted.
    told: Vec<(u32, u32)>,
    /// For each node the nodes that were forced before it.
    forced: FxHashMap<u32, Vec<u32>>,
}

impl<'a> Before<'a> {
    /// What the level's order contains and what lists show, among nodes that are taken as committed.
    pub(crate) fn new(facts: &'a Facts, plan: &Plan, is_in: &'a [bool]) -> Self {
        let counts = |node: &u32| is_in[*node as usize];
        let told = facts.told().iter().filter(|(from, to, by)| [from, to, by].into_iter().all(counts));
        let mut told: Vec<(u32, u32)> = told.map(|&(from, to, _)| (to, from)).collect();
        told.sort_unstable();
        Self {
            facts,
            is_in,
            session: facts.mask(&plan.session),
            reads_from: facts.mask(&plan.reads_from),
            real_time: (plan.real_time != Readers::None).then(|| facts.mask(&plan.real_time)),
            told,
            forced: FxHashMap::default(),
        }
    }

    /// Puts a node before another one from now on.
    pub(crate) fn force(&mut self, first: u32, second: u32) {
        self.forced.entry(second).or_default().push(first);
    }

    /// A node for which `is_wanted` says so, of those that must stand directly before a node.
    fn find(&self, node: u32, source: &[u32], mut is_wanted: impl FnMut(u32) -> bool) -> Option<u32> {
        let (facts, is_in) = (self.facts, |node: u32| self.is_in[node as usize]);
        let session = facts.earlier_in_session(node, &self.session, is_in).find(|&before| is_wanted(before));
        if session.is_some() {
            return session;
        }
        if facts.is_in(node, &self.reads_from) {
            let mut sources = source[facts.reads_of(node)].iter().copied();
            let found = sources.find(|&from| from != INITIAL && is_wanted(from));
            if found.is_some() {
                return found;
            }
        }
        self.find_rare(node, is_wanted)
    }

    /// As [`Before::find`], by what most histories and levels do not have.
    fn find_rare(&self, node: u32, mut is_wanted: impl FnMut(u32) -> bool) -> Option<u32> {
        let forced = self.forced.get(&node).into_iter().flatten().copied();
        let start = self.told.partition_point(|&(later, _)| later < node);
        let told = self.told[start..].iter().take_while(|&&(later, _)| later == node);
        let found = forced.chain(told.map(|&(_, earlier)| earlier)).find(|&before| is_wanted(before));
        if found.is_some() {
            return found;
        }
        let mut found = None;
        if self.real_time.as_ref().is_some_and(|mask| self.facts.is_in(node, mask)) {
            self.facts.timeline().directly_before(self.facts, node, &mut |before| {
                if found.is_none() && self.is_in[before as usize] && is_wanted(before) {
                    found = Some(before);
                }
            });
        }
        found
    }

    /// An order of `nodes` in which those that are ready first come first; nothing if there is none.
    pub(crate) fn order(&self, nodes: &[u32], source: &[u32]) -> Option<Vec<u32>> {
        self.place_all(nodes, source, VecDeque::new())
    }

    /// An order of `nodes`, those with smaller numbers first where that can be; nothing if there is none.
    pub(crate) fn order_by(
        &self,
        nodes: &[u32],
        source: &[u32],
        priority: impl Fn(u32) -> u64,
    ) -> Option<Vec<u32>> {
        self.place_all(nodes, source, ByPriority { priority, heap: BinaryHeap::new() })
    }

    fn place_all(&self, nodes: &[u32], source: &[u32], mut ready: impl Ready) -> Option<Vec<u32>> {
        let count = self.facts.node_count();
        let mut waiting = Waiting { first: vec![NONE; count], next: vec![NONE; count] };
        let mut is_placed = vec![false; count];
        let mut order = Vec::with_capacity(nodes.len());
        let blocker =
            |node: u32, is_placed: &[bool]| self.find(node, source, |before| !is_placed[before as usize]);
        for &node in nodes {
            match blocker(node, &is_placed) {
                None => ready.add(node),
                Some(blocker) => waiting.add(node, blocker),
            }
        }
        while let Some(node) = ready.take() {
            is_placed[node as usize] = true;
            order.push(node);
            let mut waiter = waiting.first[node as usize];
            while waiter != NONE {
                let after = waiting.next[waiter as usize];
                match blocker(waiter, &is_placed) {
                    None => ready.add(waiter),
                    Some(blocker) => waiting.add(waiter, blocker),
                }
                waiter = after;
            }
        }
        (order.len() == nodes.len()).then_some(order)
    }
}

/// For each node the first of those that wait for it, and for each of these the next one.
struct Waiting {
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Waiting {
    fn add(&mut self, node: u32, blocker: u32) {
        self.next[node as usize] = std::mem::replace(&mut self.first[blocker as usize], node);
    }
}

/// The nodes that may come next.
trait Ready {
    fn add(&mut self, node: u32);
    fn take(&mut self) -> Option<u32>;
}

impl Ready for VecDeque<u32> {
    fn add(&mut self, node: u32) {
        self.push_back(node);
    }

    fn take(&mut self) -> Option<u32> {
        self.pop_front()
    }
}

struct ByPriority<F> {
    priority: F,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl<F: Fn(u32) -> u64> Ready for ByPriority<F> {
    fn add(&mut self, node: u32) {
        self.heap.push(Reverse(((self.priority)(node), node)));
    }

    fn take(&mut self) -> Option<u32> {
        self.heap.pop().map(|Reverse((_, node))| node)
    }
}

/// Adds pairs to an order.
pub(crate) struct Mender {
    /// The pair for which each node was reached.
    stamp: Vec<u32>,
    round: u32,
    reached: Vec<u32>,
    others: Vec<u32>,
    /// How many nodes were moved or passed.
    pub work: usize,
}

impl Mender {
    pub(crate) fn new(node_count: usize) -> Self {
        Self { stamp: vec![0; node_count], round: 0, reached: Vec::new(), others: Vec::new(), work: 0 }
    }

    /// Puts a node before another one in an order that has all pairs but this one; false if the other one leads to it.
    pub(crate) fn put_before(
        &mut self,
        before: &Before<'_>,
        witness: &mut Witness,
        first: u32,
        second: u32,
    ) -> bool {
        let Witness { order, position, source } = witness;
        let (start, end) = (position[second as usize], position[first as usize]);
        if end < start {
            return true;
        }
        self.round += 1;
        self.stamp[first as usize] = self.round;
        self.reached.clear();
        self.reached.push(first);
        let mut next = 0;
        while let Some(&node) = self.reached.get(next) {
            next += 1;
            let second_found = before.find(node, source, |other| {
                if position[other as usize] > start && self.stamp[other as usize] != self.round {
                    self.stamp[other as usize] = self.round;
                    self.reached.push(other);
                }
                other == second
            });
            if second_found.is_some() {
                return false;
            }
        }
        let window = start as usize..end as usize + 1;
        self.work += window.len();
        self.reached.sort_unstable_by_key(|&node| position[node as usize]);
        self.others.clear();
        let is_other = |node: &&u32| self.stamp[**node as usize] != self.round;
        self.others.extend(order[window.clone()].iter().filter(is_other));
        for (place, &node) in window.zip(self.reached.iter().chain(&self.others)) {
            order[place] = node;
            position[node as usize] = place as u32;
        }
        true
    }
}
