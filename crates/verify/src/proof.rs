//! From a contradiction back to the history: the derivation that a certificate shows.
//!
//! Facts are edges, sources of reads, and what is known of unknown transactions. Each rests only on older ones: a path
//! that an edge rests on is searched for among the edges that were there before it. So the derivation is written by
//! going from the contradiction to what it rests on, and what it does not rest on is never looked at.
//!
//! A path costs a search of the part of the graph between its ends; runs along a session or the line of time become one
//! step.

use certify::{Certificate, Lit, Node, Rule, Source, Step, StepId};
use history::{FindingKind, Outcome, TxnId};
use order::{EdgeId, PathSearch};
use rustc_hash::FxHashMap;

use crate::known::{KnownGraph, Reason};
use crate::problem::{Flaw, INITIAL, Problem, Refusal};
use crate::saturate::{Contradiction, Drop, Dropped};

/// Something that the derivation shows as a clause of one literal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Fact {
    /// An unknown transaction did not commit, the n-th to be found so.
    NotCommitted(u32),
    /// A read did not come from this candidate.
    NotFrom { read: u32, candidate: u32 },
    /// A read came from its source.
    From(u32),
    /// An edge of the known graph.
    Edge(EdgeId),
}

/// A path, with runs taken together: the nodes, and for each step between two of them what shows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    pub(crate) nodes: Vec<u32>,
    hops: Vec<Hop>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Hop {
    Session(u32, u32),
    Time(u32, u32),
    Within(u32, u32),
    Edge(EdgeId),
}

/// What is known beyond the problem when a proof is made.
pub(crate) struct Evidence<'e, 'a> {
    pub problem: &'e Problem<'a>,
    pub known: &'e KnownGraph,
    pub drops: &'e [Drop],
    /// Whether one node may lead to another, as far as that can be said quickly.
    pub may_reach: &'e dyn Fn(u32, u32) -> bool,
}

pub(crate) struct ProofBuilder<'e, 'a> {
    pub(crate) evidence: Evidence<'e, 'a>,
    search: PathSearch,
    drop_of: FxHashMap<(u32, u32), Drop>,
    not_committed: FxHashMap<TxnId, u32>,
    needed_by: FxHashMap<TxnId, u32>,
    paths: FxHashMap<(u32, u32, u32), Path>,
    step_of: FxHashMap<Fact, StepId>,
    step_of_hop: FxHashMap<Hop, StepId>,
    committed_step: FxHashMap<TxnId, StepId>,
    steps: Vec<Step>,
}

impl<'e, 'a> ProofBuilder<'e, 'a> {
    pub(crate) fn new(evidence: Evidence<'e, 'a>) -> Self {
        let problem = evidence.problem;
        let not_committed = problem.impossible.iter().enumerate();
        Self {
            search: PathSearch::new(evidence.known.graph.node_count()),
            drop_of: evidence.drops.iter().map(|&drop| ((drop.read, drop.candidate), drop)).collect(),
            not_committed: not_committed.map(|(number, &(txn, _))| (txn, number as u32)).collect(),
            needed_by: problem.needed.iter().copied().collect(),
            paths: FxHashMap::default(),
            step_of: FxHashMap::default(),
            step_of_hop: FxHashMap::default(),
            committed_step: FxHashMap::default(),
            steps: Vec::new(),
            evidence,
        }
    }

    /// The certificate of a contradiction that needed no search.
    pub(crate) fn contradiction(mut self, contradiction: &Contradiction) -> Certificate {
        match contradiction {
            Contradiction::Cycle(edges) => self.cyclic(edges),
            &Contradiction::Backward { from, to, reason } => self.backward(from, to, reason),
            &Contradiction::Overwritten { read, writer } => self.initial_overwritten(read, writer),
            &Contradiction::Sourceless { read } => self.sourceless(read),
        }
        self.finish()
    }

    fn cyclic(&mut self, edges: &[EdgeId]) {
        // A path is written between transactions, so it must not start on the line of time.
        let start =
            edges.iter().position(|&edge| self.evidence.known.graph.edge(edge).from < self.txn_nodes());
        let edges = [&edges[start.unwrap_or(0)..], &edges[..start.unwrap_or(0)]].concat();
        let path = self.compress(&edges);
        self.collect(self.facts_of(&path));
        let mut hints = self.hints(&path);
        hints.extend(self.cycle(&path.nodes[..path.nodes.len() - 1]));
        self.push(Vec::new(), Rule::Derived(hints));
    }

    fn backward(&mut self, from: u32, to: u32, reason: Reason) {
        let newest = self.evidence.known.graph.edge_count() as u32;
        let back = self.path(to, from, newest);
        let premises = self.premises(from, to, reason, newest);
        self.collect(self.facts_of(&back));
        self.collect(premises);
        let mut hints = self.hints(&back);
        hints.push(self.write_edge(from, to, reason, newest));
        hints.extend(self.cycle(&back.nodes));
        self.push(Vec::new(), Rule::Derived(hints));
    }

    fn initial_overwritten(&mut self, read: u32, writer: TxnId) {
        let edge_count = self.evidence.known.graph.edge_count() as u32;
        let drop = Drop { read, candidate: INITIAL, why: Dropped::Between(writer), edge_count };
        let premises = self.drop_premises(drop);
        self.collect(premises);
        self.collect(vec![Fact::From(read)]);
        let hints = vec![self.step_of[&Fact::From(read)], self.write_drop(drop)];
        self.push(Vec::new(), Rule::Derived(hints));
    }

    /// The certificate of something that is wrong whatever the order.
    pub(crate) fn flaw(mut self, flaw: &Flaw) -> Certificate {
        match flaw {
            Flaw::Sourceless(read) => self.sourceless(*read),
            Flaw::Finding(finding) => {
                let rule = match finding.kind {
                    FindingKind::NotMyOwnWrite
                    | FindingKind::NotMyLastWrite
                    | FindingKind::NonRepeatableRead => Rule::Internal(finding.read),
                    _ if self.is_external(finding.txn, finding.read) => Rule::Sources(finding.read),
                    _ => Rule::Internal(finding.read),
                };
                self.push(Vec::new(), rule);
            }
        }
        self.finish()
    }

    fn is_external(&self, txn: TxnId, op: history::OpId) -> bool {
        let index = self.evidence.problem.index;
        index.reads_of(txn).any(|read| index.reads()[read].op == op)
    }

    fn sourceless(&mut self, read: u32) {
        let reader = self.evidence.problem.reader(read);
        let facts = self.all_drop_facts(read);
        self.collect(facts.clone());
        self.collect(self.committed_facts(reader));
        let mut hints = self.steps_of(&facts);
        hints.extend(self.committed(reader));
        hints.push(self.sources(read));
        self.push(Vec::new(), Rule::Derived(hints));
    }

    // What each fact rests on.

    /// Facts and paths that an edge rests on, if it was added when there were this many edges.
    fn premises(&mut self, from: u32, to: u32, reason: Reason, edge_count: u32) -> Vec<Fact> {
        let shape = self.evidence.problem.shape;
        let (mut facts, path) = match reason {
            Reason::Session | Reason::Time | Reason::Within => (Vec::new(), None),
            Reason::ReadFrom(read) => (vec![Fact::From(read)], None),
            Reason::Overwritten(read) => {
                let writer = self.source_writer(read);
                let mut facts = vec![Fact::From(read)];
                facts.extend(writer.into_iter().flat_map(|writer| self.committed_facts(writer)));
                (facts, writer.map(|writer| (shape.install(writer), to)))
            }
            Reason::Visible(read) => {
                let reader = self.evidence.problem.reader(read);
                (vec![Fact::From(read)], Some((from, shape.begin(reader))))
            }
            Reason::Exclusive(_) => {
                (Vec::new(), Some((shape.install(shape.txn(from)), shape.commit(shape.txn(to)))))
            }
        };
        for txn in [from, to].into_iter().filter_map(|node| self.unknown_txn(node)) {
            facts.extend(self.committed_facts(txn));
        }
        if let Some((from, to)) = path {
            let path = self.path(from, to, edge_count);
            facts.extend(self.facts_of(&path));
        }
        facts
    }

    fn drop_premises(&mut self, drop: Drop) -> Vec<Fact> {
        let shape = self.evidence.problem.shape;
        let begin = shape.begin(self.evidence.problem.reader(drop.read));
        let writer = (drop.candidate != INITIAL).then(|| self.evidence.problem.writer(drop.candidate));
        let mut facts = Vec::new();
        let mut ends = Vec::new();
        match drop.why {
            Dropped::After => ends.extend(writer.map(|writer| (begin, shape.commit(writer)))),
            Dropped::Between(between) => {
                ends.extend(writer.map(|writer| (shape.install(writer), shape.commit(between))));
                ends.push((shape.commit(between), begin));
                facts.extend(self.committed_facts(between));
            }
        }
        for (from, to) in ends {
            let path = self.path(from, to, drop.edge_count);
            facts.extend(self.facts_of(&path));
        }
        facts
    }

    fn source_writer(&self, read: u32) -> Option<TxnId> {
        let source = self.evidence.problem.source[read as usize];
        (source != INITIAL).then(|| self.evidence.problem.writer(source))
    }

    /// All candidates by value other than the one it came from, as facts that they are not the source.
    fn other_drop_facts(&self, read: u32, but: u32) -> Vec<Fact> {
        let others = self.candidates(read).into_iter().filter(|&candidate| candidate != but);
        others.map(|candidate| Fact::NotFrom { read, candidate }).collect()
    }

    fn all_drop_facts(&self, read: u32) -> Vec<Fact> {
        self.candidates(read).into_iter().map(|candidate| Fact::NotFrom { read, candidate }).collect()
    }

    /// The sources of a read by value alone, as the checker sees them.
    pub(crate) fn candidates(&self, read: u32) -> Vec<u32> {
        let problem = self.evidence.problem;
        let sources = problem.index.sources(read as usize);
        let reader = problem.reader(read);
        let writes = sources.writes.iter().copied().filter(|&write| problem.writer(write) != reader);
        sources.initial.then_some(INITIAL).into_iter().chain(writes).collect()
    }

    /// The transaction of a node, if its outcome is unknown.
    fn unknown_txn(&self, node: u32) -> Option<TxnId> {
        let problem = self.evidence.problem;
        let txn = problem.shape.txn(node);
        (txn.index() < problem.history.txn_count() && self.is_unknown(txn)).then_some(txn)
    }

    pub(crate) fn is_unknown(&self, txn: TxnId) -> bool {
        self.evidence.problem.history.outcome(txn) == Outcome::Unknown
    }

    pub(crate) fn committed_facts(&self, txn: TxnId) -> Vec<Fact> {
        match self.needed_by.get(&txn) {
            Some(&read) if self.is_unknown(txn) => vec![Fact::From(read)],
            _ => Vec::new(),
        }
    }

    // Going to what facts rest on, and writing on the way back.

    /// Writes facts, after everything that they rest on.
    pub(crate) fn collect(&mut self, facts: Vec<Fact>) {
        let mut stack: Vec<(Fact, bool)> = facts.into_iter().map(|fact| (fact, false)).collect();
        while let Some((fact, is_ready)) = stack.pop() {
            if self.step_of.contains_key(&fact) {
                continue;
            }
            if is_ready {
                let step = self.write(fact);
                self.step_of.insert(fact, step);
            } else {
                stack.push((fact, true));
                stack.extend(self.premises_of(fact).into_iter().map(|fact| (fact, false)));
            }
        }
    }

    pub(crate) fn steps_of(&self, facts: &[Fact]) -> Vec<StepId> {
        facts.iter().map(|fact| self.step_of[fact]).collect()
    }

    fn premises_of(&mut self, fact: Fact) -> Vec<Fact> {
        match fact {
            Fact::Edge(edge) => {
                let ends = self.evidence.known.graph.edge(edge);
                self.premises(ends.from, ends.to, self.evidence.known.reason(edge), edge)
            }
            Fact::From(read) => {
                let mut facts = self.other_drop_facts(read, self.evidence.problem.source[read as usize]);
                facts.extend(self.committed_facts(self.evidence.problem.reader(read)));
                facts
            }
            Fact::NotFrom { read, candidate } => match self.drop_of.get(&(read, candidate)) {
                Some(&drop) => self.drop_premises(drop),
                None => self.not_committed_fact(self.evidence.problem.writer(candidate)),
            },
            Fact::NotCommitted(number) => match self.evidence.problem.impossible[number as usize].1 {
                Refusal::Finding(_) => Vec::new(),
                Refusal::Sourceless(read) => self.all_drop_facts(read),
            },
        }
    }

    fn not_committed_fact(&self, txn: TxnId) -> Vec<Fact> {
        self.not_committed.get(&txn).map(|&number| Fact::NotCommitted(number)).into_iter().collect()
    }

    fn write(&mut self, fact: Fact) -> StepId {
        match fact {
            Fact::Edge(edge) => {
                let ends = self.evidence.known.graph.edge(edge);
                self.write_edge(ends.from, ends.to, self.evidence.known.reason(edge), edge)
            }
            Fact::From(read) => self.write_source(read),
            Fact::NotFrom { read, candidate } => match self.drop_of.get(&(read, candidate)) {
                Some(&drop) => self.write_drop(drop),
                None => self.write_refused(read, candidate),
            },
            Fact::NotCommitted(number) => self.write_not_committed(number),
        }
    }

    // One clause of one literal each.

    fn write_edge(&mut self, from: u32, to: u32, reason: Reason, edge_count: u32) -> StepId {
        let conclusion = Lit::before(Node(from), Node(to));
        match reason {
            Reason::Session => self.hop_step(Hop::Session(from, to)),
            Reason::Within => self.hop_step(Hop::Within(from, to)),
            Reason::Time => self.hop_step(Hop::Time(from, to)),
            Reason::ReadFrom(read) => {
                let source = self.source_step(read);
                let rule = self.read_after_write(read, self.evidence.problem.source[read as usize]);
                self.push(vec![conclusion], Rule::Derived(vec![source, rule]))
            }
            Reason::Overwritten(read) => {
                let source = self.evidence.problem.source[read as usize];
                let later = self.evidence.problem.shape.txn(to);
                let mut hints = vec![self.source_step(read)];
                let earlier = self.source_writer(read);
                hints.extend(earlier.into_iter().flat_map(|earlier| self.committed(earlier)));
                hints.extend(self.earlier_hints(earlier, later, edge_count));
                hints.push(self.overwritten(read, source, later));
                self.push(vec![conclusion], Rule::Derived(hints))
            }
            Reason::Visible(read) => self.write_visible(from, to, read, edge_count),
            Reason::Exclusive(_) => {
                let shape = self.evidence.problem.shape;
                let mut hints = self.committed(shape.txn(from));
                hints.extend(self.earlier_hints(Some(shape.txn(from)), shape.txn(to), edge_count));
                self.push(vec![conclusion], Rule::Derived(hints))
            }
        }
    }

    /// Hints by which `commit(earlier) < install(later)` follows from a path of `install(earlier)` to `commit(later)`,
    /// and that the later one committed if that is not plain; that the earlier one did is for the caller to show.
    pub(crate) fn earlier_hints(
        &mut self,
        earlier: Option<TxnId>,
        later: TxnId,
        edge_count: u32,
    ) -> Vec<StepId> {
        let shape = self.evidence.problem.shape;
        let mut hints = self.committed(later);
        if let Some(earlier) = earlier {
            let path = self.path(shape.install(earlier), shape.commit(later), edge_count);
            hints.extend(self.path_fact(&path));
            if shape.writers_exclude() {
                hints.push(self.two_writers(earlier, later));
            }
        }
        hints
    }

    fn write_visible(&mut self, from: u32, to: u32, read: u32, edge_count: u32) -> StepId {
        let shape = self.evidence.problem.shape;
        let (visible, writer) = (shape.txn(from), shape.txn(to));
        let begin = shape.begin(self.evidence.problem.reader(read));
        let path = self.path(from, begin, edge_count);
        let mut hints = vec![self.source_step(read)];
        hints.extend(self.committed(visible));
        hints.extend(self.committed(writer));
        hints.extend(self.path_fact(&path));
        hints.push(self.overwritten(read, self.evidence.problem.source[read as usize], visible));
        if shape.writers_exclude() {
            hints.push(self.two_writers(writer, visible));
        }
        self.push(vec![Lit::before(Node(from), Node(to))], Rule::Derived(hints))
    }

    fn write_source(&mut self, read: u32) -> StepId {
        let source = self.evidence.problem.source[read as usize];
        let facts = self.other_drop_facts(read, source);
        let mut hints = self.steps_of(&facts);
        hints.extend(self.committed(self.evidence.problem.reader(read)));
        let sources = self.sources(read);
        if hints.is_empty() {
            return sources;
        }
        hints.push(sources);
        self.push(vec![self.read_from(read, source)], Rule::Derived(hints))
    }

    fn write_drop(&mut self, drop: Drop) -> StepId {
        let shape = self.evidence.problem.shape;
        let begin = shape.begin(self.evidence.problem.reader(drop.read));
        let writer = (drop.candidate != INITIAL).then(|| self.evidence.problem.writer(drop.candidate));
        let conclusion = !self.read_from(drop.read, drop.candidate);
        let mut hints = Vec::new();
        match (drop.why, writer) {
            (Dropped::Between(between), _) => {
                let path = self.path(shape.commit(between), begin, drop.edge_count);
                hints.extend(self.path_fact(&path));
                if writer.is_some_and(|writer| self.is_unknown(writer)) {
                    hints.push(self.source_committed(drop.read, drop.candidate));
                }
                hints.extend(self.earlier_hints(writer, between, drop.edge_count));
                hints.push(self.overwritten(drop.read, drop.candidate, between));
            }
            (Dropped::After, Some(writer)) => {
                let path = self.path(begin, shape.commit(writer), drop.edge_count);
                hints.extend(self.path_fact(&path));
                hints.push(self.read_after_write(drop.read, drop.candidate));
            }
            (Dropped::After, None) => unreachable!("nothing comes before the initial state"),
        }
        self.push(vec![conclusion], Rule::Derived(hints))
    }

    fn write_refused(&mut self, read: u32, candidate: u32) -> StepId {
        let writer = self.evidence.problem.writer(candidate);
        let number = self.not_committed[&writer];
        let refused = self.step_of[&Fact::NotCommitted(number)];
        let rule = self.source_committed(read, candidate);
        self.push(vec![!self.read_from(read, candidate)], Rule::Derived(vec![refused, rule]))
    }

    fn write_not_committed(&mut self, number: u32) -> StepId {
        let (txn, refusal) = self.evidence.problem.impossible[number as usize];
        let clause = vec![!Lit::committed(txn)];
        match refusal {
            Refusal::Finding(finding) => {
                let finding = self.evidence.problem.index.findings()[finding as usize].clone();
                let rule = if self.is_external(txn, finding.read) {
                    Rule::Sources(finding.read)
                } else {
                    Rule::Internal(finding.read)
                };
                self.push(clause, rule)
            }
            Refusal::Sourceless(read) => {
                let facts = self.all_drop_facts(read);
                let mut hints = self.steps_of(&facts);
                hints.push(self.sources(read));
                self.push(clause, Rule::Derived(hints))
            }
        }
    }

    // The rules of the level, as steps.

    /// The step that an unknown transaction committed; none for one that is known to have.
    pub(crate) fn committed(&mut self, txn: TxnId) -> Vec<StepId> {
        let Some(&read) = self.needed_by.get(&txn).filter(|_| self.is_unknown(txn)) else {
            return Vec::new();
        };
        if let Some(&step) = self.committed_step.get(&txn) {
            return vec![step];
        }
        let source = self.evidence.problem.source[read as usize];
        let from = self.source_step(read);
        let rule = self.source_committed(read, source);
        let step = self.push(vec![Lit::committed(txn)], Rule::Derived(vec![from, rule]));
        self.committed_step.insert(txn, step);
        vec![step]
    }

    pub(crate) fn source_step(&self, read: u32) -> StepId {
        self.step_of[&Fact::From(read)]
    }

    pub(crate) fn read_from(&self, read: u32, source: u32) -> Lit {
        let problem = self.evidence.problem;
        let op = problem.index.reads()[read as usize].op;
        let source = if source == INITIAL { Source::Initial } else { Source::Txn(problem.writer(source)) };
        Lit::read_from(op, source)
    }

    /// The negated literal that an unknown transaction committed, which its rules carry.
    fn unless_committed(&self, txn: TxnId) -> Option<Lit> {
        self.is_unknown(txn).then(|| !Lit::committed(txn))
    }

    pub(crate) fn sources(&mut self, read: u32) -> StepId {
        let problem = self.evidence.problem;
        let literals = self.candidates(read).into_iter().map(|source| self.read_from(read, source));
        let clause = self.unless_committed(problem.reader(read)).into_iter().chain(literals).collect();
        self.push(clause, Rule::Sources(problem.index.reads()[read as usize].op))
    }

    pub(crate) fn read_after_write(&mut self, read: u32, source: u32) -> StepId {
        let problem = self.evidence.problem;
        let shape = problem.shape;
        let begin = Node(shape.begin(problem.reader(read)));
        let commit =
            if source == INITIAL { Node::INITIAL } else { Node(shape.commit(problem.writer(source))) };
        self.push(vec![!self.read_from(read, source), Lit::before(commit, begin)], Rule::ReadAfterWrite)
    }

    pub(crate) fn source_committed(&mut self, read: u32, source: u32) -> StepId {
        let writer = self.evidence.problem.writer(source);
        self.push(vec![!self.read_from(read, source), Lit::committed(writer)], Rule::ReadCommitted)
    }

    pub(crate) fn two_writers(&mut self, first: TxnId, second: TxnId) -> StepId {
        let shape = self.evidence.problem.shape;
        let earlier = |a: TxnId, b: TxnId| Lit::before(Node(shape.commit(a)), Node(shape.install(b)));
        let mut clause = vec![earlier(first, second), earlier(second, first)];
        clause.extend([first, second].into_iter().filter_map(|txn| self.unless_committed(txn)));
        self.push(clause, Rule::TwoWriters)
    }

    pub(crate) fn overwritten(&mut self, read: u32, source: u32, later: TxnId) -> StepId {
        let problem = self.evidence.problem;
        let shape = problem.shape;
        let mut clause = vec![!self.read_from(read, source)];
        if source != INITIAL {
            let commit = Node(shape.commit(problem.writer(source)));
            clause.push(!Lit::before(commit, Node(shape.install(later))));
        }
        clause.push(Lit::before(Node(shape.begin(problem.reader(read))), Node(shape.commit(later))));
        clause.extend(self.unless_committed(later));
        self.push(clause, Rule::Overwritten)
    }

    /// The clause that these nodes are no cycle; none is needed for two nodes, whose literals contradict each other.
    pub(crate) fn cycle(&mut self, nodes: &[u32]) -> Option<StepId> {
        if nodes.len() < 3 {
            return None;
        }
        let next = nodes.iter().cycle().skip(1);
        let clause = nodes.iter().zip(next).map(|(&a, &b)| !Lit::before(Node(a), Node(b))).collect();
        Some(self.push(clause, Rule::Cycle))
    }

    pub(crate) fn finish(self) -> Certificate {
        Certificate::Violated { steps: self.steps }
    }

    pub(crate) fn push(&mut self, clause: Vec<Lit>, rule: Rule) -> StepId {
        self.steps.push(Step { clause, rule });
        self.steps.len() as StepId - 1
    }

    // Paths.

    /// Hints by which the first node of a path is before its last.
    fn path_fact(&mut self, path: &Path) -> Vec<StepId> {
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
    fn owner(&self, hop: Hop) -> Option<TxnId> {
        let has_time = self.evidence.problem.level.real_time != certify::RealTime::Ignored;
        match hop {
            Hop::Session(from, _) | Hop::Time(from, _) if has_time => self.unknown_txn(from),
            _ => None,
        }
    }

    fn owned_step(&mut self, txn: TxnId, (from, to): (u32, u32), rule: Rule) -> StepId {
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
