//! Checks a logged proof: every learnt clause follows by unit propagation, and the last one is empty.
//!
//! Reverse unit propagation (Goldberg and Novikov), forward over the whole log, with two watched literals. It shares
//! nothing with the solver that wrote the log. A learnt clause costs one propagation over all clauses so far.

use spec::sat::Proof;

/// Why a proof is not one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// This learnt clause does not follow by propagation.
    DoesNotFollow(usize),
    /// The log ends without a contradiction.
    NoContradiction,
}

/// Whether a log derives a contradiction from the clauses given.
pub fn check(proof: &Proof) -> Result<(), Flaw> {
    let mut checker = Checker::default();
    for clause in &proof.given {
        if !checker.add(clause) {
            return Ok(());
        }
    }
    for (number, clause) in proof.learnt.iter().enumerate() {
        if !checker.follows(clause) {
            return Err(Flaw::DoesNotFollow(number));
        }
        if !checker.add(clause) {
            return Ok(());
        }
    }
    Err(Flaw::NoContradiction)
}

#[derive(Default)]
struct Checker {
    clauses: Vec<Vec<i32>>,
    /// By literal: the clauses that watch it.
    watches: Vec<Vec<usize>>,
    /// By variable: 1 true, -1 false, 0 open.
    values: Vec<i8>,
    trail: Vec<i32>,
    propagated: usize,
}

fn slot(lit: i32) -> usize {
    2 * lit.unsigned_abs() as usize + usize::from(lit < 0)
}

impl Checker {
    fn value(&self, lit: i32) -> i8 {
        let value = self.values[lit.unsigned_abs() as usize];
        if lit < 0 { -value } else { value }
    }

    fn make_room(&mut self, clause: &[i32]) {
        let most = clause.iter().map(|lit| lit.unsigned_abs() as usize).max().unwrap_or(0);
        if most >= self.values.len() {
            self.values.resize(most + 1, 0);
            self.watches.resize(2 * most + 2, Vec::new());
        }
    }

    /// Adds a clause for good; false if that is a contradiction.
    fn add(&mut self, clause: &[i32]) -> bool {
        self.make_room(clause);
        let mut clause = clause.to_vec();
        // A literal that stands twice would be watched twice, and a unit clause not be seen as one.
        clause.sort_unstable();
        clause.dedup();
        clause.sort_by_key(|&lit| -self.value(lit));
        match clause.as_slice() {
            [] => return false,
            [unit] => {
                let unit = *unit;
                return self.assign(unit) && self.propagate();
            }
            [first, second, ..] => {
                let (first, second) = (*first, *second);
                let number = self.clauses.len();
                self.watches[slot(first)].push(number);
                self.watches[slot(second)].push(number);
                self.clauses.push(clause);
                if self.value(second) < 0 && self.value(first) <= 0 {
                    return self.assign(first) && self.propagate();
                }
            }
        }
        true
    }

    /// Whether the opposite of a clause leads to a contradiction; nothing is kept.
    fn follows(&mut self, clause: &[i32]) -> bool {
        self.make_room(clause);
        let start = self.trail.len();
        let contradiction = clause.iter().any(|&lit| !self.assign(-lit)) || !self.propagate();
        for lit in self.trail.drain(start..) {
            self.values[lit.unsigned_abs() as usize] = 0;
        }
        self.propagated = start;
        contradiction
    }

    fn assign(&mut self, lit: i32) -> bool {
        if self.value(lit) == 0 {
            self.values[lit.unsigned_abs() as usize] = if lit < 0 { -1 } else { 1 };
            self.trail.push(lit);
        }
        self.value(lit) > 0
    }

    fn propagate(&mut self) -> bool {
        while self.propagated < self.trail.len() {
            let falsified = -self.trail[self.propagated];
            self.propagated += 1;
            let watching = std::mem::take(&mut self.watches[slot(falsified)]);
            for (at, &number) in watching.iter().enumerate() {
                if !self.visit(number, falsified) {
                    self.watches[slot(falsified)].extend(&watching[at + 1..]);
                    return false;
                }
            }
        }
        true
    }

    /// A clause lost a watched literal: watch another, or the other watched one must be true.
    fn visit(&mut self, number: usize, falsified: i32) -> bool {
        let mut clause = std::mem::take(&mut self.clauses[number]);
        if clause[0] == falsified {
            clause.swap(0, 1);
        }
        let replacement = (2..clause.len()).find(|&at| self.value(clause[at]) >= 0);
        let ok = match replacement {
            _ if self.value(clause[0]) > 0 => {
                self.watches[slot(falsified)].push(number);
                true
            }
            Some(at) => {
                clause.swap(1, at);
                self.watches[slot(clause[1])].push(number);
                true
            }
            None => {
                self.watches[slot(falsified)].push(number);
                self.assign(clause[0])
            }
        };
        self.clauses[number] = clause;
        ok
    }
}
