//! The row effects with several alternatives that a derivation rests on.
//!
//! The fewer these are, the more selections one run of the engine refutes. So of two writers that conflict on several
//! keys the basis cites the key with the fewest open alternatives, and a read rests only on the writers that would be
//! its source under another alternative.

use certify::{Atom, Node, Rule, Step};
use history::{KeyId, TxnId};
use index::{ExternalRead, FinalWrite, Index};

use super::cases::{Cases, Taken};

/// The effects with several alternatives on which a derivation rests.
pub(super) struct Basis<'c, 'a> {
    cases: &'c Cases<'a>,
    index: &'c Index,
    effects: Vec<u32>,
}

impl<'c, 'a> Basis<'c, 'a> {
    pub fn of(cases: &'c Cases<'a>, index: &'c Index, steps: &[Step]) -> Vec<Taken> {
        let mut basis = Self { cases, index, effects: Vec::new() };
        steps.iter().for_each(|step| basis.add_step(step));
        basis.effects.sort_unstable();
        basis.effects.dedup();
        basis.effects.into_iter().map(|effect| (effect, index.choice()[effect as usize])).collect()
    }

    fn add(&mut self, effect: Option<usize>) {
        let is_open = |effect: &usize| self.cases.effects.all()[*effect].alternatives.len() > 1;
        self.effects.extend(effect.filter(is_open).map(|effect| effect as u32));
    }

    fn add_step(&mut self, step: &Step) {
        for lit in &step.clause {
            if let Atom::ReadFrom(id, _) = lit.atom {
                let read = self.read(id);
                self.add_read(read);
            }
        }
        match &step.rule {
            Rule::Sources(id) => {
                let read = self.read(*id);
                self.add_read(read);
                self.add_other_sources(read);
            }
            Rule::Overwritten => self.add_overwriter(step),
            Rule::TwoWriters => self.add_two_writers(step),
            Rule::RowCount(op) => {
                let counts = self.cases.effects.counts().iter().filter(|count| count.op == *op);
                let effects: Vec<u32> = counts.flat_map(|count| count.effects.iter().copied()).collect();
                effects.into_iter().for_each(|effect| self.add(Some(effect as usize)));
            }
            _ => {}
        }
    }

    fn read(&self, id: certify::ReadId) -> Option<ExternalRead> {
        let txn = self.cases.history.txn_of(id.op);
        let reads = self.index.reads_of(txn).map(|read| self.index.reads()[read]);
        reads.into_iter().find(|read| read.op == id.op && id.key.is_none_or(|key| key == read.key))
    }

    /// A read that belongs to an effect rests on the alternative of that effect.
    fn add_read(&mut self, read: Option<ExternalRead>) {
        if let Some(index::Observed::RowEffect(effect, _)) = read.map(|read| read.observed) {
            self.add(Some(effect as usize));
        }
    }

    /// Effects that would have written the value under another alternative.
    fn add_other_sources(&mut self, read: Option<ExternalRead>) {
        let Some(read) = read else { return };
        for &number in &self.cases.by_key[read.key.index()] {
            let effect = &self.cases.effects.all()[number as usize];
            let chosen = self.index.choice()[number as usize] as usize;
            let fits = |alternative: usize| {
                let written = effect.alternatives[alternative].written;
                written.is_some_and(|(content, _)| self.fits(&read, effect.txn, content))
            };
            let others = (0..effect.alternatives.len()).filter(|&alternative| alternative != chosen);
            if effect.txn != read.txn && !fits(chosen) && others.into_iter().any(fits) {
                self.add(Some(number as usize));
            }
        }
    }

    fn fits(&self, read: &ExternalRead, txn: TxnId, content: u32) -> bool {
        let effects = self.cases.effects;
        if let index::Observed::RowEffect(effect, alternative) = read.observed {
            let seen = &effects.all()[effect as usize].alternatives[alternative as usize].seen;
            return seen.binary_search(&content).is_ok();
        }
        let content = effects.content(content);
        let value = content.value(self.cases.history);
        let write = FinalWrite { txn, key: read.key, value, is_dead: content.is_dead, op: read.op };
        read.observed.allows(&write)
    }

    fn add_overwriter(&mut self, step: &Step) {
        let events = self.cases.level.events_per_txn();
        let denied = step.clause.iter().find_map(|lit| match lit.atom {
            Atom::ReadFrom(id, _) => self.read(id),
            _ => None,
        });
        let Some(read) = denied else { return };
        let begin = Node::begin(read.txn, events);
        for lit in &step.clause {
            if let Atom::Before(a, b) = lit.atom
                && a == begin
                && let Some(writer) = b.txn(events)
            {
                self.add(self.cases.effects.find(writer, read.key));
            }
        }
    }

    /// Two writers conflict on their first common key on which least is open.
    fn add_two_writers(&mut self, step: &Step) {
        let events = self.cases.level.events_per_txn();
        let ends = step.clause.iter().find_map(|lit| match lit.atom {
            Atom::Before(a, b) => Some((a.txn(events)?, b.txn(events)?)),
            _ => None,
        });
        let Some((t, u)) = ends else { return };
        let keys = |txn: TxnId| self.index.writes_of(txn).map(|write| self.index.writes()[write].key);
        let of_both = keys(t).filter(|&key| keys(u).any(|other| other == key));
        let is_open = |txn: TxnId, key: KeyId| {
            let effect = self.cases.effects.find(txn, key);
            effect.is_some_and(|effect| self.cases.effects.all()[effect].alternatives.len() > 1)
        };
        let Some(key) = of_both.min_by_key(|&key| u8::from(is_open(t, key)) + u8::from(is_open(u, key)))
        else {
            return;
        };
        self.add(self.cases.effects.find(t, key));
        self.add(self.cases.effects.find(u, key));
    }
}
