//! "Holds": replay the order against a store, event by event.
//!
//! A begin looks at the store, a commit changes it; nothing else happens. That the order keeps sessions, real time and
//! writers of a key apart is checked on the way. One pass over the order and the operations; for real time the latest
//! request so far is enough, since only it can come too late for a response.

mod pieces;
mod registers;

pub use pieces::PieceReplay;

use history::{History, InitialDefault, KeyId, Op, Outcome, TxnId};

use crate::effects::{RowEffects, is_by_predicate};
use crate::execution::Execution;
use crate::observe::{Observer, Seen, has_lists_under_prefix, live_ops, refuse_unsupported, writes};
use crate::rows::Rows;
use crate::store::Store;
use crate::times::{interval, is_before, obliges};
use crate::{Core, Flaw, Level, Node, Place, RealTime};

/// The place of an event that is not in the order.
const NOWHERE: u32 = u32::MAX;

pub(crate) fn check(
    threads: usize,
    history: &History,
    level: &Level,
    order: &[Node],
    committed_unknown: &[TxnId],
) -> Result<(), Flaw> {
    check_committed_unknown(history, committed_unknown)?;
    let places = Places::of(history, level, order, committed_unknown)?;
    if level.sessions {
        places.check_sessions(history)?;
    }
    if level.real_time != RealTime::Ignored {
        check_real_time(history, level, order)?;
    }
    match replay_one_kind(threads, history, level, &places, order) {
        Err(flaw) if may_mix_kinds(history) && !has_lists_under_prefix(history, level) => {
            replay_any_mix(history, level, order).map_err(|_| flaw)
        }
        replayed => replayed,
    }
}

/// Replays with the store that is made for the kind of history: of single keys, of rows where there are predicates, or
/// of values.
fn replay_one_kind(
    threads: usize,
    history: &History,
    level: &Level,
    places: &Places,
    order: &[Node],
) -> Result<(), Flaw> {
    refuse_unsupported(history, level)?;
    if history.has_predicates() && live_ops(history).any(|(.., op)| is_by_predicate(&op)) {
        return replay_rows(history, level, places, order);
    }
    match registers::explains(threads, history, level, places, order) {
        true => Ok(()),
        false => Replay::new(history, level, places)?.run(order),
    }
}

/// Whether a history has more than reads and writes of single keys with recorded initial values.
fn may_mix_kinds(history: &History) -> bool {
    let is_of_list = |op: &Op<'_>| matches!(op, Op::Append { .. } | Op::ReadList { .. });
    history.has_predicates()
        || history.has_versions()
        || history.has_ranges()
        || history.initial().default == InitialDefault::UnknownButOne
        || history.has_lists() && live_ops(history).any(|(.., op)| is_of_list(&op))
}

/// Replays operation by operation with the store that knows every kind.
fn replay_any_mix(history: &History, level: &Level, order: &[Node]) -> Result<(), Flaw> {
    let execution = Execution::new(history)?;
    let mut state = execution.start();
    let events_per_txn = level.events_per_txn();
    for &node in order {
        let txn = TxnId(node.0 / events_per_txn);
        if node == Node::begin(txn, events_per_txn) {
            execution.begin(&mut state, txn)?;
        }
        if node == Node::commit(txn, events_per_txn) {
            execution.commit(&mut state, txn, level.core)?;
        }
    }
    Ok(())
}

fn check_committed_unknown(history: &History, listed: &[TxnId]) -> Result<(), Flaw> {
    for (place, &txn) in listed.iter().enumerate() {
        let flaw = |why: String| Err(Flaw::new(Place::CommittedUnknown(place), why));
        if txn.index() >= history.txn_count() {
            return flaw(format!("there is no transaction {}", txn.0));
        }
        if history.outcome(txn) != Outcome::Unknown {
            return flaw(format!("the outcome of transaction {} is not unknown", txn.0));
        }
        if place > 0 && listed[place - 1] >= txn {
            return flaw(format!("transaction {} is listed out of order or twice", txn.0));
        }
    }
    Ok(())
}

/// Where each event stands in the order.
struct Places {
    events_per_txn: u32,
    place_of: Vec<u32>,
}

impl Places {
    fn of(
        history: &History,
        level: &Level,
        order: &[Node],
        committed_unknown: &[TxnId],
    ) -> Result<Self, Flaw> {
        let events_per_txn = level.events_per_txn();
        let mut places =
            Self { events_per_txn, place_of: vec![NOWHERE; history.txn_count() * events_per_txn as usize] };
        let is_taken = |txn: TxnId| match history.outcome(txn) {
            Outcome::Committed => true,
            Outcome::Aborted => false,
            Outcome::Unknown => committed_unknown.binary_search(&txn).is_ok(),
        };
        for (place, &node) in order.iter().enumerate() {
            places.put(place, node, is_taken)?;
        }
        match history.txns().find(|&txn| is_taken(txn) && !places.has(txn)) {
            Some(txn) => {
                Err(Flaw::new(Place::Txn(txn), "it committed, but not all of its events are in the order"))
            }
            None => places.check_begins(history),
        }
    }

    fn put(&mut self, place: usize, node: Node, is_taken: impl Fn(TxnId) -> bool) -> Result<(), Flaw> {
        let flaw = |why: String| Err(Flaw::new(Place::Order(place), why));
        let Some(slot) = self.place_of.get_mut(node.0 as usize) else {
            return flaw("there is no such event in the history".into());
        };
        let txn = TxnId(node.0 / self.events_per_txn);
        if !is_taken(txn) {
            return flaw(format!("transaction {} is not taken as committed", txn.0));
        }
        if *slot != NOWHERE {
            return flaw(format!("this event of transaction {} is also entry {slot}", txn.0));
        }
        *slot = place as u32;
        Ok(())
    }

    fn begin(&self, txn: TxnId) -> u32 {
        self.place_of[Node::begin(txn, self.events_per_txn).0 as usize]
    }

    fn commit(&self, txn: TxnId) -> u32 {
        self.place_of[Node::commit(txn, self.events_per_txn).0 as usize]
    }

    fn has(&self, txn: TxnId) -> bool {
        self.begin(txn) != NOWHERE && self.commit(txn) != NOWHERE
    }

    fn check_begins(self, history: &History) -> Result<Self, Flaw> {
        match history.txns().find(|&txn| self.begin(txn) > self.commit(txn)) {
            Some(txn) => Err(Flaw::new(Place::Txn(txn), "it commits before it begins")),
            None => Ok(self),
        }
    }

    fn check_sessions(&self, history: &History) -> Result<(), Flaw> {
        for session in history.sessions() {
            let mut previous: Option<TxnId> = None;
            for txn in history.session_txns(session).filter(|&txn| self.has(txn)) {
                if let Some(previous) = previous.filter(|&previous| self.commit(previous) > self.begin(txn)) {
                    let why = format!(
                        "transaction {} is before it in its session, but not in the order",
                        previous.0
                    );
                    return Err(Flaw::new(Place::Txn(txn), why));
                }
                previous = Some(txn);
            }
        }
        Ok(())
    }
}

/// The latest request so far among the begins and among the commits.
#[derive(Clone, Copy, Default)]
struct Latest([Option<(i64, u32)>; 2]);

impl Latest {
    fn note(&mut self, is_commit: bool, request: i64, place: usize) {
        let slot = &mut self.0[usize::from(is_commit)];
        if slot.is_none_or(|(latest, _)| latest < request) {
            *slot = Some((request, place as u32));
        }
    }

    /// An event of the order that real time puts after an event that responded then.
    fn overtaken(&self, level: &Level, from_commit: bool, response: i64, clock_skew: i64) -> Option<u32> {
        [false, true]
            .into_iter()
            .filter(|&to_commit| obliges(level.real_time, from_commit, to_commit))
            .filter_map(|to_commit| self.0[usize::from(to_commit)])
            .find(|&(request, _)| is_before(response, clock_skew, request))
            .map(|(_, place)| place)
    }
}

/// No event may stand after one that it precedes in real time. Within a session the skew is zero, so each session keeps
/// its own latest requests; a transaction that is too late by the skew of all is also too late by none, so all sessions together
/// can be asked first.
fn check_real_time(history: &History, level: &Level, order: &[Node]) -> Result<(), Flaw> {
    let events_per_txn = level.events_per_txn();
    let mut overall = Latest::default();
    let mut by_session = vec![Latest::default(); history.session_count()];
    for (place, &node) in order.iter().enumerate() {
        let txn = TxnId(node.0 / events_per_txn);
        let is_commit = node.is_commit(events_per_txn);
        let of_session = &mut by_session[history.session_of(txn).index()];
        let interval = interval(history, txn, node, events_per_txn);
        let overtaken = interval.response.and_then(|response| {
            let overall = overall.overtaken(level, is_commit, response, level.clock_skew);
            overall.or_else(|| of_session.overtaken(level, is_commit, response, 0))
        });
        if let Some(other) = overtaken {
            let why = format!("it is before entry {other} in real time, but not in the order");
            return Err(Flaw::new(Place::Order(place), why));
        }
        if let Some(request) = interval.request {
            overall.note(is_commit, request, place);
            of_session.note(is_commit, request, place);
        }
    }
    Ok(())
}

/// Replays a history with predicates.
fn replay_rows(history: &History, level: &Level, places: &Places, order: &[Node]) -> Result<(), Flaw> {
    let mut rows = Rows::new(history);
    for (place, &node) in order.iter().enumerate() {
        let txn = TxnId(node.0 / places.events_per_txn);
        if node == Node::begin(txn, places.events_per_txn) {
            rows.begin(txn)?;
        }
        if node != Node::commit(txn, places.events_per_txn) {
            continue;
        }
        let began = places.begin(txn);
        for (key, since) in rows.commit(txn, place as u32) {
            let since = since.filter(|&since| level.core == Core::Snapshot && since > began);
            if let Some(since) = since {
                return Err(overlap(history, key, since, place));
            }
        }
    }
    Ok(())
}

fn overlap(history: &History, key: KeyId, since: u32, place: usize) -> Flaw {
    let key = history.keys().original(key);
    let why = format!("entry {since} wrote {key} between the begin and the commit of this writer of {key}");
    Flaw::new(Place::Order(place), why)
}

struct Replay<'a> {
    history: &'a History,
    level: &'a Level,
    places: &'a Places,
    observer: Observer,
    /// None: histories with predicates are replayed otherwise.
    effects: RowEffects,
    store: Store<'a>,
}

impl<'a> Replay<'a> {
    fn new(history: &'a History, level: &'a Level, places: &'a Places) -> Result<Self, Flaw> {
        let is_of_list = |op: &Op<'_>| matches!(op, Op::Append { .. } | Op::ReadList { .. });
        let has_lists = history.has_lists() && live_ops(history).any(|(.., op)| is_of_list(&op));
        let store = Store::new(history, has_lists)?;
        Ok(Self {
            history,
            level,
            places,
            observer: Observer::new(history),
            effects: RowEffects::default(),
            store,
        })
    }

    fn run(mut self, order: &[Node]) -> Result<(), Flaw> {
        let events_per_txn = self.places.events_per_txn;
        for (place, &node) in order.iter().enumerate() {
            let txn = TxnId(node.0 / events_per_txn);
            if node == Node::begin(txn, events_per_txn) {
                self.begin(txn)?;
            }
            if node == Node::commit(txn, events_per_txn) {
                self.commit(txn, place as u32)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, txn: TxnId) -> Result<(), Flaw> {
        let store = &mut self.store;
        self.observer.visit(self.history, &self.effects, txn, |seen| match seen {
            Seen::Contradiction { op } => {
                let why = "its own transaction had seen or written something else before, or it is no answer";
                Err(Flaw::new(Place::Read(op), why))
            }
            Seen::External { op, key, look } => store.look(txn, op, key, look),
        })
    }

    fn commit(&mut self, txn: TxnId, place: u32) -> Result<(), Flaw> {
        let began = self.places.begin(txn);
        for (key, ..) in writes(self.history, txn).filter(|_| self.level.core == Core::Snapshot) {
            if let Some(since) = self.store.since(key).filter(|&since| since > began) {
                return Err(overlap(self.history, key, since, place as usize));
            }
        }
        self.store.commit(txn, place)
    }
}
