//! SQLite, in this process: `sqlite:PATH?mode=wal&lock-timeout-ms=5000`.
//!
//! The settings are SQLite's ways to begin. The journal is a property of the file, so it is part of the URL: `rollback`
//! (SQLite's own default) or `wal`. A database in memory is refused: its connections would not share it.
//! Nothing is synchronised to disk unless asked (`sync=full`): isolation does not depend on it, and speed does.

use std::path::Path;
use std::time::Duration;

use history::Datum;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::catalog::Catalog;
use crate::sql::{self, Query, SQLITE};
use crate::{
    Answer, Database, Description, Failure, FailureKind, Session, Setting, Statement, StatementKind, Table,
    Url,
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
        let path = url.path().to_owned();
        if path.is_empty() || path.contains(":memory:") {
            return Err(Failure::refused(format!(
                "{url}: expected the path of a file, as in sqlite:/tmp/test.db"
            )));
        }
        let journal = url.choice("mode", &[("rollback", "DELETE"), ("wal", "WAL")])?;
        let synchronous = url.choice("sync", &[("off", "OFF"), ("full", "FULL")])?;
        let lock_timeout = Duration::from_millis(url.number("lock-timeout-ms")?.unwrap_or(LOCK_TIMEOUT_MS));
        let options = Options { path, journal, synchronous, lock_timeout };
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
        let (connection, journal) = connect().map_err(|error| failure(&error, Moment::Connecting))?;
        if !journal.eq_ignore_ascii_case(self.journal) {
            let message = format!("{}: somebody else keeps it in journal mode {journal}", self.path);
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
        Setting::list(&["deferred", "immediate", "exclusive"], "deferred")
    }

    fn prepare(&self, tables: &[Table]) -> Result<(), Failure> {
        self.catalog.prepare(tables)?;
        let connection = self.options.connect()?;
        let fill = || -> rusqlite::Result<()> {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            for table in tables {
                connection.execute_batch(&sql::drop_table(table, &SQLITE))?;
                connection.execute_batch(&sql::create(table, &SQLITE))?;
                for query in sql::fill(table, &SQLITE) {
                    let parameters = rusqlite::params_from_iter(query.parameters.iter().map(Parameter));
                    connection.execute(&query.text, parameters)?;
                }
            }
            connection.execute_batch("COMMIT")
        };
        fill().map_err(|error| failure(&error, Moment::InTransaction))
    }

    fn connect(&self, _node: usize) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(SqliteSession { connection: self.options.connect()?, catalog: self.catalog.clone() }))
    }

    fn supports(&self, kind: StatementKind) -> bool {
        kind != StatementKind::ReadForUpdate
    }
}

struct SqliteSession {
    connection: Connection,
    catalog: Catalog,
}

impl Session for SqliteSession {
    fn begin(&mut self, setting: &Setting) -> Result<(), Failure> {
        let text = match setting.name.as_str() {
            "deferred" => "BEGIN DEFERRED",
            "immediate" => "BEGIN IMMEDIATE",
            "exclusive" => "BEGIN EXCLUSIVE",
            other => return Err(Failure::refused(format!("SQLite has no setting {other}"))),
        };
        self.run(text, Moment::InTransaction)
    }

    fn execute(&mut self, statement: &Statement) -> Result<Answer, Failure> {
        let answer = match statement {
            Statement::Sql(text) => self.free_sql(text),
            _ => sql::compile(statement, &SQLITE, &self.catalog).and_then(|query| self.query(&query)),
        };
        answer.inspect_err(|_| self.roll_back())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        if self.connection.is_autocommit() {
            return Err(Failure::refused("no transaction is open"));
        }
        self.run("COMMIT", Moment::Committing).inspect_err(|_| self.roll_back())
    }

    fn abort(&mut self) -> Result<(), Failure> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        self.run("ROLLBACK", Moment::InTransaction)
    }

    fn id(&self) -> Option<u64> {
        None
    }
}

impl SqliteSession {
    fn run(&self, text: &str, moment: Moment) -> Result<(), Failure> {
        let mut statement = self.connection.prepare_cached(text).map_err(|error| failure(&error, moment))?;
        statement.execute([]).map(|_| ()).map_err(|error| failure(&error, moment))
    }

    fn query(&self, query: &Query) -> Result<Answer, Failure> {
        let run = || -> rusqlite::Result<Answer> {
            let mut statement = self.connection.prepare_cached(&query.text)?;
            let parameters = rusqlite::params_from_iter(query.parameters.iter().map(Parameter));
            if query.returns_rows() {
                return Ok(query.answer_rows(read_rows(&mut statement, parameters)?));
            }
            Ok(query.answer_count(statement.execute(parameters)? as u64))
        };
        run().map_err(|error| failure(&error, Moment::InTransaction))
    }

    fn free_sql(&self, text: &str) -> Result<Answer, Failure> {
        let run = || -> rusqlite::Result<Answer> {
            let mut statement = self.connection.prepare_cached(text)?;
            if statement.column_count() == 0 {
                return Ok(Answer::Count(statement.execute([])? as u64));
            }
            let rows = read_rows(&mut statement, rusqlite::params_from_iter(std::iter::empty::<i64>()))?;
            Ok(Answer::Rows(rows.into_iter().map(sql::split_key).collect()))
        };
        run().map_err(|error| failure(&error, Moment::InTransaction))
    }

    /// After a failure SQLite may or may not have rolled back itself.
    fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            // A rollback that fails leaves the transaction to the end of the connection, which rolls it back.
            let _ = self.run("ROLLBACK", Moment::InTransaction);
        }
    }
}

fn read_rows(
    statement: &mut rusqlite::Statement<'_>,
    parameters: impl rusqlite::Params,
) -> rusqlite::Result<Vec<Vec<Datum>>> {
    let width = statement.column_count();
    let mut rows = statement.query(parameters)?;
    let mut read = Vec::new();
    while let Some(row) = rows.next()? {
        let columns = (0..width).map(|place| row.get_ref(place).map(datum));
        read.push(columns.collect::<rusqlite::Result<_>>()?);
    }
    Ok(read)
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Connecting,
    InTransaction,
    Committing,
}

fn failure(error: &rusqlite::Error, moment: Moment) -> Failure {
    let kind = match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::ConstraintViolation
            | ErrorCode::OperationInterrupted
            | ErrorCode::OperationAborted,
        ) if moment != Moment::Connecting => FailureKind::Aborted,
        Some(ErrorCode::SystemIoFailure | ErrorCode::DiskFull | ErrorCode::OutOfMemory) => match moment {
            Moment::Connecting => FailureKind::Refused,
            Moment::InTransaction => FailureKind::Aborted,
            Moment::Committing => FailureKind::Unknown,
        },
        _ => FailureKind::Refused,
    };
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
