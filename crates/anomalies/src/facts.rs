//! What each transaction read from outside and what it wrote, key by key, and the writers of each version.
//!
//! One pass over the operations. A version of a list is its last element, a version of a register its value. A value that
//! two transactions wrote has no writer that is known.
//!
//! Most lists are the beginning of the longest list of their key, so their elements are looked at there, once
//! (`Facts::telling`): a history of n reads has O(n * length) elements.

use history::{History, KeyId, Op, OpId, Outcome, TxnId, ValueId};

use crate::writes::{Write, Writes};

/// What may be assumed about registers, whose versions nothing orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Assumptions {
    /// A transaction that reads a key and then writes it replaces the version that it read.
    pub writes_follow_reads: bool,
    /// Each key is sequentially consistent: versions are in the order in which each session saw them.
    pub sequential_keys: bool,
    /// Each key is linearizable: versions are in the order of real time.
    pub linearizable_keys: bool,
    /// Versions are in the order of the commits that the recording notes with its transactions (`commits`).
    pub noted_commits: bool,
}

impl Assumptions {
    /// The names of what is assumed, as flags name it.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let named = [
            (self.linearizable_keys, "linearizable-keys"),
            (self.sequential_keys, "sequential-keys"),
            (self.writes_follow_reads, "wfr-keys"),
            (self.noted_commits, "commit-order"),
        ];
        named.into_iter().filter(|&(is_assumed, _)| is_assumed).map(|(_, name)| name)
    }
}

/// What a read returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReadContent<'h> {
    List(&'h [ValueId]),
    Value(ValueId),
}

impl ReadContent<'_> {
    /// The elements, or the one value; none for the absent value.
    pub(crate) fn values(&self) -> &[ValueId] {
        match self {
            Self::List(list) => list,
            Self::Value(ValueId::NIL) => &[],
            Self::Value(value) => std::slice::from_ref(value),
        }
    }
}

/// What was read of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen<'h> {
    pub txn: TxnId,
    pub key: KeyId,
    pub op: OpId,
    pub content: ReadContent<'h>,
    /// Whether the transaction had not read or written the key before.
    pub is_external: bool,
    /// Whether the transaction writes the key afterwards.
    pub is_written_later: bool,
}

impl Seen<'_> {
    /// The version: the last element, or the value.
    pub(crate) fn version(&self) -> Option<ValueId> {
        self.content.values().last().copied()
    }
}

/// A version: the last element of a list or the value of a register; `None` is the initial state.
pub(crate) type Version = Option<ValueId>;

/// What is known of a history before any order.
pub(crate) struct Facts<'h> {
    /// What committed transactions read, in the order of their operations.
    pub seen: Vec<Seen<'h>>,
    /// For each list the first of the longest reads, as its place in `seen`.
    pub longest: Vec<Option<u32>>,
    /// The reads that are not a beginning of the longest list of their key, and those longest lists.
    telling: Vec<u32>,
    pub writes: Writes,
    pub is_list: Vec<bool>,
    /// Transactions that committed: those that were told so, and those that a committed transaction read from.
    pub took_part: Vec<bool>,
}

impl<'h> Facts<'h> {
    pub(crate) fn of(history: &'h History) -> Self {
        let mut collected = Collected::new(history);
        for txn in history.txns() {
            let is_committed = history.outcome(txn) == Outcome::Committed;
            let first_seen = collected.seen.len();
            history.ops(txn).for_each(|(id, op)| collected.visit(txn, is_committed, id, op));
            collected.note_later_writes(first_seen);
        }
        let mut facts = Self {
            longest: collected.longest_lists(),
            telling: Vec::new(),
            seen: collected.seen,
            writes: Writes::new(collected.writes, collected.is_list.len()),
            is_list: collected.is_list,
            took_part: history.txns().map(|txn| history.outcome(txn) == Outcome::Committed).collect(),
        };
        facts.telling = (0..facts.seen.len() as u32).filter(|&place| facts.is_telling(place)).collect();
        facts.follow_reads(history);
        facts
    }

    fn is_telling(&self, place: u32) -> bool {
        let seen = &self.seen[place as usize];
        self.longest[seen.key.index()].is_none_or(|longest| longest == place) || !self.is_beginning(seen)
    }

    /// Whether a read returned a beginning of the longest list of its key.
    pub(crate) fn is_beginning(&self, seen: &Seen<'_>) -> bool {
        let longest = self.longest[seen.key.index()];
        longest.is_some_and(|longest| {
            self.seen[longest as usize].content.values().starts_with(seen.content.values())
        })
    }

    /// Reads that together have every element that any read has: all but beginnings of longer lists.
    pub(crate) fn telling(&self) -> impl Iterator<Item = &Seen<'h>> {
        self.telling.iter().map(|&place| &self.seen[place as usize])
    }

    /// A transaction of unknown outcome took part if a committed one read what only it wrote.
    fn follow_reads(&mut self, history: &History) {
        if history.txns().all(|txn| history.outcome(txn) != Outcome::Unknown) {
            return;
        }
        let elements =
            self.telling().flat_map(|seen| seen.content.values().iter().map(|&value| (seen.key, value)));
        let writers = elements.filter_map(|(key, value)| self.writer(key, value)).map(|writer| writer.txn);
        let unknown: Vec<TxnId> = writers.filter(|&txn| history.outcome(txn) == Outcome::Unknown).collect();
        unknown.into_iter().for_each(|txn| self.took_part[txn.index()] = true);
    }

    /// The version of which a read returned this, unless several have it. A value that nothing wrote is a version too.
    pub(crate) fn version_of(&self, history: &History, key: KeyId, seen: Option<ValueId>) -> Option<Version> {
        let value = seen.unwrap_or(ValueId::NIL);
        let is_initial = match self.is_list[key.index()] {
            true => seen.is_none(),
            false => history.initial().value_of(key) == Some(value),
        };
        match (is_initial, self.writes.of(key, value)) {
            (true, None) => Some(None),
            (true, Some(_)) => None,
            (false, None) => Some(Some(value)),
            (false, Some(write)) => (!write.is_repeated).then_some(Some(value)),
        }
    }

    /// The only write of a version.
    pub(crate) fn writer(&self, key: KeyId, value: ValueId) -> Option<Write> {
        self.writes.of(key, value).filter(|write| !write.is_repeated)
    }

    /// The only write, if its transaction did not abort.
    pub(crate) fn live_writer(&self, history: &History, key: KeyId, value: ValueId) -> Option<Write> {
        self.writer(key, value).filter(|write| history.outcome(write.txn) != Outcome::Aborted)
    }
}

/// What the pass over the operations collects.
struct Collected<'h> {
    seen: Vec<Seen<'h>>,
    writes: Vec<(KeyId, Write)>,
    is_list: Vec<bool>,
    /// For each key the last transaction that read or wrote it so far, and its last write as a place in `writes`.
    touched: Vec<(Option<TxnId>, Option<u32>)>,
}

impl<'h> Collected<'h> {
    /// With room for all operations: what is not filled is never touched, and growing would copy the rest.
    fn new(history: &History) -> Self {
        let key_count = history.keys().len();
        Self {
            seen: Vec::with_capacity(history.op_count()),
            writes: Vec::with_capacity(history.op_count()),
            is_list: vec![false; key_count],
            touched: vec![(None, None); key_count],
        }
    }

    fn visit(&mut self, txn: TxnId, is_committed: bool, op: OpId, what: Op<'h>) {
        match what {
            Op::Append { key, value } => {
                self.is_list[key.index()] = true;
                self.write(txn, op, key, value);
            }
            Op::Write { .. } | Op::Insert { .. } | Op::Delete { .. } => {
                if let (Some(key), Some(value)) = (what.key(), what.written()) {
                    self.write(txn, op, key, value);
                }
            }
            Op::ReadList { key, list: Some(list) } => {
                self.is_list[key.index()] |= !list.is_empty();
                self.read(txn, is_committed, op, key, ReadContent::List(list));
            }
            Op::Read { key, value: Some(value) } => {
                self.read(txn, is_committed, op, key, ReadContent::Value(value));
            }
            _ => {}
        }
    }

    fn read(&mut self, txn: TxnId, is_committed: bool, op: OpId, key: KeyId, content: ReadContent<'h>) {
        let touched = &mut self.touched[key.index()];
        let is_external = touched.0 != Some(txn);
        if is_external {
            *touched = (Some(txn), None);
        }
        if is_committed {
            self.seen.push(Seen { txn, key, op, content, is_external, is_written_later: false });
        }
    }

    fn write(&mut self, txn: TxnId, op: OpId, key: KeyId, value: ValueId) {
        let touched = &mut self.touched[key.index()];
        let before = touched.1.filter(|_| touched.0 == Some(txn));
        *touched = (Some(txn), Some(self.writes.len() as u32));
        if let Some(before) = before {
            self.writes[before as usize].1.is_final = false;
        }
        let write = Write { txn, op, value, is_first: before.is_none(), is_final: true, is_repeated: false };
        self.writes.push((key, write));
    }

    /// Notes which reads of the last transaction come before a write of their key.
    fn note_later_writes(&mut self, first_seen: usize) {
        for seen in &mut self.seen[first_seen..] {
            let last_write = self.touched[seen.key.index()].1.map(|write| self.writes[write as usize].1.op);
            seen.is_written_later = last_write.is_some_and(|write| write > seen.op);
        }
    }

    /// For each list the first of the longest reads.
    fn longest_lists(&self) -> Vec<Option<u32>> {
        let mut longest: Vec<Option<u32>> = vec![None; self.is_list.len()];
        for (place, seen) in self.seen.iter().enumerate().filter(|(_, seen)| self.is_list[seen.key.index()]) {
            let known = &mut longest[seen.key.index()];
            let length = known.map(|known| self.seen[known as usize].content.values().len());
            if length.is_none_or(|length| seen.content.values().len() > length) {
                *known = Some(place as u32);
            }
        }
        longest
    }
}
