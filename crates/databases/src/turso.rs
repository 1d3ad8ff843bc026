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
use crate::embedded_sql::{self, SqlConnection, SqlSession};
use crate::key_value::{locked_version, path_of};
use crate::sql::{Dialect, TURSO};
use crate::{Database, Description, Failure, FailureKind, Session, Setting, StatementKind, Table, Url};

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

    fn connection(&self) -> Result<TursoConnection, Failure> {
        let refused = |error: Error| failure(&error, FailureKind::Refused);
        let (runtime, connection) = (runtime()?, self.database.connect().map_err(refused)?);
        connection.busy_timeout(self.lock_timeout).map_err(refused)?;
        runtime.block_on(connection.pragma_update("synchronous", self.synchronous)).map_err(refused)?;
        Ok(TursoConnection { connection, runtime })
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
        let mut settings = embedded_sql::settings::<TursoConnection>("deferred");
        settings.retain(|setting| self.has_versions || setting.name != "concurrent");
        settings
    }

    fn prepare(&self, tables: &[Table]) -> Result<(), Failure> {
        self.catalog.prepare(tables)?;
        embedded_sql::make_tables(&mut self.connection()?, tables)
    }

    fn connect(&self, _node: usize) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(SqlSession::new(self.connection()?, self.catalog.clone())))
    }

    fn supports(&self, kind: StatementKind) -> bool {
        embedded_sql::supports::<TursoConnection>(kind)
    }
}

struct TursoConnection {
    connection: Connection,
    runtime: Runtime,
}

impl SqlConnection for TursoConnection {
    const PRODUCT: &'static str = "turso";
    const DIALECT: &'static Dialect = &TURSO;
    const BEGINS: &'static [(&'static str, &'static str)] = &[
        ("concurrent", "BEGIN CONCURRENT"),
        ("deferred", "BEGIN DEFERRED"),
        ("immediate", "BEGIN IMMEDIATE"),
    ];

    fn run(&mut self, text: &str, otherwise: FailureKind) -> Result<(), Failure> {
        let done = self.runtime.block_on(self.connection.execute(text, ()));
        done.map(drop).map_err(|error| failure(&error, otherwise))
    }

    fn count(&mut self, text: &str, parameters: &[Datum]) -> Result<u64, Failure> {
        let run = async {
            let mut statement = self.connection.prepare_cached(text).await?;
            statement.execute(values(parameters)).await
        };
        self.runtime.block_on(run).map_err(|error| failure(&error, FailureKind::Refused))
    }

    fn rows(&mut self, text: &str, parameters: &[Datum]) -> Result<Vec<Vec<Datum>>, Failure> {
        let run = async {
            let mut statement = self.connection.prepare_cached(text).await?;
            read_rows(&mut statement, values(parameters)).await
        };
        self.runtime.block_on(run).map_err(|error| failure(&error, FailureKind::Refused))
    }

    fn returns_rows(&mut self, text: &str) -> Result<bool, Failure> {
        let prepared = self.runtime.block_on(self.connection.prepare_cached(text));
        let statement = prepared.map_err(|error| failure(&error, FailureKind::Refused))?;
        Ok(statement.column_count() > 0)
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

fn values(parameters: &[Datum]) -> Vec<Value> {
    parameters.iter().map(value).collect()
}

fn value(datum: &Datum) -> Value {
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
