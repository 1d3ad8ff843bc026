//! A beam search over how far each session has come, for few sessions, keys and values.
//!
//! A state is a position in each session and what each key holds. From a state, each session whose next transaction
//! sees what is there leads to another; a transaction that only reads is taken at once, which loses nothing. States that
//! are equal are one: with few values they repeat. Of the states after so many transactions the best are kept, those
//! whose sessions can go on soonest: for a session that waits for a value, that is the distance to the next write of
//! that value in another session. A state in which a session waits for a value that is never written again is dropped.
//!
//! Only an order can be found, never a violation. Transactions of unknown outcome, real time, told versions and levels
//! with begins apart from commits are left to the other stages; a serial order explains the latter too.
//!
//! When no state is left near the end, the transactions that are left are put back into the order (`schedule/insert`).
//!
//! A step costs the states that are kept times the sessions; `EFFORT` bounds all attempts together. It runs after
//! saturation, which finds most violations, and before the choices are collected.
//!
//! How far it reaches (development build, busy machine): 4 sessions of 100 transactions of two operations on 5 keys with
//! 3 values, 0.2 s; 8 sessions of 12 that read two and write two of 5 keys with 2 values, 0.16 s. It does not reach 8
//! sessions of 200: with 2,048 states it comes to transaction 1,589 of 1,600, and 8 cannot be put back.
//!
//! What was tried: counting each session that waits (8 points beside the distance) is much worse, 512 states then end at
//! 66 of 1,600 instead of at 914 to 1,245; without any weight for sessions that are behind, 512 states end at 1,245;
//! with the weight 16 at 77, but 2,048 states at 1,594. No weight is best at every width, so several are tried.

use history::TxnId;
use order::NONE;
use rustc_hash::FxHashSet;

use crate::classes::Classes;
use crate::options::{Limit, Patience};
use crate::problem::{INITIAL, Problem, Status};
use crate::schedule::Past;

/// How many states are kept, one attempt after the other.
const WIDTHS: [usize; 3] = [64, 512, 2048];

/// How much it counts, in each attempt, that a session is behind the others.
const WEIGHTS: [u64; 3] = [4, 1, 16];

/// How many transactions may be left when the rest is put back, and for how many states that is tried.
const LEFT: usize = 100;
const PUT_BACK: usize = 32;

/// How many places are tried for a transaction that is put back.
const TRIES: usize = 256;

/// The most states of all attempts together.
const EFFORT: usize = 12_000_000;

/// The most sessions and keys of a state.
const LARGEST_STATE: usize = 128;

/// A transaction, with its reads and writes as keys and classes.
#[derive(Clone, Default)]
struct Step {
    txn: u32,
    /// Key, class, and whether the initial state fits too.
    reads: Vec<(u32, u32, bool)>,
    writes: Vec<(u32, u32)>,
}

/// The order of all transactions, if the search finds one.
pub(crate) fn search(
    problem: &Problem<'_>,
    seed: u64,
    limit: &dyn Fn() -> Option<Limit>,
) -> Result<Option<Vec<TxnId>>, Limit> {
    let Some(mut beam) = Beam::new(problem, seed) else { return Ok(None) };
    let mut patience = Patience::new(limit);
    let mut effort = EFFORT;
    for width in WIDTHS {
        for weight in WEIGHTS {
            beam.weight = weight;
            match effort.checked_sub(width * beam.total) {
                Some(left) => effort = left,
                None => return Ok(None),
            }
            if let Some(order) = beam.run(width, &mut patience)? {
                return Ok(Some(order));
            }
        }
    }
    Ok(None)
}

struct Beam<'b, 'a> {
    problem: &'b Problem<'a>,
    classes: Classes,
    weight: u64,
    sessions: Vec<Vec<Step>>,
    key_count: usize,
    total: usize,
    /// For each class and session the positions of its writes, as ranges of `places`.
    place_start: Vec<u32>,
    places: Vec<u32>,
    seed: u64,
}

/// A state that may be kept: its cost, where it comes from, and what it is.
#[derive(Clone, Copy)]
struct Candidate {
    cost: u64,
    parent: u32,
    session: u32,
}

/// The states after so many transactions, end to end.
struct States {
    positions: Vec<u32>,
    holders: Vec<u32>,
}

impl<'b, 'a> Beam<'b, 'a> {
    fn new(problem: &'b Problem<'a>, seed: u64) -> Option<Self> {
        let (history, index) = (problem.history, problem.index);
        let is_plain = index.selected_groups().len() == 0 && index.version_order().is_empty();
        let size = history.session_count() + history.keys().len();
        let is_settled = history.txns().all(|txn| problem.status[txn.index()] != Status::Maybe);
        if !is_plain || !is_settled || size > LARGEST_STATE {
            return None;
        }
        let classes = Classes::of(index);
        let class_of_write = |write: usize| {
            let key = index.writes()[write].key;
            classes.of_holder(key, write as u32).last().unwrap_or(write as u32)
        };
        let step = |txn: TxnId| Step {
            txn: txn.0,
            reads: index
                .reads_of(txn)
                .map(|read| (index.reads()[read].key.0, classes.of_read(read), index.sources(read).initial))
                .collect(),
            writes: index
                .writes_of(txn)
                .map(|write| (index.writes()[write].key.0, class_of_write(write)))
                .collect(),
        };
        let steps =
            |session| history.session_txns(session).filter(|&txn| problem.is_in(txn)).map(step).collect();
        let sessions: Vec<Vec<Step>> = history.sessions().map(steps).collect();
        let class_count = classes.count;
        let mut beam = Self {
            problem,
            classes,
            weight: 1,
            total: sessions.iter().map(Vec::len).sum(),
            sessions,
            key_count: history.keys().len(),
            place_start: Vec::new(),
            places: Vec::new(),
            seed,
        };
        beam.find_places(class_count);
        Some(beam)
    }

    fn find_places(&mut self, class_count: usize) {
        let mut found: Vec<(u32, u32, u32)> = Vec::new();
        for (session, steps) in self.sessions.iter().enumerate() {
            for (place, step) in steps.iter().enumerate() {
                found.extend(step.writes.iter().map(|&(_, class)| (class, session as u32, place as u32)));
            }
        }
        found.sort_unstable();
        let width = self.sessions.len();
        self.place_start = vec![0; class_count * width + 1];
        for &(class, session, _) in &found {
            self.place_start[class as usize * width + session as usize + 1] += 1;
        }
        for place in 1..self.place_start.len() {
            self.place_start[place] += self.place_start[place - 1];
        }
        self.places = found.into_iter().map(|(_, _, place)| place).collect();
    }

    /// How far a session is from its next write of a class.
    fn distance(&self, class: u32, session: usize, position: u32) -> u32 {
        let row = class as usize * self.sessions.len() + session;
        let places = &self.places[self.place_start[row] as usize..self.place_start[row + 1] as usize];
        places.get(places.partition_point(|&place| place < position)).map_or(NONE, |&place| place - position)
    }

    fn run(&self, width: usize, patience: &mut Patience<'_>) -> Result<Option<Vec<TxnId>>, Limit> {
        let mut states =
            States { positions: vec![0; self.sessions.len()], holders: vec![INITIAL; self.key_count] };
        let mut steps: Vec<Vec<(u32, u32)>> = Vec::with_capacity(self.total);
        for _ in 0..self.total {
            let mut candidates = self.expand(&states, patience)?;
            if candidates.is_empty() {
                let count = steps.last().map_or(0, Vec::len).min(PUT_BACK);
                let is_near = self.total - steps.len() <= LEFT;
                let found =
                    (0..count).filter(|_| is_near).find_map(|state| self.put_back(self.trace(&steps, state)));
                return Ok(found);
            }
            if candidates.len() > width {
                candidates.select_nth_unstable_by_key(width, |candidate| candidate.cost);
                candidates.truncate(width);
            }
            states = self.follow(&states, &candidates);
            steps.push(candidates.iter().map(|candidate| (candidate.parent, candidate.session)).collect());
        }
        Ok(Some(self.trace(&steps, 0)))
    }

    /// Puts the transactions that are left into an order, behind the others or where they change nothing for them.
    fn put_back(&self, order: Vec<TxnId>) -> Option<Vec<TxnId>> {
        let mut past = Past::new(self.key_count);
        let mut floors = vec![0; self.sessions.len()];
        let mut positions = vec![0; self.sessions.len()];
        for &txn in &order {
            let session = self.problem.history.session_of(txn).index();
            floors[session] = past.push(self.problem, txn);
            positions[session] += 1;
        }
        let mut left = self.total - order.len();
        while left > 0 {
            let before = left;
            for session in 0..self.sessions.len() {
                while let Some(step) = self.sessions[session].get(positions[session]) {
                    let txn = TxnId(step.txn);
                    let mut tries = TRIES;
                    let label = past.append(self.problem, &self.classes, txn).or_else(|| {
                        past.insert(self.problem, &self.classes, txn, floors[session], &mut tries)
                    });
                    let Some(label) = label else { break };
                    floors[session] = label;
                    positions[session] += 1;
                    left -= 1;
                }
            }
            if left == before {
                return None;
            }
        }
        Some(past.order().collect())
    }

    /// The transactions that lead to one of the last states.
    fn trace(&self, steps: &[Vec<(u32, u32)>], state: usize) -> Vec<TxnId> {
        let mut at = state as u32;
        let mut taken: Vec<u32> = Vec::with_capacity(steps.len());
        for step in steps.iter().rev() {
            let (parent, session) = step[at as usize];
            taken.push(session);
            at = parent;
        }
        let mut positions = vec![0; self.sessions.len()];
        let mut order = Vec::with_capacity(steps.len());
        for session in taken.into_iter().rev() {
            let position: &mut usize = &mut positions[session as usize];
            order.push(TxnId(self.sessions[session as usize][*position].txn));
            *position += 1;
        }
        order
    }

    /// All states that follow, each once.
    fn expand(&self, states: &States, patience: &mut Patience<'_>) -> Result<Vec<Candidate>, Limit> {
        let count = states.positions.len() / self.sessions.len();
        let mut seen: FxHashSet<u64> = FxHashSet::default();
        let mut candidates = Vec::new();
        let (mut positions, mut holders) = (Vec::new(), Vec::new());
        for parent in 0..count {
            patience.spend(64 * self.sessions.len())?;
            let old_positions = &states.positions[parent * self.sessions.len()..][..self.sessions.len()];
            let old_holders = &states.holders[parent * self.key_count..][..self.key_count];
            let next = |session: &usize| self.sessions[*session].get(old_positions[*session] as usize);
            let is_enabled = |session: &usize| next(session).is_some_and(|step| fits(step, old_holders));
            let mut enabled: Vec<usize> = (0..self.sessions.len()).filter(is_enabled).collect();
            if let Some(&reader) =
                enabled.iter().find(|session| next(session).is_some_and(|step| step.writes.is_empty()))
            {
                enabled = vec![reader];
            }
            for session in enabled {
                positions.clear();
                positions.extend_from_slice(old_positions);
                holders.clear();
                holders.extend_from_slice(old_holders);
                self.take(session, &mut positions, &mut holders);
                let hash = self.hash(&positions, &holders);
                if !seen.insert(hash) {
                    continue;
                }
                if let Some(cost) = self.cost(&positions, &holders, hash) {
                    candidates.push(Candidate { cost, parent: parent as u32, session: session as u32 });
                }
            }
        }
        Ok(candidates)
    }

    fn take(&self, session: usize, positions: &mut [u32], holders: &mut [u32]) {
        let step = &self.sessions[session][positions[session] as usize];
        positions[session] += 1;
        step.writes.iter().for_each(|&(key, class)| holders[key as usize] = class);
    }

    fn hash(&self, positions: &[u32], holders: &[u32]) -> u64 {
        let mix = |hash: u64, &word: &u32| {
            (hash.rotate_left(23) ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        let hash = positions.iter().chain(holders).fold(self.seed ^ 0x51ed_270b, mix);
        hash ^ (hash >> 29)
    }

    /// How far a state is from going on; `None` if a session waits for what never comes.
    fn cost(&self, positions: &[u32], holders: &[u32], hash: u64) -> Option<u64> {
        let mut cost = 0u64;
        let mean =
            positions.iter().map(|&position| u64::from(position)).sum::<u64>() / positions.len() as u64;
        for (session, steps) in self.sessions.iter().enumerate() {
            let Some(step) = steps.get(positions[session] as usize) else { continue };
            for &(key, class, initial) in &step.reads {
                let holder = holders[key as usize];
                if holder == class || (initial && holder == INITIAL) {
                    continue;
                }
                let others = (0..self.sessions.len()).filter(|&other| other != session);
                let nearest = others.map(|other| self.distance(class, other, positions[other])).min();
                match nearest {
                    None | Some(NONE) => return None,
                    Some(distance) => cost += u64::from(distance.min(64)),
                }
            }
            let behind = mean.saturating_sub(u64::from(positions[session]));
            cost += self.weight * behind * behind / 8;
        }
        Some(cost << 16 | (hash & 0xffff))
    }

    fn follow(&self, states: &States, candidates: &[Candidate]) -> States {
        let mut next = States { positions: Vec::new(), holders: Vec::new() };
        for candidate in candidates {
            let parent = candidate.parent as usize;
            let (at, key) = (next.positions.len(), next.holders.len());
            next.positions
                .extend_from_slice(&states.positions[parent * self.sessions.len()..][..self.sessions.len()]);
            next.holders.extend_from_slice(&states.holders[parent * self.key_count..][..self.key_count]);
            let (positions, holders) = (&mut next.positions[at..], &mut next.holders[key..]);
            self.take(candidate.session as usize, positions, holders);
        }
        next
    }
}

/// Whether the reads of a transaction see what is there.
fn fits(step: &Step, holders: &[u32]) -> bool {
    step.reads.iter().all(|&(key, class, initial)| {
        let holder = holders[key as usize];
        holder == class || (initial && holder == INITIAL)
    })
}
