//! Whether a level holds, by trying every outcome, every initial value and every order of events.
//!
//! Straight from the definition: the store holds a row or nothing for each key; a begin sees the store, and the
//! transaction is run on what it sees, operation by operation, with its own changes in it; it may begin there only if
//! each answer is the one it had. A commit puts what it wrote into the store, and the order respects what the level
//! says. What a write by predicate or an append writes depends on what it finds, so nothing is known of a transaction
//! before it is run; the keys that it wrote in that run are those that count for two writers of a key.
//!
//! For prefix, where two writers of a key may overlap, a list keeps every element: a commit puts what the transaction
//! appended behind what the list holds then. Recorded versions ascend along the commits of a key, and one version has one place.
//!
//! Three prunings, each of which cannot be wrong: an event is placed only after all that must precede it; a commit that
//! makes the commit of an open writer of the same key impossible is not placed; and a situation (which transactions have begun and
//! what they will write, which have committed, what the store holds) from which there was no way on is not entered again, since
//! nothing else matters for what can follow.
//!
//! It shares no code with the index, the checker or the engines. For up to 16 transactions and 12 keys.

mod facts;
pub(crate) mod real_time;
mod run;
mod store;
mod variants;

use certify::{Certificate, Core, Level, Node};
use history::{History, TxnId};
use rustc_hash::{FxHashMap, FxHashSet};

use facts::Facts;
use run::Effect;
use store::{Cells, Slot};

/// Whether a level holds for a history of a few transactions.
///
/// # Panics
/// If there is a [`refusal`].
pub fn holds(history: &History, level: &Level) -> bool {
    explain(history, level).is_some()
}

/// Why the oracle has no answer for a history: it is too large, a predicate in it has no meaning, or it says nothing of
/// initial values on which a predicate or a list depends.
pub fn refusal(history: &History) -> Option<String> {
    facts::refusal(history)
}

/// A certificate that a level holds, if it does.
///
/// # Panics
/// If there is a [`refusal`].
pub fn explain(history: &History, level: &Level) -> Option<Certificate> {
    let facts = Facts::of(history);
    let must_precede = must_precede(history, &facts, level);
    let mut runs = Runs { facts: &facts, cells: Cells::default(), effects: FxHashMap::default() };
    for store in facts.initial_stores(&mut runs.cells) {
        for taken in facts.outcomes() {
            let mut search = OracleSearch {
                runs: &mut runs,
                level,
                must_precede: &must_precede,
                taken,
                order: Vec::new(),
                dead: FxHashSet::default(),
            };
            if search.extend(Situation::start(store.clone())) {
                let order = search.order;
                return Some(certificate(&facts, level, taken, &order));
            }
        }
    }
    None
}

/// Runs transactions, each only once on the same state.
struct Runs<'h, 'f> {
    facts: &'f Facts<'h>,
    cells: Cells,
    effects: FxHashMap<(usize, Vec<u16>), Option<Effect>>,
}

impl Runs<'_, '_> {
    fn run(&mut self, txn: usize, store: &[Slot]) -> Option<Effect> {
        let state: Vec<u16> = store.iter().map(|slot| slot.cell).collect();
        let (facts, cells) = (self.facts, &mut self.cells);
        let effect = self.effects.entry((txn, state));
        let effect =
            effect.or_insert_with_key(|(txn, state)| run::run(facts, cells, &facts.txns[*txn], state));
        effect.clone()
    }
}

/// An event: a transaction's place among the live ones, and whether it is the commit.
type Event = (usize, bool);

/// A set of events; begins in the low half, commits in the high half.
fn bit((txn, is_commit): Event) -> u32 {
    1 << (txn + if is_commit { 16 } else { 0 })
}

/// For each live transaction the events that precede its begin, and those that precede its commit.
fn must_precede(history: &History, facts: &Facts<'_>, level: &Level) -> Vec<[u32; 2]> {
    let count = facts.txns.len();
    let mut sets = vec![[0; 2]; count];
    for later in 0..count {
        for earlier in (0..count).filter(|&earlier| earlier != later) {
            let (t, u) = (facts.txns[earlier].id, facts.txns[later].id);
            let in_session = history.session_of(t) == history.session_of(u) && t < u;
            if level.sessions && in_session {
                sets[later][0] |= bit((earlier, true));
            }
            for (from, to) in [(false, false), (false, true), (true, false), (true, true)] {
                if real_time::obliges(history, level, (t, from), (u, to)) {
                    sets[later][usize::from(to)] |= bit((earlier, from));
                }
            }
        }
    }
    sets
}

/// All that matters for what can follow.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Situation {
    /// The events that were placed.
    placed: u32,
    /// For each key what it holds.
    store: Vec<Slot>,
    /// The transactions that have begun and not committed, in order, with what they will write.
    open: Vec<(usize, Effect)>,
}

impl Situation {
    fn start(store: Vec<Slot>) -> Self {
        Self { placed: 0, store, open: Vec::new() }
    }

    fn has(&self, event: Event) -> bool {
        self.placed & bit(event) != 0
    }
}

struct OracleSearch<'a, 'h, 'f> {
    runs: &'a mut Runs<'h, 'f>,
    level: &'a Level,
    must_precede: &'a [[u32; 2]],
    /// The transactions that are taken as committed, as a set.
    taken: u32,
    order: Vec<Event>,
    dead: FxHashSet<Situation>,
}

impl OracleSearch<'_, '_, '_> {
    fn extend(&mut self, situation: Situation) -> bool {
        let count = self.must_precede.len();
        let taken: Vec<usize> = (0..count).filter(|&txn| self.taken >> txn & 1 == 1).collect();
        if taken.iter().all(|&txn| situation.has((txn, true))) {
            return true;
        }
        if !self.dead.insert(situation.clone()) {
            return false;
        }
        taken.iter().any(|&txn| self.place(&situation, txn))
    }

    /// Places the next event of a transaction, if it may come now, and goes on from there.
    fn place(&mut self, situation: &Situation, txn: usize) -> bool {
        let next = match self.level.core {
            _ if situation.has((txn, true)) => return false,
            Core::Serializable => self.run_at_once(situation, txn),
            Core::Snapshot | Core::Prefix if situation.has((txn, false)) => self.commit(situation, txn),
            Core::Snapshot | Core::Prefix => self.begin(situation, txn),
        };
        let Some(next) = next else { return false };
        let event = (txn, next.has((txn, true)));
        self.order.push(event);
        let found = self.extend(next);
        if !found {
            self.order.pop();
        }
        found
    }

    fn run_at_once(&mut self, situation: &Situation, txn: usize) -> Option<Situation> {
        let begun = self.begin(situation, txn)?;
        self.commit(&begun, txn)
    }

    fn begin(&mut self, situation: &Situation, txn: usize) -> Option<Situation> {
        if !self.is_free(situation, (txn, false)) {
            return None;
        }
        let mut effect = self.runs.run(txn, &situation.store)?;
        let mut next = situation.clone();
        next.placed |= bit((txn, false));
        let versions_seen = std::mem::take(&mut effect.versions_seen);
        let are_right = versions_seen.iter().all(|&(key, version)| next.store[key].told(version));
        let place = next.open.partition_point(|&(other, _)| other < txn);
        next.open.insert(place, (txn, effect));
        are_right.then_some(next)
    }

    fn commit(&mut self, situation: &Situation, txn: usize) -> Option<Situation> {
        let mut next = situation.clone();
        let place = next.open.iter().position(|&(open, _)| open == txn)?;
        let (_, effect) = next.open.remove(place);
        let conflicts = |other: &Effect| {
            let writes = |key: usize| other.writes.iter().any(|&(written, ..)| written == key);
            effect.writes.iter().any(|&(key, ..)| writes(key))
        };
        let is_refused =
            self.level.core == Core::Snapshot && next.open.iter().any(|(_, open)| conflicts(open));
        if is_refused || !self.is_free(situation, (txn, true)) {
            return None;
        }
        next.placed |= bit((txn, true));
        for &(key, cell, version) in &effect.writes {
            let appended = effect.appended.iter().find(|(of, _)| *of == key);
            let cell = match appended.filter(|_| self.level.core == Core::Prefix) {
                Some((_, elements)) => self.runs.cells.appended(next.store[key].cell, elements)?,
                None => cell,
            };
            if !next.store[key].overwrite(cell, version) {
                return None;
            }
        }
        Some(next)
    }

    /// Whether all that must precede an event was placed, among what is taken as committed.
    fn is_free(&self, situation: &Situation, event: Event) -> bool {
        let taken = self.taken | self.taken << 16;
        self.must_precede[event.0][usize::from(event.1)] & taken & !situation.placed == 0
    }
}

fn certificate(facts: &Facts<'_>, level: &Level, taken: u32, order: &[Event]) -> Certificate {
    let events_per_txn = level.events_per_txn();
    let node = |&(txn, is_commit): &Event| match is_commit {
        true => Node::commit(facts.txns[txn].id, events_per_txn),
        false => Node::begin(facts.txns[txn].id, events_per_txn),
    };
    let unknown =
        facts.txns.iter().enumerate().filter(|&(place, txn)| txn.is_unknown && taken >> place & 1 == 1);
    let committed_unknown: Vec<TxnId> = unknown.map(|(_, txn)| txn.id).collect();
    Certificate::Holds { order: order.iter().map(node).collect(), committed_unknown }
}

/// Readings of a history that the oracle refuses, in which what it asks for is settled in some way: initial values are
/// recorded, and predicates without a meaning have one. If a level holds for one of them, it holds for the history.
pub fn variants(history: &History) -> Vec<History> {
    variants::of(history)
}
