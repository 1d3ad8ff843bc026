//! "Holds" of a recording that comes in pieces: the same replay, without holding the recording.
//!
//! The order names transactions by their numbers in the recording. An entry is replayed as soon as its transaction was
//! read, and a piece is dropped once all of its transactions are replayed; an order that keeps close to the recording
//! needs few pieces at a time. What the whole replay looks up for all events at once is kept for each session and for
//! each piece: which events were placed, the last transaction of each session, and the latest requests.
//!
//! Only reads and writes of single keys, with small integers or nil as values, which have the same number in every piece.

use std::collections::{BTreeMap, VecDeque};

use history::{KeyId, Op, Outcome, Piece, TxnId, ValueId};

use super::Latest;
use super::registers::written;
use crate::times::{interval, refuse_senseless, refuse_without_clock};
use crate::{Core, Flaw, Level, Node, Place, RealTime};

/// Replays an order while the recording is read.
pub struct PieceReplay<'o> {
    level: Level,
    events_per_txn: u32,
    order: &'o [Node],
    committed_unknown: &'o [TxnId],
    /// How many entries of the order are replayed.
    replayed: usize,
    /// How many of `committed_unknown` were read.
    unknown_read: usize,
    pieces: VecDeque<Held>,
    /// How many transactions were read.
    txns: u32,
    cells: Vec<Cell>,
    sessions: Vec<Session>,
    latest: Latest,
    /// Where transactions began that have not committed.
    began: BTreeMap<u32, u32>,
    /// The writes of the transaction at hand, in program order.
    own: Vec<(KeyId, ValueId)>,
}

/// A piece of which not all transactions are replayed.
struct Held {
    piece: Piece,
    /// For each event whether it is replayed, in the order of the recording.
    is_replayed: Vec<bool>,
    /// How many events are not.
    left: usize,
}

/// What a key holds, and the place of the commit that wrote it and one more; 0 for the initial state.
#[derive(Clone, Copy)]
struct Cell {
    value: ValueId,
    since: u32,
}

#[derive(Clone, Copy)]
struct Session {
    /// The transaction that began last, if any, and whether it has not committed.
    last: Option<u32>,
    is_open: bool,
    /// The last time that was read.
    time: i64,
    latest: Latest,
}

impl<'o> PieceReplay<'o> {
    /// Begins to replay an order.
    ///
    /// # Errors
    /// If the level has no meaning or is not replayed in pieces, or if the list of unknown transactions is not ascending.
    pub fn new(level: &Level, order: &'o [Node], committed_unknown: &'o [TxnId]) -> Result<Self, Flaw> {
        refuse_senseless(level)?;
        if level.core == Core::Prefix {
            return Err(Flaw::new(Place::Level, "it is not replayed in pieces"));
        }
        if let Some(place) = committed_unknown.windows(2).position(|pair| pair[0] >= pair[1]) {
            let why = "it is listed out of order or twice";
            return Err(Flaw::new(Place::CommittedUnknown(place + 1), why));
        }
        Ok(Self {
            level: *level,
            events_per_txn: level.events_per_txn(),
            order,
            committed_unknown,
            replayed: 0,
            unknown_read: 0,
            pieces: VecDeque::new(),
            txns: 0,
            cells: Vec::new(),
            sessions: Vec::new(),
            latest: Latest::default(),
            began: BTreeMap::new(),
            own: Vec::new(),
        })
    }

    /// Takes the next piece, and replays as far as the order leads to transactions that were read.
    ///
    /// # Errors
    /// If the order does not explain the recording, or the piece has something that is not replayed in pieces.
    pub fn take(&mut self, piece: Piece) -> Result<(), Flaw> {
        self.refuse(&piece)?;
        self.add_keys(&piece)?;
        self.hold(piece)?;
        // Apart from the store, so that the pieces can be read while the store changes.
        let mut pieces = std::mem::take(&mut self.pieces);
        while let Some(&node) = self.order.get(self.replayed).filter(|node| self.is_read(**node)) {
            self.replay(&mut pieces, node)?;
            self.replayed += 1;
        }
        while pieces.front().is_some_and(|held| held.left == 0) {
            pieces.pop_front();
        }
        self.pieces = pieces;
        Ok(())
    }

    /// The recording has ended: whether the order explained all of it.
    ///
    /// # Errors
    /// If an entry of the order or a committed transaction is left.
    pub fn finish(self) -> Result<(), Flaw> {
        if self.replayed < self.order.len() {
            return Err(self.flaw("there is no such event in the recording"));
        }
        if self.unknown_read < self.committed_unknown.len() {
            let why = "a transaction is listed that is not there, or whose outcome is not unknown";
            return Err(Flaw::new(Place::CommittedUnknown(self.unknown_read), why));
        }
        match self.pieces.iter().find(|held| held.left > 0) {
            Some(held) => {
                let why = "it or one after it committed, but not all of its events are in the order";
                Err(Flaw::new(Place::Txn(TxnId(held.piece.first)), why))
            }
            None => Ok(()),
        }
    }

    fn flaw(&self, why: impl Into<String>) -> Flaw {
        Flaw::new(Place::Order(self.replayed), why)
    }

    fn is_read(&self, node: Node) -> bool {
        node.0 / self.events_per_txn < self.txns
    }

    /// Refuses a piece that does not go on where the last one ended, or that has other operations than those of single keys.
    fn refuse(&self, piece: &Piece) -> Result<(), Flaw> {
        let history = &piece.history;
        if piece.first != self.txns || piece.lines.len() != history.txn_count() {
            return Err(Flaw::new(Place::Whole, "the pieces of the recording do not follow one another"));
        }
        if history.has_versions() || history.has_ranges() || history.has_predicates() {
            return Err(Flaw::new(
                Place::Whole,
                "the recording has more than reads and writes of single keys",
            ));
        }
        match piece.lines.is_empty() {
            true => Ok(()),
            false => refuse_without_clock(history, &self.level),
        }
    }

    fn add_keys(&mut self, piece: &Piece) -> Result<(), Flaw> {
        for (local, key) in piece.keys.iter().enumerate() {
            if key.index() < self.cells.len() {
                continue;
            }
            let initial = piece.history.initial().value_of(KeyId::from_index(local));
            let value = initial.filter(|&value| Piece::is_comparable(value));
            let Some(value) = value.filter(|_| key.index() == self.cells.len()) else {
                return Err(Flaw::new(
                    Place::Whole,
                    "a key of the recording has no initial value to compare",
                ));
            };
            self.cells.push(Cell { value, since: 0 });
        }
        Ok(())
    }

    fn hold(&mut self, piece: Piece) -> Result<(), Flaw> {
        let mut left = 0;
        for (place, &local) in piece.lines.iter().enumerate() {
            let number = piece.first + place as u32;
            self.note_times(&piece, local, number)?;
            let is_listed = self.committed_unknown.binary_search(&TxnId(number)).is_ok();
            let is_taken = match piece.history.outcome(local) {
                Outcome::Committed => true,
                Outcome::Aborted => false,
                Outcome::Unknown => {
                    self.unknown_read += usize::from(is_listed);
                    is_listed
                }
            };
            left += if is_taken { self.events_per_txn as usize } else { 0 };
        }
        self.txns = piece.end();
        let is_replayed = vec![false; piece.lines.len() * self.events_per_txn as usize];
        self.pieces.push_back(Held { piece, is_replayed, left });
        Ok(())
    }

    /// The times of a session never run backwards, so that "before" is an order.
    fn note_times(&mut self, piece: &Piece, local: TxnId, number: u32) -> Result<(), Flaw> {
        let session = piece.session_of(local).index();
        if session >= self.sessions.len() {
            let new = Session { last: None, is_open: false, time: i64::MIN, latest: Latest::default() };
            self.sessions.resize(session + 1, new);
        }
        let session = &mut self.sessions[session];
        for moment in piece.history.times(local).recorded() {
            if moment.time < session.time {
                return Err(Flaw::new(Place::Txn(TxnId(number)), "the times of its session run backwards"));
            }
            session.time = moment.time;
        }
        Ok(())
    }

    /// Replays one event.
    fn replay(&mut self, pieces: &mut VecDeque<Held>, node: Node) -> Result<(), Flaw> {
        let number = node.0 / self.events_per_txn;
        let found = pieces.iter_mut().find_map(|held| held.piece.local(number).map(|local| (held, local)));
        let Some((held, local)) = found else {
            return Err(self.flaw(format!("all events of transaction {number} are in the order before")));
        };
        let is_taken = match held.piece.history.outcome(local) {
            Outcome::Committed => true,
            Outcome::Aborted => false,
            Outcome::Unknown => self.committed_unknown.binary_search(&TxnId(number)).is_ok(),
        };
        if !is_taken {
            return Err(self.flaw(format!("transaction {number} is not taken as committed")));
        }
        let event = (node.0 - held.piece.first * self.events_per_txn) as usize;
        if std::mem::replace(&mut held.is_replayed[event], true) {
            return Err(self.flaw(format!("this event of transaction {number} is in the order before")));
        }
        held.left -= 1;
        self.check_real_time(&held.piece, local, node)?;
        if node == Node::begin(TxnId(number), self.events_per_txn) {
            self.begin(&held.piece, local, number)?;
        }
        match node.is_commit(self.events_per_txn) {
            true => self.commit(&held.piece, local, number),
            false => Ok(()),
        }
    }

    /// No event may stand after one that it precedes in real time; see the replay of the whole.
    fn check_real_time(&mut self, piece: &Piece, local: TxnId, node: Node) -> Result<(), Flaw> {
        if self.level.real_time == RealTime::Ignored {
            return Ok(());
        }
        let is_commit = node.is_commit(self.events_per_txn);
        let interval = interval(&piece.history, local, node, self.events_per_txn);
        let of_session = &mut self.sessions[piece.session_of(local).index()].latest;
        let (level, skew) = (&self.level, self.level.clock_skew);
        let overtaken = interval.response.and_then(|response| {
            let overall = self.latest.overtaken(level, is_commit, response, skew);
            overall.or_else(|| of_session.overtaken(level, is_commit, response, 0))
        });
        if let Some(other) = overtaken {
            let why = format!("it is before entry {other} in real time, but not in the order");
            return Err(Flaw::new(Place::Order(self.replayed), why));
        }
        if let Some(request) = interval.request {
            self.latest.note(is_commit, request, self.replayed);
            of_session.note(is_commit, request, self.replayed);
        }
        Ok(())
    }

    /// A transaction begins after the one before it in its session has committed, and its reads see what they saw.
    fn begin(&mut self, piece: &Piece, local: TxnId, number: u32) -> Result<(), Flaw> {
        let session = &mut self.sessions[piece.session_of(local).index()];
        let is_in_turn = !session.is_open && session.last.is_none_or(|last| last < number);
        if self.level.sessions && !is_in_turn {
            let why = format!("transaction {number} is not in the order of its session");
            return Err(self.flaw(why));
        }
        (session.last, session.is_open) = (Some(number), true);
        self.began.insert(number, self.replayed as u32);
        self.own.clear();
        match piece.history.ops(local).all(|(_, op)| self.sees(piece, &op)) {
            true => Ok(()),
            false => {
                let why = format!(
                    "a read of transaction {number} does not see what it saw, or is no read of a key"
                );
                Err(self.flaw(why))
            }
        }
    }

    /// Whether an operation is of a kind that is known here and, if it is a read, sees what it saw.
    fn sees(&mut self, piece: &Piece, op: &Op<'_>) -> bool {
        match *op {
            Op::Read { key, value: Some(saw) } => {
                let key = piece.key(key);
                let own = self.own.iter().rfind(|&&(written, _)| written == key);
                let held = own.map_or(self.cells[key.index()].value, |&(_, value)| value);
                Piece::is_comparable(saw) && held == saw
            }
            Op::Read { value: None, .. } => true,
            _ => match written(op).filter(|&(_, value)| Piece::is_comparable(value)) {
                Some((key, value)) => {
                    self.own.push((piece.key(key), value));
                    true
                }
                None => false,
            },
        }
    }

    /// The writes of a transaction take effect, unless another one wrote one of its keys since it began, where that counts.
    fn commit(&mut self, piece: &Piece, local: TxnId, number: u32) -> Result<(), Flaw> {
        let place = self.replayed as u32;
        let Some(began) = self.began.remove(&number) else {
            return Err(self.flaw(format!("transaction {number} commits before it begins")));
        };
        self.sessions[piece.session_of(local).index()].is_open = false;
        for (_, op) in piece.history.ops(local) {
            let Some((key, value)) = written(&op) else { continue };
            let cell = &mut self.cells[piece.key(key).index()];
            let is_own = cell.since == place + 1;
            if self.level.core == Core::Snapshot && !is_own && cell.since > began + 1 {
                let why = format!(
                    "entry {} wrote a key between the begin and the commit of this writer",
                    cell.since - 1
                );
                return Err(self.flaw(why));
            }
            *cell = Cell { value, since: place + 1 };
        }
        Ok(())
    }
}
