//! From a contradiction back to the history: the derivation that a certificate shows.
//!
//! Facts are edges, sources of reads, and what is known of unknown transactions. Each rests only on older ones: a path
//! that an edge rests on is searched for among the edges that were there before it. So the derivation is written by
//! going from the contradiction to what it rests on, and what it does not rest on is never looked at.
//!
//! A path costs a search of the part of the graph between its ends; runs along a session or the line of time become one
//! step.

mod path;
mod premises;
mod rules;
mod write;

use certify::{Certificate, ReadId, Rule, Step, StepId};
use history::TxnId;
use index::{Finding, FindingKind};
use order::{EdgeId, PathSearch};
use rustc_hash::FxHashMap;

use crate::known::{KnownGraph, Reason};
use crate::options::{Limit, Patience};
use crate::problem::{Flaw, INITIAL, Need, Problem, Refusal};
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
#[derive(Clone, Copy)]
pub(crate) struct Evidence<'e, 'a> {
    pub problem: &'e Problem<'a>,
    pub known: &'e KnownGraph,
    pub drops: &'e [Drop],
    /// Whether one node may lead to another, as far as that can be said quickly.
    pub may_reach: &'e dyn Fn(u32, u32) -> bool,
    /// Asked while the derivation is written: the limit that was reached, if one was.
    pub limit: &'e dyn Fn() -> Option<Limit>,
}

/// What a fact counts as until the limits are asked for: it may take the search for a path through the graph.
const FACT_WORK: usize = 1 << 13;

pub(crate) struct ProofBuilder<'e, 'a> {
    pub(crate) evidence: Evidence<'e, 'a>,
    patience: Patience<'e>,
    search: PathSearch,
    drop_of: FxHashMap<(u32, u32), Drop>,
    not_committed: FxHashMap<TxnId, u32>,
    needed_by: FxHashMap<TxnId, Need>,
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
            patience: Patience::new(evidence.limit),
            evidence,
        }
    }

    /// The certificate of a contradiction that needed no search.
    pub(crate) fn contradiction(mut self, contradiction: &Contradiction) -> Result<Certificate, Limit> {
        match contradiction {
            Contradiction::Cycle(edges) => self.cyclic(edges)?,
            &Contradiction::Backward { from, to, reason } => self.backward(from, to, reason)?,
            &Contradiction::Overwritten { read, writer } => self.initial_overwritten(read, writer)?,
            &Contradiction::Sourceless { read } => self.sourceless(read)?,
        }
        Ok(self.finish())
    }

    fn cyclic(&mut self, edges: &[EdgeId]) -> Result<(), Limit> {
        // A path is written between transactions, so it must not start on the line of time.
        let start =
            edges.iter().position(|&edge| self.evidence.known.graph.edge(edge).from < self.txn_nodes());
        let edges = [&edges[start.unwrap_or(0)..], &edges[..start.unwrap_or(0)]].concat();
        let path = self.compress(&edges);
        self.collect(self.facts_of(&path))?;
        let mut hints = self.hints(&path);
        hints.extend(self.cycle(&path.nodes[..path.nodes.len() - 1]));
        self.push(Vec::new(), Rule::Derived(hints));
        Ok(())
    }

    fn backward(&mut self, from: u32, to: u32, reason: Reason) -> Result<(), Limit> {
        let newest = self.evidence.known.graph.edge_count() as u32;
        let back = self.path(to, from, newest);
        let premises = self.premises(from, to, reason, newest);
        self.collect(self.facts_of(&back))?;
        self.collect(premises)?;
        let mut hints = self.hints(&back);
        hints.push(self.write_edge(from, to, reason, newest));
        hints.extend(self.cycle(&back.nodes));
        self.push(Vec::new(), Rule::Derived(hints));
        Ok(())
    }

    fn initial_overwritten(&mut self, read: u32, writer: TxnId) -> Result<(), Limit> {
        let edge_count = self.evidence.known.graph.edge_count() as u32;
        let drop = Drop { read, candidate: INITIAL, why: Dropped::Between(writer), edge_count };
        let premises = self.drop_premises(drop);
        self.collect(premises)?;
        self.collect(vec![Fact::From(read)])?;
        let hints = vec![self.step_of[&Fact::From(read)], self.write_drop(drop)];
        self.push(Vec::new(), Rule::Derived(hints));
        Ok(())
    }

    /// The certificate of something that is wrong whatever the order.
    pub(crate) fn flaw(mut self, flaw: &Flaw) -> Result<Certificate, Limit> {
        match flaw {
            Flaw::Sourceless(read) => self.sourceless(*read)?,
            &Flaw::Listed(op, txn) => {
                let reader = self.evidence.problem.history.txn_of(op);
                let facts = self.not_committed_fact(txn);
                self.collect(facts.clone())?;
                self.collect(self.committed_facts(reader))?;
                let mut hints = self.steps_of(&facts);
                hints.extend(self.committed(reader));
                hints.push(self.listed(op, txn));
                self.push(Vec::new(), Rule::Derived(hints));
            }
            Flaw::Finding(finding) => {
                let rule = match finding.kind {
                    FindingKind::NotMyOwnWrite
                    | FindingKind::NotMyLastWrite
                    | FindingKind::NonRepeatableRead => Rule::Internal(finding.read),
                    _ => self.finding_rule(finding),
                };
                self.push(Vec::new(), rule);
            }
        }
        Ok(self.finish())
    }

    /// A read without a source, or an answer that contradicts its own transaction.
    pub(crate) fn finding_rule(&self, finding: &Finding) -> Rule {
        if finding.kind == FindingKind::WrongRowCount {
            return Rule::RowCount(finding.read);
        }
        let (history, index) = (self.evidence.problem.history, self.evidence.problem.index);
        let is_answer = matches!(
            finding.kind,
            FindingKind::DuplicatedRow
                | FindingKind::RowOutOfBounds
                | FindingKind::RowNotMatching
                | FindingKind::NonRepeatableRead
        );
        let is_it = |&read: &usize| {
            let read = index.reads()[read];
            read.op == finding.read && read.key == finding.key
        };
        match index.reads_of(finding.txn).find(is_it).filter(|_| !is_answer) {
            Some(_) => Rule::Sources(ReadId::of(history, finding.read, finding.key)),
            None => Rule::Internal(finding.read),
        }
    }

    fn sourceless(&mut self, read: u32) -> Result<(), Limit> {
        let reader = self.evidence.problem.reader(read);
        let facts = self.all_drop_facts(read);
        self.collect(facts.clone())?;
        self.collect(self.committed_facts(reader))?;
        let mut hints = self.steps_of(&facts);
        hints.extend(self.committed(reader));
        hints.push(self.sources(read));
        self.push(Vec::new(), Rule::Derived(hints));
        Ok(())
    }

    /// Writes facts, after everything that they rest on.
    pub(crate) fn collect(&mut self, facts: Vec<Fact>) -> Result<(), Limit> {
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
                self.patience.spend(FACT_WORK)?;
                stack.extend(self.premises_of(fact).into_iter().map(|fact| (fact, false)));
            }
        }
        Ok(())
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
                Refusal::Listed(_, txn) => self.not_committed_fact(txn),
            },
        }
    }

    pub(super) fn not_committed_fact(&self, txn: TxnId) -> Vec<Fact> {
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
}
