//! Version orders that the history tells: the dependency graph decides, without a search.
//!
//! A list tells the order of its elements, and a database may record the order of its versions. Then an explanation has
//! nothing left to choose: writes are in the told order, a read comes after the version that it saw and before the next
//! one. A cycle of these edges is a violation, whatever sessions say, and without a cycle nearly every order that
//! respects the edges is an explanation. The order is tried, not trusted: what it leaves open (two appends that no list
//! contains, keys without a told order) can make it wrong, and then the other stages decide.
//!
//! The graph has one edge for each read and each pair of neighbouring versions; components and the order cost one pass
//! each. The cycle that is shown is the one with the fewest dependencies: a search from each node of a component, no
//! deeper than the best cycle so far, and at most `SEARCH_STEPS` edges in all.

use certify::{Certificate, Node};
use history::{KeyId, Outcome, TxnId};
use order::EdgeId;

use crate::Verdict;
use crate::known::{KnownGraph, Reason};
use crate::options::Limit;
use crate::problem::{INITIAL, OPEN, Problem, Status, UNUSED};
use crate::proof::{Evidence, ProofBuilder};
use crate::saturate::Contradiction;

/// How many edges the search for the shortest cycle looks at.
const SEARCH_STEPS: u64 = 20_000_000;

/// What a dependency costs in that search, where a step along a session costs 1.
const DEPENDENCY_COST: u32 = 16;

/// A verdict that follows from the told version orders, if one does. The graph has what was observed.
pub(crate) fn decide(
    problem: &Problem<'_>,
    known: &mut KnownGraph,
    limit: &dyn Fn() -> Option<Limit>,
) -> Option<Verdict> {
    add_overwritten(problem, known);
    let txn_nodes = problem.history.txn_count() as u32 * problem.shape.events;
    if let Some(cycle) = find_cycle(known, txn_nodes) {
        let evidence = Evidence { problem, known, drops: &[], may_reach: &|_, _| true, limit };
        let proved = ProofBuilder::new(evidence).contradiction(&Contradiction::Cycle(cycle));
        return Some(Verdict::of_proof(proved));
    }
    let is_open =
        |(read, &source): (usize, &u32)| source == OPEN && problem.is_in(problem.reader(read as u32));
    if problem.source.iter().enumerate().any(is_open) {
        return None;
    }
    let certificate = explain(problem, known);
    certify::check(problem.history, problem.level, &certificate).ok()?;
    Some(Verdict::Holds(certificate))
}

/// Which versions come directly after each one, and which come first, as far as the history tells.
struct Next {
    start: Vec<u32>,
    later: Vec<u32>,
    has_earlier: Vec<bool>,
}

impl Next {
    fn of(problem: &Problem<'_>) -> Self {
        let count = problem.index.writes().len();
        let orders = problem.index.version_order();
        let mut start = vec![0u32; count + 2];
        let mut has_earlier = vec![false; count];
        let told = || orders.iter().filter(|order| problem.told_by(order).all(|txn| problem.is_in(txn)));
        for order in told() {
            start[order.earlier as usize + 2] += 1;
            has_earlier[order.later as usize] = true;
        }
        for write in 2..start.len() {
            start[write] += start[write - 1];
        }
        let mut later = vec![0; start[start.len() - 1] as usize];
        for order in told() {
            let next = &mut start[order.earlier as usize + 1];
            later[*next as usize] = order.later;
            *next += 1;
        }
        start.pop();
        Self { start, later, has_earlier }
    }

    fn after(&self, write: u32) -> &[u32] {
        &self.later[self.start[write as usize] as usize..self.start[write as usize + 1] as usize]
    }

    /// The versions of a key that no other is known to precede.
    fn first<'p>(&'p self, problem: &'p Problem<'_>, key: KeyId) -> impl Iterator<Item = u32> + 'p {
        problem.index.writes_to(key).iter().copied().filter(|&write| !self.has_earlier[write as usize])
    }
}

/// A read comes before the versions that directly follow the one that it saw.
fn add_overwritten(problem: &Problem<'_>, known: &mut KnownGraph) {
    let next = Next::of(problem);
    for (read, &source) in problem.source.iter().enumerate() {
        match source {
            OPEN | UNUSED => {}
            INITIAL => {
                let key = problem.index.reads()[read].key;
                next.first(problem, key).for_each(|later| add_edge(problem, known, read as u32, later));
            }
            source => {
                next.after(source).iter().for_each(|&later| add_edge(problem, known, read as u32, later));
            }
        }
    }
}

fn add_edge(problem: &Problem<'_>, known: &mut KnownGraph, read: u32, later: u32) {
    let (reader, writer) = (problem.reader(read), problem.writer(later));
    if reader != writer && problem.is_in(writer) && problem.is_in(reader) {
        let shape = problem.shape;
        known.add(shape.begin(reader), shape.commit(writer), Reason::Overwritten(read));
    }
}

/// The cycle with the fewest dependencies.
fn find_cycle(known: &KnownGraph, txn_nodes: u32) -> Option<Vec<EdgeId>> {
    let graph = &known.graph;
    let successors = order::Flat::successors(graph);
    if order::topological_order_of(&successors).is_some() {
        return None;
    }
    // Few dependencies, and among equal cycles short stretches of sessions and of the line of time.
    let cost = |edge| match known.reason(edge) {
        Reason::Within => 0,
        Reason::Session => 1,
        Reason::Time => u32::from(graph.edge(edge).from < txn_nodes),
        _ => DEPENDENCY_COST,
    };
    order::shortest_cycle(graph, cost, 2 * DEPENDENCY_COST, SEARCH_STEPS)
}

/// An order that respects all edges. A begin comes as late as the edges allow, so that few transactions overlap.
fn explain(problem: &Problem<'_>, known: &KnownGraph) -> Certificate {
    let shape = problem.shape;
    let hints = crate::guess::hints(problem);
    let took_part = |txn: &TxnId| problem.status[txn.index()] == Status::In;
    let mut commits: Vec<TxnId> = problem.history.txns().filter(took_part).collect();
    commits.sort_by_key(|&txn| hints[shape.commit(txn) as usize]);
    let txn_nodes = problem.history.txn_count() as u32 * shape.events;
    let roots = commits.iter().map(|&txn| shape.commit(txn));
    let order = order::late_order(&known.graph, roots);
    let is_event = |&node: &u32| node < txn_nodes && took_part(&shape.txn(node));
    let order = order.into_iter().filter(is_event).map(Node).collect();
    let is_taken = |txn: &TxnId| took_part(txn) && problem.history.outcome(*txn) == Outcome::Unknown;
    Certificate::Holds { order, committed_unknown: problem.history.txns().filter(is_taken).collect() }
}
