//! What a workload is, and the workloads by name.
//!
//! A workload gives the tables and, for each session, a client: an endless, seeded stream of transactions. A client
//! decides from its own random numbers and from what the database answers, so a session does the same again if it sees
//! the same again. A transaction that failed is not repeated: the next one has new values.

use databases::StatementKind;
use drive::random::{Random, mix};
use drive::simulate::{Config, ConfigError, Operations, preset};

use crate::attempt::{Attempt, KeyedRow, Stop};
use crate::relation::Relation;
use crate::workloads::{bank, planned, predicates, rooms, rubis, tpcc, twitter};

/// A kind of load.
pub trait Workload: Send + Sync {
    /// Its tables, with their first rows.
    fn relations(&self) -> Vec<&Relation>;

    /// What the database must be able to do, beyond reads and writes of rows.
    fn needs(&self) -> Vec<StatementKind>;

    /// The transactions of one session.
    fn client<'w>(&'w self, session: u32) -> Box<dyn WorkloadClient + 'w>;

    /// Something to say about the last state, which was read after all clients had ended.
    fn remark(&self, last: &[Vec<KeyedRow>]) -> Option<String> {
        let _ = last;
        None
    }
}

/// The transactions of one session.
pub trait WorkloadClient: Send {
    /// Runs the next transaction, up to but without its commit.
    fn transaction(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop>;
}

/// A workload by name.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The name on the command line.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// The preset of the simulated database that it shares its shape with.
    base: Base,
}

#[derive(Clone, Copy, Debug)]
enum Base {
    General,
    Preset(&'static str),
    Predicates,
    Rooms,
    Bank,
    Tpcc,
    Twitter,
    Rubis,
}

/// All workloads.
pub const WORKLOADS: [Named; 18] = [
    named("general", "8 reads and writes of 400 keys, some of them read-modify-write", Base::General),
    named(
        "blindw-rm",
        "BlindW: 90 % of the transactions only read, the others only write",
        Base::Preset("blindw-rm"),
    ),
    named(
        "blindw-rw",
        "BlindW: half of the transactions only read, half only write",
        Base::Preset("blindw-rw"),
    ),
    named("blindw-wr", "BlindW: 50 % reads, every write blind", Base::Preset("blindw-wr")),
    named("blindw-wh", "BlindW: 20 % reads, every write blind", Base::Preset("blindw-wh")),
    named("blindw-rh", "BlindW: 80 % reads, every write blind", Base::Preset("blindw-rh")),
    named(
        "blindw-pred",
        "BlindW by condition: SELECT and UPDATE of the rows in a range of a column",
        Base::Predicates,
    ),
    named(
        "pred-skew",
        "SELECT of the rows in a range of a column, then UPDATE of one row: predicate write skew",
        Base::Rooms,
    ),
    named(
        "range-b",
        "rows: reads, writes, inserts, deletes and range reads, balanced",
        Base::Preset("range-b"),
    ),
    named("range-rqh", "rows, heavy on range reads", Base::Preset("range-rqh")),
    named("range-idh", "rows, heavy on inserts and deletes", Base::Preset("range-idh")),
    named("append", "reads of lists and appends to them", Base::Preset("append")),
    named("rmw", "read-modify-write of hot keys", Base::Preset("rmw")),
    named("small", "3 operations on 5 keys: much contention", Base::Preset("small")),
    named("bank", "transfers between accounts, and audits; the total never changes", Base::Bank),
    named("tpcc", "the five transactions of TPC-C on one warehouse, 45/43/4/4/4", Base::Tpcc),
    named("twitter", "tweets, timelines and follows of users by a Zipf distribution", Base::Twitter),
    named("rubis", "an auction: users, items, bids, purchases, comments", Base::Rubis),
];

const fn named(name: &'static str, about: &'static str, base: Base) -> Named {
    Named { name, about, base }
}

/// The workload of this name; `blindw` and `range` stand for their balanced members.
pub fn find(name: &str) -> Result<Named, String> {
    let full = match name {
        "blindw" => "blindw-rw",
        "range" => "range-b",
        other => other,
    };
    WORKLOADS.into_iter().find(|workload| workload.name == full).ok_or_else(|| {
        let names: Vec<_> = WORKLOADS.iter().map(|workload| workload.name).collect();
        format!("no workload is called {name:?}; there are {}", names.join(", "))
    })
}

impl Named {
    /// What it is like unless the user says otherwise; of the fields those for the simulated store mean nothing here.
    pub fn shape(&self) -> Config {
        let config = match self.base {
            // As many keys as a few clients meet on: without contention a run shows nothing.
            Base::General => Config { keys: 400, read_modify_write_share: 0.3, ..Config::default() },
            Base::Preset(name) => preset(name).unwrap_or_default(),
            Base::Predicates => {
                Config { keys: 1000, operations_per_transaction: (4, 4), ..Config::default() }
            }
            Base::Rooms => Config { keys: 16, read_only_share: 0.0, ..Config::default() },
            Base::Bank => Config { keys: 20, read_share: 0.3, ..Config::default() },
            Base::Tpcc => Config { keys: 1000, ..Config::default() },
            Base::Twitter => Config { keys: 1000, ..Config::default() },
            Base::Rubis => Config { keys: 1000, ..Config::default() },
        };
        // What a predicate missed takes longest to decide.
        let transactions = match self.base {
            Base::Predicates | Base::Rooms => 1_000,
            _ => 10_000,
        };
        // Latency, not processors, limits how many clients a simulated store can have.
        Config { sessions: 8, transactions, ..config }
    }

    /// The workload in this shape.
    pub fn build(&self, shape: &Config) -> Result<Box<dyn Workload>, ConfigError> {
        let mut config = shape.clone();
        if let Operations::Lists { appends_per_key } = &mut config.operations {
            // Each session counts its own appends, so all together make the lists as long as the preset says.
            *appends_per_key = (*appends_per_key / config.sessions.max(1)).max(1);
        }
        config.check()?;
        Ok(match self.base {
            Base::General | Base::Preset(_) => Box::new(planned::Planned::new(config)),
            Base::Predicates => Box::new(predicates::Predicates::new(&config)),
            Base::Rooms => Box::new(rooms::Rooms::new(&config)),
            Base::Bank => Box::new(bank::Bank::new(&config)),
            Base::Tpcc => Box::new(tpcc::Tpcc::new(&config)),
            Base::Twitter => Box::new(twitter::Twitter::new(&config)),
            Base::Rubis => Box::new(rubis::Rubis::new(&config)),
        })
    }
}

/// The random numbers of a session.
pub(crate) fn random_of(seed: u64, session: u32) -> Random {
    Random::new(mix(seed ^ mix(u64::from(session) + 1)))
}
