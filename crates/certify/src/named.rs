//! What a derivation speaks of: the transactions that its clauses and rules name, and the keys that these touch.
//!
//! A rule asks what a named transaction read and wrote, and who else wrote a key that it read or wrote. So nothing has to be
//! found out about other keys, and no list of another key is taken apart: a violation mostly names a few transactions of a
//! large history. Where an operation can be about any key, or initial values follow from what others read, everything is
//! named. O(steps + operations of the named transactions), and a bit for each transaction and key.

use history::{History, InitialDefault, KeyId, OpId, TxnId};

use crate::{Atom, Rule, Source, Step};

/// The transactions and keys that steps are about.
pub(crate) struct Named {
    /// `None` for all of them.
    txns: Option<Vec<bool>>,
    keys: Option<Vec<bool>>,
}

impl Named {
    /// What these steps name.
    pub fn by(history: &History, steps: &[Step], events_per_txn: u32) -> Self {
        let is_case = |step: &Step| matches!(step.rule, Rule::Case(_));
        let is_about_any_key = history.has_ranges() || history.has_predicates();
        let is_initial_inferred = history.initial().default == InitialDefault::UnknownButOne;
        if is_about_any_key || is_initial_inferred || steps.iter().any(is_case) {
            return Self { txns: None, keys: None };
        }
        let mut txns = vec![false; history.txn_count()];
        let mut keys = vec![false; history.keys().len()];
        for step in steps {
            visit_txns(history, step, events_per_txn, &mut |txn| {
                // The steps are not checked yet: they may name what is not there.
                let Some(is_named) = txns.get_mut(txn.index()) else { return };
                if !std::mem::replace(is_named, true) {
                    let touched = history.ops(txn).filter_map(|(_, op)| op.key());
                    touched.for_each(|key| keys[key.index()] = true);
                }
            });
        }
        Self { txns: Some(txns), keys: Some(keys) }
    }

    /// Whether a transaction is named.
    pub fn has_txn(&self, txn: TxnId) -> bool {
        self.txns.as_ref().is_none_or(|txns| txns[txn.index()])
    }

    /// Whether a named transaction touches a key.
    pub fn has_key(&self, key: KeyId) -> bool {
        self.keys.as_ref().is_none_or(|keys| keys[key.index()])
    }
}

/// Calls `visit` with each transaction that a step names, some of them more than once.
fn visit_txns(history: &History, step: &Step, events_per_txn: u32, visit: &mut dyn FnMut(TxnId)) {
    let reader = |op: OpId| (op.index() < history.op_count()).then(|| history.txn_of(op));
    for lit in &step.clause {
        match lit.atom {
            Atom::Before(a, b) => {
                [a, b].into_iter().filter_map(|node| node.txn(events_per_txn)).for_each(&mut *visit);
            }
            Atom::ReadFrom(read, source) => {
                reader(read.op).into_iter().for_each(&mut *visit);
                if let Source::Txn(txn) = source {
                    visit(txn);
                }
            }
            Atom::In(txn) | Atom::Took(txn, ..) => visit(txn),
        }
    }
    let op = match step.rule {
        Rule::Internal(op) | Rule::ListOrder(op) | Rule::Listed(op) | Rule::RowCount(op) => Some(op),
        Rule::Sources(read) => Some(read.op),
        Rule::Session | Rule::RealTime | Rule::BeginCommit | Rule::Initial | Rule::RecordedOrder => None,
        Rule::ReadAfterWrite | Rule::ReadCommitted | Rule::OneInitial | Rule::TwoWriters => None,
        Rule::Overwritten | Rule::OneWay | Rule::Cycle | Rule::NoOrder => None,
        Rule::Case(_) | Rule::Derived(_) => None,
    };
    op.and_then(reader).into_iter().for_each(visit);
}
