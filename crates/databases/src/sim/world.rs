//! What all clients of the simulated store share: the versions, the names of keys, the locks, the clock.

use std::collections::BTreeMap;
use std::ops::Bound as RangeBound;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use drive::simulate::{INITIAL_STAMP, Replication, Store, Version};
use history::{Bound, Datum};

use super::locks::Locks;
use crate::Table;

/// A row, or that there is none.
pub(crate) type RowOrNone = Option<Arc<[Datum]>>;

/// How many sites copy each other's commits, at the levels that have sites.
pub(crate) const SITES: u32 = 4;

pub(crate) struct Shared {
    world: Mutex<World>,
    /// A lock was released.
    pub released: Condvar,
    replication_ns: u64,
}

pub(crate) struct World {
    pub store: Store<RowOrNone>,
    pub locks: Locks,
    /// The oldest moment that each running transaction may look at.
    pub views: BTreeMap<u32, i64>,
    keys: BTreeMap<String, BTreeMap<Datum, u32>>,
    key_count: u32,
    started: Instant,
    now: i64,
}

impl Shared {
    pub fn new(replication_ns: u64) -> Self {
        Self { world: Mutex::new(World::new(replication_ns)), released: Condvar::new(), replication_ns }
    }

    /// A client that panicked in here did so between two consistent states: nothing below panics on purpose.
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the tables away and puts them there anew. Transactions that are running end in confusion, as they would
    /// elsewhere.
    pub fn prepare(&self, tables: &[Table]) {
        let mut world = self.world();
        for table in tables {
            world.keys.insert(table.name.clone(), BTreeMap::new());
            for (key, row) in &table.rows {
                let id = world.key(&table.name, key);
                let value = Some(Arc::from(row.as_slice()));
                world.store.commit(id, 0, Version { stamp: INITIAL_STAMP, value, site: 0 }, || INITIAL_STAMP);
            }
        }
    }

    /// How long a commit takes to the next site, and how old a stale state may be.
    pub fn replication_ns(&self) -> u64 {
        self.replication_ns
    }
}

impl World {
    fn new(replication_ns: u64) -> Self {
        let replication = Replication { sites: SITES, hop_ns: replication_ns as i64 };
        Self {
            store: Store::new(0, None, true, true, replication),
            locks: Locks::default(),
            views: BTreeMap::new(),
            keys: BTreeMap::new(),
            key_count: 0,
            started: Instant::now(),
            now: INITIAL_STAMP,
        }
    }

    /// The next moment: real time, but never the same one twice.
    pub fn tick(&mut self) -> i64 {
        let elapsed = i64::try_from(self.started.elapsed().as_nanos()).unwrap_or(i64::MAX / 2);
        self.now = elapsed.max(self.now + 1);
        self.now
    }

    /// The number of a key, which is new if the key was not named before.
    pub fn key(&mut self, table: &str, key: &Datum) -> u32 {
        if let Some(&id) = self.keys.get(table).and_then(|keys| keys.get(key)) {
            return id;
        }
        let id = self.key_count;
        self.key_count += 1;
        self.store.grow_to(self.key_count);
        self.keys.entry(table.into()).or_default().insert(key.clone(), id);
        id
    }

    /// All keys between two bounds that anybody has named, in order; most of the time they have rows.
    pub fn keys_between(&self, table: &str, from: &Bound, to: &Bound) -> Vec<(Datum, u32)> {
        let Some(keys) = self.keys.get(table) else { return Vec::new() };
        if is_empty(from, to) {
            return Vec::new();
        }
        keys.range((end(from), end(to))).map(|(key, &id)| (key.clone(), id)).collect()
    }
}

fn end(bound: &Bound) -> RangeBound<&Datum> {
    match bound {
        Bound::Unbounded => RangeBound::Unbounded,
        Bound::Included(key) => RangeBound::Included(key),
        Bound::Excluded(key) => RangeBound::Excluded(key),
    }
}

/// Whether no key can lie between two bounds, which a map does not want to be asked.
pub(crate) fn is_empty(from: &Bound, to: &Bound) -> bool {
    match (from, to) {
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => {
            from >= to
        }
        _ => false,
    }
}
