//! Makes the table before a schedule and reads what is left after it, on sessions that take no part.
//!
//! Where there are several nodes, all are waited for until they show the same: a node that lags behind would otherwise
//! look like an anomaly of transactions.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use databases::{Database, Failure, FailureKind, Reply, Session, Setting, Statement, Where};
use history::Datum;

use crate::{Schedule, TABLE};

/// How long nodes may take to show the same.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(2);

type Rows = BTreeMap<Datum, Vec<Datum>>;

/// One session with each node.
pub(crate) struct Observer<'d> {
    database: &'d dyn Database,
    sessions: Vec<Box<dyn Session>>,
    setting: Setting,
}

impl<'d> Observer<'d> {
    pub fn new(database: &'d dyn Database) -> Self {
        Self { database, sessions: Vec::new(), setting: strongest(&database.settings()) }
    }

    /// Drops, makes and fills the table.
    pub fn prepare(&mut self, schedule: &Schedule) -> Result<(), Failure> {
        self.make(schedule)?;
        if self.database.node_count() < 2 {
            return Ok(());
        }
        let rows: Rows = schedule.table.rows.iter().cloned().collect();
        self.wait_until("show the table that was made", |seen| seen.iter().all(|seen| *seen == rows))
            .map(drop)
    }

    /// On a cluster, making a table may run into what another node still applies.
    fn make(&self, schedule: &Schedule) -> Result<(), Failure> {
        let started = Instant::now();
        loop {
            match self.database.prepare(std::slice::from_ref(&schedule.table)) {
                Err(failure) if failure.kind == FailureKind::Aborted && started.elapsed() < PATIENCE => {
                    std::thread::sleep(PAUSE);
                }
                made => return made,
            }
        }
    }

    /// The rows that are left.
    pub fn rows_left(&mut self) -> Result<Rows, Failure> {
        self.wait_until("agree on what is left", |seen| seen.windows(2).all(|pair| pair[0] == pair[1]))
    }

    fn wait_until(&mut self, what: &str, is_fine: impl Fn(&[Rows]) -> bool) -> Result<Rows, Failure> {
        let started = Instant::now();
        let mut trouble = Failure::refused(format!("the nodes do not {what} after {} s", PATIENCE.as_secs()));
        loop {
            match self.look() {
                Ok(mut seen) if is_fine(&seen) => return Ok(seen.pop().unwrap_or_default()),
                Ok(_) => {}
                Err(failure) if self.may_pass(&failure) => trouble = failure,
                Err(failure) => return Err(failure),
            }
            if started.elapsed() > PATIENCE {
                return Err(trouble);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// A read may be rolled back like any other transaction, and a node may not have heard of a table yet.
    fn may_pass(&self, failure: &Failure) -> bool {
        let is_behind = self.database.node_count() > 1 && failure.kind == FailureKind::Refused;
        failure.kind == FailureKind::Aborted || is_behind
    }

    /// What each node shows.
    fn look(&mut self) -> Result<Vec<Rows>, Failure> {
        while self.sessions.len() < self.database.node_count().max(1) {
            self.sessions.push(self.database.connect(self.sessions.len())?);
        }
        let setting = &self.setting;
        self.sessions.iter_mut().map(|session| all_rows(session.as_mut(), setting)).collect()
    }
}

/// The setting that shows the newest state: a weaker one may show an older.
fn strongest(settings: &[Setting]) -> Setting {
    let named = |name: &str| settings.iter().find(|setting| setting.name == name);
    let found = ["serial", "serializable"].into_iter().find_map(named);
    let unnamed = || Setting { name: String::new(), is_default: true };
    found.or(settings.last()).cloned().unwrap_or_else(unnamed)
}

fn all_rows(session: &mut dyn Session, setting: &Setting) -> Result<Rows, Failure> {
    session.begin(setting)?;
    let everything = Statement::Select { table: TABLE.to_owned(), predicate: Where::All };
    let answer = session.execute(&everything)?;
    session.commit()?;
    match answer {
        Reply::Rows(rows) => Ok(rows.into_iter().collect()),
        other => Err(Failure::refused(format!("a select answered {other:?} instead of rows"))),
    }
}
