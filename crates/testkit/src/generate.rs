//! Random small histories, as a simulated store would record them, with a share of lies.
//!
//! Sessions take turns at a store with a clock. How transactions see it is drawn for each history (one at a time, from
//! a snapshot with or without a check for conflicts, from an old snapshot, or step by step), and then a few reads and outcomes are changed.
//! So each level holds for a good part of the histories and is violated for a good part, mostly for close reasons.

use history::{Datum, History, Outcome, TxnTimes};

use crate::{Random, Sketch, SketchOp, SketchTxn, What};

/// What histories to draw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The most sessions.
    pub sessions: usize,
    /// The fewest transactions.
    pub least_txns: usize,
    /// The most transactions.
    pub most_txns: usize,
    /// The most keys.
    pub keys: usize,
    /// The most operations of a transaction.
    pub ops: usize,
    /// Values are drawn from 0 to this; with `None` no two writes have the same value.
    pub values: Option<usize>,
    /// How many of a hundred transactions have an unknown outcome.
    pub unknown: usize,
    /// How many of a hundred transactions abort.
    pub aborted: usize,
    /// Whether there are times.
    pub times: bool,
    /// How many of a hundred recorded times are lost or wrong.
    pub bad_times: usize,
    /// Whether the initial values are not recorded.
    pub unknown_initial: bool,
}

impl Default for Shape {
    /// Up to 4 sessions, 2 to 5 transactions of up to 3 operations on up to 3 keys, unique values, all committed.
    fn default() -> Self {
        Self {
            sessions: 4,
            least_txns: 2,
            most_txns: 5,
            keys: 3,
            ops: 3,
            values: None,
            unknown: 0,
            aborted: 0,
            times: false,
            bad_times: 0,
            unknown_initial: false,
        }
    }
}

impl Shape {
    /// Any of the shapes that tests should see: duplicates or not, outcomes or not, times or not.
    pub fn any(random: &mut Random) -> Self {
        Self {
            sessions: *random.pick(&[2, 3, 4, 5]),
            least_txns: 3,
            most_txns: random.between(3, 7),
            keys: random.between(1, 3),
            ops: random.between(2, 4),
            values: random.percent(50).then(|| random.between(1, 3)),
            unknown: *random.pick(&[0, 0, 30]),
            aborted: *random.pick(&[0, 0, 20]),
            times: random.percent(50),
            bad_times: *random.pick(&[0, 0, 20]),
            unknown_initial: false,
        }
    }
}

/// A history that depends on the seed and the shape alone.
pub fn history(seed: u64, shape: &Shape) -> History {
    sketch(&mut Random::new(seed), shape).build()
}

/// The same as a sketch, from a source of random numbers.
pub fn sketch(random: &mut Random, shape: &Shape) -> Sketch {
    let mut simulation = Simulation::plan(random, shape);
    while simulation.step(random) {}
    let mut sketch = simulation.recorded();
    tell_lies(random, shape, &mut sketch);
    sketch
}

/// How transactions see the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Isolation {
    OneAtATime,
    Snapshot,
    SnapshotWithoutConflicts,
    StaleSnapshot,
    StepByStep,
}

impl Isolation {
    pub(crate) const ALL: [Self; 5] = [
        Self::OneAtATime,
        Self::Snapshot,
        Self::SnapshotWithoutConflicts,
        Self::StaleSnapshot,
        Self::StepByStep,
    ];
}

/// A transaction under way.
struct RegisterClient {
    plan: Vec<(bool, usize, i64)>,
    at: usize,
    snapshot: Vec<i64>,
    begun: Vec<i64>,
    own: Vec<Option<i64>>,
    txn: SketchTxn,
}

struct Simulation<'s> {
    shape: &'s Shape,
    isolation: Isolation,
    store: Vec<i64>,
    /// What the store held, from the start until now.
    past: Vec<Vec<i64>>,
    now: i64,
    /// What each session has still to do, last first; the last one is under way.
    sessions: Vec<Vec<RegisterClient>>,
    done: Sketch,
}

impl<'s> Simulation<'s> {
    fn plan(random: &mut Random, shape: &'s Shape) -> Self {
        let keys = random.between(1, shape.keys);
        let mut sessions: Vec<Vec<RegisterClient>> = Vec::new();
        // One session alone shows little: the larger of two draws.
        let count = random.between(1, shape.sessions).max(random.between(1, shape.sessions));
        sessions.resize_with(count, Vec::new);
        for number in 0..random.between(shape.least_txns, shape.most_txns) {
            let session = random.below(sessions.len());
            sessions[session].push(RegisterClient::plan(random, shape, keys, number));
        }
        sessions.retain(|session| !session.is_empty());
        let mut done = Sketch::new(keys);
        done.sessions = vec![Vec::new(); sessions.len()];
        Self {
            shape,
            isolation: *random.pick(&Isolation::ALL),
            past: vec![vec![0; keys]],
            store: vec![0; keys],
            now: 0,
            sessions,
            done,
        }
    }

    /// Lets some session take its next step; false when all are done.
    fn step(&mut self, random: &mut Random) -> bool {
        let Some(session) = pick_busy(&self.sessions, random) else { return false };
        self.now += random.between(1, 3) as i64;
        while !self.advance(session, random) && self.isolation == Isolation::OneAtATime {}
        true
    }

    /// One step of a session's transaction; true if that was its last.
    fn advance(&mut self, session: usize, random: &mut Random) -> bool {
        self.now += 1;
        let now = self.now;
        let client = self.sessions[session].last_mut().expect("the session is busy");
        if client.begun.is_empty() {
            let age = random.below(self.past.len().min(3));
            let is_stale = self.isolation == Isolation::StaleSnapshot;
            let store = if is_stale { &self.past[self.past.len() - 1 - age] } else { &self.store };
            client.begin(store, now);
            return false;
        }
        if client.at < client.plan.len() {
            let is_stepwise = self.isolation == Isolation::StepByStep;
            client.operate(if is_stepwise { Some(&self.store) } else { None });
            return false;
        }
        self.end(session, random);
        true
    }

    fn end(&mut self, session: usize, random: &mut Random) {
        let mut client = self.sessions[session].pop().expect("the session is busy");
        let overwritten =
            |(key, own): (usize, &Option<i64>)| own.is_some() && self.store[key] != client.begun[key];
        let conflict = client.own.iter().enumerate().any(overwritten);
        let refused = conflict && self.isolation == Isolation::Snapshot;
        let takes_effect = !refused && !random.percent(self.shape.aborted);
        if takes_effect {
            let written = client.own.iter().enumerate();
            written.for_each(|(key, own)| self.store[key] = own.unwrap_or(self.store[key]));
            self.past.push(self.store.clone());
        }
        client.txn.outcome = match takes_effect {
            _ if random.percent(self.shape.unknown) => Outcome::Unknown,
            true => Outcome::Committed,
            false => Outcome::Aborted,
        };
        client.txn.times.commit_request = Some(self.now);
        self.now += 1;
        client.txn.times.commit_response = Some(self.now);
        self.done.sessions[session].push(client.txn);
    }

    fn recorded(self) -> Sketch {
        self.done
    }
}

impl RegisterClient {
    fn plan(random: &mut Random, shape: &Shape, keys: usize, number: usize) -> Self {
        let op = |place: usize, random: &mut Random| {
            let value = match shape.values {
                Some(most) => random.between(0, most),
                None => number * 10 + place + 1,
            };
            (random.percent(40), random.below(keys), value as i64)
        };
        // Transactions of one operation show little: the larger of two draws.
        let count = random.between(1, shape.ops).max(random.between(1, shape.ops));
        Self {
            plan: (0..count).map(|place| op(place, random)).collect(),
            at: 0,
            snapshot: Vec::new(),
            begun: Vec::new(),
            own: vec![None; keys],
            txn: SketchTxn::committed(Vec::new()),
        }
    }

    fn begin(&mut self, store: &[i64], now: i64) {
        self.snapshot = store.to_vec();
        self.begun = store.to_vec();
        self.txn.times =
            TxnTimes { begin_request: Some(now - 1), begin_response: Some(now), ..TxnTimes::default() };
    }

    /// The next operation, against the snapshot or against the store as it is now.
    fn operate(&mut self, store: Option<&[i64]>) {
        let (is_write, key, value) = self.plan[self.at];
        self.at += 1;
        self.txn.ops.push(if is_write {
            self.own[key] = Some(value);
            SketchOp::write(key, Datum::Int(value))
        } else {
            let seen = self.own[key].unwrap_or(store.unwrap_or(&self.snapshot)[key]);
            SketchOp::read(key, Datum::Int(seen))
        });
    }
}

/// Changes what was recorded: now and then a read, and the times as the shape says.
fn tell_lies(random: &mut Random, shape: &Shape, sketch: &mut Sketch) {
    if shape.unknown_initial {
        sketch.initial = None;
    }
    for _ in 0..*random.pick(&[0, 0, 1, 2, 3]) {
        tell_lie(random, shape, sketch);
    }
    for txn in sketch.txns_mut() {
        match shape.times {
            true => spoil_times(random, shape.bad_times, &mut txn.times),
            false => txn.times = TxnTimes::default(),
        }
    }
}

/// Lets a read see something else that its key held at some time, or might have.
fn tell_lie(random: &mut Random, shape: &Shape, sketch: &mut Sketch) {
    let ops: Vec<SketchOp> = sketch.ops().cloned().collect();
    let reads = sketch.ops_mut().filter_map(|op| match &mut op.what {
        What::Read { key, value: Some(value) } => Some((*key, value)),
        _ => None,
    });
    let mut reads: Vec<(usize, &mut Datum)> = reads.collect();
    if reads.is_empty() {
        return;
    }
    let place = random.below(reads.len());
    let (key, value) = &mut reads[place];
    let written = ops.into_iter().filter(|op| op.key() == Some(*key));
    let mut values: Vec<Datum> = written.filter_map(|op| op.written()).collect();
    values.push(Datum::Int(if shape.unknown_initial && random.percent(50) { 99 } else { 0 }));
    **value = random.pick(&values).clone();
}

/// A session that still has transactions; `None` when all are done.
pub(crate) fn pick_busy<T>(sessions: &[Vec<T>], random: &mut Random) -> Option<usize> {
    let busy: Vec<usize> = (0..sessions.len()).filter(|&session| !sessions[session].is_empty()).collect();
    if busy.is_empty() { None } else { Some(*random.pick(&busy)) }
}

pub(crate) fn spoil_times(random: &mut Random, bad: usize, times: &mut TxnTimes) {
    let all = [
        &mut times.begin_request,
        &mut times.begin_response,
        &mut times.commit_request,
        &mut times.commit_response,
    ];
    for time in all {
        if random.percent(bad) {
            *time = random.percent(50).then(|| time.unwrap_or(0) + random.between(0, 20) as i64 - 10);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_histories_and_others_differ() {
        let shape = Shape::default();
        let text = |seed| formats::notation::print(&history(seed, &shape)).unwrap();
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
    }
}
