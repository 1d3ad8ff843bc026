//! The rules of the level, as steps of a derivation.

use certify::{Certificate, Lit, Node, ReadId, Rule, Source, Step, StepId};
use history::{OpId, TxnId};
use index::{Telling, VersionOrder};

use super::{Fact, ProofBuilder};
use crate::problem::{INITIAL, Need};

impl ProofBuilder<'_, '_> {
    /// The step that an unknown transaction committed; none for one that is known to have.
    pub(crate) fn committed(&mut self, txn: TxnId) -> Vec<StepId> {
        let Some(&need) = self.needed_by.get(&txn).filter(|_| self.is_unknown(txn)) else {
            return Vec::new();
        };
        if let Some(&step) = self.committed_step.get(&txn) {
            return vec![step];
        }
        let hints = match need {
            Need::Read(read) => {
                let source = self.evidence.problem.source[read as usize];
                vec![self.source_step(read), self.source_committed(read, source)]
            }
            Need::Listed(op) => {
                let mut hints = self.committed(self.evidence.problem.history.txn_of(op));
                hints.push(self.listed(op, txn));
                hints
            }
        };
        let step = self.push(vec![Lit::committed(txn)], Rule::Derived(hints));
        self.committed_step.insert(txn, step);
        vec![step]
    }

    /// The rule that the appender of an element committed, if a transaction that read the element did.
    pub(crate) fn listed(&mut self, op: OpId, txn: TxnId) -> StepId {
        let reader = self.evidence.problem.history.txn_of(op);
        let clause = self.unless_committed(reader).into_iter().chain([Lit::committed(txn)]).collect();
        self.push(clause, Rule::Listed(op))
    }

    pub(crate) fn source_step(&self, read: u32) -> StepId {
        self.step_of[&Fact::From(read)]
    }

    pub(crate) fn read_from(&self, read: u32, source: u32) -> Lit {
        let problem = self.evidence.problem;
        let source = if source == INITIAL { Source::Initial } else { Source::Txn(problem.writer(source)) };
        Lit::read_from(self.read_id(read), source)
    }

    pub(super) fn read_id(&self, read: u32) -> ReadId {
        let problem = self.evidence.problem;
        let external = problem.index.reads()[read as usize];
        ReadId::of(problem.history, external.op, external.key)
    }

    /// The negated literal that an unknown transaction committed, which its rules carry.
    pub(super) fn unless_committed(&self, txn: TxnId) -> Option<Lit> {
        self.is_unknown(txn).then(|| !Lit::committed(txn))
    }

    pub(crate) fn sources(&mut self, read: u32) -> StepId {
        let problem = self.evidence.problem;
        let literals = self.candidates(read).into_iter().map(|source| self.read_from(read, source));
        let clause = self.unless_committed(problem.reader(read)).into_iter().chain(literals).collect();
        self.push(clause, Rule::Sources(self.read_id(read)))
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

    /// The step that one version is before another, as the history tells.
    pub(crate) fn told(&mut self, order: VersionOrder) -> StepId {
        let problem = self.evidence.problem;
        let shape = problem.shape;
        let (earlier, later) = (problem.writer(order.earlier), problem.writer(order.later));
        let before = Lit::before(Node(shape.commit(earlier)), Node(shape.install(later)));
        let rule = match order.telling {
            Telling::List(op) => Rule::ListOrder(op),
            Telling::Recorded => Rule::RecordedOrder,
        };
        let mut owners: Vec<TxnId> = problem.told_by(&order).collect();
        owners.dedup();
        let mut clause = vec![before];
        clause.extend(owners.iter().filter_map(|&txn| self.unless_committed(txn)));
        let told = self.push(clause, rule);
        let mut hints: Vec<StepId> = owners.iter().flat_map(|&txn| self.committed(txn)).collect();
        if hints.is_empty() {
            return told;
        }
        hints.push(told);
        self.push(vec![before], Rule::Derived(hints))
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
        Certificate::Violated { steps: self.steps, keys: None }
    }

    pub(crate) fn push(&mut self, clause: Vec<Lit>, rule: Rule) -> StepId {
        self.steps.push(Step { clause, rule });
        self.steps.len() as StepId - 1
    }
}
