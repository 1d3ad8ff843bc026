//! Unit propagation along hints.
//!
//! Atoms get numbers by one sort of all of them, so an assignment is a column of bytes. A step costs the literals of the
//! clauses it names; nothing is watched or searched.

use crate::{Atom, Lit, Step, StepId};

/// A literal as a number: twice its atom's, plus one if it is negated.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Code(u32);

impl Code {
    fn negated(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// Checks derived steps.
pub(crate) struct Propagator {
    lits: Vec<Code>,
    /// One more row than steps.
    start: Vec<usize>,
    /// For each literal whether it is true now.
    is_true: Vec<bool>,
    trail: Vec<Code>,
}

impl Propagator {
    /// Only clauses that a derived step names, or derived ones, are ever looked at; the others cost their numbers.
    pub fn of(steps: &[Step]) -> Self {
        let mut atoms: Vec<Atom> =
            steps.iter().flat_map(|step| step.clause.iter().map(|&lit| positive(lit).0)).collect();
        atoms.sort_unstable();
        atoms.dedup();
        let code = |lit: Lit| {
            let (atom, negated) = positive(lit);
            let number = atoms.partition_point(|&other| other < atom);
            Code(number as u32 * 2 + u32::from(negated))
        };
        let mut start = vec![0];
        let mut lits = Vec::new();
        for step in steps {
            lits.extend(step.clause.iter().map(|&lit| code(lit)));
            start.push(lits.len());
        }
        Self { lits, start, is_true: vec![false; atoms.len() * 2], trail: Vec::new() }
    }

    /// Whether the clause of a step follows from earlier ones by unit propagation along the hints.
    pub fn check(&mut self, step: usize, hints: &[StepId]) -> Result<(), String> {
        for place in self.start[step]..self.start[step + 1] {
            self.assign(self.lits[place].negated());
        }
        let result = self.propagate(step, hints);
        for code in self.trail.drain(..) {
            self.is_true[code.0 as usize] = false;
        }
        result
    }

    fn propagate(&mut self, step: usize, hints: &[StepId]) -> Result<(), String> {
        let &last = hints.last().ok_or("it names no step to follow from")?;
        for &hint in hints {
            match self.remaining(step, hint)? {
                Remaining::One(code) => self.assign(code),
                Remaining::True => {}
                Remaining::Nothing => return Ok(()),
            }
        }
        Err(format!("step {last} is the last one named, and none of them contradicts"))
    }

    /// What is left of a clause when its false literals are gone.
    fn remaining(&self, step: usize, hint: StepId) -> Result<Remaining, String> {
        let hint = hint as usize;
        if hint >= step {
            return Err(format!("step {hint} is not an earlier step"));
        }
        let lits = &self.lits[self.start[hint]..self.start[hint + 1]];
        if lits.iter().any(|code| self.is_true[code.0 as usize]) {
            return Ok(Remaining::True);
        }
        let mut left = lits.iter().filter(|code| !self.is_true[code.negated().0 as usize]);
        let Some(&first) = left.next() else {
            return Ok(Remaining::Nothing);
        };
        if left.all(|&code| code == first) {
            return Ok(Remaining::One(first));
        }
        Err(format!("step {hint} has two literals left, so nothing follows from it"))
    }

    fn assign(&mut self, code: Code) {
        if !self.is_true[code.0 as usize] {
            self.is_true[code.0 as usize] = true;
            self.trail.push(code);
        }
    }
}

enum Remaining {
    /// Nothing to ask: a literal is true.
    True,
    /// No literal: a contradiction.
    Nothing,
    /// This one, which becomes true.
    One(Code),
}

/// The atom and whether it is negated, with one form for the two directions of an order.
fn positive(lit: Lit) -> (Atom, bool) {
    match lit.atom {
        Atom::Before(a, b) if a > b => (Atom::Before(b, a), true),
        atom => (atom, lit.negated),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Node, Rule};

    fn step(clause: &[(u32, u32)], rule: Rule) -> Step {
        let lit = |&(a, b): &(u32, u32)| Lit::before(Node(a), Node(b));
        Step { clause: clause.iter().map(lit).collect(), rule }
    }

    fn check(hints: &[StepId]) -> Result<(), String> {
        let steps = [
            step(&[(0, 1)], Rule::Session),
            step(&[(1, 0), (1, 2)], Rule::Session),
            step(&[(2, 1), (0, 3)], Rule::Session),
            step(&[(0, 3)], Rule::Derived(hints.to_vec())),
        ];
        Propagator::of(&steps).check(3, hints)
    }

    #[test]
    fn hints_must_be_unit_one_after_the_other_and_end_in_a_contradiction() {
        assert_eq!(check(&[0, 1, 2]), Ok(()));
        assert_eq!(check(&[0, 0, 1, 2, 2]), Ok(()), "a clause that is true already adds nothing");
        assert!(check(&[]).unwrap_err().contains("names no step"));
        assert!(check(&[0, 1]).unwrap_err().contains("none of them contradicts"));
        assert!(check(&[1, 0, 2]).unwrap_err().contains("two literals left"));
        assert!(check(&[0, 1, 3]).unwrap_err().contains("not an earlier step"));
    }
}
