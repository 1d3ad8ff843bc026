//! The published benchmark: 46 problems in two frameworks, at any number of transactions.
//!
//! Of two neighbours in RA < CC < PC < SI < Ser the weaker allows something the stronger forbids, in every pairing of
//! frameworks, and never the other way round; plus update serializability, and the levels made of patterns.

use std::ops::RangeInclusive;

use spec::{Level, library};

use crate::problem::{Options, Problem, Scope};
use crate::search::Search;

/// One problem, and whether a history is expected from how many transactions on.
#[derive(Clone, Debug)]
pub struct Benchmark {
    /// The class it belongs to: `SAT-1`, `SAT-2`, `UNSAT-1` or `UNSAT-2`.
    pub class: &'static str,
    /// Levels to allow.
    pub allow: Vec<&'static str>,
    /// The level to forbid.
    pub forbid: &'static str,
    /// The least number of transactions with a history; `None` if there is none of any size.
    pub found_from: Option<usize>,
}

/// What one run gave.
#[derive(Clone, Debug)]
pub struct Row {
    /// The class of the problem.
    pub class: &'static str,
    /// The problem, as `{A, !B}`.
    pub problem: String,
    /// How many transactions.
    pub txns: usize,
    /// Whether a history was found.
    pub found: bool,
    /// Whether that is the published outcome.
    pub as_published: bool,
    /// How long it took, in nanoseconds, as the caller's clock tells.
    pub time_ns: u128,
    /// Histories that were proposed.
    pub candidates: usize,
    /// Clauses given to the solver.
    pub clauses: usize,
}

impl Benchmark {
    fn new(
        class: &'static str,
        allow: &[&'static str],
        forbid: &'static str,
        found_from: Option<usize>,
    ) -> Self {
        Self { class, allow: allow.to_vec(), forbid, found_from }
    }

    /// The problem in the notation of the field.
    pub fn name(&self) -> String {
        format!("{{{}, !{}}}", self.allow.join(", "), self.forbid)
    }

    /// Runs it in a scope. `clock` gives nanoseconds since any moment.
    pub fn run(&self, scope: Scope, options: Options, clock: &mut dyn FnMut() -> u128) -> Row {
        let level = |name: &str| -> &'static Level { library::level(name).expect("a shipped level") };
        let started = clock();
        let problem = Problem {
            allow: self.allow.iter().map(|name| level(name)).collect(),
            forbid: vec![level(self.forbid)],
            options,
        };
        let mut search = Search::new(&problem, scope);
        let found = search.next().is_some();
        let time_ns = clock() - started;
        let effort = search.effort();
        Row {
            class: self.class,
            problem: self.name(),
            txns: scope.txns,
            found,
            as_published: found == self.found_from.is_some_and(|least| scope.txns >= least),
            time_ns,
            candidates: effort.candidates,
            clauses: effort.clauses,
        }
    }
}

/// Runs the 46 problems with 5 objects and 5 values at each number of transactions, and then the two that are hard:
/// `{SI, !Ser}` with one object at 10, and `{PSI, PC, !SI}` without blind writes at 9, for which there is no history.
pub fn run(txns: RangeInclusive<usize>, options: Options, clock: &mut dyn FnMut() -> u128) -> Vec<Row> {
    let problems = problems();
    let mut rows = Vec::new();
    for txns in txns {
        let scope = Scope { txns, objects: 5, values: 5 };
        rows.extend(problems.iter().map(|problem| problem.run(scope, options, clock)));
    }
    let one_object = Benchmark::new("hard", &["si-b"], "ser-b", None);
    rows.push(one_object.run(Scope { txns: 10, objects: 1, values: 5 }, options, clock));
    let two_orders = Benchmark::new("hard", &["psi-c", "pc-c"], "si-c", None);
    let without_blind_writes = Options { blind_writes: false, ..options };
    rows.push(two_orders.run(Scope { txns: 9, objects: 3, values: 5 }, without_blind_writes, clock));
    let with_blind_writes = Options { blind_writes: true, ..options };
    let two_orders = Benchmark { found_from: Some(4), ..two_orders };
    rows.push(two_orders.run(Scope { txns: 9, objects: 3, values: 5 }, with_blind_writes, clock));
    rows
}

const CHAIN: [(&str, &str); 5] =
    [("ra-b", "ra-c"), ("cc-b", "cc-c"), ("pc-b", "pc-c"), ("si-b", "si-c"), ("ser-b", "ser-c")];

/// The 46 problems, in the order of their classes.
pub fn problems() -> Vec<Benchmark> {
    let mut sat_1 = Vec::new();
    let mut sat_2 = Vec::new();
    let mut unsat_1 = Vec::new();
    for (at, pair) in CHAIN.windows(2).enumerate() {
        let (weak, strong) = (pair[0], pair[1]);
        // A long fork takes four transactions; everything else that separates neighbours takes at most three.
        let from = Some(if at == 1 { 4 } else { 3 });
        sat_1.push(Benchmark::new("SAT-1", &[weak.0], strong.0, from));
        sat_1.push(Benchmark::new("SAT-1", &[weak.1], strong.1, from));
        sat_2.push(Benchmark::new("SAT-2", &[weak.0], strong.1, from));
        sat_2.push(Benchmark::new("SAT-2", &[weak.1], strong.0, from));
        unsat_1.push(Benchmark::new("UNSAT-1", &[strong.0], weak.0, None));
        unsat_1.push(Benchmark::new("UNSAT-1", &[strong.1], weak.1, None));
    }
    for si in ["si-b", "si-c"] {
        for updates in ["update-ser-b", "update-ser-c"] {
            for ser in ["ser-b", "ser-c"] {
                let same =
                    si.ends_with('b') == updates.ends_with('b') && si.ends_with('b') == ser.ends_with('b');
                let class = if same { "SAT-1" } else { "SAT-2" };
                let list = if same { &mut sat_1 } else { &mut sat_2 };
                list.push(Benchmark::new(class, &[si, updates], ser, Some(3)));
            }
        }
    }
    sat_1.push(Benchmark::new("SAT-1", &["tap-ra"], "ra-b", Some(2)));
    unsat_1.push(Benchmark::new("UNSAT-1", &["ra-b"], "tap-ra", None));
    unsat_1.push(Benchmark::new("UNSAT-1", &["cc-b"], "tap-cc", None));
    unsat_1.push(Benchmark::new("UNSAT-1", &["tap-cc"], "cc-b", None));
    let unsat_2 = CHAIN.iter().flat_map(|&(b, c)| {
        [Benchmark::new("UNSAT-2", &[b], c, None), Benchmark::new("UNSAT-2", &[c], b, None)]
    });
    [sat_1, sat_2, unsat_1, unsat_2.collect()].concat()
}
