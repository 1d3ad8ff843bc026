//! Why a writer is visible to a reader: the nodes on the way, and what the way rests on.
//!
//! For steps a search backward from the reader that counts reads and conflicts, and takes session order for free, so that
//! a way has few nodes. For matrices the operators are taken apart again.

use std::collections::VecDeque;

use certify::text::facts::{Facts, INITIAL};
use certify::text::judge::Witness;
use certify::text::plan::{Part, Steps};
use rustc_hash::{FxHashMap, FxHashSet};

/// What a way rests on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Way {
    /// All nodes on it, with both ends.
    pub nodes: Vec<u32>,
    /// Reads whose source is on it.
    pub reads: Vec<u32>,
    /// Pairs that stand in this order.
    pub before: Vec<(u32, u32)>,
    /// A key that no transaction writes between the two ends.
    pub overwrites: Option<u32>,
}

/// The way from a visible writer to a reader.
pub(crate) fn way(facts: &Facts, witness: &Witness, part: &Part, rival: u32, reader: u32) -> Way {
    let mut way = Way { nodes: vec![rival, reader], ..Way::default() };
    match part {
        Part::Session => {}
        Part::Conflicts | Part::Before { .. } | Part::Cursor => way.before.push((rival, reader)),
        Part::Overwritten => {
            way.before.push((rival, reader));
            way.overwrites = overwritten_key(facts, witness, rival, reader);
            let writers = way.overwrites.iter().flat_map(|&key| facts.writers(key));
            way.nodes.extend(writers);
        }
        Part::Prefix { session, reads_from, conflicts } => {
            prefix(facts, witness, (*session, *reads_from, *conflicts), rival, reader, &mut way);
        }
        Part::Earlier | Part::ReadsFrom => way.reads.extend(read_from(facts, witness, rival, reader)),
        Part::SeenInSession => {
            let session = (facts.session_start(reader)..reader).rev().filter(|&node| witness.has(node));
            let mut seen = session.filter_map(|node| Some((node, read_from(facts, witness, rival, node)?)));
            if let Some((node, read)) = seen.next() {
                way.nodes.push(node);
                way.reads.push(read);
            }
        }
        Part::SessionOfSource => {
            let mut reads = facts.reads_of(reader);
            let leads = |&read: &usize| facts.is_session_before(rival, witness.source[read]);
            if let Some(read) = reads.find(leads) {
                way.nodes.push(witness.source[read]);
                way.reads.push(read as u32);
            }
        }
        Part::SeenBySource => seen_by_source(facts, witness, rival, reader, &mut way),
        Part::Steps(steps) => steps_between(facts, witness, *steps, rival, reader, &mut way),
        Part::Matrix(rel) => {
            crate::core_of::take_apart(facts, witness, rel, rival, reader, &mut way);
        }
    }
    way
}

/// A source of the reader, and the last one of its session up to it that read from the rival.
fn seen_by_source(facts: &Facts, witness: &Witness, rival: u32, reader: u32, way: &mut Way) {
    for read in facts.reads_of(reader).filter(|&read| witness.source[read] != INITIAL) {
        let source = witness.source[read];
        let session = (facts.session_start(source)..=source).rev().filter(|&node| witness.has(node));
        let mut seen = session.filter_map(|node| Some((node, read_from(facts, witness, rival, node)?)));
        if let Some((node, first)) = seen.next() {
            way.nodes.extend([source, node]);
            way.reads.extend([read as u32, first]);
            return;
        }
    }
}

/// The transaction that leads into the reader and does not stand before the writer: the one that stands last.
fn prefix(
    facts: &Facts,
    witness: &Witness,
    (session, reads_from, conflicts): (bool, bool, bool),
    rival: u32,
    reader: u32,
    way: &mut Way,
) {
    let position = |node: u32| witness.position[node as usize];
    let of_session = (facts.session_start(reader)..reader).filter(|&node| session && witness.has(node));
    let of_session = of_session.map(|node| (node, None, false));
    let reads = facts.reads_of(reader).filter(|_| reads_from);
    let reads = reads.map(|read| (witness.source[read], Some(read as u32), false));
    let written = facts.written(reader).iter().filter(|_| conflicts);
    let rivals = written.filter_map(|&key| last_writer(facts, witness, key, reader));
    let rivals = rivals.map(|node| (node, None, true));
    let leading = of_session.chain(reads).chain(rivals).max_by_key(|&(node, ..)| position(node));
    let Some((node, read, is_conflict)) = leading else { return };
    way.nodes.push(node);
    way.reads.extend(read);
    way.before.extend((node != rival).then_some((rival, node)));
    way.before.extend(is_conflict.then_some((node, reader)));
}

/// A key of which the first is the last writer before the second.
fn overwritten_key(facts: &Facts, witness: &Witness, first: u32, second: u32) -> Option<u32> {
    let keys = facts.written(second).iter().copied();
    let mut keys = keys.filter(|&key| facts.writes(first, key));
    keys.find(|&key| last_writer(facts, witness, key, second) == Some(first))
}

/// The last writer of a key before a node in the order.
fn last_writer(facts: &Facts, witness: &Witness, key: u32, node: u32) -> Option<u32> {
    let position = |node: u32| witness.position[node as usize];
    let earlier = facts.writers(key).iter().copied();
    let earlier = earlier.filter(|&other| witness.has(other) && position(other) < position(node));
    earlier.max_by_key(|&other| position(other))
}

/// The first read of a node from another.
pub(crate) fn read_from(facts: &Facts, witness: &Witness, source: u32, reader: u32) -> Option<u32> {
    facts.reads_of(reader).find(|&read| witness.source[read] == source).map(|read| read as u32)
}

/// How a step of the search came to a node.
#[derive(Clone, Copy)]
enum Came {
    Session(u32),
    Read(u32, u32),
    Conflict(u32),
    Time(u32),
}

fn steps_between(facts: &Facts, witness: &Witness, steps: Steps, rival: u32, reader: u32, way: &mut Way) {
    if steps.session && facts.is_session_before(rival, reader)
        || steps.real_time && facts.is_real_time_before(rival, reader)
    {
        return;
    }
    if let Some(read) = read_from(facts, witness, rival, reader).filter(|_| steps.reads_from) {
        way.reads.push(read);
        return;
    }
    if steps.conflicts && facts.written(rival).iter().any(|&key| facts.writes(reader, key)) {
        way.before.push((rival, reader));
        return;
    }
    let mut search =
        Backward { facts, witness, steps, rival, came: FxHashMap::default(), queue: VecDeque::new() };
    search.run(reader);
    search.follow(reader, way);
}

/// The search from a reader back to a writer. Everything on the way stands between the two in the order, so nothing
/// else is looked at.
struct Backward<'a> {
    facts: &'a Facts,
    witness: &'a Witness,
    steps: Steps,
    rival: u32,
    /// For each node that was met the step that leads on to the reader.
    came: FxHashMap<u32, Came>,
    queue: VecDeque<u32>,
}

impl Backward<'_> {
    fn run(&mut self, reader: u32) {
        let mut done: FxHashSet<u32> = FxHashSet::default();
        self.queue.push_back(reader);
        while let Some(node) = self.queue.pop_front() {
            if node == self.rival {
                return;
            }
            if self.steps.real_time && self.facts.is_real_time_before(self.rival, node) {
                self.came.insert(self.rival, Came::Time(node));
                return;
            }
            if self.steps.session && self.facts.is_session_before(self.rival, node) {
                self.came.insert(self.rival, Came::Session(node));
                return;
            }
            if done.insert(node) {
                self.expand(node);
            }
        }
    }

    fn expand(&mut self, node: u32) {
        let (facts, witness) = (self.facts, self.witness);
        // Session order costs nothing, so it goes to the front.
        let before = (facts.session_start(node)..node).rev().find(|&before| witness.has(before));
        let before = before.filter(|_| self.steps.session);
        if self.steps.real_time {
            let mut ended = Vec::new();
            facts.timeline().directly_before(facts, node, &mut |before| ended.push(before));
            for before in ended.into_iter().filter(|&before| witness.has(before)) {
                if self.meet(before, Came::Time(node)) {
                    self.queue.push_back(before);
                }
            }
        }
        if let Some(before) = before
            && self.meet(before, Came::Session(node))
        {
            self.queue.push_front(before);
        }
        if self.steps.reads_from {
            for read in facts.reads_of(node) {
                let source = witness.source[read];
                if source != INITIAL && self.meet(source, Came::Read(node, read as u32)) {
                    self.queue.push_back(source);
                }
            }
        }
        if self.steps.conflicts {
            for &key in facts.written(node) {
                if let Some(last) = last_writer(facts, witness, key, node)
                    && self.meet(last, Came::Conflict(node))
                {
                    self.queue.push_back(last);
                }
            }
        }
    }

    /// Notes how a node was met first; false if it was met before, or does not stand between writer and reader.
    fn meet(&mut self, node: u32, came: Came) -> bool {
        let position = |node: u32| self.witness.position[node as usize];
        if position(node) < position(self.rival) || self.came.contains_key(&node) {
            return false;
        }
        self.came.insert(node, came);
        true
    }

    /// Walks from the writer to the reader, and keeps the ends of every run of session order.
    fn follow(&self, reader: u32, way: &mut Way) {
        let mut at = self.rival;
        while at != reader {
            let Some(&step) = self.came.get(&at) else { return };
            match step {
                Came::Session(next) => at = next,
                Came::Time(next) => {
                    way.nodes.extend([at, next]);
                    at = next;
                }
                Came::Read(next, read) => {
                    way.nodes.extend([at, next]);
                    way.reads.push(read);
                    at = next;
                }
                Came::Conflict(next) => {
                    way.nodes.extend([at, next]);
                    way.before.push((at, next));
                    at = next;
                }
            }
        }
    }
}
