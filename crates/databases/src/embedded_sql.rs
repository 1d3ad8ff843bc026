//! SQL engines in this process, as far as they are alike: an [`SqlConnection`] sends statements, and what sessions and
//! tables are made of is here, once for SQLite, DuckDB and turso.

use history::Datum;

use crate::catalog::Catalog;
use crate::sql::{self, Dialect, Query};
use crate::{Failure, FailureKind, Reply, Session, Setting, Statement, StatementKind, Table};

/// One connection with an engine.
pub(crate) trait SqlConnection: Send + 'static {
    /// What the product calls itself.
    const PRODUCT: &'static str;
    /// How it writes SQL.
    const DIALECT: &'static Dialect;
    /// The names of the settings, each with the statement that begins a transaction at it.
    const BEGINS: &'static [(&'static str, &'static str)];

    /// Sends a statement that has no parameters and answers nothing; `otherwise` is what an error means of which the
    /// engine does not say what became of the transaction.
    fn run(&mut self, text: &str, otherwise: FailureKind) -> Result<(), Failure>;

    /// How many rows a statement found.
    fn count(&mut self, text: &str, parameters: &[Datum]) -> Result<u64, Failure>;

    /// The rows that a statement returned.
    fn rows(&mut self, text: &str, parameters: &[Datum]) -> Result<Vec<Vec<Datum>>, Failure>;

    /// Whether SQL as it stands returns rows rather than counting some.
    fn returns_rows(&mut self, text: &str) -> Result<bool, Failure>;
}

/// The settings of an engine, the default one marked by its name.
pub(crate) fn settings<C: SqlConnection>(default: &str) -> Vec<Setting> {
    Setting::list(&C::BEGINS.iter().map(|&(name, _)| name).collect::<Vec<_>>(), default)
}

/// None of these engines locks what it reads.
pub(crate) fn supports<C: SqlConnection>(kind: StatementKind) -> bool {
    match kind {
        StatementKind::ReadForUpdate => false,
        StatementKind::UpdateReturning => C::DIALECT.update_returning,
        _ => true,
    }
}

/// Drops tables, creates them and fills them.
pub(crate) fn make_tables<C: SqlConnection>(connection: &mut C, tables: &[Table]) -> Result<(), Failure> {
    for table in tables {
        connection.run(&sql::drop_table(table, C::DIALECT), FailureKind::Refused)?;
        connection.run(&sql::create(table, C::DIALECT), FailureKind::Refused)?;
        for Query { text, parameters, .. } in sql::fill(table, C::DIALECT) {
            connection.count(&text, &parameters)?;
        }
    }
    Ok(())
}

/// A session on a connection of its own.
pub(crate) struct SqlSession<C> {
    connection: C,
    catalog: Catalog,
    is_open: bool,
}

impl<C: SqlConnection> SqlSession<C> {
    pub fn new(connection: C, catalog: Catalog) -> Self {
        Self { connection, catalog, is_open: false }
    }

    fn query(&mut self, query: &Query) -> Result<Reply, Failure> {
        if query.returns_rows() {
            let rows = self.connection.rows(&query.text, &query.parameters)?;
            return Ok(query.answer_rows(rows));
        }
        Ok(query.answer_count(self.connection.count(&query.text, &query.parameters)?))
    }

    fn free_sql(&mut self, text: &str) -> Result<Reply, Failure> {
        if self.connection.returns_rows(text)? {
            let rows = self.connection.rows(text, &[])?;
            return Ok(Reply::Rows(rows.into_iter().map(sql::split_key).collect()));
        }
        Ok(Reply::Count(self.connection.count(text, &[])?))
    }

    /// After a failure an engine may or may not have rolled back itself. A rollback that fails leaves the transaction
    /// to the end of the connection, which rolls it back.
    fn roll_back(&mut self) {
        let _ = self.abort();
    }
}

impl<C: SqlConnection> Session for SqlSession<C> {
    fn begin(&mut self, setting: &Setting) -> Result<(), Failure> {
        let Some((_, text)) = C::BEGINS.iter().find(|(name, _)| *name == setting.name) else {
            return Err(Failure::refused(format!("{} has no setting {}", C::PRODUCT, setting.name)));
        };
        self.abort()?;
        self.connection.run(text, FailureKind::Refused)?;
        self.is_open = true;
        Ok(())
    }

    fn execute(&mut self, statement: &Statement) -> Result<Reply, Failure> {
        let answer = match statement {
            Statement::Sql(text) => self.free_sql(text),
            _ => sql::compile(statement, C::DIALECT, &self.catalog).and_then(|query| self.query(&query)),
        };
        answer.inspect_err(|_| self.roll_back())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        if !self.is_open {
            return Err(Failure::refused("no transaction is open"));
        }
        let done = self.connection.run("COMMIT", FailureKind::Unknown).inspect_err(|_| self.roll_back());
        self.is_open = false;
        done
    }

    fn abort(&mut self) -> Result<(), Failure> {
        if !self.is_open {
            return Ok(());
        }
        self.is_open = false;
        self.connection.run("ROLLBACK", FailureKind::Refused)
    }

    fn id(&self) -> Option<u64> {
        None
    }
}
