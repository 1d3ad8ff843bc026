//! A history of unknown content: the value-free encoding.
//!
//! The writers and readers of each object, the source of each read, and session order; values are printed afterwards, because only the
//! source of a read matters. Transaction 0 is the initial one. Where an allowed level's order contains reads-from (or
//! session order), transactions are numbered by that order, so those relations only go forward.
//! n transactions and m objects take n*m + m*n^2/2 + n^2/2 unknowns and O(n^3) clauses.

use spec::circuit::{Circuit, Lit};
use spec::sat::Solver;
use spec::{Base, Level, SmallHistory, SmallTimes, SmallTxn, total_order};

use crate::problem::{Options, Problem, Scope, Sessions};

/// Unknown relations, as literals of a circuit.
pub(crate) struct Unknown {
    /// With the initial transaction.
    pub txns: usize,
    pub objects: usize,
    /// `writes[t][x]`.
    pub writes: Vec<Vec<Lit>>,
    /// `source[x][t][s]`: s reads x from t.
    pub source: Vec<Vec<Vec<Lit>>>,
    /// `reads[s][x]`.
    pub reads: Vec<Vec<Lit>>,
    pub session: Vec<Vec<Lit>>,
    pub reads_from: Vec<Vec<Lit>>,
    pub conflict: Vec<Vec<Lit>>,
    /// `read_order[s][x][y]`: s reads x before y. Empty if no level speaks of it.
    pub read_order: Vec<Vec<Vec<Lit>>>,
    /// The order of begins and commits; begin of t is 2t - 1, commit 2t. Empty if no level speaks of time.
    pub events: Vec<Vec<Lit>>,
    /// For each level by which transactions are told apart: which of them ran at it.
    pub ran_at: Vec<(String, Vec<Lit>)>,
}

/// In which direction the numbering of transactions points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbering {
    pub reads_forward: bool,
    pub session_forward: bool,
}

impl Unknown {
    pub fn new(
        problem: &Problem<'_>,
        scope: Scope,
        numbering: Numbering,
        circuit: &mut Circuit,
        solver: &mut Solver,
    ) -> Self {
        let txns = scope.txns + 1;
        let square = || vec![vec![Lit::FALSE; txns]; txns];
        let mut unknown = Self {
            txns,
            objects: scope.objects,
            writes: vec![vec![Lit::TRUE; scope.objects]; txns],
            source: vec![square(); scope.objects],
            reads: vec![vec![Lit::FALSE; scope.objects]; txns],
            session: square(),
            reads_from: square(),
            conflict: square(),
            read_order: Vec::new(),
            events: Vec::new(),
            ran_at: Vec::new(),
        };
        unknown.operations(numbering, circuit, solver);
        unknown.shape(&problem.options, scope, circuit, solver);
        unknown.sessions(problem.options.sessions, numbering, circuit, solver);
        unknown.derive(circuit);
        let levels = || problem.allow.iter().chain(&problem.forbid);
        if levels().any(|level| speaks_of_read_order(level)) {
            unknown.order_reads(circuit, solver);
        }
        if levels().any(|level| level.needs_times()) {
            unknown.order_events(circuit, solver);
        }
        let mut names: Vec<String> = levels().flat_map(|level| level.recorded_levels()).collect();
        names.sort_unstable();
        names.dedup();
        unknown.choose_levels(names, circuit, solver);
        if problem.options.break_symmetry {
            unknown.sort_objects(circuit, solver);
        }
        unknown
    }

    fn operations(&mut self, numbering: Numbering, circuit: &mut Circuit, solver: &mut Solver) {
        for txn in 1..self.txns {
            for object in 0..self.objects {
                self.writes[txn][object] = circuit.input();
            }
        }
        for object in 0..self.objects {
            for reader in 1..self.txns {
                let last = if numbering.reads_forward { reader } else { self.txns };
                let mut sources = Vec::new();
                for writer in (0..last).filter(|&writer| writer != reader) {
                    let source = circuit.input();
                    solver.require_any(circuit, &[!source, self.writes[writer][object]]);
                    sources.iter().for_each(|&other: &Lit| solver.require_any(circuit, &[!source, !other]));
                    self.source[object][writer][reader] = source;
                    sources.push(source);
                }
                self.reads[reader][object] = circuit.any(sources);
            }
        }
    }

    /// No empty transactions, no more values than asked for, and no blind writes if they are not wanted.
    fn shape(&self, options: &Options, scope: Scope, circuit: &mut Circuit, solver: &mut Solver) {
        for txn in 1..self.txns {
            let operations = self.writes[txn].iter().chain(&self.reads[txn]).copied();
            let operations: Vec<Lit> = operations.collect();
            solver.require_any(circuit, &operations);
            if !options.blind_writes {
                for object in 0..self.objects {
                    solver.require_any(circuit, &[!self.writes[txn][object], self.reads[txn][object]]);
                }
            }
        }
        if scope.values < self.txns {
            for object in 0..self.objects {
                let writers: Vec<Lit> = (1..self.txns).map(|txn| self.writes[txn][object]).collect();
                let few = circuit.at_most(&writers, scope.values.saturating_sub(1));
                solver.require(circuit, few);
            }
        }
    }

    fn sessions(
        &mut self,
        sessions: Sessions,
        numbering: Numbering,
        circuit: &mut Circuit,
        solver: &mut Solver,
    ) {
        for a in 1..self.txns {
            self.session[0][a] = Lit::TRUE;
            for b in 1..self.txns {
                if a < b || (a != b && !numbering.session_forward) {
                    self.session[a][b] = circuit.input();
                }
            }
        }
        let so = &self.session;
        for a in 1..self.txns {
            for b in (1..self.txns).filter(|&b| b != a) {
                solver.require_any(circuit, &[!so[a][b], !so[b][a]]);
                for c in (1..self.txns).filter(|&c| c != a && c != b) {
                    solver.require_any(circuit, &[!so[a][b], !so[b][c], so[a][c]]);
                    if sessions == Sessions::Chains && b < c {
                        solver.require_any(circuit, &[!so[a][b], !so[a][c], so[b][c], so[c][b]]);
                        solver.require_any(circuit, &[!so[b][a], !so[c][a], so[b][c], so[c][b]]);
                    }
                }
            }
        }
    }

    fn derive(&mut self, circuit: &mut Circuit) {
        for a in 0..self.txns {
            for b in 0..self.txns {
                let sources: Vec<Lit> = (0..self.objects).map(|object| self.source[object][a][b]).collect();
                self.reads_from[a][b] = circuit.any(sources);
                if a != b {
                    let both: Vec<Lit> = (0..self.objects)
                        .map(|object| circuit.and(self.writes[a][object], self.writes[b][object]))
                        .collect();
                    self.conflict[a][b] = circuit.any(both);
                }
            }
        }
    }

    /// Each transaction ran at exactly one of the levels that are spoken of.
    fn choose_levels(&mut self, names: Vec<String>, circuit: &mut Circuit, solver: &mut Solver) {
        let column = |circuit: &mut Circuit| {
            let chosen = (1..self.txns).map(|_| circuit.input());
            std::iter::once(Lit::FALSE).chain(chosen).collect::<Vec<Lit>>()
        };
        self.ran_at = names.into_iter().map(|name| (name, column(circuit))).collect();
        if self.ran_at.is_empty() {
            return;
        }
        for txn in 1..self.txns {
            let at: Vec<Lit> = self.ran_at.iter().map(|(_, column)| column[txn]).collect();
            solver.require_any(circuit, &at);
            for (place, &first) in at.iter().enumerate() {
                at[..place].iter().for_each(|&other| solver.require_any(circuit, &[!first, !other]));
            }
        }
    }

    /// Whether a transaction ran at a level.
    pub fn ran_at(&self, level: &str, txn: usize) -> Lit {
        let column = self.ran_at.iter().find(|(name, _)| name == level);
        column.map_or(Lit::FALSE, |(_, column)| column[txn])
    }

    fn order_reads(&mut self, circuit: &mut Circuit, solver: &mut Solver) {
        for _ in 0..self.txns {
            // The first element of a total order is fixed, so one more object than there is.
            let order = total_order(self.objects + 1, circuit, solver);
            self.read_order.push(order.into_iter().skip(1).map(|row| row[1..].to_vec()).collect());
        }
    }

    fn order_events(&mut self, circuit: &mut Circuit, solver: &mut Solver) {
        self.events = total_order(2 * self.txns - 1, circuit, solver);
        for a in 1..self.txns {
            solver.require(circuit, self.events[2 * a - 1][2 * a]);
            for b in (1..self.txns).filter(|&b| b != a) {
                solver.require_any(circuit, &[!self.session[a][b], self.events[2 * a][2 * b - 1]]);
            }
        }
    }

    /// Objects by their writers, read as a number, largest first.
    fn sort_objects(&self, circuit: &mut Circuit, solver: &mut Solver) {
        for object in 1..self.objects {
            let mut equal = Lit::TRUE;
            for txn in 1..self.txns {
                let (left, right) = (self.writes[txn][object - 1], self.writes[txn][object]);
                solver.require_any(circuit, &[!equal, left, !right]);
                let (rises, falls) = (circuit.and(!left, right), circuit.and(left, !right));
                let same = circuit.and(!rises, !falls);
                equal = circuit.and(equal, same);
            }
        }
    }

    /// Whether an element of a history relation is in it.
    pub fn base(&self, circuit: &mut Circuit, base: Base, tuple: &[usize]) -> Lit {
        match base {
            Base::Session => self.session[tuple[0]][tuple[1]],
            Base::ReadsFrom => self.reads_from[tuple[0]][tuple[1]],
            Base::Conflict => self.conflict[tuple[0]][tuple[1]],
            Base::Initial => Lit::constant(tuple[0] == 0),
            Base::Writers => self.writes[tuple[1]][tuple[0]],
            Base::Readers => self.reads[tuple[1]][tuple[0]],
            Base::ReadsFromOn => self.source[tuple[0]][tuple[1]][tuple[2]],
            // A value is called after the transaction that writes it.
            Base::Writes if tuple[0] == tuple[2] => self.writes[tuple[0]][tuple[1]],
            Base::Writes => Lit::FALSE,
            Base::Reads => self.source[tuple[1]][tuple[2]][tuple[0]],
            Base::ReadsThen => self.reads_then(circuit, tuple),
            Base::RealTime => self.event(tuple, |a, b| (2 * a, 2 * b - 1)),
            Base::CommitRealTime => self.event(tuple, |a, b| (2 * a, 2 * b)),
            Base::BeginRealTime => self.event(tuple, |a, b| (2 * a - 1, 2 * b)),
            Base::Before | Base::Visible | Base::Earlier => unreachable!("{base:?} is not of the history"),
        }
    }

    fn event(&self, tuple: &[usize], ends: impl Fn(usize, usize) -> (usize, usize)) -> Lit {
        let (a, b) = (tuple[0], tuple[1]);
        if a == 0 || b == 0 || a == b {
            return Lit::FALSE;
        }
        let (first, second) = ends(a, b);
        self.events[first][second]
    }

    fn reads_then(&self, circuit: &mut Circuit, tuple: &[usize]) -> Lit {
        let &[object, first, second, reader] = tuple else { unreachable!("reads_then has four columns") };
        let mut any = Lit::FALSE;
        for other in (0..self.objects).filter(|&other| other != object) {
            let earlier =
                circuit.and(self.source[other][first][reader], self.read_order[reader][other][object]);
            any = circuit.or(any, earlier);
        }
        circuit.and(any, self.source[object][second][reader])
    }

    /// The history that a model describes, and the place of each transaction in it.
    pub fn history(&self, solver: &Solver) -> (SmallHistory, Vec<usize>) {
        let is = |lit: Lit| solver.value(lit);
        let numbers = self.in_session_order(solver);
        let mut place = vec![usize::MAX; self.txns];
        numbers.iter().enumerate().for_each(|(at, &txn)| place[txn] = at);
        let mut sessions = vec![usize::MAX; self.txns];
        let mut history = SmallHistory::default();
        let mut next_session = 0;
        for &txn in &numbers {
            // A transaction continues the session of its last predecessor, unless that one has gone on already.
            let last = numbers[..place[txn]].iter().rev().find(|&&earlier| is(self.session[earlier][txn]));
            let free = |session: usize, before: usize| {
                numbers[place[before] + 1..place[txn]].iter().all(|&between| sessions[between] != session)
            };
            sessions[txn] = match last {
                Some(&last) if free(sessions[last], last) => sessions[last],
                _ => {
                    next_session += 1;
                    next_session - 1
                }
            };
            history.txns.push(self.txn(txn, sessions[txn], solver));
        }
        for (second, &later) in numbers.iter().enumerate() {
            for (first, &earlier) in numbers[..second].iter().enumerate() {
                if is(self.session[earlier][later]) && !history.in_session_order(first, second) {
                    history.extra_session_order.push((first, second));
                }
            }
        }
        rename_objects(&mut history);
        (history, place)
    }

    fn in_session_order(&self, solver: &Solver) -> Vec<usize> {
        let mut numbers: Vec<usize> = Vec::new();
        while numbers.len() + 1 < self.txns {
            let ready = |&txn: &usize| {
                let waits =
                    |other: usize| solver.value(self.session[other][txn]) && !numbers.contains(&other);
                !numbers.contains(&txn) && !(1..self.txns).any(waits)
            };
            numbers.push((1..self.txns).find(ready).expect("session order has no cycle"));
        }
        numbers
    }

    fn txn(&self, txn: usize, session: usize, solver: &Solver) -> SmallTxn {
        let is = |lit: Lit| solver.value(lit);
        let value = |object: usize, writer: usize| {
            (1..=writer).filter(|&t| is(self.writes[t][object])).count() as u32
        };
        let mut objects: Vec<usize> = (0..self.objects).collect();
        if let Some(order) = self.read_order.get(txn) {
            objects
                .sort_by_key(|&object| (0..self.objects).filter(|&other| is(order[other][object])).count());
        }
        let source = |object: usize| (0..self.txns).find(|&writer| is(self.source[object][writer][txn]));
        let reads: Vec<(usize, u32)> = objects
            .into_iter()
            .filter_map(|object| {
                source(object).map(|writer| (object, if writer == 0 { 0 } else { value(object, writer) }))
            })
            .collect();
        let writes: Vec<(usize, u32)> = (0..self.objects)
            .filter(|&object| is(self.writes[txn][object]))
            .map(|object| (object, value(object, txn)))
            .collect();
        let mut small = SmallTxn::committed(session, &reads, &writes);
        let ran_at = self.ran_at.iter().find(|(_, column)| is(column[txn]));
        small.level = ran_at.map(|(name, _)| name.clone());
        if !self.events.is_empty() {
            let moment = |event: usize| {
                (1..self.events.len()).filter(|&other| is(self.events[other][event])).count() as i64
            };
            small.times = SmallTimes::exact(moment(2 * txn - 1), moment(2 * txn));
        }
        small
    }
}

/// Objects by first appearance, so that a reader meets x before y.
fn rename_objects(history: &mut SmallHistory) {
    let mut names: Vec<usize> = Vec::new();
    for txn in &mut history.txns {
        for (object, _) in txn.reads.iter_mut().chain(&mut txn.writes) {
            let known = names.iter().position(|known| known == object);
            *object = known.unwrap_or_else(|| {
                names.push(*object);
                names.len() - 1
            });
        }
    }
}

fn speaks_of_read_order(level: &Level) -> bool {
    level.mentions(Base::ReadsThen) || level.mentions(Base::Earlier)
}
