//! Recorded versions of one key: they give the order of its writers, and the source of each read that tells a version.
//!
//! All writes of the key must record a version, each another one: a version that is missing may have any place. The
//! initial state has one version, which is smaller than those of all writers that committed. A sort for each key.

use history::{History, OpId};

use super::{Facts, INITIAL, Told};
use crate::{Flaw, Place};

/// The versions of a key.
pub(super) struct Versions {
    /// (version, writer), ascending; empty if none was recorded.
    placed: Vec<(i64, u32)>,
    /// The version of the initial state, once a read told it.
    initial: Option<i64>,
}

impl Versions {
    /// The versions of these last writes of a key; `first_told` is a read that tells one, if any does.
    ///
    /// # Errors
    /// If versions were recorded, but not by all writes, or by two the same, or if the initial value is not known.
    pub fn of(
        history: &History,
        last_writes: &[(u32, OpId)],
        first_told: Option<OpId>,
        has_initial: bool,
    ) -> Result<Self, Flaw> {
        let recorded = last_writes.iter().filter_map(|&(node, op)| Some((history.op_version(op)?, node)));
        let mut placed: Vec<(i64, u32)> = recorded.collect();
        placed.sort_unstable();
        let is_recorded = first_told.is_some() || !placed.is_empty();
        let is_whole =
            placed.len() == last_writes.len() && placed.windows(2).all(|pair| pair[0].0 != pair[1].0);
        match is_recorded && !(is_whole && has_initial) {
            true => {
                let op = first_told.or(last_writes.first().map(|&(_, op)| op)).unwrap_or(OpId(0));
                Err(Flaw::new(Place::Op(op), "not all writes of its key record a version of their own"))
            }
            false => Ok(Self { placed, initial: None }),
        }
    }

    /// The order of the writers. One of unknown outcome may not be there to hand the order on.
    pub fn tell(&self, facts: &Facts, told: &mut Vec<Told>) {
        for (place, &(_, earlier)) in self.placed.iter().enumerate() {
            for &(_, later) in &self.placed[place + 1..] {
                told.push((earlier, later, earlier));
                if !facts.is_unknown(later) {
                    break;
                }
            }
        }
    }

    /// The writer of the version that a read tells, or the initial state; nothing if neither can be.
    ///
    /// # Errors
    /// If that depends on whether a transaction of unknown outcome committed, or if reads tell two versions of the
    /// initial state.
    pub fn source(
        &mut self,
        facts: &Facts,
        (read, version): (OpId, i64),
        from_initial: bool,
    ) -> Result<Option<u32>, Flaw> {
        let up_to = &self.placed[..self.placed.partition_point(|&(known, _)| known <= version)];
        let may_be_initial = from_initial && up_to.iter().all(|&(_, node)| facts.is_unknown(node));
        if !may_be_initial {
            return Ok(up_to.last().filter(|&&(known, _)| known == version).map(|&(_, node)| node));
        }
        let is_other = self.initial.replace(version).is_some_and(|known| known != version);
        match up_to.is_empty() && !is_other {
            true => Ok(Some(INITIAL)),
            false => Err(Flaw::new(Place::Read(read), "it may have seen one of several versions")),
        }
    }
}
