//! A prover of violations for small histories: all clauses of the level's rules, and a plain search over them.
//!
//! It exists so that the checker can be tested without an engine: what the oracle calls violated must have a derivation
//! that the checker accepts, and no derivation may pass for a history that the level allows. Splitting with unit
//! propagation over every clause there is, cycles added when they come up; exponential, for a handful of transactions.

mod axioms;

use std::collections::BTreeMap;

use certify::{Atom, Certificate, Level, Lit, Node, Rule, Step, StepId};
use history::History;

/// A certificate that a level is violated, if it is.
pub fn violated(history: &History, level: &Level) -> Option<Certificate> {
    let mut prover = Prover { steps: axioms::of(history, level) };
    let last = prover.refute(&mut Vec::new())?;
    let steps = needed_steps(&prover.steps, last);
    Some(Certificate::Violated { steps, keys: None })
}

struct Prover {
    steps: Vec<Step>,
}

/// What is true under some decisions.
#[derive(Default)]
struct Assignment {
    values: BTreeMap<Atom, bool>,
    /// What became true, with the step it follows from; decisions follow from none.
    trail: Vec<(Lit, Option<StepId>)>,
}

impl Assignment {
    fn value(&self, lit: Lit) -> Option<bool> {
        let (atom, negated) = canonical(lit);
        self.values.get(&atom).map(|&value| value != negated)
    }

    fn assign(&mut self, lit: Lit, reason: Option<StepId>) {
        let (atom, negated) = canonical(lit);
        self.values.insert(atom, !negated);
        self.trail.push((lit, reason));
    }

    fn orders(&self) -> impl Iterator<Item = (Node, Node)> {
        self.trail.iter().filter_map(|&(lit, _)| match lit.atom {
            Atom::Before(a, b) => Some((a, b)),
            _ => None,
        })
    }
}

fn canonical(lit: Lit) -> (Atom, bool) {
    match lit.atom {
        Atom::Before(a, b) if a > b => (Atom::Before(b, a), true),
        atom => (atom, lit.negated),
    }
}

impl Prover {
    /// A step whose clause is false under the decisions, or `None` if they can be kept.
    fn refute(&mut self, decisions: &mut Vec<Lit>) -> Option<StepId> {
        let mut assignment = Assignment::default();
        decisions.iter().for_each(|&lit| assignment.assign(lit, None));
        if let Some(conflict) = self.propagate(&mut assignment) {
            return Some(self.learn(&assignment, conflict));
        }
        let lit = self.undecided(&assignment)?;
        let first = self.refute_with(decisions, lit)?;
        if !self.has(first, !lit) {
            return Some(first);
        }
        let second = self.refute_with(decisions, !lit)?;
        if !self.has(second, lit) {
            return Some(second);
        }
        Some(self.resolve(lit, first, second))
    }

    fn refute_with(&mut self, decisions: &mut Vec<Lit>, lit: Lit) -> Option<StepId> {
        decisions.push(lit);
        let refuted = self.refute(decisions);
        decisions.pop();
        refuted
    }

    fn has(&self, step: StepId, lit: Lit) -> bool {
        self.steps[step as usize].clause.contains(&lit)
    }

    fn push(&mut self, clause: Vec<Lit>, rule: Rule) -> StepId {
        self.steps.push(Step { clause, rule });
        self.steps.len() as StepId - 1
    }

    /// Propagates until nothing follows any more; the step that is false, if one is.
    fn propagate(&mut self, assignment: &mut Assignment) -> Option<StepId> {
        loop {
            let before = assignment.trail.len();
            for step in 0..self.steps.len() {
                let open = |lit: &&Lit| assignment.value(**lit) != Some(false);
                let mut left = self.steps[step].clause.iter().filter(open);
                match (left.next(), left.next()) {
                    (None, _) => return Some(step as StepId),
                    (Some(&lit), None) if assignment.value(lit).is_none() => {
                        assignment.assign(lit, Some(step as StepId));
                    }
                    _ => {}
                }
            }
            if assignment.trail.len() > before {
                continue;
            }
            let cycle = find_cycle(assignment)?;
            let clause = cycle.iter().map(|&(a, b)| !Lit::before(a, b)).collect();
            self.push(clause, Rule::Cycle);
        }
    }

    /// A literal of a clause that is not yet true.
    fn undecided(&self, assignment: &Assignment) -> Option<Lit> {
        let is_true = |step: &&Step| step.clause.iter().any(|&lit| assignment.value(lit) == Some(true));
        let open = self.steps.iter().find(|step| !is_true(step))?;
        open.clause.iter().copied().find(|&lit| assignment.value(lit).is_none())
    }

    /// The decisions that a conflict rests on cannot all be kept.
    fn learn(&mut self, assignment: &Assignment, conflict: StepId) -> StepId {
        let mut hints = vec![conflict];
        let mut clause = Vec::new();
        let mut needed: Vec<Lit> = self.steps[conflict as usize].clause.iter().map(|&lit| !lit).collect();
        for &(lit, reason) in assignment.trail.iter().rev() {
            if !needed.contains(&lit) {
                continue;
            }
            match reason {
                None => clause.push(!lit),
                Some(step) => {
                    hints.push(step);
                    let others = self.steps[step as usize].clause.iter().filter(|&&other| other != lit);
                    needed.extend(others.map(|&other| !other));
                }
            }
        }
        hints.reverse();
        self.push(clause, Rule::Derived(hints))
    }

    fn resolve(&mut self, lit: Lit, first: StepId, second: StepId) -> StepId {
        let both = [first, second].map(|step| self.steps[step as usize].clause.clone());
        let mut clause: Vec<Lit> =
            both.concat().into_iter().filter(|&other| other != lit && other != !lit).collect();
        clause.sort_unstable();
        clause.dedup();
        self.push(clause, Rule::Derived(vec![first, second]))
    }
}

/// A cycle among the orders that are true.
fn find_cycle(assignment: &Assignment) -> Option<Vec<(Node, Node)>> {
    let edges: Vec<(Node, Node)> = assignment.orders().collect();
    // Without nodes that nothing leads to or that lead nowhere, every path runs into a cycle.
    let mut core = edges;
    loop {
        let is_inner = |&(a, b): &(Node, Node)| {
            core.iter().any(|&(_, to)| to == a) && core.iter().any(|&(from, _)| from == b)
        };
        let smaller: Vec<_> = core.iter().copied().filter(is_inner).collect();
        if smaller.len() == core.len() {
            break;
        }
        core = smaller;
    }
    let mut path = vec![*core.first()?];
    loop {
        let here = path[path.len() - 1].1;
        if let Some(start) = path.iter().position(|&(from, _)| from == here) {
            return Some(path.split_off(start));
        }
        path.push(*core.iter().find(|&&(from, _)| from == here).expect("every inner node leads on"));
    }
}

/// The steps up to the last one that it rests on, renumbered.
fn needed_steps(steps: &[Step], last: StepId) -> Vec<Step> {
    let mut is_needed = vec![false; steps.len()];
    is_needed[last as usize] = true;
    for step in (0..=last as usize).rev() {
        if let (true, Rule::Derived(hints)) = (is_needed[step], &steps[step].rule) {
            hints.iter().for_each(|&hint| is_needed[hint as usize] = true);
        }
    }
    let mut number = vec![0; steps.len()];
    let mut kept: Vec<Step> = Vec::new();
    for step in (0..=last as usize).filter(|&step| is_needed[step]) {
        number[step] = kept.len() as StepId;
        let mut renumbered = steps[step].clone();
        if let Rule::Derived(hints) = &mut renumbered.rule {
            hints.iter_mut().for_each(|hint| *hint = number[*hint as usize]);
        }
        kept.push(renumbered);
    }
    kept
}
