//! The literal encoding: synthesis as its definition is read, kept as an oracle for the quick one.
//!
//! Values are explicit, every allowed level has its own unknown witness and is grounded as written, transactions are
//! numbered by nothing, and a forbidden level is refuted for one constant witness after the other. No normal form, no
//! seed, no cycle, no symmetry: it is good for three transactions.

use isoscope_synth::{Problem, Scope};
use spec::circuit::{Circuit, Lit};
use spec::dense::{Algebra, Evaluator};
use spec::sat::Solver;
use spec::{Base, Level, SmallHistory, SmallTxn, Sort, oracle, total_order};

type Pairs = Vec<Vec<Lit>>;

struct History {
    scope: Scope,
    /// `writes[t][x][v]` and `reads[t][x][v]`.
    writes: Vec<Vec<Vec<Lit>>>,
    reads: Vec<Vec<Vec<Lit>>>,
    session: Pairs,
}

struct Structure<'a> {
    history: &'a History,
    circuit: &'a mut Circuit,
    before: &'a Pairs,
    visible: &'a Pairs,
}

impl Algebra for Structure<'_> {
    type Bit = Lit;

    fn size(&self, sort: Sort) -> usize {
        match sort {
            Sort::Txn => self.history.scope.txns + 1,
            Sort::Object => self.history.scope.objects,
            Sort::Value => self.history.scope.values,
        }
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

    fn ran_at(&mut self, level: &str, _: usize) -> Lit {
        panic!("the literal encoding records no levels: {level}")
    }

    fn base(&mut self, base: Base, tuple: &[usize]) -> Lit {
        let history = self.history;
        match base {
            Base::Before => self.before[tuple[0]][tuple[1]],
            Base::Visible => self.visible[tuple[0]][tuple[1]],
            Base::Session => history.session[tuple[0]][tuple[1]],
            Base::Initial => Lit::constant(tuple[0] == 0),
            Base::Writes => history.writes[tuple[0]][tuple[1]][tuple[2]],
            Base::Reads => history.reads[tuple[0]][tuple[1]][tuple[2]],
            Base::Writers => self.circuit.any(history.writes[tuple[1]][tuple[0]].clone()),
            Base::Readers => self.circuit.any(history.reads[tuple[1]][tuple[0]].clone()),
            Base::ReadsFromOn => history.reads_from(self.circuit, tuple[0], tuple[1], tuple[2]),
            Base::ReadsFrom => {
                let on = (0..history.scope.objects)
                    .map(|x| history.reads_from(self.circuit, x, tuple[0], tuple[1]));
                let on: Vec<Lit> = on.collect();
                self.circuit.any(on)
            }
            Base::Conflict if tuple[0] == tuple[1] => Lit::FALSE,
            Base::Conflict => {
                let mut any = Lit::FALSE;
                for object in 0..history.scope.objects {
                    let first = self.circuit.any(history.writes[tuple[0]][object].clone());
                    let second = self.circuit.any(history.writes[tuple[1]][object].clone());
                    let both = self.circuit.and(first, second);
                    any = self.circuit.or(any, both);
                }
                any
            }
            other => unimplemented_base(other),
        }
    }
}

fn unimplemented_base(base: Base) -> Lit {
    panic!("the literal encoding has neither times nor program order: {base:?}")
}

impl History {
    fn new(problem: &Problem<'_>, scope: Scope, circuit: &mut Circuit, solver: &mut Solver) -> Self {
        let cells = |circuit: &mut Circuit| -> Vec<Vec<Vec<Lit>>> {
            let values = |circuit: &mut Circuit| (0..scope.values).map(|_| circuit.input()).collect();
            let objects = |circuit: &mut Circuit| (0..scope.objects).map(|_| values(circuit)).collect();
            (0..=scope.txns).map(|_| objects(circuit)).collect()
        };
        let (writes, reads) = (cells(circuit), cells(circuit));
        let session = (0..=scope.txns).map(|_| (0..=scope.txns).map(|_| circuit.input()).collect()).collect();
        let history = Self { scope, writes, reads, session };
        history.operations(problem.options.blind_writes, circuit, solver);
        history.sessions(circuit, solver);
        history
    }

    fn reads_from(&self, circuit: &mut Circuit, object: usize, writer: usize, reader: usize) -> Lit {
        let mut any = Lit::FALSE;
        for value in 0..self.scope.values {
            let same = circuit.and(self.writes[writer][object][value], self.reads[reader][object][value]);
            any = circuit.or(any, same);
        }
        any
    }

    fn operations(&self, blind_writes: bool, circuit: &mut Circuit, solver: &mut Solver) {
        let Scope { txns, objects, values } = self.scope;
        for txn in 0..=txns {
            let mut operations = Vec::new();
            for object in 0..objects {
                for value in 0..values {
                    let (write, read) = (self.writes[txn][object][value], self.reads[txn][object][value]);
                    operations.extend([write, read]);
                    // The initial transaction writes the first value everywhere, reads nothing, and no other transaction does.
                    solver.require(
                        circuit,
                        if (txn == 0) == (value == 0) { yes_if(txn == 0, write) } else { !write },
                    );
                    if txn == 0 {
                        solver.require(circuit, !read);
                    }
                    for other in 0..value {
                        solver.require_any(circuit, &[!write, !self.writes[txn][object][other]]);
                        solver.require_any(circuit, &[!read, !self.reads[txn][object][other]]);
                    }
                    for other in 0..txn {
                        solver.require_any(circuit, &[!write, !self.writes[other][object][value]]);
                    }
                    let foreign = (0..=txns).filter(|&t| t != txn).map(|t| self.writes[t][object][value]);
                    let sourced: Vec<Lit> = foreign.chain([!read]).collect();
                    solver.require_any(circuit, &sourced);
                    if !blind_writes && txn > 0 {
                        let reads: Vec<Lit> =
                            self.reads[txn][object].iter().copied().chain([!write]).collect();
                        solver.require_any(circuit, &reads);
                    }
                }
            }
            if txn > 0 {
                solver.require_any(circuit, &operations);
            }
        }
    }

    fn sessions(&self, circuit: &mut Circuit, solver: &mut Solver) {
        let so = &self.session;
        let count = self.scope.txns + 1;
        for a in 0..count {
            solver.require(circuit, !so[a][a]);
            solver.require(circuit, !so[a][0]);
            if a > 0 {
                solver.require(circuit, so[0][a]);
            }
            for (b, c) in (1..count).flat_map(|b| (1..count).map(move |c| (b, c))) {
                solver.require_any(circuit, &[!so[a][b], !so[b][c], so[a][c]]);
                if a > 0 && b != c {
                    solver.require_any(circuit, &[!so[a][b], !so[a][c], so[b][c], so[c][b]]);
                    solver.require_any(circuit, &[!so[b][a], !so[c][a], so[b][c], so[c][b]]);
                }
            }
        }
    }

    fn small(&self, solver: &Solver) -> (SmallHistory, Vec<usize>) {
        let count = self.scope.txns + 1;
        let mut numbers: Vec<usize> = (1..count).collect();
        numbers
            .sort_by_key(|&txn| (1..count).filter(|&other| solver.value(self.session[other][txn])).count());
        let seen = |cells: &Vec<Vec<Vec<Lit>>>, txn: usize| -> Vec<(usize, u32)> {
            let pairs = (0..self.scope.objects).flat_map(|x| (0..self.scope.values).map(move |v| (x, v)));
            pairs.filter(|&(x, v)| solver.value(cells[txn][x][v])).map(|(x, v)| (x, v as u32)).collect()
        };
        let precedes = |first: usize, second: usize| solver.value(self.session[first][second]);
        let is_first = |txn: usize| !(1..count).any(|other| precedes(other, txn));
        let session =
            |txn: usize| (1..count).find(|&first| is_first(first) && (first == txn || precedes(first, txn)));
        let txn = |&txn: &usize| {
            SmallTxn::committed(
                session(txn).expect("a session begins"),
                &seen(&self.reads, txn),
                &seen(&self.writes, txn),
            )
        };
        (SmallHistory::new(numbers.iter().map(txn).collect()), numbers)
    }
}

fn yes_if(truth: bool, lit: Lit) -> Lit {
    // A non-initial transaction may or may not write any value but the first.
    if truth { lit } else { Lit::TRUE }
}

/// Whether a scope has a history that answers a problem, the slow way.
pub fn is_found(problem: &Problem<'_>, scope: Scope) -> bool {
    let mut circuit = Circuit::default();
    let mut solver = Solver::default();
    let history = History::new(problem, scope, &mut circuit, &mut solver);
    let count = scope.txns + 1;
    for level in &problem.allow {
        let before = total_order(count, &mut circuit, &mut solver);
        let visible: Pairs = (0..count).map(|_| (0..count).map(|_| circuit.input()).collect()).collect();
        let allowed = allows(&history, &mut circuit, level, &before, &visible);
        solver.require(&circuit, allowed);
    }
    while solver.solve(&circuit, &[]) {
        let (small, numbers) = history.small(&solver);
        let mut is_right = true;
        for level in &problem.forbid {
            let Some(explanation) = oracle::decide_by_complete_witnesses(&small, level) else { continue };
            is_right = false;
            let mut before = vec![vec![Lit::FALSE; count]; count];
            before[0][1..].fill(Lit::TRUE);
            let mut visible = before.clone();
            for (at, &first) in explanation.order.iter().enumerate() {
                explanation.order[at + 1..]
                    .iter()
                    .for_each(|&second| before[numbers[first]][numbers[second]] = Lit::TRUE);
            }
            explanation
                .visible
                .iter()
                .for_each(|&(seen, seer)| visible[numbers[seen]][numbers[seer]] = Lit::TRUE);
            let allowed = allows(&history, &mut circuit, level, &before, &visible);
            solver.require(&circuit, !allowed);
        }
        if is_right {
            return true;
        }
    }
    false
}

fn allows(history: &History, circuit: &mut Circuit, level: &Level, before: &Pairs, visible: &Pairs) -> Lit {
    let formula = level.axioms().and(level.demand());
    let mut structure = Structure { history, circuit, before, visible };
    Evaluator::new(&mut structure).formula(&formula)
}
