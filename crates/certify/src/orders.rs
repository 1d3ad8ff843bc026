//! Tries the orders of a small history, whatever kinds of operations it mixes.
//!
//! A depth-first search over orders of events with `execution.rs` as the judge: an event is placed if all that must
//! precede it was placed and if its transaction, run there, returns what was recorded. A situation (what was placed, what
//! the keys hold, what open transactions will write) that led nowhere is not entered again. Transactions come in the
//! order of the recording where they can, so a history that was recorded nearly in order costs little more than its
//! length; the worst case is exponential, and ends at a fixed number of situations.
//!
//! A transaction that only reads, and whose run leaves everything as it was, is placed as soon as it can come, and nothing
//! else is tried there: in any explanation it can be moved to this point.
//!
//! Orders in which each transaction begins and commits at one point are tried first; they are right at every level.
//!
//! An order that is found is a certificate like any other. If all were tried and none explains the history, the level is
//! violated; the checker tries them all again ([`check_none`]), since nothing shorter proves it.

use std::collections::HashSet;

use history::{History, InitialDefault, Op, Outcome, TxnId};

use crate::execution::{Execution, State};
use crate::observe::{has_lists_under_prefix, live_ops};
use crate::times::{interval, is_before, obliges};
use crate::{Certificate, Core, Flaw, Level, Node, Place, Rule, Step};

/// The most transactions that are tried.
const MOST_TXNS: usize = 128;

/// The most cells that the situations of one path may hold.
const MOST_CELLS: usize = 1 << 17;

/// How many situations are entered at most.
const MOST_SITUATIONS: usize = 1 << 12;

/// The same where finding no order would prove nothing.
const MOST_SITUATIONS_INEXACT: usize = 1 << 8;

/// The verdict on a small history by trying its orders, if there is one before `is_over` says so.
///
/// There is none where a predicate has no meaning, where what a transaction wrote depends on an initial value that was
/// not recorded, and where the orders are too many.
pub fn try_orders(history: &History, level: &Level, is_over: &dyn Fn() -> bool) -> Option<Certificate> {
    match search(history, level, is_over)? {
        Found::Order(certificate) => Some(certificate),
        Found::None if is_exact(history) => {
            let steps = vec![Step { clause: Vec::new(), rule: Rule::NoOrder }];
            Some(Certificate::Violated { steps, keys: None })
        }
        Found::None => None,
    }
}

/// Checks that no order explains a history.
pub(crate) fn check_none(history: &History, level: &Level) -> Result<(), Flaw> {
    let flaw = |why: &str| Err(Flaw::new(Place::Whole, why));
    match search(history, level, &|| false) {
        _ if !is_exact(history) => flaw("initial values were not recorded, so not every order can be tried"),
        Some(Found::None) => Ok(()),
        Some(Found::Order(_)) => flaw("an order explains the history"),
        None => flaw("the orders of this history are too many to try"),
    }
}

/// Whether trying the orders tries every explanation: an initial value that was not recorded is bound to what the first
/// read shows, which is the only choice where there are but reads and writes of rows without marks of deleted ones.
fn is_exact(history: &History) -> bool {
    let has_other_kinds = || {
        live_ops(history).any(|(.., op)| match op {
            Op::RangeRead(read) => read.rows.iter().flatten().any(|row| row.is_dead),
            Op::Append { .. } | Op::ReadList { .. } | Op::PredicateRead(_) | Op::PredicateWrite(_) => true,
            _ => false,
        })
    };
    history.initial().default != InitialDefault::UnknownButOne || (!history.has_marks() && !has_other_kinds())
}

/// What trying the orders gave.
enum Found {
    Order(Certificate),
    /// All were tried.
    None,
}

/// Tries the orders; `None` if they are too many.
fn search(history: &History, level: &Level, is_over: &dyn Fn() -> bool) -> Option<Found> {
    let live: Vec<TxnId> = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted).collect();
    let is_small = live.len() <= MOST_TXNS && live.len() * history.keys().len() <= MOST_CELLS;
    let is_clocked = history.has_times() || !level.needs_times();
    // What becomes of two appends that do not see each other is not said by prefix consistency.
    if !is_small || !is_clocked || has_lists_under_prefix(history, level) {
        return None;
    }
    let execution = Execution::new(history).ok()?;
    let precedence = Precedence::of(history, level, &live);
    let only_reads: Vec<bool> =
        (0..live.len()).map(|place| only_reads(history, &live, &precedence, place)).collect();
    let (live, execution, precedence, only_reads) = (&live[..], &execution, &precedence, &only_reads[..]);
    let most_situations = if is_exact(history) { MOST_SITUATIONS } else { MOST_SITUATIONS_INEXACT };
    let try_all = |at_one_point| {
        let search = OrderSearch {
            history,
            level,
            live,
            execution,
            precedence,
            only_reads,
            at_one_point,
            most_situations,
        };
        search.run(is_over)
    };
    match level.core {
        Core::Serializable => try_all(true),
        Core::Snapshot | Core::Prefix => match try_all(true) {
            Some(Found::Order(certificate)) => Some(Found::Order(certificate)),
            _ => try_all(false),
        },
    }
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

fn only_reads(history: &History, live: &[TxnId], precedence: &Precedence, place: usize) -> bool {
    let follows = |other: usize| {
        let after = [2 * other, 2 * other + 1].map(|event| precedence.after[event]);
        after.iter().any(|after| after.contains(2 * place) || after.contains(2 * place + 1))
    };
    let is_unknown = |&other: &usize| history.outcome(live[other]) == Outcome::Unknown;
    history.outcome(live[place]) == Outcome::Committed
        && history.ops(live[place]).all(|(_, op)| op.is_read())
        && !(0..live.len()).filter(is_unknown).any(follows)
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

struct OrderSearch<'s, 'h> {
    history: &'h History,
    level: &'s Level,
    live: &'s [TxnId],
    execution: &'s Execution<'h>,
    precedence: &'s Precedence,
    /// For each live transaction whether it has no writes, and must not follow one of unknown outcome: placing such a
    /// transaction early takes nothing from others.
    only_reads: &'s [bool],
    /// Whether each transaction begins and commits at one point.
    at_one_point: bool,
    most_situations: usize,
}

/// A situation on the path, with the transaction to try next and the events that led here.
struct Frame {
    state: State,
    placed: Events,
    next: usize,
}

impl OrderSearch<'_, '_> {
    fn run(&self, is_over: &dyn Fn() -> bool) -> Option<Found> {
        let mut entered = HashSet::new();
        let mut path = vec![Frame { state: self.execution.start(), placed: Events::default(), next: 0 }];
        // A place among the live transactions, and whether begin and commit come at once.
        let mut order: Vec<(usize, bool)> = Vec::new();
        while let Some(frame) = path.last_mut() {
            if self.is_complete(frame.placed) {
                return Some(Found::Order(self.certificate(&order)));
            }
            if frame.next == self.live.len() {
                path.pop();
                order.pop();
                continue;
            }
            let reader = (frame.next == 0).then(|| self.find_reader(frame)).flatten();
            let (txn, at_once) = match reader {
                Some(reader) => (reader, true),
                None => (frame.next, self.at_one_point),
            };
            frame.next = if reader.is_some() { self.live.len() } else { frame.next + 1 };
            let Some((state, placed)) = self.place(frame, txn, at_once) else { continue };
            if entered.len() >= self.most_situations || is_over() {
                return None;
            }
            if entered.insert((state.clone(), placed)) {
                path.push(Frame { state, placed, next: 0 });
                order.push((txn, at_once));
            }
        }
        Some(Found::None)
    }

    /// Whether every committed transaction committed, and no transaction is open.
    fn is_complete(&self, placed: Events) -> bool {
        self.live.iter().enumerate().all(|(place, &txn)| {
            let [begun, committed] = [placed.contains(2 * place), placed.contains(2 * place + 1)];
            committed || (!begun && self.history.outcome(txn) == Outcome::Unknown)
        })
    }

    /// A transaction that only reads, can come now, and leaves everything as it was.
    fn find_reader(&self, frame: &Frame) -> Option<usize> {
        let mut readers = (0..self.live.len()).filter(|&place| self.only_reads[place]);
        readers.find(|&place| {
            let is_new = !frame.placed.contains(2 * place);
            let came = if is_new { self.place(frame, place, true) } else { None };
            came.is_some_and(|(state, _)| state == frame.state)
        })
    }

    /// The situation after the next event of a transaction, or after both, if they may come now.
    fn place(&self, frame: &Frame, place: usize, at_once: bool) -> Option<(State, Events)> {
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
        if has_begun || at_once {
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

    fn certificate(&self, order: &[(usize, bool)]) -> Certificate {
        let events = self.level.events_per_txn();
        let mut has_begun = vec![false; self.live.len()];
        let mut nodes = Vec::new();
        for &(place, at_once) in order {
            let txn = self.live[place];
            let began_before = std::mem::replace(&mut has_begun[place], true);
            if events == 2 && !began_before {
                nodes.push(Node::begin(txn, events));
            }
            if began_before || at_once {
                nodes.push(Node::commit(txn, events));
            }
        }
        let is_placed = |place: &usize| has_begun[*place];
        let placed = (0..self.live.len()).filter(is_placed).map(|place| self.live[place]);
        let unknown = placed.filter(|&txn| self.history.outcome(txn) == Outcome::Unknown);
        Certificate::Holds { order: nodes, committed_unknown: unknown.collect() }
    }
}
