//! Builds a history transaction by transaction.
//!
//! Transactions of different sessions may come interleaved; `finish` brings those of a session together with one
//! counting sort, and does nothing when they already are.

mod join;

pub use join::Joined;

use crate::model::{OpColumns, OpKind, SideTables, TxnColumns};
use crate::times::{NO_TIME, SessionClocks, pack};
use crate::{
    Backwards, Clock, Datum, History, InitialDefault, InitialState, KeyId, Keys, Note, Op, OpId, OpTimes,
    Outcome, PredicateRead, PredicateWrite, RangeRead, SessionId, TxnTimes, ValueId, Values,
};

/// Collects a history. Sessions are added first, then transactions with [`Builder::begin`], their operations, and
/// [`Builder::end`].
#[derive(Clone, Debug)]
pub struct Builder {
    /// Interns keys; readers use it directly.
    pub keys: Keys,
    /// Interns values; readers use it directly.
    pub values: Values,
    /// The state before every transaction.
    pub initial: InitialState,
    /// What the times count.
    pub clock: Clock,
    /// Remarks about moments of the recording.
    pub notes: Vec<Note>,
    session_names: Vec<ValueId>,
    session_count: u32,
    txns: TxnColumns,
    ops: OpColumns,
    side: SideTables,
    session_clocks: SessionClocks,
    is_open: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// An empty history whose keys are all absent at first.
    pub fn new() -> Self {
        Self {
            keys: Keys::default(),
            values: Values::default(),
            initial: InitialState::default(),
            clock: Clock::default(),
            notes: Vec::new(),
            session_names: Vec::new(),
            session_count: 0,
            txns: TxnColumns { first_op: vec![0], ..TxnColumns::default() },
            ops: OpColumns::default(),
            side: SideTables { list_start: vec![0], ..SideTables::default() },
            session_clocks: SessionClocks::default(),
            is_open: false,
        }
    }

    /// The same keys, values, initial state and sessions as a history, and no transaction: to rewrite it.
    pub fn like(history: &History) -> Self {
        let mut builder = Self::new();
        builder.keys = history.keys.clone();
        builder.values = history.values.clone();
        builder.initial = history.initial.clone();
        builder.clock = history.clock;
        builder.notes = history.notes.clone();
        builder.session_names = history.session_names.clone();
        builder.session_count = history.session_count() as u32;
        builder
    }

    /// An empty builder for what comes next in the same recording: the same sessions, which go on where they are, and
    /// the same initial value of all keys that have none of their own.
    pub fn next_part(&self) -> Self {
        let mut next = Self::new();
        next.clock = self.clock;
        next.session_count = self.session_count;
        let name = |&name: &ValueId| next.values.intern(self.values.original(name));
        next.session_names = self.session_names.iter().map(name).collect();
        next.session_clocks = self.session_clocks.clone();
        next.initial.default = match self.initial.default {
            InitialDefault::Value(value) => {
                InitialDefault::Value(next.values.intern(self.values.original(value)))
            }
            InitialDefault::UnknownButOne => InitialDefault::UnknownButOne,
        };
        next
    }

    /// Makes room for what the reader knows will come.
    pub fn reserve(&mut self, txns: usize, ops: usize) {
        self.txns.session.reserve(txns);
        self.txns.first_op.reserve(txns);
        self.txns.outcome.reserve(txns);
        self.ops.kind.reserve(ops);
        self.ops.key.reserve(ops);
        self.ops.value.reserve(ops);
    }

    /// A new session.
    pub fn session(&mut self) -> SessionId {
        self.session_count += 1;
        if !self.session_names.is_empty() {
            self.session_names.push(ValueId::NIL);
        }
        SessionId(self.session_count - 1)
    }

    /// A new session with the name that the input gives it.
    pub fn named_session(&mut self, name: Datum) -> SessionId {
        let session = self.session();
        let name = self.values.intern(name);
        self.session_names.resize(self.session_count as usize, ValueId::NIL);
        self.session_names[session.index()] = name;
        session
    }

    /// How many sessions there are so far.
    pub fn session_count(&self) -> usize {
        self.session_count as usize
    }

    /// How many transactions were ended so far.
    pub fn txn_count(&self) -> usize {
        self.txns.outcome.len()
    }

    /// The session of a transaction, by its place in the input.
    pub fn session_of_row(&self, row: usize) -> SessionId {
        self.txns.session[row]
    }

    /// How many operations there are so far.
    pub fn op_count(&self) -> usize {
        self.ops.kind.len()
    }

    /// The bytes that the columns and tables hold on the heap so far.
    pub fn heap_bytes(&self) -> usize {
        self.keys.heap_bytes()
            + self.values.heap_bytes()
            + self.txns.heap_bytes()
            + self.ops.heap_bytes()
            + self.side.heap_bytes()
    }

    /// Opens a transaction; the operations that follow are its own until [`Builder::end`].
    pub fn begin(&mut self, session: SessionId) {
        assert!(!self.is_open, "a transaction is open already");
        assert!(session.0 < self.session_count, "no such session");
        self.is_open = true;
        self.txns.session.push(session);
    }

    /// Says at which isolation level the open transaction runs.
    pub fn set_level(&mut self, level: &str) {
        let level = self.values.intern(Datum::str(level));
        let row = self.open_row();
        self.txns.level.resize(row + 1, ValueId::NIL);
        self.txns.level[row] = level;
    }

    /// Names the open transaction.
    pub fn name_txn(&mut self, name: Datum) {
        let name = self.values.intern(name);
        let row = self.open_row();
        self.txns.name.resize(row + 1, ValueId::NIL);
        self.txns.name[row] = name;
    }

    /// Names a transaction that was ended, by its place in the input.
    pub fn name_row(&mut self, row: usize, name: Datum) {
        let name = self.values.intern(name);
        let length = self.txns.name.len().max(row + 1);
        self.txns.name.resize(length, ValueId::NIL);
        self.txns.name[row] = name;
    }

    /// Keeps what the recording says of the open transaction beside its operations, such as the node that it ran on.
    pub fn note_txn(&mut self, note: &str) {
        let note = self.values.intern(Datum::str(note));
        let row = self.open_row();
        self.txns.note.resize(row + 1, ValueId::NIL);
        self.txns.note[row] = note;
    }

    /// Gives the open transaction its times, unless they run backwards or begin before the transaction before it in
    /// its session ended: then the history is not one that a client can have recorded.
    pub fn set_times(&mut self, times: TxnTimes) -> Result<(), Backwards> {
        if times.is_empty() {
            return Ok(());
        }
        let row = self.open_row();
        let mut clocks = std::mem::take(&mut self.session_clocks);
        let advanced = clocks.advance(self.txns.session[row].index(), &times, || self.label(row));
        self.session_clocks = clocks;
        advanced?;
        self.txns.times.resize(row + 1, [NO_TIME; 4]);
        self.txns.times[row] = [
            pack(times.begin_request),
            pack(times.begin_response),
            pack(times.commit_request),
            pack(times.commit_response),
        ];
        Ok(())
    }

    /// Leaves out the times of all transactions, for inputs whose times turn out to say nothing.
    pub fn forget_times(&mut self) {
        self.txns.times.clear();
        self.session_clocks = SessionClocks::default();
    }

    /// What to call a transaction of which only its place in the input is known.
    fn label(&self, row: usize) -> String {
        match self.txns.name.get(row).map(|&name| self.values.original(name)) {
            Some(Datum::Int(number)) => format!("T{number}"),
            None | Some(Datum::Nil) => format!("transaction {} of the input", row + 1),
            Some(name) => name.to_string(),
        }
    }

    /// Closes the open transaction.
    pub fn end(&mut self, outcome: Outcome) {
        assert!(self.is_open, "no transaction is open");
        self.is_open = false;
        self.txns.outcome.push(outcome);
        self.txns.first_op.push(u32::try_from(self.ops.kind.len()).expect("fewer than 2^32 operations"));
    }

    /// For a recording that broke off: each session may have had a transaction in progress that is not recorded, and
    /// committed ones may have seen it. Those that ended after the last recorded moment of some session become unknown;
    /// no earlier one can have seen what such a transaction committed. Gives back how many.
    pub fn doubt_the_end(&mut self) -> usize {
        const COMMIT_RESPONSE: usize = 3;
        let mut last = vec![NO_TIME; self.session_count as usize];
        for (session, times) in self.txns.session.iter().zip(&self.txns.times) {
            let place = session.0 as usize;
            last[place] = times.iter().copied().fold(last[place], i64::max);
        }
        let horizon = last.into_iter().min().unwrap_or(NO_TIME);
        self.txns.times.resize(self.txns.outcome.len(), [NO_TIME; 4]);
        let mut doubted = 0;
        for (outcome, times) in self.txns.outcome.iter_mut().zip(&mut self.txns.times) {
            let end = times[COMMIT_RESPONSE];
            if *outcome == Outcome::Committed && (end == NO_TIME || end > horizon) {
                *outcome = Outcome::Unknown;
                times[COMMIT_RESPONSE] = NO_TIME;
                doubted += 1;
            }
        }
        doubted
    }

    /// The outcome of a transaction, by its place in the input, is not known after all, if it was said to have committed.
    pub fn doubt(&mut self, row: usize) {
        const COMMIT_RESPONSE: usize = 3;
        if self.txns.outcome[row] == Outcome::Committed {
            self.txns.outcome[row] = Outcome::Unknown;
            if let Some(times) = self.txns.times.get_mut(row) {
                times[COMMIT_RESPONSE] = NO_TIME;
            }
        }
    }

    /// Adds a read of a key.
    #[inline]
    pub fn read(&mut self, key: KeyId, value: ValueId) -> OpId {
        self.push(OpKind::Read, key, value.0)
    }

    /// Adds a write of a key.
    #[inline]
    pub fn write(&mut self, key: KeyId, value: ValueId) -> OpId {
        self.push(OpKind::Write, key, value.0)
    }

    /// Adds a read whose answer the client never got.
    pub fn read_unknown(&mut self, key: KeyId) -> OpId {
        self.push(OpKind::ReadUnknown, key, 0)
    }

    /// Adds a read of a list.
    pub fn read_list(&mut self, key: KeyId, list: &[ValueId]) -> OpId {
        self.side.list_elements.extend_from_slice(list);
        self.side
            .list_start
            .push(u32::try_from(self.side.list_elements.len()).expect("fewer than 2^32 elements"));
        self.push(OpKind::ReadList, key, (self.side.list_start.len() - 2) as u32)
    }

    /// Adds a read of a list whose answer the client never got.
    pub fn read_list_unknown(&mut self, key: KeyId) -> OpId {
        self.push(OpKind::ReadListUnknown, key, 0)
    }

    /// Adds an append to a list.
    pub fn append(&mut self, key: KeyId, value: ValueId) -> OpId {
        self.push(OpKind::Append, key, value.0)
    }

    /// Adds an insert of a key.
    pub fn insert(&mut self, key: KeyId, value: ValueId) -> OpId {
        self.push(OpKind::Insert, key, value.0)
    }

    /// Adds a delete of a key.
    pub fn delete(&mut self, key: KeyId, tombstone: Option<ValueId>) -> OpId {
        match tombstone {
            None => self.push(OpKind::Delete, key, 0),
            Some(mark) => self.push(OpKind::DeleteMarked, key, mark.0),
        }
    }

    /// Adds a read of a range of keys.
    pub fn range_read(&mut self, range: RangeRead) -> OpId {
        self.side.count_rows(range.rows.as_ref());
        self.side.ranges.push(range);
        self.push(OpKind::RangeRead, KeyId(0), (self.side.ranges.len() - 1) as u32)
    }

    /// Adds a read by predicate.
    pub fn predicate_read(&mut self, read: PredicateRead) -> OpId {
        self.side.count_rows(read.rows.as_ref());
        self.side.predicate_reads.push(read);
        self.push(OpKind::PredicateRead, KeyId(0), (self.side.predicate_reads.len() - 1) as u32)
    }

    /// Adds a write by predicate.
    pub fn predicate_write(&mut self, write: PredicateWrite) -> OpId {
        self.side.count_rows(write.keys.as_ref());
        self.side.predicate_writes.push(write);
        self.push(OpKind::PredicateWrite, KeyId(0), (self.side.predicate_writes.len() - 1) as u32)
    }

    /// Adds an operation whose ids are already those of this builder, as when a history is rewritten.
    pub fn op(&mut self, op: Op<'_>) -> OpId {
        match op {
            Op::Read { key, value: Some(value) } => self.read(key, value),
            Op::Read { key, value: None } => self.read_unknown(key),
            Op::ReadList { key, list: Some(list) } => self.read_list(key, list),
            Op::ReadList { key, list: None } => self.read_list_unknown(key),
            Op::Write { key, value } => self.write(key, value),
            Op::Append { key, value } => self.append(key, value),
            Op::Insert { key, value } => self.insert(key, value),
            Op::Delete { key, tombstone } => self.delete(key, tombstone),
            Op::RangeRead(range) => self.range_read(range.clone()),
            Op::PredicateRead(read) => self.predicate_read(read.clone()),
            Op::PredicateWrite(write) => self.predicate_write(write.clone()),
        }
    }

    /// Replaces the value of a plain read or write that was added before.
    ///
    /// # Panics
    /// If the operation is of another kind, whose value is no [`ValueId`].
    pub fn replace_value(&mut self, op: OpId, value: ValueId) {
        let kind = self.ops.kind[op.index()];
        assert!(
            matches!(kind, OpKind::Read | OpKind::Write),
            "only plain reads and writes have their value replaced"
        );
        self.ops.value[op.index()] = value.0;
    }

    /// Takes a read that found nothing, or whose answer is unknown, as a read of a list: of an empty one, or of an
    /// unknown one. For formats that write both alike, so that a reader learns only later what the key holds.
    ///
    /// # Panics
    /// If it is another operation.
    pub fn make_list_read(&mut self, op: OpId) {
        let row = op.index();
        match (self.ops.kind[row], ValueId(self.ops.value[row])) {
            (OpKind::Read, ValueId::NIL) => {
                let elements =
                    u32::try_from(self.side.list_elements.len()).expect("fewer than 2^32 elements");
                self.side.list_start.push(elements);
                self.ops.value[row] = (self.side.list_start.len() - 2) as u32;
                self.ops.kind[row] = OpKind::ReadList;
            }
            (OpKind::ReadUnknown, _) => self.ops.kind[row] = OpKind::ReadListUnknown,
            _ => panic!("not a read that found nothing"),
        }
    }

    /// Marks the last operation as refused by the database: it did not happen.
    pub fn mark_failed(&mut self) {
        self.ops.failed.push(self.last_op());
    }

    /// Gives the last operation its times, unless its response is before its request.
    pub fn set_op_times(&mut self, times: OpTimes) -> Result<(), Backwards> {
        times.check(|| self.label(self.txns.outcome.len()))?;
        let op = self.last_op().index();
        self.ops.times.resize(op + 1, (NO_TIME, NO_TIME));
        self.ops.times[op] = (pack(times.request), pack(times.response));
        Ok(())
    }

    /// Gives the last operation the place of its version in its key's version order.
    pub fn set_op_version(&mut self, version: i64) {
        let op = self.last_op().index();
        self.ops.version.resize(op + 1, NO_TIME);
        self.ops.version[op] = version;
    }

    /// The history.
    pub fn finish(mut self) -> History {
        assert!(!self.is_open, "the last transaction was not ended");
        self.pad_optional_columns();
        let is_grouped = self.txns.session.is_sorted();
        if !is_grouped {
            self.group_by_session();
        }
        let mut session_start = vec![0u32; self.session_count as usize + 1];
        for session in &self.txns.session {
            session_start[session.index() + 1] += 1;
        }
        for session in 0..self.session_count as usize {
            session_start[session + 1] += session_start[session];
        }
        self.initial.recorded.sort_by_key(|&(key, _)| key);
        self.initial.recorded.dedup_by_key(|&mut (key, _)| key);
        History {
            keys: self.keys,
            values: self.values,
            initial: self.initial,
            clock: self.clock,
            notes: self.notes,
            session_start,
            session_names: self.session_names,
            txns: self.txns,
            ops: self.ops,
            side: self.side,
        }
    }

    #[inline]
    fn push(&mut self, kind: OpKind, key: KeyId, value: u32) -> OpId {
        debug_assert!(self.is_open, "an operation outside a transaction");
        self.ops.kind.push(kind);
        self.ops.key.push(key.0);
        self.ops.value.push(value);
        OpId((self.ops.kind.len() - 1) as u32)
    }

    fn open_row(&self) -> usize {
        assert!(self.is_open, "no transaction is open");
        self.txns.session.len() - 1
    }

    fn last_op(&self) -> OpId {
        assert!(!self.ops.kind.is_empty(), "no operation yet");
        OpId((self.ops.kind.len() - 1) as u32)
    }

    fn pad_optional_columns(&mut self) {
        fn pad<T: Clone>(column: &mut Vec<T>, rows: usize, filler: T) {
            if !column.is_empty() {
                column.resize(rows, filler);
            }
        }
        let (txns, ops) = (self.txns.session.len(), self.ops.kind.len());
        pad(&mut self.txns.name, txns, ValueId::NIL);
        pad(&mut self.txns.note, txns, ValueId::NIL);
        pad(&mut self.txns.level, txns, ValueId::NIL);
        pad(&mut self.txns.times, txns, [NO_TIME; 4]);
        pad(&mut self.ops.times, ops, (NO_TIME, NO_TIME));
        pad(&mut self.ops.version, ops, NO_TIME);
        // Without names of its own, a transaction is called by its number in the input, which grouping would lose.
        if self.txns.name.is_empty() && !self.txns.session.is_sorted() {
            self.txns.name = (1..=txns as i64).map(|number| self.values.intern_int(number)).collect();
        }
    }

    fn group_by_session(&mut self) {
        let mut rows: Vec<u32> = (0..self.txns.session.len() as u32).collect();
        rows.sort_by_key(|&row| self.txns.session[row as usize]);
        let first_op = std::mem::take(&mut self.txns.first_op);
        let mut op_rows: Vec<u32> = Vec::with_capacity(self.ops.kind.len());
        self.txns.first_op = Vec::with_capacity(first_op.len());
        self.txns.first_op.push(0);
        for &row in &rows {
            op_rows.extend(first_op[row as usize]..first_op[row as usize + 1]);
            self.txns.first_op.push(op_rows.len() as u32);
        }
        permute(&mut self.txns.session, &rows);
        permute(&mut self.txns.outcome, &rows);
        permute(&mut self.txns.name, &rows);
        permute(&mut self.txns.note, &rows);
        permute(&mut self.txns.level, &rows);
        permute(&mut self.txns.times, &rows);
        permute(&mut self.ops.kind, &op_rows);
        permute(&mut self.ops.key, &op_rows);
        permute(&mut self.ops.value, &op_rows);
        permute(&mut self.ops.times, &op_rows);
        permute(&mut self.ops.version, &op_rows);
        self.move_failed(&op_rows);
        self.txns.recorded = rows;
    }

    fn move_failed(&mut self, op_rows: &[u32]) {
        if self.ops.failed.is_empty() {
            return;
        }
        let old = std::mem::take(&mut self.ops.failed);
        let moved = op_rows.iter().enumerate().filter(|&(_, &row)| old.binary_search(&OpId(row)).is_ok());
        self.ops.failed = moved.map(|(place, _)| OpId::from_index(place)).collect();
    }
}

/// Reorders a column; an absent (empty) one remains empty.
fn permute<T: Copy>(column: &mut Vec<T>, rows: &[u32]) {
    if !column.is_empty() {
        *column = rows.iter().map(|&row| column[row as usize]).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_sessions_come_out_grouped() {
        let mut builder = Builder::new();
        let (a, b) = (builder.session(), builder.session());
        let x = builder.keys.intern("x".into());
        for (session, value) in [(a, 1), (b, 2), (a, 3), (b, 4)] {
            builder.begin(session);
            builder.set_times(TxnTimes::span(value, None)).unwrap();
            let value = builder.values.intern_int(value);
            builder.write(x, value);
            if value == ValueId(3) {
                builder.mark_failed();
            }
            builder.end(Outcome::Committed);
        }
        let history = builder.finish();
        let written: Vec<_> = (0..4).map(|op| history.op(OpId(op))).collect();
        assert_eq!(written, [1, 3, 2, 4].map(|value| Op::Write { key: x, value: ValueId(value) }));
        assert!(history.is_failed(OpId(1)) && history.failed_op_count() == 1);
        let labels: Vec<_> = history.txns().map(|txn| history.txn_label(txn)).collect();
        assert_eq!(labels, ["T1", "T3", "T2", "T4"]);
        let places: Vec<_> = history.txns().map(|txn| history.recorded_place(txn)).collect();
        assert_eq!(places, [Some(0), Some(2), Some(1), Some(3)]);
        assert_eq!(history.times(crate::TxnId(1)).start(), Some(3));
        assert_eq!(history.session_txns(b).map(|txn| txn.0).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(history.txn_of(OpId(2)), crate::TxnId(2));
    }

    #[test]
    fn an_empty_history_is_a_history() {
        let history = Builder::new().finish();
        assert_eq!((history.session_count(), history.txn_count(), history.op_count()), (0, 0, 0));
    }
}
