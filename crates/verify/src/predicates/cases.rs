//! Selects an alternative for every row effect: the solver selects, the engine refutes.
//!
//! With all alternatives selected the engine decides the history. If it refutes the selection, the alternatives that
//! its derivation rests on are a *case*: a set of alternatives that cannot all be true, which is a clause. The solver
//! (`solve`) then selects alternatives that violate no known clause, each as before where that is possible, so repairs
//! are kept. If no selection is left, its proof, over the derivations of the engine, is the derivation of the violation.
//!
//! Costs one run of the engine for up to 33 cases, and one of the solver over the effects that occur in cases.
//!
//! Alternatives as guards of reads and writes in one search, beside orders and sources, were built as a prototype (which
//! decided, but wrote no derivation) and measured on generated `blindw-pred` of 400 transactions from a store at read
//! committed. At strict serializability, where real time leaves 2,926 of 18,221
//! effects open, it finds the contradiction of seed 1 with 5 conflicts in 60 ms; here it takes 188 cases, and the command
//! 3.5 s of processor time, of which checking the cases is more than half. At serializability and snapshot isolation a
//! read of one of the dozen rows in doubt may have come from each of some 185 updates and be overwritten by each other
//! one: these are too many edges for the memory that the engine takes by itself, and the prototype ended undecided after
//! 3.7 and 4.3 s, as cases do after 6.2 and 4.8 s. The benchmarks of predicates have no open alternative, since running
//! the transactions on the rows explains them (`rows.rs`). A derivation would need alternatives as conditions in most
//! rules of the checker, so cases stay. What would have to come first is a search that takes in a read only when an order
//! violates it.
//!
//! What did not pay either: to run the engine on the returned rows that only one transaction can have made, as plain
//! reads and writes, to find the rows to ask about. On the same histories that part satisfies both levels.

use std::sync::Arc;

use certify::{Certificate, Level, Lit, Rule, Step, StepId};
use history::History;
use index::{Index, RowEffects};
use order::{Digraph, IncrementalOrder};
use solve::{Habits, Origin, SearchEnd, Setup, Solver};

use super::Engine;
use super::basis::Basis;
use crate::options::{Limit, Options};
use crate::{Verdict, Verified};

/// An effect and one of its alternatives.
pub(super) type Taken = (u32, u32);

/// Contradictions that are learnt from one run of the engine.
const AT_ONCE: usize = 32;

pub(super) enum End {
    Holds(Certificate),
    Limit(Limit),
    /// For every selection of alternatives.
    Plain(Certificate),
    Refuted,
    /// More runs of the engine than it is worth.
    GivenUp,
}

/// Alternatives that cannot all be true, with the step that says so.
struct Case {
    taken: Vec<Taken>,
    step: StepId,
}

pub(super) struct Cases<'a> {
    pub history: &'a History,
    pub effects: &'a Arc<RowEffects>,
    pub level: &'a Level,
    pub by_key: Vec<Vec<u32>>,
    pub last: Option<Verified>,
    steps: Vec<Step>,
    options: &'a Options<'a>,
    engine: &'a Engine<'a>,
    /// For each effect the alternative that is selected.
    selection: Vec<u32>,
    cases: Vec<Case>,
    /// How often the engine was run, and the most runs.
    runs: usize,
    pub most_runs: usize,
}

impl<'a> Cases<'a> {
    pub fn new(
        history: &'a History,
        effects: &'a Arc<RowEffects>,
        level: &'a Level,
        options: &'a Options<'a>,
        engine: &'a Engine<'a>,
        selection: Vec<u32>,
    ) -> Self {
        Self {
            history,
            effects,
            level,
            by_key: by_key(history, effects),
            last: None,
            steps: Vec::new(),
            options,
            engine,
            selection,
            cases: Vec::new(),
            runs: 0,
            most_runs: usize::MAX,
        }
    }

    /// How many cases were looked at.
    pub fn count(&self) -> u64 {
        self.cases.len() as u64 + 1
    }

    /// Looks for an explanation, or shows that there is none.
    pub fn run(&mut self) -> End {
        loop {
            let ended = self.try_selection().and_then(|()| self.select());
            if let Err(end) = ended {
                return end;
            }
        }
    }

    /// Runs the engine; what it refutes are new cases.
    fn try_selection(&mut self) -> Result<(), End> {
        if let Some(limit) = (self.options.limit)() {
            return Err(End::Limit(limit));
        }
        if self.runs >= self.most_runs {
            return Err(End::GivenUp);
        }
        self.runs += 1;
        let index = Index::choosing(self.history, self.effects.clone(), self.selection.clone());
        let (answer, others) = (self.engine)(&index, AT_ONCE);
        let verdict = answer.verdict.clone();
        self.last = Some(answer);
        let certificate = match verdict {
            Verdict::Holds(certificate) => return Err(End::Holds(certificate)),
            Verdict::Undecided(limit) => return Err(End::Limit(limit)),
            Verdict::Violated(certificate) => certificate,
        };
        if !self.add_case(&index, &certificate) {
            return Err(End::Plain(self.simplest(&index, certificate)));
        }
        for other in others {
            self.add_case(&index, &other);
        }
        Ok(())
    }

    /// The alternatives that a contradiction rests on are a new case; false if it rests on none.
    fn add_case(&mut self, index: &Index, certificate: &Certificate) -> bool {
        let taken = self.basis(index, certificate);
        let Certificate::Violated { steps, .. } = certificate else { return false };
        if taken.is_empty() {
            return false;
        }
        let clause = taken.iter().map(|&taken| !self.took(taken)).collect();
        let step = self.push(clause, Rule::Case(steps.clone()));
        self.cases.push(Case { taken, step });
        true
    }

    fn basis(&self, index: &Index, certificate: &Certificate) -> Vec<Taken> {
        match certificate {
            Certificate::Violated { steps, .. } => Basis::of(self, index, steps),
            Certificate::Holds { .. } => Vec::new(),
        }
    }

    /// Where others are looked for too, it is not the simplest contradiction that is told.
    fn simplest(&self, index: &Index, found: Certificate) -> Certificate {
        match (self.engine)(index, 0).0.verdict {
            Verdict::Violated(simple) if self.basis(index, &simple).is_empty() => simple,
            _ => found,
        }
    }

    /// Selects alternatives that violate no case; without any, the derivation is complete.
    fn select(&mut self) -> Result<(), End> {
        let clauses = Clauses::new(self);
        let none = IncrementalOrder::new(&Digraph::new(0), &[]);
        // The first open option of a choice is decided, which is the one that was selected before.
        let habits = Habits { lazy: false, polarity: false, seed: 0 };
        let mut solver = Solver::new(&clauses.setup, none, habits);
        let mut limit = None;
        let mut stop = || {
            limit = (self.options.limit)();
            limit.is_some()
        };
        match solver.search(&mut stop, &mut || None) {
            SearchEnd::Satisfied => {
                clauses.take_selection(&solver, &mut self.selection);
                Ok(())
            }
            SearchEnd::Stopped => Err(End::Limit(limit.unwrap_or(Limit::Interrupt))),
            SearchEnd::Contradiction => {
                self.add_proof(&clauses, &solver.proof());
                Err(End::Refuted)
            }
        }
    }

    /// Writes the proof that no selection is left.
    fn add_proof(&mut self, clauses: &Clauses, proof: &solve::Proof) {
        let mut step_of: Vec<StepId> = Vec::with_capacity(proof.clauses.len());
        for clause in &proof.clauses {
            let step = match &clause.origin {
                Origin::Given(tag) => match clauses.effects.get(*tag as usize) {
                    Some(&effect) => {
                        let count = self.alternative_count(effect);
                        let all = (0..count).map(|alternative| self.took((effect, alternative))).collect();
                        self.push(all, Rule::OneWay)
                    }
                    None => self.cases[*tag as usize - clauses.effects.len()].step,
                },
                Origin::Learned(hints) => {
                    let hints = hints.iter().map(|&hint| step_of[hint as usize]).collect();
                    let lits = clause.lits.iter().map(|&lit| {
                        let took = self.took(clauses.taken[lit.var()]);
                        if lit.is_negative() { !took } else { took }
                    });
                    let lits = lits.collect();
                    self.push(lits, Rule::Derived(hints))
                }
                Origin::Cycle(_) => unreachable!("there are no edges"),
            };
            step_of.push(step);
        }
    }

    fn alternative_count(&self, effect: u32) -> u32 {
        self.effects.all()[effect as usize].alternatives.len() as u32
    }

    /// The steps that the last one rests on: most cases are about other effects.
    pub fn derivation(&self) -> Vec<Step> {
        let mut number_of: Vec<Option<StepId>> = vec![None; self.steps.len()];
        let mut needed = vec![false; self.steps.len()];
        needed.last_mut().into_iter().for_each(|last| *last = true);
        for (number, step) in self.steps.iter().enumerate().rev() {
            if let (true, Rule::Derived(hints)) = (needed[number], &step.rule) {
                hints.iter().for_each(|&hint| needed[hint as usize] = true);
            }
        }
        let mut steps = Vec::new();
        for (number, step) in self.steps.iter().enumerate().filter(|&(number, _)| needed[number]) {
            let mut step = step.clone();
            if let Rule::Derived(hints) = &mut step.rule {
                hints.iter_mut().for_each(|hint| *hint = number_of[*hint as usize].unwrap_or(*hint));
            }
            number_of[number] = Some(steps.len() as StepId);
            steps.push(step);
        }
        steps
    }

    fn took(&self, (effect, alternative): Taken) -> Lit {
        let effect = &self.effects.all()[effect as usize];
        Lit::took(effect.txn, effect.key, alternative)
    }

    fn push(&mut self, clause: Vec<Lit>, rule: Rule) -> StepId {
        self.steps.push(Step { clause, rule });
        self.steps.len() as StepId - 1
    }
}

/// The cases as clauses of the solver, and that each effect in them has an alternative.
struct Clauses {
    setup: Setup,
    /// The effects that occur in cases; their clauses have the first tags.
    effects: Vec<u32>,
    /// What each variable stands for.
    taken: Vec<Taken>,
}

impl Clauses {
    fn new(cases: &Cases<'_>) -> Self {
        let mut effects: Vec<u32> =
            cases.cases.iter().flat_map(|case| case.taken.iter().map(|&(effect, _)| effect)).collect();
        effects.sort_unstable();
        effects.dedup();
        let (mut setup, mut taken, mut first) = (Setup::default(), Vec::new(), Vec::new());
        for (tag, &effect) in effects.iter().enumerate() {
            let count = cases.alternative_count(effect);
            first.push(taken.len() as u32);
            taken.extend((0..count).map(|alternative| (effect, alternative)));
            let mut options: Vec<solve::Lit> = (0..count).map(|_| setup.new_var()).collect();
            setup.add_clause(options.clone(), tag as u32);
            options.rotate_left(cases.selection[effect as usize] as usize);
            setup.add_choice(&[], &options);
        }
        let mut clauses = Self { setup, effects, taken };
        for (number, case) in cases.cases.iter().enumerate() {
            let var = |&(effect, alternative): &Taken| {
                let place = clauses.effects.partition_point(|&known| known < effect);
                !solve::Lit::positive(first[place] + alternative)
            };
            let lits = case.taken.iter().map(var).collect();
            clauses.setup.add_clause(lits, (clauses.effects.len() + number) as u32);
        }
        clauses
    }

    /// Of each effect an alternative that is true.
    fn take_selection(&self, solver: &Solver<'_>, selection: &mut [u32]) {
        for (var, &(effect, alternative)) in self.taken.iter().enumerate() {
            let is_true = |var: usize| solver.value(solve::Lit::positive(var as u32)) == Some(true);
            let before = var as u32 - alternative + selection[effect as usize];
            if is_true(var) && !is_true(before as usize) {
                selection[effect as usize] = alternative;
            }
        }
    }
}

fn by_key(history: &History, effects: &RowEffects) -> Vec<Vec<u32>> {
    let mut by_key = vec![Vec::new(); history.keys().len()];
    for (number, effect) in effects.all().iter().enumerate() {
        by_key[effect.key.index()].push(number as u32);
    }
    by_key
}
