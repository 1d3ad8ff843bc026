//! Visible writers by steps of sessions, reads and conflicts.
//!
//! Suspects (`suspects.rs`) whose surroundings in the order are small are decided by `nearby.rs`. For the others there are
//! clocks: the last node seen of each session, computed
//! along the order for 64 sessions at a time, so that memory does not grow with the number of sessions: O(n k).

use super::nearby::Nearby;
use super::suspects::{Suspect, Suspects};
use super::{ABSENT, Facts, Hit, INITIAL, Judge, Of, Steps, Stopped, Witness, Writers};

/// With more writers than this between source and reader, the last one of each session is looked up instead.
const FEW_WRITERS: usize = 64;

/// How many sessions have their clocks computed at a time.
const BLOCK: usize = 64;

impl Judge<'_, '_> {
    pub(super) fn steps(
        &self,
        witness: &Witness,
        suspects: &Suspects,
        steps: Steps,
        (part, readers): Of<'_>,
        hits: &mut Vec<Hit>,
    ) -> Result<(), Stopped> {
        let walk = Walk { facts: self.facts, witness, writers: &suspects.writers, steps };
        let is_asked = |suspect: &&Suspect| self.facts.is_in(suspect.reader, readers);
        let mut suspects: Vec<Suspect> = suspects.all.iter().filter(is_asked).copied().collect();
        if suspects.len() <= Nearby::most_suspects(&walk) {
            Nearby::new(&walk).take_decided(&mut suspects, part, hits);
        }
        self.by_clocks(&walk, &suspects, part, hits)
    }

    /// Hits of some suspects, which are in the order of their readers, by clocks.
    pub(super) fn by_clocks(
        &self,
        walk: &Walk<'_>,
        suspects: &[Suspect],
        part: u32,
        hits: &mut Vec<Hit>,
    ) -> Result<(), Stopped> {
        let Some(last) = suspects.last() else { return Ok(()) };
        let until = walk.witness.position[last.reader as usize] as usize;
        let sessions = self.sessions();
        let block_count = sessions.len().div_ceil(BLOCK).max(1);
        for block in sessions.chunks(sessions.len().div_ceil(block_count).max(1)) {
            let mut clocks = Clocks::new(self.facts, block);
            let mut open = suspects.iter().peekable();
            for (place, &node) in walk.witness.order[..=until].iter().enumerate().skip(1) {
                self.ask(place)?;
                walk.for_each_before(node, &mut |before| clocks.join(node, before));
                while let Some(suspect) = open.next_if(|suspect| suspect.reader == node) {
                    walk.look_back(&clocks, suspect, part, hits);
                }
            }
        }
        Ok(())
    }

    /// The first nodes of the sessions.
    fn sessions(&self) -> Vec<u32> {
        let nodes = 1..self.facts.node_count() as u32;
        nodes.filter(|&node| self.facts.session_start(node) == node).collect()
    }
}

/// What leads from node to node.
pub(super) struct Walk<'w> {
    pub facts: &'w Facts,
    pub witness: &'w Witness,
    pub writers: &'w Writers,
    pub steps: Steps,
}

impl Walk<'_> {
    /// Calls `visit` with the nodes that are one step before a node; with some of them more than once.
    pub(super) fn for_each_before(&self, node: u32, visit: &mut dyn FnMut(u32)) {
        let (facts, witness) = (self.facts, self.witness);
        let start = facts.session_start(node);
        if let Some(before) = (start..node).rev().find(|&before| witness.has(before)) {
            visit(before);
        }
        if self.steps.reads_from {
            let mut last = INITIAL;
            for read in facts.reads_of(node) {
                let source = witness.source[read];
                if source != INITIAL && source != last {
                    visit(source);
                    last = source;
                }
            }
        }
        if self.steps.conflicts {
            for &key in facts.written(node) {
                let place = self.writers.place(key, witness.position[node as usize]);
                if place > 0 {
                    visit(self.writers.of(key)[place - 1]);
                }
            }
        }
    }

    /// The writers of a suspect's key that stand between source and reader, the last one first.
    pub(super) fn rivals(&self, suspect: &Suspect) -> impl Iterator<Item = u32> + Clone {
        suspect.rivals(self.writers, self.key(suspect)).iter().rev().copied()
    }

    fn key(&self, suspect: &Suspect) -> u32 {
        self.facts.reads()[suspect.read as usize].key
    }

    /// Whether there are so many rivals that they are not looked at one by one.
    fn has_many_rivals(&self, suspect: &Suspect) -> bool {
        suspect.rival_count() > FEW_WRITERS
    }

    /// Adds the rivals that were seen. Of a session the last one says most, since session order puts the others before it.
    pub(super) fn add_seen(
        &self,
        suspect: &Suspect,
        part: u32,
        hits: &mut Vec<Hit>,
        is_seen: impl Fn(u32) -> bool,
    ) {
        let mut seen_of = ABSENT;
        for rival in self.rivals(suspect).filter(|&rival| is_seen(rival)) {
            let session = self.facts.session_start(rival);
            if session != seen_of {
                hits.push(Hit { read: suspect.read, rival, part });
                seen_of = session;
            }
        }
    }

    /// Adds the rivals that the clock of the reader shows.
    fn look_back(&self, clocks: &Clocks, suspect: &Suspect, part: u32, hits: &mut Vec<Hit>) {
        if !self.has_many_rivals(suspect) {
            return self.add_seen(suspect, part, hits, |rival| clocks.has_seen(suspect.reader, rival));
        }
        let (position, source) = (&self.witness.position, self.witness.source[suspect.read as usize]);
        let is_later =
            |rival: &u32| self.witness.has(*rival) && position[*rival as usize] > position[source as usize];
        let seen = clocks.last_seen_writers(self.facts, suspect.reader, self.key(suspect));
        hits.extend(seen.filter(is_later).map(|rival| Hit { read: suspect.read, rival, part }));
    }
}

/// For each node and each session of a block, one more than the last node of the session that it has seen.
struct Clocks {
    width: usize,
    seen: Vec<u32>,
    /// For each node the place of its session in the block, or `ABSENT`.
    column: Vec<u32>,
}

impl Clocks {
    fn new(facts: &Facts, block: &[u32]) -> Self {
        let column = (0..facts.node_count() as u32).map(|node| {
            let place = block.binary_search(&facts.session_start(node));
            place.map_or(ABSENT, |place| place as u32)
        });
        Self { width: block.len(), seen: vec![0; block.len() * facts.node_count()], column: column.collect() }
    }

    fn join(&mut self, node: u32, before: u32) {
        // A transaction that has seen another has seen all that the other saw.
        if self.has_seen(node, before) {
            return;
        }
        let width = self.width;
        let (node, before) = (node as usize, before as usize);
        let (from, to) = (before * width, node * width);
        if from < to {
            let (left, right) = self.seen.split_at_mut(to);
            raise(&mut right[..width], &left[from..from + width]);
        } else {
            let (left, right) = self.seen.split_at_mut(from);
            raise(&mut left[to..to + width], &right[..width]);
        }
        let column = self.column[before];
        if column != ABSENT {
            let entry = &mut self.seen[to + column as usize];
            *entry = (*entry).max(before as u32 + 1);
        }
    }

    /// The last writer of a key in each session of the block that a node has seen.
    fn last_seen_writers<'f>(&'f self, facts: &'f Facts, node: u32, key: u32) -> impl Iterator<Item = u32> {
        let writers = facts.writers(key);
        let seen = &self.seen[node as usize * self.width..(node as usize + 1) * self.width];
        seen.iter().filter(|&&end| end > 0).filter_map(move |&end| {
            let place = writers.partition_point(|&writer| writer < end);
            let last = *writers[..place].last()?;
            (facts.session_start(last) == facts.session_start(end - 1)).then_some(last)
        })
    }

    #[inline]
    fn has_seen(&self, node: u32, writer: u32) -> bool {
        let column = self.column[writer as usize];
        column != ABSENT && self.seen[node as usize * self.width + column as usize] > writer
    }
}

fn raise(to: &mut [u32], from: &[u32]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = (*to).max(from);
    }
}
