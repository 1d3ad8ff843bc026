//! Sources and orders of writers as choices of a solver, made only where an order violates the level.
//!
//! A model of the solver says which unknown transactions committed, where each read with several sources came from, and
//! how some pairs are ordered. It becomes a graph and an order; a cycle or a hit becomes a clause: what it rests on
//! excludes one another, or puts the visible writer before the source. Each clause is an instance of the level's text,
//! there are finitely many, and each is violated by the model that it comes from: so it ends, and with the right
//! answer. Lazy clause generation (Ohrimenko, Stuckey and Codish 2009), with a MiniSat (batsat) that keeps what it
//! learned from round to round.
//!
//! Of the possible sources of a read only the nearest in the guessed order are choices at first (`choices/sources.rs`).
//!
//! Every clause has a switch, so that a contradiction names the clauses, and by them the transactions, that it needs.

mod sources;

use batsat::{BasicSolver, Lit, SolverInterface, Var, lbool};
use certify::text::facts::{Facts, INITIAL};
use certify::text::judge::{Hit, Judge, Witness};
use certify::text::plan::{Part, Plan};
use certify::text::saturate;
use rustc_hash::FxHashMap;

use crate::core_of;
use crate::cycles;
use crate::forced;
use crate::known::Known;
use crate::paths;
use crate::sorted::Pairs;
use crate::{Options, TextDecision};
use sources::Sources;

/// More possible sources than this in sum are not looked at.
const MOST_CANDIDATES: usize = 4_000_000;

/// A contradiction of more nodes than this is made smaller before it is given.
const FEW_NODES: usize = 63;

/// How many hits of one order become clauses.
const MOST_HITS: usize = 4000;

/// How many cycles of one model become clauses.
const MOST_CYCLES: usize = 100;

/// What a variable stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Choice {
    /// The unknown transaction committed.
    In(u32),
    /// The read came from the node.
    Source(u32, u32),
    /// The first stands before the second; the first has the smaller number.
    Before(u32, u32),
}

/// What a clause rests on.
struct Rests {
    nodes: Vec<u32>,
    /// Pairs that every order has, because of other nodes.
    known: Vec<(u32, u32)>,
}

struct ChoiceSearch<'a> {
    facts: &'a Facts,
    plan: &'a Plan,
    options: &'a Options<'a>,
    solver: BasicSolver,
    vars: FxHashMap<Choice, Var>,
    pairs: Vec<(u32, u32)>,
    switches: Vec<Lit>,
    /// The nodes that each clause speaks of, by its switch.
    nodes_of: FxHashMap<Var, Rests>,
    is_certain: Vec<bool>,
    known: Known,
    /// A guessed order: the position of each node.
    guess: Vec<u32>,
    sources: Sources,
    /// Whether an order is mended by moving readers to the front.
    reader_moves: bool,
    /// Unknown transactions that became a choice, and whose sources are not demanded yet.
    open: Vec<u32>,
}

pub(crate) fn decide(
    facts: &Facts,
    plan: &Plan,
    certain: &[u32],
    options: &Options<'_>,
) -> TextDecision<'static> {
    let mut is_certain = vec![false; facts.node_count()];
    is_certain[INITIAL as usize] = true;
    certain.iter().for_each(|&node| is_certain[node as usize] = true);
    let known = match Known::new(facts, plan, certain) {
        Ok(known) => known,
        Err(cycle) => return core_of::smallest(facts, plan, cycle_nodes(facts, &is_certain, cycle)),
    };
    let mut search = ChoiceSearch {
        facts,
        plan,
        options,
        solver: BasicSolver::default(),
        vars: FxHashMap::default(),
        pairs: Vec::new(),
        switches: Vec::new(),
        nodes_of: FxHashMap::default(),
        guess: guess(facts, plan, options),
        is_certain,
        known,
        sources: Sources::new(facts),
        reader_moves: plan.parts.iter().any(reader_moves),
        open: Vec::new(),
    };
    for &node in certain {
        search.demand_sources(node);
        if search.sources.candidate_count > MOST_CANDIDATES || (options.stop)() {
            return TextDecision::Stopped;
        }
    }
    search.run()
}

/// Whether a hit of a part is better mended by a reader that stands earlier than by another order of the writers: where
/// the reader sees everything before it, it has mostly read before a writer that was faster to commit.
fn reader_moves(part: &Part) -> bool {
    matches!(part, Part::Before { .. } | Part::Cursor | Part::Prefix { .. })
}

/// The nodes of a cycle, with those whose lists show its pairs.
fn cycle_nodes(facts: &Facts, is_certain: &[bool], cycle: Vec<u32>) -> Vec<u32> {
    let mut nodes = cycle.clone();
    for (place, &from) in cycle.iter().enumerate() {
        let to = cycle[(place + 1) % cycle.len()];
        nodes.extend(forced::teller(facts, is_certain, from, to));
    }
    nodes
}

/// An order of all nodes from what is certain and from the numbers that were given.
fn guess(facts: &Facts, plan: &Plan, options: &Options<'_>) -> Vec<u32> {
    let nodes: Vec<u32> = (1..facts.node_count() as u32).collect();
    let is_in = vec![true; facts.node_count()];
    let source: Vec<u32> =
        (0..facts.reads().len()).map(|read| facts.only_source(read).unwrap_or(INITIAL)).collect();
    let pairs = Pairs::new(facts.node_count(), |add| forced::visit_known(facts, plan, &is_in, &source, add));
    let order = match options.priority.is_empty() {
        true => pairs.order(&nodes),
        false => pairs.order_by(&nodes, |node| options.priority[node as usize]),
    };
    let mut position = vec![0; facts.node_count()];
    for (place, node) in order.unwrap_or(nodes).into_iter().enumerate() {
        position[node as usize] = place as u32 + 1;
    }
    position
}

impl ChoiceSearch<'_> {
    fn run(&mut self) -> TextDecision<'static> {
        let mut model_count = 0;
        while model_count < self.options.most_models {
            while let Some(node) = self.open.pop() {
                self.demand_sources(node);
            }
            if (self.options.stop)() || self.sources.candidate_count > MOST_CANDIDATES {
                return TextDecision::Stopped;
            }
            match self.solver.solve_limited(&self.switches) {
                result if result == lbool::FALSE => return self.contradiction(),
                result if result == lbool::TRUE => {}
                _ => return TextDecision::Stopped,
            }
            if self.ask_for_more_sources() {
                continue;
            }
            model_count += 1;
            let (is_in, source) = self.model();
            let nodes: Vec<u32> =
                (1..self.facts.node_count() as u32).filter(|&node| is_in[node as usize]).collect();
            let decided = self.decided_pairs(&is_in);
            let pairs = Pairs::new(self.facts.node_count(), |add| {
                forced::visit_known(self.facts, self.plan, &is_in, &source, add);
                decided.iter().for_each(|&(from, to)| add(from, to));
            });
            let order = match self.reader_moves {
                true => pairs.order_late(&nodes, |node| u64::from(self.guess[node as usize])),
                false => pairs.order_by(&nodes, |node| u64::from(self.guess[node as usize])),
            };
            match order {
                Err(left) => {
                    let chosen: Vec<(u32, u32)> =
                        decided.into_iter().chain(self.chosen_sources(&is_in, &source)).collect();
                    for cycle in cycles::of_model(&pairs, &chosen, &left, MOST_CYCLES) {
                        self.exclude_cycle(&cycle, &source);
                    }
                }
                Ok(order) => {
                    let witness = Witness::new(self.facts, order, source);
                    let judge = Judge::new(self.facts, self.plan, self.options.stop);
                    let Ok(hits) = judge.hits(&witness) else { return TextDecision::Stopped };
                    if hits.is_empty() {
                        return TextDecision::Holds(witness);
                    }
                    self.guess.clone_from(&witness.position);
                    self.place_absent();
                    hits.iter().take(MOST_HITS).for_each(|hit| self.exclude(&witness, hit));
                }
            }
        }
        TextDecision::GivenUp
    }

    /// Nodes that are not in the order keep a place behind all others.
    fn place_absent(&mut self) {
        let count = self.facts.node_count() as u32;
        for node in 0..count {
            if self.guess[node as usize] >= count {
                self.guess[node as usize] = count + node;
            }
        }
    }

    fn model(&self) -> (Vec<bool>, Vec<u32>) {
        let is_true = |choice: Choice| {
            self.vars.get(&choice).is_some_and(|&var| self.solver.value_var(var) == lbool::TRUE)
        };
        let count = self.facts.node_count() as u32;
        let is_in: Vec<bool> =
            (0..count).map(|node| self.is_certain[node as usize] || is_true(Choice::In(node))).collect();
        let mut source: Vec<u32> = (0..self.facts.reads().len())
            .map(|read| self.facts.candidates(read).first().copied().unwrap_or(INITIAL))
            .collect();
        for open in self.sources.open() {
            let is_chosen = |&&(_, var): &&(u32, Var)| self.solver.value_var(var) == lbool::TRUE;
            if let Some(&(node, _)) = open.tried.iter().find(is_chosen) {
                source[open.read as usize] = node;
            }
        }
        (is_in, source)
    }

    fn decided_pairs(&self, is_in: &[bool]) -> Vec<(u32, u32)> {
        let both = |&&(a, b): &&(u32, u32)| is_in[a as usize] && is_in[b as usize];
        let decided = self.pairs.iter().filter(both).map(|&(a, b)| {
            let value = self.solver.value_var(self.vars[&Choice::Before(a, b)]);
            if value == lbool::FALSE { (b, a) } else { (a, b) }
        });
        decided.collect()
    }

    fn var(&mut self, choice: Choice, wanted: bool) -> Var {
        if let Some(&var) = self.vars.get(&choice) {
            return var;
        }
        let polarity = if wanted { lbool::TRUE } else { lbool::FALSE };
        let var = self.solver.new_var(polarity, true);
        self.vars.insert(choice, var);
        if let Choice::Before(a, b) = choice {
            self.pairs.push((a, b));
        }
        var
    }

    /// The literal of a pair; nothing if it is in every order, or the pair is one of the initial state.
    fn before(&mut self, first: u32, second: u32, wanted: bool) -> Lit {
        let (a, b) = (first.min(second), first.max(second));
        let is_straight = first == a;
        let var = self.var(Choice::Before(a, b), wanted == is_straight);
        Lit::new(var, is_straight)
    }

    /// The literal that a node is not taken as committed; nothing if it surely is.
    fn out(&mut self, node: u32) -> Option<Lit> {
        if self.is_certain[node as usize] {
            return None;
        }
        let is_new = !self.vars.contains_key(&Choice::In(node));
        let var = self.var(Choice::In(node), false);
        if is_new {
            self.open.push(node);
        }
        Some(Lit::new(var, false))
    }

    /// The literals that a read did not come from there.
    fn not_from(&mut self, read: u32, source: u32, clause: &mut Vec<Lit>) {
        if self.facts.only_source(read as usize).is_some() {
            return;
        }
        let var = self.var(Choice::Source(read, source), false);
        clause.push(Lit::new(var, false));
    }

    fn add(&mut self, clause: Vec<Lit>, nodes: Vec<u32>) {
        self.add_knowing(clause, nodes, Vec::new());
    }

    fn add_knowing(&mut self, mut clause: Vec<Lit>, nodes: Vec<u32>, known: Vec<(u32, u32)>) {
        let switch = self.solver.new_var(lbool::TRUE, false);
        self.switches.push(Lit::new(switch, true));
        clause.push(Lit::new(switch, false));
        self.solver.add_clause_reuse(&mut clause);
        self.nodes_of.insert(switch, Rests { nodes, known });
    }

    fn out_of_known(&self, node: u32) -> Option<Lit> {
        let var = self.vars.get(&Choice::In(node)).copied();
        var.filter(|_| !self.is_certain[node as usize]).map(|var| Lit::new(var, false))
    }

    /// What a hit rests on puts the visible writer before the source.
    fn exclude(&mut self, witness: &Witness, hit: &Hit) {
        let facts = self.facts;
        let reader = facts.reader(hit.read as usize);
        let source = witness.source[hit.read as usize];
        let part = &self.plan.parts[hit.part as usize];
        let way = paths::way(facts, witness, part, hit.rival, reader);
        let mut clause = Vec::new();
        let mut known = Vec::new();
        self.not_from(hit.read, source, &mut clause);
        for &read in &way.reads {
            let from = witness.source[read as usize];
            self.not_from(read, from, &mut clause);
        }
        let keeps_writers = reader_moves(part);
        for &(first, second) in &way.before {
            match self.known.is_before(facts, first, second) {
                true => known.push((first, second)),
                false => {
                    let lit = self.before(first, second, !keeps_writers);
                    clause.push(!lit);
                }
            }
        }
        match self.known.is_before(facts, source, hit.rival) {
            true => known.push((source, hit.rival)),
            false => {
                let lit = self.before(hit.rival, source, !keeps_writers);
                clause.push(lit);
            }
        }
        if let Some(key) = way.overwrites {
            self.add_writers_between(key, hit.rival, reader, &mut clause, &mut known);
        }
        let mut nodes = way.nodes;
        let ends = [source, reader, hit.rival];
        let rests: Vec<u32> = match way.overwrites {
            // Other writers need not be there.
            Some(_) => ends.to_vec(),
            None => nodes.iter().copied().chain(ends).collect(),
        };
        nodes.extend(ends);
        for &node in &rests {
            let out = self.out(node);
            clause.extend(out);
        }
        clause.sort_unstable();
        clause.dedup();
        self.add_knowing(clause, nodes, known);
    }

    /// Adds to a clause that some other writer of a key stands between two of them: a literal for each, which implies both
    /// pairs and that the writer is there.
    fn add_writers_between(
        &mut self,
        key: u32,
        first: u32,
        last: u32,
        clause: &mut Vec<Lit>,
        known: &mut Vec<(u32, u32)>,
    ) {
        let facts = self.facts;
        for &writer in facts.writers(key).iter().filter(|&&writer| writer != first && writer != last) {
            if self.known.is_before(facts, writer, first) {
                known.push((writer, first));
                continue;
            }
            if self.known.is_before(facts, last, writer) {
                known.push((last, writer));
                continue;
            }
            let between = Lit::new(self.solver.new_var(lbool::FALSE, true), true);
            let nodes = vec![first, writer, last];
            for (from, to) in [(first, writer), (writer, last)] {
                if !self.known.is_before(facts, from, to) {
                    let lit = self.before(from, to, false);
                    self.add(vec![!between, lit], nodes.clone());
                }
            }
            if let Some(out) = self.out(writer) {
                self.add(vec![!between, !out], nodes);
            }
            clause.push(between);
        }
    }

    /// The pairs of a cycle are not all there.
    fn exclude_cycle(&mut self, cycle: &[u32], source: &[u32]) {
        let facts = self.facts;
        let mut clause = Vec::new();
        let mut nodes = cycle.to_vec();
        for (place, &from) in cycle.iter().enumerate() {
            let to = cycle[(place + 1) % cycle.len()];
            let out = self.out(from);
            clause.extend(out);
            if self.known.is_session_ordered(facts, from, to) || self.known.is_time_ordered(facts, from, to) {
                continue;
            }
            let told = facts.told().iter().filter(|&&(a, b, _)| (a, b) == (from, to));
            let told = told.map(|&(.., by)| by).find(|&by| {
                self.is_certain[by as usize]
                    || self
                        .vars
                        .get(&Choice::In(by))
                        .is_some_and(|&var| self.solver.value_var(var) == lbool::TRUE)
            });
            if let Some(by) = told {
                nodes.push(by);
                let out = self.out(by);
                clause.extend(out);
                continue;
            }
            // A decided pair is one literal; a read may be one too, or nothing.
            let reads = facts.reads_of(to).filter(|&read| source[read] == from);
            let read = reads
                .filter(|_| self.known.is_read_ordered(facts, to))
                .min_by_key(|&read| facts.only_source(read).is_none());
            match read {
                Some(read) => self.not_from(read as u32, from, &mut clause),
                None => {
                    let lit = self.before(from, to, true);
                    clause.push(!lit);
                }
            }
        }
        clause.sort_unstable();
        clause.dedup();
        self.add(clause, nodes);
    }

    fn contradiction(&mut self) -> TextDecision<'static> {
        let core: Vec<Var> = self.solver.unsat_core().iter().map(|lit| lit.var()).collect();
        let mut nodes = Vec::new();
        for rests in core.iter().filter_map(|var| self.nodes_of.get(var)) {
            nodes.extend(&rests.nodes);
            for &(first, second) in rests.known.iter().filter(|&&(first, _)| first != INITIAL) {
                nodes.extend(self.known.way(self.facts, first, second));
            }
        }
        nodes = core_of::with_certainty(self.facts, nodes);
        if saturate::contradiction(&self.facts.restricted(&nodes), self.plan).is_some() {
            return core_of::smallest(self.facts, self.plan, nodes);
        }
        match nodes.len() > FEW_NODES {
            true => self.shrunk(nodes),
            false => TextDecision::Choices(nodes),
        }
    }

    /// Leaves out parts of the nodes, smaller and smaller ones, as long as the rest contradicts itself.
    fn shrunk(&self, mut nodes: Vec<u32>) -> TextDecision<'static> {
        let mut size = nodes.len() / 2;
        while size > 0 && nodes.len() > FEW_NODES {
            let mut start = 0;
            while start < nodes.len() && nodes.len() > FEW_NODES {
                if (self.options.stop)() {
                    return TextDecision::Stopped;
                }
                let end = (start + size).min(nodes.len());
                let rest: Vec<u32> = nodes[..start].iter().chain(&nodes[end..]).copied().collect();
                match self.contradicts_itself(&rest) {
                    Some(fewer) => nodes = fewer,
                    None => start = end,
                }
            }
            size /= 2;
        }
        TextDecision::Choices(nodes)
    }

    /// Some of these nodes that contradict themselves without the others.
    fn contradicts_itself(&self, nodes: &[u32]) -> Option<Vec<u32>> {
        let facts = self.facts.restricted(nodes);
        let options = Options { priority: &[], ..*self.options };
        let certain = saturate::certain_nodes(&facts);
        match decide(&facts, self.plan, &certain, &options) {
            TextDecision::Contradiction(fewer) | TextDecision::Choices(fewer) => {
                Some(fewer.iter().map(|&node| nodes[node as usize - 1]).collect())
            }
            TextDecision::Holds(_)
            | TextDecision::Accepted(_)
            | TextDecision::Stopped
            | TextDecision::GivenUp => None,
        }
    }
}
