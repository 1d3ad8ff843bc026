//! The clauses: literals end to end in one array, with where each came from.
//!
//! Nothing is ever deleted: a check needs hundreds to thousands of them, and the proof needs them all.

use crate::Lit;
use crate::proof::Origin;

/// The number of a clause.
pub(crate) type ClauseId = u32;

/// No clause: a decision, or not assigned.
pub(crate) const NO_CLAUSE: ClauseId = u32::MAX;

#[derive(Clone, Debug, Default)]
pub(crate) struct Clauses {
    lits: Vec<Lit>,
    start: Vec<u32>,
    pub(crate) origins: Vec<Origin>,
}

impl Clauses {
    pub(crate) fn len(&self) -> usize {
        self.origins.len()
    }

    pub(crate) fn add(&mut self, lits: &[Lit], origin: Origin) -> ClauseId {
        self.start.push(self.lits.len() as u32);
        self.lits.extend_from_slice(lits);
        self.origins.push(origin);
        self.origins.len() as ClauseId - 1
    }

    fn range(&self, id: ClauseId) -> std::ops::Range<usize> {
        let end = self.start.get(id as usize + 1).map_or(self.lits.len(), |&start| start as usize);
        self.start[id as usize] as usize..end
    }

    #[inline]
    pub(crate) fn lits(&self, id: ClauseId) -> &[Lit] {
        &self.lits[self.range(id)]
    }

    #[inline]
    pub(crate) fn lits_mut(&mut self, id: ClauseId) -> &mut [Lit] {
        let range = self.range(id);
        &mut self.lits[range]
    }
}
