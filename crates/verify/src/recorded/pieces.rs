//! The run by times over a recording that comes in pieces, so that it need not be held whole.
//!
//! A recording is written in the order in which transactions end, so a transaction that is open at some moment ends soon
//! after it. The run stays one piece behind what was read: the events of a transaction then open at their times, unless
//! the transaction took longer than a whole piece, which opens late. That may cost the explanation, never its truth: the
//! checker replays the order. A transaction that ended before the moment that the run has come to shows that the
//! recording is not in the order of ends, and the run gives up.
//!
//! A transaction takes 17 bytes until the end (25 with two events), and its operations while it is open. Values must be
//! small integers or nil, and there are only reads and writes of single keys.

use std::cell::Cell;
use std::collections::VecDeque;

use certify::{Certificate, Level};
use history::{KeyId, Op, Outcome, Piece, TxnId, ValueId};

use super::Moments;
use super::access::{Expected, Read, Slot, Txns, Write};
use super::run::{NONE, Run};

/// So many pieces are held: a transaction that takes longer than all of them ends the run.
const MOST_PIECES: usize = 16;

/// Looks for an order that explains a recording, piece by piece.
pub struct RecordedRun {
    run: Run<Pieces>,
    events_per_txn: u32,
    /// Events whose beginnings and ends the run has not come to.
    ahead: Moments,
    /// The latest end that was read.
    latest: i64,
    /// The moment that the run has come to.
    reached: i64,
    /// The last transaction of each session that committed, and the last time of the session.
    last_committed: Vec<u32>,
    last_time: Vec<i64>,
}

impl RecordedRun {
    /// A run for a level.
    pub fn new(level: &Level) -> Self {
        let events_per_txn = level.events_per_txn();
        Self {
            run: Run::new(Pieces::default(), events_per_txn),
            events_per_txn,
            ahead: Moments::default(),
            latest: i64::MIN,
            reached: i64::MIN,
            last_committed: Vec::new(),
            last_time: Vec::new(),
        }
    }

    /// Takes the next piece; false if the run has no explanation, or does not know such pieces.
    #[must_use]
    pub fn take(&mut self, piece: Piece) -> bool {
        let until = self.latest;
        self.add(piece) && self.run_until(until) && {
            self.forget();
            self.run.txns.is_known.get() && self.run.txns.pieces.len() <= MOST_PIECES
        }
    }

    /// The order, after the last piece.
    #[must_use]
    pub fn finish(mut self) -> Option<Certificate> {
        (self.run_until(i64::MAX) && self.run.txns.is_known.get()).then(|| self.run.finish())
    }

    /// Notes the keys and transactions of a piece. False if a session or the recording does not run forwards.
    fn add(&mut self, piece: Piece) -> bool {
        let history = &piece.history;
        if !history.has_times() || history.has_ranges() || history.has_predicates() || history.has_lists() {
            return false;
        }
        for (local, key) in piece.keys.iter().enumerate() {
            if key.index() == self.run.key_count() {
                self.run.add_key(history.initial().value_of(KeyId::from_index(local)));
            }
        }
        let (mut number, mut is_in_order) = (piece.first, true);
        for &txn in &piece.lines {
            is_in_order &= self.add_txn(&piece, txn, TxnId(number));
            number += 1;
        }
        self.run.txns.pieces.push_back(piece);
        is_in_order
    }

    fn add_txn(&mut self, piece: &Piece, local: TxnId, txn: TxnId) -> bool {
        const LONGEST_TXN: usize = 256;
        let (history, session) = (&piece.history, piece.session_of(local).index());
        if session >= self.last_committed.len() {
            self.last_committed.resize(session + 1, NONE);
            self.last_time.resize(session + 1, i64::MIN);
        }
        let operations = history.op_range(local).len();
        self.run.add_txn(self.last_committed[session], operations);
        let (times, outcome) = (history.times(local), history.outcome(local));
        let first = times.recorded().next().map_or(i64::MIN, |moment| moment.time);
        let last = times.recorded().last().map_or(first, |moment| moment.time);
        let is_forwards = self.last_time[session] <= first && operations <= LONGEST_TXN;
        self.last_time[session] = last;
        match outcome {
            Outcome::Aborted => return is_forwards,
            Outcome::Unknown => self.run.txns.unknown.push(txn),
            Outcome::Committed => self.last_committed[session] = txn.0,
        }
        let closes_before = self.ahead.closes.len();
        self.ahead.add(&times, outcome, txn, self.events_per_txn);
        let Some(&(end, _)) = self.ahead.closes.get(closes_before..).and_then(<[_]>::last) else {
            return is_forwards;
        };
        self.latest = self.latest.max(if end == i64::MAX { self.latest } else { end });
        is_forwards && end >= self.reached
    }

    /// Opens and closes the events up to a moment.
    fn run_until(&mut self, until: i64) -> bool {
        let Moments { opens, closes } = &mut self.ahead;
        opens.sort_by_key(|&(time, _)| time);
        closes.sort_by_key(|&(time, _)| time);
        let due = closes.partition_point(|&(end, _)| end < until || until == i64::MAX);
        let mut opened = 0;
        for &(end, closing) in &closes[..due] {
            while let Some(&(_, opening)) = opens.get(opened).filter(|&&(start, _)| start < end) {
                self.run.open(opening);
                opened += 1;
            }
            if !self.run.close(closing) {
                return false;
            }
        }
        opens.drain(..opened);
        closes.drain(..due);
        self.reached = self.reached.max(until);
        true
    }

    /// Forgets the pieces all of whose events have run.
    fn forget(&mut self) {
        while let Some(piece) = self.run.txns.pieces.front() {
            let is_over = |(place, &local): (usize, &TxnId)| match piece.history.outcome(local) {
                Outcome::Aborted => true,
                outcome => {
                    let txn = TxnId(piece.first + place as u32);
                    self.run.is_over(txn, outcome == Outcome::Unknown)
                }
            };
            if !piece.lines.iter().enumerate().all(is_over) {
                return;
            }
            self.run.txns.pieces.pop_front();
        }
    }
}

/// The transactions that are not forgotten.
struct Pieces {
    pieces: VecDeque<Piece>,
    unknown: Vec<TxnId>,
    /// False once an operation or a value was seen that pieces cannot be compared by.
    is_known: Cell<bool>,
}

impl Default for Pieces {
    fn default() -> Self {
        Self { pieces: VecDeque::new(), unknown: Vec::new(), is_known: Cell::new(true) }
    }
}

impl Txns for Pieces {
    const FORGETS: bool = true;

    fn decode(&self, txn: TxnId, reads: bool, writes: bool, slot: &mut Slot) {
        slot.reads.clear();
        slot.writes.clear();
        let found = self.pieces.iter().find_map(|piece| Some((piece, piece.local(txn.0)?)));
        let Some((piece, local)) = found else {
            self.is_known.set(false);
            return;
        };
        for (_, op) in piece.history.ops(local) {
            self.decode_op(piece, &op, reads, slot);
        }
        slot.is_read_only = slot.writes.is_empty();
        if !writes {
            slot.writes.clear();
        }
    }

    // A piece is small enough for the cache.
    fn fetch(&self, _: TxnId) {}

    fn each_key(&self, _: TxnId, _: impl FnMut(KeyId)) {}

    fn unknown(&self) -> Vec<TxnId> {
        self.unknown.clone()
    }
}

impl Pieces {
    fn decode_op(&self, piece: &Piece, op: &Op<'_>, reads: bool, slot: &mut Slot) {
        match (Write::of(op), op) {
            (Some(write), _) if Piece::is_comparable(ValueId(write.value)) && !write.is_append => {
                slot.writes.push(Write { key: piece.key(write.key), ..write });
            }
            (None, &Op::Read { key, value: Some(value) }) if Piece::is_comparable(value) => {
                let key = piece.key(key);
                if reads && !slot.writes.iter().any(|write| write.key == key) {
                    slot.reads.push(Read { key, expected: Expected { value: value.0, length: NONE } });
                }
            }
            (None, Op::Read { value: None, .. }) => {}
            _ => self.is_known.set(false),
        }
    }
}
