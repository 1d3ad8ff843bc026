//! A beam search over how far each session has come, for few sessions, keys and values.
//!
//! A state is a position in each session and what each key holds. From a state, each session whose next transaction
//! sees what is there leads to another; a transaction that only reads is taken at once, which loses nothing. States that
//! are equal are one: with few values they repeat. Of the states after so many transactions the best are kept, those
//! whose sessions can go on soonest: for a session that waits for a value, that is the distance to the next write of
//! that value in another session. A state in which a session waits for a value that is never written again is dropped.
//!
//! With few values a state also costs what is left to read of each value against what is left to write of it: a state
//! that used up the writes of a value without its readers ends long before the others. A transaction that writes what
//! is there already is taken at once then. That may lose an order, but keeps states apart that differ in more.
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
//! 3 values, 0.1 s; 8 sessions of 12 that read two and write two of 5 keys with 2 values, 0.03 s; 8 sessions of 200 like
//! the first, 2 to 14 s for four of seven seeds. For the others each attempt ends some ten transactions before the end,
//! or long before.
//!
//! What was tried on 8 sessions of 200, with 512 states for the first four of these seeds: without the balance of reads
//! and writes no attempt reaches the end, with it one to three do, each balance for others. If transactions that write
//! what is there are not taken at once, none or one does. Noise in the cost, other weights, and dropping states in which
//! a session cannot go on even if values are never overwritten did not help. Counting each session that waits (8 points
//! beside the distance) is much worse. No setting is best for every history, so several are tried.
//!
//! Also tried: a beam in which a wrong read has a price, so that every attempt reaches the end. With 64 states it leaves 4
//! to 14 wrong reads of 8 sessions of 200, 54 of six histories together if the next two transactions of each session are
//! asked for what they wait for and 94 if only the next is; 512 states leave 3 and 2,048 states 2 on the history of the
//! table in `docs/limits.md`. If it goes back 64 transactions and keeps 512 states where all states have a new wrong read,
//! it comes to transaction 1,593 of 1,600 without a wrong read after a million states, and then fails at the end however
//! wide it is. It lost 4 sessions of 100, which the beam without wrong reads decides, so it was not taken. Searching again
//! in a window around a wrong read did not pay: the end of every window is as narrow as the end of the history.

use history::TxnId;
use order::NONE;
use rustc_hash::FxHashSet;

use crate::classes::Classes;
use crate::options::{Limit, Patience};
use crate::problem::{INITIAL, Problem, Status};
use crate::schedule::Past;

/// One search from the begin.
#[derive(Clone, Copy)]
struct Attempt {
    /// How many states are kept.
    width: usize,
    /// How much it counts that a session is behind the others.
    weight: u64,
    balance: Balance,
}

/// How much it counts that more of a value is left to read than to write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Balance {
    Ignored,
    /// The ratio.
    Ratio,
    /// The ratio, times the reads that are left.
    Weighted,
}

/// The attempts, one after the other; those with a balance where values are few.
const ATTEMPTS: [Attempt; 11] = [
    Attempt { width: 64, weight: 1, balance: Balance::Weighted },
    Attempt { width: 64, weight: 4, balance: Balance::Ignored },
    Attempt { width: 64, weight: 1, balance: Balance::Ignored },
    Attempt { width: 512, weight: 1, balance: Balance::Weighted },
    Attempt { width: 512, weight: 1, balance: Balance::Ratio },
    Attempt { width: 512, weight: 4, balance: Balance::Ignored },
    Attempt { width: 512, weight: 1, balance: Balance::Ignored },
    Attempt { width: 2048, weight: 1, balance: Balance::Weighted },
    Attempt { width: 2048, weight: 1, balance: Balance::Ratio },
    Attempt { width: 2048, weight: 16, balance: Balance::Ignored },
    Attempt { width: 2048, weight: 4, balance: Balance::Ignored },
];

/// The most values of all keys together for which what is left is counted.
const FEW_CLASSES: usize = 128;

/// How many transactions may be left when the rest is put back, and for how many states that is tried.
const LEFT: usize = 100;
const PUT_BACK: usize = 32;

/// How many places are tried for a transaction that is put back.
const TRIES: usize = 256;

/// The most states of all attempts together.
const EFFORT: usize = 12_000_000;

/// The most distances, of all values at all positions together: 64 MB.
const MOST_DISTANCES: usize = 1 << 24;

/// The cost of a transaction that a session waits for.
const UNIT: u64 = 16;

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
    let has_few_values = !beam.left_at_first.is_empty();
    for attempt in ATTEMPTS {
        if attempt.balance != Balance::Ignored && !has_few_values {
            continue;
        }
        beam.attempt = attempt;
        match effort.checked_sub(attempt.width * beam.total) {
            Some(left) => effort = left,
            None => return Ok(None),
        }
        if let Some(order) = beam.run(&mut patience)? {
            return Ok(Some(order));
        }
    }
    Ok(None)
}

/// Whether a state of the search is small enough.
pub(crate) fn suits(problem: &Problem<'_>) -> bool {
    problem.history.session_count() + problem.history.keys().len() <= LARGEST_STATE
}

struct Beam<'b, 'a> {
    problem: &'b Problem<'a>,
    classes: Classes,
    attempt: Attempt,
    sessions: Vec<Vec<Step>>,
    key_count: usize,
    total: usize,
    /// For each class a row: for each session the distances to its next write of the class, position by position.
    distances: Vec<u32>,
    row: usize,
    session_start: Vec<usize>,
    /// For each class what is to be read and written of it; empty if classes are many.
    left_at_first: Vec<Left>,
    seed: u64,
}

/// What is left of a class.
#[derive(Clone, Copy, Default)]
struct Left {
    key: u32,
    /// Whether a read of it fits the initial state too.
    initial: bool,
    reads: u32,
    writes: u32,
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
    left: Vec<Left>,
}

impl<'b, 'a> Beam<'b, 'a> {
    fn new(problem: &'b Problem<'a>, seed: u64) -> Option<Self> {
        let (history, index) = (problem.history, problem.index);
        let is_plain = index.selected_groups().len() == 0 && index.version_order().is_empty();
        let is_settled = history.txns().all(|txn| problem.status[txn.index()] != Status::Maybe);
        if !is_plain || !is_settled || !suits(problem) {
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
        let mut sessions: Vec<Vec<Step>> = history.sessions().map(steps).collect();
        let class_count = renumber(&mut sessions, classes.count, history.keys().len());
        let mut beam = Self {
            problem,
            classes,
            attempt: ATTEMPTS[0],
            total: sessions.iter().map(Vec::len).sum(),
            sessions,
            key_count: history.keys().len(),
            distances: Vec::new(),
            row: 0,
            session_start: Vec::new(),
            left_at_first: Vec::new(),
            seed,
        };
        if class_count.saturating_mul(beam.total + beam.sessions.len()) > MOST_DISTANCES {
            return None;
        }
        beam.find_distances(class_count);
        if class_count <= FEW_CLASSES {
            beam.count_left(class_count);
        }
        Some(beam)
    }

    /// Counts what is to be read and written of each class.
    fn count_left(&mut self, class_count: usize) {
        let mut left = vec![Left::default(); class_count];
        for step in self.sessions.iter().flatten() {
            for &(key, class, initial) in &step.reads {
                let entry = &mut left[class as usize];
                (entry.key, entry.initial, entry.reads) = (key, entry.initial || initial, entry.reads + 1);
            }
            for &(key, class) in &step.writes {
                let entry = &mut left[class as usize];
                (entry.key, entry.writes) = (key, entry.writes + 1);
            }
        }
        self.left_at_first = left;
    }

    /// Finds, for each class and each position of each session, how far the next write of the class is.
    fn find_distances(&mut self, class_count: usize) {
        self.row = self.total + self.sessions.len();
        self.distances = vec![NONE; class_count * self.row];
        let mut start = 0;
        for steps in &self.sessions {
            self.session_start.push(start);
            for (position, step) in steps.iter().enumerate().rev() {
                let at = start + position;
                for class in 0..class_count {
                    let behind = self.distances[class * self.row + at + 1];
                    self.distances[class * self.row + at] = behind.saturating_add(1);
                }
                for &(_, class) in &step.writes {
                    self.distances[class as usize * self.row + at] = 0;
                }
            }
            start += steps.len() + 1;
        }
    }

    /// How far a session is from its next write of a class; `NONE` if there is none.
    #[inline]
    fn distance(&self, class: u32, session: usize, position: u32) -> u32 {
        self.distances[class as usize * self.row + self.session_start[session] + position as usize]
    }

    fn run(&self, patience: &mut Patience<'_>) -> Result<Option<Vec<TxnId>>, Limit> {
        let width = self.attempt.width;
        let mut states = States {
            positions: vec![0; self.sessions.len()],
            holders: vec![INITIAL; self.key_count],
            left: self.left_at_first.clone(),
        };
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
        let (mut positions, mut holders, mut left) = (Vec::new(), Vec::new(), Vec::new());
        let class_count = self.left_at_first.len();
        let counts = self.attempt.balance != Balance::Ignored;
        for parent in 0..count {
            patience.spend(64 * self.sessions.len())?;
            let old_positions = &states.positions[parent * self.sessions.len()..][..self.sessions.len()];
            let old_holders = &states.holders[parent * self.key_count..][..self.key_count];
            let next = |session: &usize| self.sessions[*session].get(old_positions[*session] as usize);
            let is_enabled = |session: &usize| next(session).is_some_and(|step| fits(step, old_holders));
            let mut enabled: Vec<usize> = (0..self.sessions.len()).filter(is_enabled).collect();
            let changes_nothing = |step: &Step| match counts {
                true => step.writes.iter().all(|&(key, class)| old_holders[key as usize] == class),
                false => step.writes.is_empty(),
            };
            if let Some(&at_once) = enabled.iter().find(|session| next(session).is_some_and(changes_nothing))
            {
                enabled = vec![at_once];
            }
            for session in enabled {
                positions.clear();
                positions.extend_from_slice(old_positions);
                holders.clear();
                holders.extend_from_slice(old_holders);
                left.clear();
                left.extend_from_slice(&states.left[parent * class_count..][..class_count]);
                self.take(session, &mut positions, &mut holders, &mut left);
                let hash = self.hash(&positions, &holders);
                if !seen.insert(hash) {
                    continue;
                }
                let balance = if counts { self.imbalance(&holders, &left) } else { Some(0) };
                let waiting = || self.cost(&positions, &holders);
                if let Some(cost) = balance.and_then(|balance| Some(balance + waiting()?)) {
                    let cost = cost << 16 | (hash & 0xffff);
                    candidates.push(Candidate { cost, parent: parent as u32, session: session as u32 });
                }
            }
        }
        Ok(candidates)
    }

    fn take(&self, session: usize, positions: &mut [u32], holders: &mut [u32], left: &mut [Left]) {
        let step = &self.sessions[session][positions[session] as usize];
        positions[session] += 1;
        step.writes.iter().for_each(|&(key, class)| holders[key as usize] = class);
        if !left.is_empty() {
            step.reads.iter().for_each(|&(_, class, _)| left[class as usize].reads -= 1);
            step.writes.iter().for_each(|&(_, class)| left[class as usize].writes -= 1);
        }
    }

    /// How much more is left to read than to write, in the unit of [`Self::cost`]; `None` if a value is to be read that
    /// is neither there nor written again.
    fn imbalance(&self, holders: &[u32], left: &[Left]) -> Option<u64> {
        let mut cost = 0;
        for (class, left) in left.iter().enumerate().filter(|(_, left)| left.reads > 0) {
            let holder = holders[left.key as usize];
            let is_there = holder == class as u32 || (left.initial && holder == INITIAL);
            let (reads, writes) = (u64::from(left.reads), u64::from(left.writes + u32::from(is_there)));
            cost += match self.attempt.balance {
                _ if writes == 0 => return None,
                Balance::Ignored => 0,
                Balance::Ratio => 2 * UNIT * reads / writes,
                Balance::Weighted => 2 * UNIT * reads * reads / (5 * writes),
            };
        }
        Some(cost)
    }

    fn hash(&self, positions: &[u32], holders: &[u32]) -> u64 {
        let mix = |hash: u64, &word: &u32| {
            (hash.rotate_left(23) ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        let hash = positions.iter().chain(holders).fold(self.seed ^ 0x51ed_270b, mix);
        hash ^ (hash >> 29)
    }

    /// How far a state is from going on; `None` if a session waits for what never comes.
    fn cost(&self, positions: &[u32], holders: &[u32]) -> Option<u64> {
        let mut cost = 0u64;
        // Beside a balance the distance counts half.
        let unit = if self.attempt.balance == Balance::Ignored { UNIT } else { UNIT / 2 };
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
                    Some(distance) => cost += unit * u64::from(distance.min(64)),
                }
            }
            let behind = mean.saturating_sub(u64::from(positions[session]));
            cost += UNIT * self.attempt.weight * behind * behind / 8;
        }
        Some(cost)
    }

    fn follow(&self, states: &States, candidates: &[Candidate]) -> States {
        let mut next = States { positions: Vec::new(), holders: Vec::new(), left: Vec::new() };
        let class_count = self.left_at_first.len();
        for candidate in candidates {
            let parent = candidate.parent as usize;
            let (at, key, class) = (next.positions.len(), next.holders.len(), next.left.len());
            next.positions
                .extend_from_slice(&states.positions[parent * self.sessions.len()..][..self.sessions.len()]);
            next.holders.extend_from_slice(&states.holders[parent * self.key_count..][..self.key_count]);
            next.left.extend_from_slice(&states.left[parent * class_count..][..class_count]);
            let (positions, holders) = (&mut next.positions[at..], &mut next.holders[key..]);
            self.take(candidate.session as usize, positions, holders, &mut next.left[class..]);
        }
        next
    }
}

/// Numbers the classes that are read from 0 on, and gives all values of a key that no read can see one class behind them:
/// more states are equal then. Returns the number of classes.
fn renumber(sessions: &mut [Vec<Step>], class_count: usize, key_count: usize) -> usize {
    let mut number_of = vec![NONE; class_count];
    let mut count = 0;
    for (_, class, _) in sessions.iter_mut().flatten().flat_map(|step| &mut step.reads) {
        let number = &mut number_of[*class as usize];
        if *number == NONE {
            *number = count;
            count += 1;
        }
        *class = *number;
    }
    for (key, class) in sessions.iter_mut().flatten().flat_map(|step| &mut step.writes) {
        *class = match number_of[*class as usize] {
            NONE => count + *key,
            number => number,
        };
    }
    count as usize + key_count
}

/// Whether the reads of a transaction see what is there.
fn fits(step: &Step, holders: &[u32]) -> bool {
    step.reads.iter().all(|&(key, class, initial)| {
        let holder = holders[key as usize];
        holder == class || (initial && holder == INITIAL)
    })
}
