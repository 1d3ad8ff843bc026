//! What each transaction read from outside and what it wrote, key by key, and the writers of each version.
//!
//! One pass over the operations. A version of a list is its last element, a version of a register its value. A value that
//! two transactions wrote has no writer that is known.

use history::{History, KeyId, Op, OpId, Outcome, TxnId, ValueId};
use rustc_hash::FxHashMap;

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
pub(crate) enum Content<'h> {
    List(&'h [ValueId]),
    Value(ValueId),
}

impl Content<'_> {
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
    pub content: Content<'h>,
    /// Whether the transaction had not read or written the key before.
    pub is_external: bool,
}

impl Seen<'_> {
    /// The version: the last element, or the value.
    pub(crate) fn version(&self) -> Option<ValueId> {
        self.content.values().last().copied()
    }
}

/// A version: the last element of a list or the value of a register; `None` is the initial state.
pub(crate) type Version = Option<ValueId>;

/// Who wrote a version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Writer {
    pub txn: TxnId,
    pub op: OpId,
    /// Whether the transaction did not write the key again.
    pub is_final: bool,
    /// Whether another write has the same key and value.
    pub is_repeated: bool,
}

/// What is known of a history before any order.
pub(crate) struct Facts<'h> {
    /// What committed transactions read, in the order of their operations.
    pub seen: Vec<Seen<'h>>,
    pub writers: FxHashMap<(KeyId, ValueId), Writer>,
    /// The final writes of each key, in the order of their transactions.
    pub final_writes: Vec<Vec<(TxnId, ValueId)>>,
    pub is_list: Vec<bool>,
    /// Transactions that committed: those that were told so, and those that a committed transaction read from.
    pub took_part: Vec<bool>,
}

impl<'h> Facts<'h> {
    pub(crate) fn of(history: &'h History) -> Self {
        let mut facts = Self {
            seen: Vec::new(),
            writers: FxHashMap::default(),
            final_writes: vec![Vec::new(); history.keys().len()],
            is_list: vec![false; history.keys().len()],
            took_part: history.txns().map(|txn| history.outcome(txn) == Outcome::Committed).collect(),
        };
        let mut touched: FxHashMap<KeyId, Option<(OpId, ValueId)>> = FxHashMap::default();
        for txn in history.txns() {
            touched.clear();
            for (id, op) in history.ops(txn) {
                facts.visit(history, txn, id, op, &mut touched);
            }
            let mut written: Vec<_> =
                touched.iter().filter_map(|(&key, write)| Some((key, (*write)?))).collect();
            written.sort_unstable();
            for (key, (op, value)) in written {
                facts.final_writes[key.index()].push((txn, value));
                if let Some(writer) = facts.writers.get_mut(&(key, value)).filter(|writer| writer.op == op) {
                    writer.is_final = true;
                }
            }
        }
        facts.follow_reads(history);
        facts
    }

    fn visit(
        &mut self,
        history: &'h History,
        txn: TxnId,
        id: OpId,
        op: Op<'h>,
        touched: &mut FxHashMap<KeyId, Option<(OpId, ValueId)>>,
    ) {
        let (key, content) = match op {
            Op::Append { key, value } => {
                self.is_list[key.index()] = true;
                return self.write(txn, id, key, value, touched);
            }
            Op::Write { .. } | Op::Insert { .. } | Op::Delete { .. } => {
                if let (Some(key), Some(value)) = (op.key(), op.written()) {
                    self.write(txn, id, key, value, touched);
                }
                return;
            }
            Op::ReadList { key, list: Some(list) } => (key, Content::List(list)),
            Op::Read { key, value: Some(value) } => (key, Content::Value(value)),
            _ => return,
        };
        self.is_list[key.index()] |= matches!(content, Content::List([_, ..]));
        let is_external = !touched.contains_key(&key);
        touched.entry(key).or_insert(None);
        if history.outcome(txn) == Outcome::Committed {
            self.seen.push(Seen { txn, key, op: id, content, is_external });
        }
    }

    fn write(
        &mut self,
        txn: TxnId,
        op: OpId,
        key: KeyId,
        value: ValueId,
        touched: &mut FxHashMap<KeyId, Option<(OpId, ValueId)>>,
    ) {
        touched.insert(key, Some((op, value)));
        let writer = Writer { txn, op, is_final: false, is_repeated: false };
        self.writers.entry((key, value)).and_modify(|known| known.is_repeated = true).or_insert(writer);
    }

    /// A transaction of unknown outcome took part if a committed one read what only it wrote.
    fn follow_reads(&mut self, history: &History) {
        for seen in &self.seen {
            for &value in seen.content.values() {
                let writer = self.writers.get(&(seen.key, value)).filter(|writer| !writer.is_repeated);
                if let Some(writer) = writer.filter(|writer| history.outcome(writer.txn) == Outcome::Unknown)
                {
                    self.took_part[writer.txn.index()] = true;
                }
            }
        }
    }

    /// The version of which a read returned this, unless several have it. A value that nothing wrote is a version too.
    pub(crate) fn version_of(&self, history: &History, key: KeyId, seen: Option<ValueId>) -> Option<Version> {
        let value = seen.unwrap_or(ValueId::NIL);
        let is_initial = match self.is_list[key.index()] {
            true => seen.is_none(),
            false => history.initial().value_of(key) == Some(value),
        };
        match (is_initial, self.writers.get(&(key, value))) {
            (true, None) => Some(None),
            (true, Some(_)) => None,
            (false, None) => Some(Some(value)),
            (false, Some(writer)) => (!writer.is_repeated).then_some(Some(value)),
        }
    }

    /// The only writer of a version.
    pub(crate) fn writer(&self, key: KeyId, value: ValueId) -> Option<Writer> {
        self.writers.get(&(key, value)).copied().filter(|writer| !writer.is_repeated)
    }

    /// The only writer, if it did not abort.
    pub(crate) fn live_writer(&self, history: &History, key: KeyId, value: ValueId) -> Option<Writer> {
        self.writer(key, value).filter(|writer| history.outcome(writer.txn) != Outcome::Aborted)
    }
}
