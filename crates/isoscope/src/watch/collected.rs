//! All transactions of a recording so far, for questions that no window answers.

use std::collections::BTreeMap;

use history::{
    Bound, Builder, Datum, History, InitialDefault, KeyId, Op, OpId, OpTimes, PredicateRead, PredicateWrite,
    RangeRead, Row, SessionId, TxnId, ValueId,
};

/// A history in the making, copied transaction by transaction from others.
#[derive(Clone, Default)]
pub(crate) struct Collected {
    builder: Builder,
    sessions: BTreeMap<u64, SessionId>,
    /// When each transaction ended, if it did.
    ends: Vec<Option<i64>>,
}

impl Collected {
    pub fn len(&self) -> usize {
        self.builder.txn_count()
    }

    pub fn set_clock(&mut self, clock: history::Clock) {
        self.builder.clock = clock;
    }

    /// Takes all keys of a history, also those that nothing mentions: predicates and ranges speak of them.
    pub fn add_keys(&mut self, history: &History) {
        for (_, key) in history.keys().iter() {
            if self.builder.keys.get(key).is_none() {
                self.builder.keys.intern(key.clone());
            }
        }
    }

    pub fn set_initial(&mut self, history: &History) {
        self.add_keys(history);
        let initial = history.initial();
        self.builder.initial.default = match initial.default {
            InitialDefault::Value(value) => InitialDefault::Value(self.value(history, value)),
            InitialDefault::UnknownButOne => InitialDefault::UnknownButOne,
        };
        for &(key, value) in &initial.recorded {
            let pair = (self.key(history, key), self.value(history, value));
            self.builder.initial.recorded.push(pair);
        }
    }

    pub fn introduce(&mut self, session: u64, name: Option<Datum>) -> SessionId {
        let builder = &mut self.builder;
        *self.sessions.entry(session).or_insert_with(|| match name {
            Some(name) => builder.named_session(name),
            None => builder.session(),
        })
    }

    /// Copies a transaction; false if its times run backwards.
    pub fn push(&mut self, session: u64, name: Option<Datum>, history: &History, txn: TxnId) -> bool {
        let session = self.introduce(session, None);
        self.builder.begin(session);
        // Numbers of the recording stay when sessions are brought together.
        let number = Datum::Int(self.builder.txn_count() as i64 + 1);
        self.builder.name_txn(name.unwrap_or(number));
        let is_forward = self.builder.set_times(history.times(txn)).is_ok();
        for op in history.op_range(txn).map(OpId) {
            self.op(history, op);
        }
        self.builder.end(history.outcome(txn));
        self.ends.push(history.times(txn).end());
        is_forward
    }

    /// The history, in which what ended at the frontier or later may not have committed.
    pub fn history(&self, frontier: i64, skew: i64) -> History {
        let mut builder = self.builder.clone();
        if frontier < i64::MAX {
            let is_over = |end: Option<i64>| end.is_some_and(|end| end.saturating_add(skew) < frontier);
            let doubted = self.ends.iter().enumerate().filter(|(_, end)| !is_over(**end));
            doubted.for_each(|(row, _)| builder.doubt(row));
        }
        builder.finish()
    }

    fn key(&mut self, history: &History, key: KeyId) -> KeyId {
        self.builder.keys.intern(history.keys().original(key).clone())
    }

    fn value(&mut self, history: &History, value: ValueId) -> ValueId {
        match value.small_int() {
            Some(_) => value,
            None => self.builder.values.intern(history.values().original(value)),
        }
    }

    fn rows(&mut self, history: &History, rows: &[Row]) -> Vec<Row> {
        let copied = rows.iter();
        copied
            .map(|row| Row { key: self.key(history, row.key), value: self.value(history, row.value), ..*row })
            .collect()
    }

    fn op(&mut self, history: &History, id: OpId) {
        match history.op(id) {
            Op::Read { key, value } => {
                let key = self.key(history, key);
                match value {
                    Some(value) => {
                        let value = self.value(history, value);
                        self.builder.read(key, value)
                    }
                    None => self.builder.read_unknown(key),
                };
            }
            Op::ReadList { key, list } => {
                let key = self.key(history, key);
                match list {
                    Some(list) => {
                        let list: Vec<_> = list.iter().map(|&value| self.value(history, value)).collect();
                        self.builder.read_list(key, &list)
                    }
                    None => self.builder.read_list_unknown(key),
                };
            }
            Op::Write { key, value } | Op::Append { key, value } | Op::Insert { key, value } => {
                let (key, value) = (self.key(history, key), self.value(history, value));
                let _ = match history.op(id) {
                    Op::Append { .. } => self.builder.append(key, value),
                    Op::Insert { .. } => self.builder.insert(key, value),
                    _ => self.builder.write(key, value),
                };
            }
            Op::Delete { key, tombstone } => {
                let key = self.key(history, key);
                let tombstone = tombstone.map(|mark| self.value(history, mark));
                self.builder.delete(key, tombstone);
            }
            Op::RangeRead(range) => {
                let rows = range.rows.as_deref().map(|rows| self.rows(history, rows));
                let (from, to): (Bound, Bound) = (range.from.clone(), range.to.clone());
                self.builder.range_read(RangeRead { from, to, rows });
            }
            Op::PredicateRead(read) => {
                let rows = read.rows.as_deref().map(|rows| self.rows(history, rows));
                self.builder.predicate_read(PredicateRead { predicate: read.predicate.clone(), rows });
            }
            Op::PredicateWrite(write) => {
                let keys = write.keys.as_ref();
                let keys = keys.map(|keys| keys.iter().map(|&key| self.key(history, key)).collect());
                self.builder.predicate_write(PredicateWrite { keys, ..write.clone() });
            }
        }
        if history.is_failed(id) {
            self.builder.mark_failed();
        }
        if let Some(version) = history.op_version(id) {
            self.builder.set_op_version(version);
        }
        let times = history.op_times(id);
        if times != OpTimes::default() {
            // They were looked at when the history was built.
            let _ = self.builder.set_op_times(times);
        }
    }
}
