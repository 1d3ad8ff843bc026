//! A clause as a set of literals, and what a rule looks for in it.

use crate::{Atom, Lit, Node, ReadId, Source};

/// A clause as a set: sorted, without repeats.
pub(crate) struct Clause {
    pub lits: Vec<Lit>,
}

impl Clause {
    pub fn of(lits: &[Lit]) -> Self {
        let mut lits = lits.to_vec();
        lits.sort_unstable();
        lits.dedup();
        Self { lits }
    }

    pub fn befores(&self) -> impl Iterator<Item = (Node, Node)> {
        self.lits.iter().filter_map(|lit| match lit.atom {
            Atom::Before(a, b) => Some((a, b)),
            _ => None,
        })
    }

    pub fn only_before(&self) -> Result<(Node, Node), String> {
        self.befores().next().ok_or_else(|| "the clause has no order literal".into())
    }

    pub fn negated_sources(&self) -> impl Iterator<Item = (ReadId, Source)> {
        self.lits.iter().filter(|lit| lit.negated).filter_map(|lit| match lit.atom {
            Atom::ReadFrom(read, source) => Some((read, source)),
            _ => None,
        })
    }

    /// The literals, read as steps from one event to another, go round in one circle.
    pub fn check_cycle(&self) -> Result<(), String> {
        let steps: Vec<(Node, Node)> = self.befores().collect();
        if steps.len() < 2 || steps.len() != self.lits.len() {
            return Err("a cycle has two or more order literals, and no others".into());
        }
        let start = steps[0].0;
        let mut here = start;
        for count in 1..=steps.len() {
            let place = steps.binary_search_by_key(&here, |&(from, _)| from);
            here = steps[place.map_err(|_| "the literals are not a cycle")?].1;
            if (here == start) != (count == steps.len()) {
                return Err("the literals are not one cycle".into());
            }
        }
        Ok(())
    }
}
