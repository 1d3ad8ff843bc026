//! Whether a level holds, by trying every outcome, every initial value and every order of events.
//!
//! Straight from the definition: a begin must see what the store holds, a commit changes the store, and the order
//! respects what the level says. Three prunings, each of which cannot be wrong: an event is placed only after all that
//! must precede it; a commit that makes the commit of an open writer of the same key impossible is not placed; and a
//! situation (who has begun, who has committed, what the store holds) from which there was no way on is not entered
//! again, since nothing else matters for what can follow.
//!
//! It shares no code with the checker or the engines. For up to 16 transactions and 12 keys.

mod facts;
pub(crate) mod real_time;

use certify::{Certificate, Core, Level, Node};
use history::{History, TxnId};
use rustc_hash::FxHashSet;

use facts::Facts;

/// Whether a level holds for a history of a few transactions.
pub fn holds(history: &History, level: &Level) -> bool {
    explain(history, level).is_some()
}

/// A certificate that a level holds, if it does.
pub fn explain(history: &History, level: &Level) -> Option<Certificate> {
    let facts = Facts::of(history);
    let must_precede = must_precede(history, &facts, level);
    for store in facts.initial_stores() {
        for taken in facts.outcomes() {
            let mut search = Search {
                facts: &facts,
                level,
                must_precede: &must_precede,
                taken,
                order: Vec::new(),
                dead: FxHashSet::default(),
            };
            if search.extend(Situation::start(store.clone())) {
                return Some(certificate(&facts, level, taken, &search.order));
            }
        }
    }
    None
}

/// An event: a transaction's place among the live ones, and whether it is the commit.
type Event = (usize, bool);

/// A set of events; begins in the low half, commits in the high half.
fn bit((txn, is_commit): Event) -> u32 {
    1 << (txn + if is_commit { 16 } else { 0 })
}

/// For each live transaction the events that precede its begin, and those that precede its commit.
fn must_precede(history: &History, facts: &Facts, level: &Level) -> Vec<[u32; 2]> {
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
#[derive(Clone)]
struct Situation {
    /// The events that were placed.
    placed: u32,
    /// For each key the number of the value it holds.
    store: Vec<u8>,
}

impl Situation {
    fn start(store: Vec<u8>) -> Self {
        Self { placed: 0, store }
    }

    fn has(&self, event: Event) -> bool {
        self.placed & bit(event) != 0
    }

    fn packed(&self) -> u128 {
        let store = self.store.iter().fold(0, |packed, &value| packed << 8 | u128::from(value));
        store << 32 | u128::from(self.placed)
    }
}

struct Search<'a> {
    facts: &'a Facts,
    level: &'a Level,
    must_precede: &'a [[u32; 2]],
    /// The transactions that are taken as committed, as a set.
    taken: u32,
    order: Vec<Event>,
    dead: FxHashSet<u128>,
}

impl Search<'_> {
    fn extend(&mut self, situation: Situation) -> bool {
        let taken: Vec<usize> =
            (0..self.facts.txns.len()).filter(|&txn| self.taken >> txn & 1 == 1).collect();
        if taken.iter().all(|&txn| situation.has((txn, true))) {
            return true;
        }
        if !self.dead.insert(situation.packed()) {
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

    fn run_at_once(&self, situation: &Situation, txn: usize) -> Option<Situation> {
        let begun = self.begin(situation, txn)?;
        self.commit(&begun, txn)
    }

    fn begin(&self, situation: &Situation, txn: usize) -> Option<Situation> {
        let reads = &self.facts.txns[txn].reads;
        let sees = reads.iter().all(|&(key, value)| situation.store[key] == value);
        (sees && self.is_free(situation, (txn, false))).then(|| Situation {
            placed: situation.placed | bit((txn, false)),
            store: situation.store.clone(),
        })
    }

    fn commit(&self, situation: &Situation, txn: usize) -> Option<Situation> {
        let writes = &self.facts.txns[txn].writes;
        let is_open = |other: usize| situation.has((other, false)) && !situation.has((other, true));
        let conflicts = |other: usize| other != txn && is_open(other) && self.facts.conflict(txn, other);
        let is_refused = self.level.core == Core::Snapshot && (0..self.facts.txns.len()).any(conflicts);
        if is_refused || !self.is_free(situation, (txn, true)) {
            return None;
        }
        let mut next = situation.clone();
        next.placed |= bit((txn, true));
        for &(key, value) in writes {
            next.store[key] = value;
        }
        Some(next)
    }

    /// Whether all that must precede an event was placed, among what is taken as committed.
    fn is_free(&self, situation: &Situation, event: Event) -> bool {
        let taken = self.taken | self.taken << 16;
        self.must_precede[event.0][usize::from(event.1)] & taken & !situation.placed == 0
    }
}

fn certificate(facts: &Facts, level: &Level, taken: u32, order: &[Event]) -> Certificate {
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
