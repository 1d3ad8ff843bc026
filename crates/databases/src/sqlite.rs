//! SQLite, in this process: `sqlite:PATH?mode=wal&lock-timeout-ms=5000`.
//!
//! The settings are SQLite's ways to begin. The journal is a property of the file, so it is part of the URL: `rollback`
//! (SQLite's own default) or `wal`. A database in memory is refused: its connections would not share it.
//! Nothing is synchronised to disk unless asked (`sync=full`): isolation does not depend on it, and speed does.

use std::path::Path;
use std::time::Duration;

use history::Datum;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, params_from_iter};

use crate::catalog::Catalog;
use crate::claim::LockFile;
use crate::embedded_sql::{self, SqlConnection, SqlSession};
use crate::key_value::path_of;
use crate::sql::{Dialect, SQLITE};
use crate::{
    Claim, Database, Description, Failure, FailureKind, Session, Setting, StatementKind, Table, Url,
};

const PREPARED_STATEMENTS: usize = 100;
const LOCK_TIMEOUT_MS: u64 = 5_000;

/// A file that SQLite keeps.
pub(crate) struct Sqlite {
    url: Url,
    catalog: Catalog,
    options: Options,
}

#[derive(Clone)]
struct Options {
    path: String,
    journal: &'static str,
    synchronous: &'static str,
    lock_timeout: Duration,
}

impl Sqlite {
    pub fn open(url: &Url) -> Result<Self, Failure> {
        url.allow_parameters(&["mode", "sync", "lock-timeout-ms"])?;
        let path = path_of(url)?.to_owned();
        if path.contains(":memory:") {
            return Err(Failure::refused(format!(
                "{url}: sessions cannot share a database in memory: expected the path of a file, as in \
                 sqlite:/tmp/test.db"
            )));
        }
        let journal = url.choice("mode", &[("rollback", "DELETE"), ("wal", "WAL")])?;
        let synchronous = url.choice("sync", &[("off", "OFF"), ("full", "FULL")])?;
        let lock_timeout = Duration::from_millis(url.number("lock-timeout-ms")?.unwrap_or(LOCK_TIMEOUT_MS));
        let options = Options { path, journal, synchronous, lock_timeout };
        // Whether there can be such a file is best known before anything is asked of it.
        options.connect()?;
        Ok(Self { url: url.clone(), catalog: Catalog::default(), options })
    }
}

impl Options {
    fn connect(&self) -> Result<Connection, Failure> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connect = || -> rusqlite::Result<(Connection, String)> {
            let connection = Connection::open_with_flags(Path::new(&self.path), flags)?;
            connection.busy_timeout(self.lock_timeout)?;
            connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
            let journal =
                connection.pragma_update_and_check(None, "journal_mode", self.journal, |row| row.get(0))?;
            connection.pragma_update(None, "synchronous", self.synchronous)?;
            Ok((connection, journal))
        };
        let (connection, journal) = connect().map_err(|error| coded(FailureKind::Refused, &error))?;
        if !journal.eq_ignore_ascii_case(self.journal) {
            let message = format!("{}: another process keeps it in journal mode {journal}", self.path);
            return Err(Failure::refused(message));
        }
        Ok(connection)
    }
}

impl Database for Sqlite {
    fn describe(&self) -> Description {
        Description::new("SQLite", rusqlite::version(), [&self.url])
    }

    fn settings(&self) -> Vec<Setting> {
        embedded_sql::settings::<Connection>("deferred")
    }

    fn claim(&self, _tables: &[&str]) -> Result<Claim, Failure> {
        LockFile::beside(&self.options.path).map(Claim::of)
    }

    fn prepare(&self, tables: &[Table]) -> Result<(), Failure> {
        self.catalog.prepare(tables)?;
        let mut connection = self.options.connect()?;
        connection.run("BEGIN IMMEDIATE", FailureKind::Refused)?;
        embedded_sql::make_tables(&mut connection, tables)?;
        connection.run("COMMIT", FailureKind::Refused)
    }

    fn connect(&self, _node: usize) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(SqlSession::new(self.options.connect()?, self.catalog.clone())))
    }

    fn supports(&self, kind: StatementKind) -> bool {
        embedded_sql::supports::<Connection>(kind)
    }
}

impl SqlConnection for Connection {
    const PRODUCT: &'static str = "SQLite";
    const DIALECT: &'static Dialect = &SQLITE;
    const BEGINS: &'static [(&'static str, &'static str)] =
        &[("deferred", "BEGIN DEFERRED"), ("immediate", "BEGIN IMMEDIATE"), ("exclusive", "BEGIN EXCLUSIVE")];

    fn run(&mut self, text: &str, otherwise: FailureKind) -> Result<(), Failure> {
        let run = || self.prepare_cached(text)?.execute([]);
        run().map(drop).map_err(|error| failure(&error, otherwise))
    }

    fn count(&mut self, text: &str, parameters: &[Datum]) -> Result<u64, Failure> {
        let run = || self.prepare_cached(text)?.execute(params_from_iter(parameters.iter().map(Parameter)));
        run().map(|count| count as u64).map_err(|error| failure(&error, FailureKind::Refused))
    }

    fn rows(&mut self, text: &str, parameters: &[Datum]) -> Result<Vec<Vec<Datum>>, Failure> {
        let read = || -> rusqlite::Result<Vec<Vec<Datum>>> {
            let mut statement = self.prepare_cached(text)?;
            let width = statement.column_count();
            let row = |row: &Row<'_>| (0..width).map(|place| row.get_ref(place).map(datum)).collect();
            statement.query_map(params_from_iter(parameters.iter().map(Parameter)), row)?.collect()
        };
        read().map_err(|error| failure(&error, FailureKind::Refused))
    }

    fn returns_rows(&mut self, text: &str) -> Result<bool, Failure> {
        let statement = self.prepare_cached(text).map_err(|error| failure(&error, FailureKind::Refused))?;
        Ok(statement.column_count() > 0)
    }
}

fn datum(value: ValueRef<'_>) -> Datum {
    match value {
        ValueRef::Null => Datum::Nil,
        ValueRef::Integer(int) => Datum::Int(int),
        ValueRef::Real(number) => Datum::float(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Datum::str(String::from_utf8_lossy(bytes)),
    }
}

struct Parameter<'d>(&'d Datum);

impl rusqlite::ToSql for Parameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Datum::Nil => ToSqlOutput::Owned(Value::Null),
            Datum::Int(int) => ToSqlOutput::Owned(Value::Integer(*int)),
            Datum::Str(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            other => ToSqlOutput::Owned(Value::Text(other.to_string())),
        })
    }
}

/// `otherwise` is what an error means that neither says that the transaction failed nor is about the disk.
fn failure(error: &rusqlite::Error, otherwise: FailureKind) -> Failure {
    let kind = match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::ConstraintViolation
            | ErrorCode::OperationInterrupted
            | ErrorCode::OperationAborted,
        ) => FailureKind::Aborted,
        // Before the commit, whatever the disk did is rolled back.
        Some(ErrorCode::SystemIoFailure | ErrorCode::DiskFull | ErrorCode::OutOfMemory)
            if otherwise == FailureKind::Refused =>
        {
            FailureKind::Aborted
        }
        _ => otherwise,
    };
    coded(kind, error)
}

fn coded(kind: FailureKind, error: &rusqlite::Error) -> Failure {
    let failure = Failure::new(kind, error.to_string());
    match error.sqlite_error() {
        Some(code) => failure.with_code(code_name(code.extended_code)),
        None => failure,
    }
}

/// The name of the codes that a run can meet, so that a transcript can be read.
fn code_name(code: i32) -> String {
    let name = match code {
        rusqlite::ffi::SQLITE_BUSY => "SQLITE_BUSY",
        rusqlite::ffi::SQLITE_BUSY_SNAPSHOT => "SQLITE_BUSY_SNAPSHOT",
        rusqlite::ffi::SQLITE_BUSY_RECOVERY => "SQLITE_BUSY_RECOVERY",
        rusqlite::ffi::SQLITE_LOCKED => "SQLITE_LOCKED",
        rusqlite::ffi::SQLITE_LOCKED_SHAREDCACHE => "SQLITE_LOCKED_SHAREDCACHE",
        rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY => "SQLITE_CONSTRAINT_PRIMARYKEY",
        rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE => "SQLITE_CONSTRAINT_UNIQUE",
        rusqlite::ffi::SQLITE_CONSTRAINT_NOTNULL => "SQLITE_CONSTRAINT_NOTNULL",
        other => return format!("SQLite error {other}"),
    };
    name.into()
}
