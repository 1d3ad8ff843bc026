//! Random small histories of rows that come and go, ranges, lists, recorded versions and predicates.
//!
//! As in [`crate::generate`], sessions take turns at a store that is isolated in some way, and then a few answers are
//! changed, so that both verdicts are well represented at every level and mostly for close reasons. Values are few, so
//! that predicates often match and duplicates are common.

mod lies;
mod plan;
mod store;

use history::{Datum, History, Outcome, TxnTimes};

use crate::generate::{Isolation, pick_busy, spoil_times};
use crate::{Random, Sketch, SketchTxn};
use plan::Plan;
use store::{RowClient, State};

/// What a history is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowKind {
    /// Inserts, deletes, writes, reads of one key and of ranges.
    Ranges,
    /// Appends and reads of lists.
    Lists,
    /// Reads and writes whose place in the version order was recorded.
    Versions,
    /// Reads and writes by predicate, beside those of one key; rows are single values.
    Predicates,
    /// The same with rows of two columns.
    Columns,
    /// Ranges and predicates together.
    Mixed,
}

impl RowKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Ranges, Self::Lists, Self::Versions, Self::Predicates, Self::Columns, Self::Mixed];
}

/// What histories to draw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    /// What they are about.
    pub content: RowKind,
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
    /// Values are drawn from 0 to this.
    pub values: usize,
    /// How many of a hundred deletes leave a mark.
    pub marked: usize,
    /// How many of a hundred transactions have an unknown outcome.
    pub unknown: usize,
    /// How many of a hundred transactions abort.
    pub aborted: usize,
    /// Whether there are times.
    pub times: bool,
    /// How many of a hundred recorded times are lost or wrong.
    pub bad_times: usize,
    /// The most answers that are changed.
    pub lies: usize,
    /// How many of a hundred writes by predicate return the rows that they changed, as they were before.
    pub returning: usize,
}

impl Shape {
    /// Any of the shapes that tests should see, about this.
    pub fn any(content: RowKind, random: &mut Random) -> Self {
        Self {
            content,
            sessions: *random.pick(&[3, 4, 5]),
            least_txns: 3,
            most_txns: random.between(4, 6),
            keys: random.between(2, 4),
            ops: random.between(3, 5),
            values: random.between(1, 4),
            marked: *random.pick(&[0, 50, 100]),
            unknown: *random.pick(&[0, 0, 30]),
            aborted: *random.pick(&[0, 0, 20]),
            times: random.percent(50),
            bad_times: *random.pick(&[0, 0, 20]),
            lies: *random.pick(&[0, 0, 1, 1, 2]),
            returning: 0,
        }
    }
}

/// A history that depends on the seed and the content alone, of any shape.
pub fn history(seed: u64, content: RowKind) -> History {
    let mut random = Random::new(seed);
    let shape = Shape::any(content, &mut random);
    sketch(&mut random, &shape).build()
}

/// A history as a sketch, from a source of random numbers.
pub fn sketch(random: &mut Random, shape: &Shape) -> Sketch {
    let mut simulation = Simulation::plan(random, shape);
    while simulation.step(random) {}
    let mut sketch = simulation.done;
    for _ in 0..random.between(0, shape.lies) {
        lies::tell(random, shape, &mut sketch);
    }
    for txn in sketch.txns_mut() {
        match shape.times {
            true => spoil_times(random, shape.bad_times, &mut txn.times),
            false => txn.times = TxnTimes::default(),
        }
    }
    sketch
}

struct Simulation<'s> {
    shape: &'s Shape,
    isolation: Isolation,
    state: State,
    /// What the store held, from the start until now.
    past: Vec<State>,
    now: i64,
    /// What each session has still to do, last first; the last one is under way.
    sessions: Vec<Vec<RowClient>>,
    done: Sketch,
}

impl<'s> Simulation<'s> {
    fn plan(random: &mut Random, shape: &'s Shape) -> Self {
        let mut done = plan::empty_sketch(random, shape);
        let plan = Plan::of(random, shape, &done.keys);
        let mut sessions: Vec<Vec<RowClient>> = Vec::new();
        sessions
            .resize_with(random.between(1, shape.sessions).max(random.between(1, shape.sessions)), Vec::new);
        for number in 0..random.between(shape.least_txns, shape.most_txns) {
            let count = random.between(1, shape.ops).max(random.between(1, shape.ops));
            let steps = (0..count).map(|_| plan.step(random, number)).collect();
            let session = random.below(sessions.len());
            sessions[session].push(RowClient::new(steps));
        }
        sessions.retain(|session| !session.is_empty());
        done.sessions = vec![Vec::new(); sessions.len()];
        let state = State::initial(&done);
        // Most histories of a store that is well isolated hold at every level: the others are drawn twice as often.
        let isolation = *random.pick(&[&Isolation::ALL[..], &Isolation::ALL[2..]].concat());
        Self { shape, isolation, past: vec![state.clone()], state, now: 0, sessions, done }
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
        let client = self.sessions[session].last_mut().expect("the session is busy");
        if client.snapshot.is_none() {
            let age = random.below(self.past.len().min(3));
            let is_stale = self.isolation == Isolation::StaleSnapshot;
            let seen = if is_stale { &self.past[self.past.len() - 1 - age] } else { &self.state };
            client.begin(seen.clone(), self.now);
            return false;
        }
        if client.has_steps() {
            let now = (self.isolation == Isolation::StepByStep).then_some(&self.state);
            client.operate(random, &self.done.keys, now, self.shape.returning);
            return false;
        }
        self.end(session, random);
        true
    }

    fn end(&mut self, session: usize, random: &mut Random) {
        let mut client = self.sessions[session].pop().expect("the session is busy");
        let refused = self.isolation == Isolation::Snapshot && client.conflicts_with(&self.state);
        let takes_effect = !refused && !random.percent(self.shape.aborted);
        if takes_effect {
            client.commit(random, &mut self.state, self.shape.content == RowKind::Versions);
            self.past.push(self.state.clone());
        }
        let mut txn: SketchTxn = client.txn;
        txn.outcome = match takes_effect {
            _ if random.percent(self.shape.unknown) => Outcome::Unknown,
            true => Outcome::Committed,
            false => Outcome::Aborted,
        };
        txn.times.commit_request = Some(self.now);
        self.now += 1;
        txn.times.commit_response = Some(self.now);
        self.done.sessions[session].push(txn);
    }
}

/// A number as a value.
fn int(number: usize) -> Datum {
    Datum::Int(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use certify::Level;

    #[test]
    fn equal_seeds_give_equal_histories_and_others_differ() {
        for content in RowKind::ALL {
            let text = |seed| formats::notation::print(&history(seed, content)).unwrap();
            assert_eq!(text(7), text(7));
            assert_ne!(text(7), text(8));
        }
    }

    #[test]
    fn every_verdict_is_common_for_every_content_and_level() {
        for content in RowKind::ALL {
            let histories: Vec<History> = (0..300).map(|seed| history(seed, content)).collect();
            assert!(histories.iter().all(|history| crate::oracle::refusal(history).is_none()));
            for (name, level) in Level::NAMED {
                let holds = histories.iter().filter(|history| crate::oracle::holds(history, &level)).count();
                assert!((60..=240).contains(&holds), "{content:?} at {name}: {holds} of 300 hold");
            }
        }
    }
}
