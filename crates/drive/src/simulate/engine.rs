//! The event loop: whose message reaches the store next, and what it does there.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use history::{Outcome, ValueId};

use super::client::{Done, Ending, Phase, Seen, SimulatedClient};
use super::config::{Config, Operations};
use super::level::{Age, Reads};
use super::lists::{EMPTY_LIST, Lists};
use super::record::Recorder;
use super::store::{Replication, Store, Version, View};
use super::table::RowContents;
use super::workload::{Planned, Workload};
use super::{Fault, Part, Run, StoreLevel};
use crate::random::Random;

const MAX_SITES: u32 = 4;
/// No transaction starts after this moment; the longest one allowed still ends before time overflows.
const LAST_MOMENT: i64 = i64::MAX / 4;
/// A row that does not exist.
pub(crate) const ABSENT: u32 = ValueId::NIL.0;

/// The whole simulated world.
pub(crate) struct Engine<'c> {
    pub(super) config: &'c Config,
    pub(super) workload: Workload<'c>,
    pub(super) store: Store,
    lists: Lists,
    /// Whether appends go to the list that is there at the commit.
    moves_appends: bool,
    pub(super) table: RowContents,
    has_table: bool,
    pub(super) clients: Vec<SimulatedClient>,
    /// When the next message of each client reaches the store.
    arrivals: BinaryHeap<Reverse<(i64, u32)>>,
    pub(super) random: Random,
    now: i64,
    recorder: Recorder,
    unstarted: u32,
    sites: u32,
    /// At the serial level: whether a transaction runs, and which ones wait.
    is_locked: bool,
    waiting: VecDeque<u32>,
}

impl<'c> Engine<'c> {
    /// A world in which nothing has happened yet; whether what happens is handed out in parts.
    pub fn new(config: &'c Config, is_streamed: bool) -> Self {
        let mut random = Random::new(config.seed);
        let sites = config.sessions.min(MAX_SITES);
        let has = |needs: fn(Fault) -> bool| config.faults.iter().any(|&(fault, _)| needs(fault));
        let reads = config.level.rules().reads;
        let keeps_old = matches!(reads, Reads::Snapshot(_) | Reads::Copies) || has(Fault::needs_old_versions);
        let keeps_uncommitted = reads == Reads::Dirty || has(Fault::needs_uncommitted);
        let replication = Replication { sites, hop_ns: config.replication_ns as i64 };
        let initial = match config.operations {
            Operations::Registers | Operations::Application(_) => 0,
            Operations::Lists { .. } => EMPTY_LIST,
            Operations::Rows { .. } => ABSENT,
            Operations::Predicates { .. } => 0,
        };
        let mut store = Store::new(config.keys, initial, keeps_old, keeps_uncommitted, replication);
        let has_table = matches!(config.operations, Operations::Predicates { .. });
        let mut table = RowContents::default();
        if has_table {
            table = RowContents::new(config.keys, &mut random);
            (0..config.keys).for_each(|key| store.set_initial(key, key));
        }
        Self {
            config,
            workload: Workload::new(config),
            store,
            lists: Lists::default(),
            moves_appends: matches!(config.operations, Operations::Lists { .. })
                && !config.level.keeps_lists_whole(),
            has_table,
            clients: (0..config.sessions).map(|_| SimulatedClient::new()).collect(),
            arrivals: BinaryHeap::with_capacity(config.sessions as usize),
            recorder: Recorder::new(config, &table, &mut random, is_streamed),
            table,
            random,
            now: 0,
            unstarted: config.transactions,
            sites,
            is_locked: false,
            waiting: VecDeque::new(),
        }
    }

    pub fn run(mut self) -> Run {
        self.start_all();
        while self.step() {}
        self.recorder.finish()
    }

    /// Hands out what happens in parts, until there is no more or the receiver has enough.
    pub fn stream<E>(mut self, take: &mut dyn FnMut(&Part) -> Result<(), E>) -> Result<(), E> {
        self.start_all();
        loop {
            let is_last = !self.step();
            if let Some(part) = self.recorder.part(is_last) {
                take(&part)?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    fn start_all(&mut self) {
        for session in 0..self.config.sessions {
            self.start_next(session, 0);
        }
    }

    /// The next message reaches the store; false if there is none.
    fn step(&mut self) -> bool {
        let Some(Reverse((arrival, session))) = self.arrivals.pop() else { return false };
        self.now = arrival.max(self.now + 1);
        match self.clients[session as usize].phase {
            Phase::Begin => self.begin(session),
            Phase::Operation => self.operation(session),
            Phase::End => self.end(session),
            Phase::Done => {}
        }
        true
    }

    /// The client takes one more of the transactions that are to be run, if any is left.
    fn start_next(&mut self, session: u32, heard: i64) {
        if self.unstarted == 0 || self.is_over() {
            self.clients[session as usize].phase = Phase::Done;
            return;
        }
        self.unstarted -= 1;
        self.start(session, heard);
    }

    /// Whether values or time have run out, which only absurd configurations reach.
    fn is_over(&self) -> bool {
        self.workload.is_exhausted() || self.now > LAST_MOMENT
    }

    fn start(&mut self, session: u32, heard: i64) {
        let client = &mut self.clients[session as usize];
        client.clear();
        client.phase = Phase::Begin;
        self.workload.plan(&mut self.random, &mut client.plan);
        if self.workload.key_count() > self.config.keys {
            self.store.grow_to(self.workload.key_count());
        }
        let request = heard + 1 + self.random.around(self.config.think_ns);
        self.send(session, request);
    }

    fn send(&mut self, session: u32, request: i64) {
        self.clients[session as usize].request = request;
        let arrival = request + 1 + self.random.around(self.config.latency_ns);
        self.arrivals.push(Reverse((arrival, session)));
    }

    fn answer_arrives(&mut self) -> i64 {
        self.now + 1 + self.random.around(self.config.latency_ns)
    }

    fn begin(&mut self, session: u32) {
        if self.config.level == StoreLevel::Serial {
            if self.is_locked {
                self.waiting.push_back(session);
                return;
            }
            self.is_locked = true;
        }
        self.choose_fate(session);
        let response = self.answer_arrives();
        let client = &mut self.clients[session as usize];
        client.begin = self.now;
        client.is_running = true;
        client.phase = Phase::Operation;
        client.moments.begin_request = client.request;
        client.moments.begin_response = response;
        self.open_view(session);
        self.send(session, response + 1);
    }

    /// Whether a fault strikes, and how the transaction will end if nothing else happens.
    fn choose_fate(&mut self, session: u32) {
        let random = &mut self.random;
        let strikes = |&&(fault, rate): &&(Fault, f64)| fault != Fault::ClockSkew && random.chance(rate);
        let fault = self.config.faults.iter().find(strikes).map(|&(fault, _)| fault);
        let ending = if self.random.chance(self.config.abort_share) {
            Ending::Abort
        } else if self.random.chance(self.config.unknown_share) {
            Ending::CommitUnheard { arrives: self.random.chance(0.5) }
        } else {
            Ending::Commit
        };
        let rules = self.config.level.rules();
        let client = &mut self.clients[session as usize];
        client.fault = fault;
        client.ending = ending;
        client.rules = fault.map_or(rules, |fault| fault.change(rules));
    }

    fn open_view(&mut self, session: u32) {
        let lag = self.random.below(self.config.replication_ns + 1) as i64;
        let client = &mut self.clients[session as usize];
        let at = match client.rules.reads {
            Reads::Snapshot(Age::Any) => self.now - lag,
            Reads::Snapshot(Age::SessionFresh) => (self.now - lag).max(client.last_commit),
            Reads::Snapshot(Age::Fresh) | Reads::Copies => self.now,
            _ => i64::MAX,
        };
        let site = (client.rules.reads == Reads::Copies).then_some(session % self.sites);
        let is_causal = self.config.level != StoreLevel::ReadAtomic;
        client.view = View { at, site, is_causal };
        client.old_view = View { at: self.now - lag, site: None, is_causal };
    }

    fn operation(&mut self, session: u32) {
        let client = &self.clients[session as usize];
        let planned = client.plan[client.next];
        self.perform(session, planned);
        let response = self.answer_arrives();
        let client = &mut self.clients[session as usize];
        client.next += 1;
        if client.next == client.plan.len() {
            client.phase = Phase::End;
        }
        self.send(session, response + 1);
    }

    fn perform(&mut self, session: u32, planned: Planned) {
        let done = match planned {
            Planned::Read(key) | Planned::ReadRow(key) => Done::Read(key, self.read(session, key)),
            Planned::ReadList(key) => Done::ReadList(key, self.read(session, key)),
            Planned::Write(key) => Done::Write(key, self.write_new(session, key)),
            Planned::Append(key) => self.append(session, key),
            Planned::WriteRow(key) => match self.read(session, key) {
                ABSENT => Done::Insert(key, self.write_new(session, key)),
                _ => Done::Write(key, self.write_new(session, key)),
            },
            Planned::InsertOrDelete(key) => match self.read(session, key) {
                ABSENT => Done::Insert(key, self.write_new(session, key)),
                _ => {
                    self.write(session, key, ABSENT);
                    Done::Delete(key)
                }
            },
            Planned::Range(from, count) => self.read_range(session, from, count),
            Planned::Query { column, rows } => self.query(session, column, rows),
            Planned::Update { column, rows, set } => self.update(session, column, rows, set),
        };
        self.clients[session as usize].done.push(done);
    }

    fn read_range(&mut self, session: u32, from: u32, count: u32) -> Done {
        let first_row = self.clients[session as usize].rows.len() as u32;
        for key in from..from + count {
            let value = self.read(session, key);
            if value != ABSENT {
                self.clients[session as usize].rows.push((key, value));
            }
        }
        let last_row = self.clients[session as usize].rows.len() as u32;
        Done::Range(from, count, (first_row, last_row))
    }

    fn append(&mut self, session: u32, key: u32) -> Done {
        let list = self.read(session, key);
        let element = self.workload.value(&mut self.random, key);
        let longer = self.lists.append(list, element);
        self.write(session, key, longer);
        Done::Append(key, element)
    }

    fn write_new(&mut self, session: u32, key: u32) -> u32 {
        let value = self.workload.value(&mut self.random, key);
        self.write(session, key, value);
        value
    }

    fn write(&mut self, session: u32, key: u32, value: u32) {
        self.clients[session as usize].set_own_write(key, value);
        self.store.write_uncommitted(key, session, value);
    }

    fn read(&mut self, session: u32, key: u32) -> u32 {
        let client = &self.clients[session as usize];
        if let Some(value) = client.own_write(key) {
            return value;
        }
        if let Some(seen) = client.own_read(key) {
            return seen.value;
        }
        let version = self.look(session, key);
        let client = &mut self.clients[session as usize];
        client.reads.push(Seen { key, stamp: version.stamp, value: version.value });
        version.value
    }

    /// What a transaction sees of what others have written to a key.
    pub(super) fn look(&mut self, session: u32, key: u32) -> Version {
        let client = &self.clients[session as usize];
        let version = match client.rules.reads {
            Reads::Dirty => self.store.dirty(key),
            Reads::Newest | Reads::NewestEachTime => *self.store.newest(key),
            Reads::Snapshot(_) | Reads::Copies => *self.store.visible(key, client.view),
        };
        // A wrong value keeps the stamp of the right version: the store does not notice.
        let wrong = match client.fault {
            Some(Fault::AbortedRead) => self.store.aborted(key),
            Some(Fault::FracturedRead) if self.random.chance(0.5) => {
                Some(self.store.visible(key, client.old_view).value)
            }
            _ => None,
        };
        Version { value: wrong.unwrap_or(version.value), ..version }
    }

    fn end(&mut self, session: u32) {
        let client = &self.clients[session as usize];
        let is_asked = matches!(client.ending, Ending::Commit | Ending::CommitUnheard { arrives: true });
        let is_committed = is_asked && self.may_commit(session);
        if is_committed {
            self.commit(session);
        } else {
            self.abort(session);
        }
        let response = self.answer_arrives();
        let client = &mut self.clients[session as usize];
        client.is_running = false;
        client.moments.end_request = client.request;
        client.moments.end_response = response;
        self.recorder.end(session, client, is_committed, self.now, (&self.lists, &self.table));
        let outcome = client.heard(is_committed);
        self.unlock();
        match outcome {
            Outcome::Aborted if !self.is_over() => self.start(session, response),
            _ => self.start_next(session, response),
        }
    }

    fn may_commit(&self, session: u32) -> bool {
        let client = &self.clients[session as usize];
        let unseen = |&(key, _): &(u32, u32)| !self.store.sees(client.view, self.store.newest(key));
        if client.rules.checks_writes && client.writes.iter().any(unseen) {
            return false;
        }
        let is_stale = |seen: &Seen| {
            let is_spared = client.fault == Some(Fault::LostUpdate) && client.own_write(seen.key).is_some();
            !is_spared && self.store.newest(seen.key).stamp != seen.stamp
        };
        let is_any_stale = || client.reads.iter().any(is_stale) || self.scans_are_stale(session);
        !(client.rules.checks_reads && is_any_stale())
    }

    fn commit(&mut self, session: u32) {
        let client = &self.clients[session as usize];
        if client.fault == Some(Fault::LostCommit) {
            for &(key, value) in &client.writes {
                self.store.abort(key, session, value);
            }
            return;
        }
        let site = session % self.sites;
        if self.moves_appends {
            self.move_appends(session);
        }
        let client = &self.clients[session as usize];
        for &(key, value) in &client.writes {
            let version = Version { stamp: self.now, value, site };
            let horizon = || oldest_view(&self.clients, self.now - self.config.replication_ns as i64);
            if self.has_table {
                self.table.commit(key, value, self.now);
            }
            self.store.commit(key, session, version, horizon);
        }
        self.clients[session as usize].last_commit = self.now;
    }

    /// Where nothing checks that a list is still the one that was appended to, appends happen at the commit: they go to
    /// the end of what is there then, as a statement does that appends on the server.
    fn move_appends(&mut self, session: u32) {
        let client = &mut self.clients[session as usize];
        for (key, value) in &mut client.writes {
            let appended = client.done.iter().filter_map(|done| match done {
                Done::Append(of, element) if of == key => Some(*element),
                _ => None,
            });
            let newest = self.store.newest(*key).value;
            *value = appended.fold(newest, |list, element| self.lists.append(list, element));
        }
    }

    fn abort(&mut self, session: u32) {
        for &(key, value) in &self.clients[session as usize].writes {
            self.store.abort(key, session, value);
        }
    }

    /// At the serial level the next transaction in the queue begins.
    fn unlock(&mut self) {
        self.is_locked = false;
        if let Some(session) = self.waiting.pop_front() {
            self.now += 1;
            self.begin(session);
        }
    }
}

/// The oldest moment that a running transaction looks at, or one that begins now may look at.
fn oldest_view(clients: &[SimulatedClient], oldest_new: i64) -> i64 {
    let running = clients.iter().filter(|client| client.is_running);
    let views = running.map(|client| client.view.at.min(client.old_view.at));
    views.fold(oldest_new, i64::min)
}
