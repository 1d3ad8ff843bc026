//! Looks for a history in one scope: propose, check, and learn from why a forbidden level allows the proposal.
//!
//! The transactions are numbered by the first allowed level's order, which costs nothing in generality. A forbidden
//! level is refuted exactly where a cycle says it all; otherwise for every order that is known: the allowed levels'
//! own orders up front, and the order of each counterexample. A refutation holds for one order, but what is visible
//! along it follows the history, so one counterexample excludes every history that the same order explains.

use spec::circuit::Circuit;
use spec::ground::{self, GroundAnswer};
use spec::sat::Solver;
use spec::{Base, Framework, Level, Rel, SmallHistory, Sort, total_order};

use crate::cycle::{Pattern, is_forced, pattern};
use crate::encode::{Encoder, Witness, pairs_of};
use crate::problem::{Effort, Found, NoneWithin, Problem, Scope, ScopeProof, Synthesis};
use crate::symbols::{Pairs, constant_order};
use crate::unknown::{Numbering, Unknown};

/// The search for the histories of one scope.
pub(crate) struct Search<'p> {
    problem: &'p Problem<'p>,
    scope: Scope,
    pub encoder: Encoder,
    /// Forbidden levels that candidates are checked against.
    open: Vec<Open>,
    effort: Effort,
    legend: Vec<String>,
}

/// A forbidden level that is not refuted in every way yet.
struct Open {
    level: Level,
    /// Orders of allowed levels, for the dearer encodings.
    known_orders: Vec<Pairs>,
    /// Whether what was demanded is already exactly a violation.
    is_exact: bool,
}

impl<'p> Search<'p> {
    pub fn new(problem: &'p Problem<'p>, scope: Scope) -> Self {
        let allow: Vec<Level> = problem.allow.iter().map(|level| level.normal_form(true)).collect();
        let forbid: Vec<Level> = problem.forbid.iter().map(|level| level.normal_form(true)).collect();
        let primary = primary(&allow);
        let mut circuit = Circuit::default();
        let mut solver = Solver::new(problem.options.log_proof);
        let numbering = numbering(primary.map(|at| &allow[at]));
        let unknown = Unknown::new(problem, scope, numbering, &mut circuit, &mut solver);
        let encoder = Encoder::new(circuit, solver, unknown);
        let effort = Effort::default();
        let mut search = Self { problem, scope, encoder, open: Vec::new(), effort, legend: Vec::new() };
        let identity: Vec<usize> = (0..=scope.txns).collect();
        let mut witnesses = Vec::new();
        for (at, level) in allow.iter().enumerate() {
            let fixed = (Some(at) == primary).then(|| constant_order(&identity));
            if let Some(witness) = search.allow(level, fixed) {
                witnesses.push((level, witness));
            }
        }
        search.order_versions(&witnesses);
        forbid.into_iter().for_each(|level| search.forbid(level, &witnesses, &identity));
        search
    }

    fn allow(&mut self, level: &Level, fixed: Option<Pairs>) -> Option<Witness> {
        self.legend.push(format!("allowed: {}", level.name));
        let txns = self.scope.txns + 1;
        let encoder = &mut self.encoder;
        let before = match fixed {
            Some(before) => before,
            None if level.framework == Framework::History => constant_order(&(0..txns).collect::<Vec<_>>()),
            None => total_order(txns, &mut encoder.circuit, &mut encoder.solver),
        };
        let visible = (level.framework == Framework::Visibility)
            .then(|| (0..txns).map(|_| (0..txns).map(|_| encoder.circuit.input()).collect()).collect());
        let witness = Witness { before, visible };
        encoder.allow(level, &witness);
        (level.framework != Framework::History).then_some(witness)
    }

    /// Without blind writes, and if some allowed level lets conflicting writers see one another, or the writer whose
    /// version they overwrite, every writer of an object read the version before its own; so reads lead from each version
    /// to all later ones, and all orders that contain reads-from order the versions alike. This follows from the rest,
    /// and the solver would find it out again and again.
    fn order_versions(&mut self, witnesses: &[(&Level, Witness)]) {
        let contains_reads = |level: &Level| contains_part(&level.order, &Rel::Base(Base::ReadsFrom));
        let is_chained =
            witnesses.iter().any(|(level, _)| level.visible.as_ref().is_some_and(shows_conflicts));
        if self.problem.options.blind_writes || !is_chained {
            return;
        }
        let along: Vec<&Witness> =
            witnesses.iter().filter(|(level, _)| contains_reads(level)).map(|(_, witness)| witness).collect();
        let Some((first, others)) = along.split_first() else { return };
        let reads = Rel::Closure(Box::new(Rel::Base(Base::ReadsFrom)));
        let leads = self.encoder.pairs(&reads, &first.before);
        for (a, b) in pairs_of(self.scope.txns + 1).filter(|&(a, b)| a > 0 && b > 0) {
            let conflict = self.encoder.unknown.conflict[a][b];
            self.encoder.require_any(&[!conflict, !first.before[a][b], leads[a][b]]);
        }
        for other in others {
            for (a, b) in pairs_of(self.scope.txns + 1) {
                let conflict = self.encoder.unknown.conflict[a][b];
                self.encoder.require_any(&[!conflict, !first.before[a][b], other.before[a][b]]);
            }
        }
    }

    fn forbid(&mut self, level: Level, witnesses: &[(&Level, Witness)], identity: &[usize]) {
        self.legend.push(format!("forbidden: {}", level.name));
        if level.framework == Framework::History {
            let witness = Witness { before: constant_order(identity), visible: None };
            let refuted = self.encoder.refuted(&level, &witness, false);
            return self.encoder.require(refuted);
        }
        if self.problem.options.seed_orders {
            for (allowed, witness) in witnesses {
                let order_holds =
                    is_part(&level.order, &allowed.order) && allowed.framework == Framework::CommitOrder;
                self.refute(&level, &witness.before, None, order_holds);
            }
        }
        let known_orders = witnesses.iter().map(|(_, witness)| witness.before.clone()).collect();
        self.open.push(Open { level, known_orders, is_exact: false });
    }

    /// Demands a violation exactly, or as exactly as the known orders permit. This is dearer than seeds, and often not
    /// needed, so it waits for the first candidate that seeds let through.
    fn sharpen(&mut self, at: usize) {
        let open = &mut self.open[at];
        let (level, known_orders) = (open.level.clone(), std::mem::take(&mut open.known_orders));
        let options = self.problem.options;
        let reads_in_order = contains_part(&level.order, &Rel::Base(Base::ReadsFrom));
        if is_forced(&level) {
            open.is_exact = true;
            let edges = self.encoder.forced_edges(&level);
            self.encoder.require_cycle(&edges);
        } else if pattern(&level) == Some(Pattern::Serial) && !options.blind_writes && reads_in_order {
            open.is_exact = true;
            let edges = self.encoder.dependencies_without_blind_writes(&level);
            self.encoder.require_cycle(&edges);
        } else if let Some(pattern) = pattern(&level) {
            for before in known_orders {
                let edges = self.encoder.dependencies(&level, pattern, &before);
                self.encoder.require_cycle(&edges);
            }
        }
    }

    /// Demands that this order does not explain the history for a forbidden level.
    fn refute(&mut self, level: &Level, before: &Pairs, visible: Option<&Pairs>, order_holds: bool) {
        if level.framework == Framework::Visibility {
            return self.refute_visibility(level, before, visible);
        }
        let witness = Witness { before: before.clone(), visible: None };
        let refuted = self.encoder.refuted(level, &witness, order_holds);
        self.encoder.require(refuted);
    }

    /// A visibility without a normal form: the usual expressions are tried in its place, and the one of the
    /// counterexample.
    fn refute_visibility(&mut self, level: &Level, before: &Pairs, visible: Option<&Pairs>) {
        let terms = visibility_terms();
        let mut tried: Vec<Pairs> = terms.iter().map(|term| self.encoder.pairs(term, before)).collect();
        tried.extend(visible.cloned());
        for visible in tried {
            let witness = Witness { before: before.clone(), visible: Some(visible) };
            let refuted = self.encoder.refuted(level, &witness, false);
            self.encoder.require(refuted);
        }
    }

    /// The next history that every forbidden level forbids, if there is one.
    pub fn next(&mut self) -> Option<SmallHistory> {
        while self.encoder.solver.solve(&self.encoder.circuit, &[]) {
            self.effort.candidates += 1;
            let (history, place) = self.encoder.unknown.history(&self.encoder.solver);
            if !self.learn(&history, &place) {
                return Some(history);
            }
        }
        None
    }

    /// Whether some forbidden level allows the history; if so, why is not accepted again.
    fn learn(&mut self, history: &SmallHistory, place: &[usize]) -> bool {
        let mut learnt = false;
        for at in 0..self.open.len() {
            if self.open[at].is_exact {
                continue;
            }
            let level = self.open[at].level.clone();
            let Some(explanation) = ground::explain(history, &level) else { continue };
            learnt = true;
            if self.problem.options.encode_cycles {
                self.sharpen(at);
            }
            if self.open[at].is_exact {
                continue;
            }
            let number_of =
                |at: usize| place.iter().position(|&other| other == at).expect("every place has a number");
            let order: Vec<usize> =
                [0].into_iter().chain(explanation.order.iter().map(|&at| number_of(at))).collect();
            self.legend.push(format!("{} is refuted for the order {order:?}", level.name));
            let before = constant_order(&order);
            if self.problem.options.encode_cycles
                && let Some(pattern) = pattern(&level)
            {
                let edges = self.encoder.dependencies(&level, pattern, &before);
                self.encoder.require_cycle(&edges);
                continue;
            }
            let visible = (level.framework == Framework::Visibility).then(|| {
                let pairs =
                    explanation.visible.iter().map(|&(seen, seer)| (number_of(seen), number_of(seer)));
                constant_visibility(order.len(), pairs)
            });
            self.refute(&level, &before, visible.as_ref(), false);
        }
        learnt
    }

    pub fn effort(&self) -> Effort {
        Effort {
            clauses: self.encoder.solver.clause_count(),
            conflicts: self.encoder.solver.conflict_count(),
            ..self.effort
        }
    }

    /// The answer: a history with its evidence, or none.
    pub fn outcome(&mut self) -> Synthesis {
        match self.next() {
            Some(history) => Synthesis::Found(Box::new(self.found(history))),
            None => {
                let legend = format!("{:?}\n{}", self.scope, self.legend.join("\n"));
                let proof = self.encoder.solver.proof().map(|clauses| ScopeProof { clauses, legend });
                Synthesis::None(NoneWithin { scope: self.scope, effort: self.effort(), proof })
            }
        }
    }

    /// The evidence for a history, from its own words: each level is asked again, as written and not in normal form.
    pub fn found(&self, history: SmallHistory) -> Found {
        evidence(self.problem, history, self.scope, self.effort())
    }
}

/// A history with why each level allows or forbids it.
pub(crate) fn evidence(problem: &Problem<'_>, history: SmallHistory, scope: Scope, effort: Effort) -> Found {
    let allowed = problem.allow.iter().map(|level| match ground::decide(&history, level) {
        GroundAnswer::Allowed(explanation) => explanation,
        GroundAnswer::Forbidden(_) => panic!("{} must allow what was found:\n{history}", level.name),
    });
    let allowed = allowed.collect();
    let forbidden = problem.forbid.iter().map(|level| match ground::decide(&history, level) {
        GroundAnswer::Forbidden(reasons) => reasons,
        GroundAnswer::Allowed(_) => panic!("{} must forbid what was found:\n{history}", level.name),
    });
    let forbidden = forbidden.collect();
    Found { history, allowed, forbidden, scope, effort }
}

/// The allowed level whose order the transactions are numbered by: the one whose `visible` composes with the order,
/// because along a constant order that is a row of disjunctions instead of n^3 gates.
fn primary(allow: &[Level]) -> Option<usize> {
    let composes = |level: &Level| match level.visible.as_ref() {
        Some(Rel::Join(left, right)) => left.mentions(Base::Before) || right.mentions(Base::Before),
        _ => false,
    };
    let with_order = |at: &usize| allow[*at].framework != Framework::History;
    let candidates = || (0..allow.len()).filter(with_order);
    candidates().find(|&at| composes(&allow[at])).or_else(|| candidates().next())
}

/// Transactions may be numbered by the first allowed level's order; without one, by session order.
fn numbering(primary: Option<&Level>) -> Numbering {
    let contains = |level: &Level, base| contains_part(&level.order, &Rel::Base(base));
    match primary {
        Some(level) => Numbering {
            reads_forward: contains(level, Base::ReadsFrom) || level.framework == Framework::Visibility,
            session_forward: contains(level, Base::Session),
        },
        None => Numbering { reads_forward: false, session_forward: true },
    }
}

fn contains_part(union: &Rel, part: &Rel) -> bool {
    match union {
        rel if rel == part => true,
        Rel::Union(left, right) => contains_part(left, part) || contains_part(right, part),
        _ => false,
    }
}

/// Whether a relation contains every conflicting pair in its order.
fn shows_conflicts(rel: &Rel) -> bool {
    let in_conflict = Rel::Base(Base::Conflict).inter(Rel::Base(Base::Before));
    match rel {
        Rel::Closure(inner) => shows_conflicts(inner),
        Rel::Join(prefix, seen) => **prefix == Rel::Base(Base::Before).optional() && shows_conflicts(seen),
        rel => contains_part(rel, &in_conflict) || *rel == Rel::Base(Base::Before) || shows_overwritten(rel),
    }
}

/// Whether a relation contains, for every writer of an object, the writer whose version it overwrites.
fn shows_overwritten(rel: &Rel) -> bool {
    let Some(shipped) = spec::library::level("no-lost-update") else { return false };
    let Some(Rel::Union(_, overwrites)) = shipped.normal_form(true).visible else { return false };
    contains_part(rel, &overwrites)
}

fn is_part(less: &Rel, more: &Rel) -> bool {
    match less {
        Rel::Union(left, right) => is_part(left, more) && is_part(right, more),
        rel => contains_part(more, rel),
    }
}

fn constant_visibility(txns: usize, pairs: impl Iterator<Item = (usize, usize)>) -> Pairs {
    let mut visible = vec![vec![spec::circuit::Lit::FALSE; txns]; txns];
    visible[0][1..].fill(spec::circuit::Lit::TRUE);
    pairs.for_each(|(seen, seer)| visible[seen][seer] = spec::circuit::Lit::TRUE);
    visible
}

/// What visibility usually is, from little to all that comes before.
fn visibility_terms() -> Vec<Rel> {
    let base = Rel::Base;
    let follows = || base(Base::Session).union(base(Base::ReadsFrom));
    let in_conflict = || base(Base::Conflict).inter(base(Base::Before));
    let prefix = |rel: Rel| base(Base::Before).optional().join(rel);
    let initial = Rel::Product(Box::new(base(Base::Initial)), Box::new(Rel::Every(vec![Sort::Txn])));
    let terms = [
        follows(),
        Rel::Closure(Box::new(follows())),
        prefix(follows()),
        Rel::Closure(Box::new(follows().union(in_conflict()))),
        prefix(follows().union(in_conflict())),
        base(Base::Before),
    ];
    let others = Rel::Minus(Box::new(initial), Box::new(Rel::Identity(Sort::Txn)));
    terms.into_iter().map(|term| term.union(others.clone())).collect()
}
