//! Decides any level on a small history with a solver instead of enumeration.
//!
//! Unknowns are the order, visibility where the framework has it, the source of each read among the writers of its
//! value, and whether a transaction of unknown outcome committed. Each thing the level demands has a switch, so an
//! unsatisfiable answer names the demands that contradict one another, as few as deleting one by one leaves.
//! For n transactions: n^2 unknowns, n^3 clauses for the order, and what the level's formula grounds to.

use crate::circuit::{Circuit, Lit};
use crate::core::{Base, Framework, Level, Rel};
use crate::dense::Evaluator;
use crate::grounding::Grounding;
use crate::oracle::Explanation;
use crate::sat::Solver;
use crate::small::{Object, SmallHistory, object_name, session_name};

/// Whether a level allows a history, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GroundAnswer {
    /// It does, by this witness.
    Allowed(Explanation),
    /// It does not: these cannot all be true.
    Forbidden(Vec<Reason>),
}

/// A demand that takes part in a contradiction. Transactions are places in the history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A committed transaction wrote what was read.
    NoSource {
        /// The transaction that read.
        reader: usize,
        /// What object.
        object: Object,
    },
    /// The level's order contains this pair.
    Ordered {
        /// Which relation says so.
        by: &'static str,
        /// The earlier one.
        first: Option<usize>,
        /// The later one.
        second: usize,
    },
    /// The reader sees `writer`, another writer of what it reads, so that one comes before its source.
    Edge {
        /// The transaction that read.
        reader: usize,
        /// What object.
        object: Object,
        /// The transaction that it read from; nothing for the initial state.
        source: Option<usize>,
        /// The other writer.
        writer: Option<usize>,
    },
    /// The rest of what the level demands.
    Demand,
}

impl Reason {
    /// The reason as a sentence about a history.
    pub fn sentence(&self, history: &SmallHistory) -> String {
        let name = |place: &usize| txn_name(history, *place);
        let named = |place: &Option<usize>| place.as_ref().map_or("the initial state".to_string(), name);
        match self {
            Self::NoSource { reader, object } => {
                format!("{} read {} from a transaction that committed", name(reader), object_name(*object))
            }
            Self::Ordered { by, first, second } => {
                format!("{} comes before {}: {by}", named(first), name(second))
            }
            Self::Edge { reader, object, source, writer } => format!(
                "if {reader} sees {writer}, {writer} comes before {source}: {reader} read {object} from {source}, and {writer} \
                 wrote {object} too",
                reader = name(reader),
                writer = named(writer),
                source = named(source),
                object = object_name(*object)
            ),
            Self::Demand => "what else the level demands".to_string(),
        }
    }
}

/// The name of a transaction: its session, and its number there if the session has several.
pub fn txn_name(history: &SmallHistory, place: usize) -> String {
    let session = history.txns[place].session;
    let before = history.txns[..place].iter().filter(|txn| txn.session == session).count();
    let is_only = history.txns.iter().filter(|txn| txn.session == session).count() == 1;
    let name = session_name(session);
    if is_only { name } else { format!("{name}{}", before + 1) }
}

/// Whether a level allows a history, by a solver.
pub fn decide(history: &SmallHistory, level: &Level) -> GroundAnswer {
    let mut circuit = Circuit::default();
    let mut solver = Solver::default();
    let grounding = Grounding::new(history, level.framework, &mut circuit, &mut solver);
    let mut question = Question { circuit, solver, grounding, switches: Vec::new(), wants_reasons: true };
    question.demand(level);
    question.answer(history, level)
}

/// Why a level allows a history, or nothing if it does not: as [`decide`], quicker, and without reasons.
pub fn explain(history: &SmallHistory, level: &Level) -> Option<Explanation> {
    let mut circuit = Circuit::default();
    let mut solver = Solver::default();
    let grounding = Grounding::new(history, level.framework, &mut circuit, &mut solver);
    let mut question = Question { circuit, solver, grounding, switches: Vec::new(), wants_reasons: false };
    question.demand(level);
    let is_allowed = question.solver.solve(&question.circuit, &[]);
    is_allowed.then(|| question.grounding.explanation(history, level.framework, &question.solver))
}

/// The log of a refutation: that no witness satisfies the level's text, in clauses that any checker can replay; nothing
/// if there is a witness.
pub fn refutation(history: &SmallHistory, level: &Level) -> Option<crate::sat::Proof> {
    let mut circuit = Circuit::default();
    let mut solver = Solver::new(true);
    let grounding = Grounding::new(history, level.framework, &mut circuit, &mut solver);
    let mut question = Question { circuit, solver, grounding, switches: Vec::new(), wants_reasons: false };
    question.demand(level);
    let is_allowed = question.solver.solve(&question.circuit, &[]);
    if is_allowed { None } else { question.solver.proof() }
}

struct Question {
    circuit: Circuit,
    solver: Solver,
    grounding: Grounding,
    switches: Vec<(Lit, Reason)>,
    wants_reasons: bool,
}

impl Question {
    /// Demands `fact` if the switch of `reason` is on.
    fn switched(&mut self, fact: Lit, reason: Reason) {
        if fact == Lit::TRUE {
            return;
        }
        if !self.wants_reasons {
            return self.solver.require(&self.circuit, fact);
        }
        let switch = self.circuit.input();
        self.solver.require_any(&self.circuit, &[!switch, fact]);
        self.switches.push((switch, reason));
    }

    fn demand(&mut self, level: &Level) {
        for (reader, object, sourced) in self.grounding.sourced.clone() {
            self.switched(sourced, Reason::NoSource { reader, object });
        }
        match (level.framework, &level.visible) {
            (Framework::CommitOrder, Some(visible)) => {
                self.ordered(&level.order);
                for part in union_parts(visible) {
                    match part.of_level().unwrap_or((part, "")) {
                        (Rel::Base(Base::Earlier), level) => self.edges_of_earlier(level),
                        _ if part.mentions(Base::Earlier) => return self.whole(&level.demand()),
                        _ => self.edges_of(part),
                    }
                }
                self.whole(&level.require);
            }
            _ => {
                self.whole(&level.axioms());
                self.whole(&level.demand());
            }
        }
    }

    fn whole(&mut self, formula: &crate::core::Formula) {
        let fact = Evaluator::new(&mut self.grounding.with(&mut self.circuit)).formula(formula);
        self.switched(fact, Reason::Demand);
    }

    fn ordered(&mut self, order: &Rel) {
        let parts = union_parts(order);
        let count = self.grounding.txn_count();
        for part in parts {
            let table = Evaluator::new(&mut self.grounding.with(&mut self.circuit)).table(part);
            for second in 1..count {
                for first in 0..count {
                    let before = self.grounding.before[first][second];
                    let fact = self.circuit.implies(table.at(&[first, second]), before);
                    let (first, second) = (self.grounding.place(first), self.grounding.place(second));
                    let reason =
                        Reason::Ordered { by: word_of(part), first, second: second.expect("not initial") };
                    self.switched(fact, reason);
                }
            }
        }
    }

    fn edges_of(&mut self, visible: &Rel) {
        let table = Evaluator::new(&mut self.grounding.with(&mut self.circuit)).table(visible);
        self.edges(|_, _, edge| table.at(&[edge.writer, edge.reader]));
    }

    /// A transaction sees those that it has read from before the read in question; with a level, only transactions that
    /// ran at it do.
    fn edges_of_earlier(&mut self, level: &str) {
        self.edges(|grounding, circuit, edge| {
            let is_in = level.is_empty() || grounding.ran_at(level, edge.reader) != Lit::FALSE;
            match is_in {
                true => grounding.reads_then(circuit, &[edge.object, edge.writer, edge.source, edge.reader]),
                false => Lit::FALSE,
            }
        });
    }

    fn edges(&mut self, sees: impl Fn(&Grounding, &mut Circuit, &Edge) -> Lit) {
        let count = self.grounding.txn_count();
        for reader in 1..count {
            for object in 0..self.grounding.objects {
                for source in (0..count).filter(|&source| source != reader) {
                    let reads = self.grounding.reads_from_on(&mut self.circuit, object, source, reader);
                    if reads == Lit::FALSE {
                        continue;
                    }
                    for writer in (0..count).filter(|&writer| writer != source) {
                        let edge = Edge { reader, object, source, writer };
                        let sees = sees(&self.grounding, &mut self.circuit, &edge);
                        self.edge(&edge, reads, sees);
                    }
                }
            }
        }
    }

    fn edge(&mut self, edge: &Edge, reads: Lit, sees: Lit) {
        let &Edge { reader, object, source, writer } = edge;
        let sees = self.circuit.and(self.grounding.writes(object, writer), sees);
        let guard = self.circuit.and(reads, sees);
        let fact = self.circuit.implies(guard, self.grounding.before[writer][source]);
        let place = |txn| self.grounding.place(txn);
        let reader = place(reader).expect("not initial");
        let reason = Reason::Edge { reader, object, source: place(source), writer: place(writer) };
        self.switched(fact, reason);
    }

    fn answer(mut self, history: &SmallHistory, level: &Level) -> GroundAnswer {
        let mut switches: Vec<Lit> = self.switches.iter().map(|&(switch, _)| switch).collect();
        if self.solver.solve(&self.circuit, &switches) {
            return GroundAnswer::Allowed(self.grounding.explanation(history, level.framework, &self.solver));
        }
        switches = self.solver.core(&self.circuit, &switches);
        let mut at = 0;
        while at < switches.len() {
            let mut fewer = switches.clone();
            fewer.remove(at);
            if self.solver.solve(&self.circuit, &fewer) {
                at += 1;
            } else {
                // What the smaller contradiction does not need goes too; those kept before are needed by all.
                switches = self.solver.core(&self.circuit, &fewer);
                at = 0;
            }
        }
        let kept = self.switches.into_iter().filter(|(switch, _)| switches.contains(switch));
        GroundAnswer::Forbidden(kept.map(|(_, reason)| reason).collect())
    }
}

/// A reader that read an object from a source, and another writer of the object; transactions as the grounding has
/// them.
struct Edge {
    reader: usize,
    object: usize,
    source: usize,
    writer: usize,
}

fn union_parts(rel: &Rel) -> Vec<&Rel> {
    match rel {
        Rel::Union(left, right) => [union_parts(left), union_parts(right)].concat(),
        other => vec![other],
    }
}

fn word_of(rel: &Rel) -> &'static str {
    match rel {
        Rel::Base(Base::Session) => "session order",
        Rel::Base(Base::ReadsFrom) => "reads from",
        Rel::Base(Base::RealTime | Base::CommitRealTime) => "real time",
        _ => "the level's order",
    }
}
