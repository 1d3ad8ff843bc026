//! What it means for a level to allow, or not to allow, the unknown history under a given order.
//!
//! A level in normal form needs its `visible` relation along the order and, for every three transactions, whether the
//! third reads something from the first that the second writes too (`stale`, shared by all levels and orders). Both are
//! O(n^3) gates whatever the number of values; levels without a normal form are grounded as they are written.

use std::collections::HashMap;

use spec::circuit::{Circuit, Lit};
use spec::dense::Evaluator;
use spec::sat::Solver;
use spec::{Base, Formula, Framework, Implications, Level, Rel};

use crate::symbols::{Pairs, Symbols, direction};
use crate::unknown::Unknown;

/// The solver, the circuit, and the history that they are about.
pub(crate) struct Encoder {
    pub circuit: Circuit,
    pub solver: Solver,
    pub unknown: Unknown,
    /// `stale[t1][t2][t3]`: t3 reads some object from t1 that t2 writes too.
    stale: Vec<Vec<Vec<Option<Lit>>>>,
    /// What allowed levels exclude: by (stale, before), the `visible` that cannot be true with the first and without
    /// the second.
    excluded: HashMap<(Lit, Lit), Vec<Lit>>,
    implications: Implications,
}

/// A witness for one level: an order, and visibility where the level asks for it.
#[derive(Clone, Debug)]
pub(crate) struct Witness {
    pub before: Pairs,
    pub visible: Option<Pairs>,
}

impl Encoder {
    pub fn new(circuit: Circuit, solver: Solver, unknown: Unknown) -> Self {
        let stale = vec![vec![vec![None; unknown.txns]; unknown.txns]; unknown.txns];
        Self {
            circuit,
            solver,
            unknown,
            stale,
            excluded: HashMap::new(),
            implications: Implications::default(),
        }
    }

    pub fn require(&mut self, lit: Lit) {
        self.solver.require(&self.circuit, lit);
    }

    pub fn require_any(&mut self, lits: &[Lit]) {
        self.solver.require_any(&self.circuit, lits);
    }

    /// A relation between transactions along an order.
    pub fn pairs(&mut self, rel: &Rel, before: &Pairs) -> Pairs {
        let txns = self.unknown.txns;
        let mut symbols = Symbols {
            unknown: &self.unknown,
            circuit: &mut self.circuit,
            before,
            visible: None,
            direction: direction(before),
        };
        let table = Evaluator::new(&mut symbols).table(rel);
        (0..txns).map(|a| (0..txns).map(|b| table.at(&[a, b])).collect()).collect()
    }

    fn formula(&mut self, formula: &Formula, witness: &Witness) -> Lit {
        let mut symbols = Symbols {
            unknown: &self.unknown,
            circuit: &mut self.circuit,
            before: &witness.before,
            visible: witness.visible.as_ref(),
            direction: direction(&witness.before),
        };
        Evaluator::new(&mut symbols).formula(formula)
    }

    pub fn stale(&mut self, source: usize, other: usize, reader: usize) -> Lit {
        if let Some(known) = self.stale[source][other][reader] {
            return known;
        }
        let mut any = Lit::FALSE;
        for object in 0..self.unknown.objects {
            let both = self
                .circuit
                .and(self.unknown.source[object][source][reader], self.unknown.writes[other][object]);
            any = self.circuit.or(any, both);
        }
        self.stale[source][other][reader] = Some(any);
        any
    }

    /// Demands that the level allows the history by this witness.
    pub fn allow(&mut self, level: &Level, witness: &Witness) {
        let Some(visible) = plain_visible(level) else {
            let allowed = level.axioms().and(level.demand());
            let lit = self.formula(&allowed, witness);
            return self.require(lit);
        };
        let before = &witness.before;
        let order = self.pairs(&level.order, before);
        let txns = self.unknown.txns;
        for (a, b) in pairs_of(txns) {
            self.require_any(&[!order[a][b], before[a][b]]);
        }
        let visible = self.pairs(visible, before);
        for (source, other, reader) in self.readings(&visible) {
            if before[other][source] != Lit::TRUE {
                let stale = self.stale(source, other, reader);
                self.excluded.entry((stale, before[other][source])).or_default().push(visible[other][reader]);
                self.require_any(&[!stale, !visible[other][reader], before[other][source]]);
            }
        }
        let rest = self.formula(&level.require, witness);
        self.require(rest);
    }

    /// Whether the level does not allow the history by this witness; `order_holds` if its order is known to.
    pub fn refuted(&mut self, level: &Level, witness: &Witness, order_holds: bool) -> Lit {
        let Some(visible) = plain_visible(level) else {
            let allowed = level.axioms().and(level.demand());
            return !self.formula(&allowed, witness);
        };
        let before = &witness.before;
        let mut failures = Vec::new();
        if !order_holds {
            let order = self.pairs(&level.order, before);
            failures.extend(
                pairs_of(self.unknown.txns).map(|(a, b)| self.circuit.and(order[a][b], !before[a][b])),
            );
        }
        let visible = self.pairs(visible, before);
        for (source, other, reader) in self.readings(&visible) {
            if before[other][source] != Lit::TRUE {
                let stale = self.stale(source, other, reader);
                if self.is_excluded(stale, visible[other][reader], before[other][source]) {
                    continue;
                }
                let seen = self.circuit.and(stale, visible[other][reader]);
                failures.push(self.circuit.and(seen, !before[other][source]));
            }
        }
        failures.push(!self.formula(&level.require, witness));
        self.circuit.any(failures)
    }

    /// Whether an allowed level visibly excludes a failure already; asking the solver would cost a conflict for each.
    fn is_excluded(&mut self, stale: Lit, visible: Lit, before: Lit) -> bool {
        let Some(known) = self.excluded.get(&(stale, before)) else { return false };
        known.iter().any(|&allowed| self.implications.implies(&self.circuit, visible, allowed))
    }

    /// The triples (source, other writer, reader) for which the order may matter.
    pub fn readings(&self, visible: &Pairs) -> Vec<(usize, usize, usize)> {
        let txns = self.unknown.txns;
        let mut readings = Vec::new();
        for reader in 1..txns {
            for source in 0..txns {
                if self.unknown.reads_from[source][reader] == Lit::FALSE {
                    continue;
                }
                let others =
                    (0..txns).filter(|&other| other != source && visible[other][reader] != Lit::FALSE);
                readings.extend(others.map(|other| (source, other, reader)));
            }
        }
        readings
    }
}

pub(crate) fn pairs_of(txns: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..txns).flat_map(move |a| (0..txns).filter(move |&b| b != a).map(move |b| (a, b)))
}

/// The `visible` clause of a level that the triples can be asked about.
pub(crate) fn plain_visible(level: &Level) -> Option<&Rel> {
    let visible = level.visible.as_ref()?;
    (level.framework == Framework::CommitOrder && !visible.mentions(Base::Earlier)).then_some(visible)
}
