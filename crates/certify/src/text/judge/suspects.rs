//! Reads that can have a hit at all.
//!
//! A visible writer after the source stands between source and reader, if sources and earlier transactions of a session
//! stand before each reader, as most levels demand of their order. One pass along the order finds the reads that have a
//! writer of their key there: in a good order few, so what is visible is looked up for these alone.

use std::cell::Cell;

use history::OpId;

use super::super::facts::Read;
use super::{Facts, Hit, INITIAL, Judge, Mask, Of, Part, Plan, Stopped, Witness, Writers};

/// A read with a writer of its key between source and reader.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspect {
    pub read: u32,
    pub reader: u32,
    /// How many writers of the key stand before the source, with it.
    from: u32,
    /// How many writers of the key stand before the reader.
    passed: u32,
}

impl Suspect {
    /// How many writers of the key stand between source and reader.
    pub(super) fn rival_count(&self) -> usize {
        self.passed.saturating_sub(self.from) as usize
    }

    /// The writers of the key that stand between source and reader.
    pub(super) fn rivals<'w>(&self, writers: &'w Writers, key: u32) -> &'w [u32] {
        &writers.of(key)[self.from.min(self.passed) as usize..self.passed as usize]
    }
}

/// All of them, in the order of their readers.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    pub all: Vec<Suspect>,
    /// The writers of each key in the order.
    pub writers: Writers,
    /// Whether a source or an earlier transaction of the session stands after a reader, so that others may have hits.
    pub has_inversion: bool,
    /// Whether of some suspects not all hits were named that do not follow from others along every order.
    pub names_some: Cell<bool>,
}

/// An order along which hits were looked for.
#[derive(Debug)]
pub struct Looked {
    position: Vec<u32>,
    writers: Writers,
}

impl Looked {
    /// For each key whether its writers stood in the same order.
    fn unchanged_keys(&self, writers: &Writers) -> Vec<bool> {
        (0..writers.start.len() as u32 - 1).map(|key| self.writers.of(key) == writers.of(key)).collect()
    }

    /// Whether the writers that stand between source and reader now stood there along this order too.
    fn has(&self, suspect: &Suspect, is_unchanged: bool, source: u32, rivals: &[u32]) -> bool {
        let position = |node: u32| self.position[node as usize];
        let between = position(source) + 1..position(suspect.reader);
        let was_between = |&rival: &u32| between.contains(&position(rival));
        match rivals {
            [] => true,
            [first, .., last] if is_unchanged => was_between(first) && was_between(last),
            rivals => rivals.len() <= FEW_RIVALS && rivals.iter().all(was_between),
        }
    }
}

/// More writers than this between source and reader are not compared with those along an earlier order one by one.
const FEW_RIVALS: usize = 64;

/// So many writers are looked at for each suspect, in the mean.
const FEW_WRITERS: usize = 16;

/// Whether the rivals of suspects are gone through by this part; by others the sources of their readers are.
fn asks_rivals(part: &Part) -> bool {
    matches!(part, Part::Session | Part::Steps(_))
}

/// Whether only suspects can have hits by this part.
pub(super) fn asks_suspects(part: &Part) -> bool {
    match part {
        Part::Earlier | Part::Session | Part::ReadsFrom | Part::SessionOfSource => true,
        Part::Steps(steps) => steps.has_clocks(),
        _ => false,
    }
}

impl Judge<'_, '_> {
    /// The suspects along an order, without those whose hits were all looked for along an earlier one.
    pub(super) fn suspects(&self, witness: &Witness, looked: Option<&Looked>) -> Result<Suspects, Stopped> {
        let facts = self.facts;
        let mut suspects = self.overtaken_reads(witness)?;
        if !self.plan.parts.iter().any(|part| asks_suspects(part) && asks_rivals(part)) {
            return Ok(suspects);
        }
        let has_conflicts = |part: &Part| matches!(part, Part::Steps(steps) if steps.conflicts);
        let mut is_wanted = vec![false; facts.key_count()];
        let mut wanted_count = 0;
        for key in suspects.all.iter().map(|suspect| facts.reads()[suspect.read as usize].key) {
            let is_new = !std::mem::replace(&mut is_wanted[key as usize], true);
            wanted_count += if is_new { facts.writers(key).len() } else { 0 };
        }
        let are_few = wanted_count * FEW_WRITERS < facts.reads().len();
        suspects.writers = match are_few && !self.plan.parts.iter().any(has_conflicts) {
            true => self.some_writers_in_order(witness, &is_wanted),
            false => self.writers_in_order(witness),
        };
        let Suspects { all, writers, .. } = &mut suspects;
        let looked = looked.map(|looked| (looked, looked.unchanged_keys(writers)));
        all.retain_mut(|suspect| {
            let read = suspect.read as usize;
            let (key, source) = (facts.reads()[read].key, witness.source[read]);
            suspect.from = writers.place_back(key, suspect.passed, witness.position[source as usize]);
            looked.as_ref().is_none_or(|(looked, is_unchanged)| {
                !looked.has(suspect, is_unchanged[key as usize], source, suspect.rivals(writers, key))
            })
        });
        Ok(suspects)
    }

    /// The reads whose source is not the last writer of the key before the reader; which writers stand between is not
    /// found out yet.
    fn overtaken_reads(&self, witness: &Witness) -> Result<Suspects, Stopped> {
        let (facts, position) = (self.facts, &witness.position);
        let mut passed = vec![(0u32, INITIAL); facts.key_count()];
        let mut suspects = Suspects::default();
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
                    suspects.all.push(Suspect { read: read as u32, reader, from: 0, passed });
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

impl Judge<'_, '_> {
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
        let (mut asked, mut found): (Vec<Asked>, Vec<FoundHit>) = (Vec::new(), Vec::new());
        let written = match suspects.all.len() > self.facts.node_count() {
            true => Signatures::of(self.facts),
            false => Signatures::default(),
        };
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
            asked.clear();
            asked.extend(group.iter().map(|suspect| self.asked(witness, suspect.read)));
            self.find_by_sources(witness, &written, (reader, &asked), is_earlier, &mut found);
            found.sort_unstable();
            found.dedup_by_key(|hit| (hit.rival, hit.key, hit.source));
            hits.extend(found.drain(..).map(|hit| Hit { read: hit.read, rival: hit.rival, part }));
        }
        rest.sort_unstable();
        suspects.names_some.set(suspects.names_some.get() | !rest.is_empty());
        Ok(rest)
    }

    /// What is compared of a suspect, at one place.
    fn asked(&self, witness: &Witness, read: u32) -> Asked {
        let Read { key, op, .. } = self.facts.reads()[read as usize];
        let source = witness.position[witness.source[read as usize] as usize];
        Asked { read, key, op, source, bit: Signatures::bit(key) }
    }

    fn find_by_sources(
        &self,
        witness: &Witness,
        written: &Signatures,
        (reader, asked): (u32, &[Asked]),
        is_earlier: bool,
        found: &mut Vec<FoundHit>,
    ) {
        let facts = self.facts;
        let reads = facts.reads_of(reader);
        let sources = &witness.source[reads.clone()];
        let first_source = asked.iter().map(|asked| asked.source).min().unwrap_or(u32::MAX);
        let all_bits = asked.iter().fold(0, |bits, asked| bits | asked.bit);
        for (place, &rival) in sources.iter().enumerate() {
            let position = witness.position[rival as usize];
            let bits = written.bits(rival) & all_bits;
            // Most sources are told by these two numbers to be no rivals.
            if position <= first_source || bits == 0 || sources[..place].contains(&rival) {
                continue;
            }
            let first = facts.reads()[reads.start + place].op;
            for &Asked { read, key, op, source, bit } in asked {
                let may_see = !is_earlier || op > first;
                if bits & bit != 0 && source < position && may_see && facts.writes(rival, key) {
                    // Of several reads from the earliest source the same one is named as by stamps.
                    let turn = if is_earlier { u32::MAX - read } else { read };
                    found.push(FoundHit { rival, key, source, turn, read });
                }
            }
        }
    }
}

/// A suspect, with what is compared.
#[derive(Clone, Copy)]
struct Asked {
    read: u32,
    key: u32,
    op: OpId,
    /// The position of the source.
    source: u32,
    /// The bit of the key.
    bit: u64,
}

/// For each node a few bits of the keys that it writes: most pairs of a rival and a key are told apart by these alone.
#[derive(Default)]
struct Signatures {
    /// Empty if everything may be.
    of: Vec<u64>,
}

impl Signatures {
    fn of(facts: &Facts) -> Self {
        let bits = |node: u32| facts.written(node).iter().fold(0, |bits, &key| bits | Self::bit(key));
        Self { of: (0..facts.node_count() as u32).map(bits).collect() }
    }

    fn bit(key: u32) -> u64 {
        1 << (key.wrapping_mul(0x9E37_79B1) >> 26)
    }

    fn bits(&self, node: u32) -> u64 {
        self.of.get(node as usize).copied().unwrap_or(u64::MAX)
    }
}

/// A hit of a reader: in this order, so that of a rival, a key and a source the one to keep is first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FoundHit {
    rival: u32,
    key: u32,
    source: u32,
    turn: u32,
    read: u32,
}

impl Suspects {
    /// What a later search does not have to look for again: nothing where not all hits were named. Of a session the last
    /// rival is named, which says all only if every order keeps sessions.
    pub(super) fn looked(self, plan: &Plan, witness: &Witness) -> Option<Looked> {
        let is_all = !self.has_inversion && !self.names_some.get() && plan.session.is_all();
        (is_all && !self.writers.start.is_empty())
            .then(|| Looked { position: witness.position.clone(), writers: self.writers })
    }

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
    pub(super) fn in_session(&self, facts: &Facts, (part, readers): Of<'_>) -> Option<Vec<Hit>> {
        let mut left = (self.all.len() + facts.node_count()) * FEW_WRITERS;
        let mut hits = Vec::new();
        if self.has_inversion {
            return None;
        }
        for suspect in self.all.iter().filter(|suspect| facts.is_in(suspect.reader, readers)) {
            let rivals = suspect.rivals(&self.writers, facts.reads()[suspect.read as usize].key);
            for &rival in rivals.iter().rev() {
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
