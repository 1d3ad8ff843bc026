//! What sessions hand on: the parts `reads_from ; session`, `session ; reads_from` and `reads_from ; session? ; reads_from`.
//!
//! A transaction sees the sources of earlier transactions of its session (monotonic reads): session by session, with the
//! last of these sources in the order for each key that they write, O(reads times keys of a source). A transaction sees
//! what the sessions of its sources wrote before them (monotonic writes): the last such writer of a key is found in the
//! writers of the key, which are sorted by session, O(suspect reads times sources, log writers each).
//!
//! A transaction sees what its sources, and the sessions of these before them, had read (writes follow reads): as for
//! monotonic reads, and what is known at a source is met with the reads of all that read from it, O(reads times sources
//! of their reader).
//!
//! As matrices of all pairs they ended at 32,767 transactions.

use super::suspects::Suspects;
use super::{Hit, Judge, Of, Stopped, Witness};
use crate::text::facts::INITIAL;

impl Judge<'_, '_> {
    /// The source that stands last in the order, of all that earlier transactions of the session read from and that wrote
    /// the key.
    pub(super) fn seen_in_session(
        &self,
        witness: &Witness,
        (part, readers): Of<'_>,
        hits: &mut Vec<Hit>,
    ) -> Result<(), Stopped> {
        let (facts, position) = (self.facts, &witness.position);
        let mut last: Vec<(u32, u32)> = vec![(0, INITIAL); facts.key_count()];
        for node in (1..facts.node_count() as u32).filter(|&node| witness.has(node)) {
            self.ask(node as usize)?;
            let session = facts.session_start(node);
            let reads = if facts.is_in(node, readers) { facts.reads_of(node) } else { 0..0 };
            for read in reads {
                let (of, seen) = last[facts.reads()[read].key as usize];
                let source = witness.source[read];
                if of == session && position[seen as usize] > position[source as usize] {
                    hits.push(Hit { read: read as u32, rival: seen, part });
                }
            }
            self.note_sources(witness, node, &mut last);
        }
        Ok(())
    }

    /// The transaction that stands last in the order, of all that a source or an earlier one of its session had read from
    /// and that wrote the key.
    pub(super) fn seen_by_source(
        &self,
        witness: &Witness,
        (part, readers): Of<'_>,
        hits: &mut Vec<Hit>,
    ) -> Result<(), Stopped> {
        let (facts, position) = (self.facts, &witness.position);
        let mut asking: Vec<(u32, u32)> = Vec::new();
        for node in self.readers(witness, readers) {
            let sources = facts.reads_of(node).map(|read| witness.source[read]);
            asking.extend(sources.filter(|&source| source != INITIAL).map(|source| (source, node)));
        }
        asking.sort_unstable();
        asking.dedup();
        let mut asking = asking.into_iter().peekable();
        let mut last: Vec<(u32, u32)> = vec![(0, INITIAL); facts.key_count()];
        for node in (1..facts.node_count() as u32).filter(|&node| witness.has(node)) {
            self.ask(node as usize)?;
            let session = facts.session_start(node);
            self.note_sources(witness, node, &mut last);
            while let Some((_, reader)) = asking.next_if(|&(source, _)| source == node) {
                for read in facts.reads_of(reader) {
                    let (of, seen) = last[facts.reads()[read].key as usize];
                    let source = witness.source[read];
                    if of == session && position[seen as usize] > position[source as usize] {
                        hits.push(Hit { read: read as u32, rival: seen, part });
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes for each key that a source of the node wrote the source that stands last, of all in the node's session.
    fn note_sources(&self, witness: &Witness, node: u32, last: &mut [(u32, u32)]) {
        let (facts, position) = (self.facts, &witness.position);
        let session = facts.session_start(node);
        let sources = &witness.source[facts.reads_of(node)];
        for (place, &source) in sources.iter().enumerate() {
            if source == INITIAL || sources[..place].contains(&source) {
                continue;
            }
            for &key in facts.written(source) {
                let entry = &mut last[key as usize];
                if entry.0 != session || position[entry.1 as usize] < position[source as usize] {
                    *entry = (session, source);
                }
            }
        }
    }

    /// The last writer of the key before a source, in the session of the source. Session order is in the order, so no
    /// earlier one stands after it.
    pub(super) fn session_of_source(
        &self,
        witness: &Witness,
        suspects: &Suspects,
        (part, readers): Of<'_>,
        hits: &mut Vec<Hit>,
    ) -> Result<(), Stopped> {
        let (facts, position) = (self.facts, &witness.position);
        let mut sources: Vec<u32> = Vec::new();
        let all = suspects.reads(facts, witness, readers);
        for same in all.chunk_by(|(one, _), (other, _)| one == other) {
            let node = same[0].0;
            self.ask(node as usize)?;
            sources.clear();
            sources.extend(facts.reads_of(node).map(|read| witness.source[read]));
            sources.sort_unstable();
            sources.dedup();
            for read in same.iter().map(|&(_, read)| read as usize) {
                let writers = facts.writers(facts.reads()[read].key);
                let from = position[witness.source[read] as usize];
                for &source in sources.iter().filter(|&&source| position[source as usize] > from) {
                    let end = writers.partition_point(|&writer| writer < source);
                    let start = facts.session_start(source);
                    let earlier = writers[..end].iter().rev().take_while(|&&writer| writer >= start);
                    let last = earlier.copied().find(|&writer| witness.has(writer));
                    if let Some(rival) = last.filter(|&rival| position[rival as usize] > from) {
                        hits.push(Hit { read: read as u32, rival, part });
                    }
                }
            }
        }
        Ok(())
    }
}
