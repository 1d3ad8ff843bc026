//! One client's transaction in the making.
//!
//! The order of calls is `begin`, `begun`, operations, `ending`, and one of `commit`, `abort` and `unknown`; `begun`
//! and `ending` may be left out, which makes the recorded intervals wider and stays sound.

use std::io;
use std::sync::Arc;

use formats::native_jsonl::{RecordedRow, TxnLine};
use history::{Bound, Change, Datum, OpTimes, Outcome, TxnTimes};

use crate::recorder::Shared;
use crate::slots::Slot;

/// Records what one client sees; for one thread.
pub struct SessionRecorder {
    shared: Arc<Shared>,
    number: u64,
    open: Option<Open>,
    records_op_times: bool,
    clock_offset_ns: i64,
    slot: Slot,
    level: Option<String>,
}

/// The transaction in progress.
struct Open {
    line: TxnLine,
    times: TxnTimes,
    asked: Option<i64>,
}

impl SessionRecorder {
    pub(crate) fn new(shared: Arc<Shared>, number: u64) -> Self {
        let slot = shared.slots.add();
        Self { shared, number, open: None, records_op_times: false, clock_offset_ns: 0, slot, level: None }
    }

    /// The number of the session in the recording.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the moments of single operations are recorded too; not at first, as lines grow by half.
    pub fn record_op_times(&mut self, records: bool) {
        self.records_op_times = records;
    }

    /// How far this client's clock is off, for the simulation of one that is; 0 at first.
    pub fn set_clock_offset_ns(&mut self, offset_ns: i64) {
        self.shared.slots.note_offset(offset_ns);
        self.clock_offset_ns = offset_ns;
    }

    /// The isolation level of the transactions that begin from now on.
    pub fn set_level(&mut self, level: &str) {
        self.level = Some(level.to_owned());
    }

    /// The client is about to ask the database to begin: the earliest moment of the transaction.
    ///
    /// A transaction that was not ended is taken down as unknown.
    pub fn begin(&mut self) {
        self.begin_as(None);
    }

    /// The same, with a name for the transaction.
    pub fn begin_named(&mut self, name: &Datum) {
        self.begin_as(Some(name));
    }

    fn begin_as(&mut self, name: Option<&Datum>) {
        self.give_up();
        self.slot.begin(self.shared.now_ns());
        let times = TxnTimes { begin_request: Some(self.now_ns()), ..TxnTimes::default() };
        self.open = Some(Open {
            line: TxnLine::at_level(self.number, name, self.level.as_deref()),
            times,
            asked: None,
        });
    }

    /// The database answered that the transaction has begun.
    pub fn begun(&mut self) {
        let now = self.now_ns();
        self.open().times.begin_response = Some(now);
    }

    /// The next operation is about to be sent; without this call an operation has no request time.
    pub fn ask(&mut self) {
        if self.records_op_times {
            let now = self.now_ns();
            self.open().asked = Some(now);
        }
    }

    /// Read one key; nil if it was absent.
    pub fn read(&mut self, key: &Datum, value: &Datum) {
        self.op(|line| line.read(key, value));
    }

    /// Asked for one key and never heard the answer.
    pub fn read_unknown(&mut self, key: &Datum) {
        self.op(|line| line.read_unknown(key));
    }

    /// Read a list, oldest element first.
    pub fn read_list(&mut self, key: &Datum, elements: &[Datum]) {
        self.op(|line| line.read_list(key, elements));
    }

    /// Write one key, also when the answer to the write never came.
    pub fn write(&mut self, key: &Datum, value: &Datum) {
        self.op(|line| line.write(key, value));
    }

    /// Append one element to a list.
    pub fn append(&mut self, key: &Datum, value: &Datum) {
        self.op(|line| line.append(key, value));
    }

    /// Insert a key.
    pub fn insert(&mut self, key: &Datum, value: &Datum) {
        self.op(|line| line.insert(key, value));
    }

    /// Delete a key, leaving a mark if the client leaves marks.
    pub fn delete(&mut self, key: &Datum, tombstone: Option<&Datum>) {
        self.op(|line| line.delete(key, tombstone));
    }

    /// Read the keys between two bounds; the rows are `None` if the answer never came.
    pub fn range(&mut self, from: &Bound, to: &Bound, rows: Option<&[RecordedRow]>) {
        self.op(|line| line.range_read(from, to, rows));
    }

    /// Read the rows that satisfy a predicate; they are `None` if the answer never came.
    pub fn predicate_read(&mut self, predicate: &Datum, rows: Option<&[RecordedRow]>) {
        self.op(|line| line.predicate_read(predicate, rows));
    }

    /// Change the rows that satisfy a predicate.
    pub fn predicate_write(&mut self, predicate: &Datum, change: &Change, row_count: Option<u64>) {
        self.op(|line| line.predicate_write(predicate, change, row_count));
    }

    /// The database said which rows the last operation, a predicate write, changed.
    ///
    /// # Panics
    /// If there was no operation.
    pub fn changed_keys(&mut self, keys: &[Datum]) {
        self.open().line.set_changed_keys(keys);
    }

    /// The read by predicate before the last operation, a predicate write, is what the same statement returned: the rows
    /// that it changed, as they were before.
    ///
    /// # Panics
    /// If there was no operation.
    pub fn returned_rows(&mut self) {
        self.open().line.set_returning();
    }

    /// The database refused the last operation, and the transaction goes on: it did not happen.
    ///
    /// # Panics
    /// If there was no operation.
    pub fn refused(&mut self) {
        self.open().line.mark_failed();
    }

    /// The client is about to ask the database to commit or to abort.
    pub fn ending(&mut self) {
        let now = self.now_ns();
        self.open().times.commit_request = Some(now);
    }

    /// The database said that the transaction committed.
    pub fn commit(&mut self) -> io::Result<()> {
        self.end(Outcome::Committed)
    }

    /// The transaction certainly took no effect: it was aborted by the client or by the database, or its commit was
    /// never sent.
    pub fn abort(&mut self) -> io::Result<()> {
        self.end(Outcome::Aborted)
    }

    /// The commit was sent and the answer never came: it may have taken effect, now or later.
    pub fn unknown(&mut self) -> io::Result<()> {
        self.end(Outcome::Unknown)
    }

    /// Whether a transaction is open.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn now_ns(&self) -> i64 {
        self.shared.now_ns() + self.clock_offset_ns
    }

    fn op(&mut self, write: impl FnOnce(&mut TxnLine)) {
        let response = self.records_op_times.then(|| self.now_ns());
        let open = self.open();
        write(&mut open.line);
        if response.is_some() {
            open.line.set_op_times(OpTimes { request: open.asked.take(), response });
        }
    }

    fn end(&mut self, outcome: Outcome) -> io::Result<()> {
        let now = self.now_ns();
        let Open { line, mut times, .. } = self.open.take().expect("begin comes before the end");
        // An unknown transaction may commit later than now.
        times.commit_response = (outcome != Outcome::Unknown).then_some(now);
        let appended = self.shared.append(&line.end(outcome, times), outcome);
        // A transaction that could not be recorded keeps its slot, so that no mark claims it.
        if appended.is_ok() {
            self.slot.clear();
        }
        appended.and_then(|()| self.shared.mark())
    }

    fn open(&mut self) -> &mut Open {
        self.open.as_mut().expect("begin comes before the operations")
    }

    fn give_up(&mut self) {
        if self.is_open() {
            // An error cannot be returned here; the next ordinary write will fail too.
            let _ = self.unknown();
        }
    }
}

/// A client that was stopped or that panicked leaves its open transaction as unknown, which is always sound.
impl Drop for SessionRecorder {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl std::fmt::Debug for SessionRecorder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("SessionRecorder").field("number", &self.number).finish_non_exhaustive()
    }
}
