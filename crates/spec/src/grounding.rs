//! A small history as a structure of unknowns: which transactions commit, where reads come from, and the witness.

use crate::circuit::{Circuit, Lit};
use crate::core::{Base, Framework, Sort};
use crate::dense::Algebra;
use crate::facts::Facts;
use crate::oracle::Explanation;
use crate::sat::Solver;
use crate::small::{Object, Outcome, SmallHistory};

/// Who may have written what a read saw, and the choice of each.
type Candidates = Vec<(usize, Lit)>;

/// The unknowns of a history. Transaction 0 is the initial one, the others are those that may have committed.
pub(crate) struct Grounding {
    /// The relations that do not depend on sources, as if every unknown transaction had committed.
    facts: Facts,
    present: Vec<Lit>,
    /// For each transaction and each of its reads in program order: the candidates and the choice of each.
    choices: Vec<Vec<(Object, Candidates)>>,
    /// For each read: its reader, its object, and that it has a source if the reader commits.
    pub sourced: Vec<(usize, Object, Lit)>,
    pub before: Vec<Vec<Lit>>,
    visible: Vec<Vec<Lit>>,
    pub objects: usize,
}

impl Grounding {
    pub fn new(
        history: &SmallHistory,
        framework: Framework,
        circuit: &mut Circuit,
        solver: &mut Solver,
    ) -> Self {
        let places: Vec<usize> = (0..history.txns.len())
            .filter(|&place| history.txns[place].outcome != Outcome::Aborted)
            .collect();
        let no_sources: Vec<Vec<usize>> = history.txns.iter().map(|txn| vec![0; txn.reads.len()]).collect();
        let facts = Facts::new(history, &places, &no_sources);
        let mut present = vec![Lit::TRUE];
        for &place in &places {
            let committed = history.txns[place].outcome == Outcome::Committed;
            present.push(if committed { Lit::TRUE } else { circuit.input() });
        }
        let mut grounding = Self {
            objects: facts.objects,
            facts,
            present,
            choices: vec![Vec::new()],
            sourced: Vec::new(),
            before: Vec::new(),
            visible: Vec::new(),
        };
        for txn in 1..grounding.txn_count() {
            grounding.choose_sources(txn, circuit, solver);
        }
        let count = grounding.txn_count();
        if framework != Framework::History {
            grounding.before = total_order(count, circuit, solver);
        }
        if framework == Framework::Visibility {
            grounding.visible = (0..count).map(|_| (0..count).map(|_| circuit.input()).collect()).collect();
        }
        grounding
    }

    fn choose_sources(&mut self, txn: usize, circuit: &mut Circuit, solver: &mut Solver) {
        let mut choices = Vec::new();
        for &(object, value, _) in &self.facts.reads[txn] {
            let writes = |writer: &usize| self.facts.writes[*writer].contains(&(object, value));
            let writers: Vec<usize> =
                (0..self.txn_count()).filter(|&writer| writer != txn).filter(writes).collect();
            let only =
                writers.len() == 1 && self.present[txn] == Lit::TRUE && self.present[writers[0]] == Lit::TRUE;
            let named: Vec<(usize, Lit)> = writers
                .into_iter()
                .map(|writer| (writer, if only { Lit::TRUE } else { circuit.input() }))
                .collect();
            let any: Vec<Lit> = named.iter().map(|&(_, choice)| choice).chain([!self.present[txn]]).collect();
            let sourced = circuit.any(any);
            self.sourced.push((self.facts.original[txn].expect("not initial"), object, sourced));
            for (at, &(writer, choice)) in named.iter().enumerate() {
                solver.require_any(circuit, &[!choice, self.present[writer]]);
                solver.require_any(circuit, &[!choice, self.present[txn]]);
                named[..at].iter().for_each(|&(_, other)| solver.require_any(circuit, &[!choice, !other]));
            }
            choices.push((object, named));
        }
        self.choices.push(choices);
    }

    pub fn ran_at(&self, level: &str, txn: usize) -> Lit {
        if self.facts.ran_at(level, txn) { self.present[txn] } else { Lit::FALSE }
    }

    pub fn txn_count(&self) -> usize {
        self.facts.txn_count()
    }

    /// The place of a transaction in the history; nothing for the initial one.
    pub fn place(&self, txn: usize) -> Option<usize> {
        self.facts.original[txn]
    }

    pub fn with<'a>(&'a self, circuit: &'a mut Circuit) -> Grounded<'a> {
        Grounded { grounding: self, circuit }
    }

    pub fn writes(&self, object: Object, txn: usize) -> Lit {
        if self.facts.writers[object] >> txn & 1 == 1 { self.present[txn] } else { Lit::FALSE }
    }

    pub fn reads_from_on(&self, circuit: &mut Circuit, object: Object, source: usize, reader: usize) -> Lit {
        let reads = self.choices[reader].iter().filter(|&&(read, _)| read == object);
        let chosen =
            reads.flat_map(|(_, named)| named).filter(|&&(writer, _)| writer == source).map(|&(_, lit)| lit);
        circuit.any(chosen)
    }

    pub fn reads_then(&self, circuit: &mut Circuit, tuple: &[usize]) -> Lit {
        let &[object, first, second, reader] = tuple else { unreachable!("reads_then has four columns") };
        let mut result = Lit::FALSE;
        // After each read whether one up to it came from the first.
        let mut seen_first = vec![Lit::FALSE];
        let choice = |named: &[(usize, Lit)], writer: usize| {
            named.iter().find(|&&(candidate, _)| candidate == writer).map_or(Lit::FALSE, |&(_, lit)| lit)
        };
        for (place, (read, named)) in self.choices[reader].iter().enumerate() {
            if *read == object {
                let before = seen_first[self.facts.reads_before[reader][place]];
                let then = circuit.and(before, choice(named, second));
                result = circuit.or(result, then);
            }
            seen_first.push(circuit.or(seen_first[place], choice(named, first)));
        }
        result
    }

    pub fn explanation(&self, history: &SmallHistory, framework: Framework, solver: &Solver) -> Explanation {
        let mut explanation = Explanation {
            committed: vec![false; history.txns.len()],
            sources: vec![Vec::new(); history.txns.len()],
            ..Explanation::default()
        };
        let committed: Vec<usize> =
            (1..self.txn_count()).filter(|&txn| solver.value(self.present[txn])).collect();
        for &txn in &committed {
            let place = self.place(txn).expect("not initial");
            explanation.committed[place] = true;
            let chosen = |named: &[(usize, Lit)]| {
                named.iter().find(|&&(_, lit)| solver.value(lit)).expect("one source").0
            };
            explanation.sources[place] =
                self.choices[txn].iter().map(|(_, named)| self.place(chosen(named))).collect();
        }
        if framework != Framework::History {
            let mut order = committed.clone();
            order.sort_by_key(|&txn| {
                (1..self.txn_count()).filter(|&other| solver.value(self.before[other][txn])).count()
            });
            explanation.order = order.into_iter().filter_map(|txn| self.place(txn)).collect();
        }
        if framework == Framework::Visibility {
            let pairs = committed.iter().flat_map(|&seer| committed.iter().map(move |&seen| (seen, seer)));
            let visible = pairs.filter(|&(seen, seer)| solver.value(self.visible[seen][seer]));
            explanation.visible =
                visible.filter_map(|(seen, seer)| Some((self.place(seen)?, self.place(seer)?))).collect();
        }
        explanation
    }
}

/// A total order that begins with 0, tried as it is numbered: one unknown for each pair, and no cycle of three.
pub fn total_order(count: usize, circuit: &mut Circuit, solver: &mut Solver) -> Vec<Vec<Lit>> {
    let mut before = vec![vec![Lit::FALSE; count]; count];
    for first in 0..count {
        for second in first + 1..count {
            let lit = if first == 0 { Lit::TRUE } else { circuit.input_trying(true) };
            before[first][second] = lit;
            before[second][first] = !lit;
        }
    }
    for a in 1..count {
        for b in a + 1..count {
            for c in b + 1..count {
                solver.require_any(circuit, &[!before[a][b], !before[b][c], before[a][c]]);
                solver.require_any(circuit, &[before[a][b], before[b][c], !before[a][c]]);
            }
        }
    }
    before
}

/// The structure together with the circuit it is written into.
pub(crate) struct Grounded<'a> {
    grounding: &'a Grounding,
    circuit: &'a mut Circuit,
}

impl Algebra for Grounded<'_> {
    type Bit = Lit;

    fn size(&self, sort: Sort) -> usize {
        self.grounding.facts.size(sort)
    }

    fn constant(&self, truth: bool) -> Lit {
        Lit::constant(truth)
    }

    fn known(&self, bit: Lit) -> Option<bool> {
        (bit == Lit::TRUE || bit == Lit::FALSE).then_some(bit == Lit::TRUE)
    }

    fn not(&mut self, bit: Lit) -> Lit {
        !bit
    }

    fn and(&mut self, left: Lit, right: Lit) -> Lit {
        self.circuit.and(left, right)
    }

    fn or(&mut self, left: Lit, right: Lit) -> Lit {
        self.circuit.or(left, right)
    }

    fn present(&mut self, sort: Sort, element: usize) -> Lit {
        if sort == Sort::Txn { self.grounding.present[element] } else { Lit::TRUE }
    }

    fn ran_at(&mut self, level: &str, txn: usize) -> Lit {
        self.grounding.ran_at(level, txn)
    }

    fn base(&mut self, base: Base, tuple: &[usize]) -> Lit {
        let this = self.grounding;
        let raw = match base {
            Base::Before => this.before[tuple[0]][tuple[1]],
            Base::Visible => this.visible[tuple[0]][tuple[1]],
            Base::ReadsFrom => {
                let on = (0..this.objects)
                    .map(|object| this.reads_from_on(self.circuit, object, tuple[0], tuple[1]));
                let on: Vec<Lit> = on.collect();
                self.circuit.any(on)
            }
            Base::ReadsFromOn => this.reads_from_on(self.circuit, tuple[0], tuple[1], tuple[2]),
            Base::ReadsThen => this.reads_then(self.circuit, tuple),
            base => Lit::constant(this.facts.holds(base, tuple)),
        };
        let txns = base.sorts().iter().zip(tuple).filter(|(sort, _)| **sort == Sort::Txn);
        txns.fold(raw, |lit, (_, &txn)| self.circuit.and(lit, this.present[txn]))
    }
}
