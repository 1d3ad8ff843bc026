//! DuckDB, in this process: `duckdb:FILE`. Snapshot isolation, optimistic: the second transaction that updates a row is aborted. That
//! one updates a row and another deletes it is no conflict for DuckDB, see `docs/probe.md`.
//!
//! All sessions are connections of one instance, as DuckDB wants it, so `duckdb::memory:` works too. DuckDB has no way
//! to ask for another isolation level, and says what went wrong in words only. Behind the feature `duckdb`, for the time
//! it takes to build.

use std::sync::{Mutex, PoisonError};

use duckdb::types::{ToSqlOutput, Value, ValueRef};
use duckdb::{Config, Connection, Error, params_from_iter};
use history::Datum;

use crate::catalog::Catalog;
use crate::embedded_sql::{self, SqlConnection, SqlSession};
use crate::key_value::path_of;
use crate::sql::{self, DUCKDB, Dialect};
use crate::{Database, Description, Failure, FailureKind, Session, Setting, StatementKind, Table, Url};

const PREPARED_STATEMENTS: usize = 100;

/// An instance of DuckDB.
pub(crate) struct DuckDb {
    url: Url,
    catalog: Catalog,
    /// The connection that all others are made from.
    first: Mutex<Connection>,
    version: String,
}

impl DuckDb {
    pub fn open(url: &Url) -> Result<Self, Failure> {
        url.allow_parameters(&[])?;
        let path = path_of(url)?;
        // Statements on single rows are not worth dividing: each session's thread does its own.
        let first = Config::default().threads(1).and_then(|config| Connection::open_with_flags(path, config));
        let first = first.map_err(|error| Failure::refused(format!("{url}: {error}")))?;
        let version = first.version().unwrap_or_else(|_| "unknown".into());
        let version = version.trim_start_matches('v').to_owned();
        Ok(Self { url: url.clone(), catalog: Catalog::default(), first: Mutex::new(first), version })
    }

    fn connection(&self) -> Result<Connection, Failure> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = first.try_clone().map_err(|error| Failure::refused(error.to_string()))?;
        connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
        Ok(connection)
    }
}

impl Database for DuckDb {
    fn describe(&self) -> Description {
        Description::new("DuckDB", &self.version, [&self.url])
    }

    fn settings(&self) -> Vec<Setting> {
        embedded_sql::settings::<Connection>("snapshot")
    }

    fn prepare(&self, tables: &[Table]) -> Result<(), Failure> {
        self.catalog.prepare(tables)?;
        embedded_sql::make_tables(&mut self.connection()?, tables)
    }

    fn connect(&self, _node: usize) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(SqlSession::new(self.connection()?, self.catalog.clone())))
    }

    fn supports(&self, kind: StatementKind) -> bool {
        embedded_sql::supports::<Connection>(kind)
    }
}

impl SqlConnection for Connection {
    const PRODUCT: &'static str = "DuckDB";
    const DIALECT: &'static Dialect = &DUCKDB;
    const BEGINS: &'static [(&'static str, &'static str)] = &[("snapshot", "BEGIN TRANSACTION")];

    fn run(&mut self, text: &str, otherwise: FailureKind) -> Result<(), Failure> {
        self.execute_batch(text).map_err(|error| failure(&error, otherwise))
    }

    fn count(&mut self, text: &str, parameters: &[Datum]) -> Result<u64, Failure> {
        let run = || -> duckdb::Result<usize> {
            let mut statement = self.prepare_cached(text)?;
            statement.execute(params_from_iter(parameters.iter().map(Parameter)))
        };
        run().map(|count| count as u64).map_err(|error| failure(&error, FailureKind::Refused))
    }

    fn rows(&mut self, text: &str, parameters: &[Datum]) -> Result<Vec<Vec<Datum>>, Failure> {
        let run = || -> duckdb::Result<Vec<Vec<Datum>>> {
            let mut statement = self.prepare_cached(text)?;
            read_rows(&mut statement, params_from_iter(parameters.iter().map(Parameter)))
        };
        run().map_err(|error| failure(&error, FailureKind::Refused))
    }

    fn returns_rows(&mut self, text: &str) -> Result<bool, Failure> {
        Ok(!sql::only_counts(text))
    }
}

fn read_rows(
    statement: &mut duckdb::Statement<'_>,
    parameters: impl duckdb::Params,
) -> duckdb::Result<Vec<Vec<Datum>>> {
    let mut rows = statement.query(parameters)?;
    let mut read = Vec::new();
    while let Some(row) = rows.next()? {
        let width = row.as_ref().column_count();
        let columns = (0..width).map(|place| row.get_ref(place).map(datum));
        read.push(columns.collect::<duckdb::Result<_>>()?);
    }
    Ok(read)
}

fn datum(value: ValueRef<'_>) -> Datum {
    match value {
        ValueRef::Null => Datum::Nil,
        ValueRef::Boolean(truth) => Datum::Bool(truth),
        ValueRef::TinyInt(int) => Datum::Int(int.into()),
        ValueRef::SmallInt(int) => Datum::Int(int.into()),
        ValueRef::Int(int) => Datum::Int(int.into()),
        ValueRef::BigInt(int) => Datum::Int(int),
        // What a sum of integers is; larger ones than a column can hold are shown as text.
        ValueRef::HugeInt(int) => i64::try_from(int).map_or_else(|_| Datum::str(int.to_string()), Datum::Int),
        ValueRef::Double(number) => Datum::float(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Datum::str(String::from_utf8_lossy(bytes)),
        other => Datum::str(format!("{other:?}")),
    }
}

struct Parameter<'d>(&'d Datum);

impl duckdb::ToSql for Parameter<'_> {
    fn to_sql(&self) -> duckdb::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Datum::Nil => ToSqlOutput::Owned(Value::Null),
            Datum::Int(int) => ToSqlOutput::Owned(Value::BigInt(*int)),
            Datum::Str(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            other => ToSqlOutput::Owned(Value::Text(other.to_string())),
        })
    }
}

/// DuckDB begins what it says with a class, `TransactionContext Error: ...`; `otherwise` is what the other classes mean.
fn failure(error: &Error, otherwise: FailureKind) -> Failure {
    let text = error.to_string();
    let class = text.split_once(" Error:").map_or("", |(class, _)| class);
    let kind = match class {
        // A conflict, at a statement or at commit; the key of another transaction's row.
        "TransactionContext" | "Constraint" | "INTERRUPT" => FailureKind::Aborted,
        // Before the commit, whatever the disk did is rolled back.
        "IO" | "Out of Memory" if otherwise == FailureKind::Refused => FailureKind::Aborted,
        _ => otherwise,
    };
    let code = match class {
        "" => "error".to_owned(),
        "TransactionContext" => "conflict".to_owned(),
        class => class.to_lowercase().replace(' ', "-"),
    };
    Failure::new(kind, text).with_code(code)
}
