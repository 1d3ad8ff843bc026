//! What a client wants to do: the next transaction, before it meets the store, simulated or real.

use super::application::Planner;
use super::config::{Config, KeyDistribution, Operations};
use crate::random::{Random, mix};
use crate::zipf::Zipf;

/// An operation before its execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Planned {
    /// Reads a register.
    Read(u32),
    /// Writes a register.
    Write(u32),
    /// Reads a list.
    ReadList(u32),
    /// Appends to a list.
    Append(u32),
    /// Inserts the row if it does not exist, and deletes it if it does.
    InsertOrDelete(u32),
    /// Reads a row if it exists or not.
    ReadRow(u32),
    /// Changes the row if it exists, and inserts it if not.
    WriteRow(u32),
    /// Reads the rows from a key on; so many keys.
    Range(u32, u32),
    /// Reads so many rows by a filter on a column.
    Query {
        /// The column, 0 or 1.
        column: usize,
        /// How many rows are to match.
        rows: u32,
    },
    /// Sets a column of so many rows, chosen by a filter on a column.
    Update {
        /// The column to filter by, 0 or 1.
        column: usize,
        /// How many rows are to match.
        rows: u32,
        /// The column to set.
        set: usize,
    },
}

impl Planned {
    /// The key, for an operation that begins at a key.
    fn key(self) -> Option<u32> {
        match self {
            Self::Read(key)
            | Self::Write(key)
            | Self::ReadList(key)
            | Self::Append(key)
            | Self::InsertOrDelete(key)
            | Self::ReadRow(key)
            | Self::WriteRow(key)
            | Self::Range(key, _) => Some(key),
            Self::Query { .. } | Self::Update { .. } => None,
        }
    }
}

/// Unique values run out here: the larger ones are no longer their own ids.
const LAST_VALUE: u32 = i32::MAX as u32;

/// Plans transactions and makes values.
#[derive(Debug)]
pub struct Workload<'c> {
    config: &'c Config,
    key_ranks: Option<Zipf>,
    duplicate_values: Option<Zipf>,
    last_value: u32,
    lists: Vec<ListSlot>,
    list_count: u32,
    application: Option<Planner>,
}

/// A list in use, and how many appends to it were planned.
#[derive(Clone, Copy, Debug)]
struct ListSlot {
    key: u32,
    appends: u32,
}

impl<'c> Workload<'c> {
    /// Begins with no value used; the configuration must be one that [`Config::check`] accepts.
    pub fn new(config: &'c Config) -> Self {
        let key_ranks = match config.distribution {
            KeyDistribution::Zipf { exponent } => Some(Zipf::new(u64::from(config.keys), exponent)),
            _ => None,
        };
        let duplicate_values =
            config.duplicates.map(|duplicates| Zipf::new(u64::from(duplicates.values), duplicates.exponent));
        let lists = match config.operations {
            Operations::Lists { .. } => (0..config.keys).map(|key| ListSlot { key, appends: 0 }).collect(),
            _ => Vec::new(),
        };
        let application = match config.operations {
            Operations::Application(application) => Some(Planner::new(application, config.keys)),
            _ => None,
        };
        // In a table the values up to the number of rows are there from the start.
        let last_value = match config.operations {
            Operations::Predicates { .. } => config.keys,
            _ => 0,
        };
        Self { config, key_ranks, duplicate_values, last_value, lists, list_count: config.keys, application }
    }

    /// How many keys were used so far; lists that are full are replaced by new ones, and applications insert.
    pub fn key_count(&self) -> u32 {
        self.application.as_ref().map_or(self.list_count, Planner::key_count)
    }

    /// Whether there are no unique values left.
    pub fn is_exhausted(&self) -> bool {
        self.last_value == LAST_VALUE
    }

    /// Plans the next transaction.
    pub fn plan(&mut self, random: &mut Random, plan: &mut Vec<Planned>) {
        plan.clear();
        if let Some(application) = &mut self.application {
            return application.plan(random, plan);
        }
        let (least, most) = self.config.operations_per_transaction;
        let count = least as usize + random.below(u64::from(most - least) + 1) as usize;
        let kind = random.unit();
        let read_share = if kind < self.config.read_only_share {
            1.0
        } else if kind < self.config.read_only_share + self.config.write_only_share {
            0.0
        } else {
            self.config.read_share
        };
        while plan.len() < count {
            let key = self.fresh_key(random, plan);
            if random.unit() < read_share {
                plan.push(self.plan_read(random, key));
            } else {
                self.plan_write(random, key, count, plan);
            }
        }
    }

    /// A value for a write of this key.
    pub fn value(&mut self, random: &mut Random, key: u32) -> u32 {
        match &self.duplicate_values {
            Some(values) if self.repeats_values(key) => values.sample(random) as u32 + 1,
            _ => {
                self.last_value = (self.last_value + 1).min(LAST_VALUE);
                self.last_value
            }
        }
    }

    /// Whether values of this key are written more than once.
    pub fn repeats_values(&self, key: u32) -> bool {
        self.config.duplicates.is_some_and(|duplicates| {
            let spread = mix(self.config.seed ^ mix(u64::from(key))) as f64 / u64::MAX as f64;
            spread < duplicates.key_share
        })
    }

    fn plan_read(&mut self, random: &mut Random, key: u32) -> Planned {
        match self.config.operations {
            Operations::Registers | Operations::Application(_) => Planned::Read(key),
            Operations::Lists { .. } => Planned::ReadList(self.lists[key as usize].key),
            Operations::Rows { range_share, range_keys, .. } => {
                if random.chance(range_share) {
                    let span = 1 + random.below(u64::from(range_keys)) as u32;
                    Planned::Range(key, span.min(self.config.keys - key))
                } else {
                    Planned::ReadRow(key)
                }
            }
            Operations::Predicates { most_rows } => {
                let (column, rows) = any_filter(random, most_rows);
                Planned::Query { column, rows }
            }
        }
    }

    fn plan_write(&mut self, random: &mut Random, key: u32, count: usize, plan: &mut Vec<Planned>) {
        let reads_first = count - plan.len() >= 2 && random.chance(self.config.read_modify_write_share);
        match self.config.operations {
            Operations::Registers | Operations::Application(_) => {
                plan.extend(reads_first.then_some(Planned::Read(key)));
                plan.push(Planned::Write(key));
            }
            Operations::Lists { appends_per_key } => {
                let list = self.lists[key as usize].key;
                plan.extend(reads_first.then_some(Planned::ReadList(list)));
                plan.push(Planned::Append(list));
                self.count_append(key, appends_per_key);
            }
            Operations::Rows { insert_delete_share, .. } => {
                plan.extend(reads_first.then_some(Planned::ReadRow(key)));
                plan.push(if random.chance(insert_delete_share) {
                    Planned::InsertOrDelete(key)
                } else {
                    Planned::WriteRow(key)
                });
            }
            Operations::Predicates { most_rows } => {
                let (column, rows) = any_filter(random, most_rows);
                plan.push(Planned::Update { column, rows, set: 1 });
            }
        }
    }

    fn count_append(&mut self, slot: u32, appends_per_key: u32) {
        let slot = &mut self.lists[slot as usize];
        slot.appends += 1;
        if slot.appends >= appends_per_key {
            *slot = ListSlot { key: self.list_count, appends: 0 };
            self.list_count += 1;
        }
    }

    /// A key, not among those already planned if they are to be distinct (and a few tries find such a key).
    fn fresh_key(&self, random: &mut Random, plan: &[Planned]) -> u32 {
        let mut key = self.key(random);
        if self.config.distinct_keys {
            for _ in 0..64 {
                let used = self.lists.get(key as usize).map_or(key, |slot| slot.key);
                if plan.iter().all(|planned| planned.key() != Some(used)) {
                    break;
                }
                key = self.key(random);
            }
        }
        key
    }

    fn key(&self, random: &mut Random) -> u32 {
        let keys = u64::from(self.config.keys);
        let key = match (self.config.distribution, &self.key_ranks) {
            (_, Some(ranks)) => ranks.sample(random),
            (KeyDistribution::Hotspot { hot_keys, hot_operations }, _) => {
                let hot = ((keys as f64 * hot_keys) as u64).clamp(1, keys);
                if hot == keys || random.chance(hot_operations) {
                    random.below(hot)
                } else {
                    hot + random.below(keys - hot)
                }
            }
            _ => random.below(keys),
        };
        key as u32
    }
}

/// A column to filter by, and how many rows the filter is to match.
fn any_filter(random: &mut Random, most_rows: u32) -> (usize, u32) {
    (random.below(2) as usize, 1 + random.below(u64::from(most_rows)) as u32)
}
