//! The words for the things that a certificate speaks of.
//!
//! With one event per transaction "T3 before T7" says all; with two, what began or committed before what.

use certify::{Atom, Core, Level, Lit, Node, Source};
use history::{History, Index, KeyId, OpId, TxnId, ValueId};

/// A history and a level, with words for them.
pub(crate) struct Terms<'h> {
    pub history: &'h History,
    pub index: &'h Index,
    pub level: &'h Level,
}

impl<'h> Terms<'h> {
    pub fn new(history: &'h History, index: &'h Index, level: &'h Level) -> Self {
        Self { history, index, level }
    }

    /// The transaction of an event; `None` for the initial state (and for what the history does not have).
    pub fn txn(&self, node: Node) -> Option<TxnId> {
        node.txn(self.level.events_per_txn()).filter(|txn| txn.index() < self.history.txn_count())
    }

    pub fn is_begin(&self, node: Node) -> bool {
        self.level.events_per_txn() > 1 && !node.is_commit(self.level.events_per_txn())
    }

    /// How a transaction is called; events without one belong to the initial state.
    pub fn name(&self, txn: Option<TxnId>) -> String {
        txn.filter(|txn| txn.index() < self.history.txn_count())
            .map_or_else(|| "the initial state".into(), |txn| self.history.txn_label(txn))
    }

    pub fn key(&self, key: KeyId) -> String {
        self.history.keys().original(key).to_string()
    }

    pub fn value(&self, value: ValueId) -> String {
        self.history.values().original(value).to_string()
    }

    /// A read by its operation: who, what key and what value.
    pub fn read(&self, op: OpId) -> Option<Read> {
        if op.index() >= self.history.op_count() {
            return None;
        }
        let read = self.history.op(op);
        Some(Read { txn: self.history.txn_of(op), key: read.key()?, value: read.value()? })
    }

    /// `x = 1`, as a transaction read it.
    pub fn seen(&self, read: Read) -> String {
        format!("{} = {}", self.key(read.key), self.value(read.value))
    }

    /// `x = 1`, as a transaction left it.
    pub fn written(&self, txn: TxnId, key: KeyId) -> String {
        let mut writes = self.index.writes_of(txn).map(|write| self.index.writes()[write]);
        match writes.find(|write| write.key == key) {
            Some(write) => format!("{} = {}", self.key(key), self.value(write.value)),
            None => self.key(key),
        }
    }

    /// The first key that both transactions write.
    pub fn key_of_both(&self, left: TxnId, right: TxnId) -> Option<KeyId> {
        let writes = |txn| self.index.writes_of(txn).map(|write| self.index.writes()[write].key);
        writes(left).find(|&key| writes(right).any(|other| other == key))
    }

    /// `T3 before T7`.
    pub fn order(&self, a: Node, b: Node) -> String {
        let (before, after) = (self.name(self.txn(a)), self.name(self.txn(b)));
        if self.level.core == Core::Serializable || a == Node::INITIAL {
            return format!("{before} before {after}");
        }
        let verb = |node| if self.is_begin(node) { "began" } else { "committed" };
        match self.is_begin(a) == self.is_begin(b) {
            true => format!("{before} {} before {after}", verb(a)),
            false => format!("{before} {} before {after} {}", verb(a), verb(b)),
        }
    }

    /// A literal as a clause of a sentence.
    pub fn say(&self, lit: Lit) -> String {
        let read_verb = if lit.negated { "cannot have read" } else { "read" };
        match lit.atom {
            Atom::Before(a, b) => self.order(a, b),
            Atom::In(txn) => format!(
                "{} {}",
                self.name(Some(txn)),
                if lit.negated { "did not commit" } else { "committed" }
            ),
            Atom::ReadFrom(op, source) => match self.read(op) {
                Some(read) => format!(
                    "{} {read_verb} {} from {}",
                    self.name(Some(read.txn)),
                    self.seen(read),
                    self.name(source_txn(source))
                ),
                None => "a read that the history does not have".into(),
            },
        }
    }
}

/// A read of one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Read {
    pub txn: TxnId,
    pub key: KeyId,
    pub value: ValueId,
}

pub(crate) fn source_txn(source: Source) -> Option<TxnId> {
    match source {
        Source::Initial => None,
        Source::Txn(txn) => Some(txn),
    }
}
