//! An order by running the transactions: before anything is collected or saturated.
//!
//! A transaction may come next if everything that must precede it came, and if its reads see what the keys hold. A
//! transaction that only reads comes at once, which loses nothing. Of the writers the one is taken that overwrites the
//! fewest values that others wait to read, and in doubt the one that the recording suggests. A value is not overwritten
//! while a read is still to come that can see it nowhere else. For the levels with a begin and a commit, a transaction
//! begins and commits at once where that can be; if nothing else can come, one begins alone.
//!
//! Where the recording suggests an order, the first attempt follows it instead: with times it takes the writer that asked to
//! commit first, without the one that was recorded first, and transactions of unknown outcome in their turn. That replays
//! a database that ran writers one after the other: each holds its lock when it asks to commit.
//!
//! If every transaction comes, the order explains the history, and is checked as a certificate is. If none can come, the
//! attempt ends there: it costs what it ran. Where nothing else can come, a transaction of unknown outcome runs if it can;
//! the others are taken not to have committed, one after the other.
//!
//! A transaction waits in one list at a time: for a value that it has yet to see, or for the readers of a value that it
//! would overwrite. The lists are asked when that value comes, or when its last reader did. Of the writers that may come
//! next, the first `LOOKED_AT` by the hint are compared, so a step costs no more with 100,000 sessions than with 50.
//!
//! Measured (development build, busy machine): 10,000 equal writes and 10,000 reads of them are explained in 40 ms,
//! 10,000 sessions of 10 transactions of two operations on 5 or 100 keys with 3 values in 0.7 to 1.4 s. On 1,000 keys
//! about 400 of the 100,000 transactions are left, and of 1,000 sessions on 5 keys 19 of 10,000.
//!
//! What did not pay: finishing one session before the next (10,195 instead of 398 left on 1,000 keys); more than 8
//! comparisons where one writer destroys nothing, which only took longer.

mod insert;
mod lists;

use std::collections::BTreeSet;

use certify::{Certificate, Core, Node};
use history::{Outcome, TxnId};
use order::{Flat, NONE};

use crate::classes::Classes;
use crate::known::KnownGraph;
use crate::options::Limit;
use crate::problem::{INITIAL, Problem, Status};
use crate::time::Timeline;
use crate::{guess, time};
use insert::{GAP, Past};
use lists::Lists;

/// How many writers are compared at a step.
const LOOKED_AT: usize = 48;

/// How many are compared if one of them destroys nothing.
const ENOUGH: usize = 8;

/// How many reads of a class are left when those that would overwrite it look again: they may all be their own.
const FEW_READS: u32 = 4;

/// Of how many transactions one may be left in an order that is nearly right.
const FEW_LEFT: usize = 50;

/// Steps of work for each event and operation, after which the attempt ends.
const EFFORT: usize = 60;

/// How many places are tried for a transaction that is to be put back.
const TRIES: usize = 4096;

/// How many steps pass between two questions whether a limit was reached.
const ASK_INTERVAL: u32 = 1024;

/// Where a transaction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// Something must come before it.
    Unreleased,
    /// It waits for a value, or for the readers of one.
    Waiting,
    /// Its reads saw what was there when it was last asked.
    Ready,
    /// It began at its moment and did not commit yet.
    Begun,
    /// It came, or never will.
    Done,
}

/// How far a run came that ended early.
pub(crate) struct Ran {
    /// How many transactions were left when none could come.
    pub left: usize,
    /// The others, in their order.
    pub order: Vec<TxnId>,
}

impl Ran {
    /// Whether so few are left that mending the order is likely to succeed.
    pub(crate) fn is_nearly_right(&self) -> bool {
        self.left * FEW_LEFT <= self.order.len()
    }
}

/// An order of transactions one after the other that explains the history, which is right at every level, or how far
/// the best run came.
pub(crate) fn explain(
    problem: &Problem<'_>,
    known: &KnownGraph,
    timeline: &Timeline,
    limit: &dyn Fn() -> Option<Limit>,
) -> Result<Result<Certificate, Ran>, Limit> {
    let mut best = Ran { left: problem.history.txn_count(), order: Vec::new() };
    for follows_recording in [true, false] {
        if follows_recording && !guess::is_recorded(problem) {
            continue;
        }
        let mut schedule = Schedule::new(problem, known, timeline, follows_recording);
        if schedule.run(limit)? {
            return Ok(Ok(schedule.certificate()));
        }
        if schedule.left < best.left {
            best = Ran { left: schedule.left, order: schedule.order_of_commits() };
        }
    }
    Ok(Err(best))
}

/// The same with begins apart from commits, for the levels that have both. How far a run came is of no use, since the
/// order of its commits is no serial order.
pub(crate) fn explain_apart(
    problem: &Problem<'_>,
    known: &KnownGraph,
    timeline: &Timeline,
    limit: &dyn Fn() -> Option<Limit>,
) -> Result<Option<Certificate>, Limit> {
    if problem.shape.core == Core::Serializable {
        return Ok(None);
    }
    let mut schedule = Schedule::new(problem, known, timeline, false);
    schedule.may_split = true;
    Ok(schedule.run(limit)?.then(|| schedule.certificate()))
}

struct Schedule<'s, 'a> {
    problem: &'s Problem<'a>,
    timeline: &'s Timeline,
    successors: Flat,
    /// For each node how many nodes that must precede it have not come.
    before: Vec<u32>,
    /// For each node the label behind which it comes.
    floor: Vec<u64>,
    hints: Vec<u64>,
    classes: Classes,
    /// Whether a transaction may begin without committing at once.
    may_split: bool,
    /// Whether transactions come in the order in which they asked to commit, where they can, those of unknown outcome too.
    follows_recording: bool,
    /// For each transaction how many were left when a place for it was looked for in vain.
    tried_with: Vec<usize>,
    /// The order so far, if transactions were put back into it.
    past: Option<Past>,
    /// For each key the write that it holds, or `INITIAL`.
    holder: Vec<u32>,
    /// For each key how many transactions that write it began and did not commit.
    claims: Vec<u32>,
    /// For each class the reads that are still to come, the writes that are, and the reads of released transactions.
    pending: Vec<u32>,
    copies: Vec<u32>,
    wanted: Vec<u32>,
    place: Vec<Place>,
    /// For each transaction the number of commits before its begin.
    began: Vec<u32>,
    /// For each class those that wait for a value of it, then for each class those that wait for its readers, and last
    /// those that wait until one that began commits.
    lists: Lists,
    ready: BTreeSet<(u64, u32)>,
    /// The released transactions that did not begin.
    open: BTreeSet<(u64, u32)>,
    /// Transactions of unknown outcome that may come next.
    optional: BTreeSet<(u64, u32)>,
    released: Vec<u32>,
    commits: Vec<TxnId>,
    /// Transactions that are still to come.
    left: usize,
    effort: usize,
}

impl<'s, 'a> Schedule<'s, 'a> {
    fn new(
        problem: &'s Problem<'a>,
        known: &KnownGraph,
        timeline: &'s Timeline,
        follows_recording: bool,
    ) -> Self {
        let txn_count = problem.history.txn_count();
        let keys = problem.history.keys().len();
        let successors = Flat::successors(&known.graph);
        let classes = Classes::of(problem.index);
        let mut schedule = Self {
            before: successors.degrees(),
            floor: vec![0; successors.node_count()],
            successors,
            may_split: false,
            follows_recording,
            past: None,
            tried_with: vec![usize::MAX; txn_count],
            hints: match follows_recording {
                true => guess::request_hints(problem),
                false => guess::hints(problem),
            },
            holder: vec![INITIAL; keys],
            claims: vec![0; keys],
            pending: vec![0; classes.count],
            copies: vec![0; classes.count],
            wanted: vec![0; classes.count],
            place: vec![Place::Unreleased; txn_count],
            began: vec![NONE; txn_count],
            lists: Lists::new(2 * classes.count + 1, txn_count),
            ready: BTreeSet::new(),
            open: BTreeSet::new(),
            optional: BTreeSet::new(),
            released: Vec::new(),
            commits: Vec::with_capacity(txn_count),
            left: 0,
            effort: 0,
            classes,
            problem,
            timeline,
        };
        schedule.count();
        schedule
    }

    /// Counts what is to come.
    fn count(&mut self) {
        let problem = self.problem;
        for txn in problem.history.txns() {
            match problem.status[txn.index()] {
                Status::In => self.left += 1,
                Status::Maybe if self.follows_recording => {
                    self.count_copies(txn, 1);
                    continue;
                }
                _ => continue,
            }
            for read in problem.index.reads_of(txn) {
                self.pending[self.classes.of_read(read) as usize] += 1;
            }
            self.count_copies(txn, 1);
        }
        let size = self.before.len() + problem.index.reads().len() + problem.index.writes().len();
        self.effort = EFFORT * (size + 16);
    }

    /// Counts the writes of a transaction as still to come, or no longer.
    fn count_copies(&mut self, txn: TxnId, change: i32) {
        for write in self.problem.index.writes_of(txn) {
            let key = self.problem.index.writes()[write].key;
            for class in self.classes.of_holder(key, write as u32) {
                let copies = &mut self.copies[class as usize];
                *copies = copies.wrapping_add_signed(change);
            }
        }
    }

    /// Runs until every transaction came, which is true, or none can.
    fn run(&mut self, limit: &dyn Fn() -> Option<Limit>) -> Result<bool, Limit> {
        let roots = (0..self.before.len() as u32).filter(|&node| self.before[node as usize] == 0);
        self.released = roots.rev().collect();
        let mut steps = 0u32;
        while self.effort > 0 {
            self.open_released();
            steps += 1;
            if steps.is_multiple_of(ASK_INTERVAL)
                && let Some(limit) = limit()
            {
                return Err(limit);
            }
            let is_going_on = self.left > 0
                && ((self.follows_recording && self.take_an_early_unknown())
                    || self.take_a_writer()
                    || self.begin_one()
                    || self.take_an_unknown()
                    || self.skip_an_unknown()
                    || self.put_one_back());
            if !is_going_on {
                break;
            }
        }
        Ok(self.left == 0)
    }

    fn spend(&mut self, work: usize) {
        self.effort = self.effort.saturating_sub(work);
    }

    fn open_released(&mut self) {
        while let Some(node) = self.released.pop() {
            let (shape, txn_nodes) =
                (self.problem.shape, self.place.len() as u32 * self.problem.shape.events);
            if node >= txn_nodes {
                self.finish(node, self.floor[node as usize]);
                continue;
            }
            let txn = shape.txn(node);
            match self.problem.status[txn.index()] {
                Status::Out => self.finish(node, 0),
                Status::Maybe if node == shape.begin(txn) => self.open_optional(txn),
                Status::In if node == shape.begin(txn) => self.open(txn),
                _ if self.place[txn.index()] == Place::Begun => self.make_ready(txn),
                _ => {}
            }
        }
    }

    /// A node came at a label: what waited for it alone is released.
    fn finish(&mut self, node: u32, label: u64) {
        for place in 0..self.successors.of(node).len() {
            let to = self.successors.of(node)[place];
            self.floor[to as usize] = self.floor[to as usize].max(label);
            let before = &mut self.before[to as usize];
            *before -= 1;
            match *before {
                0 => self.released.push(to),
                1 => self.note_commit(to),
                _ => {}
            }
        }
    }

    /// Only one node is missing before this one: if it is a commit, that may be its own begin.
    fn note_commit(&mut self, node: u32) {
        let shape = self.problem.shape;
        if shape.events < 2 || node >= self.place.len() as u32 * 2 || node == shape.begin(shape.txn(node)) {
            return;
        }
        let txn = shape.txn(node);
        if self.place[txn.index()] == Place::Ready {
            self.ready.insert((self.hints[node as usize], txn.0));
        }
    }

    fn open(&mut self, txn: TxnId) {
        for read in self.problem.index.reads_of(txn) {
            self.wanted[self.classes.of_read(read) as usize] += 1;
        }
        self.open.insert((self.hints[self.problem.shape.begin(txn) as usize], txn.0));
        self.look(txn);
    }

    /// Puts a released transaction where it belongs.
    fn look(&mut self, txn: TxnId) {
        match self.unseen(txn) {
            Some(read) => self.wait(txn, self.classes.of_read(read)),
            None if self.problem.index.writes_of(txn).is_empty() && self.may_commit(txn) => self.come(txn),
            None => self.make_ready(txn),
        }
    }

    /// The first read of a transaction that does not see what its key holds.
    fn unseen(&mut self, txn: TxnId) -> Option<usize> {
        let reads = self.problem.index.reads_of(txn);
        self.spend(1 + reads.len());
        let index = self.problem.index;
        let mut reads = reads;
        reads.find(|&read| {
            let holder = self.holder[index.reads()[read].key.index()];
            !self.classes.fits(self.problem, read, holder)
        })
    }

    fn wait(&mut self, txn: TxnId, class: u32) {
        self.place[txn.index()] = Place::Waiting;
        self.lists.enter(class as usize, txn);
    }

    fn make_ready(&mut self, txn: TxnId) {
        if self.place[txn.index()] != Place::Begun {
            self.place[txn.index()] = Place::Ready;
        }
        if self.may_commit(txn) {
            self.ready.insert((self.hints[self.problem.shape.commit(txn) as usize], txn.0));
        }
    }

    /// Whether nothing but the begin of a transaction is missing before its commit.
    fn may_commit(&self, txn: TxnId) -> bool {
        let shape = self.problem.shape;
        let own_begin = u32::from(shape.events == 2 && self.place[txn.index()] != Place::Begun);
        self.before[shape.commit(txn) as usize] <= own_begin
    }

    /// Takes the writer that destroys least of those that may come next.
    fn take_a_writer(&mut self) -> bool {
        let mut best: Option<(i64, u64, u32)> = None;
        let candidates: Vec<(u64, u32)> = self.ready.iter().take(LOOKED_AT).copied().collect();
        for (number, (hint, txn)) in candidates.into_iter().enumerate() {
            let is_enough = number >= ENOUGH && best.is_some_and(|(least, ..)| least <= 0);
            if is_enough || (self.follows_recording && best.is_some()) {
                break;
            }
            match self.cost(TxnId(txn)) {
                Cost::Gone => {
                    self.ready.remove(&(hint, txn));
                }
                Cost::Is(cost) if best.is_none_or(|(least, ..)| cost < least) => {
                    best = Some((cost, hint, txn))
                }
                Cost::Is(_) => {}
            }
        }
        match best {
            Some((_, hint, txn)) => {
                self.ready.remove(&(hint, txn));
                self.come(TxnId(txn));
                true
            }
            // All of them were put into lists; the others may still come.
            None => !self.ready.is_empty(),
        }
    }

    /// What the writes of a transaction would destroy; puts a transaction that cannot come now into a list.
    fn cost(&mut self, txn: TxnId) -> Cost {
        if !self.still_fits(txn) {
            return Cost::Gone;
        }
        let index = self.problem.index;
        let mut cost = 0i64;
        for write in index.writes_of(txn) {
            let key = index.writes()[write].key;
            let holder = self.holder[key.index()];
            let is_claimed = self.claims[key.index()] > u32::from(self.place[txn.index()] == Place::Begun);
            if is_claimed && self.problem.shape.writers_exclude() {
                self.lists.enter(2 * self.classes.count, txn);
                return Cost::Gone;
            }
            let mut blocking = None;
            for class in self.classes.of_holder(key, holder) {
                let own = self.own_reads(txn, class);
                let others = self.pending[class as usize] - own;
                let is_same = self.classes.of_holder(key, write as u32).any(|new| new == class);
                if is_same || others == 0 {
                    continue;
                }
                if self.copies[class as usize] == 0 {
                    blocking = Some(class);
                }
                cost += i64::from(self.wanted[class as usize] - own) * 4 + 1;
            }
            self.effort = self.effort.saturating_sub(2);
            if let Some(class) = blocking {
                self.lists.enter(self.classes.count + class as usize, txn);
                return Cost::Gone;
            }
            for class in self.classes.of_holder(key, write as u32) {
                let is_last = self.copies[class as usize] == 1;
                let (wanted, pending) = (self.wanted[class as usize], self.pending[class as usize]);
                cost -= i64::from(wanted);
                // The last copy of a value comes when its readers can.
                cost += 2 * i64::from(is_last) * i64::from(pending.saturating_sub(wanted).min(4));
            }
        }
        Cost::Is(cost)
    }

    /// How many reads of a class are a transaction's own and still to come; a range may read a key once more.
    fn own_reads(&self, txn: TxnId, class: u32) -> u32 {
        if self.place[txn.index()] == Place::Begun || !self.problem.is_in(txn) {
            return 0;
        }
        let reads = self.problem.index.reads_of(txn);
        reads.filter(|&read| self.classes.of_read(read) == class).count() as u32
    }

    /// Whether the reads of a ready transaction still see what is there; if not, it waits again.
    fn still_fits(&mut self, txn: TxnId) -> bool {
        if self.place[txn.index()] == Place::Begun {
            return true;
        }
        let unseen = self.unseen(txn);
        if let Some(read) = unseen {
            self.wait(txn, self.classes.of_read(read));
        }
        unseen.is_none()
    }

    /// A transaction begins, if it did not, and commits.
    fn come(&mut self, txn: TxnId) {
        let shape = self.problem.shape;
        let label = match &mut self.past {
            Some(past) => past.push(self.problem, txn),
            None => (self.commits.len() as u64 + 1) * GAP,
        };
        if self.place[txn.index()] != Place::Begun {
            self.began[txn.index()] = self.commits.len() as u32;
            self.see(txn);
            if shape.events == 2 {
                self.finish_own_begin(txn, label);
            }
        } else {
            self.release_claims(txn);
        }
        self.lists.leave(txn);
        self.open.remove(&(self.hints[shape.begin(txn) as usize], txn.0));
        self.place[txn.index()] = Place::Done;
        self.commits.push(txn);
        self.left -= usize::from(self.problem.is_in(txn));
        self.write(txn);
        self.finish(shape.commit(txn), label);
    }

    /// Nothing can come next: a waiting transaction is put back to where it may have come.
    fn put_one_back(&mut self) -> bool {
        if self.may_split {
            return false;
        }
        let problem = self.problem;
        let mut past = self.past.take().unwrap_or_else(|| {
            let mut past = Past::new(problem.history.keys().len());
            for &txn in &self.commits {
                past.push(problem, txn);
            }
            past
        });
        // Places that were looked for in vain may be there when more transactions came.
        let is_untried = |&&(_, txn): &&(u64, u32)| self.tried_with[txn as usize] > self.left;
        let candidates: Vec<u32> = self.open.iter().filter(is_untried).map(|&(_, txn)| txn).collect();
        self.spend(candidates.len());
        let mut found = None;
        for txn in candidates.into_iter().map(TxnId) {
            let [begin, commit] = [problem.shape.begin(txn), problem.shape.commit(txn)];
            let floor = self.floor[begin as usize].max(self.floor[commit as usize]);
            if self.effort == 0 || !self.may_commit(txn) {
                continue;
            }
            let mut tries = TRIES;
            let label = past.insert(problem, &self.classes, txn, floor, &mut tries);
            self.spend(8 * (TRIES - tries));
            self.tried_with[txn.index()] = self.left;
            if let Some(label) = label {
                found = Some((txn, label));
                break;
            }
        }
        self.past = Some(past);
        found.into_iter().for_each(|(txn, label)| self.come_at(txn, label));
        found.is_some()
    }

    /// A transaction came at a label in the past.
    fn come_at(&mut self, txn: TxnId, label: u64) {
        let shape = self.problem.shape;
        self.see(txn);
        if shape.events == 2 {
            self.finish_own_begin(txn, label);
        }
        self.lists.leave(txn);
        self.ready.remove(&(self.hints[shape.commit(txn) as usize], txn.0));
        self.open.remove(&(self.hints[shape.begin(txn) as usize], txn.0));
        self.place[txn.index()] = Place::Done;
        self.left -= 1;
        self.count_copies(txn, -1);
        self.finish(shape.commit(txn), label);
    }

    /// Finishes a begin without releasing the commit of the same transaction, which comes with it.
    fn finish_own_begin(&mut self, txn: TxnId, label: u64) {
        let before = self.released.len();
        self.finish(self.problem.shape.begin(txn), label);
        let commit = self.problem.shape.commit(txn);
        let kept: Vec<u32> = self.released.drain(before..).filter(|&node| node != commit).collect();
        self.released.extend(kept);
    }

    /// The reads of a transaction came.
    fn see(&mut self, txn: TxnId) {
        let is_counted = self.problem.is_in(txn);
        for read in self.problem.index.reads_of(txn).filter(|_| is_counted) {
            let class = self.classes.of_read(read) as usize;
            self.pending[class] -= 1;
            self.wanted[class] -= 1;
            if self.pending[class] <= FEW_READS {
                self.wake_blocked(class);
            }
        }
    }

    fn wake_blocked(&mut self, class: usize) {
        let mut woken = Vec::new();
        self.lists.take(self.classes.count + class, &mut woken);
        woken.into_iter().for_each(|txn| self.make_ready(txn));
    }

    /// The writes of a transaction take effect: transactions that waited for one of its values are tried again.
    fn write(&mut self, txn: TxnId) {
        let index = self.problem.index;
        if self.follows_recording || self.problem.is_in(txn) {
            self.count_copies(txn, -1);
        }
        let mut woken = Vec::new();
        for write in index.writes_of(txn) {
            let key = index.writes()[write].key;
            self.holder[key.index()] = write as u32;
            for class in self.classes.of_holder(key, write as u32) {
                self.lists.take(class as usize, &mut woken);
            }
        }
        woken.into_iter().for_each(|txn| self.look(txn));
    }

    /// Nothing can commit: of the transactions whose reads see what is there, one begins alone.
    fn begin_one(&mut self) -> bool {
        if !self.may_split {
            return false;
        }
        let candidates: Vec<u32> = self.open.iter().take(4 * LOOKED_AT).map(|&(_, txn)| txn).collect();
        self.spend(candidates.len());
        let found =
            candidates.into_iter().map(TxnId).find(|&txn| self.may_claim(txn) && self.unseen(txn).is_none());
        found.into_iter().for_each(|txn| self.begin(txn));
        found.is_some()
    }

    /// Whether no transaction that began and did not commit writes what a transaction writes.
    fn may_claim(&self, txn: TxnId) -> bool {
        let writes = self.problem.index.writes();
        let is_free = |write: usize| self.claims[writes[write].key.index()] == 0;
        !self.problem.shape.writers_exclude() || self.problem.index.writes_of(txn).all(is_free)
    }

    fn begin(&mut self, txn: TxnId) {
        let shape = self.problem.shape;
        self.lists.leave(txn);
        self.ready.remove(&(self.hints[shape.commit(txn) as usize], txn.0));
        self.open.remove(&(self.hints[shape.begin(txn) as usize], txn.0));
        self.began[txn.index()] = self.commits.len() as u32;
        self.place[txn.index()] = Place::Begun;
        for write in self.problem.index.writes_of(txn) {
            self.claims[self.problem.index.writes()[write].key.index()] += 1;
        }
        self.see(txn);
        self.finish(shape.begin(txn), 0);
    }

    fn release_claims(&mut self, txn: TxnId) {
        for write in self.problem.index.writes_of(txn) {
            self.claims[self.problem.index.writes()[write].key.index()] -= 1;
        }
        let mut woken = Vec::new();
        self.lists.take(2 * self.classes.count, &mut woken);
        woken.into_iter().for_each(|txn| self.make_ready(txn));
    }

    fn open_optional(&mut self, txn: TxnId) {
        self.optional.insert((self.hints[self.problem.shape.begin(txn) as usize], txn.0));
    }

    /// Runs a transaction of unknown outcome that ended before every writer that may come next, if it can come now.
    fn take_an_early_unknown(&mut self) -> bool {
        let next = self.ready.first().map_or(u64::MAX, |&(hint, _)| hint);
        let early = self.optional.iter().take_while(|&&(hint, _)| hint < next);
        let candidates: Vec<(u64, u32)> = early.take(ENOUGH).copied().collect();
        self.spend(candidates.len());
        let found = candidates.into_iter().find(|&(_, txn)| {
            let txn = TxnId(txn);
            self.may_still_come(txn) && self.may_overwrite(txn) && self.unseen(txn).is_none()
        });
        let Some((hint, txn)) = found else { return false };
        self.optional.remove(&(hint, txn));
        self.come(TxnId(txn));
        true
    }

    /// Runs a transaction of unknown outcome: one that wrote what another waits for, or else the first that can come.
    fn take_an_unknown(&mut self) -> bool {
        let candidates: Vec<(u64, u32)> = self.optional.iter().take(4 * LOOKED_AT).copied().collect();
        self.spend(candidates.len());
        let mut first = None;
        for (hint, txn) in candidates {
            let may_come = self.may_still_come(TxnId(txn))
                && self.may_overwrite(TxnId(txn))
                && self.unseen(TxnId(txn)).is_none();
            if may_come && self.is_wanted(TxnId(txn)) {
                first = Some((hint, txn));
                break;
            }
            first = first.or(may_come.then_some((hint, txn)));
        }
        let Some((hint, txn)) = first else { return false };
        self.optional.remove(&(hint, txn));
        self.come(TxnId(txn));
        true
    }

    /// Whether a transaction that may come next waits for something that this one wrote.
    fn is_wanted(&self, txn: TxnId) -> bool {
        let index = self.problem.index;
        index.writes_of(txn).any(|write| {
            let key = index.writes()[write].key;
            self.classes.of_holder(key, write as u32).any(|class| self.wanted[class as usize] > 0)
        })
    }

    /// Whether nothing came yet that a transaction of unknown outcome would have to precede.
    fn may_still_come(&self, txn: TxnId) -> bool {
        let shape = self.problem.shape;
        if self.problem.hands_on(txn) {
            return true;
        }
        let has_come = |later: TxnId| matches!(self.place[later.index()], Place::Begun | Place::Done);
        let edges = time::edges_of(&self.timeline.maybe_edges, txn);
        self.before[shape.commit(txn) as usize] <= u32::from(shape.events == 2)
            && !self.problem.session_followers(txn).into_iter().any(has_come)
            && edges.iter().all(|edge| self.before[edge.to as usize] > 0)
    }

    fn may_overwrite(&self, txn: TxnId) -> bool {
        let index = self.problem.index;
        index.writes_of(txn).all(|write| {
            let key = index.writes()[write].key;
            let holder = self.holder[key.index()];
            let is_needed = |class: u32| {
                self.copies[class as usize] == 0 && self.pending[class as usize] > self.own_reads(txn, class)
            };
            self.claims[key.index()] == 0 && !self.classes.of_holder(key, holder).any(is_needed)
        })
    }

    /// A transaction of unknown outcome did not commit.
    fn skip_an_unknown(&mut self) -> bool {
        let Some((_, txn)) = self.optional.pop_first() else { return false };
        let txn = TxnId(txn);
        let shape = self.problem.shape;
        self.place[txn.index()] = Place::Done;
        if self.follows_recording {
            self.count_copies(txn, -1);
        }
        self.finish(shape.begin(txn), self.floor[shape.begin(txn) as usize]);
        if shape.events == 2 {
            self.released.retain(|&node| node != shape.commit(txn));
            self.finish(shape.commit(txn), self.floor[shape.begin(txn) as usize]);
        }
        true
    }

    /// The transactions that came, in the order of their commits.
    fn order_of_commits(&self) -> Vec<TxnId> {
        match &self.past {
            Some(past) => past.order().collect(),
            None => self.commits.clone(),
        }
    }

    /// The order of begins and commits.
    fn certificate(&mut self) -> Certificate {
        let shape = self.problem.shape;
        if self.past.is_some() {
            self.commits = self.order_of_commits();
            self.commits.iter().enumerate().for_each(|(place, txn)| self.began[txn.index()] = place as u32);
        }
        let mut order = Vec::with_capacity(self.commits.len() * shape.events as usize);
        let mut begins: Vec<(u32, TxnId)> =
            self.commits.iter().map(|&txn| (self.began[txn.index()], txn)).collect();
        begins.sort_unstable();
        let mut begins = begins.into_iter().peekable();
        for (moment, &txn) in self.commits.iter().enumerate() {
            let is_now = |&(began, _): &(u32, TxnId)| shape.events == 2 && began as usize <= moment;
            while let Some((_, txn)) = begins.next_if(is_now) {
                order.push(Node(shape.begin(txn)));
            }
            order.push(Node(shape.commit(txn)));
        }
        let history = self.problem.history;
        let unknown = self.commits.iter().copied().filter(|&txn| history.outcome(txn) == Outcome::Unknown);
        let mut committed_unknown: Vec<TxnId> = unknown.collect();
        committed_unknown.sort_unstable();
        Certificate::Holds { order, committed_unknown }
    }
}

/// Whether a transaction may come now, and what it would destroy.
enum Cost {
    Is(i64),
    Gone,
}
