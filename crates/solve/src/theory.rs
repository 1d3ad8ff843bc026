//! The acyclicity theory: literals that become true bring their edges, and a cycle is a clause.
//!
//! The incremental order finds the cycle; the negations of the conditions of its conditional edges cannot all be
//! wrong. The path with the fewest conditional edges is taken, so the clause is short.

use order::{EdgeId, Inserted};

use crate::Lit;
use crate::clauses::ClauseId;
use crate::proof::Origin;
use crate::solver::Solver;

impl Solver<'_> {
    /// Asserts every edge of a true literal whose other conditions are true too.
    pub(crate) fn assert_edges(&mut self, lit: Lit) -> Result<(), ClauseId> {
        for place in 0..self.edges_of_lit.of(lit.index()).len() {
            let id = self.edges_of_lit.of(lit.index())[place];
            let edge = self.setup.edges[id as usize];
            if self.is_asserted[id as usize] || edge.conditions().any(|lit| self.value(lit) != Some(true)) {
                continue;
            }
            match self.graph.insert(edge.from, edge.to) {
                Inserted::Added(_) => {
                    self.is_asserted[id as usize] = true;
                    self.asserted.push(id);
                    self.revisit_choices_of_moved();
                }
                Inserted::Cycle(path) => return Err(self.cycle_clause(id, path)),
            }
        }
        Ok(())
    }

    /// Takes back the asserted edges from this place on; the order stays as it is.
    pub(crate) fn retract_edges(&mut self, asserted: usize) {
        for id in self.asserted.drain(asserted..) {
            self.is_asserted[id as usize] = false;
        }
        self.graph.truncate(asserted);
    }

    /// The clause of a cycle: from the end of the new edge along the path to its start, and the new edge.
    fn cycle_clause(&mut self, new: EdgeId, path: Vec<(u32, EdgeId)>) -> ClauseId {
        self.counts.cycles += 1;
        let leads_here = |entry: EdgeId| (entry != order::NONE).then(|| self.asserted[entry as usize]);
        let mut cycle: Vec<(u32, Option<EdgeId>)> = Vec::with_capacity(path.len());
        for (place, &(node, _)) in path.iter().enumerate() {
            let leads_on = match path.get(place + 1) {
                Some(&(_, entry)) => leads_here(entry),
                None => Some(new),
            };
            cycle.push((node, leads_on));
        }
        let used = cycle.iter().filter_map(|&(_, edge)| edge);
        let mut lits: Vec<Lit> =
            used.flat_map(|edge| self.setup.edges[edge as usize].conditions()).map(|lit| !lit).collect();
        lits.sort_unstable();
        lits.dedup();
        self.clauses.add(&lits, Origin::Cycle(cycle))
    }
}
