//! One derived step of a certificate, propagated again: which literal became true by which clause.
//!
//! The literals of the clause are taken as false; each named clause then has one literal left, and the last has none.
//! Only what the final conflict rests on is kept.

use std::collections::HashMap;

use certify::{Lit, Rule, Step, StepId};

/// Why a literal is true while a block is propagated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cause {
    /// The negation of a literal of the derived clause.
    Assumed,
    /// The other literals of this step's clause are false.
    Step(StepId),
}

/// The propagation of one derived step.
#[derive(Debug)]
pub(crate) struct Block {
    /// The clause with no literal left.
    pub conflict: StepId,
    /// The literals of the conflict's cone that became true by a clause, in the order of propagation.
    pub implied: Vec<Lit>,
    causes: HashMap<Lit, Cause>,
    /// How many clauses of the conflict's cone use a literal.
    uses: HashMap<Lit, u32>,
    /// The clause that uses a literal, the last one seen; and the literal that became true by it, if any.
    user: HashMap<Lit, (StepId, Option<Lit>)>,
}

impl Block {
    /// Propagates a step; `None` if it is not a derived one or does not propagate as it should.
    pub fn of(steps: &[Step], step: StepId) -> Option<Self> {
        let target = steps.get(step as usize)?;
        let Rule::Derived(hints) = &target.rule else {
            return None;
        };
        let mut causes = HashMap::new();
        for &lit in &target.clause {
            causes.insert(!lit, Cause::Assumed);
        }
        let (&conflict, units) = hints.split_last()?;
        let mut implied = Vec::new();
        for &hint in units.iter().filter(|&&hint| hint < step) {
            let clause = &steps.get(hint as usize)?.clause;
            if clause.iter().any(|lit| causes.contains_key(lit)) {
                continue;
            }
            let lit = unit_literal(clause, &causes)?;
            causes.insert(lit, Cause::Step(hint));
            implied.push(lit);
        }
        let is_refuted = |lit: &Lit| causes.contains_key(&!*lit);
        if conflict >= step || !steps.get(conflict as usize)?.clause.iter().all(is_refuted) {
            return None;
        }
        let mut block =
            Self { conflict, implied: Vec::new(), causes, uses: HashMap::new(), user: HashMap::new() };
        block.count_uses(steps, &implied);
        implied.retain(|lit| block.uses.contains_key(lit));
        block.implied = implied;
        Some(block)
    }

    /// The clause by which a literal became true; `None` if it was assumed.
    pub fn cause(&self, lit: Lit) -> Option<StepId> {
        match self.causes.get(&lit) {
            Some(&Cause::Step(step)) => Some(step),
            _ => None,
        }
    }

    /// The one clause of the cone that uses a true literal, and what became true by it; `None` if there are several.
    pub fn only_user(&self, lit: Lit) -> Option<(StepId, Option<Lit>)> {
        (self.uses.get(&lit) == Some(&1)).then(|| self.user.get(&lit).copied())?
    }

    fn count_uses(&mut self, steps: &[Step], implied: &[Lit]) {
        self.use_clause(steps, self.conflict, None);
        for &lit in implied.iter().rev() {
            if let (true, Some(&Cause::Step(step))) = (self.uses.contains_key(&lit), self.causes.get(&lit)) {
                self.use_clause(steps, step, Some(lit));
            }
        }
    }

    fn use_clause(&mut self, steps: &[Step], step: StepId, implied: Option<Lit>) {
        for &lit in &steps[step as usize].clause {
            if Some(lit) != implied {
                *self.uses.entry(!lit).or_default() += 1;
                self.user.insert(!lit, (step, implied));
            }
        }
    }
}

/// The one literal of a clause that is not false.
fn unit_literal(clause: &[Lit], causes: &HashMap<Lit, Cause>) -> Option<Lit> {
    let mut left = clause.iter().copied().filter(|&lit| !causes.contains_key(&!lit));
    let lit = left.next()?;
    left.next().is_none().then_some(lit)
}
