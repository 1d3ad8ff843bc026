//! Selects an alternative for every row effect; conflicts found by the engine guide the selection.
//!
//! With all alternatives selected the engine decides the history. If it refutes the selection, the alternatives that
//! its derivation rests on are a *case*: a set of alternatives that cannot all be true. An effect of the case is then
//! decided, one alternative after the other. If every alternative conflicts, the conflicts are resolved into a new case
//! without that effect. A case that does not contain the last decision is carried back to the decision that it is
//! about, so unrelated contradictions are not multiplied. The last selection is the next guess, so repairs are kept.
//!
//! Costs one run of the engine for up to 33 cases, and one look at the known cases per decision. Without carrying cases
//! back, two hundred wrong guesses gave one case for each of their combinations, and no answer.

use std::sync::Arc;

use certify::{Certificate, Level, Lit, Rule, Step, StepId};
use history::History;
use index::{Index, RowEffects};

use super::Engine;
use super::basis::Basis;
use crate::options::{Limit, Options};
use crate::{Verdict, Verified};

/// An effect and one of its alternatives.
pub(super) type Taken = (u32, u32);

/// Not decided.
const OPEN: u32 = u32::MAX;
/// Contradictions that are learnt from one run of the engine.
const AT_ONCE: usize = 32;
/// Known cases that are avoided by changing a guess, before it is tried.
const MAX_CHANGES: usize = 256;

pub(super) enum End {
    Holds(Certificate),
    Limit(Limit),
    /// For every selection of alternatives.
    Plain(Certificate),
    Refuted,
    /// More runs of the engine than it is worth.
    GivenUp,
}

/// Ways that cannot all be, with the step that says so.
#[derive(Clone)]
struct Case {
    taken: Vec<Taken>,
    step: StepId,
}

/// An effect whose alternatives are tried one after the other.
struct Decision {
    effect: u32,
    /// How many alternatives were tried before the current one.
    tried: u32,
    first: u32,
    count: u32,
    /// The cases of the alternatives that were tried.
    cases: Vec<Case>,
}

impl Decision {
    fn taken(&self) -> Taken {
        (self.effect, (self.first + self.tried) % self.count)
    }
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
    guess: Vec<u32>,
    /// For each effect the alternative that is decided.
    decided: Vec<u32>,
    decisions: Vec<Decision>,
    refuted: Vec<Case>,
    /// How often the engine was run, and how often it is worth it.
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
        guess: Vec<u32>,
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
            decided: vec![OPEN; guess.len()],
            guess,
            decisions: Vec::new(),
            refuted: Vec::new(),
            runs: 0,
            most_runs: usize::MAX,
        }
    }

    /// How many cases were looked at.
    pub fn count(&self) -> u64 {
        self.refuted.len() as u64 + 1
    }

    /// Looks for an explanation, or shows that there is none.
    pub fn run(&mut self) -> End {
        loop {
            let case = match self.next_case() {
                Ok(case) => case,
                Err(end) => return end,
            };
            let count_of = |effect: u32| self.effects.all()[effect as usize].alternatives.len() as u32;
            let open = case.taken.iter().filter(|&&(effect, _)| self.decided[effect as usize] == OPEN);
            match open.min_by_key(|&&(effect, _)| count_of(effect)) {
                Some(&(effect, alternative)) => {
                    // What was refuted comes last.
                    let count = count_of(effect);
                    let decision =
                        Decision { effect, tried: 0, first: alternative + 1, count, cases: Vec::new() };
                    self.decide(decision);
                }
                None => {
                    if self.go_back(case) {
                        return End::Refuted;
                    }
                }
            }
        }
    }

    /// A case that the choice runs into: a known one, or what the engine refutes.
    fn next_case(&mut self) -> Result<Case, End> {
        let is_decided = |case: &&Case| is_chosen(&self.decided, &case.taken);
        if let Some(case) = self.refuted.iter().find(is_decided) {
            return Ok(case.clone());
        }
        self.avoid_known_cases();
        match self.refuted.iter().find(|case| is_chosen(&self.guess, &case.taken)) {
            Some(case) => Ok(case.clone()),
            None => self.try_guess(),
        }
    }

    /// Changes the guess where a known case speaks against it, as far as that is easy.
    fn avoid_known_cases(&mut self) {
        for _ in 0..MAX_CHANGES {
            let Some(case) = self.refuted.iter().find(|case| is_chosen(&self.guess, &case.taken)) else {
                return;
            };
            let is_open = |&&(effect, _): &&Taken| self.decided[effect as usize] == OPEN;
            let Some(&(effect, alternative)) = case.taken.iter().rev().find(is_open) else { return };
            let count = self.effects.all()[effect as usize].alternatives.len() as u32;
            self.guess[effect as usize] = (alternative + 1) % count;
        }
    }

    /// Runs the engine; what it refutes is a new case.
    fn try_guess(&mut self) -> Result<Case, End> {
        if let Some(limit) = (self.options.limit)() {
            return Err(End::Limit(limit));
        }
        if self.runs >= self.most_runs {
            return Err(End::GivenUp);
        }
        self.runs += 1;
        let index = Index::choosing(self.history, self.effects.clone(), self.guess.clone());
        let (answer, others) = (self.engine)(&index, AT_ONCE);
        let verdict = answer.verdict.clone();
        self.last = Some(answer);
        let certificate = match verdict {
            Verdict::Holds(certificate) => return Err(End::Holds(certificate)),
            Verdict::Undecided(limit) => return Err(End::Limit(limit)),
            Verdict::Violated(certificate) => certificate,
        };
        let Some(case) = self.refute_case(&index, &certificate) else {
            return Err(End::Plain(self.simplest(&index, certificate)));
        };
        for other in others {
            self.refute_case(&index, &other);
        }
        Ok(case)
    }

    /// The alternatives that a contradiction rests on are a new case; `None` if it rests on none.
    fn refute_case(&mut self, index: &Index, certificate: &Certificate) -> Option<Case> {
        let taken = self.basis(index, certificate);
        let Certificate::Violated { steps, .. } = certificate else { return None };
        (!taken.is_empty()).then(|| self.refute(taken, Rule::Case(steps.clone())))
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

    fn decide(&mut self, decision: Decision) {
        let (effect, alternative) = decision.taken();
        self.decided[effect as usize] = alternative;
        self.guess[effect as usize] = alternative;
        self.decisions.push(decision);
    }

    /// Takes back decisions until one is left with another alternative to try; true if there is none. All alternatives
    /// of the case are decided.
    fn go_back(&mut self, mut case: Case) -> bool {
        while let Some(mut decision) = self.decisions.pop() {
            self.decided[decision.effect as usize] = OPEN;
            if !case.taken.contains(&decision.taken()) {
                continue;
            }
            decision.cases.push(case);
            decision.tried += 1;
            if decision.tried < decision.count {
                self.decide(decision);
                return false;
            }
            case = self.resolve(&decision);
        }
        true
    }

    /// Each alternative of an effect is in a case: together they are a case without it.
    fn resolve(&mut self, decision: &Decision) -> Case {
        let mut taken: Vec<Taken> =
            decision.cases.iter().flat_map(|case| case.taken.iter().copied()).collect();
        taken.retain(|&(effect, _)| effect != decision.effect);
        taken.sort_unstable();
        taken.dedup();
        let mut hints: Vec<StepId> = decision.cases.iter().map(|case| case.step).collect();
        let all_alternatives =
            (0..decision.count).map(|alternative| self.took((decision.effect, alternative))).collect();
        hints.push(self.push(all_alternatives, Rule::OneWay));
        self.refute(taken, Rule::Derived(hints))
    }

    fn refute(&mut self, taken: Vec<Taken>, rule: Rule) -> Case {
        let clause = taken.iter().map(|&alternative| !self.took(alternative)).collect();
        let case = Case { step: self.push(clause, rule), taken };
        self.refuted.push(case.clone());
        case
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

fn is_chosen(choice: &[u32], taken: &[Taken]) -> bool {
    taken.iter().all(|&(effect, alternative)| choice[effect as usize] == alternative)
}

fn by_key(history: &History, effects: &RowEffects) -> Vec<Vec<u32>> {
    let mut by_key = vec![Vec::new(); history.keys().len()];
    for (number, effect) in effects.all().iter().enumerate() {
        by_key[effect.key.index()].push(number as u32);
    }
    by_key
}
