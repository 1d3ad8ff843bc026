//! Random small problems: the answer is compared with all assignments, an order must satisfy the problem, and a proof is
//! replayed clause by clause.

use isoscope_solve::{Habits, Lit, Origin, Proof, SearchEnd, Setup, Solver};
use order::{Digraph, IncrementalOrder, topological_order};

/// Numbers that depend on the seed alone (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % u64::from(bound)) as u32
    }

    fn pair(&mut self, nodes: u32) -> (u32, u32) {
        let from = self.below(nodes);
        (from, (from + 1 + self.below(nodes - 1)) % nodes)
    }
}

/// A problem as an engine poses it: orders of pairs, sources of which one holds, and edges that depend on both.
#[derive(Default)]
struct Problem {
    nodes: u32,
    known: Vec<(u32, u32)>,
    setup: Setup,
    vars: u32,
    edges: Vec<(u32, u32, Vec<Lit>)>,
    clauses: Vec<Vec<Lit>>,
}

impl Problem {
    fn random(random: &mut Random) -> Self {
        let mut problem = Self { nodes: 3 + random.below(5), ..Self::default() };
        for _ in 0..random.below(5) {
            let (a, b) = random.pair(problem.nodes);
            problem.known.push((a.min(b), a.max(b)));
        }
        let mut orders = Vec::new();
        for _ in 0..1 + random.below(4) {
            let (a, b) = random.pair(problem.nodes);
            orders.push(problem.order(a, b));
        }
        for _ in 0..random.below(3) {
            let count = 2 + random.below(2);
            let options: Vec<Lit> = (0..count).map(|_| problem.source(random)).collect();
            problem.setup.add_choice(&[], &options);
            problem.clause(options.clone());
            for &option in &options {
                let (a, b) = random.pair(problem.nodes);
                let order = orders[random.below(orders.len() as u32) as usize];
                let order = if random.below(2) == 0 { order } else { !order };
                problem.edge(a, b, vec![option, order]);
            }
        }
        problem
    }

    /// One of two nodes is before the other.
    fn order(&mut self, a: u32, b: u32) -> Lit {
        self.vars += 1;
        let lit = self.setup.new_order_var((a, b), Some((b, a)));
        self.edge(a, b, vec![lit]);
        self.edge(b, a, vec![!lit]);
        self.setup.add_choice(&[], &[lit, !lit]);
        lit
    }

    fn source(&mut self, random: &mut Random) -> Lit {
        self.vars += 1;
        let lit = self.setup.new_var();
        let (a, b) = random.pair(self.nodes);
        self.edge(a, b, vec![lit]);
        lit
    }

    fn edge(&mut self, from: u32, to: u32, conditions: Vec<Lit>) {
        self.setup.add_edge(from, to, &conditions);
        self.edges.push((from, to, conditions));
    }

    fn clause(&mut self, lits: Vec<Lit>) {
        self.setup.add_clause(lits.clone(), self.clauses.len() as u32);
        self.clauses.push(lits);
    }

    /// The edges of an assignment (a bit for each variable), if it satisfies the clauses.
    fn edges_of(&self, assignment: u32) -> Option<Vec<(u32, u32)>> {
        let is_true = |lit: &Lit| (assignment >> lit.var() & 1 == 1) != lit.is_negative();
        let is_satisfied = |clause: &Vec<Lit>| clause.iter().any(is_true);
        let taken = self.edges.iter().filter(|(.., conditions)| conditions.iter().all(is_true));
        let edges = self.known.iter().copied().chain(taken.map(|&(from, to, _)| (from, to)));
        self.clauses.iter().all(is_satisfied).then(|| edges.collect())
    }

    fn has_solution(&self) -> bool {
        let is_acyclic = |edges: Vec<(u32, u32)>| topological_order(&graph(self.nodes, &edges)).is_some();
        (0..1 << self.vars).filter_map(|assignment| self.edges_of(assignment)).any(is_acyclic)
    }

    /// Whether an assignment has all its edges along an order.
    fn is_explained_by(&self, order: &[u32]) -> bool {
        let place = |node: u32| order.iter().position(|&known| known == node);
        let is_forward = |&(from, to): &(u32, u32)| place(from) < place(to);
        let mut all = (0..1 << self.vars).filter_map(|assignment| self.edges_of(assignment));
        all.any(|edges| edges.iter().all(is_forward))
    }

    fn replay(&self, proof: &Proof) {
        for (number, clause) in proof.clauses.iter().enumerate() {
            match &clause.origin {
                // The solver keeps the literals of a clause in the order that suits it.
                Origin::Given(tag) => assert_eq!(sorted(&clause.lits), sorted(&self.clauses[*tag as usize])),
                Origin::Cycle(nodes) => self.replay_cycle(&clause.lits, nodes),
                Origin::Learned(hints) => {
                    assert!(hints.iter().all(|&hint| (hint as usize) < number), "a clause uses a later one");
                    let hints = hints.iter().map(|&hint| &proof.clauses[hint as usize].lits);
                    assert!(follows(&clause.lits, hints), "{:?} does not follow", clause.lits);
                }
            }
        }
        assert!(proof.clauses.last().is_some_and(|clause| clause.lits.is_empty()), "the last is not empty");
    }

    fn replay_cycle(&self, lits: &[Lit], nodes: &[(u32, Option<u32>)]) {
        for (place, &(from, edge)) in nodes.iter().enumerate() {
            let to = nodes[(place + 1) % nodes.len()].0;
            match edge {
                None => assert!(self.known.contains(&(from, to)), "{from} to {to} is no known edge"),
                Some(edge) => {
                    let (start, end, conditions) = &self.edges[edge as usize];
                    assert_eq!((*start, *end), (from, to));
                    assert!(conditions.iter().all(|&lit| lits.contains(&!lit)), "a condition is missing");
                }
            }
        }
    }
}

/// Unit propagation over the hints, in their order, refutes the negation of a clause.
fn follows<'p>(clause: &[Lit], hints: impl Iterator<Item = &'p Vec<Lit>>) -> bool {
    let mut is_false: Vec<Lit> = clause.to_vec();
    for hint in hints {
        let open: Vec<Lit> = hint.iter().copied().filter(|lit| !is_false.contains(lit)).collect();
        match open[..] {
            [] => return true,
            [unit] => is_false.push(!unit),
            _ => return false,
        }
    }
    false
}

fn sorted(lits: &[Lit]) -> Vec<Lit> {
    let mut lits = lits.to_vec();
    lits.sort_unstable();
    lits
}

fn graph(nodes: u32, edges: &[(u32, u32)]) -> Digraph {
    let mut graph = Digraph::new(nodes as usize);
    edges.iter().for_each(|&(from, to)| _ = graph.add(from, to));
    graph
}

#[test]
fn soak_answers_agree_with_all_assignments() {
    let count: u64 = std::env::var("ISOSCOPE_SOAK").ok().and_then(|text| text.parse().ok()).unwrap_or(4_000);
    let mut found = [0; 2];
    for seed in 0..count {
        let problem = Problem::random(&mut Random(seed));
        let known = graph(problem.nodes, &problem.known);
        let order = topological_order(&known).expect("known edges go up");
        for (lazy, polarity) in [(true, true), (true, false), (false, true), (false, false)] {
            let habits = Habits { lazy, polarity, seed };
            let mut solver = Solver::new(&problem.setup, IncrementalOrder::new(&known, &order), habits);
            let answer = solver.search(&mut || false, &mut || None);
            assert_eq!(answer == SearchEnd::Satisfied, problem.has_solution(), "seed {seed}, {habits:?}");
            found[usize::from(answer == SearchEnd::Satisfied)] += 1;
            match answer {
                SearchEnd::Satisfied => assert!(problem.is_explained_by(&solver.order()), "seed {seed}"),
                _ => problem.replay(&solver.proof()),
            }
        }
    }
    assert!(found.iter().all(|&count| count > 0), "{found:?}: only one kind of problem was made");
}
