//! Runs the transactions on the rows, one after the other, in an order that explains every answer, if it finds one.
//!
//! A read-only transaction is placed as soon as its reads match, which cannot be wrong. Of the writers that fit, the
//! search places one that overwrites nothing which a pending reader needs. A dead end shows which content was
//! overwritten too early (`dead_end.rs`): the search learns that order and takes back everything placed since.
//! Finding no order proves nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use certify::{Core, Level, Node};
use history::{History, KeyId, Outcome, SessionId, TxnId};

use super::contents::ContentNumber;
use super::extent::Writes;
use super::open::{Open, concerned};
use super::pending_reads::PendingReads;
use super::ready::ReadyQueue;
use super::scripts::Scripts;
use super::table::RowTable;
use crate::options::{Limit, Options};

/// Not placed.
const NEVER: u32 = u32::MAX;

/// A transaction that has committed.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    pub txn: TxnId,
    /// How many had committed when it began.
    pub began: u32,
    /// The latest request of a commit so far.
    latest_request: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deed {
    /// Where transactions are at one point, this is the same as to commit.
    Begin,
    Commit,
}

/// An order of two transactions that was learned from a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LearnedOrder {
    pub first: TxnId,
    /// The event of the first that comes before the commit of the second.
    pub deed: Deed,
    pub second: TxnId,
    pub key: KeyId,
}

pub(crate) struct RowSearch<'h, 'o> {
    pub(super) history: &'h History,
    pub(super) scripts: Scripts<'h>,
    pub(super) table: RowTable,
    pub(super) ready: ReadyQueue<'h>,
    pub(super) pending: PendingReads,
    pub(super) core: Core,
    pub(super) open: Vec<Open>,
    pub(super) placed: Vec<Placed>,
    /// For each transaction the moment of its commit.
    pub(super) moment_of: Vec<u32>,
    /// For each transaction the learned orders that put another transaction before it.
    pub(super) learned: Vec<Vec<LearnedOrder>>,
    /// For each session its first committed transaction that is not placed.
    next: Vec<Option<TxnId>>,
    /// Sessions whose next transaction is not open, by its begin.
    idle: BinaryHeap<Reverse<(i64, SessionId)>>,
    pub(super) stats: Counts,
    options: &'o Options<'o>,
}

/// The effort of the search.
#[derive(Default, Clone, Copy)]
pub(crate) struct Counts {
    pub learned: u64,
    pub taken_back: u64,
    pub overrides: u64,
}

/// How a search ends.
pub(crate) enum End {
    Found {
        order: Vec<Node>,
        committed_unknown: Vec<TxnId>,
    },
    /// The rows that the dead end is about.
    Stuck(Vec<KeyId>),
    Limit(Limit),
}

impl<'h, 'o> RowSearch<'h, 'o> {
    /// `None` if the history has something that cannot be run on rows.
    pub fn new(history: &'h History, level: &Level, options: &'o Options<'o>) -> Option<Self> {
        let mut scripts = Scripts::of(history)?;
        let ready = ReadyQueue::new(history, level)?;
        let table = RowTable::new(history, &mut scripts);
        let pending = PendingReads::of(&scripts, ready.by_begin());
        let mut search = Self {
            history,
            scripts,
            table,
            ready,
            pending,
            core: level.core,
            open: Vec::new(),
            placed: Vec::new(),
            moment_of: vec![NEVER; history.txn_count()],
            learned: vec![Vec::new(); history.txn_count()],
            next: vec![None; history.session_count()],
            idle: BinaryHeap::new(),
            stats: Counts::default(),
            options,
        };
        search.find_idle();
        Some(search)
    }

    pub fn run(mut self) -> (End, Counts) {
        let end = self.find_order();
        (end, self.stats)
    }

    fn find_order(&mut self) -> End {
        loop {
            if let Some(limit) = (self.options.limit)() {
                return End::Limit(limit);
            }
            self.open_next();
            if self.place_a_reader() {
                continue;
            }
            if self.open.is_empty() {
                return self.found();
            }
            let blocked = match self.place_a_writer() {
                Ok(()) => continue,
                Err(blocked) => blocked,
            };
            if let Err(keys) = self.leave_dead_end(blocked) {
                return End::Stuck(keys);
            }
        }
    }

    pub(super) fn is_placed(&self, txn: TxnId) -> bool {
        self.moment_of[txn.index()] != NEVER
    }

    /// Whether a transaction has begun, and perhaps committed.
    pub(super) fn has_begun(&self, txn: TxnId) -> bool {
        has_begun(&self.open, &self.moment_of, txn)
    }

    /// How many have committed.
    pub(super) fn moment(&self) -> u32 {
        self.placed.len() as u32
    }

    fn find_idle(&mut self) {
        self.idle.clear();
        for session in self.history.sessions() {
            self.next[session.index()] = self.history.session_txns(session).next();
            self.push_idle(session);
        }
    }

    /// The next committed transaction of a session waits until it may begin.
    fn push_idle(&mut self, session: SessionId) {
        let (Some(first), Some(last)) =
            (self.next[session.index()], self.history.session_txns(session).next_back())
        else {
            return;
        };
        let is_next = |txn: &TxnId| self.history.outcome(*txn) == Outcome::Committed && !self.is_placed(*txn);
        let next = (first.0..=last.0).map(TxnId).find(is_next);
        self.next[session.index()] = next;
        if let Some(txn) = next {
            self.idle.push(Reverse((self.ready.begin_request(txn), session)));
        }
    }

    /// Opens all that may come next.
    fn open_next(&mut self) {
        self.advance();
        while let Some(&Reverse((_, session))) = self.idle.peek() {
            let txn = self.next[session.index()].expect("a session that waits has a next one");
            if !self.ready.may_begin(txn) {
                break;
            }
            self.idle.pop();
            let open = Open::new(&mut self.scripts, &self.table, txn, Vec::new());
            self.open.push(open);
            self.note_fitting(self.open.len() - 1);
        }
        self.advance();
    }

    /// Tells the ready queue which transaction has come.
    fn advance(&mut self) {
        let (open, moment_of) = (&self.open, &self.moment_of);
        let has_begun = |txn: TxnId| has_begun(open, moment_of, txn);
        self.ready.advance(has_begun, |txn| moment_of[txn.index()] != NEVER);
    }

    /// Remembers that a transaction may begin now, where it may commit later.
    fn note_fitting(&mut self, place: usize) {
        let moment = self.moment();
        let open = &self.open[place];
        if self.core == Core::Serializable || !open.fits() {
            return;
        }
        if open.fitted.last() != Some(&moment) && self.may_begin_now(self.open[place].txn) {
            self.open[place].fitted.push(moment);
            self.pending.come(self.open[place].txn);
        }
    }

    /// Whether no commit has come that the begin of a transaction has to precede.
    pub(super) fn may_begin_now(&self, txn: TxnId) -> bool {
        let latest = self.placed.last().map_or(i64::MIN, |placed| placed.latest_request);
        self.core == Core::Serializable || self.ready.may_still_begin(txn, latest)
    }

    /// Places a transaction that fits and writes nothing. Where transactions begin before they commit, they come in the
    /// order of the clock like all others: a commit ends the time in which others may begin.
    fn place_a_reader(&mut self) -> bool {
        let may_come = |open: &Open| open.writes == 0 && open.fits() && self.has_learnt_all(open.txn);
        let place = self.open.iter().position(may_come).filter(|_| self.core == Core::Serializable);
        if let Some(place) = place {
            let nothing = self.writes(Vec::new());
            self.place(place, self.moment(), &nothing);
        }
        place.is_some()
    }

    pub(super) fn has_learnt_all(&self, txn: TxnId) -> bool {
        self.learned[txn.index()].iter().all(|order| match order.deed {
            Deed::Begin => self.has_begun(order.first),
            Deed::Commit => self.is_placed(order.first),
        })
    }

    /// What an open transaction would write, and when it would have begun: now if it fits now.
    pub(super) fn effects_of(&mut self, place: usize) -> Option<(u32, Vec<(KeyId, ContentNumber)>)> {
        let (txn, moment) = (self.open[place].txn, self.moment());
        let began = match self.core {
            Core::Serializable => self.open[place].fits().then_some(moment)?,
            Core::Snapshot | Core::Prefix => *self.open[place].fitted.last()?,
        };
        if self.scripts.only_reads(txn) {
            return Some((began, Vec::new()));
        }
        if began == moment {
            let effects = self.open[place].effects(&mut self.scripts, &self.table);
            return Some((moment, effects));
        }
        let effects = self.effects_at(txn, began);
        let is_free =
            |&(key, _): &(KeyId, ContentNumber)| self.table.since(key).is_none_or(|since| since < began);
        (self.core == Core::Prefix || effects.iter().all(is_free)).then_some((began, effects))
    }

    /// What a transaction that began at a moment writes.
    pub(super) fn effects_at(&mut self, txn: TxnId, began: u32) -> Vec<(KeyId, ContentNumber)> {
        let mut keys = concerned(&self.scripts, &self.table, txn);
        keys.extend(self.table.changed_since(began));
        keys.sort_unstable();
        keys.dedup();
        let mut effects = Vec::new();
        for key in keys {
            let held = self.table.at(key, began);
            if let Some(left) = self.scripts.meet(txn, key, held).left {
                effects.push((key, left));
            }
        }
        effects
    }

    /// A transaction commits now.
    pub(super) fn place(&mut self, place: usize, began: u32, writes: &Writes) {
        let open = self.open.swap_remove(place);
        self.commit(open.txn, began, writes);
    }

    pub(super) fn writes(&self, effects: Vec<(KeyId, ContentNumber)>) -> Writes {
        Writes::of(&self.scripts.contents, &self.table, effects)
    }

    pub(super) fn commit(&mut self, txn: TxnId, began: u32, writes: &Writes) {
        let moment = self.moment();
        self.moment_of[txn.index()] = moment;
        self.pending.come(txn);
        let latest = self.placed.last().map_or(i64::MIN, |placed| placed.latest_request);
        let latest_request = latest.max(self.ready.commit_request(txn));
        self.placed.push(Placed { txn, began, latest_request });
        for &(key, after) in &writes.effects {
            self.table.write(&self.scripts.contents, key, after, moment);
        }
        for open in &mut self.open {
            open.note_all(&mut self.scripts, &writes.extents, &writes.changes);
        }
        (0..self.open.len()).for_each(|place| self.note_fitting(place));
        if self.history.outcome(txn) == Outcome::Committed {
            self.push_idle(self.history.session_of(txn));
        }
    }

    /// Takes back everything from a moment on.
    pub(super) fn take_back(&mut self, moment: u32) {
        self.table.undo(&self.scripts.contents, moment);
        let undone = self.placed.split_off(moment as usize);
        self.stats.taken_back += undone.len() as u64;
        for placed in &undone {
            self.moment_of[placed.txn.index()] = NEVER;
            self.ready.put_back(placed.txn);
            self.pending.put_back(&self.scripts, placed.txn);
        }
        // Those that began after the moment are no longer open, or will be found to be so again.
        let open = std::mem::take(&mut self.open);
        for open in open.iter().filter(|open| !open.fitted.is_empty()) {
            self.pending.put_back(&self.scripts, open.txn);
        }
        let mut fitted: Vec<(TxnId, Vec<u32>)> = open
            .into_iter()
            .map(|open| (open.txn, open.fitted.into_iter().filter(|&fitted| fitted < moment).collect()))
            .collect();
        fitted.extend(undone.iter().map(|placed| {
            let has_begun = self.core != Core::Serializable && placed.began < moment;
            (placed.txn, if has_begun { vec![placed.began] } else { Vec::new() })
        }));
        fitted.retain(|(_, fitted)| !fitted.is_empty());
        self.find_idle();
        for (txn, _) in &fitted {
            self.ready.put_back(*txn);
        }
        self.reopen(fitted);
    }

    /// Opens those that had begun and are not placed any more.
    fn reopen(&mut self, mut fitted: Vec<(TxnId, Vec<u32>)>) {
        self.open_next();
        for place in 0..self.open.len() {
            let txn = self.open[place].txn;
            if let Some(known) = fitted.iter().position(|&(of, _)| of == txn) {
                let mut before = fitted.swap_remove(known).1;
                before.append(&mut self.open[place].fitted);
                self.open[place].fitted = before;
                self.pending.come(txn);
            }
        }
    }

    fn found(&self) -> End {
        let events = if self.core == Core::Serializable { 1 } else { 2 };
        let mut order = Vec::with_capacity(self.placed.len() * events as usize);
        let mut begins: Vec<(u32, TxnId)> =
            self.placed.iter().map(|placed| (placed.began, placed.txn)).collect();
        begins.sort_by_key(|&(began, txn)| (began, self.moment_of[txn.index()]));
        let mut begins = begins.into_iter().peekable();
        for (moment, placed) in self.placed.iter().enumerate() {
            while let Some((_, txn)) = begins.next_if(|&(began, _)| events == 2 && began as usize <= moment) {
                order.push(Node::begin(txn, events));
            }
            order.push(Node::commit(placed.txn, events));
        }
        let is_unknown = |txn: &TxnId| self.history.outcome(*txn) == Outcome::Unknown;
        let mut committed_unknown: Vec<TxnId> =
            self.placed.iter().map(|placed| placed.txn).filter(is_unknown).collect();
        committed_unknown.sort_unstable();
        End::Found { order, committed_unknown }
    }
}

fn has_begun(open: &[Open], moment_of: &[u32], txn: TxnId) -> bool {
    moment_of[txn.index()] != NEVER || open.iter().any(|open| open.txn == txn && !open.fitted.is_empty())
}
