//! The words for the things that a certificate speaks of.
//!
//! With one event per transaction "T3 before T7" says all; with two, what began or committed before what.

use certify::{Atom, Core, Level, Lit, Node, ReadId, Source};
use history::{History, KeyId, Op, OpId, Outcome, TxnId, ValueId};
use index::{Index, Observed};

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
        match key.index() < self.history.keys().len() {
            true => self.history.keys().original(key).to_string(),
            false => "nothing".into(),
        }
    }

    pub fn value(&self, value: ValueId) -> String {
        self.history.values().original(value).to_string()
    }

    /// A read as a certificate names it: the transaction, the key and what it saw.
    pub fn read(&self, id: ReadId) -> Option<Read> {
        if id.op.index() >= self.history.op_count() {
            return None;
        }
        let txn = self.history.txn_of(id.op);
        if self.history.outcome(txn) == Outcome::Aborted {
            return None;
        }
        let reads = self.index.reads_of(txn).map(|read| self.index.reads()[read]);
        let is_it = |read: &index::ExternalRead| read.op == id.op && id.key.is_none_or(|key| key == read.key);
        let read = reads.into_iter().find(is_it)?;
        Some(Read { txn, key: read.key, observed: read.observed, op: id.op })
    }

    /// `read x = 1`, what a transaction did.
    pub fn saw(&self, read: Read) -> String {
        match read.observed {
            Observed::Absent => format!("found no row {}", self.key(read.key)),
            Observed::Mark(mark) => {
                format!("found {} deleted (mark {})", self.key(read.key), self.value(mark))
            }
            Observed::RowEffect(..) => format!("saw {}", self.seen(read)),
            Observed::Value(_) | Observed::Live(_) => format!("read {}", self.seen(read)),
        }
    }

    /// `x = 1`, as a transaction read it.
    pub fn seen(&self, read: Read) -> String {
        let key = self.key(read.key);
        if let Op::ReadList { list: Some(list), .. } = self.history.op(read.op) {
            return format!("{key} = {}", self.list(list));
        }
        match read.observed {
            Observed::Absent => format!("no row {key}"),
            Observed::Mark(mark) => format!("{key} deleted (mark {})", self.value(mark)),
            Observed::RowEffect(effect, alternative) => self.effect(read, effect, alternative),
            Observed::Value(value) | Observed::Live(value) => format!("{key} = {}", self.value(value)),
        }
    }

    /// What a transaction may have seen of a row that its predicates concern.
    fn effect(&self, read: Read, effect: u32, alternative: u32) -> String {
        let effects = self.index.effects();
        let seen = &effects.all()[effect as usize].alternatives[alternative as usize].seen;
        let mut seen: Vec<_> = seen.iter().map(|&content| effects.content(content)).collect();
        seen.sort_by_key(|content| (!content.is_dead, &content.datum));
        let key = self.key(read.key);
        let texts: Vec<String> = seen
            .iter()
            .map(|content| match content {
                content if content.is_dead => format!("no row {key}"),
                content if content.is_other => format!("{key} with a content that no read returned"),
                content => format!("{key} = {}", content.datum),
            })
            .collect();
        match texts.len() {
            0 => format!("{key} as it never was"),
            1..=3 => texts.join(" or "),
            count => format!("{} or one of {} other states of {key}", texts[..2].join(", "), count - 2),
        }
    }

    /// A list with at most the last few of its elements.
    pub fn list(&self, list: &[ValueId]) -> String {
        const SHOWN: usize = 5;
        let skipped = list.len().saturating_sub(SHOWN);
        let shown: Vec<String> = list[skipped..].iter().map(|&value| self.value(value)).collect();
        format!("[{}{}]", if skipped > 0 { "..., " } else { "" }, shown.join(", "))
    }

    /// `wrote x = 1 over it`, what a transaction did after another one had seen the key.
    pub fn overwrote(&self, txn: TxnId, key: KeyId) -> String {
        let mut writes = self.index.writes_of(txn);
        let Some(number) = writes.find(|&write| self.index.writes()[write].key == key) else {
            return format!("wrote {} over it", self.key(key));
        };
        let write = self.index.writes()[number];
        let key = self.key(key);
        let value = self.index.written(self.history, number).to_string();
        match self.history.op(write.op) {
            _ if write.is_dead => format!("deleted {key} after that"),
            Op::Insert { .. } => format!("inserted {key} = {value} after that"),
            Op::Append { .. } => format!("appended {value} to {key} after that"),
            _ => format!("wrote {key} = {value} over it"),
        }
    }

    /// The last element that a transaction appended to a list.
    pub fn appended(&self, txn: TxnId, key: KeyId) -> Option<ValueId> {
        let mut writes = self.index.writes_of(txn).map(|write| self.index.writes()[write]);
        writes.find(|write| write.key == key).map(|write| write.value)
    }

    /// The first key that both transactions write; one that both also read before tells more.
    pub fn key_of_both(&self, left: TxnId, right: TxnId) -> Option<KeyId> {
        let writes = |txn| self.index.writes_of(txn).map(|write| self.index.writes()[write].key);
        let has_read = |txn, key| self.index.reads_of(txn).any(|read| self.index.reads()[read].key == key);
        let both = || writes(left).filter(|&key| writes(right).any(|other| other == key));
        both().find(|&key| has_read(left, key) && has_read(right, key)).or_else(|| both().next())
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

    /// What a transaction did to a row in one of its alternatives.
    fn took(&self, txn: TxnId, key: KeyId, alternative: u32, negated: bool) -> String {
        let (name, effects) = (self.name(Some(txn)), self.index.effects());
        let effect = effects.find(txn, key).map(|effect| &effects.all()[effect]);
        let written = effect.and_then(|effect| effect.alternatives.get(alternative as usize)?.written);
        let key = self.key(key);
        let (did, did_not) = match written.map(|(content, _)| effects.content(content)) {
            None => (format!("left {key} as it was"), format!("changed {key}")),
            Some(content) if content.is_dead => (format!("deleted {key}"), format!("did not delete {key}")),
            Some(content) if content.is_other => {
                let changed = format!("{key} to a content that no read returned");
                (format!("changed {changed}"), format!("did not change {changed}"))
            }
            Some(content) => {
                let changed = format!("{key} to {}", content.datum);
                (format!("changed {changed}"), format!("did not change {changed}"))
            }
        };
        format!("{name} {}", if negated { did_not } else { did })
    }

    /// A literal as a clause of a sentence.
    pub fn say(&self, lit: Lit) -> String {
        match lit.atom {
            Atom::Before(a, b) => self.order(a, b),
            Atom::Took(txn, key, alternative) => self.took(txn, key, alternative, lit.negated),
            Atom::In(txn) => format!(
                "{} {}",
                self.name(Some(txn)),
                if lit.negated { "did not commit" } else { "committed" }
            ),
            Atom::ReadFrom(id, source) => match self.read(id) {
                Some(read) if !lit.negated => {
                    let writer = self.name(source_txn(source));
                    format!("{} {} from {writer}", self.name(Some(read.txn)), self.saw(read))
                }
                Some(read) => format!(
                    "{} cannot have read {} from {}",
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
    pub observed: Observed,
    pub op: OpId,
}

pub(crate) fn source_txn(source: Source) -> Option<TxnId> {
    match source {
        Source::Initial => None,
        Source::Txn(txn) => Some(txn),
    }
}
