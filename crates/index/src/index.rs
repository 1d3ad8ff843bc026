//! What every engine starts from: external reads, final writes, and the possible sources of each read.
//!
//! A read is *external* if the transaction did not write the key before, and had not seen as much of it; a write is
//! *final* if the transaction does not write the key again. A range read is one read of every known key in the range,
//! of those too that it did not return. Writes of one key and value form a group, and a read's sources are the group
//! of its key and value, without its own transaction's write, and the initial state if that holds the value.
//! So sources cost one number per read however many duplicates there are.
//!
//! One pass over the operations, one sort of the writes of each key, and one search for each read in the writes of its
//! key: O(n log w) for w writes of a key. What is random about it is done key by key (`join`), so that it misses the
//! cache twice a read and not at every step.

mod appends;
mod groups;
mod join;
mod lists;
mod observed;
mod scan;
mod sourceless;
mod touches;
mod versions;

use std::sync::Arc;

use crate::{Finding, RowEffects, Scope};
use history::{Datum, History, InitialDefault, KeyId, OpId, Outcome, TxnId, ValueId};

pub use observed::Observed;
pub use versions::{Telling, VersionOrder};

use groups::SelectedGroups;
use scan::Scan;
use sourceless::{Elsewhere, GuessedInitial, written_values};

/// A read of a key in a transaction that did not write it before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExternalRead {
    /// The transaction that read.
    pub txn: TxnId,
    /// The key.
    pub key: KeyId,
    /// What the read returned.
    pub observed: Observed,
    /// The operation.
    pub op: OpId,
}

/// The last write of a key in a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FinalWrite {
    /// The transaction that wrote.
    pub txn: TxnId,
    /// The key.
    pub key: KeyId,
    /// The value; the mark of a delete that leaves one, the last element for appends.
    pub value: ValueId,
    /// Whether it leaves no row.
    pub is_dead: bool,
    /// The operation.
    pub op: OpId,
}

/// Where a read may have come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sources<'i> {
    /// Numbers of final writes of the same key and value, in the order of their transactions. The reader's own write
    /// may be among them, and is no source.
    pub writes: &'i [u32],
    /// Whether the initial state holds the value.
    pub initial: bool,
}

/// What the sources of a read are. Reads with the same class have the same sources among the writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceClass {
    /// No write: only the initial state, if that.
    Initial,
    /// The write of this number.
    Write(u32),
    /// The writes of one value, by the number of their group.
    Group(u32),
    /// Some writes of the key, by the number of their group.
    Selected(u32),
}

/// External reads, final writes and sources of the committed and unknown transactions of a history.
#[derive(Clone, Debug, Default)]
pub struct Index {
    reads: Vec<ExternalRead>,
    read_start: Vec<u32>,
    /// For each read the number of the only write with its value, or of the group of writes if there are several: its
    /// kind says which.
    read_source: Vec<u32>,
    read_kind: Vec<SourceKind>,
    read_initial: Vec<bool>,
    writes: Vec<FinalWrite>,
    /// The transaction of each write, close together: what is asked of writes most.
    writers: Vec<TxnId>,
    write_start: Vec<u32>,
    /// Numbers of writes, by key, value and transaction.
    by_value: Vec<u32>,
    /// What each write left and its number, by key and content; only where there are row effects.
    by_content: Vec<(u32, u32)>,
    /// For each key the place of its writes in `by_value`, and in `by_content`.
    key_start: Vec<u32>,
    /// Where in `by_value` the writes of a value that has several are.
    groups: Vec<(u32, u32)>,
    /// Groups that are not all writes of one value.
    selected: SelectedGroups,
    /// Keys that a delete marked; empty if there are none.
    is_marked: Vec<bool>,
    version_order: Vec<VersionOrder>,
    listed: Vec<(OpId, TxnId)>,
    /// An append of an element that several transactions appended.
    doubtful: Option<OpId>,
    /// Which transactions are certainly in a list, or by guess, of keys with such elements.
    members: Vec<(OpId, Vec<TxnId>)>,
    first_of_list: Option<OpId>,
    effects: Arc<RowEffects>,
    /// For each effect the alternative that is taken to be true.
    choice: Vec<u32>,
    findings: Vec<Finding>,
    unindexed: Option<OpId>,
}

/// What the source of a read is the number of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum SourceKind {
    /// No transaction wrote the value.
    None,
    /// One write.
    Write,
    /// A group of writes of one value.
    Group,
    /// A selected group.
    Selected,
}

impl Index {
    /// Derives the index; of each row effect the first alternative is taken. Where predicates concern too many keys to
    /// examine at once, it leaves out the row effects.
    pub fn of(history: &History) -> Self {
        let keys = if RowEffects::are_few(history) { None } else { Some(&[][..]) };
        Self::about(history, &Scope { keys, clock_skew: None })
    }

    /// Derives the index of what was done to the keys in scope; of each effect the first alternative is taken.
    pub fn about(history: &History, scope: &Scope<'_>) -> Self {
        let effects = RowEffects::of(history, scope);
        let choice = vec![0; effects.all().len()];
        Self::choosing(history, Arc::new(effects), choice)
    }

    /// Derives the index, with these alternatives of the effects.
    pub fn choosing(history: &History, effects: Arc<RowEffects>, choice: Vec<u32>) -> Self {
        Self::with_lists(history, effects, choice, false)
    }

    /// Derives the index of a history in which several transactions appended an element ([`Index::doubtful`]), as if it
    /// were known which one each list shows. An order that explains the history by that does explain it; what contradicts
    /// itself says nothing.
    pub fn guessing(history: &History) -> Self {
        Self::with_lists(history, Arc::default(), Vec::new(), true)
    }

    fn with_lists(history: &History, effects: Arc<RowEffects>, choice: Vec<u32>, guesses: bool) -> Self {
        let mut index = Self { unindexed: effects.refused(), effects, choice, ..Self::default() };
        let list_reads = Scan::new(history).run(&mut index);
        index.join(history);
        index.find_initial(history);
        index.order_lists(history, &list_reads, guesses);
        index.order_recorded_versions(history);
        index.count_rows(history);
        index.findings.sort_by_key(|finding| finding.read);
        index.findings.dedup_by_key(|finding| (finding.read, finding.key));
        index
    }

    /// All external reads, transaction by transaction.
    pub fn reads(&self) -> &[ExternalRead] {
        &self.reads
    }

    /// All final writes, transaction by transaction.
    pub fn writes(&self) -> &[FinalWrite] {
        &self.writes
    }

    /// The numbers of a transaction's external reads.
    #[inline]
    pub fn reads_of(&self, txn: TxnId) -> std::ops::Range<usize> {
        self.read_start[txn.index()] as usize..self.read_start[txn.index() + 1] as usize
    }

    /// The numbers of a transaction's final writes.
    #[inline]
    pub fn writes_of(&self, txn: TxnId) -> std::ops::Range<usize> {
        self.write_start[txn.index()] as usize..self.write_start[txn.index() + 1] as usize
    }

    /// The numbers of all final writes of a key, sorted by value and then by transaction.
    #[inline]
    pub fn writes_to(&self, key: KeyId) -> &[u32] {
        &self.by_value[self.key_start[key.index()] as usize..self.key_start[key.index() + 1] as usize]
    }

    /// The transaction of a final write.
    #[inline]
    pub fn writer(&self, write: u32) -> TxnId {
        self.writers[write as usize]
    }

    /// Where a read may have come from.
    #[inline]
    pub fn sources(&self, read: usize) -> Sources<'_> {
        let source = &self.read_source[read];
        let writes = match self.read_kind[read] {
            SourceKind::None => &[],
            SourceKind::Write => std::slice::from_ref(source),
            SourceKind::Group => {
                let (start, end) = self.groups[*source as usize];
                &self.by_value[start as usize..end as usize]
            }
            SourceKind::Selected => self.selected.get(*source as usize),
        };
        Sources { writes, initial: self.read_initial[read] }
    }

    /// What a read's sources are: one write, a group of writes, or nothing but the initial state.
    #[inline]
    pub fn source_class(&self, read: usize) -> SourceClass {
        let number = self.read_source[read];
        match self.read_kind[read] {
            SourceKind::None => SourceClass::Initial,
            SourceKind::Write => SourceClass::Write(number),
            SourceKind::Group => SourceClass::Group(number),
            SourceKind::Selected => SourceClass::Selected(number),
        }
    }

    /// The writes of each group of [`SourceClass::Group`], by its number.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.groups.iter().map(|&(start, end)| &self.by_value[start as usize..end as usize])
    }

    /// The writes of each group of [`SourceClass::Selected`], by its number.
    pub fn selected_groups(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        (0..self.selected.len()).map(|group| self.selected.get(group))
    }

    /// The numbers of all final writes with the same key and value as this one, itself included.
    pub fn same_value(&self, write: usize) -> &[u32] {
        let FinalWrite { key, value, .. } = self.writes[write];
        let writes = self.writes_to(key);
        let value_of = |write: &u32| self.writes[*write as usize].value;
        let start = writes.partition_point(|write| value_of(write) < value);
        let end = writes.partition_point(|write| value_of(write) <= value);
        &writes[start..end]
    }

    /// Pairs of versions whose order the history tells, by lists or by recorded versions.
    pub fn version_order(&self) -> &[VersionOrder] {
        &self.version_order
    }

    /// Transactions of unknown outcome that must have committed if the reader of a list did: the read, and the
    /// transaction whose elements it has.
    pub fn listed(&self) -> &[(OpId, TxnId)] {
        &self.listed
    }

    /// What transactions did to keys that predicates of them may concern.
    pub fn effects(&self) -> &Arc<RowEffects> {
        &self.effects
    }

    /// For each effect the alternative that is taken to be true.
    pub fn choice(&self) -> &[u32] {
        &self.choice
    }

    /// What a final write left, as a person would write it.
    pub fn written(&self, history: &History, write: usize) -> Datum {
        let write = self.writes[write];
        match self.effects.find(write.txn, write.key) {
            Some(effect) => {
                let alternative = &self.effects.all()[effect].alternatives[self.choice[effect] as usize];
                let content = alternative.written.map(|(content, _)| self.effects.content(content));
                content.map_or(Datum::Nil, |content| content.datum.clone())
            }
            None => history.values().original(write.value),
        }
    }

    /// The first operation on a list, if there are any.
    pub fn first_of_list(&self) -> Option<OpId> {
        self.first_of_list
    }

    /// What no order can explain, sorted by the read. Transactions of unknown outcome have findings too: these did not
    /// commit.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// An append of an element that several transactions appended, which may have committed: of its lists only that is
    /// indexed which is certain, so an order that it allows may not explain them.
    pub fn doubtful(&self) -> Option<OpId> {
        self.doubtful
    }

    /// The transactions that a list is made of, as far as is certain or guessed; only of keys with doubtful elements.
    pub fn members_of(&self, read: OpId) -> Option<&[TxnId]> {
        let place = self.members.binary_search_by_key(&read, |&(known, _)| known).ok()?;
        Some(&self.members[place].1)
    }

    /// The first operation that the index leaves out, if there is one.
    pub fn unindexed(&self) -> Option<OpId> {
        self.unindexed
    }

    /// Whether each read may have seen the initial state, and what becomes of those that saw nothing that can have been.
    fn find_initial(&mut self, history: &History) {
        let guessed = self.guess_initial(history);
        self.read_initial.reserve_exact(self.reads.len());
        let mut sourceless = Vec::new();
        for (number, read) in self.reads.iter().enumerate() {
            let initial = match history.initial().value_of(read.key) {
                Some(value) if matches!(read.observed, Observed::RowEffect(..)) => {
                    self.is_in_effect(history, read.observed, value, value == ValueId::NIL)
                }
                Some(value) => read.observed.allows_initial(value),
                None => guessed.may_be(read),
            };
            let initial = initial && self.may_be_first(history, read);
            self.read_initial.push(initial);
            // The writes of a transaction are numbered together: that spares a look at the write.
            let own = self.writes_of(read.txn);
            let is_foreign = |&write: &u32| !own.contains(&(write as usize));
            if !initial && !self.sources(number).writes.iter().any(is_foreign) {
                sourceless.push(*read);
            }
        }
        if !sourceless.is_empty() {
            let elsewhere = Elsewhere::of(history, &sourceless);
            let findings = sourceless.iter().map(|read| elsewhere.explain(history, read, &guessed));
            self.findings.extend(findings);
        }
    }

    /// The rows that predicate writes changed are as many as the database said.
    fn count_rows(&mut self, history: &History) {
        let effects = self.effects.clone();
        for count in effects.counts() {
            let is_match = |&&effect: &&u32| {
                let alternative = self.choice[effect as usize] as usize;
                effects.all()[effect as usize].alternatives[alternative].matched.contains(&count.op)
            };
            if count.effects.iter().filter(is_match).count() as u64 == count.count {
                continue;
            }
            let key = count.effects.first().map_or(KeyId(0), |&effect| effects.all()[effect as usize].key);
            self.findings.push(Finding {
                kind: crate::FindingKind::WrongRowCount,
                txn: history.txn_of(count.op),
                read: count.op,
                key,
                value: ValueId::NIL,
                other: None,
            });
        }
    }

    /// Whether the recorded version that a read saw is before all that were written.
    fn may_be_first(&self, history: &History, read: &ExternalRead) -> bool {
        let Some(seen) = history.op_version(read.op) else { return true };
        let is_earlier = |&write: &u32| {
            let write = self.writes[write as usize];
            let is_committed = history.outcome(write.txn) == Outcome::Committed;
            is_committed && history.op_version(write.op).is_some_and(|version| version <= seen)
        };
        !self.writes_to(read.key).iter().any(is_earlier)
    }

    /// Where the initial values are unknown, a value that no transaction wrote is the initial one; there can be only one per
    /// key. What a committed transaction read counts before what an unknown one did.
    fn guess_initial(&mut self, history: &History) -> GuessedInitial {
        let mut guessed = GuessedInitial::default();
        if history.initial().default != InitialDefault::UnknownButOne {
            return guessed;
        }
        guessed.read_of = vec![None; history.keys().len()];
        let written = written_values(history);
        for outcome in [Outcome::Committed, Outcome::Unknown] {
            for read in self.reads.iter().filter(|read| history.outcome(read.txn) == outcome) {
                let value = read.observed.value();
                if read.observed.allows_initial(value) && !written.contains(&(read.key, value)) {
                    guessed.read_of[read.key.index()].get_or_insert((read.op, value));
                }
            }
        }
        // Where only an unknown transaction saw it, and another transaction something that may be initial too, either may be
        // right: no engine decides that yet.
        let is_doubtful = |read: &&ExternalRead| {
            let value = read.observed.value();
            let is_other =
                |(first, seen)| seen != value && history.outcome(history.txn_of(first)) == Outcome::Unknown;
            let may_be = value == ValueId::NIL || !written.contains(&(read.key, value));
            may_be
                && read.observed.allows_initial(value)
                && guessed.read_of[read.key.index()].is_some_and(is_other)
        };
        let is_unknown = |read: &ExternalRead| history.initial().value_of(read.key).is_none();
        // A deleted row may have been there at first, with its mark.
        let is_first_mark = |read: &ExternalRead| matches!(read.observed, Observed::Mark(mark) if !written.contains(&(read.key, mark)));
        let is_open = |read: &&ExternalRead| is_unknown(read) && (is_doubtful(read) || is_first_mark(read));
        self.unindexed = self.unindexed.or(self.reads.iter().find(is_open).map(|read| read.op));
        guessed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FindingKind;
    use history::Builder;

    /// `r x 1`, `w x 1`; transactions are their own sessions; initial values are 0.
    fn history(txns: &[(&str, Outcome)]) -> History {
        let mut builder = Builder::new();
        builder.initial = history::InitialState::all(ValueId(0));
        for (ops, outcome) in txns {
            let session = builder.session();
            builder.begin(session);
            let words: Vec<&str> = ops.split_whitespace().collect();
            for op in words.chunks(3) {
                let key = builder.keys.intern(op[1].into());
                let value = builder.values.intern_int(op[2].parse().unwrap());
                if op[0] == "r" {
                    builder.read(key, value)
                } else {
                    builder.write(key, value)
                };
            }
            builder.end(*outcome);
        }
        builder.finish()
    }

    fn kinds(txns: &[(&str, Outcome)]) -> Vec<FindingKind> {
        Index::of(&history(txns)).findings().iter().map(|finding| finding.kind).collect()
    }

    use Outcome::{Aborted, Committed, Unknown};

    #[test]
    fn each_kind_is_found() {
        use FindingKind::*;
        assert_eq!(kinds(&[("r x 1", Committed)]), [ThinAirRead]);
        assert_eq!(kinds(&[("r x 1", Committed), ("w x 1", Aborted)]), [AbortedRead]);
        assert_eq!(kinds(&[("r x 1", Committed), ("w x 1 w x 2", Committed)]), [IntermediateRead]);
        assert_eq!(kinds(&[("r x 1 w x 1", Committed)]), [FutureRead]);
        assert_eq!(kinds(&[("w x 1 r x 0", Committed)]), [NotMyOwnWrite]);
        assert_eq!(kinds(&[("w x 1 w x 2 r x 1", Committed)]), [NotMyLastWrite]);
        assert_eq!(kinds(&[("r x 0 r x 1", Committed), ("w x 1", Committed)]), [NonRepeatableRead]);
    }

    #[test]
    fn a_committed_duplicate_explains_a_read_of_an_aborted_value() {
        assert_eq!(kinds(&[("r x 1", Committed), ("w x 1", Aborted), ("w x 1", Committed)]), []);
        assert_eq!(kinds(&[("r x 1", Committed), ("w x 1 w x 2", Committed), ("w x 1", Unknown)]), []);
        assert_eq!(kinds(&[("r x 1 w x 1", Committed), ("w x 1", Committed)]), []);
    }

    #[test]
    fn only_external_reads_and_final_writes_are_listed() {
        let history =
            history(&[("r x 0 r x 0 w x 1 r x 1 w x 2 w y 5", Committed), ("w y 5 r x 2", Committed)]);
        let index = Index::of(&history);
        let reads: Vec<_> =
            index.reads().iter().map(|read| (read.txn.0, read.key.0, read.observed.value().0)).collect();
        assert_eq!(reads, [(0, 0, 0), (1, 0, 2)]);
        let writes: Vec<_> =
            index.writes().iter().map(|write| (write.txn.0, write.key.0, write.value.0)).collect();
        assert_eq!(writes, [(0, 0, 2), (0, 1, 5), (1, 1, 5)]);
        assert_eq!(index.sources(0), Sources { writes: &[], initial: true });
        assert_eq!(index.sources(1), Sources { writes: &[0], initial: false });
        assert_eq!(index.same_value(1), [1, 2]);
        assert_eq!(index.writes_to(KeyId(1)), [1, 2]);
    }

    #[test]
    fn an_unknown_initial_value_is_one_value() {
        let mut builder = Builder::new();
        builder.initial = history::InitialState::unknown();
        let x = builder.keys.intern("x".into());
        for value in [7, 7, 8] {
            let session = builder.session();
            builder.begin(session);
            builder.read(x, ValueId(value));
            builder.end(Committed);
        }
        let history = builder.finish();
        let index = Index::of(&history);
        assert!(index.sources(0).initial && index.sources(1).initial && !index.sources(2).initial);
        let sentences: Vec<_> = index.findings().iter().map(|finding| finding.sentence(&history)).collect();
        assert_eq!(
            sentences,
            ["T3 read x = 8, which no transaction wrote, and T1 read another initial value of x"]
        );
    }
}
