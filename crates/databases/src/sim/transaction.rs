//! One transaction on the simulated store: the rules of [`drive::simulate`], statement by statement.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use drive::random::Random;
use drive::simulate::{Age, Fault, INITIAL_STAMP, Reads, Rules, Version, View};
use history::{Bound, Datum};

use super::Habits;
use super::level::Level;
use super::locks::{Asked, Mode, Resource};
use super::world::{RowOrNone, SITES, Shared, World};
use crate::Failure;
use crate::rows::{Columns, longer_list};

pub(crate) struct Transaction {
    level: Level,
    rules: Rules,
    fault: Option<Fault>,
    session: u32,
    /// What it can see, unless its rules say otherwise.
    view: View,
    /// An old state, for a fault.
    old_view: View,
    reads: HashMap<u32, Seen>,
    scans: Vec<Scan>,
    writes: BTreeMap<u32, RowOrNone>,
    /// The elements that it appended to keys.
    appended: BTreeMap<u32, Vec<String>>,
    /// Keys read for update, which are checked as if they were written.
    locked: Vec<u32>,
    lock_timeout: Duration,
}

struct Seen {
    stamp: i64,
    value: RowOrNone,
}

struct Scan {
    table: String,
    from: Bound,
    to: Bound,
    /// When it was made.
    at: i64,
    /// Keys that the transaction had written: of these it showed its own rows.
    own: BTreeSet<u32>,
}

impl Transaction {
    pub fn begin(
        shared: &Shared,
        habits: &Habits,
        level: Level,
        session: u32,
        last_commit: i64,
        random: &mut Random,
    ) -> Result<Self, Failure> {
        let strikes = |&&(fault, rate): &&(Fault, f64)| fault != Fault::ClockSkew && random.chance(rate);
        let fault = habits.faults.iter().find(strikes).map(|&(fault, _)| fault);
        let rules = fault.map_or(level.rules(), |fault| fault.change(level.rules()));
        let mut transaction = Self {
            level,
            rules,
            fault,
            session,
            view: View::NEWEST,
            old_view: View::NEWEST,
            reads: HashMap::new(),
            scans: Vec::new(),
            writes: BTreeMap::new(),
            appended: BTreeMap::new(),
            locked: Vec::new(),
            lock_timeout: habits.lock_timeout,
        };
        let mut world = shared.world();
        if level.is_serial() {
            world = transaction.lock(shared, world, Resource::Everything, Mode::Exclusive)?;
        }
        let lag = random.below(shared.replication_ns() + 1) as i64;
        transaction.open_view(&mut world, lag, last_commit);
        Ok(transaction)
    }

    fn open_view(&mut self, world: &mut World, lag: i64, last_commit: i64) {
        let now = world.tick();
        let at = match self.rules.reads {
            Reads::Snapshot(Age::Any) => now - lag,
            Reads::Snapshot(Age::SessionFresh) => (now - lag).max(last_commit),
            Reads::Snapshot(Age::Fresh) | Reads::Copies => now,
            _ => i64::MAX,
        };
        let site = (self.rules.reads == Reads::Copies).then_some(self.session % SITES);
        let is_causal = self.level.is_causal();
        self.view = View { at, site, is_causal };
        self.old_view = View { at: now - lag, site: None, is_causal };
        world.views.insert(self.session, at.min(now - lag));
    }

    pub fn read(
        &mut self,
        shared: &Shared,
        table: &str,
        key: &Datum,
        random: &mut Random,
    ) -> Result<Option<Columns>, Failure> {
        let mut world = shared.world();
        let key = world.key(table, key);
        if self.level == Level::TwoPhaseLocking {
            world = self.lock(shared, world, Resource::Key(key), Mode::Shared)?;
        }
        Ok(self.see(&world, key, random).map(|row| row.to_vec()))
    }

    pub fn read_for_update(
        &mut self,
        shared: &Shared,
        table: &str,
        key: &Datum,
        random: &mut Random,
    ) -> Result<Option<Columns>, Failure> {
        let mut world = shared.world();
        let key = world.key(table, key);
        if self.level == Level::TwoPhaseLocking {
            world = self.lock(shared, world, Resource::Key(key), Mode::Exclusive)?;
        }
        self.locked.push(key);
        Ok(self.see(&world, key, random).map(|row| row.to_vec()))
    }

    pub fn scan(
        &mut self,
        shared: &Shared,
        table: &str,
        from: &Bound,
        to: &Bound,
        random: &mut Random,
    ) -> Result<Vec<(Datum, Columns)>, Failure> {
        let mut world = shared.world();
        if self.level == Level::TwoPhaseLocking {
            world = self.lock(shared, world, Resource::Table(table.into()), Mode::Shared)?;
        }
        let keys = world.keys_between(table, from, to);
        let rows = keys.into_iter().filter_map(|(key, id)| {
            let row = self.see(&world, id, random)?;
            Some((key, row.to_vec()))
        });
        let rows = rows.collect();
        if self.rules.checks_reads {
            self.scans.push(Scan {
                table: table.into(),
                from: from.clone(),
                to: to.clone(),
                at: world.tick(),
                own: self.writes.keys().copied().collect(),
            });
        }
        Ok(rows)
    }

    pub fn write(
        &mut self,
        shared: &Shared,
        table: &str,
        key: &Datum,
        value: RowOrNone,
    ) -> Result<(), Failure> {
        let mut world = shared.world();
        let key = world.key(table, key);
        if self.level == Level::TwoPhaseLocking {
            world = self.lock(shared, world, Resource::Table(table.into()), Mode::Intent)?;
            world = self.lock(shared, world, Resource::Key(key), Mode::Exclusive)?;
        }
        world.store.write_uncommitted(key, self.session, value.clone());
        self.writes.insert(key, value);
        Ok(())
    }

    /// The last write of a key was an append of this element.
    pub fn note_append(&mut self, shared: &Shared, table: &str, key: &Datum, element: &str) {
        let key = shared.world().key(table, key);
        self.appended.entry(key).or_default().push(element.to_owned());
    }

    /// Where nothing checks that a list is still the one that was appended to, elements go to the end of what is there at
    /// the commit, as with a statement that appends on the server.
    fn move_appends(&mut self, world: &World) {
        if self.rules.checks_writes || self.rules.checks_reads || self.level.is_serial() {
            return;
        }
        for (key, elements) in &self.appended {
            let Some(Some(row)) = self.writes.get(key) else { continue };
            let mut row = row.to_vec();
            let held = world.store.newest(*key).value.as_ref().map_or(Datum::str(""), |held| held[0].clone());
            row[0] = elements.iter().fold(held, |list, element| longer_list(&list, element));
            self.writes.insert(*key, Some(row.into()));
        }
    }

    /// Commits at the moment that is returned.
    pub fn commit(mut self, shared: &Shared) -> Result<i64, Failure> {
        let mut world = shared.world();
        if let Err(failure) = self.may_commit(&world) {
            self.take_back(&mut world);
            self.leave(shared, &mut world);
            return Err(failure);
        }
        let now = world.tick();
        if self.fault == Some(Fault::LostCommit) {
            self.take_back(&mut world);
        } else {
            self.move_appends(&world);
            self.install(&mut world, now, shared.replication_ns() as i64);
        }
        self.leave(shared, &mut world);
        Ok(now)
    }

    pub fn abort(mut self, shared: &Shared) {
        let mut world = shared.world();
        self.take_back(&mut world);
        self.leave(shared, &mut world);
    }

    fn install(&mut self, world: &mut World, now: i64, replication_ns: i64) {
        let oldest = world.views.values().copied().fold(now - replication_ns, i64::min);
        for (key, value) in std::mem::take(&mut self.writes) {
            let version = Version { stamp: now, value, site: self.session % SITES };
            world.store.commit(key, self.session, version, || oldest);
        }
    }

    fn take_back(&mut self, world: &mut World) {
        for (key, value) in std::mem::take(&mut self.writes) {
            world.store.abort(key, self.session, value);
        }
    }

    fn leave(&self, shared: &Shared, world: &mut World) {
        world.views.remove(&self.session);
        world.locks.release(self.session);
        shared.released.notify_all();
    }

    /// What a key holds for this transaction.
    fn see(&mut self, world: &World, key: u32, random: &mut Random) -> RowOrNone {
        if let Some(own) = self.writes.get(&key) {
            return own.clone();
        }
        let repeats = !matches!(self.rules.reads, Reads::NewestEachTime | Reads::Dirty);
        if let Some(seen) = self.reads.get(&key).filter(|_| repeats) {
            return seen.value.clone();
        }
        let version = match self.rules.reads {
            Reads::Dirty => world.store.dirty(key),
            Reads::Newest | Reads::NewestEachTime => world.store.newest(key).clone(),
            Reads::Snapshot(_) | Reads::Copies => world.store.visible(key, self.view).clone(),
        };
        // A wrong value keeps the stamp of the right version: the store does not notice.
        let wrong = match self.fault {
            Some(Fault::AbortedRead) => world.store.aborted(key),
            Some(Fault::FracturedRead) if random.chance(0.5) => {
                Some(world.store.visible(key, self.old_view).value.clone())
            }
            _ => None,
        };
        let value = wrong.unwrap_or(version.value);
        if repeats {
            self.reads.insert(key, Seen { stamp: version.stamp, value: value.clone() });
        }
        value
    }

    fn may_commit(&self, world: &World) -> Result<(), Failure> {
        let unseen = |key: &u32| !world.store.sees(self.view, world.store.newest(*key));
        if self.rules.checks_writes && self.writes.keys().chain(&self.locked).any(unseen) {
            return Err(conflict("another transaction has written a key that this transaction writes"));
        }
        let is_spared = self.level.spares_readers() && self.writes.is_empty();
        if self.rules.checks_reads && !is_spared && self.is_stale(world) {
            return Err(conflict("another transaction has written what this transaction read"));
        }
        Ok(())
    }

    fn is_stale(&self, world: &World) -> bool {
        let is_changed = |(key, seen): (&u32, &Seen)| {
            !self.overwrites_unseen(key) && world.store.newest(*key).stamp != seen.stamp
        };
        self.reads.iter().any(is_changed) || self.scans.iter().any(|scan| self.has_phantom(world, scan))
    }

    /// Whether there is a row now that was not there at the time of a scan.
    fn has_phantom(&self, world: &World, scan: &Scan) -> bool {
        world.keys_between(&scan.table, &scan.from, &scan.to).iter().any(|(_, key)| {
            let stamp = world.store.newest(*key).stamp;
            match self.reads.contains_key(key) {
                _ if scan.own.contains(key) || self.overwrites_unseen(key) => false,
                // A later read may know a row that this scan could not see.
                true => stamp > scan.at,
                false => stamp != INITIAL_STAMP,
            }
        })
    }

    /// Whether a fault lets it write over what it has not seen.
    fn overwrites_unseen(&self, key: &u32) -> bool {
        self.fault == Some(Fault::LostUpdate) && self.writes.contains_key(key)
    }

    /// Waits for a lock; the world is free while it waits.
    fn lock<'w>(
        &mut self,
        shared: &'w Shared,
        mut world: MutexGuard<'w, World>,
        resource: Resource,
        mode: Mode,
    ) -> Result<MutexGuard<'w, World>, Failure> {
        let since = Instant::now();
        loop {
            match world.locks.ask(self.session, &resource, mode) {
                Asked::Held => return Ok(world),
                Asked::Deadlock => {
                    let message = "waiting would close a circle of waiting transactions";
                    return Err(Failure::aborted(message).with_code("deadlock"));
                }
                Asked::Wait => {}
            }
            let left = self.lock_timeout.saturating_sub(since.elapsed());
            if left.is_zero() {
                world.locks.stop_waiting(self.session);
                return Err(Failure::aborted("a lock came too late").with_code("lock-timeout"));
            }
            let waited = shared.released.wait_timeout(world, left);
            world = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }
}

fn conflict(message: &str) -> Failure {
    Failure::aborted(message).with_code("conflict")
}
