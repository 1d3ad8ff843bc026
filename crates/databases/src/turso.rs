//! turso, in this process: `turso:FILE?mode=wal&lock-timeout-ms=5000`.
//!
//! The settings are the ways to begin, as in SQLite. The journal is a property of the file, so it is part of the URL:
//! `mvcc`, which `BEGIN CONCURRENT` needs, or `wal`, turso's own default. All sessions are connections of one instance,
//! since turso keeps other processes out of its file. Nothing is synchronised to disk unless asked (`sync=full`): isolation
//! does not depend on it, and speed does. Behind the feature `turso`, for the time it takes to build.

use std::time::Duration;

use history::Datum;
use tokio::runtime::{Builder, Runtime};
use turso::{Connection, Error, Value};

use crate::catalog::Catalog;
use crate::key_value::{locked_version, path_of};
use crate::sql::{self, Query, TURSO};
use crate::{
    Answer, Database, Description, Failure, FailureKind, Session, Setting, Statement, StatementKind, Table,
    Url,
};

const LOCK_TIMEOUT_MS: u64 = 5_000;

/// A file that turso keeps.
pub(crate) struct Turso {
    url: Url,
    catalog: Catalog,
    database: turso::Database,
    has_versions: bool,
    synchronous: &'static str,
    lock_timeout: Duration,
}

impl Turso {
    pub fn open(url: &Url) -> Result<Self, Failure> {
        url.allow_parameters(&["mode", "sync", "lock-timeout-ms"])?;
        let journal = url.choice("mode", &[("mvcc", "mvcc"), ("wal", "wal")])?;
        let synchronous = url.choice("sync", &[("off", "OFF"), ("full", "FULL")])?;
        let path = path_of(url)?;
        let lock_timeout = Duration::from_millis(url.number("lock-timeout-ms")?.unwrap_or(LOCK_TIMEOUT_MS));
        let runtime = runtime()?;
        let open = async {
            let database = turso::Builder::new_local(path).build().await?;
            let connection = database.connect()?;
            let rows = connection.pragma_update("journal_mode", format!("'{journal}'")).await?;
            let found = rows.first().map(|row| row.get::<String>(0)).transpose()?;
            Ok((database, found.unwrap_or_default()))
        };
        let opened = runtime.block_on(open);
        let (database, found) = opened.map_err(|error: Error| Failure::refused(format!("{url}: {error}")))?;
        if found != journal {
            return Err(Failure::refused(format!("{url}: turso keeps it in journal mode {found}")));
        }
        let has_versions = journal == "mvcc";
        Ok(Self {
            url: url.clone(),
            catalog: Catalog::default(),
            database,
            has_versions,
            synchronous,
            lock_timeout,
        })
    }

    fn session(&self) -> Result<TursoSession, Failure> {
        let refused = |error: Error| failure(&error, FailureKind::Refused);
        let (runtime, connection) = (runtime()?, self.database.connect().map_err(refused)?);
        connection.busy_timeout(self.lock_timeout).map_err(refused)?;
        runtime.block_on(connection.pragma_update("synchronous", self.synchronous)).map_err(refused)?;
        Ok(TursoSession { connection, runtime, catalog: self.catalog.clone() })
    }
}

/// Where a session waits for turso, which is asynchronous.
fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread().build().map_err(|error| Failure::refused(error.to_string()))
}

impl Database for Turso {
    fn describe(&self) -> Description {
        Description::new("turso", locked_version("turso"), [&self.url])
    }

    fn settings(&self) -> Vec<Setting> {
        let names: &[&str] = if self.has_versions {
            &["concurrent", "deferred", "immediate"]
        } else {
            &["deferred", "immediate"]
        };
        Setting::list(names, "deferred")
    }

    fn prepare(&self, tables: &[Table]) -> Result<(), Failure> {
        self.catalog.prepare(tables)?;
        let session = self.session()?;
        for table in tables {
            session.run(&sql::drop_table(table, &TURSO), FailureKind::Refused)?;
            session.run(&sql::create(table, &TURSO), FailureKind::Refused)?;
            for query in sql::fill(table, &TURSO) {
                session.query(&query)?;
            }
        }
        Ok(())
    }

    fn connect(&self, _node: usize) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(self.session()?))
    }

    fn supports(&self, kind: StatementKind) -> bool {
        kind != StatementKind::ReadForUpdate
    }
}

struct TursoSession {
    connection: Connection,
    runtime: Runtime,
    catalog: Catalog,
}

impl Session for TursoSession {
    fn begin(&mut self, setting: &Setting) -> Result<(), Failure> {
        let text = match setting.name.as_str() {
            "concurrent" => "BEGIN CONCURRENT",
            "deferred" => "BEGIN DEFERRED",
            "immediate" => "BEGIN IMMEDIATE",
            other => return Err(Failure::refused(format!("turso has no setting {other}"))),
        };
        self.run(text, FailureKind::Aborted)
    }

    fn execute(&mut self, statement: &Statement) -> Result<Answer, Failure> {
        let answer = match statement {
            Statement::Sql(text) => self.free_sql(text),
            _ => sql::compile(statement, &TURSO, &self.catalog).and_then(|query| self.query(&query)),
        };
        answer.inspect_err(|_| self.roll_back())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        if !self.is_open() {
            return Err(Failure::refused("no transaction is open"));
        }
        self.run("COMMIT", FailureKind::Unknown).inspect_err(|_| self.roll_back())
    }

    fn abort(&mut self) -> Result<(), Failure> {
        if self.is_open() { self.run("ROLLBACK", FailureKind::Aborted) } else { Ok(()) }
    }

    fn id(&self) -> Option<u64> {
        None
    }
}

impl TursoSession {
    fn is_open(&self) -> bool {
        // An error would mean that the connection is closed, and with it the transaction.
        self.connection.is_autocommit().is_ok_and(|is_autocommit| !is_autocommit)
    }

    fn run(&self, text: &str, otherwise: FailureKind) -> Result<(), Failure> {
        let done = self.runtime.block_on(self.connection.execute(text, ()));
        done.map(|_| ()).map_err(|error| failure(&error, otherwise))
    }

    fn query(&self, query: &Query) -> Result<Answer, Failure> {
        let run = async {
            let mut statement = self.connection.prepare_cached(&query.text).await?;
            let parameters: Vec<Value> = query.parameters.iter().map(parameter).collect();
            if query.returns_rows() {
                return Ok(query.answer_rows(read_rows(&mut statement, parameters).await?));
            }
            Ok(query.answer_count(statement.execute(parameters).await?))
        };
        self.runtime.block_on(run).map_err(|error: Error| failure(&error, FailureKind::Refused))
    }

    fn free_sql(&self, text: &str) -> Result<Answer, Failure> {
        let run = async {
            let mut statement = self.connection.prepare(text).await?;
            if statement.column_count() == 0 {
                return Ok(Answer::Count(statement.execute(()).await?));
            }
            let rows = read_rows(&mut statement, Vec::new()).await?;
            Ok(Answer::Rows(rows.into_iter().map(sql::split_key).collect()))
        };
        self.runtime.block_on(run).map_err(|error: Error| failure(&error, FailureKind::Refused))
    }

    /// After a failure turso may or may not have rolled back itself.
    fn roll_back(&self) {
        if self.is_open() {
            // A rollback that fails leaves the transaction to the end of the connection, which rolls it back.
            let _ = self.run("ROLLBACK", FailureKind::Aborted);
        }
    }
}

async fn read_rows(
    statement: &mut turso::Statement,
    parameters: Vec<Value>,
) -> turso::Result<Vec<Vec<Datum>>> {
    let mut rows = statement.query(parameters).await?;
    let mut read = Vec::new();
    while let Some(row) = rows.next().await? {
        let columns = (0..row.column_count()).map(|place| row.get_value(place).map(datum));
        read.push(columns.collect::<turso::Result<_>>()?);
    }
    Ok(read)
}

fn datum(value: Value) -> Datum {
    match value {
        Value::Null => Datum::Nil,
        Value::Integer(int) => Datum::Int(int),
        Value::Real(number) => Datum::float(number),
        Value::Text(text) => Datum::str(text),
        Value::Blob(bytes) => Datum::str(String::from_utf8_lossy(&bytes)),
    }
}

fn parameter(datum: &Datum) -> Value {
    match datum {
        Datum::Nil => Value::Null,
        Datum::Int(int) => Value::Integer(*int),
        Datum::Str(text) => Value::Text(text.to_string()),
        other => Value::Text(other.to_string()),
    }
}

/// What turso says, in words only, of transactions that lost against others.
const CONFLICTS: [&str; 4] =
    ["Write-write conflict", "Transaction terminated", "Conflict:", "Database schema"];

/// `otherwise` is what an error means that is neither a conflict nor the disk.
fn failure(error: &Error, otherwise: FailureKind) -> Failure {
    let text = error.to_string();
    let (kind, code) = match error {
        Error::Busy(_) => (FailureKind::Aborted, "busy"),
        Error::BusySnapshot(_) => (FailureKind::Aborted, "busy-snapshot"),
        Error::Interrupt(_) => (FailureKind::Aborted, "interrupt"),
        Error::Constraint(_) => (FailureKind::Aborted, "constraint"),
        Error::Error(text) if CONFLICTS.iter().any(|conflict| text.starts_with(conflict)) => {
            (FailureKind::Aborted, "conflict")
        }
        // Before the commit, whatever the disk did is rolled back.
        Error::IoError(..) | Error::DatabaseFull(_) if otherwise == FailureKind::Refused => {
            (FailureKind::Aborted, "storage")
        }
        Error::IoError(..) | Error::DatabaseFull(_) => (otherwise, "storage"),
        _ => (otherwise, "error"),
    };
    Failure::new(kind, text).with_code(code)
}
