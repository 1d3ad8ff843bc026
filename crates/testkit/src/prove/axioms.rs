//! Every clause that the rules of a level give for a history.

use certify::{Core, Level, Lit, Node, RealTime, Rule, Source, Step};
use history::{History, InitialDefault, KeyId, Op, OpId, Outcome, TxnId, ValueId};

use crate::oracle::real_time;

pub(super) fn of(history: &History, level: &Level) -> Vec<Step> {
    let mut axioms = Axioms {
        history,
        level,
        txns: history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted).collect(),
        steps: Vec::new(),
    };
    axioms.orders();
    axioms.writers();
    for txn in axioms.txns.clone() {
        axioms.reads(txn);
    }
    if history.initial().default == InitialDefault::UnknownButOne {
        axioms.one_initial();
    }
    axioms.steps
}

/// An external read.
#[derive(Clone, Copy)]
struct Read {
    op: OpId,
    txn: TxnId,
    key: KeyId,
    value: ValueId,
}

struct Axioms<'a> {
    history: &'a History,
    level: &'a Level,
    txns: Vec<TxnId>,
    steps: Vec<Step>,
}

impl Axioms<'_> {
    fn push(&mut self, clause: Vec<Lit>, rule: Rule) {
        self.steps.push(Step { clause, rule });
    }

    fn begin(&self, txn: TxnId) -> Node {
        Node::begin(txn, self.level.events_per_txn())
    }

    fn commit(&self, txn: TxnId) -> Node {
        Node::commit(txn, self.level.events_per_txn())
    }

    fn install(&self, txn: TxnId) -> Node {
        if self.level.core == Core::Snapshot { self.begin(txn) } else { self.commit(txn) }
    }

    /// The literal that a transaction did not commit, if that can be.
    fn out(&self, txn: TxnId) -> Option<Lit> {
        (self.history.outcome(txn) == Outcome::Unknown).then(|| !Lit::committed(txn))
    }

    fn pairs(&self) -> Vec<(TxnId, TxnId)> {
        let with = |&t: &TxnId| self.txns.iter().map(move |&u| (t, u));
        self.txns.iter().flat_map(with).filter(|(t, u)| t != u).collect()
    }

    fn orders(&mut self) {
        if self.level.events_per_txn() == 2 {
            for txn in self.txns.clone() {
                self.push(vec![Lit::before(self.begin(txn), self.commit(txn))], Rule::BeginCommit);
            }
        }
        for (t, u) in self.pairs() {
            if self.level.sessions && t < u && self.history.session_of(t) == self.history.session_of(u) {
                let order = Lit::before(self.commit(t), self.begin(u));
                let clause = self.out(t).into_iter().chain([order]).collect();
                self.push(clause, Rule::Session);
            }
            if self.level.real_time != RealTime::Ignored {
                self.real_time(t, u);
            }
        }
    }

    fn real_time(&mut self, t: TxnId, u: TxnId) {
        let node = |txn, is_commit| {
            if is_commit { self.commit(txn) } else { self.begin(txn) }
        };
        let kinds = [(false, false), (false, true), (true, false), (true, true)];
        let obliged = kinds
            .into_iter()
            .filter(|&(from, to)| real_time::obliges(self.history, self.level, (t, from), (u, to)));
        let orders: Vec<Lit> = obliged.map(|(from, to)| Lit::before(node(t, from), node(u, to))).collect();
        for order in orders {
            let clause = self.out(t).into_iter().chain([order]).collect();
            self.push(clause, Rule::RealTime);
        }
    }

    fn writers(&mut self) {
        for (t, u) in self.pairs().into_iter().filter(|(t, u)| t < u) {
            let keys = (0..self.history.keys().len()).map(KeyId::from_index);
            if keys
                .into_iter()
                .any(|key| self.final_write(t, key).is_some() && self.final_write(u, key).is_some())
            {
                let orders = [(t, u), (u, t)].map(|(t, u)| Lit::before(self.commit(t), self.install(u)));
                let clause = orders.into_iter().chain(self.out(t)).chain(self.out(u)).collect();
                self.push(clause, Rule::TwoWriters);
            }
        }
    }

    fn final_write(&self, txn: TxnId, key: KeyId) -> Option<ValueId> {
        let of_key = self.history.ops(txn).filter(|(_, op)| op.key() == Some(key));
        of_key.filter_map(|(_, op)| op.written()).last()
    }

    /// The reads of a transaction: external ones, and those that contradict it.
    fn reads(&mut self, txn: TxnId) {
        for read in self.external_reads(txn) {
            self.external(read);
        }
        let ops: Vec<(OpId, Op<'_>)> = self.history.ops(txn).filter(|(_, op)| op.value().is_some()).collect();
        for (place, (id, op)) in ops.iter().enumerate().filter(|(_, (_, op))| op.is_read()) {
            // What the transaction knows is its last write, or else its first read.
            let earlier: Vec<&Op<'_>> =
                ops[..place].iter().map(|(_, op)| op).filter(|other| other.key() == op.key()).collect();
            let last_write = earlier.iter().rev().find(|other| !other.is_read());
            let known = last_write.or(earlier.first());
            if known.is_some_and(|known| known.value() != op.value()) {
                let clause = self.out(txn).into_iter().collect();
                self.push(clause, Rule::Internal(*id));
            }
        }
    }

    fn external_reads(&self, txn: TxnId) -> Vec<Read> {
        let mut touched = Vec::new();
        let mut reads = Vec::new();
        for (op, what) in self.history.ops(txn).filter(|(_, op)| op.value().is_some()) {
            let (Some(key), Some(value)) = (what.key(), what.value()) else {
                continue;
            };
            if what.is_read() && !touched.contains(&key) {
                reads.push(Read { op, txn, key, value });
            }
            touched.push(key);
        }
        reads
    }

    fn external(&mut self, read: Read) {
        let writers = self.txns.iter().copied().filter(|&txn| txn != read.txn);
        let same = writers.filter(|&txn| self.final_write(txn, read.key) == Some(read.value));
        let initial = self.may_be_initial(read).then_some(Source::Initial);
        let sources: Vec<Source> = initial.into_iter().chain(same.map(Source::Txn)).collect();
        let listed = sources.iter().map(|&source| Lit::read_from(read.op, source));
        let clause = listed.chain(self.out(read.txn)).collect();
        self.push(clause, Rule::Sources(read.op.into()));
        for source in sources {
            self.source(read, source);
        }
    }

    fn may_be_initial(&self, read: Read) -> bool {
        if let Some(value) = self.history.initial().value_of(read.key) {
            return value == read.value;
        }
        let is_written = |value| {
            let mut ops = self.history.txns().flat_map(|txn| self.history.ops(txn));
            ops.any(|(_, op)| op.key() == Some(read.key) && op.written() == Some(value))
        };
        let committed = self.txns.iter().filter(|&&txn| self.history.outcome(txn) == Outcome::Committed);
        let reads = committed.flat_map(|&txn| self.external_reads(txn));
        let mut unwritten = reads.filter(|other| other.key == read.key && !is_written(other.value));
        !is_written(read.value) && unwritten.next().is_none_or(|pinned| pinned.value == read.value)
    }

    fn source(&mut self, read: Read, source: Source) {
        let denied = !Lit::read_from(read.op, source);
        if let Source::Txn(t) = source {
            let order = Lit::before(self.commit(t), self.begin(read.txn));
            self.push(vec![denied, order], Rule::ReadAfterWrite);
            if self.history.outcome(t) == Outcome::Unknown {
                self.push(vec![denied, Lit::committed(t)], Rule::ReadCommitted);
            }
        }
        for u in self.txns.clone() {
            if u == read.txn || source == Source::Txn(u) || self.final_write(u, read.key).is_none() {
                continue;
            }
            let mut clause = vec![denied, Lit::before(self.begin(read.txn), self.commit(u))];
            if let Source::Txn(t) = source {
                clause.push(!Lit::before(self.commit(t), self.install(u)));
            }
            clause.extend(self.out(u));
            self.push(clause, Rule::Overwritten);
        }
    }

    fn one_initial(&mut self) {
        let reads: Vec<Read> = self.txns.iter().flat_map(|&txn| self.external_reads(txn)).collect();
        for (place, first) in reads.iter().enumerate() {
            for second in
                reads[place + 1..].iter().filter(|other| other.key == first.key && other.value != first.value)
            {
                if self.history.initial().value_of(first.key).is_none() {
                    let clause = [first, second].map(|read| !Lit::read_from(read.op, Source::Initial));
                    self.push(clause.to_vec(), Rule::OneInitial);
                }
            }
        }
    }
}
