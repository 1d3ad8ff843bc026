//! What a derivation rests on: the stories with several alternatives that it would not hold without.
//!
//! The fewer these are, the more cases one run of the engine refutes. So of two writers that conflict on several keys the
//! one is named on which least is open, and a read rests on those writers only that in another way would be its source.

use certify::{Atom, Node, Rule, Step};
use history::{ExternalRead, FinalWrite, Index, KeyId, TxnId};

use super::cases::{Cases, Way};

/// The stories with several alternatives on which a derivation rests.
pub(super) struct Basis<'c, 'a> {
    cases: &'c Cases<'a>,
    index: &'c Index,
    stories: Vec<u32>,
}

impl<'c, 'a> Basis<'c, 'a> {
    pub fn of(cases: &'c Cases<'a>, index: &'c Index, steps: &[Step]) -> Vec<Way> {
        let mut basis = Self { cases, index, stories: Vec::new() };
        steps.iter().for_each(|step| basis.add_step(step));
        basis.stories.sort_unstable();
        basis.stories.dedup();
        basis.stories.into_iter().map(|story| (story, index.choice()[story as usize])).collect()
    }

    fn add(&mut self, story: Option<usize>) {
        let is_open = |story: &usize| self.cases.stories.all()[*story].alternatives.len() > 1;
        self.stories.extend(story.filter(is_open).map(|story| story as u32));
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
                let counts = self.cases.stories.counts().iter().filter(|count| count.op == *op);
                let stories: Vec<u32> = counts.flat_map(|count| count.stories.iter().copied()).collect();
                stories.into_iter().for_each(|story| self.add(Some(story as usize)));
            }
            _ => {}
        }
    }

    fn read(&self, id: certify::ReadId) -> Option<ExternalRead> {
        let txn = self.cases.history.txn_of(id.op);
        let reads = self.index.reads_of(txn).map(|read| self.index.reads()[read]);
        reads.into_iter().find(|read| read.op == id.op && id.key.is_none_or(|key| key == read.key))
    }

    /// A read of a story rests on its way.
    fn add_read(&mut self, read: Option<ExternalRead>) {
        if let Some(history::Observed::Story(story, _)) = read.map(|read| read.observed) {
            self.add(Some(story as usize));
        }
    }

    /// Stories that in another way would have written what was read.
    fn add_other_sources(&mut self, read: Option<ExternalRead>) {
        let Some(read) = read else { return };
        for &number in &self.cases.by_key[read.key.index()] {
            let story = &self.cases.stories.all()[number as usize];
            let chosen = self.index.choice()[number as usize] as usize;
            let fits = |way: usize| {
                let written = story.alternatives[way].written;
                written.is_some_and(|(content, _)| self.fits(&read, story.txn, content))
            };
            let others = (0..story.alternatives.len()).filter(|&way| way != chosen);
            if story.txn != read.txn && !fits(chosen) && others.into_iter().any(fits) {
                self.add(Some(number as usize));
            }
        }
    }

    fn fits(&self, read: &ExternalRead, txn: TxnId, content: u32) -> bool {
        let stories = self.cases.stories;
        if let history::Observed::Story(story, way) = read.observed {
            let seen = &stories.all()[story as usize].alternatives[way as usize].seen;
            return seen.binary_search(&content).is_ok();
        }
        let content = stories.content(content);
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
                self.add(self.cases.stories.find(writer, read.key));
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
            let story = self.cases.stories.find(txn, key);
            story.is_some_and(|story| self.cases.stories.all()[story].alternatives.len() > 1)
        };
        let Some(key) = of_both.min_by_key(|&key| u8::from(is_open(t, key)) + u8::from(is_open(u, key)))
        else {
            return;
        };
        self.add(self.cases.stories.find(t, key));
        self.add(self.cases.stories.find(u, key));
    }
}
