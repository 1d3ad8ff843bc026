//! Looks for an order of a small history that mixes kinds of operations which no engine indexes together.
//!
//! A depth-first search over orders of events with `execution.rs` as the judge: an event is placed if all that must
//! precede it was placed and if its transaction, run there, returns what was recorded. A situation (what was placed, what
//! the keys hold, what open transactions will write) that led nowhere is not entered again. Transactions come in the
//! order of the recording where they can, so a history that was recorded nearly in order costs little more than its
//! length; the worst case is exponential, and ends at a fixed number of situations.
//!
//! Orders in which each transaction begins and commits at one point are tried first; they are right at every level.
//!
//! An order that is found is a certificate like any other. That none was found proves nothing.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use history::{History, Outcome, TxnId};

use crate::execution::{Execution, State};
use crate::times::{interval, is_before, obliges};
use crate::{Certificate, Core, Level, Node};

/// The most transactions that are tried.
const MOST_TXNS: usize = 128;

/// The most cells that the situations of one path may hold.
const MOST_CELLS: usize = 1 << 17;

/// How many situations are entered at most.
const MOST_SITUATIONS: usize = 1 << 14;

/// An order that explains a small history at a level, if one is found before `is_over` says so.
///
/// Nothing is found where a predicate has no meaning or the history is too large.
pub fn find_order(history: &History, level: &Level, is_over: &dyn Fn() -> bool) -> Option<Certificate> {
    let live: Vec<TxnId> = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted).collect();
    let is_small = live.len() <= MOST_TXNS && live.len() * history.keys().len() <= MOST_CELLS;
    if !is_small || (level.needs_times() && !history.has_times()) {
        return None;
    }
    let execution = Execution::new(history).ok()?;
    let precedence = Precedence::of(history, level, &live);
    let at_one_point: &[bool] = match level.core {
        Core::Serializable => &[true],
        Core::Snapshot | Core::Prefix => &[true, false],
    };
    at_one_point.iter().find_map(|&at_one_point| {
        let search = Search {
            history,
            level,
            live: &live,
            execution: &execution,
            precedence: &precedence,
            at_one_point,
        };
        search.run(is_over)
    })
}

/// A set of events: bit `2 * place` is the begin of a live transaction, the next bit its commit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Events([u128; 2]);

impl Events {
    fn insert(&mut self, event: usize) {
        self.0[event / 128] |= 1 << (event % 128);
    }

    fn contains(self, event: usize) -> bool {
        self.0[event / 128] >> (event % 128) & 1 == 1
    }

    fn is_within(self, other: Self) -> bool {
        (0..2).all(|half| self.0[half] & !other.0[half] == 0)
    }

    fn meets(self, other: Self) -> bool {
        (0..2).any(|half| self.0[half] & other.0[half] != 0)
    }
}

/// For each event what must precede it, and what it must precede.
struct Precedence {
    /// Only events of committed transactions: those of unknown outcome need not be placed.
    before: Vec<Events>,
    after: Vec<Events>,
}

impl Precedence {
    fn of(history: &History, level: &Level, live: &[TxnId]) -> Self {
        let count = 2 * live.len();
        let mut found =
            Self { before: vec![Events::default(); count], after: vec![Events::default(); count] };
        for from in 0..count {
            for to in (0..count).filter(|&to| to / 2 != from / 2) {
                if must_precede(history, level, (live[from / 2], from % 2 == 1), (live[to / 2], to % 2 == 1))
                {
                    found.after[from].insert(to);
                    if history.outcome(live[from / 2]) == Outcome::Committed {
                        found.before[to].insert(from);
                    }
                }
            }
        }
        found
    }
}

/// Whether an event (a transaction, and whether it is its commit) must precede another one.
fn must_precede(history: &History, level: &Level, from: (TxnId, bool), to: (TxnId, bool)) -> bool {
    let is_same_session = history.session_of(from.0) == history.session_of(to.0);
    if level.sessions && is_same_session && from.0 < to.0 {
        return true;
    }
    let events = level.events_per_txn();
    let (from_commit, to_commit) = if events == 1 { (true, true) } else { (from.1, to.1) };
    if !obliges(level.real_time, from_commit, to_commit) {
        return false;
    }
    let node = |(txn, is_commit): (TxnId, bool)| match is_commit {
        true => Node::commit(txn, events),
        false => Node::begin(txn, events),
    };
    let response = interval(history, from.0, node(from), events).response;
    let request = interval(history, to.0, node(to), events).request;
    let skew = if is_same_session { 0 } else { level.clock_skew };
    matches!((response, request), (Some(response), Some(request)) if is_before(response, skew, request))
}

struct Search<'s, 'h> {
    history: &'h History,
    level: &'s Level,
    live: &'s [TxnId],
    execution: &'s Execution<'h>,
    precedence: &'s Precedence,
    /// Whether each transaction begins and commits at one point.
    at_one_point: bool,
}

/// A situation on the path, with the transaction to try next and the events that led here.
struct Frame {
    state: State,
    placed: Events,
    next: usize,
}

impl Search<'_, '_> {
    fn run(&self, is_over: &dyn Fn() -> bool) -> Option<Certificate> {
        let hasher: BuildHasherDefault<DefaultHasher> = BuildHasherDefault::default();
        let mut entered = std::collections::HashSet::new();
        let mut path = vec![Frame { state: self.execution.start(), placed: Events::default(), next: 0 }];
        let mut order: Vec<usize> = Vec::new();
        while let Some(frame) = path.last_mut() {
            if self.is_complete(frame.placed) {
                return Some(self.certificate(&order));
            }
            let txn = frame.next;
            frame.next += 1;
            if txn == self.live.len() {
                path.pop();
                order.pop();
                continue;
            }
            let Some((state, placed)) = self.place(frame, txn) else { continue };
            if entered.len() >= MOST_SITUATIONS || is_over() {
                return None;
            }
            if entered.insert(hasher.hash_one((&state, placed))) {
                path.push(Frame { state, placed, next: 0 });
                order.push(txn);
            }
        }
        None
    }

    /// Whether every committed transaction committed, and no transaction is open.
    fn is_complete(&self, placed: Events) -> bool {
        self.live.iter().enumerate().all(|(place, &txn)| {
            let [begun, committed] = [placed.contains(2 * place), placed.contains(2 * place + 1)];
            committed || (!begun && self.history.outcome(txn) == Outcome::Unknown)
        })
    }

    /// The situation after the next event of a transaction, if that event may come now.
    fn place(&self, frame: &Frame, place: usize) -> Option<(State, Events)> {
        let (txn, begin, commit) = (self.live[place], 2 * place, 2 * place + 1);
        if frame.placed.contains(commit) {
            return None;
        }
        let (mut state, mut placed) = (frame.state.clone(), frame.placed);
        let has_begun = placed.contains(begin);
        if !has_begun {
            self.enter(&mut placed, begin)?;
            self.execution.begin(&mut state, txn).ok()?;
        }
        if has_begun || self.at_one_point {
            self.enter(&mut placed, commit)?;
            self.execution.commit(&mut state, txn, self.level.core).ok()?;
        }
        Some((state, placed))
    }

    /// Adds an event, if all that must precede it is there and nothing that it must precede.
    fn enter(&self, placed: &mut Events, event: usize) -> Option<()> {
        let is_free =
            self.precedence.before[event].is_within(*placed) && !self.precedence.after[event].meets(*placed);
        is_free.then(|| placed.insert(event))
    }

    fn certificate(&self, order: &[usize]) -> Certificate {
        let events = self.level.events_per_txn();
        let mut has_begun = vec![false; self.live.len()];
        let mut nodes = Vec::new();
        for &place in order {
            let txn = self.live[place];
            let began_before = std::mem::replace(&mut has_begun[place], true);
            if events == 2 && !began_before {
                nodes.push(Node::begin(txn, events));
            }
            if began_before || self.at_one_point {
                nodes.push(Node::commit(txn, events));
            }
        }
        let is_placed = |place: &usize| has_begun[*place];
        let placed = (0..self.live.len()).filter(is_placed).map(|place| self.live[place]);
        let unknown = placed.filter(|&txn| self.history.outcome(txn) == Outcome::Unknown);
        Certificate::Holds { order: nodes, committed_unknown: unknown.collect() }
    }
}
