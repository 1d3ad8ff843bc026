//! Evaluates a level's text along an order: which visible writers stand after the source of a read?
//!
//! What is visible lies inside the order wherever sessions and reads do, so only writers between the source and the
//! reader can be hits. One technique for each kind of part:
//! - *earlier*: a transaction's reads backward, with the earliest source of each key among those after (a stamp by key);
//!   the keys of a writer are met with the keys that were read, over the smaller side: O(n^1.5) at worst;
//! - *session*, *reads-from*: the same, with the last own writer of each key;
//! - *before*: the first writer after the source and before the reader;
//! - *prefix*: the same up to the last transaction that leads into the reader;
//! - *cursor*: the same before a reader that writes the key too;
//! - *overwritten*: the last writer of each key that is written, as for reads-from;
//! - *conflicts*: the writers between source and reader, the last one first;
//! - *steps*: see `judge/nearby.rs` and `judge/clocks.rs`;
//! - *steps* that clocks cannot follow: see `reach.rs`;
//! - *what sessions hand on*: see `judge/guarantees.rs`;
//! - *matrix*: see `matrix.rs`.

mod accepted;
mod clocks;
mod guarantees;
mod nearby;
mod suspects;

use super::facts::{Facts, INITIAL, Mask};
use super::matrix;
use super::plan::{Part, Plan, Steps};
use super::reach::Reach;
pub use accepted::{Accepted, Judgement};
pub use suspects::Looked;
use suspects::{Suspects, asks_suspects};

/// A node that is not in the order.
pub const ABSENT: u32 = u32::MAX;

/// An order of the transactions that are taken as committed, and where each read came from.
#[derive(Clone, Debug, Default)]
pub struct Witness {
    /// The nodes in order; the initial one is first.
    pub order: Vec<u32>,
    /// For each node its place in the order, or [`ABSENT`].
    pub position: Vec<u32>,
    /// For each read its source; anything for readers that are not in the order.
    pub source: Vec<u32>,
}

/// A writer that is visible to a reader and stands after the source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Hit {
    /// The number of the read.
    pub read: u32,
    /// The visible writer.
    pub rival: u32,
    /// The number of the part that shows it.
    pub part: u32,
}

impl Witness {
    /// A witness with these nodes in this order; the initial one is added.
    pub fn new(facts: &Facts, order: impl IntoIterator<Item = u32>, source: Vec<u32>) -> Self {
        let order: Vec<u32> = std::iter::once(INITIAL).chain(order).collect();
        let mut position = vec![ABSENT; facts.node_count()];
        for (place, &node) in order.iter().enumerate() {
            position[node as usize] = place as u32;
        }
        Self { order, position, source }
    }

    /// Whether a node is taken as committed.
    #[inline]
    pub fn has(&self, node: u32) -> bool {
        self.position[node as usize] != ABSENT
    }
}

/// What the evaluation of a level needs, beside the order.
pub struct Judge<'f, 'a> {
    facts: &'f Facts,
    plan: &'a Plan,
    /// Asked now and then: whether to stop.
    stop: &'a dyn Fn() -> bool,
}

/// The evaluation was stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

/// How many nodes pass between two questions whether to stop.
const STOP_INTERVAL: usize = 4096;

/// For each key of the transaction at hand a number that is valid if the stamp is.
struct Stamps {
    stamp: Vec<u32>,
    /// The position of the earliest source.
    earliest: Vec<u32>,
    /// The read from it.
    read: Vec<u32>,
    keys: Vec<u32>,
}

impl Stamps {
    fn new(key_count: usize) -> Self {
        Self {
            stamp: vec![0; key_count],
            earliest: vec![0; key_count],
            read: vec![0; key_count],
            keys: Vec::new(),
        }
    }

    fn add(&mut self, stamp: u32, key: u32, position: u32, read: u32) {
        let place = key as usize;
        if self.stamp[place] != stamp {
            self.stamp[place] = stamp;
            self.keys.push(key);
        } else if self.earliest[place] <= position {
            return;
        }
        self.earliest[place] = position;
        self.read[place] = read;
    }

    /// Calls `hit` for each stamped key that a writer at this position writes and that was read from before it.
    fn meet(&self, facts: &Facts, stamp: u32, writer: u32, position: u32, mut hit: impl FnMut(u32)) {
        let written = facts.written(writer);
        if written.len() <= self.keys.len() * 4 {
            for &key in written {
                let place = key as usize;
                if self.stamp[place] == stamp && self.earliest[place] < position {
                    hit(self.read[place]);
                }
            }
        } else {
            for &key in &self.keys {
                if self.earliest[key as usize] < position && facts.writes(writer, key) {
                    hit(self.read[key as usize]);
                }
            }
        }
    }
}

impl<'f, 'a> Judge<'f, 'a> {
    /// A judge of one level; `stop` is asked now and then.
    pub fn new(facts: &'f Facts, plan: &'a Plan, stop: &'a dyn Fn() -> bool) -> Self {
        Self { facts, plan, stop }
    }

    /// All hits; for each read and part at most one rival of each session.
    ///
    /// # Errors
    /// If it was told to stop.
    pub fn hits(&self, witness: &Witness) -> Result<Vec<Hit>, Stopped> {
        self.hits_beyond(witness, &mut None)
    }

    /// As [`Judge::hits`], without most of those that were looked for along an earlier order already; for levels where
    /// what is visible is the same along every order.
    ///
    /// # Errors
    /// If it was told to stop.
    pub fn hits_beyond(&self, witness: &Witness, looked: &mut Option<Looked>) -> Result<Vec<Hit>, Stopped> {
        let mut hits = Vec::new();
        let suspects = match self.plan.parts.iter().any(asks_suspects) {
            true => self.suspects(witness, looked.take().as_ref())?,
            false => Suspects::default(),
        };
        for (number, part) in self.plan.parts.iter().enumerate() {
            let readers = self.facts.mask(&self.plan.readers[number]);
            let of = (number as u32, &readers);
            match part {
                Part::Earlier => self.earlier(witness, &suspects, of, &mut hits)?,
                Part::Session => self.session(witness, &suspects, of, &mut hits)?,
                Part::ReadsFrom => self.reads_from(witness, &suspects, of, &mut hits)?,
                Part::Steps(steps) if steps.has_clocks() => {
                    self.steps(witness, &suspects, *steps, of, &mut hits)?;
                }
                Part::Steps(steps) => {
                    let writers = &self.writers_in_order(witness);
                    let (facts, stop) = (self.facts, self.stop);
                    Reach { facts, witness, writers, steps: *steps, stop }.hits(of, &mut hits)?;
                }
                Part::Matrix(rel) => {
                    let rows = matrix::evaluate(self.facts, witness, rel, None, self.stop)?;
                    matrix::add_hits(self.facts, witness, &rows, of, &mut hits);
                }
                Part::SeenInSession => self.seen_in_session(witness, of, &mut hits)?,
                Part::SessionOfSource => self.session_of_source(witness, &suspects, of, &mut hits)?,
                Part::SeenBySource => self.seen_by_source(witness, of, &mut hits)?,
                Part::Conflicts => self.conflicts(witness, of, &mut hits)?,
                Part::Overwritten => self.overwritten(witness, of, &mut hits)?,
                Part::Before { to_updates } => {
                    let is_reader = |node: u32| !to_updates || !self.facts.written(node).is_empty();
                    self.first_until(witness, of, &mut hits, |node, _| is_reader(node).then_some(node))?;
                }
                Part::Cursor => {
                    let reads_own = |node: u32, key: u32| self.facts.writes(node, key).then_some(node);
                    self.first_until(witness, of, &mut hits, reads_own)?;
                }
                Part::Prefix { session, reads_from, conflicts } => {
                    let leads = (*session, *reads_from, *conflicts);
                    self.prefix(witness, leads, of, &mut hits)?;
                }
            }
        }
        *looked = suspects.looked(self.plan, witness);
        Ok(hits)
    }

    fn ask(&self, place: usize) -> Result<(), Stopped> {
        if place.is_multiple_of(STOP_INTERVAL) && (self.stop)() { Err(Stopped) } else { Ok(()) }
    }

    /// The nodes of the order for which a part counts.
    fn readers(&self, witness: &Witness, readers: &Mask) -> impl Iterator<Item = u32> {
        (1..self.facts.node_count() as u32)
            .filter(move |&node| witness.has(node) && self.facts.is_in(node, readers))
    }

    fn earlier(
        &self,
        witness: &Witness,
        suspects: &Suspects,
        (part, readers): Of<'_>,
        hits: &mut Vec<Hit>,
    ) -> Result<(), Stopped> {
        let (facts, position) = (self.facts, &witness.position);
        let rest = self.by_sources(witness, suspects, (part, readers), true, hits)?;
        let mut stamps = Stamps::new(if rest.is_empty() { 0 } else { facts.key_count() });
        for node in rest {
            self.ask(node as usize)?;
            stamps.keys.clear();
            let reads = facts.reads_of(node);
            // Reads by one operation, as of a range, are not before one another.
            let mut pending = reads.end;
            for read in reads.clone().rev() {
                let op = facts.reads()[read].op;
                while pending > read + 1 && facts.reads()[pending - 1].op != op {
                    pending -= 1;
                    let later = witness.source[pending];
                    let key = facts.reads()[pending].key;
                    stamps.add(node, key, position[later as usize], pending as u32);
                }
                let writer = witness.source[read];
                // Only the first read from a writer matters: it sees the most reads after it.
                let is_first = writer != INITIAL && !witness.source[reads.start..read].contains(&writer);
                if is_first {
                    stamps.meet(facts, node, writer, position[writer as usize], |read| {
                        hits.push(Hit { read, rival: writer, part });
                    });
                }
            }
        }
        Ok(())
    }

    fn stamp_reads(&self, witness: &Witness, node: u32, stamps: &mut Stamps) {
        stamps.keys.clear();
        for read in self.facts.reads_of(node) {
            let source = witness.source[read];
            let key = self.facts.reads()[read].key;
            stamps.add(node, key, witness.position[source as usize], read as u32);
        }
    }

    fn reads_from(
        &self,
        witness: &Witness,
        suspects: &Suspects,
        (part, readers): Of<'_>,
        hits: &mut Vec<Hit>,
    ) -> Result<(), Stopped> {
        let facts = self.facts;
        let rest = self.by_sources(witness, suspects, (part, readers), false, hits)?;
        let mut stamps = Stamps::new(if rest.is_empty() { 0 } else { facts.key_count() });
        for node in rest {
            self.ask(node as usize)?;
            self.stamp_reads(witness, node, &mut stamps);
            let sources = &witness.source[facts.reads_of(node)];
            for (place, &writer) in sources.iter().enumerate() {
                if writer == INITIAL || sources[..place].contains(&writer) {
                    continue;
                }
                stamps.meet(facts, node, writer, witness.position[writer as usize], |read| {
                    hits.push(Hit { read, rival: writer, part });
                });
            }
        }
        Ok(())
    }

    /// The last writer before a node of each key that the node writes.
    fn overwritten(
        &self,
        witness: &Witness,
        (part, readers): Of<'_>,
        hits: &mut Vec<Hit>,
    ) -> Result<(), Stopped> {
        let facts = self.facts;
        let writers = self.writers_in_order(witness);
        let mut stamps = Stamps::new(facts.key_count());
        for node in self.readers(witness, readers) {
            self.ask(node as usize)?;
            if facts.written(node).is_empty() || facts.reads_of(node).is_empty() {
                continue;
            }
            self.stamp_reads(witness, node, &mut stamps);
            for &key in facts.written(node).iter().filter(|&&key| facts.has_all_writers(key)) {
                let place = writers.place(key, witness.position[node as usize]);
                let Some(&last) = writers.of(key)[..place].last() else { continue };
                stamps.meet(facts, node, last, witness.position[last as usize], |read| {
                    hits.push(Hit { read, rival: last, part });
                });
            }
        }
        Ok(())
    }

    /// Session by session, with the last writer of each key in the order, unless no read is suspect.
    fn session(
        &self,
        witness: &Witness,
        suspects: &Suspects,
        (part, readers): Of<'_>,
        hits: &mut Vec<Hit>,
    ) -> Result<(), Stopped> {
        if let Some(found) = suspects.in_session(self.facts, (part, readers)) {
            hits.extend(found);
            return Ok(());
        }
        suspects.names_some.set(true);
        let (facts, position) = (self.facts, &witness.position);
        let mut last: Vec<(u32, u32)> = vec![(0, INITIAL); facts.key_count()];
        for node in (1..facts.node_count() as u32).filter(|&node| witness.has(node)) {
            self.ask(node as usize)?;
            let session = facts.session_start(node);
            let reads = if facts.is_in(node, readers) { facts.reads_of(node) } else { 0..0 };
            for read in reads {
                let (of, writer) = last[facts.reads()[read].key as usize];
                let source = witness.source[read];
                if of == session && position[writer as usize] > position[source as usize] {
                    hits.push(Hit { read: read as u32, rival: writer, part });
                }
            }
            for &key in facts.written(node) {
                let entry = &mut last[key as usize];
                if entry.0 != session || position[entry.1 as usize] < position[node as usize] {
                    *entry = (session, node);
                }
            }
        }
        Ok(())
    }

    /// The first writer of a key after the source and up to the node that `until` names. Where that is the reader itself,
    /// its own write does not count. An order that puts the reader before the first writer mostly puts it before all.
    fn first_until(
        &self,
        witness: &Witness,
        (part, readers): Of<'_>,
        hits: &mut Vec<Hit>,
        until: impl Fn(u32, u32) -> Option<u32>,
    ) -> Result<(), Stopped> {
        let facts = self.facts;
        let writers = self.writers_in_order(witness);
        for node in self.readers(witness, readers) {
            self.ask(node as usize)?;
            for read in facts.reads_of(node) {
                let key = facts.reads()[read].key;
                let Some(until) = until(node, key) else { continue };
                let source = witness.position[witness.source[read] as usize];
                let end = witness.position[until as usize] + u32::from(until != node);
                let of_key = writers.of(key);
                let is_last = of_key.last().is_none_or(|&last| witness.position[last as usize] <= source);
                if is_last {
                    continue;
                }
                let first = of_key[writers.place(key, source + 1)];
                if witness.position[first as usize] < end {
                    hits.push(Hit { read: read as u32, rival: first, part });
                }
            }
        }
        Ok(())
    }

    /// The first writer after the source in the prefix that a reader sees.
    fn prefix(
        &self,
        witness: &Witness,
        leads: (bool, bool, bool),
        of: Of<'_>,
        hits: &mut Vec<Hit>,
    ) -> Result<(), Stopped> {
        let (facts, position) = (self.facts, |node: &u32| witness.position[*node as usize]);
        let (session, reads_from, conflicts) = leads;
        let writers = self.writers_in_order(witness);
        let mut last = vec![INITIAL; facts.node_count()];
        let mut of_session = INITIAL;
        for node in (1..facts.node_count() as u32).filter(|&node| witness.has(node)) {
            self.ask(node as usize)?;
            let before = Some(of_session).filter(|&before| session && facts.is_session_before(before, node));
            let sources = facts.reads_of(node).filter(|_| reads_from).map(|read| witness.source[read]);
            let written = facts.written(node).iter().filter(|_| conflicts);
            let rivals = written.filter_map(|&key| {
                let place = writers.place(key, position(&node));
                writers.of(key)[..place].last().copied()
            });
            last[node as usize] =
                before.into_iter().chain(sources).chain(rivals).max_by_key(position).unwrap_or(INITIAL);
            let is_first = !facts.is_session_before(of_session, node) || of_session == INITIAL;
            if is_first || position(&of_session) < position(&node) {
                of_session = node;
            }
        }
        self.first_until(witness, of, hits, |node, _| Some(last[node as usize]))
    }

    /// Writers between source and reader that write a key of the reader too.
    fn conflicts(
        &self,
        witness: &Witness,
        (part, readers): Of<'_>,
        hits: &mut Vec<Hit>,
    ) -> Result<(), Stopped> {
        let facts = self.facts;
        let writers = self.writers_in_order(witness);
        let mut stamp = vec![0u32; facts.key_count()];
        for node in self.readers(witness, readers) {
            self.ask(node as usize)?;
            let written = facts.written(node);
            if written.is_empty() {
                continue;
            }
            written.iter().for_each(|&key| stamp[key as usize] = node);
            for read in facts.reads_of(node) {
                let key = facts.reads()[read].key;
                let source = witness.position[witness.source[read] as usize];
                let first = writers.place(key, source + 1);
                let end = writers.place(key, witness.position[node as usize]).max(first);
                let meets = |rival: u32| facts.written(rival).iter().any(|&key| stamp[key as usize] == node);
                let mut between = writers.of(key)[first..end].iter().rev().copied();
                if let Some(rival) = between.find(|&rival| meets(rival)) {
                    hits.push(Hit { read: read as u32, rival, part });
                }
            }
        }
        Ok(())
    }

    /// The writers of each key that are in the order, in its order.
    fn writers_in_order(&self, witness: &Witness) -> Writers {
        let facts = self.facts;
        let mut start = vec![0u32; facts.key_count() + 1];
        for &node in &witness.order[1..] {
            facts.written(node).iter().for_each(|&key| start[key as usize + 1] += 1);
        }
        for key in 0..facts.key_count() {
            start[key + 1] += start[key];
        }
        let mut next = start.clone();
        let count = start[facts.key_count()] as usize;
        let (mut nodes, mut positions) = (vec![0; count], vec![0; count]);
        for (position, &node) in witness.order.iter().enumerate().skip(1) {
            for &key in facts.written(node) {
                let place = &mut next[key as usize];
                nodes[*place as usize] = node;
                positions[*place as usize] = position as u32;
                *place += 1;
            }
        }
        Writers { start, nodes, positions }
    }

    /// The same for some keys: the others have no writers. The writers of a key are sorted, so that those of other keys
    /// are not touched.
    fn some_writers_in_order(&self, witness: &Witness, is_wanted: &[bool]) -> Writers {
        let mut writers = Writers { start: Vec::with_capacity(is_wanted.len() + 1), ..Writers::default() };
        writers.start.push(0);
        let mut of_key: Vec<(u32, u32)> = Vec::new();
        for (key, &is_wanted) in is_wanted.iter().enumerate() {
            if is_wanted {
                let there = self.facts.writers(key as u32).iter().filter(|&&writer| witness.has(writer));
                of_key.clear();
                of_key.extend(there.map(|&writer| (witness.position[writer as usize], writer)));
                of_key.sort_unstable_by_key(|&(position, _)| position);
                writers.nodes.extend(of_key.iter().map(|&(_, writer)| writer));
                writers.positions.extend(of_key.iter().map(|&(position, _)| position));
            }
            writers.start.push(writers.nodes.len() as u32);
        }
        writers
    }
}

/// The number of a part, and the readers for which it counts.
type Of<'m> = (u32, &'m Mask);

/// The writers of each key in the order.
#[derive(Debug, Default)]
pub(super) struct Writers {
    start: Vec<u32>,
    nodes: Vec<u32>,
    /// The position of each.
    positions: Vec<u32>,
}

impl Writers {
    fn range(&self, key: u32) -> std::ops::Range<usize> {
        self.start[key as usize] as usize..self.start[key as usize + 1] as usize
    }

    pub(super) fn of(&self, key: u32) -> &[u32] {
        &self.nodes[self.range(key)]
    }

    /// How many of the first `end` writers of a key stand before a position or at it, which is likely near the end.
    fn place_back(&self, key: u32, end: u32, position: u32) -> u32 {
        let positions = &self.positions[self.range(key)][..end as usize];
        let mut step = 1;
        while step < positions.len() && positions[positions.len() - step] > position {
            step *= 2;
        }
        let start = positions.len().saturating_sub(step);
        let end = positions.len() - step / 2;
        (start + positions[start..end].partition_point(|&writer| writer <= position)) as u32
    }

    /// How many writers of a key stand before a position.
    pub(super) fn place(&self, key: u32, position: u32) -> usize {
        self.positions[self.range(key)].partition_point(|&writer| writer < position)
    }
}

#[cfg(test)]
mod tests;
