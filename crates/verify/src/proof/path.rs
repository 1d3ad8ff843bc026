//! Paths of the known graph as steps of a derivation: runs along a session or the line of time become one.

use certify::{Lit, Node, Rule, StepId};
use history::TxnId;
use order::EdgeId;

use super::{Fact, Hop, Path, ProofBuilder};
use crate::known::Reason;

impl ProofBuilder<'_, '_> {
    /// Hints by which the first node of a path is before its last.
    pub(super) fn path_fact(&mut self, path: &Path) -> Vec<StepId> {
        let mut hints = self.hints(path);
        hints.extend(self.cycle(&path.nodes));
        hints
    }

    pub(crate) fn hints(&mut self, path: &Path) -> Vec<StepId> {
        path.hops.iter().map(|&hop| self.hop_step(hop)).collect()
    }

    pub(crate) fn hop_step(&mut self, hop: Hop) -> StepId {
        let (ends, rule) = match hop {
            Hop::Edge(edge) => return self.step_of[&Fact::Edge(edge)],
            Hop::Session(from, to) => ((from, to), Rule::Session),
            Hop::Time(from, to) => ((from, to), Rule::RealTime),
            Hop::Within(from, to) => ((from, to), Rule::BeginCommit),
        };
        if let Some(&step) = self.step_of_hop.get(&hop) {
            return step;
        }
        let step = match self.owner(hop) {
            None => self.push(vec![Lit::before(Node(ends.0), Node(ends.1))], rule),
            Some(txn) => self.owned_step(txn, ends, rule),
        };
        self.step_of_hop.insert(hop, step);
        step
    }

    /// The unknown transaction without whose commit an obligation of sessions or real time does not exist.
    pub(super) fn owner(&self, hop: Hop) -> Option<TxnId> {
        let has_time = self.evidence.problem.level.real_time != certify::RealTime::Ignored;
        match hop {
            Hop::Session(from, _) | Hop::Time(from, _) if has_time => self.unknown_txn(from),
            _ => None,
        }
    }

    pub(super) fn owned_step(&mut self, txn: TxnId, (from, to): (u32, u32), rule: Rule) -> StepId {
        let before = Lit::before(Node(from), Node(to));
        let owned = self.push(vec![before, !Lit::committed(txn)], rule);
        let mut hints = self.committed(txn);
        if hints.is_empty() {
            return owned;
        }
        hints.push(owned);
        self.push(vec![before], Rule::Derived(hints))
    }

    /// The facts that the hops of a path need.
    pub(crate) fn facts_of(&self, path: &Path) -> Vec<Fact> {
        let needs = |&hop: &Hop| match hop {
            Hop::Edge(edge) => vec![Fact::Edge(edge)],
            _ => self.owner(hop).map_or_else(Vec::new, |txn| self.committed_facts(txn)),
        };
        path.hops.iter().flat_map(needs).collect()
    }

    /// A cheapest path among the edges that were there when there were this many.
    pub(crate) fn path(&mut self, from: u32, to: u32, edge_count: u32) -> Path {
        if from == to {
            return Path { nodes: vec![from], hops: Vec::new() };
        }
        if let Some(path) = self.along_session(from, to) {
            return path;
        }
        if let Some(path) = self.paths.get(&(from, to, edge_count)) {
            return path.clone();
        }
        let known = self.evidence.known;
        let may_reach = self.evidence.may_reach;
        let cost = |edge: EdgeId| (edge < edge_count).then(|| known.reason(edge).cost());
        let found = self.search.find(&known.graph, from, to, cost, |node| may_reach(node, to));
        let path = self.compress(&found.expect("what was derived from a path has that path"));
        self.paths.insert((from, to, edge_count), path.clone());
        path
    }

    /// The path along one session, which costs nothing and needs no search.
    fn along_session(&self, from: u32, to: u32) -> Option<Path> {
        let (problem, shape) = (self.evidence.problem, self.evidence.problem.shape);
        if from.max(to) >= self.txn_nodes() {
            return None;
        }
        let [first, last] = [shape.txn(from), shape.txn(to)];
        let is_linked = |txn: TxnId| {
            problem.is_linked(txn) && problem.history.outcome(txn) == history::Outcome::Committed
        };
        let is_one = problem.history.session_of(first) == problem.history.session_of(last);
        if problem.links().distance > 1 || first >= last || !is_one || !is_linked(first) || !is_linked(last) {
            return None;
        }
        let mut path = Path { nodes: vec![from], hops: Vec::new() };
        let (commit, begin) = (shape.commit(first), shape.begin(last));
        let hops = [Hop::Within(from, commit), Hop::Session(commit, begin), Hop::Within(begin, to)];
        for hop in hops {
            if let Hop::Session(start, end) | Hop::Within(start, end) = hop
                && start != end
            {
                path.nodes.push(end);
                path.hops.push(hop);
            }
        }
        Some(path)
    }

    /// Takes runs along a session, and along the line of time, together.
    pub(crate) fn compress(&self, edges: &[EdgeId]) -> Path {
        let known = self.evidence.known;
        let ends = |place: usize| known.graph.edge(edges[place]);
        let reason = |place: usize| known.reason(edges[place]);
        let mut path = Path { nodes: vec![ends(0).from], hops: Vec::new() };
        let mut place = 0;
        while place < edges.len() {
            let from = ends(place).from;
            let mut last = place;
            let hop = match reason(place) {
                Reason::Session => {
                    for next in place + 1..edges.len() {
                        match reason(next) {
                            Reason::Session => last = next,
                            Reason::Within => {}
                            _ => break,
                        }
                    }
                    Hop::Session(from, ends(last).to)
                }
                Reason::Time => {
                    while ends(last).to >= self.txn_nodes() {
                        last += 1;
                    }
                    Hop::Time(from, ends(last).to)
                }
                Reason::Within => Hop::Within(from, ends(last).to),
                _ => Hop::Edge(edges[place]),
            };
            path.nodes.push(ends(last).to);
            path.hops.push(hop);
            place = last + 1;
        }
        path
    }

    pub(crate) fn txn_nodes(&self) -> u32 {
        self.evidence.problem.history.txn_count() as u32 * self.evidence.problem.shape.events
    }
}
