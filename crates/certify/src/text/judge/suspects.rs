//! Reads that can have a hit at all.
//!
//! A visible writer after the source stands between source and reader, if sources and earlier transactions of a session
//! stand before each reader, as most levels demand of their order. One pass along the order finds the reads that have a
//! writer of their key there: in a good order few, so what is visible is looked up for these alone.

use super::{Facts, Hit, INITIAL, Judge, Mask, Of, Part, Stopped, Witness, Writers};

/// A read with a writer of its key between source and reader.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspect {
    pub read: u32,
    pub reader: u32,
    /// How many writers of the key stand before the reader.
    pub passed: u32,
}

/// All of them, in the order of their readers.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    pub all: Vec<Suspect>,
    /// The writers of each key in the order.
    pub writers: Writers,
    /// Whether a source or an earlier transaction of the session stands after a reader, so that others may have hits.
    pub has_inversion: bool,
}

/// So many writers are looked at for each suspect, in the mean.
const FEW_WRITERS: usize = 16;

/// Whether only suspects can have hits by this part.
pub(super) fn asks_suspects(part: &Part) -> bool {
    match part {
        Part::Earlier | Part::Session | Part::ReadsFrom | Part::SessionOfSource => true,
        Part::Steps(steps) => steps.has_clocks(),
        _ => false,
    }
}

impl Judge<'_> {
    pub(super) fn suspects(&self, witness: &Witness) -> Result<Suspects, Stopped> {
        let (facts, position) = (self.facts, &witness.position);
        let mut passed = vec![(0u32, INITIAL); facts.key_count()];
        let mut suspects = Suspects { writers: self.writers_in_order(witness), ..Suspects::default() };
        for (place, &reader) in witness.order.iter().enumerate().skip(1) {
            self.ask(place)?;
            for read in facts.reads_of(reader) {
                let (source, (passed, last)) =
                    (witness.source[read], passed[facts.reads()[read].key as usize]);
                if last == source {
                    continue;
                }
                suspects.has_inversion |= position[source as usize] > place as u32;
                if passed > 0 {
                    suspects.all.push(Suspect { read: read as u32, reader, passed });
                }
            }
            let before = (facts.session_start(reader)..reader).rev().find(|&before| witness.has(before));
            suspects.has_inversion |= before.is_some_and(|before| position[before as usize] > place as u32);
            for &key in facts.written(reader) {
                let entry = &mut passed[key as usize];
                *entry = (entry.0 + 1, reader);
            }
        }
        Ok(suspects)
    }
}

/// A reader with more suspects than this is left to the stamps of its keys.
const FEW_SUSPECTS: usize = 32;

impl Judge<'_> {
    /// Adds the hits of suspects by what their readers read from, before the suspect itself or at all, and gives back the
    /// readers that are left: those with many suspects, or all of them where others may have hits too. Most readers have
    /// no suspect or one, and of its key a few of the sources are asked for; the stamps of `judge.rs` go through all that
    /// the sources write.
    pub(super) fn by_sources(
        &self,
        witness: &Witness,
        suspects: &Suspects,
        (part, readers): Of<'_>,
        is_earlier: bool,
        hits: &mut Vec<Hit>,
    ) -> Result<Vec<u32>, Stopped> {
        if suspects.has_inversion {
            return Ok(suspects.readers(self.facts, witness, readers));
        }
        let mut rest = Vec::new();
        let mut found: Vec<FoundHit> = Vec::new();
        for (place, group) in suspects.all.chunk_by(|one, other| one.reader == other.reader).enumerate() {
            self.ask(place)?;
            let reader = group[0].reader;
            if !self.facts.is_in(reader, readers) {
                continue;
            }
            if group.len() > FEW_SUSPECTS {
                rest.push(reader);
                continue;
            }
            self.find_by_sources(witness, group, is_earlier, &mut found);
            // Of a key the read with the earliest source says most.
            found.sort_unstable();
            found.dedup_by_key(|hit| (hit.rival, hit.key));
            hits.extend(found.drain(..).map(|hit| Hit { read: hit.read, rival: hit.rival, part }));
        }
        rest.sort_unstable();
        Ok(rest)
    }

    fn find_by_sources(
        &self,
        witness: &Witness,
        group: &[Suspect],
        is_earlier: bool,
        found: &mut Vec<FoundHit>,
    ) {
        let (facts, position) = (self.facts, &witness.position);
        let reads = facts.reads_of(group[0].reader);
        let sources = &witness.source[reads.clone()];
        for (place, &rival) in sources.iter().enumerate() {
            if rival == INITIAL || sources[..place].contains(&rival) {
                continue;
            }
            let first = facts.reads()[reads.start + place].op;
            for suspect in group {
                let read = facts.reads()[suspect.read as usize];
                let source = position[witness.source[suspect.read as usize] as usize];
                let may_see = !is_earlier || read.op > first;
                if may_see && source < position[rival as usize] && facts.writes(rival, read.key) {
                    // Of several reads from the earliest source the same one is named as by stamps.
                    let turn = if is_earlier { u32::MAX - suspect.read } else { suspect.read };
                    found.push(FoundHit { rival, key: read.key, source, turn, read: suspect.read });
                }
            }
        }
    }
}

/// A hit of a reader: in this order, so that of a rival and a key the one to keep is first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FoundHit {
    rival: u32,
    key: u32,
    source: u32,
    turn: u32,
    read: u32,
}

impl Suspects {
    /// The nodes for which a part counts and whose reads can have a hit by what they read from.
    pub(super) fn readers(&self, facts: &Facts, witness: &Witness, readers: &Mask) -> Vec<u32> {
        let mut nodes: Vec<u32> = match self.has_inversion {
            true => (1..facts.node_count() as u32).filter(|&node| witness.has(node)).collect(),
            false => self.all.iter().map(|suspect| suspect.reader).collect(),
        };
        nodes.retain(|&node| facts.is_in(node, readers));
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// (reader, read) for all reads that can have a hit by a part that counts for these readers; those of a reader stand
    /// together.
    pub(super) fn reads(&self, facts: &Facts, witness: &Witness, readers: &Mask) -> Vec<(u32, u32)> {
        if self.has_inversion {
            let nodes = (1..facts.node_count() as u32).filter(|&node| witness.has(node));
            let nodes = nodes.filter(|&node| facts.is_in(node, readers));
            return nodes
                .flat_map(|node| facts.reads_of(node).map(move |read| (node, read as u32)))
                .collect();
        }
        let suspects = self.all.iter().filter(|suspect| facts.is_in(suspect.reader, readers));
        suspects.map(|suspect| (suspect.reader, suspect.read)).collect()
    }

    /// The hits by what stands earlier in the session: of each suspect the last writer; nothing if it takes long to find
    /// them this way.
    pub(super) fn in_session(
        &self,
        facts: &Facts,
        witness: &Witness,
        (part, readers): Of<'_>,
    ) -> Option<Vec<Hit>> {
        let mut left = (self.all.len() + facts.node_count()) * FEW_WRITERS;
        let mut hits = Vec::new();
        if self.has_inversion {
            return None;
        }
        for suspect in self.all.iter().filter(|suspect| facts.is_in(suspect.reader, readers)) {
            let source = witness.position[witness.source[suspect.read as usize] as usize];
            let earlier =
                &self.writers.of(facts.reads()[suspect.read as usize].key)[..suspect.passed as usize];
            let later =
                earlier.iter().rev().take_while(|&&writer| witness.position[writer as usize] > source);
            for &rival in later {
                left = left.checked_sub(1)?;
                if facts.is_session_before(rival, suspect.reader) {
                    hits.push(Hit { read: suspect.read, rival, part });
                    break;
                }
            }
        }
        Some(hits)
    }
}
