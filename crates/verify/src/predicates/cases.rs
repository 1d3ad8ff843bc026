//! Choosing a way for every story, by what the engine refutes.
//!
//! With all ways chosen the engine decides. If it refutes the choice, the ways that its derivation rests on are a *case*
//! that cannot be. A story of it is decided, one way after the other; when each of its ways is in a case with what was
//! decided before, these cases together are a new one without that story. A case that does not have the last decision
//! is none of its doing, and is carried back to the decision that it is about: so contradictions that have nothing to
//! do with each other are not multiplied. The last choice is the next guess, so what was mended stays so.
//!
//! Costs a run of the engine for up to thirty-three cases, and one look at the known cases per decision. Deciding on without carrying back
//! took a case for each combination of two hundred wrong guesses, which is never.

use std::sync::Arc;

use certify::{Certificate, Level, Lit, Rule, Step, StepId};
use history::{History, Index, Stories};

use super::Engine;
use super::basis::Basis;
use crate::options::{Limit, Options};
use crate::{Answer, Verdict};

/// A story and one of its alternatives.
pub(super) type Way = (u32, u32);

/// Not decided.
const OPEN: u32 = u32::MAX;
/// Contradictions that are learnt from one run of the engine.
const AT_ONCE: usize = 32;
/// Known cases that are avoided by changing a guess, before it is tried.
const MAX_CHANGES: usize = 256;

pub(super) enum End {
    Holds(Certificate),
    Limit(Limit),
    /// Whatever the ways.
    Plain(Certificate),
    Refuted,
    /// More runs of the engine than it is worth.
    GivenUp,
}

/// Ways that cannot all be, with the step that says so.
#[derive(Clone)]
struct Case {
    ways: Vec<Way>,
    step: StepId,
}

/// A story whose ways are tried one after the other.
struct Decision {
    story: u32,
    /// How many ways were tried before the one that is.
    tried: u32,
    first: u32,
    count: u32,
    /// The cases of the ways that were tried.
    cases: Vec<Case>,
}

impl Decision {
    fn way(&self) -> Way {
        (self.story, (self.first + self.tried) % self.count)
    }
}

pub(super) struct Cases<'a> {
    pub history: &'a History,
    pub stories: &'a Arc<Stories>,
    pub level: &'a Level,
    pub by_key: Vec<Vec<u32>>,
    pub last: Option<Answer>,
    steps: Vec<Step>,
    options: &'a Options<'a>,
    engine: &'a Engine<'a>,
    guess: Vec<u32>,
    /// For each story the way that is decided.
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
        stories: &'a Arc<Stories>,
        level: &'a Level,
        options: &'a Options<'a>,
        engine: &'a Engine<'a>,
        guess: Vec<u32>,
    ) -> Self {
        Self {
            history,
            stories,
            level,
            by_key: by_key(history, stories),
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
            let ways_of = |story: u32| self.stories.all()[story as usize].alternatives.len() as u32;
            let open = case.ways.iter().filter(|&&(story, _)| self.decided[story as usize] == OPEN);
            match open.min_by_key(|&&(story, _)| ways_of(story)) {
                Some(&(story, way)) => {
                    // What was refuted comes last.
                    let count = ways_of(story);
                    let decision = Decision { story, tried: 0, first: way + 1, count, cases: Vec::new() };
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
        let is_decided = |case: &&Case| is_chosen(&self.decided, &case.ways);
        if let Some(case) = self.refuted.iter().find(is_decided) {
            return Ok(case.clone());
        }
        self.avoid_known_cases();
        match self.refuted.iter().find(|case| is_chosen(&self.guess, &case.ways)) {
            Some(case) => Ok(case.clone()),
            None => self.try_guess(),
        }
    }

    /// Changes the guess where a known case speaks against it, as far as that is easy.
    fn avoid_known_cases(&mut self) {
        for _ in 0..MAX_CHANGES {
            let Some(case) = self.refuted.iter().find(|case| is_chosen(&self.guess, &case.ways)) else {
                return;
            };
            let is_open = |&&(story, _): &&Way| self.decided[story as usize] == OPEN;
            let Some(&(story, way)) = case.ways.iter().rev().find(is_open) else { return };
            let count = self.stories.all()[story as usize].alternatives.len() as u32;
            self.guess[story as usize] = (way + 1) % count;
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
        let index = Index::choosing(self.history, self.stories.clone(), self.guess.clone());
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

    /// The ways that a contradiction rests on are a new case; `None` if it rests on none.
    fn refute_case(&mut self, index: &Index, certificate: &Certificate) -> Option<Case> {
        let ways = self.basis(index, certificate);
        let Certificate::Violated { steps, .. } = certificate else { return None };
        (!ways.is_empty()).then(|| self.refute(ways, Rule::Case(steps.clone())))
    }

    fn basis(&self, index: &Index, certificate: &Certificate) -> Vec<Way> {
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
        let (story, way) = decision.way();
        self.decided[story as usize] = way;
        self.guess[story as usize] = way;
        self.decisions.push(decision);
    }

    /// Takes back decisions until one is left with another way to try; true if there is none. All ways of the case are
    /// decided.
    fn go_back(&mut self, mut case: Case) -> bool {
        while let Some(mut decision) = self.decisions.pop() {
            self.decided[decision.story as usize] = OPEN;
            if !case.ways.contains(&decision.way()) {
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

    /// Each way of a story is in a case: together they are a case without it.
    fn resolve(&mut self, decision: &Decision) -> Case {
        let mut ways: Vec<Way> = decision.cases.iter().flat_map(|case| case.ways.iter().copied()).collect();
        ways.retain(|&(story, _)| story != decision.story);
        ways.sort_unstable();
        ways.dedup();
        let mut hints: Vec<StepId> = decision.cases.iter().map(|case| case.step).collect();
        let all_ways = (0..decision.count).map(|way| self.took((decision.story, way))).collect();
        hints.push(self.push(all_ways, Rule::OneWay));
        self.refute(ways, Rule::Derived(hints))
    }

    fn refute(&mut self, ways: Vec<Way>, rule: Rule) -> Case {
        let clause = ways.iter().map(|&way| !self.took(way)).collect();
        let case = Case { step: self.push(clause, rule), ways };
        self.refuted.push(case.clone());
        case
    }

    /// The steps that the last one rests on: most cases are about other stories.
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

    fn took(&self, (story, way): Way) -> Lit {
        let story = &self.stories.all()[story as usize];
        Lit::took(story.txn, story.key, way)
    }

    fn push(&mut self, clause: Vec<Lit>, rule: Rule) -> StepId {
        self.steps.push(Step { clause, rule });
        self.steps.len() as StepId - 1
    }
}

fn is_chosen(choice: &[u32], ways: &[Way]) -> bool {
    ways.iter().all(|&(story, way)| choice[story as usize] == way)
}

fn by_key(history: &History, stories: &Stories) -> Vec<Vec<u32>> {
    let mut by_key = vec![Vec::new(); history.keys().len()];
    for (number, story) in stories.all().iter().enumerate() {
        by_key[story.key.index()].push(number as u32);
    }
    by_key
}
