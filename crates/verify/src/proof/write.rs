//! The facts of a derivation, each as a clause of one literal with the steps it follows from.

use certify::{Lit, Node, Rule, StepId};
use history::TxnId;

use super::{Fact, Hop, ProofBuilder};
use crate::known::Reason;
use crate::problem::{INITIAL, Refusal};
use crate::saturate::{Drop, Dropped};

impl ProofBuilder<'_, '_> {
    pub(super) fn write_edge(&mut self, from: u32, to: u32, reason: Reason, edge_count: u32) -> StepId {
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
            Reason::Told(order) => self.told(self.evidence.problem.index.version_order()[order as usize]),
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

    pub(super) fn write_visible(&mut self, from: u32, to: u32, read: u32, edge_count: u32) -> StepId {
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

    pub(super) fn write_source(&mut self, read: u32) -> StepId {
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

    pub(super) fn write_drop(&mut self, drop: Drop) -> StepId {
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

    pub(super) fn write_refused(&mut self, read: u32, candidate: u32) -> StepId {
        let writer = self.evidence.problem.writer(candidate);
        let number = self.not_committed[&writer];
        let refused = self.step_of[&Fact::NotCommitted(number)];
        let rule = self.source_committed(read, candidate);
        self.push(vec![!self.read_from(read, candidate)], Rule::Derived(vec![refused, rule]))
    }

    pub(super) fn write_not_committed(&mut self, number: u32) -> StepId {
        let (txn, refusal) = self.evidence.problem.impossible[number as usize];
        let clause = vec![!Lit::committed(txn)];
        match refusal {
            Refusal::Finding(finding) => {
                let finding = self.evidence.problem.index.findings()[finding as usize].clone();
                let rule = self.finding_rule(&finding);
                self.push(clause, rule)
            }
            Refusal::Listed(op, listed) => {
                let facts = self.not_committed_fact(listed);
                let mut hints = self.steps_of(&facts);
                hints.push(self.listed(op, listed));
                self.push(clause, Rule::Derived(hints))
            }
            Refusal::Sourceless(read) => {
                let facts = self.all_drop_facts(read);
                let mut hints = self.steps_of(&facts);
                hints.push(self.sources(read));
                self.push(clause, Rule::Derived(hints))
            }
        }
    }
}
