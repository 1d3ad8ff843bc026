//! The derivation as reasons: each fact with the rule it follows from and the facts it follows from by that rule.
//!
//! A derived clause is proved by contradiction: its literals are false, and propagation ends in a conflict. People
//! follow a direct reason better. Where the assumption is used only once on the way to the conflict, the chain from it
//! to the conflict is turned around and becomes a chain of direct reasons; only where it is used several times does the
//! argument stay one by contradiction ("otherwise ...").
//!
//! Facts are shared, and lemmas are expanded where they are used, up to a depth and a number of facts.

use std::collections::HashMap;
use std::rc::Rc;

use certify::{Atom, Lit, Rule, Step, StepId};

use crate::block::Block;
use crate::edge::{Use, before};
use crate::terms::Terms;

/// A place in the argument; a fact follows from facts at earlier places only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct FactId(pub u32);

/// Something that is true, and why.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    pub lit: Lit,
    pub by: By,
}

/// Why a fact is true.
#[derive(Clone, Debug)]
pub(crate) enum By {
    /// It is assumed, to be refuted.
    Assumed,
    /// A rule of the level: the clause of this step, whose other literals are false.
    Rule(StepId, Vec<FactId>),
    /// Facts of order that lead from its first event to its second.
    Path(Vec<FactId>),
    /// Its negation leads to a conflict.
    Contradiction(Conflict),
    /// It follows from this step, in a way too long to tell.
    Step(StepId),
}

/// Facts that cannot all be true.
#[derive(Clone, Debug)]
pub(crate) enum Conflict {
    /// Facts of order that lead back to where they start, in any order.
    Cycle(Vec<FactId>),
    /// All literals of this step's clause are false; it is none that speaks of an order, or one too deep to look into.
    Clause(StepId, Vec<FactId>),
}

impl Conflict {
    /// The facts.
    pub fn premises(&self) -> &[FactId] {
        match self {
            Self::Cycle(premises) | Self::Clause(_, premises) => premises,
        }
    }
}

/// Lemmas within lemmas are expanded to this depth.
const MAX_DEPTH: usize = 200;
/// So many facts are built at most.
const MAX_FACTS: usize = 100_000;

/// The facts that the empty clause rests on.
#[derive(Debug)]
pub(crate) struct Argument {
    pub facts: Vec<Fact>,
    /// The final conflict, which rests on no assumption; `None` if the derivation does not end in one.
    pub conflict: Option<Conflict>,
}

impl Argument {
    /// Reads a derivation backwards from its last step.
    pub fn of(terms: &Terms<'_>, steps: &[Step]) -> Self {
        let mut expansion = Expansion {
            terms,
            steps,
            facts: Vec::new(),
            unconditional: HashMap::new(),
            blocks: HashMap::new(),
        };
        let last = steps.len().checked_sub(1).map(|last| last as StepId);
        let conflict = last.map(|last| expansion.conflict(last, &HashMap::new(), 0));
        Self { facts: expansion.facts, conflict }
    }

    /// Adds a fact that follows from facts that are there.
    pub fn add(&mut self, lit: Lit, by: By) -> FactId {
        self.facts.push(Fact { lit, by });
        FactId((self.facts.len() - 1) as u32)
    }

    pub fn fact(&self, fact: FactId) -> &Fact {
        &self.facts[fact.0 as usize]
    }
}

/// Facts that hold where a lemma is used: what is known of its literals.
type Known = HashMap<Lit, FactId>;

struct Expansion<'s> {
    terms: &'s Terms<'s>,
    steps: &'s [Step],
    facts: Vec<Fact>,
    /// Facts that are clauses of one literal, by their step.
    unconditional: HashMap<StepId, FactId>,
    blocks: HashMap<StepId, Option<Rc<Block>>>,
}

/// A block with what is known of its assumptions, and the facts found in it so far.
struct Scope {
    block: Rc<Block>,
    found: Known,
    depth: usize,
}

impl Expansion<'_> {
    /// A conflict: all literals of the step's clause are known to be false.
    fn conflict(&mut self, step: StepId, known: &Known, depth: usize) -> Conflict {
        match self.open(step, known, depth) {
            Some(mut scope) => self.conflict_of(&mut scope),
            None => self.conflict_by_rule(step, known),
        }
    }

    /// A rule that demands an order, against the fact of the opposite order, is a cycle of the two.
    fn conflict_by_rule(&mut self, step: StepId, known: &Known) -> Conflict {
        let rule = self.steps.get(step as usize).map(|step| &step.rule);
        if rule == Some(&Rule::Cycle) {
            return Conflict::Cycle(self.premises(step, None, known));
        }
        if let Some(conflict) = self.conflict_of_only_source(step, known) {
            return conflict;
        }
        let demanded = self.demanded_order(step);
        let (false, Some(lit)) = (self.is_derived(step), demanded) else {
            return Conflict::Clause(step, self.premises(step, None, known));
        };
        let premises = self.premises(step, Some(lit), known);
        let fact = self.push(lit, By::Rule(step, premises));
        let opposite = match known.get(&!lit) {
            Some(&opposite) => opposite,
            None => self.push(!lit, By::Assumed),
        };
        Conflict::Cycle(vec![fact, opposite])
    }

    /// A read whose only source is excluded by a rule: it came from there, so the rule's order is demanded after all.
    fn conflict_of_only_source(&mut self, step: StepId, known: &Known) -> Option<Conflict> {
        let Rule::Sources(_) = self.steps.get(step as usize)?.rule else {
            return None;
        };
        let clause = self.clause(step);
        let mut sources = clause.iter().filter(|lit| matches!(lit.atom, Atom::ReadFrom(..)));
        let (Some(&source), None) = (sources.next(), sources.next()) else {
            return None;
        };
        let excluded = self.facts.get(known.get(&!source)?.0 as usize)?;
        let By::Rule(excluding, premises) = excluded.by.clone() else {
            return None;
        };
        self.demanded_order(excluding)?;
        let committed = self.premises(step, Some(source), known);
        let mut known: Known = premises.iter().map(|&fact| (self.facts[fact.0 as usize].lit, fact)).collect();
        let fact = self.push(source, By::Rule(step, committed));
        known.insert(source, fact);
        Some(self.conflict_by_rule(excluding, &known))
    }

    /// The order that a rule speaks of; for a read that was overwritten, that of the reader and the other writer.
    fn demanded_order(&self, step: StepId) -> Option<Lit> {
        let step = self.steps.get(step as usize)?;
        let mut orders = step.clause.iter().copied().filter(|lit| before(lit).is_some());
        let Use::Overwritten { writer, .. } = Use::of(self.terms, step) else {
            return orders.next();
        };
        orders.find(|lit| before(lit).is_some_and(|(_, b)| self.terms.txn(b) == Some(writer)))
    }

    fn conflict_of(&mut self, scope: &mut Scope) -> Conflict {
        self.settle(scope);
        let step = scope.block.conflict;
        self.conflict(step, &scope.found, scope.depth)
    }

    /// The fact that a literal of a step's clause is true, the others being known to be false.
    fn conclude(&mut self, step: StepId, lit: Lit, known: &Known, depth: usize) -> FactId {
        let is_unconditional = self.clause(step).len() == 1;
        if let (true, Some(&fact)) = (is_unconditional, self.unconditional.get(&step)) {
            return fact;
        }
        // A rule may say what is known already, as that two transactions are ordered one way or the other.
        if let Some(&fact) = known.get(&lit) {
            return fact;
        }
        let fact = match self.open(step, known, depth) {
            Some(scope) => self.refute(scope, !lit),
            None if self.is_derived(step) => self.push(lit, By::Step(step)),
            None => {
                let premises = self.premises(step, Some(lit), known);
                self.push(lit, By::Rule(step, premises))
            }
        };
        if is_unconditional {
            self.unconditional.insert(step, fact);
        }
        fact
    }

    /// A derived step to be looked into, with what is known of its clause; `None` for a rule, and beyond the bounds.
    fn open(&mut self, step: StepId, known: &Known, depth: usize) -> Option<Scope> {
        if depth >= MAX_DEPTH || self.facts.len() >= MAX_FACTS {
            return None;
        }
        let steps = self.steps;
        let block = self.blocks.entry(step).or_insert_with(|| Block::of(steps, step).map(Rc::new)).clone()?;
        let assumed = self.clause(step).into_iter().map(|lit| !lit);
        let found = assumed.filter_map(|lit| known.get(&lit).map(|&fact| (lit, fact)));
        Some(Scope { block, found: found.collect(), depth: depth + 1 })
    }

    /// Finds every fact of the block that follows from those found already, in the order of propagation.
    fn settle(&mut self, scope: &mut Scope) {
        for &lit in &Rc::clone(&scope.block).implied {
            let Some(step) = scope.block.cause(lit) else {
                continue;
            };
            let steps = self.steps;
            let mut others = steps[step as usize].clause.iter().filter(|&&other| other != lit);
            if !scope.found.contains_key(&lit) && others.all(|&other| scope.found.contains_key(&!other)) {
                let fact = self.conclude(step, lit, &scope.found, scope.depth);
                scope.found.insert(lit, fact);
            }
        }
    }

    /// The fact that an assumption of a block is false, since the block ends in a conflict.
    ///
    /// Follows the assumption and what became true by it to the conflict, or to where it is used more than once, and
    /// comes back with the negations.
    fn refute(&mut self, mut scope: Scope, assumption: Lit) -> FactId {
        self.settle(&mut scope);
        let mut chain = Vec::new();
        let mut end = Some(assumption);
        while let Some(lit) = end {
            let Some((step, implied)) = scope.block.only_user(lit) else {
                break;
            };
            chain.push((lit, step));
            end = implied;
        }
        let mut last = None;
        if let Some(lit) = end {
            last = Some(self.contradict(&mut scope, lit));
            scope.found.remove(&lit);
            scope.found.extend(last.map(|fact| (!lit, fact)));
        }
        for (lit, step) in chain.into_iter().rev() {
            let fact = self.conclude(step, !lit, &scope.found, scope.depth);
            scope.found.insert(!lit, fact);
            last = Some(fact);
        }
        last.unwrap_or_else(|| self.push(!assumption, By::Assumed))
    }

    fn contradict(&mut self, scope: &mut Scope, lit: Lit) -> FactId {
        let assumed = self.push(lit, By::Assumed);
        let mut inner =
            Scope { block: Rc::clone(&scope.block), found: scope.found.clone(), depth: scope.depth };
        inner.found.insert(lit, assumed);
        let conflict = self.conflict_of(&mut inner);
        self.push(!lit, By::Contradiction(conflict))
    }

    fn premises(&mut self, step: StepId, but: Option<Lit>, known: &Known) -> Vec<FactId> {
        let others = self.clause(step).into_iter().filter(|&lit| Some(lit) != but);
        others
            .map(|lit| match known.get(&!lit) {
                Some(&fact) => fact,
                None => self.push(!lit, By::Assumed),
            })
            .collect()
    }

    fn clause(&self, step: StepId) -> Vec<Lit> {
        let step = self.steps.get(step as usize);
        step.map_or_else(Vec::new, |step| step.clause.clone())
    }

    fn is_derived(&self, step: StepId) -> bool {
        let step = self.steps.get(step as usize);
        step.is_none_or(|step| matches!(step.rule, Rule::Derived(_)))
    }

    fn push(&mut self, lit: Lit, by: By) -> FactId {
        self.facts.push(Fact { lit, by });
        FactId((self.facts.len() - 1) as u32)
    }
}
