//! What to simulate, field by field.

use std::fmt;

use super::{Fault, StoreLevel};

/// Everything that a simulated run depends on.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// The seed: equal configurations with equal seeds give equal histories.
    pub seed: u64,
    /// How the store isolates transactions.
    pub level: StoreLevel,
    /// Defects of the store, each with the share of transactions (for [`Fault::ClockSkew`] of sessions) it strikes.
    pub faults: Vec<(Fault, f64)>,
    /// How many clients there are.
    pub sessions: u32,
    /// How many transactions are to end as committed or unknown; aborted attempts come on top.
    pub transactions: u32,
    /// The smallest and the largest number of operations of a transaction.
    pub operations_per_transaction: (u32, u32),
    /// What the operations are.
    pub operations: Operations,
    /// How many keys there are.
    pub keys: u32,
    /// Which keys are chosen.
    pub distribution: KeyDistribution,
    /// The share of reads among the operations of a transaction that may write.
    pub read_share: f64,
    /// The share of transactions that only read.
    pub read_only_share: f64,
    /// The share of transactions that only write; of the rest, each operation is a read or a write.
    pub write_only_share: f64,
    /// The share of writes that read their key first in the same transaction; a pair counts as two operations. The
    /// other writes are blind.
    pub read_modify_write_share: f64,
    /// Whether a transaction never touches a key twice (but for read-modify-write).
    pub distinct_keys: bool,
    /// Values that are written more than once; without, every written value is unique.
    pub duplicates: Option<Duplicates>,
    /// The share of transactions whose client asks to abort instead of to commit.
    pub abort_share: f64,
    /// The share of transactions whose client never hears the outcome; half of these requests never arrive.
    pub unknown_share: f64,
    /// Whether aborted attempts are part of the history.
    pub record_aborted: bool,
    /// Whether the database tells which rows an update by predicate changed, and not only how many.
    pub record_changed_keys: bool,
    /// Whether begin and commit times are part of the history.
    pub record_times: bool,
    /// The mean time that a message between a client and the store takes, one way, in nanoseconds.
    pub latency_ns: u64,
    /// The mean pause of a client between two transactions, in nanoseconds.
    pub think_ns: u64,
    /// How far apart the clocks of two clients may be, in nanoseconds; the recorded times show it.
    pub clock_skew_ns: u64,
    /// How long a commit takes to the next site, and how old a stale snapshot may be, in nanoseconds.
    pub replication_ns: u64,
}

/// What the operations of a workload are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operations {
    /// Reads and writes of single keys, which hold 0 at first.
    Registers,
    /// Reads of lists, and appends to them; a key is given up for a new one after this many appends.
    Lists {
        /// Appends until a key is given up.
        appends_per_key: u32,
    },
    /// Rows that exist or not: reads, writes, inserts, deletes and reads of ranges; none exists at first.
    Rows {
        /// The share of range reads among the reads.
        range_share: f64,
        /// The largest number of keys that a range spans.
        range_keys: u32,
        /// The share of inserts and deletes among the writes.
        insert_delete_share: f64,
    },
    /// A table of rows `(k, v1, v2)` that are read and updated by range filters on a column.
    Predicates {
        /// The largest number of rows that a filter matches.
        most_rows: u32,
    },
    /// Reads and writes of single keys, which hold 0 at first, as an application makes them; the shares of reads and
    /// the number of operations are its own.
    Application(Application),
}

/// An application whose transactions are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Application {
    /// Orders, payments and deliveries of one warehouse, as in TPC-C; the keys are the items in stock, and there are
    /// customers, orders and so on besides.
    Orders,
    /// Messages, followers and timelines of a social network; the keys are its members, and there are messages besides.
    Messages,
}

/// Which keys are chosen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum KeyDistribution {
    /// All alike.
    Uniform,
    /// Key number `k`, from 0, with weight `1 / (k + 1)^exponent`.
    Zipf {
        /// The exponent; the usual one is 0.99.
        exponent: f64,
    },
    /// A part of the keys gets a part of the operations.
    Hotspot {
        /// The share of the keys that are hot.
        hot_keys: f64,
        /// The share of the operations that go to hot keys.
        hot_operations: f64,
    },
}

/// Values that are written more than once.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Duplicates {
    /// The share of keys on which values repeat; on the others every value is unique.
    pub key_share: f64,
    /// How many different values such a key gets: 1 to this.
    pub values: u32,
    /// The Zipf exponent of these values; 0 makes all alike.
    pub exponent: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 0,
            level: StoreLevel::default(),
            faults: Vec::new(),
            sessions: 20,
            transactions: 10_000,
            operations_per_transaction: (8, 8),
            operations: Operations::Registers,
            keys: 10_000,
            distribution: KeyDistribution::Uniform,
            read_share: 0.5,
            read_only_share: 0.0,
            write_only_share: 0.0,
            read_modify_write_share: 0.0,
            distinct_keys: false,
            duplicates: None,
            abort_share: 0.0,
            unknown_share: 0.0,
            record_aborted: true,
            record_changed_keys: false,
            record_times: true,
            latency_ns: 100_000,
            think_ns: 100_000,
            clock_skew_ns: 0,
            replication_ns: 5_000_000,
        }
    }
}

/// More operations than this are refused: ids have 32 bits, and aborted attempts come on top.
const MAX_OPERATIONS: u64 = 1 << 28;
/// Longer messages would let a long transaction overflow the clock.
const MAX_MESSAGE_NS: u64 = 1_000_000_000;
const MAX_NS: u64 = 1_000_000_000_000_000;
const MAX_SESSIONS: u32 = 100_000;
const MAX_KEYS: u32 = 1 << 28;
/// Each row of a table is in the recorded initial state and in two indexes; an application has more keys besides.
const MAX_TABLE_ROWS: u32 = 1_000_000;

impl Config {
    /// Whether the configuration can be run; [`super::generate`] asks first.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_counts()?;
        self.check_shares()?;
        self.check_times()?;
        self.check_operations()
    }

    fn check_counts(&self) -> Result<(), ConfigError> {
        let (least, most) = self.operations_per_transaction;
        require((1..=MAX_SESSIONS).contains(&self.sessions), "sessions", "between 1 and 100,000")?;
        require((1..=MAX_KEYS).contains(&self.keys), "keys", "between 1 and 268,435,456")?;
        require(
            1 <= least && least <= most,
            "operations per transaction",
            "at least 1, and the largest not below the smallest",
        )?;
        require(
            u64::from(self.transactions) * u64::from(most) <= MAX_OPERATIONS
                && u64::from(self.sessions) * u64::from(most) <= MAX_OPERATIONS,
            "transactions times operations",
            "at most 268,435,456",
        )
    }

    fn check_shares(&self) -> Result<(), ConfigError> {
        for (name, share) in [
            ("read share", self.read_share),
            ("read-only share", self.read_only_share),
            ("write-only share", self.write_only_share),
            ("read-only and write-only share together", self.read_only_share + self.write_only_share),
            ("read-modify-write share", self.read_modify_write_share),
            ("unknown share", self.unknown_share),
        ] {
            require_share(name, share)?;
        }
        for &(_, rate) in &self.faults {
            require_share("the rate of a fault", rate)?;
        }
        // With more, the run would hardly end.
        require((0.0..=0.9).contains(&self.abort_share), "abort share", "between 0 and 0.9")
    }

    fn check_times(&self) -> Result<(), ConfigError> {
        for (name, time) in [("latency", self.latency_ns), ("think time", self.think_ns)] {
            require(time <= MAX_MESSAGE_NS, name, "at most one second")?;
        }
        for (name, time) in [("clock skew", self.clock_skew_ns), ("replication time", self.replication_ns)] {
            require(time <= MAX_NS, name, "at most 1,000,000 seconds")?;
        }
        Ok(())
    }

    fn check_operations(&self) -> Result<(), ConfigError> {
        match self.distribution {
            KeyDistribution::Uniform => {}
            KeyDistribution::Zipf { exponent } => require_exponent("Zipf exponent of the keys", exponent)?,
            KeyDistribution::Hotspot { hot_keys, hot_operations } => {
                require_share("share of hot keys", hot_keys)?;
                require_share("share of operations on hot keys", hot_operations)?;
            }
        }
        if let Some(duplicates) = self.duplicates {
            require_share("share of keys with duplicates", duplicates.key_share)?;
            require_exponent("Zipf exponent of the duplicates", duplicates.exponent)?;
            require(duplicates.values >= 1, "duplicate values", "at least 1")?;
            require(duplicates.values <= i32::MAX as u32, "duplicate values", "at most 2,147,483,647")?;
        }
        match self.operations {
            Operations::Registers => Ok(()),
            Operations::Application(_) => {
                require(self.keys <= MAX_TABLE_ROWS, "keys", "at most 1,000,000 items or members")
            }
            Operations::Lists { appends_per_key } => self.check_lists(appends_per_key),
            Operations::Rows { range_share, range_keys, insert_delete_share } => {
                require_share("share of range reads", range_share)?;
                require_share("share of inserts and deletes", insert_delete_share)?;
                require((1..=100_000).contains(&range_keys), "keys of a range", "between 1 and 100,000")
            }
            Operations::Predicates { most_rows } => {
                let is_fitting = (1..=self.keys).contains(&most_rows) && self.keys <= MAX_TABLE_ROWS;
                require(
                    is_fitting,
                    "rows of a filter",
                    "between 1 and the number of keys, which is at most 1,000,000",
                )?;
                require(
                    self.duplicates.is_none(),
                    "duplicates",
                    "left out for tables, where values are shared anyway",
                )
            }
        }
    }

    fn check_lists(&self, appends_per_key: u32) -> Result<(), ConfigError> {
        require((1..=100_000).contains(&appends_per_key), "appends to a key", "between 1 and 100,000")?;
        require(self.duplicates.is_none(), "duplicates", "left out for lists, whose elements are unique")
    }
}

fn require(holds: bool, field: &'static str, must_be: &'static str) -> Result<(), ConfigError> {
    if holds { Ok(()) } else { Err(ConfigError { field, must_be }) }
}

fn require_share(field: &'static str, share: f64) -> Result<(), ConfigError> {
    require((0.0..=1.0).contains(&share), field, "between 0 and 1")
}

fn require_exponent(field: &'static str, exponent: f64) -> Result<(), ConfigError> {
    require((0.0..=10.0).contains(&exponent), field, "between 0 and 10")
}

/// Why a configuration cannot be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfigError {
    field: &'static str,
    must_be: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} must be {}", self.field, self.must_be)
    }
}

impl std::error::Error for ConfigError {}
