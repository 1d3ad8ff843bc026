//! What remains of a search that found a contradiction: every clause with its origin, ready to be checked in order.

use order::EdgeId;

use crate::Lit;
use crate::solver::Solver;

/// Why a clause holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It was given, with this tag.
    Given(u32),
    /// Its literals' negations bring edges that close a cycle: the nodes in order, each with the conditional edge that
    /// leads to the next one, or `None` if that is a known edge.
    Cycle(Vec<(u32, Option<EdgeId>)>),
    /// By unit propagation over these clauses, in this order.
    Learned(Vec<u32>),
}

/// A clause of the proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProofClause {
    /// Its literals.
    pub lits: Vec<Lit>,
    /// Why it holds; the numbers in `Learned` are places in the proof.
    pub origin: Origin,
}

/// The clauses that the contradiction rests on, each after those it uses; the last one is empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Proof {
    /// The clauses.
    pub clauses: Vec<ProofClause>,
}

impl Solver<'_> {
    /// The proof of the contradiction that the last search ended with.
    pub fn proof(&self) -> Proof {
        let count = self.clauses.len();
        let mut is_used = vec![false; count];
        is_used[count - 1] = true;
        for id in (0..count).rev().filter(|&id| self.clauses.lits(id as u32).is_empty() || id + 1 < count) {
            if let (true, Origin::Learned(hints)) = (is_used[id], &self.clauses.origins[id]) {
                hints.iter().for_each(|&hint| is_used[hint as usize] = true);
            }
        }
        let mut place = vec![0; count];
        let mut proof = Proof::default();
        for id in (0..count).filter(|&id| is_used[id]) {
            place[id] = proof.clauses.len() as u32;
            let origin = match &self.clauses.origins[id] {
                Origin::Learned(hints) => {
                    Origin::Learned(hints.iter().map(|&hint| place[hint as usize]).collect())
                }
                origin => origin.clone(),
            };
            proof.clauses.push(ProofClause { lits: self.clauses.lits(id as u32).to_vec(), origin });
        }
        proof
    }
}
