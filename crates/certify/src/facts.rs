//! What the rules of a derivation are checked against: external reads, final writes, and the sources of a read.
//!
//! Sorted tables, each built with one pass and one sort; every question is a binary search.

use std::ops::Range;

use history::{History, InitialDefault, KeyId, OpId, Outcome, TxnId, ValueId};

use crate::observe::{EverWritten, Observer, Seen, writes};
use crate::{Flaw, Source};

/// A read that came from outside its transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Read {
    pub op: OpId,
    pub txn: TxnId,
    pub key: KeyId,
    pub value: ValueId,
}

pub(crate) struct Facts<'h> {
    history: &'h History,
    /// By operation.
    reads: Vec<Read>,
    /// Reads that contradict their own transaction, by operation.
    contradictions: Vec<OpId>,
    /// The final writes, by transaction and key.
    writes: Vec<(TxnId, KeyId, ValueId)>,
    /// The same, by key, value and transaction.
    by_value: Vec<(KeyId, ValueId, TxnId)>,
    unknown_initial: Option<UnknownInitial>,
}

/// What is known of initial values that were not recorded.
struct UnknownInitial {
    ever_written: EverWritten,
    /// For each key the value that a committed transaction read and nobody wrote: it must be the initial one.
    pinned: Vec<Option<ValueId>>,
}

impl<'h> Facts<'h> {
    pub fn of(history: &'h History) -> Result<Self, Flaw> {
        let mut facts = Self {
            history,
            reads: Vec::new(),
            contradictions: Vec::new(),
            writes: Vec::new(),
            by_value: Vec::new(),
            unknown_initial: None,
        };
        let mut observer = Observer::new(history);
        for txn in history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted) {
            facts.add_reads(&mut observer, txn)?;
            facts.add_writes(txn);
        }
        facts.by_value = facts.writes.iter().map(|&(txn, key, value)| (key, value, txn)).collect();
        facts.by_value.sort_unstable();
        if history.initial().default == InitialDefault::UnknownButOne {
            facts.unknown_initial = Some(UnknownInitial::of(history, &facts.reads));
        }
        Ok(facts)
    }

    fn add_reads(&mut self, observer: &mut Observer, txn: TxnId) -> Result<(), Flaw> {
        let (reads, contradictions) = (&mut self.reads, &mut self.contradictions);
        observer.visit(self.history, txn, |seen| {
            match seen {
                Seen::External { op, key, value } => reads.push(Read { op, txn, key, value }),
                Seen::Contradiction { op, .. } => contradictions.push(op),
            }
            Ok(())
        })
    }

    fn add_writes(&mut self, txn: TxnId) {
        let mut own: Vec<(KeyId, ValueId)> = writes(self.history, txn).collect();
        // The last write of a key is the final one: reversed, it is the first of its key, which `dedup` keeps.
        own.reverse();
        own.sort_by_key(|&(key, _)| key);
        own.dedup_by_key(|&mut (key, _)| key);
        self.writes.extend(own.into_iter().map(|(key, value)| (txn, key, value)));
    }

    /// Whether a transaction is in the history and may have committed.
    pub fn is_live(&self, txn: TxnId) -> bool {
        txn.index() < self.history.txn_count() && self.history.outcome(txn) != Outcome::Aborted
    }

    pub fn is_unknown(&self, txn: TxnId) -> bool {
        self.history.outcome(txn) == Outcome::Unknown
    }

    pub fn read(&self, op: OpId) -> Option<Read> {
        let place = self.reads.binary_search_by_key(&op, |read| read.op).ok()?;
        Some(self.reads[place])
    }

    pub fn is_contradiction(&self, op: OpId) -> bool {
        self.contradictions.binary_search(&op).is_ok()
    }

    pub fn writes_key(&self, txn: TxnId, key: KeyId) -> bool {
        self.writes.binary_search_by_key(&(txn, key), |&(txn, key, _)| (txn, key)).is_ok()
    }

    /// Whether two transactions write a common key.
    pub fn conflict(&self, t: TxnId, u: TxnId) -> bool {
        let (of_t, of_u) = (self.writes_of(t), self.writes_of(u));
        let (few, many) = if of_t.len() < of_u.len() { (of_t, u) } else { (of_u, t) };
        few.iter().any(|&(_, key, _)| self.writes_key(many, key))
    }

    fn writes_of(&self, txn: TxnId) -> &[(TxnId, KeyId, ValueId)] {
        let start = self.writes.partition_point(|&(writer, ..)| writer < txn);
        let end = self.writes.partition_point(|&(writer, ..)| writer <= txn);
        &self.writes[start..end]
    }

    /// How many sources a read has.
    pub fn source_count(&self, read: &Read) -> usize {
        let range = self.same_value(read);
        let own = self.by_value[range.clone()].binary_search_by_key(&read.txn, |&(_, _, txn)| txn).is_ok();
        range.len() - usize::from(own) + usize::from(self.may_be_initial(read))
    }

    /// Whether a read may have come from there, by its value.
    pub fn is_source(&self, read: &Read, source: Source) -> bool {
        match source {
            Source::Initial => self.may_be_initial(read),
            Source::Txn(txn) if txn == read.txn => false,
            Source::Txn(txn) => self.by_value.binary_search(&(read.key, read.value, txn)).is_ok(),
        }
    }

    /// The initial value of a key was not recorded.
    pub fn has_unknown_initial(&self, key: KeyId) -> bool {
        self.history.initial().value_of(key).is_none()
    }

    fn same_value(&self, read: &Read) -> Range<usize> {
        let wanted = (read.key, read.value);
        let start = self.by_value.partition_point(|&(key, value, _)| (key, value) < wanted);
        let end = self.by_value.partition_point(|&(key, value, _)| (key, value) <= wanted);
        start..end
    }

    fn may_be_initial(&self, read: &Read) -> bool {
        match (self.history.initial().value_of(read.key), &self.unknown_initial) {
            (Some(value), _) => value == read.value,
            (None, Some(unknown)) => unknown.may_be(read),
            (None, None) => false,
        }
    }
}

impl UnknownInitial {
    fn of(history: &History, reads: &[Read]) -> Self {
        let mut unknown =
            Self { ever_written: EverWritten::of(history), pinned: vec![None; history.keys().len()] };
        for read in reads.iter().filter(|read| history.outcome(read.txn) == Outcome::Committed) {
            if !unknown.ever_written.contains(read.key, read.value) {
                unknown.pinned[read.key.index()].get_or_insert(read.value);
            }
        }
        unknown
    }

    fn may_be(&self, read: &Read) -> bool {
        match self.pinned[read.key.index()] {
            Some(value) => value == read.value,
            None => !self.ever_written.contains(read.key, read.value),
        }
    }
}
