//! PostgreSQL: `postgres://user@host:port/database?lock-timeout-ms=10000&statement-timeout-ms=30000`.
//!
//! Each session has a connection and a small runtime of its own, driven only while a call waits, so a call is one trip
//! to the server and no thread stands beside it. Statements are prepared once per session. Every call has a limit on
//! this side too, for a server that is stopped but whose machine still answers.
//! The password comes from the URL, `PGPASSWORD` or `ISOSCOPE_PASSWORD`. There is no TLS: use it on a network that you
//! trust.

mod failure;
mod values;

use std::cell::Cell;
use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use history::Datum;
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

use self::failure::{Moment, failure, timed_out};
use self::values::{Parameter, ReturnedValue};
use crate::catalog::Catalog;
use crate::claim::{in_use, lock_key, patiently};
use crate::interface::node_of;
use crate::sql::{self, POSTGRES, Query};
use crate::{
    Claim, Database, Description, Failure, FailureKind, Reply, Session, Setting, Statement, StatementKind,
    Table, Url, Watcher,
};

const LOCK_TIMEOUT_MS: u64 = 10_000;
const STATEMENT_TIMEOUT_MS: u64 = 30_000;
/// How much longer than the server this side waits.
const GRACE: Duration = Duration::from_secs(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const PREPARED_STATEMENTS: usize = 200;
/// Where a password may be, beside the URL.
const PASSWORD_VARIABLES: &[&str] = &["PGPASSWORD"];

/// A server, or several that are nodes of one database.
pub(crate) struct Postgres {
    nodes: Vec<Node>,
    catalog: Catalog,
    version: String,
}

#[derive(Clone)]
struct Node {
    url: Url,
    config: Config,
    call_limit: Duration,
}

impl Postgres {
    pub fn open(urls: &[Url]) -> Result<Self, Failure> {
        let nodes: Vec<_> = urls.iter().map(Node::new).collect::<Result<_, _>>()?;
        let connection = nodes[0].connect()?;
        let version = connection.value("SHOW server_version")?;
        Ok(Self { nodes, catalog: Catalog::default(), version })
    }
}

impl Node {
    fn new(url: &Url) -> Result<Self, Failure> {
        url.allow_parameters(&["lock-timeout-ms", "statement-timeout-ms", "socket", "options"])?;
        let lock_ms = url.number("lock-timeout-ms")?.unwrap_or(LOCK_TIMEOUT_MS);
        let statement_ms = url.number("statement-timeout-ms")?.unwrap_or(STATEMENT_TIMEOUT_MS);
        let more = url.parameter("options").unwrap_or("");
        let mut config = Config::new();
        config
            .application_name("isoscope")
            .options(format!("-c lock_timeout={lock_ms} -c statement_timeout={statement_ms} {more}"))
            .connect_timeout(CONNECT_TIMEOUT)
            .keepalives_idle(Duration::from_secs(5))
            .keepalives_interval(Duration::from_secs(2))
            .keepalives_retries(3)
            .tcp_user_timeout(CONNECT_TIMEOUT)
            .user(url.user().unwrap_or("postgres"));
        match url.parameter("socket") {
            Some(folder) => config.host_path(folder),
            None => config.host(url.host().unwrap_or("localhost")),
        };
        config.port(url.port().unwrap_or(5432));
        if !url.path().is_empty() {
            config.dbname(url.path());
        }
        if let Some(password) = url.password(PASSWORD_VARIABLES) {
            config.password(password);
        }
        Ok(Self { url: url.clone(), config, call_limit: Duration::from_millis(statement_ms) + GRACE })
    }

    fn connect(&self) -> Result<Connection, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::refused(format!("no runtime for a connection: {error}")))?;
        let connecting =
            async { tokio::time::timeout(CONNECT_TIMEOUT + GRACE, self.config.connect(NoTls)).await };
        let (client, driver) = match runtime.block_on(connecting) {
            Ok(Ok(connected)) => connected,
            Ok(Err(error)) => return Err(failure(&error, Moment::Connecting, &self.url)),
            Err(_) => return Err(timed_out(Moment::Connecting)),
        };
        runtime.spawn(async move {
            // What goes wrong here reaches the client's calls as a closed connection.
            let _ = driver.await;
        });
        Ok(Connection {
            runtime,
            client,
            node: self.clone(),
            prepared: HashMap::new(),
            is_given_up: Cell::new(false),
        })
    }
}

impl Database for Postgres {
    fn describe(&self) -> Description {
        Description::new("PostgreSQL", &self.version, self.nodes.iter().map(|node| &node.url))
    }

    fn settings(&self) -> Vec<Setting> {
        Setting::standard("read-committed")
    }

    fn claim(&self, tables: &[&str]) -> Result<Claim, Failure> {
        let connection = self.nodes[0].connect()?;
        // A server that ends idle sessions would end the claim. Old ones do not know the setting, and do not do that.
        let _ = connection.batch("SET idle_session_timeout = 0", Moment::InTransaction);
        for table in tables {
            // The locks of one database are not those of another, so the table says enough.
            let key = lock_key("", table).cast_signed();
            let asked = format!("SELECT pg_try_advisory_lock({key})");
            let is_ours = patiently(|| match connection.value(&asked) {
                Ok(answer) => Ok(answer != "f"),
                // What speaks this protocol without having these locks.
                Err(failure) if failure.kind == FailureKind::Refused => Ok(true),
                Err(failure) => Err(failure),
            })?;
            if !is_ours {
                return Err(in_use(&format!("the table {table} of {}", self.nodes[0].url)));
            }
        }
        Ok(Claim::of(AdvisoryLocks { connection }))
    }

    fn prepare(&self, tables: &[Table]) -> Result<(), Failure> {
        self.catalog.prepare(tables)?;
        let mut connection = self.nodes[0].connect()?;
        connection.batch("BEGIN", Moment::InTransaction)?;
        for table in tables {
            connection.batch(&sql::drop_table(table, &POSTGRES), Moment::InTransaction)?;
            connection.batch(&sql::create(table, &POSTGRES), Moment::InTransaction)?;
            for query in sql::fill(table, &POSTGRES) {
                connection.query(&query)?;
            }
        }
        connection.batch("COMMIT", Moment::Committing)
    }

    fn connect(&self, node: usize) -> Result<Box<dyn Session>, Failure> {
        let connection = node_of(&self.nodes, node)?.connect()?;
        let id = connection.value("SELECT pg_backend_pid()")?.parse().ok();
        let catalog = self.catalog.clone();
        Ok(Box::new(PostgresSession { connection, catalog, id, is_open: false }))
    }

    fn node_count(&self) -> usize {
        self.nodes.len()
    }

    fn supports(&self, _kind: StatementKind) -> bool {
        true
    }

    fn watcher(&self, node: usize) -> Option<Box<dyn Watcher>> {
        let connection = node_of(&self.nodes, node).and_then(Node::connect).ok()?;
        Some(Box::new(PostgresWatcher { connection }))
    }

    fn drop_connection(&self, node: usize, session: u64) -> Result<(), Failure> {
        let connection = node_of(&self.nodes, node)?.connect()?;
        connection.batch(&format!("SELECT pg_terminate_backend({session})"), Moment::InTransaction)
    }
}

/// Locks of a connection.
struct AdvisoryLocks {
    connection: Connection,
}

/// The server would notice the end of the connection a moment later, and the next run may come sooner.
impl Drop for AdvisoryLocks {
    fn drop(&mut self) {
        let _ = self.connection.batch("SELECT pg_advisory_unlock_all()", Moment::InTransaction);
    }
}

/// A connection with what drives it.
struct Connection {
    runtime: Runtime,
    client: Client,
    node: Node,
    prepared: HashMap<String, tokio_postgres::Statement>,
    /// An answer did not come in time, so that it is not known what the next one would belong to.
    is_given_up: Cell<bool>,
}

impl Connection {
    /// Waits for an answer, but not for ever.
    fn wait<T>(
        &self,
        moment: Moment,
        call: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failure> {
        if self.is_given_up.get() {
            return Err(timed_out(moment));
        }
        let limited = async { tokio::time::timeout(self.node.call_limit, call).await };
        match self.runtime.block_on(limited) {
            Ok(answer) => answer.map_err(|error| failure(&error, moment, &self.node.url)),
            Err(_) => {
                self.is_given_up.set(true);
                Err(timed_out(moment))
            }
        }
    }

    fn is_closed(&self) -> bool {
        self.is_given_up.get() || self.client.is_closed()
    }

    fn batch(&self, text: &str, moment: Moment) -> Result<(), Failure> {
        self.wait(moment, self.client.batch_execute(text))
    }

    /// The first column of the first row, as text.
    fn value(&self, text: &str) -> Result<String, Failure> {
        match self.free_sql(text)? {
            Reply::Rows(rows) if !rows.is_empty() => Ok(match &rows[0].0 {
                Datum::Str(text) => text.to_string(),
                other => other.to_string(),
            }),
            _ => Err(Failure::refused(format!("`{text}` returned nothing"))),
        }
    }

    fn query(&mut self, query: &Query) -> Result<Reply, Failure> {
        let statement = self.prepared(&query.text)?;
        let parameters: Vec<_> = query.parameters.iter().map(Parameter).collect();
        let parameters: Vec<&(dyn ToSql + Sync)> = parameters.iter().map(|one| one as _).collect();
        if !query.returns_rows() {
            let count = self.wait(Moment::InTransaction, self.client.execute(&statement, &parameters))?;
            return Ok(query.answer_count(count));
        }
        let rows = self.wait(Moment::InTransaction, self.client.query(&statement, &parameters))?;
        let row = |row: &tokio_postgres::Row| -> Result<Vec<Datum>, tokio_postgres::Error> {
            (0..row.len()).map(|place| row.try_get::<_, ReturnedValue>(place).map(|held| held.0)).collect()
        };
        let rows = rows.iter().map(row).collect::<Result<_, _>>();
        let rows = rows.map_err(|error| failure(&error, Moment::InTransaction, &self.node.url))?;
        Ok(query.answer_rows(rows))
    }

    fn prepared(&mut self, text: &str) -> Result<tokio_postgres::Statement, Failure> {
        if let Some(statement) = self.prepared.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.wait(Moment::InTransaction, self.client.prepare(text))?;
        if self.prepared.len() >= PREPARED_STATEMENTS {
            self.prepared.clear();
        }
        self.prepared.insert(text.into(), statement.clone());
        Ok(statement)
    }

    /// Sends SQL as it stands; values come back as text, and what looks like an integer is taken for one.
    fn free_sql(&self, text: &str) -> Result<Reply, Failure> {
        let messages = self.wait(Moment::InTransaction, self.client.simple_query(text))?;
        let mut rows = Vec::new();
        let mut has_rows = false;
        let mut count = 0;
        for message in messages {
            match message {
                SimpleQueryMessage::RowDescription(_) => has_rows = true,
                SimpleQueryMessage::Row(row) => {
                    let columns =
                        (0..row.len()).map(|place| row.get(place).map_or(Datum::Nil, datum_from_text));
                    rows.push(sql::split_key(columns.collect()));
                }
                SimpleQueryMessage::CommandComplete(rows) => count = rows,
                _ => {}
            }
        }
        Ok(if has_rows { Reply::Rows(rows) } else { Reply::Count(count) })
    }
}

fn datum_from_text(text: &str) -> Datum {
    text.parse().map_or_else(|_| Datum::str(text), Datum::Int)
}

struct PostgresSession {
    connection: Connection,
    catalog: Catalog,
    id: Option<u64>,
    is_open: bool,
}

impl Session for PostgresSession {
    fn begin(&mut self, setting: &Setting) -> Result<(), Failure> {
        let text = match setting.name.as_str() {
            "read-uncommitted" => "BEGIN ISOLATION LEVEL READ UNCOMMITTED",
            "read-committed" => "BEGIN ISOLATION LEVEL READ COMMITTED",
            "repeatable-read" => "BEGIN ISOLATION LEVEL REPEATABLE READ",
            "serializable" => "BEGIN ISOLATION LEVEL SERIALIZABLE",
            other => return Err(Failure::refused(format!("PostgreSQL has no setting {other}"))),
        };
        self.abort()?;
        self.connection.batch(text, Moment::InTransaction)?;
        self.is_open = true;
        Ok(())
    }

    fn execute(&mut self, statement: &Statement) -> Result<Reply, Failure> {
        let answer = match statement {
            Statement::Sql(text) => self.connection.free_sql(text),
            _ => sql::compile(statement, &POSTGRES, &self.catalog)
                .and_then(|query| self.connection.query(&query)),
        };
        answer.inspect_err(|_| self.roll_back())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        if !self.is_open {
            return Err(Failure::refused("no transaction is open"));
        }
        self.is_open = false;
        self.connection.batch("COMMIT", Moment::Committing)
    }

    fn abort(&mut self) -> Result<(), Failure> {
        if !self.is_open {
            return Ok(());
        }
        self.is_open = false;
        self.connection.batch("ROLLBACK", Moment::InTransaction)
    }

    fn id(&self) -> Option<u64> {
        self.id
    }
}

impl PostgresSession {
    /// A failed transaction refuses everything until it is rolled back; one whose connection is lost is so already.
    fn roll_back(&mut self) {
        if !self.connection.is_closed() {
            let _ = self.abort();
        }
        self.is_open = false;
    }
}

struct PostgresWatcher {
    connection: Connection,
}

impl Watcher for PostgresWatcher {
    fn is_waiting(&mut self, session: u64) -> Result<bool, Failure> {
        let asked = format!("SELECT cardinality(pg_blocking_pids({session}))");
        Ok(self.connection.value(&asked)? != "0")
    }
}
