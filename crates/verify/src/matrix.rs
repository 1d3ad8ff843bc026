//! A contradiction that needs no session order, by saturation with a matrix of bits as the closure.
//!
//! The closure of saturation is kept by chains, and sessions are the chains. Where sessions must not be used there are
//! none, so there is a bit for each pair of nodes, computed in strips of 512 columns: a row of a strip is one line of the
//! cache, and a strip of 100,000 nodes takes 6 MB. Only reads whose source is certain are looked at, and of the writers
//! of a key only those near the read (`NEARBY`) in a topological order. Whatever follows is true in every explanation, so
//! a cycle is a violation; that there is none says nothing.
//!
//! A round makes a topological order, computes the strips, and adds for each read the edges that follow about the
//! nearest writers. The premises of an edge are edges of earlier rounds, as the writing of proofs expects.
//!
//! A round costs edges times nodes / 512 lines of the cache, and `MOST_LINES` bounds all rounds together.

use certify::Certificate;
use history::KeyId;
use order::{EdgeId, Flat};
use rustc_hash::FxHashSet;

use crate::known::{KnownGraph, Reason};
use crate::options::{Limit, Options, Patience};
use crate::problem::{INITIAL, OPEN, Problem, UNUSED};
use crate::proof::{Evidence, ProofBuilder};
use crate::saturate::Contradiction;

/// How many writers of a key before a place in the order are looked at.
const NEARBY: usize = 128;

/// The most rows of strips that are computed, times the edges of each.
const MOST_LINES: u64 = 2_000_000_000;

/// A round that adds fewer edges than one for so many is the last: contradictions are mostly found in the first rounds.
const FEW_ADDED: usize = 500;

/// How many edges the search for the shortest cycle looks at.
const SEARCH_STEPS: u64 = 5_000_000;

const WORDS: usize = 8;
const COLUMNS: usize = 64 * WORDS;

/// A derivation of a contradiction from the graph and what follows from it, if saturation finds one.
pub(crate) fn refute(
    problem: &Problem<'_>,
    known: KnownGraph,
    options: &Options<'_>,
) -> Result<Option<Certificate>, Limit> {
    let mut matrix = Matrix::new(problem, known, options);
    let mut lines = 0;
    loop {
        let successors = Flat::successors(&matrix.known.graph);
        let Some(order) = order::topological_order_of(&successors) else {
            return matrix.prove(options).map(Some);
        };
        lines += matrix.known.graph.edge_count() as u64 * order.len().div_ceil(COLUMNS) as u64;
        if lines > MOST_LINES {
            return Ok(None);
        }
        matrix.take_order(&order);
        let added = matrix.follow(&successors, &order)?;
        if added <= matrix.known.graph.edge_count() / FEW_ADDED {
            return Ok(None);
        }
    }
}

struct Matrix<'m, 'a> {
    problem: &'m Problem<'a>,
    known: KnownGraph,
    patience: Patience<'m>,
    /// The edges that were derived.
    derived: FxHashSet<(u32, u32)>,
    /// For each node its place in the topological order.
    place: Vec<u32>,
    /// For each key the writes, by the place of the commit.
    writes: Vec<Vec<(u32, u32)>>,
    /// The reads of each write.
    reads: Vec<Vec<u32>>,
    /// For each key the reads of the initial state.
    initial_reads: Vec<Vec<u32>>,
}

/// Some columns of the closure: for each place the places of the strip that it leads to.
struct Strip {
    first: u32,
    end: u32,
    rows: Vec<[u64; WORDS]>,
}

/// For each place the places that follow it directly, ascending.
struct Following {
    start: Vec<u32>,
    places: Vec<u32>,
}

impl Following {
    fn new(successors: &Flat, order: &[u32], place: &[u32]) -> Self {
        let mut following = Self { start: vec![0], places: Vec::new() };
        for &node in order {
            let first = following.places.len();
            following.places.extend(successors.of(node).iter().map(|&next| place[next as usize]));
            following.places[first..].sort_unstable();
            following.start.push(following.places.len() as u32);
        }
        following
    }

    fn of(&self, place: u32) -> &[u32] {
        &self.places[self.start[place as usize] as usize..self.start[place as usize + 1] as usize]
    }
}

impl Strip {
    /// Computes the columns from a place on; places behind the strip lead to none of it.
    fn compute(&mut self, first: u32, following: &Following) {
        let end = (first + COLUMNS as u32).min(self.rows.len() as u32);
        (self.first, self.end) = (first, end);
        for at in (first..end).rev() {
            let mut row = [0; WORDS];
            for &next in following.of(at).iter().take_while(|&&next| next < end) {
                row[(next - first) as usize / 64] |= 1 << ((next - first) % 64);
                row.iter_mut().zip(&self.rows[next as usize]).for_each(|(word, other)| *word |= other);
            }
            self.rows[at as usize] = row;
        }
        for at in (0..first).rev() {
            let mut row = [0; WORDS];
            for &next in following.of(at) {
                if next >= end {
                    break;
                }
                row.iter_mut().zip(&self.rows[next as usize]).for_each(|(word, other)| *word |= other);
                if next >= first {
                    row[(next - first) as usize / 64] |= 1 << ((next - first) % 64);
                }
            }
            self.rows[at as usize] = row;
        }
    }

    /// Whether one place leads to another, which is in the strip.
    #[inline]
    fn leads(&self, from: u32, to: u32) -> bool {
        let column = to - self.first;
        from < to && self.rows[from as usize][column as usize / 64] >> (column % 64) & 1 == 1
    }
}

impl<'m, 'a> Matrix<'m, 'a> {
    fn new(problem: &'m Problem<'a>, known: KnownGraph, options: &'m Options<'_>) -> Self {
        let keys = problem.history.keys().len();
        let mut reads = vec![Vec::new(); problem.index.writes().len()];
        let mut initial_reads = vec![Vec::new(); keys];
        for (read, &source) in problem.source.iter().enumerate() {
            match source {
                OPEN | UNUSED => {}
                INITIAL => initial_reads[problem.index.reads()[read].key.index()].push(read as u32),
                source => reads[source as usize].push(read as u32),
            }
        }
        Self {
            problem,
            patience: Patience::new(options.limit),
            derived: FxHashSet::default(),
            place: vec![0; known.graph.node_count()],
            writes: vec![Vec::new(); keys],
            reads,
            initial_reads,
            known,
        }
    }

    /// Sorts nodes and writes by a new order.
    fn take_order(&mut self, order: &[u32]) {
        order.iter().enumerate().for_each(|(place, &node)| self.place[node as usize] = place as u32);
        let (problem, place) = (self.problem, &self.place);
        for (key, writes) in self.writes.iter_mut().enumerate() {
            let all = problem.index.writes_to(KeyId(key as u32)).iter().copied();
            let all = all.filter(|&write| problem.is_in(problem.writer(write)));
            writes.clear();
            writes.extend(
                all.map(|write| (place[problem.shape.commit(problem.writer(write)) as usize], write)),
            );
            writes.sort_unstable();
        }
    }

    /// Adds what follows from the closure; how many edges that are.
    fn follow(&mut self, successors: &Flat, order: &[u32]) -> Result<usize, Limit> {
        let edges = self.known.graph.edge_count();
        let shape = self.problem.shape;
        let txn_nodes = self.problem.history.txn_count() as u32 * shape.events;
        let following = Following::new(successors, order, &self.place);
        let mut strip = Strip { first: 0, end: 0, rows: vec![[0; WORDS]; order.len()] };
        for first in (0..order.len() as u32).step_by(COLUMNS) {
            self.patience.ask()?;
            strip.compute(first, &following);
            for &node in &order[first as usize..strip.end as usize] {
                if node >= txn_nodes {
                    continue;
                }
                let txn = shape.txn(node);
                if node == shape.begin(txn) {
                    self.problem.index.reads_of(txn).for_each(|read| self.order_earlier(&strip, read as u32));
                }
                if node == shape.commit(txn) {
                    self.problem
                        .index
                        .writes_of(txn)
                        .for_each(|write| self.order_later(&strip, write as u32));
                }
                self.patience.spend(256)?;
            }
        }
        Ok(self.known.graph.edge_count() - edges)
    }

    /// The writes of a key before a place, nearest first.
    fn before(&self, key: KeyId, place: u32) -> impl Iterator<Item = (u32, u32)> + use<'_, 'm, 'a> {
        let writes = &self.writes[key.index()];
        let at = writes.partition_point(|&(commit, _)| commit < place);
        writes[..at].iter().rev().take(NEARBY).copied()
    }

    /// The place of a node.
    fn at(&self, node: u32) -> u32 {
        self.place[node as usize]
    }

    /// Writers that are before the reader are before the writer that it read from.
    fn order_earlier(&mut self, strip: &Strip, read: u32) {
        let (problem, shape) = (self.problem, self.problem.shape);
        let external = problem.index.reads()[read as usize];
        let source = problem.source[read as usize];
        if matches!(source, INITIAL | OPEN | UNUSED) {
            return;
        }
        let writer = problem.writer(source);
        let begin = self.at(shape.begin(external.txn));
        let is_before = |&(commit, write): &(u32, u32)| {
            write != source && problem.writer(write) != external.txn && strip.leads(commit, begin)
        };
        let found = self.before(external.key, begin).find(is_before);
        if let Some((_, write)) = found {
            self.add(shape.commit(problem.writer(write)), shape.install(writer), Reason::Visible(read));
        }
    }

    /// Readers of earlier versions are before a later writer.
    fn order_later(&mut self, strip: &Strip, write: u32) {
        let (problem, shape) = (self.problem, self.problem.shape);
        let (key, later) = (problem.index.writes()[write as usize].key, problem.writer(write));
        let commit = self.at(shape.commit(later));
        let is_earlier = |&(_, earlier): &(u32, u32)| {
            earlier != write && strip.leads(self.at(shape.install(problem.writer(earlier))), commit)
        };
        let earlier = self.before(key, commit).find(is_earlier).map(|(_, earlier)| earlier);
        let seen = earlier.into_iter().flat_map(|earlier| &self.reads[earlier as usize]);
        let is_new = |&&read: &&u32| {
            let reader = problem.reader(read);
            reader != later && !strip.leads(self.at(shape.begin(reader)), commit)
        };
        let reads: Vec<u32> = seen.chain(&self.initial_reads[key.index()]).filter(is_new).copied().collect();
        for read in reads {
            self.add(shape.begin(problem.reader(read)), shape.commit(later), Reason::Overwritten(read));
        }
        if let Some(earlier) = earlier.filter(|_| shape.writers_exclude()) {
            let from = shape.commit(problem.writer(earlier));
            self.add(from, shape.install(later), Reason::Exclusive(earlier));
        }
    }

    fn add(&mut self, from: u32, to: u32, reason: Reason) {
        if self.derived.insert((from, to)) {
            self.known.add(from, to, reason);
        }
    }

    /// The derivation of the shortest cycle. What an edge follows from are edges of earlier rounds, so the last order has
    /// the paths of all premises.
    fn prove(&self, options: &Options<'_>) -> Result<Certificate, Limit> {
        let may_reach = |node: u32, to: u32| self.place[node as usize] <= self.place[to as usize];
        let evidence = Evidence {
            problem: self.problem,
            known: &self.known,
            drops: &[],
            may_reach: &may_reach,
            limit: options.limit,
        };
        let cost = |edge: EdgeId| self.known.reason(edge).cost();
        let cycle = order::shortest_cycle(&self.known.graph, cost, 0, SEARCH_STEPS).unwrap_or_default();
        ProofBuilder::new(evidence).contradiction(&Contradiction::Cycle(cycle))
    }
}

#[cfg(test)]
mod tests {
    use certify::Level;
    use history::History;
    use testkit::generate::{self, Shape};
    use testkit::{Random, oracle};

    use crate::{Options, Verdict, engine};

    /// Whether the matrix refutes a level, with a derivation that the checker accepts.
    fn is_refuted(history: &History, level: &Level) -> bool {
        let index = index::Index::of(history);
        let answer = engine::refute_without_sessions(history, &index, level, &Options::default());
        match answer.map(|answer| answer.verdict) {
            Some(Verdict::Violated(certificate)) => {
                certify::check(history, level, &certificate).unwrap();
                true
            }
            Some(verdict) => panic!("no limit was set: {verdict:?}"),
            None => false,
        }
    }

    #[test]
    fn what_is_refuted_is_violated() {
        let levels = [Level::SERIALIZABLE, Level::SNAPSHOT_ISOLATION, Level::GENERALIZED_SI];
        let mut refuted = [0; 3];
        for seed in 0..6_000 {
            let mut random = Random::new(seed);
            let mut shape = Shape::any(&mut random);
            shape.unknown_initial = false;
            let history = generate::history(seed, &shape);
            for (number, level) in levels.iter().enumerate() {
                if testkit::has_certificates(&history, level) && is_refuted(&history, level) {
                    refuted[number] += 1;
                    assert!(!oracle::holds(&history, level), "seed {seed}, {level:?}");
                }
            }
        }
        assert!(refuted.iter().all(|&count| count > 50), "{refuted:?}");
    }
}
