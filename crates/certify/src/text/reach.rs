//! Which writers reach a reader by steps that clocks cannot follow: without session order, or with real time.
//!
//! All steps go forward in the order, so a bit for each of 64 writers is carried from the first of them to the last of
//! their readers. Writers are grouped by how far away their readers are, so that a few long ways do not make all passes
//! long. Where the order of conflicting writers is among the steps, the writer after the source reaches every later one
//! of the key, so it alone is asked for. O(n log n) for each pass with real time, whose prefixes a tree of unions holds.

use super::facts::{Facts, INITIAL, Mask, Timeline};
use super::judge::{Hit, Stopped, Witness, Writers};
use super::plan::Steps;

/// A read, a writer that stands between its source and its reader, and the positions of writer and reader.
#[derive(Clone, Copy)]
struct Candidate {
    read: u32,
    rival: u32,
    from: u32,
    to: u32,
}

/// What a pass needs.
pub(super) struct Reach<'a> {
    pub facts: &'a Facts,
    pub witness: &'a Witness,
    pub writers: &'a Writers,
    pub steps: Steps,
    pub stop: &'a dyn Fn() -> bool,
}

impl Reach<'_> {
    pub fn hits(&self, (part, readers): (u32, &Mask), hits: &mut Vec<Hit>) -> Result<(), Stopped> {
        let mut candidates = self.candidates(readers);
        let distance = |candidate: &Candidate| (candidate.to - candidate.from).ilog2();
        candidates.sort_unstable_by_key(|candidate| (distance(candidate), candidate.from, candidate.read));
        let mut bits = vec![0u64; self.facts.node_count()];
        let mut prefixes = Prefixes::new(if self.steps.real_time { self.facts.timeline().len() } else { 0 });
        let mut start = 0;
        while start < candidates.len() {
            if (self.stop)() {
                return Err(Stopped);
            }
            let end = block_end(&candidates, start, &distance);
            let block = &candidates[start..end];
            self.pass(block, &mut bits, &mut prefixes, |candidate| {
                hits.push(Hit { read: candidate.read, rival: candidate.rival, part });
            });
            start = end;
        }
        Ok(())
    }

    fn candidates(&self, readers: &Mask) -> Vec<Candidate> {
        let (facts, position) = (self.facts, &self.witness.position);
        let mut candidates = Vec::new();
        for &node in self.witness.order[1..].iter().filter(|&&node| facts.is_in(node, readers)) {
            let to = position[node as usize];
            for read in facts.reads_of(node) {
                let key = facts.reads()[read].key;
                let source = position[self.witness.source[read] as usize];
                let of_key = self.writers.of(key);
                if of_key.last().is_none_or(|&last| position[last as usize] <= source) {
                    continue;
                }
                let first = self.writers.place(key, source + 1);
                let later = of_key[first..].iter().take_while(|&&rival| position[rival as usize] < to);
                let most = if self.steps.conflicts { 1 } else { usize::MAX };
                candidates.extend(later.take(most).map(|&rival| {
                    let from = position[rival as usize];
                    Candidate { read: read as u32, rival, from, to }
                }));
            }
        }
        candidates
    }

    /// Carries the bits of the writers of a block to their readers.
    fn pass(
        &self,
        block: &[Candidate],
        bits: &mut [u64],
        prefixes: &mut Prefixes,
        mut hit: impl FnMut(&Candidate),
    ) {
        let (first, last) = (block[0].from, block.iter().map(|candidate| candidate.to).max().unwrap_or(0));
        let order = &self.witness.order[first as usize..=last as usize];
        let mut rivals = Vec::with_capacity(64);
        for candidate in block {
            if rivals.last() != Some(&candidate.rival) {
                rivals.push(candidate.rival);
            }
        }
        let mut next = 0;
        for &node in order {
            bits[node as usize] = self.reached(node, first, bits, prefixes);
            if rivals.get(next) == Some(&node) {
                // A writer reaches others, not itself; its bit is what its successors take over.
                next += 1;
            }
            let own = rivals[..next].iter().rposition(|&rival| rival == node).map_or(0, |place| 1 << place);
            self.answer(block, &rivals, node, bits[node as usize], &mut hit);
            bits[node as usize] |= own;
            if let Some(place) = self.ended_place(node) {
                prefixes.add(place, bits[node as usize]);
            }
        }
        for &node in order {
            bits[node as usize] = 0;
            if let Some(place) = self.ended_place(node) {
                prefixes.clear(place);
            }
        }
    }

    fn ended_place(&self, node: u32) -> Option<usize> {
        if self.steps.real_time { self.facts.timeline().place(node) } else { None }
    }

    fn answer(
        &self,
        block: &[Candidate],
        rivals: &[u32],
        node: u32,
        reached: u64,
        hit: &mut impl FnMut(&Candidate),
    ) {
        if reached == 0 {
            return;
        }
        let to = self.witness.position[node as usize];
        for candidate in block.iter().filter(|candidate| candidate.to == to) {
            let place = rivals.iter().position(|&rival| rival == candidate.rival);
            if place.is_some_and(|place| reached >> place & 1 == 1) {
                hit(candidate);
            }
        }
    }

    /// The bits of everything from which a step leads to a node.
    fn reached(&self, node: u32, first: u32, bits: &[u64], prefixes: &Prefixes) -> u64 {
        let (facts, witness) = (self.facts, self.witness);
        let of = |other: u32| {
            let is_inside = other != INITIAL && witness.position[other as usize] >= first;
            if is_inside { bits[other as usize] } else { 0 }
        };
        let mut reached = 0;
        if self.steps.session {
            let before = (facts.session_start(node)..node).rev().find(|&before| witness.has(before));
            reached |= before.map_or(0, of);
        }
        if self.steps.reads_from {
            facts.reads_of(node).for_each(|read| reached |= of(witness.source[read]));
        }
        if self.steps.conflicts {
            for &key in facts.written(node) {
                let place = self.writers.place(key, witness.position[node as usize]);
                reached |= self.writers.of(key)[..place].last().map_or(0, |&last| of(last));
            }
        }
        if self.steps.real_time {
            let timeline = facts.timeline();
            reached |= prefixes.first(timeline.ended_before(facts, node));
            Timeline::directly_before_in_session(facts, node, &mut |before| reached |= of(before));
        }
        reached
    }
}

/// Where a block ends that begins here: with 64 writers, or where readers are farther away.
fn block_end(candidates: &[Candidate], start: usize, distance: &impl Fn(&Candidate) -> u32) -> usize {
    let class = distance(&candidates[start]);
    let mut count = 1;
    let mut end = start + 1;
    while end < candidates.len() && distance(&candidates[end]) == class {
        if candidates[end].rival != candidates[end - 1].rival {
            if count == 64 {
                break;
            }
            count += 1;
        }
        end += 1;
    }
    end
}

/// Unions of prefixes, by a tree (Fenwick 1994).
struct Prefixes {
    tree: Vec<u64>,
}

impl Prefixes {
    fn new(count: usize) -> Self {
        Self { tree: vec![0; count + 1] }
    }

    fn add(&mut self, place: usize, bits: u64) {
        let mut at = place + 1;
        while at < self.tree.len() && bits != 0 {
            self.tree[at] |= bits;
            at += at & at.wrapping_neg();
        }
    }

    /// Forgets everything that was added at a place; all others have to be forgotten too.
    fn clear(&mut self, place: usize) {
        let mut at = place + 1;
        while at < self.tree.len() {
            self.tree[at] = 0;
            at += at & at.wrapping_neg();
        }
    }

    /// The union of the first ones.
    fn first(&self, count: usize) -> u64 {
        let mut at = count;
        let mut bits = 0;
        while at > 0 {
            bits |= self.tree[at];
            at -= at & at.wrapping_neg();
        }
        bits
    }
}
