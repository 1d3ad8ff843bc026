//! A simulated store for real threads: `sim:LEVEL?fault=lost-update&rate=0.05&seed=7`.
//!
//! The same multi-version store, levels and faults as `isoscope generate` has ([`drive::simulate`]), but driven by real
//! clients at real times, so that whatever drives a database can be tried on one whose answers are known.
//! `sim:` alone has every level as a setting; `sim:snapshot` has that one. Beside the levels of the simulation there
//! are `two-phase-locking` (readers and writers wait; a deadlock aborts the session that closes it) and `ssi` (snapshot reads;
//! a transaction that writes is aborted at commit if something that it read has changed since).
//!
//! One lock around everything: a call costs about a microsecond. Memory is the versions that a transaction may still read.

mod level;
mod locks;
mod transaction;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use drive::random::{Random, mix};
use drive::simulate::Fault;
use history::Datum;

use self::level::Level;
use self::transaction::Transaction;
use self::world::Shared;
use crate::catalog::{Catalog, Shape};
use crate::{
    Database, Description, Failure, Reply, Session, Setting, Statement, StatementKind, Table, Url, Watcher,
    rows,
};

pub use self::level::simulated_promise;

const REPLICATION_MS: u64 = 5;
const LOCK_TIMEOUT_MS: u64 = 10_000;
/// How far a wrong clock is off at least: much more than a transaction takes.
const WRONG_CLOCK_NS: i64 = 1_000_000_000;
/// So many wrong clocks are off by different amounts; later ones are like earlier ones.
const WRONG_CLOCKS: u64 = 8;

pub(crate) struct Sim {
    url: Url,
    catalog: Catalog,
    shared: Arc<Shared>,
    level: Option<Level>,
    habits: Arc<Habits>,
    next_session: AtomicU32,
}

/// What goes wrong, and how slow everything is.
#[derive(Debug)]
struct Habits {
    faults: Vec<(Fault, f64)>,
    seed: u64,
    latency: Duration,
    lock_timeout: Duration,
}

impl Habits {
    /// How far the clock of a session is off.
    ///
    /// Wrong clocks are spread evenly over the sessions, and the seed says where they begin: with a chance of its own
    /// for each session, few sessions would often have none, and the fault would not be there.
    fn clock_offset_ns(&self, session: u32) -> i64 {
        let skews = self.faults.iter().filter(|(fault, _)| *fault == Fault::ClockSkew);
        let share = skews.map(|&(_, rate)| rate).sum::<f64>().min(1.0);
        let first = Random::new(mix(self.seed)).unit();
        let wrong_before = |session: u32| (first + f64::from(session) * share) as u64;
        let number = wrong_before(session);
        match wrong_before(session + 1) > number {
            true => WRONG_CLOCK_NS * (1 + (number % WRONG_CLOCKS) as i64),
            false => 0,
        }
    }
}

impl Sim {
    pub fn open(url: &Url) -> Result<Self, Failure> {
        url.allow_parameters(&["fault", "rate", "seed", "replication-ms", "latency-us", "lock-timeout-ms"])?;
        let level = match url.path() {
            "" => None,
            name => Some(Level::named(name).ok_or_else(|| {
                let known: Vec<_> = Level::all().map(Level::name).collect();
                Failure::refused(format!("{url}: no level {name}, expected one of {}", known.join(", ")))
            })?),
        };
        let replication_ns = url.number("replication-ms")?.unwrap_or(REPLICATION_MS).min(60_000) * 1_000_000;
        let habits = Habits {
            faults: faults(url)?,
            seed: url.number("seed")?.unwrap_or(0),
            latency: Duration::from_micros(url.number("latency-us")?.unwrap_or(0)),
            lock_timeout: Duration::from_millis(url.number("lock-timeout-ms")?.unwrap_or(LOCK_TIMEOUT_MS)),
        };
        Ok(Self {
            url: url.clone(),
            catalog: Catalog::default(),
            shared: Arc::new(Shared::new(replication_ns)),
            level,
            habits: Arc::new(habits),
            next_session: AtomicU32::new(0),
        })
    }
}

fn faults(url: &Url) -> Result<Vec<(Fault, f64)>, Failure> {
    let rate =
        match url.parameter("rate") {
            None => 0.1,
            Some(text) => text.parse().ok().filter(|rate| (0.0..=1.0).contains(rate)).ok_or_else(|| {
                Failure::refused(format!("{url}: rate is a share from 0 to 1, found `{text}`"))
            })?,
        };
    let names = url.parameter("fault").unwrap_or("").split(',').filter(|name| !name.is_empty());
    let fault = |name: &str| {
        let known: Vec<_> = Fault::ALL.map(Fault::name).into();
        let fault = Fault::named(name).map(|fault| (fault, rate));
        fault
            .ok_or_else(|| Failure::refused(format!("{url}: no fault {name}, expected {}", known.join(", "))))
    };
    names.map(fault).collect()
}

impl Database for Sim {
    fn describe(&self) -> Description {
        Description {
            product: "sim".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            urls: vec![self.url.to_string()],
        }
    }

    fn settings(&self) -> Vec<Setting> {
        match self.level {
            Some(level) => Setting::list(&[level.name()], level.name()),
            None => Setting::list(&Level::all().map(Level::name).collect::<Vec<_>>(), "serializable"),
        }
    }

    fn prepare(&self, tables: &[Table]) -> Result<(), Failure> {
        self.catalog.prepare(tables)?;
        self.shared.prepare(tables);
        Ok(())
    }

    fn connect(&self, _node: usize) -> Result<Box<dyn Session>, Failure> {
        let number = self.next_session.fetch_add(1, Ordering::Relaxed);
        let random = Random::new(mix(self.habits.seed) ^ u64::from(number));
        Ok(Box::new(SimSession {
            shared: Arc::clone(&self.shared),
            catalog: self.catalog.clone(),
            habits: Arc::clone(&self.habits),
            offered: self.level,
            number,
            random,
            last_commit: 0,
            clock_offset_ns: self.habits.clock_offset_ns(number),
            transaction: None,
        }))
    }

    fn supports(&self, kind: StatementKind) -> bool {
        kind != StatementKind::Sql
    }

    fn watcher(&self, _node: usize) -> Option<Box<dyn Watcher>> {
        Some(Box::new(SimWatcher { shared: Arc::clone(&self.shared) }))
    }
}

struct SimWatcher {
    shared: Arc<Shared>,
}

impl Watcher for SimWatcher {
    fn is_waiting(&mut self, session: u64) -> Result<bool, Failure> {
        let number = u32::try_from(session).map_err(|_| Failure::refused(format!("no session {session}")))?;
        Ok(self.shared.world().locks.is_waiting(number))
    }
}

struct SimSession {
    shared: Arc<Shared>,
    catalog: Catalog,
    habits: Arc<Habits>,
    /// The only level, if the URL names one.
    offered: Option<Level>,
    number: u32,
    random: Random,
    last_commit: i64,
    clock_offset_ns: i64,
    transaction: Option<Transaction>,
}

impl Session for SimSession {
    fn begin(&mut self, setting: &Setting) -> Result<(), Failure> {
        self.abort()?;
        let level =
            Level::named(&setting.name).filter(|level| self.offered.is_none_or(|only| only == *level));
        let level = level.ok_or_else(|| Failure::refused(format!("no setting {} here", setting.name)))?;
        self.travel();
        let transaction = Transaction::begin(
            &self.shared,
            &self.habits,
            level,
            self.number,
            self.last_commit,
            &mut self.random,
        )?;
        self.transaction = Some(transaction);
        Ok(())
    }

    fn execute(&mut self, statement: &Statement) -> Result<Reply, Failure> {
        self.travel();
        let Some(transaction) = &mut self.transaction else {
            return Err(Failure::refused("no transaction is open"));
        };
        let mut rows = InTransaction { shared: &self.shared, transaction, random: &mut self.random };
        let answer = rows::execute(&mut rows, &self.catalog, statement);
        if answer.is_err() {
            self.abort()?;
        }
        answer
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.travel();
        let Some(transaction) = self.transaction.take() else {
            return Err(Failure::refused("no transaction is open"));
        };
        let at = transaction.commit(&self.shared)?;
        self.last_commit = at.max(self.last_commit);
        Ok(())
    }

    fn abort(&mut self) -> Result<(), Failure> {
        if let Some(transaction) = self.transaction.take() {
            transaction.abort(&self.shared);
        }
        Ok(())
    }

    fn id(&self) -> Option<u64> {
        Some(u64::from(self.number))
    }

    fn clock_offset_ns(&self) -> i64 {
        self.clock_offset_ns
    }
}

impl SimSession {
    /// Lets others run, as the way to a server would: without, a client would do thousands of transactions alone.
    fn travel(&self) {
        if self.habits.latency.is_zero() {
            std::thread::yield_now();
        } else {
            std::thread::sleep(self.habits.latency);
        }
    }
}

/// A client that goes away takes its locks with it.
impl Drop for SimSession {
    fn drop(&mut self) {
        let _ = self.abort();
    }
}

/// A transaction with what it needs for one statement.
struct InTransaction<'s> {
    shared: &'s Shared,
    transaction: &'s mut Transaction,
    random: &'s mut Random,
}

impl rows::RowStore for InTransaction<'_> {
    fn get(&mut self, table: &Shape, key: &Datum) -> Result<Option<rows::Columns>, Failure> {
        self.transaction.read(self.shared, &table.name, key, self.random)
    }

    fn get_for_update(&mut self, table: &Shape, key: &Datum) -> Result<Option<rows::Columns>, Failure> {
        self.transaction.read_for_update(self.shared, &table.name, key, self.random)
    }

    fn put(&mut self, table: &Shape, key: &Datum, row: rows::Columns) -> Result<(), Failure> {
        self.transaction.write(self.shared, &table.name, key, Some(row.into()))
    }

    fn note_append(&mut self, table: &Shape, key: &Datum, element: &str) {
        self.transaction.note_append(self.shared, &table.name, key, element);
    }

    fn delete(&mut self, table: &Shape, key: &Datum) -> Result<(), Failure> {
        self.transaction.write(self.shared, &table.name, key, None)
    }

    fn scan(
        &mut self,
        table: &Shape,
        from: &history::Bound,
        to: &history::Bound,
    ) -> Result<Vec<(Datum, rows::Columns)>, Failure> {
        self.transaction.scan(self.shared, &table.name, from, to, self.random)
    }
}
