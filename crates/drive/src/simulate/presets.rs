//! Workloads by name.
//!
//! The `blindw` family follows the published benchmarks of that name: transactions of eight operations on different
//! keys out of 10,000 rows, every write blind. In RM and RW a transaction either only reads or only writes (nine in
//! ten, or one in two, only read); in RH, WR and WH each operation is a read with probability 0.8, 0.5 or 0.2.
//! In `blindw-pred` a transaction is one query or one update by a range filter on a column of 10,000 rows `(k, v1, v2)`,
//! which matches 1 to 1,000 of them; an update sets `v2` of all of them to one new value. If updates set both columns,
//! rows that once matched together would never again be told apart, and soon no filter could match a few.
//! The `range` family mixes point and range reads, writes, inserts and deletes: balanced, heavy on range reads, or
//! heavy on inserts and deletes.

use super::StoreLevel;
use super::config::{Application, Config, Duplicates, KeyDistribution, Operations};

/// A named workload.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name on the command line.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Its configuration, with seed 0 and the serializable store.
    pub config: fn() -> Config,
}

/// All presets.
pub const PRESETS: [Preset; 19] = [
    Preset {
        name: "general",
        about: "reads and writes of 8 operations, unique values",
        config: Config::default,
    },
    Preset {
        name: "duplicates",
        about: "100,000 transactions of 20 operations on 50,000 keys, half of them with duplicate values",
        config: duplicates,
    },
    Preset {
        name: "million",
        about: "1,000,000 transactions of 8 operations, 24 sessions, unique values",
        config: million,
    },
    Preset {
        name: "blindw-rm",
        about: "BlindW, read-mostly: 90 % of the transactions only read, the others only write",
        config: || blindw(Some(0.9), 0.0),
    },
    Preset {
        name: "blindw-rw",
        about: "BlindW, read-write: half of the transactions only read, half only write",
        config: || blindw(Some(0.5), 0.0),
    },
    Preset { name: "blindw-rh", about: "BlindW, read-heavy: 80 % reads", config: || blindw(None, 0.8) },
    Preset { name: "blindw-wr", about: "BlindW, write-read: 50 % reads", config: || blindw(None, 0.5) },
    Preset { name: "blindw-wh", about: "BlindW, write-heavy: 20 % reads", config: || blindw(None, 0.2) },
    Preset {
        name: "blindw-pred",
        about: "BlindW by predicate: filters matching up to 1,000 of 10,000 rows, half of them update",
        config: blindw_pred,
    },
    Preset {
        name: "blindw-keys",
        about: "the same where the database tells which rows an update changed",
        config: || Config { record_changed_keys: true, ..blindw_pred() },
    },
    Preset {
        name: "tpcc",
        about: "the five transactions of TPC-C on one warehouse, one at a time",
        config: tpcc,
    },
    Preset {
        name: "twitter",
        about: "a social network of 1,000 members: messages, followers, timelines, profiles",
        config: twitter,
    },
    Preset {
        name: "rmw",
        about: "hot keys: 30,000 transactions of 15 sessions on 90 keys, mostly read-modify-write",
        config: rmw,
    },
    Preset {
        name: "zipf",
        about: "20 operations on 10,000 keys chosen by a Zipf distribution, 20 % of the keys with duplicate values",
        config: zipf,
    },
    Preset { name: "append", about: "reads of lists and appends to them", config: append },
    Preset {
        name: "range-b",
        about: "rows, balanced: reads, writes, inserts and deletes, range reads",
        config: || range(0.5, 0.4, 0.5),
    },
    Preset { name: "range-rqh", about: "rows, heavy on range reads", config: || range(0.75, 0.8, 0.5) },
    Preset {
        name: "range-idh",
        about: "rows, heavy on inserts and deletes",
        config: || range(0.3, 0.5, 0.9),
    },
    Preset {
        name: "small",
        about: "60 transactions of 3 operations on 5 keys: much contention, for a first look",
        config: small,
    },
];

/// The configuration of the preset of this name.
pub fn preset(name: &str) -> Option<Config> {
    let preset = PRESETS.iter().find(|preset| preset.name == name)?;
    Some((preset.config)())
}

fn duplicates() -> Config {
    Config {
        transactions: 100_000,
        operations_per_transaction: (20, 20),
        sessions: 50,
        keys: 50_000,
        duplicates: Some(Duplicates { key_share: 0.5, values: 100, exponent: 0.5 }),
        ..Config::default()
    }
}

fn million() -> Config {
    Config { transactions: 1_000_000, sessions: 24, keys: 100_000, ..Config::default() }
}

fn blindw(read_only_share: Option<f64>, read_share: f64) -> Config {
    Config {
        sessions: 24,
        distinct_keys: true,
        read_only_share: read_only_share.unwrap_or(0.0),
        write_only_share: read_only_share.map_or(0.0, |share| 1.0 - share),
        read_share,
        ..Config::default()
    }
}

fn blindw_pred() -> Config {
    Config {
        sessions: 24,
        operations: Operations::Predicates { most_rows: 1_000 },
        operations_per_transaction: (1, 1),
        record_aborted: false,
        // Two filters of 500 rows nearly always have a row in common: without pauses hardly anything would commit.
        think_ns: 2_000_000,
        ..Config::default()
    }
}

fn tpcc() -> Config {
    Config {
        level: StoreLevel::Serial,
        sessions: 24,
        operations: Operations::Application(Application::Orders),
        keys: 100_000,
        ..Config::default()
    }
}

fn twitter() -> Config {
    Config {
        sessions: 24,
        operations: Operations::Application(Application::Messages),
        keys: 1_000,
        record_aborted: false,
        ..Config::default()
    }
}

fn rmw() -> Config {
    Config {
        transactions: 30_000,
        sessions: 15,
        keys: 90,
        operations_per_transaction: (2, 6),
        read_share: 0.15,
        read_modify_write_share: 0.9,
        distinct_keys: true,
        record_aborted: false,
        ..Config::default()
    }
}

fn zipf() -> Config {
    Config {
        operations_per_transaction: (20, 20),
        distribution: KeyDistribution::Zipf { exponent: 0.99 },
        duplicates: Some(Duplicates { key_share: 0.2, values: 100, exponent: 0.5 }),
        record_aborted: false,
        ..Config::default()
    }
}

fn append() -> Config {
    Config {
        operations: Operations::Lists { appends_per_key: 32 },
        operations_per_transaction: (1, 6),
        keys: 100,
        distinct_keys: true,
        ..Config::default()
    }
}

fn range(read_share: f64, range_share: f64, insert_delete_share: f64) -> Config {
    Config {
        transactions: 5_000,
        sessions: 24,
        keys: 2_000,
        operations: Operations::Rows { range_share, range_keys: 20, insert_delete_share },
        read_share,
        distinct_keys: true,
        ..Config::default()
    }
}

fn small() -> Config {
    Config {
        transactions: 60,
        sessions: 4,
        keys: 5,
        operations_per_transaction: (3, 3),
        read_modify_write_share: 0.5,
        distinct_keys: true,
        ..Config::default()
    }
}
