//! A circuit's literals to clauses, and an incremental solver for them.
//!
//! Plaisted and Greenbaum's encoding: a gate gets only the direction in which it is used, and a gate that is used once
//! is written into its user, so a long disjunction becomes one clause. The solver is batsat, a MiniSat in Rust; with
//! logging on, the clauses given and the clauses learnt are kept as a DIMACS text and a DRAT proof.

use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

use batsat::{Callbacks, Lit as SatLit, SolverInterface, SolverOpts, Var, clause, lbool};

use crate::circuit::{Circuit, Gate, Lit};

/// Clauses given and clauses learnt, in the notation of the SAT community.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// The clauses given, as literals counted from 1 with sign.
    pub given: Vec<Vec<i32>>,
    /// The clauses learnt, in order; the last is empty if the clauses have no model.
    pub learnt: Vec<Vec<i32>>,
}

impl Proof {
    /// The clauses given as DIMACS text; `comment` lines go first.
    pub fn dimacs(&self, comment: &str) -> String {
        let variables = self.given.iter().flatten().map(|lit| lit.unsigned_abs()).max().unwrap_or(0);
        let mut text = String::new();
        comment.lines().for_each(|line| writeln!(text, "c {line}").expect("text grows"));
        writeln!(text, "p cnf {variables} {}", self.given.len()).expect("text grows");
        self.given.iter().for_each(|clause| write_clause(&mut text, clause));
        text
    }

    /// The clauses learnt as DRAT text.
    pub fn drat(&self) -> String {
        let mut text = String::new();
        self.learnt.iter().for_each(|clause| write_clause(&mut text, clause));
        text
    }
}

fn write_clause(text: &mut String, clause: &[i32]) {
    clause.iter().for_each(|lit| write!(text, "{lit} ").expect("text grows"));
    text.push_str("0\n");
}

#[derive(Default)]
struct Recorder {
    proof: Option<Rc<RefCell<Proof>>>,
}

impl Callbacks for Recorder {
    fn on_new_clause(&mut self, clause: &[SatLit], kind: clause::Kind) {
        if let (Some(proof), clause::Kind::Learnt) = (&self.proof, kind) {
            proof.borrow_mut().learnt.push(clause.iter().map(|&lit| numbered(lit)).collect());
        }
    }
}

fn numbered(lit: SatLit) -> i32 {
    let number = i32::try_from(lit.var().idx()).expect("fewer than 2^31 variables") + 1;
    if lit.sign() { number } else { -number }
}

/// An incremental solver for the literals of one circuit.
pub struct Solver {
    sat: batsat::Solver<Recorder>,
    vars: Vec<Option<Var>>,
    /// Bit 0: a true output implies its gate; bit 1: a false one does.
    written: Vec<u8>,
    proof: Option<Rc<RefCell<Proof>>>,
    clause_count: usize,
}

const POSITIVE: u8 = 1;
const NEGATIVE: u8 = 2;

impl Default for Solver {
    fn default() -> Self {
        Self::new(false)
    }
}

impl Solver {
    /// A solver without clauses; with `log` it keeps what is needed for a proof.
    pub fn new(log: bool) -> Self {
        let proof = log.then(|| Rc::new(RefCell::new(Proof::default())));
        let recorder = Recorder { proof: proof.clone() };
        let sat = batsat::Solver::new(SolverOpts::default(), recorder);
        Self { sat, vars: Vec::new(), written: Vec::new(), proof, clause_count: 0 }
    }

    /// How many clauses were given.
    pub fn clause_count(&self) -> usize {
        self.clause_count
    }

    /// How many conflicts the search met.
    pub fn conflict_count(&self) -> u64 {
        self.sat.num_conflicts()
    }

    /// Demands that a literal is true.
    pub fn require(&mut self, circuit: &Circuit, lit: Lit) {
        match circuit.gates[lit.node()] {
            _ if lit == Lit::TRUE => {}
            Gate::And(left, right) if !lit.is_negated() => {
                self.require(circuit, left);
                self.require(circuit, right);
            }
            _ => self.require_any(circuit, &[lit]),
        }
    }

    /// Demands that at least one literal is true.
    pub fn require_any(&mut self, circuit: &Circuit, lits: &[Lit]) {
        let mut disjuncts = Vec::new();
        for &lit in lits {
            self.flatten(circuit, lit, true, &mut disjuncts);
        }
        if disjuncts.contains(&Lit::TRUE) {
            return;
        }
        let clause = disjuncts.into_iter().filter(|&lit| lit != Lit::FALSE);
        let mut clause: Vec<SatLit> = clause.map(|lit| self.sat_lit(circuit, lit)).collect();
        self.add(&mut clause);
    }

    /// The parts of a disjunction: a negated gate that only this one uses is the disjunction of its negated sides.
    fn flatten(&self, circuit: &Circuit, lit: Lit, is_top: bool, parts: &mut Vec<Lit>) {
        match circuit.gates[lit.node()] {
            Gate::And(left, right) if lit.is_negated() && (is_top || self.is_private(circuit, lit)) => {
                self.flatten(circuit, !left, false, parts);
                self.flatten(circuit, !right, false, parts);
            }
            _ => parts.push(lit),
        }
    }

    fn is_private(&self, circuit: &Circuit, lit: Lit) -> bool {
        circuit.uses[lit.node()] <= 1 && self.written.get(lit.node()).copied().unwrap_or(0) == 0
    }

    /// The solver's literal, with the clauses that make it mean what it should where it is true.
    fn sat_lit(&mut self, circuit: &Circuit, lit: Lit) -> SatLit {
        let var = self.var(circuit, lit.node());
        let direction = if lit.is_negated() { NEGATIVE } else { POSITIVE };
        if self.written[lit.node()] & direction == 0 {
            self.written[lit.node()] |= direction;
            self.write_gate(circuit, lit, var);
        }
        SatLit::new(var, !lit.is_negated())
    }

    fn var(&mut self, circuit: &Circuit, node: usize) -> Var {
        if node >= self.vars.len() {
            self.vars.resize(node + 1, None);
            self.written.resize(node + 1, 0);
        }
        let polarity = match circuit.gates[node] {
            Gate::Input(Some(true)) => lbool::TRUE,
            Gate::Input(Some(false)) => lbool::FALSE,
            _ => lbool::UNDEF,
        };
        *self.vars[node].get_or_insert_with(|| self.sat.new_var(polarity, true))
    }

    fn write_gate(&mut self, circuit: &Circuit, lit: Lit, var: Var) {
        if lit.node() == 0 {
            return self.add(&mut vec![SatLit::new(var, true)]);
        }
        let Gate::And(left, right) = circuit.gates[lit.node()] else {
            return;
        };
        if lit.is_negated() {
            // False output: one of the sides is false.
            let mut parts = Vec::new();
            self.flatten(circuit, !left, false, &mut parts);
            self.flatten(circuit, !right, false, &mut parts);
            let mut clause: Vec<SatLit> = parts.into_iter().map(|part| self.sat_lit(circuit, part)).collect();
            clause.push(SatLit::new(var, true));
            self.add(&mut clause);
        } else {
            self.write_conjuncts(circuit, left, var);
            self.write_conjuncts(circuit, right, var);
        }
    }

    fn write_conjuncts(&mut self, circuit: &Circuit, lit: Lit, output: Var) {
        match circuit.gates[lit.node()] {
            Gate::And(left, right) if !lit.is_negated() && self.is_private(circuit, lit) => {
                self.write_conjuncts(circuit, left, output);
                self.write_conjuncts(circuit, right, output);
            }
            _ => {
                let mut parts = Vec::new();
                self.flatten(circuit, lit, false, &mut parts);
                let mut clause: Vec<SatLit> =
                    parts.into_iter().map(|part| self.sat_lit(circuit, part)).collect();
                clause.push(SatLit::new(output, false));
                self.add(&mut clause);
            }
        }
    }

    fn add(&mut self, clause: &mut Vec<SatLit>) {
        self.clause_count += 1;
        if let Some(proof) = &self.proof {
            proof.borrow_mut().given.push(clause.iter().map(|&lit| numbered(lit)).collect());
        }
        self.sat.add_clause_reuse(clause);
    }

    /// Whether all demands and all assumptions can be true together.
    pub fn solve(&mut self, circuit: &Circuit, assumptions: &[Lit]) -> bool {
        let assumptions: Vec<SatLit> = assumptions.iter().map(|&lit| self.sat_lit(circuit, lit)).collect();
        let result = self.sat.solve_limited(&assumptions);
        assert_ne!(result, lbool::UNDEF, "the search has no limit");
        result == lbool::TRUE
    }

    /// Whether a literal is true in the model that was found; unknowns that nothing mentions are false.
    pub fn value(&self, lit: Lit) -> bool {
        if lit.node() == 0 {
            return lit == Lit::TRUE;
        }
        let Some(&Some(var)) = self.vars.get(lit.node()) else {
            return lit.is_negated();
        };
        let truth = self.sat.value_var(var) == lbool::TRUE;
        truth != lit.is_negated()
    }

    /// The assumptions that could not be true together.
    pub fn core(&mut self, circuit: &Circuit, assumptions: &[Lit]) -> Vec<Lit> {
        let failed: Vec<bool> = assumptions
            .iter()
            .map(|&lit| {
                let sat_lit = self.sat_lit(circuit, lit);
                self.sat.unsat_core_contains_lit(sat_lit) || self.sat.unsat_core_contains_lit(!sat_lit)
            })
            .collect();
        assumptions.iter().zip(failed).filter(|&(_, failed)| failed).map(|(&lit, _)| lit).collect()
    }

    /// What was logged so far; with no model left, the proof ends with the empty clause.
    pub fn proof(&self) -> Option<Proof> {
        let mut proof = self.proof.as_ref()?.borrow().clone();
        if !self.sat.is_ok() && proof.learnt.last().is_none_or(|last| !last.is_empty()) {
            proof.learnt.push(Vec::new());
        }
        Some(proof)
    }
}
