//! What sessions hand on: the parts `reads_from ; session` and `session ; reads_from`.
//!
//! A transaction sees the sources of earlier transactions of its session (monotonic reads): session by session, with the
//! last of these sources in the order for each key that they write, O(reads times keys of a source). A transaction sees
//! what the sessions of its sources wrote before them (monotonic writes): the last such writer of a key is found in the
//! writers of the key, which are sorted by session, O(reads times sources, log writers each).
//!
//! As matrices of all pairs they ended at 32,767 transactions.

use super::{Hit, Judge, Of, Stopped, Witness};
use crate::text::facts::INITIAL;

impl Judge<'_> {
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
        Ok(())
    }

    /// The last writer of the key before a source, in the session of the source. Session order is in the order, so no
    /// earlier one stands after it.
    pub(super) fn session_of_source(
        &self,
        witness: &Witness,
        (part, readers): Of<'_>,
        hits: &mut Vec<Hit>,
    ) -> Result<(), Stopped> {
        let (facts, position) = (self.facts, &witness.position);
        let mut sources: Vec<u32> = Vec::new();
        for node in self.readers(witness, readers) {
            self.ask(node as usize)?;
            sources.clear();
            sources.extend(facts.reads_of(node).map(|read| witness.source[read]));
            sources.sort_unstable();
            sources.dedup();
            for read in facts.reads_of(node) {
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
