//! The transactions and keys that a certificate of a violation rests on.
//!
//! A derivation is read backwards from its last step; steps that it does not use are skipped. Linear in the derivation.

use std::collections::BTreeSet;

use certify::{Atom, Certificate, Level, Lit, ReadId, Rule, Source, Step};
use history::{History, KeyId, OpId, TxnId};

/// The transactions of the steps that the contradiction uses.
pub(crate) fn transactions(history: &History, level: &Level, certificate: &Certificate) -> BTreeSet<TxnId> {
    let mut found = Mentioned::of(history, level, certificate).txns;
    found.retain(|txn| txn.index() < history.txn_count());
    found
}

/// The keys of the reads that the contradiction uses.
pub(crate) fn keys(history: &History, level: &Level, certificate: &Certificate) -> BTreeSet<KeyId> {
    Mentioned::of(history, level, certificate).keys
}

struct Mentioned<'h> {
    history: &'h History,
    level: &'h Level,
    txns: BTreeSet<TxnId>,
    keys: BTreeSet<KeyId>,
}

impl<'h> Mentioned<'h> {
    fn of(history: &'h History, level: &'h Level, certificate: &Certificate) -> Self {
        let mut found = Self { history, level, txns: BTreeSet::new(), keys: BTreeSet::new() };
        if let Certificate::Violated { steps, .. } = certificate {
            found.steps(steps);
        }
        found
    }

    fn steps(&mut self, steps: &[Step]) {
        let mut is_used = vec![false; steps.len()];
        if let Some(last) = is_used.last_mut() {
            *last = true;
        }
        for place in (0..steps.len()).rev() {
            if !is_used[place] {
                continue;
            }
            let step = &steps[place];
            step.clause.iter().for_each(|&lit| self.lit(lit));
            match &step.rule {
                Rule::Derived(from) => {
                    from.iter().for_each(|&from| {
                        if let Some(used) = is_used.get_mut(from as usize) {
                            *used = true;
                        }
                    });
                }
                Rule::Case(inner) => self.steps(inner),
                &Rule::Internal(op) | &Rule::ListOrder(op) | &Rule::Listed(op) | &Rule::RowCount(op) => {
                    self.op(op);
                }
                &Rule::Sources(ReadId { op, .. }) => self.op(op),
                Rule::NoOrder => self.txns.extend(self.history.txns()),
                _ => {}
            }
        }
    }

    fn lit(&mut self, lit: Lit) {
        let events = self.level.events_per_txn();
        match lit.atom {
            Atom::Before(a, b) => self.txns.extend([a.txn(events), b.txn(events)].into_iter().flatten()),
            Atom::ReadFrom(read, source) => {
                self.op(read.op);
                if let Source::Txn(txn) = source {
                    self.txns.insert(txn);
                }
            }
            Atom::In(txn) | Atom::Took(txn, ..) => {
                self.txns.insert(txn);
            }
        }
    }

    fn op(&mut self, op: OpId) {
        if op.index() < self.history.op_count() {
            self.txns.insert(self.history.txn_of(op));
            self.keys.extend(self.history.op(op).key());
        }
    }
}
