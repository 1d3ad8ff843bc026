//! The history itself: one column for each field.
//!
//! An operation takes 9 bytes (kind, key, value) and a transaction 9 (session, first operation, outcome); names, times
//! and versions have columns only where the input has them. A million transactions of twenty operations with small
//! integer values are 190 MB.

use std::ops::Range;

use crate::times::{unpack, unpack_txn};
use crate::{
    Clock, Datum, InitialState, KeyId, Keys, Note, Op, OpId, OpTimes, PredicateRead, PredicateWrite,
    RangeRead, SessionId, TxnId, TxnTimes, ValueId, Values,
};

/// What became of a transaction, as far as its client knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Outcome {
    /// The database said that it committed.
    Committed,
    /// It certainly did not take effect.
    Aborted,
    /// The client never heard: it may or may not have taken effect.
    Unknown,
}

/// A read of a value, a write or an insert, of one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterOp {
    /// Whether it writes or inserts.
    pub is_write: bool,
    /// The key.
    pub key: KeyId,
    /// What was read or written.
    pub value: ValueId,
}

/// The kind of an operation, in its column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum OpKind {
    Read,
    ReadUnknown,
    ReadList,
    ReadListUnknown,
    Write,
    Append,
    Insert,
    Delete,
    DeleteMarked,
    RangeRead,
    PredicateRead,
    PredicateWrite,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct OpColumns {
    pub kind: Vec<OpKind>,
    pub key: Vec<u32>,
    /// The value, or the row of the side table that the kind names.
    pub value: Vec<u32>,
    /// Operations that the database refused: they did not happen. Sorted.
    pub failed: Vec<OpId>,
    /// One row per operation, or empty.
    pub times: Vec<(i64, i64)>,
    /// One row per operation, or empty.
    pub version: Vec<i64>,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct TxnColumns {
    pub session: Vec<SessionId>,
    /// One more row than transactions: the end of the last one.
    pub first_op: Vec<u32>,
    pub outcome: Vec<Outcome>,
    /// One row per transaction, or empty.
    pub name: Vec<ValueId>,
    /// One row per transaction, or empty: what else the recording says of it.
    pub note: Vec<ValueId>,
    /// One row per transaction, or empty: the isolation level that it ran at.
    pub level: Vec<ValueId>,
    /// One row per transaction, or empty.
    pub times: Vec<[i64; 4]>,
    /// The place of each transaction in the input, or empty if the input has them session by session.
    pub recorded: Vec<u32>,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct SideTables {
    pub list_elements: Vec<ValueId>,
    /// One more row than lists.
    pub list_start: Vec<u32>,
    pub ranges: Vec<RangeRead>,
    pub predicate_reads: Vec<PredicateRead>,
    pub predicate_writes: Vec<PredicateWrite>,
    /// What the rows of answers and the keys of changes take.
    pub row_bytes: usize,
}

/// What clients observed.
#[derive(Clone, Debug)]
pub struct History {
    pub(crate) keys: Keys,
    pub(crate) values: Values,
    pub(crate) initial: InitialState,
    pub(crate) clock: Clock,
    pub(crate) notes: Vec<Note>,
    /// One more row than sessions: transactions of a session are consecutive.
    pub(crate) session_start: Vec<u32>,
    /// One row per session, or empty.
    pub(crate) session_names: Vec<ValueId>,
    pub(crate) txns: TxnColumns,
    pub(crate) ops: OpColumns,
    pub(crate) side: SideTables,
}

impl History {
    /// The keys.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The values that are not small integers.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The state before every transaction.
    pub fn initial(&self) -> &InitialState {
        &self.initial
    }

    /// What the times count.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// How many sessions there are.
    pub fn session_count(&self) -> usize {
        self.session_start.len() - 1
    }

    /// How many transactions there are, whatever became of them.
    pub fn txn_count(&self) -> usize {
        self.txns.session.len()
    }

    /// How many operations there are, those that failed included.
    pub fn op_count(&self) -> usize {
        self.ops.kind.len()
    }

    /// All sessions.
    pub fn sessions(&self) -> impl ExactSizeIterator<Item = SessionId> + use<> {
        (0..self.session_count() as u32).map(SessionId)
    }

    /// All transactions, session by session.
    pub fn txns(&self) -> impl ExactSizeIterator<Item = TxnId> + use<> {
        (0..self.txn_count() as u32).map(TxnId)
    }

    /// The transactions of a session, in session order.
    pub fn session_txns(
        &self,
        session: SessionId,
    ) -> impl DoubleEndedIterator<Item = TxnId> + ExactSizeIterator + use<> {
        (self.session_start[session.index()]..self.session_start[session.index() + 1]).map(TxnId)
    }

    /// The session of a transaction.
    #[inline]
    pub fn session_of(&self, txn: TxnId) -> SessionId {
        self.txns.session[txn.index()]
    }

    /// The place of a transaction in its session, from 0.
    #[inline]
    pub fn place_in_session(&self, txn: TxnId) -> usize {
        txn.index() - self.session_start[self.session_of(txn).index()] as usize
    }

    /// What became of a transaction.
    #[inline]
    pub fn outcome(&self, txn: TxnId) -> Outcome {
        self.txns.outcome[txn.index()]
    }

    /// The operations of a transaction, as a range of ids; those that failed are among them.
    #[inline]
    pub fn op_range(&self, txn: TxnId) -> Range<u32> {
        self.txns.first_op[txn.index()]..self.txns.first_op[txn.index() + 1]
    }

    /// The operations of a transaction that happened, in program order.
    #[inline]
    pub fn ops(&self, txn: TxnId) -> impl Iterator<Item = (OpId, Op<'_>)> {
        let any_failed = !self.ops.failed.is_empty();
        self.op_range(txn)
            .map(OpId)
            .filter(move |&op| !any_failed || !self.is_failed(op))
            .map(|op| (op, self.op(op)))
    }

    /// Whether an operation was refused by the database, so that it did not happen.
    pub fn is_failed(&self, op: OpId) -> bool {
        self.ops.failed.binary_search(&op).is_ok()
    }

    /// How many operations failed.
    pub fn failed_op_count(&self) -> usize {
        self.ops.failed.len()
    }

    /// The transaction of an operation.
    pub fn txn_of(&self, op: OpId) -> TxnId {
        TxnId::from_index(self.txns.first_op.partition_point(|&first| first <= op.0) - 1)
    }

    /// One operation.
    #[inline]
    pub fn op(&self, op: OpId) -> Op<'_> {
        let row = op.index();
        let key = KeyId(self.ops.key[row]);
        let value = ValueId(self.ops.value[row]);
        let place = value.0 as usize;
        match self.ops.kind[row] {
            OpKind::Read => Op::Read { key, value: Some(value) },
            OpKind::ReadUnknown => Op::Read { key, value: None },
            OpKind::ReadList => Op::ReadList { key, list: Some(self.side.list(place)) },
            OpKind::ReadListUnknown => Op::ReadList { key, list: None },
            OpKind::Write => Op::Write { key, value },
            OpKind::Append => Op::Append { key, value },
            OpKind::Insert => Op::Insert { key, value },
            OpKind::Delete => Op::Delete { key, tombstone: None },
            OpKind::DeleteMarked => Op::Delete { key, tombstone: Some(value) },
            OpKind::RangeRead => Op::RangeRead(&self.side.ranges[place]),
            OpKind::PredicateRead => Op::PredicateRead(&self.side.predicate_reads[place]),
            OpKind::PredicateWrite => Op::PredicateWrite(&self.side.predicate_writes[place]),
        }
    }

    /// The key of an operation on one key.
    #[inline]
    pub fn op_key(&self, op: OpId) -> Option<KeyId> {
        match self.ops.kind[op.index()] {
            OpKind::RangeRead | OpKind::PredicateRead | OpKind::PredicateWrite => None,
            _ => Some(KeyId(self.ops.key[op.index()])),
        }
    }

    /// An operation that reads a known value of one key, or gives it one. For inner loops, where [`History::op`] takes
    /// several times as long.
    #[inline]
    pub fn register_op(&self, op: OpId) -> Option<RegisterOp> {
        let row = op.index();
        let is_write = match self.ops.kind[row] {
            OpKind::Read => false,
            OpKind::Write | OpKind::Insert => true,
            _ => return None,
        };
        Some(RegisterOp { is_write, key: KeyId(self.ops.key[row]), value: ValueId(self.ops.value[row]) })
    }

    /// Brings the first and the last operation of a transaction into the cache. Called for several transactions before
    /// they are looked at, it waits for memory once instead of once for each.
    #[inline]
    pub fn fetch_ops(&self, txn: TxnId) {
        let ops = self.op_range(txn);
        if let Some(last) = ops.end.checked_sub(1).filter(|&last| ops.start <= last) {
            let (first, last) = (ops.start as usize, last as usize);
            let OpColumns { kind, key, value, .. } = &self.ops;
            std::hint::black_box((kind[first], key[first], value[first], key[last], value[last]));
        }
    }

    /// The times of an operation.
    pub fn op_times(&self, op: OpId) -> OpTimes {
        let (request, response) = self.ops.times.get(op.index()).copied().unwrap_or((i64::MIN, i64::MIN));
        OpTimes { request: unpack(request), response: unpack(response) }
    }

    /// The place of the version that an operation wrote or read in its key's version order, where the database told.
    #[inline]
    pub fn op_version(&self, op: OpId) -> Option<i64> {
        self.ops.version.get(op.index()).copied().and_then(unpack)
    }

    /// The times of a transaction.
    #[inline]
    pub fn times(&self, txn: TxnId) -> TxnTimes {
        self.txns.times.get(txn.index()).map_or_else(TxnTimes::default, |&times| unpack_txn(times))
    }

    /// Whether any transaction has times.
    pub fn has_times(&self) -> bool {
        !self.txns.times.is_empty()
    }

    /// Whether any operation has times.
    pub fn has_op_times(&self) -> bool {
        !self.ops.times.is_empty()
    }

    /// Whether any operation carries its version.
    pub fn has_versions(&self) -> bool {
        !self.ops.version.is_empty()
    }

    /// Whether anything is read or written by predicate.
    pub fn has_predicates(&self) -> bool {
        !self.side.predicate_reads.is_empty() || !self.side.predicate_writes.is_empty()
    }

    /// Whether any range is read.
    pub fn has_ranges(&self) -> bool {
        !self.side.ranges.is_empty()
    }

    /// Whether any operation, also one that failed, reads or appends to a list.
    pub fn has_lists(&self) -> bool {
        let is_of_list =
            |kind: &OpKind| matches!(kind, OpKind::ReadList | OpKind::ReadListUnknown | OpKind::Append);
        self.ops.kind.iter().any(is_of_list)
    }

    /// Whether any delete left a mark, or a read returned one: a mark may be there from the beginning.
    pub fn has_marks(&self) -> bool {
        let ranges = self.side.ranges.iter().map(|range| &range.rows);
        let answers = ranges.chain(self.side.predicate_reads.iter().map(|read| &read.rows));
        self.ops.kind.contains(&OpKind::DeleteMarked) || answers.flatten().flatten().any(|row| row.is_dead)
    }

    /// The name that the input gave to a transaction.
    pub fn txn_name(&self, txn: TxnId) -> Option<Datum> {
        let name = *self.txns.name.get(txn.index())?;
        (name != ValueId::NIL).then(|| self.values.original(name))
    }

    /// The place of a transaction in the input, if the input mixes sessions: recordings are mostly written in the order in
    /// which transactions ended. It is a hint, no more.
    #[inline]
    pub fn recorded_place(&self, txn: TxnId) -> Option<u32> {
        self.txns.recorded.get(txn.index()).copied()
    }

    /// What the input says of a transaction beside its operations, as it says it.
    pub fn txn_note(&self, txn: TxnId) -> Option<String> {
        let note = self.txns.note.get(txn.index()).filter(|&&note| note != ValueId::NIL)?;
        match self.values.original(*note) {
            Datum::Str(text) => Some(text.into()),
            other => Some(other.to_string()),
        }
    }

    /// Whether the input says more of a transaction than its operations.
    pub fn has_txn_notes(&self) -> bool {
        !self.txns.note.is_empty()
    }

    /// The name of the isolation level that a transaction ran at, as the input writes it.
    pub fn txn_level(&self, txn: TxnId) -> Option<String> {
        let level = self.txns.level.get(txn.index()).filter(|&&level| level != ValueId::NIL)?;
        match self.values.original(*level) {
            Datum::Str(name) => Some(name.into()),
            other => Some(other.to_string()),
        }
    }

    /// Whether the input says of any transaction which isolation level it ran at.
    pub fn has_levels(&self) -> bool {
        !self.txns.level.is_empty()
    }

    /// The names of the levels that transactions ran at, each once, and for each transaction the place of its own.
    pub fn level_table(&self) -> (Vec<String>, Vec<Option<u32>>) {
        let mut known: Vec<ValueId> = Vec::new();
        let mut place = |txn: TxnId| {
            let level = *self.txns.level.get(txn.index()).filter(|&&level| level != ValueId::NIL)?;
            let found = known.iter().position(|&other| other == level).unwrap_or_else(|| {
                known.push(level);
                known.len() - 1
            });
            Some((found as u32, txn))
        };
        let mut names = Vec::new();
        let places = self.txns().map(|txn| {
            let (place, txn) = place(txn)?;
            if place as usize == names.len() {
                names.extend(self.txn_level(txn));
            }
            Some(place)
        });
        let places = places.collect();
        (names, places)
    }

    /// Remarks about moments of the recording, in its order.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The name that the input gave to a session.
    pub fn session_name(&self, session: SessionId) -> Option<Datum> {
        let name = *self.session_names.get(session.index())?;
        (name != ValueId::NIL).then(|| self.values.original(name))
    }

    /// How to call a transaction when speaking to a person: its name if that is a word, else `T` and a number.
    ///
    /// The number is the one of the input, or else its place in the history counted from 1.
    pub fn txn_label(&self, txn: TxnId) -> String {
        match self.txn_name(txn) {
            Some(Datum::Int(number)) => format!("T{number}"),
            Some(name) => name.to_string(),
            None => format!("T{}", txn.0 + 1),
        }
    }

    /// How to call a session when speaking to a person.
    pub fn session_label(&self, session: SessionId) -> String {
        self.session_name(session).map_or_else(|| format!("{}", session.0 + 1), |name| name.to_string())
    }

    /// The bytes that the columns and tables hold on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.keys.heap_bytes()
            + self.values.heap_bytes()
            + bytes(&self.session_start)
            + self.txns.heap_bytes()
            + self.ops.heap_bytes()
            + self.side.heap_bytes()
    }
}

fn bytes<T>(column: &Vec<T>) -> usize {
    column.capacity() * size_of::<T>()
}

impl TxnColumns {
    pub fn heap_bytes(&self) -> usize {
        bytes(&self.session)
            + bytes(&self.first_op)
            + bytes(&self.outcome)
            + bytes(&self.name)
            + bytes(&self.recorded)
            + bytes(&self.note)
            + bytes(&self.level)
            + bytes(&self.times)
    }
}

impl OpColumns {
    pub fn heap_bytes(&self) -> usize {
        bytes(&self.kind)
            + bytes(&self.key)
            + bytes(&self.value)
            + bytes(&self.failed)
            + bytes(&self.times)
            + bytes(&self.version)
    }
}

impl SideTables {
    pub fn heap_bytes(&self) -> usize {
        bytes(&self.list_elements)
            + bytes(&self.list_start)
            + bytes(&self.ranges)
            + bytes(&self.predicate_reads)
            + bytes(&self.predicate_writes)
            + self.row_bytes
    }

    /// Counts what an answer takes beside its place in the table.
    pub fn count_rows<T>(&mut self, rows: Option<&Vec<T>>) {
        self.row_bytes += rows.map_or(0, bytes);
    }

    #[inline]
    fn list(&self, place: usize) -> &[ValueId] {
        &self.list_elements[self.list_start[place] as usize..self.list_start[place + 1] as usize]
    }
}
