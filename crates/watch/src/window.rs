//! The transactions that still matter, as an ordinary small history.
//!
//! A transaction that ended after the frontier may have read from one that is not recorded yet, so until the frontier
//! passes it only its writes count. Keys are numbered anew in every small history: what an engine pays for a key is paid
//! for those of the window alone.

use std::fmt;

use certify::Level;
use history::{
    Builder, Clock, Datum, History, InitialDefault, InitialState, KeyId, Op, Outcome, TxnId, TxnTimes,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::events::Events;
use crate::frontier::Frontier;
use crate::row::{Kind, Operation, Row};
use crate::state::State;

/// The transactions of a recording that still matter at one level.
#[derive(Clone, Debug)]
pub struct Window {
    pub(crate) events: Events,
    pub(crate) rows: Vec<Row>,
    /// Single writes of transactions of unknown outcome that were taken apart.
    pub(crate) optional: Vec<Row>,
    pub(crate) state: State,
    /// How far the recording is complete.
    pub frontier: Frontier,
    clock: Clock,
    sessions: FxHashMap<u64, u32>,
    session_names: Vec<Option<Datum>>,
    /// The last recorded time of each session.
    last_times: Vec<i64>,
    pub(crate) seen: u64,
    pub(crate) loosened: u64,
    /// Keys that no recording has, by which orders are kept.
    pub(crate) order_keys: FxHashSet<u32>,
    pub(crate) free_order_keys: Vec<u32>,
    /// How many transactions may come after one of unknown outcome until it is taken apart; a window of half as many
    /// forgets nothing that `holds` would be less than exact without.
    pub patience: u64,
    /// The place of each key in the history that is being built, or `NOWHERE`.
    places: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

/// What a call of [`Window::settle`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Settled {
    /// Transactions that were forgotten.
    pub forgotten: u64,
    /// Transactions that stay.
    pub kept: u64,
    /// Whether not all transactions were looked at that may be settled, since they were too many for once.
    pub is_partial: bool,
}

/// Why a window cannot take a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// Its operations are not reads and writes of single keys, or the history has initial values that are not known.
    Kind(&'static str),
    /// It has no begin.
    NoTimes,
    /// It began before the moment before which everything is recorded.
    Late {
        /// When it began.
        begin: i64,
        /// The frontier.
        frontier: i64,
    },
    /// Its window could not be decided.
    Undecided(String),
    /// The level that is followed in its place is violated.
    Violated(&'static str),
    /// It began before the transaction before it in its session ended.
    Backwards {
        /// When it began.
        begin: i64,
        /// The last time of its session.
        last: i64,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(what) => write!(out, "a window does not decide {what}"),
            Self::Undecided(reason) => write!(out, "a window is undecided: {reason}"),
            Self::Violated(level) => write!(out, "{level} is violated"),
            Self::NoTimes => out.write_str("a transaction without times has no place in a window"),
            Self::Late { begin, frontier } => {
                write!(out, "it began at {begin}, and the recording is said to be complete before {frontier}")
            }
            Self::Backwards { begin, last } => {
                write!(
                    out,
                    "it began at {begin}, and the transaction before it in its session ended at {last}"
                )
            }
        }
    }
}

impl std::error::Error for Refused {}

/// A small history that was built from a window.
#[derive(Clone, Debug)]
pub struct Built {
    /// The history.
    pub history: History,
    /// For each transaction its row; rows that come from elsewhere have none.
    pub(crate) rows: Vec<Option<u32>>,
    /// For each transaction whether its reads count.
    pub(crate) is_complete: Vec<bool>,
    /// For each key of the history its number in the window.
    pub(crate) keys: Vec<u32>,
    /// The least moment at which a transaction that is incomplete, or not recorded yet, can have begun.
    pub(crate) border: Option<i64>,
    /// For each optional row that is part of the history its transaction.
    pub(crate) optional: Vec<(usize, TxnId)>,
}

impl Window {
    /// An empty window; `None` for a level whose transactions never settle.
    pub fn new(level: &Level) -> Option<Self> {
        Some(Self {
            events: Events::of(level)?,
            rows: Vec::new(),
            optional: Vec::new(),
            state: State::default(),
            frontier: Frontier::default(),
            clock: Clock::default(),
            sessions: FxHashMap::default(),
            session_names: Vec::new(),
            last_times: Vec::new(),
            seen: 0,
            loosened: 0,
            order_keys: FxHashSet::default(),
            free_order_keys: Vec::new(),
            patience: 8_000,
            places: Vec::new(),
        })
    }

    /// How many transactions were pushed.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// How many transactions the window holds.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether the window holds no transaction.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How often something was forgotten that a later transaction might have contradicted: `holds` is exact if never.
    pub fn loosened(&self) -> u64 {
        self.loosened
    }

    /// How many keys have a last version.
    pub fn key_count(&self) -> usize {
        self.state.keys.len()
    }

    /// What times count.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// Introduces a session before its first transaction.
    pub fn introduce(&mut self, session: u64, name: Option<Datum>) {
        let session = self.session(session, name);
        self.frontier.introduce(session);
    }

    fn session(&mut self, session: u64, name: Option<Datum>) -> u32 {
        let next = self.session_names.len() as u32;
        let place = *self.sessions.entry(session).or_insert(next);
        if place == next {
            self.session_names.push(name);
            self.last_times.push(i64::MIN);
        }
        place
    }

    /// The initial state of the recording, which has to come before transactions that read it.
    ///
    /// # Errors
    /// If it is not known.
    pub fn set_initial(&mut self, history: &History) -> Result<(), Refused> {
        let initial = history.initial();
        match initial.default {
            InitialDefault::Value(value) => self.state.default = history.values().original(value),
            InitialDefault::UnknownButOne => return Err(Refused::Kind("initial values that are not known")),
        }
        for &(key, value) in &initial.recorded {
            let key = self.state.key(history.keys().original(key));
            self.state.set(key, history.values().original(value));
        }
        Ok(())
    }

    /// Takes the next transaction of the recording.
    ///
    /// # Errors
    /// If it cannot be followed in a window; the window is then as it was.
    pub fn push(
        &mut self,
        session: u64,
        name: Option<Datum>,
        history: &History,
        txn: TxnId,
    ) -> Result<(), Refused> {
        let times = history.times(txn);
        let begin = times.begin_request.ok_or(Refused::NoTimes)?;
        let ops = self.operations(history, txn)?;
        let session = self.session(session, None);
        let last = self.last_times[session as usize];
        if begin < last {
            return Err(Refused::Backwards { begin, last });
        }
        // A recording that is closed may still have transactions that only read.
        let is_reader = self.frontier.is_closed() && ops.iter().all(|op| op.kind == Kind::Read);
        let frontier = self.frontier.moment().filter(|&frontier| begin < frontier);
        if let Some(frontier) = frontier.filter(|_| !is_reader) {
            return Err(Refused::Late { begin, frontier });
        }
        self.seen += 1;
        self.last_times[session as usize] = times.recorded().map(|moment| moment.time).max().unwrap_or(last);
        self.frontier.record(session, &times);
        let outcome = history.outcome(txn);
        // A transaction of unknown outcome that writes nothing need not have committed.
        if outcome == Outcome::Unknown && ops.iter().all(|op| op.kind == Kind::Read) {
            return Ok(());
        }
        self.rows.push(Row {
            number: self.seen,
            session: Some(session),
            name,
            outcome,
            times,
            ops,
            is_part: false,
        });
        Ok(())
    }

    fn operations(&mut self, history: &History, txn: TxnId) -> Result<Vec<Operation>, Refused> {
        let mut ops = Vec::with_capacity(history.op_range(txn).len());
        for (id, op) in history.ops(txn) {
            if history.op_version(id).is_some() {
                return Err(Refused::Kind("recorded versions"));
            }
            let (kind, key, value) = match op {
                Op::Read { key, value: Some(value) } => (Kind::Read, key, value),
                Op::Read { value: None, .. } => continue,
                Op::Write { key, value } => (Kind::Write, key, value),
                Op::Insert { key, value } => (Kind::Insert, key, value),
                Op::Delete { key, tombstone: None } => (Kind::Delete, key, history::ValueId::NIL),
                Op::Delete { .. } => return Err(Refused::Kind("deletes that leave a mark")),
                Op::ReadList { .. } | Op::Append { .. } => return Err(Refused::Kind("lists")),
                Op::RangeRead(_) => return Err(Refused::Kind("reads of ranges")),
                Op::PredicateRead(_) | Op::PredicateWrite(_) => return Err(Refused::Kind("predicates")),
            };
            let value = history.values().original(value);
            ops.push(Operation { kind, key: self.state.key(history.keys().original(key)), value });
        }
        Ok(ops)
    }

    /// Whether a transaction ended so long ago that everything that it can have read from is recorded.
    fn is_complete(&self, row: &Row, frontier: Option<i64>) -> bool {
        match frontier {
            Some(i64::MAX) => true,
            Some(_) if row.outcome == Outcome::Unknown => true,
            frontier => self.events.is_before(row.times.commit_response, frontier),
        }
    }

    /// The small history. Keys and transactions have their own names if it is for people, which costs more.
    pub fn build(&mut self, is_named: bool) -> Built {
        let frontier = self.frontier.moment();
        let mut order: Vec<u32> = (0..self.rows.len() as u32).collect();
        order.sort_by_key(|&row| self.rows[row as usize].session.unwrap_or(u32::MAX));
        let mut building = Building {
            builder: Builder::new(),
            keys: Vec::new(),
            places: std::mem::take(&mut self.places),
            is_named,
        };
        building.places.resize(self.state.keys.len(), NOWHERE);
        building.builder.clock = self.clock;
        building.builder.reserve(order.len(), order.len() * 8);
        let (mut rows, mut is_complete, mut border) = (Vec::new(), Vec::new(), frontier);
        let mut last = None;
        for place in order {
            let row = &self.rows[place as usize];
            let is_whole = self.is_complete(row, frontier);
            if !is_whole && row.outcome != Outcome::Unknown {
                border = border.min(row.times.begin_request);
            }
            if row.session.is_none() || last.replace(row.session) != Some(row.session) {
                building
                    .session(row.session.and_then(|session| self.session_names[session as usize].clone()));
            }
            building.row(&self.state, row, is_whole);
            rows.push(Some(place));
            is_complete.push(is_whole);
        }
        let mut optional = Vec::new();
        for (place, row) in self.optional.iter().enumerate() {
            if building.places[row.ops[0].key as usize] != NOWHERE {
                building.session(None);
                building.row(&self.state, row, true);
                optional.push((place, TxnId::from_index(rows.len())));
                rows.push(None);
                is_complete.push(true);
            }
        }
        let (history, keys, places) = building.finish(&self.state);
        self.places = places;
        // Nothing settles at the end: what is still to come only reads.
        let border = border.filter(|_| !self.frontier.is_closed());
        Built { history, rows, is_complete, keys, border, optional }
    }

    /// The sessions with their numbers in the recording and their names, in the order of their places.
    pub fn sessions(&self) -> Vec<(u64, Option<Datum>)> {
        let mut sessions: Vec<_> = self.sessions.iter().map(|(&number, &place)| (place, number)).collect();
        sessions.sort_unstable();
        sessions
            .into_iter()
            .map(|(place, number)| (number, self.session_names[place as usize].clone()))
            .collect()
    }

    /// The last recorded time of each session, in the order of their places.
    pub fn last_times(&self) -> &[i64] {
        &self.last_times
    }

    /// The rows, and then those that may not count.
    pub fn rows(&self) -> impl Iterator<Item = (&Row, bool)> {
        let optional = self.optional.iter().map(|row| (row, true));
        self.rows.iter().map(|row| (row, false)).chain(optional)
    }

    /// A key by its number.
    pub fn key(&self, key: u32) -> &Datum {
        self.state.keys.original(KeyId(key))
    }

    /// What keys hold that hold something of their own, and what all others hold.
    pub fn state(&self) -> (Vec<(Datum, Datum)>, &Datum) {
        (self.state.iter().map(|(key, value)| (key.clone(), value.clone())).collect(), &self.state.default)
    }

    /// Goes on with the counts of an earlier window; sessions have been introduced in their order.
    pub fn restore(&mut self, seen: u64, loosened: u64, last_times: Vec<i64>, frontier: Frontier) {
        (self.seen, self.loosened, self.frontier) = (seen, loosened, frontier);
        self.last_times = last_times;
    }

    /// Puts a row of an earlier window back, with the operations of a transaction.
    ///
    /// # Errors
    /// If the operations are not ones that a row has.
    pub fn restore_row(
        &mut self,
        row: Row,
        is_optional: bool,
        history: &History,
        txn: TxnId,
    ) -> Result<(), Refused> {
        let ops = self.operations(history, txn)?;
        for op in &ops {
            let key = self.state.keys.original(KeyId(op.key));
            if matches!(key, Datum::Tagged(tagged) if &*tagged.0 == crate::settle::ORDER_KEY) {
                self.order_keys.insert(op.key);
            }
        }
        let rows = if is_optional { &mut self.optional } else { &mut self.rows };
        rows.push(Row { ops, ..row });
        Ok(())
    }

    /// How a transaction of a small history is called in the recording.
    pub fn number(&self, built: &Built, txn: TxnId) -> Option<u64> {
        built.rows[txn.index()].map(|row| self.rows[row as usize].number)
    }
}

/// A history in the making.
struct Building {
    builder: Builder,
    keys: Vec<u32>,
    places: Vec<u32>,
    is_named: bool,
}

impl Building {
    fn session(&mut self, name: Option<Datum>) {
        match name.filter(|_| self.is_named) {
            Some(name) => self.builder.named_session(name),
            None => self.builder.session(),
        };
    }

    fn row(&mut self, state: &State, row: &Row, with_reads: bool) {
        let session = history::SessionId::from_index(self.builder.session_count() - 1);
        self.builder.begin(session);
        if self.is_named {
            self.builder.name_txn(row.name.clone().unwrap_or(Datum::Int(row.number as i64)));
        }
        if self.builder.set_times(row.times).is_err() {
            debug_assert!(false, "times were looked at when the row was pushed");
            let _ = self.builder.set_times(TxnTimes::default());
        }
        for op in row.ops.iter().filter(|op| with_reads || op.kind != Kind::Read) {
            let key = self.key(state, op.key);
            let value = match op.value {
                Datum::Int(int) => self.builder.values.intern_int(int),
                ref other => self.builder.values.intern(other.clone()),
            };
            match op.kind {
                Kind::Read => self.builder.read(key, value),
                Kind::Write => self.builder.write(key, value),
                Kind::Insert => self.builder.insert(key, value),
                Kind::Delete => self.builder.delete(key, None),
            };
        }
        self.builder.end(row.outcome);
    }

    #[inline]
    fn key(&mut self, state: &State, key: u32) -> KeyId {
        let place = self.places[key as usize];
        if place != NOWHERE {
            return KeyId(place);
        }
        let id = match self.is_named {
            true => self.builder.keys.intern(state.keys.original(KeyId(key)).clone()),
            false => self.builder.keys.intern_int(self.keys.len() as i64),
        };
        self.places[key as usize] = id.0;
        self.keys.push(key);
        id
    }

    fn finish(mut self, state: &State) -> (History, Vec<u32>, Vec<u32>) {
        let default = state.default_in(&mut self.builder.values);
        self.builder.initial = InitialState { default, recorded: Vec::new() };
        for (place, &key) in self.keys.iter().enumerate() {
            self.places[key as usize] = NOWHERE;
            if let Some(value) = state.own(key) {
                let value = self.builder.values.intern(value.clone());
                self.builder.initial.recorded.push((KeyId::from_index(place), value));
            }
        }
        (self.builder.finish(), self.keys, self.places)
    }
}
