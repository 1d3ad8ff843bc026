//! What each fact of a derivation rests on.

use history::{Outcome, TxnId};

use super::{Fact, ProofBuilder};
use crate::known::Reason;
use crate::problem::{INITIAL, Need};
use crate::saturate::{Drop, Dropped};

impl ProofBuilder<'_, '_> {
    /// Facts and paths that an edge rests on, if it was added when there were this many edges.
    pub(super) fn premises(&mut self, from: u32, to: u32, reason: Reason, edge_count: u32) -> Vec<Fact> {
        let shape = self.evidence.problem.shape;
        let (mut facts, path) = match reason {
            Reason::Session | Reason::Time | Reason::Within => (Vec::new(), None),
            Reason::Told(order) => {
                let problem = self.evidence.problem;
                let order = problem.index.version_order()[order as usize];
                (problem.told_by(&order).flat_map(|txn| self.committed_facts(txn)).collect(), None)
            }
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

    pub(super) fn drop_premises(&mut self, drop: Drop) -> Vec<Fact> {
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

    pub(super) fn source_writer(&self, read: u32) -> Option<TxnId> {
        let source = self.evidence.problem.source[read as usize];
        (source != INITIAL).then(|| self.evidence.problem.writer(source))
    }

    /// All candidates by value other than the one it came from, as facts that they are not the source.
    pub(super) fn other_drop_facts(&self, read: u32, but: u32) -> Vec<Fact> {
        let others = self.candidates(read).into_iter().filter(|&candidate| candidate != but);
        others.map(|candidate| Fact::NotFrom { read, candidate }).collect()
    }

    pub(super) fn all_drop_facts(&self, read: u32) -> Vec<Fact> {
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
    pub(super) fn unknown_txn(&self, node: u32) -> Option<TxnId> {
        let problem = self.evidence.problem;
        let txn = problem.shape.txn(node);
        (txn.index() < problem.history.txn_count() && self.is_unknown(txn)).then_some(txn)
    }

    pub(crate) fn is_unknown(&self, txn: TxnId) -> bool {
        self.evidence.problem.history.outcome(txn) == Outcome::Unknown
    }

    pub(crate) fn committed_facts(&self, txn: TxnId) -> Vec<Fact> {
        match self.needed_by.get(&txn) {
            Some(&Need::Read(read)) if self.is_unknown(txn) => vec![Fact::From(read)],
            Some(&Need::Listed(op)) if self.is_unknown(txn) => {
                self.committed_facts(self.evidence.problem.history.txn_of(op))
            }
            _ => Vec::new(),
        }
    }
}
