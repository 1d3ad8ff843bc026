//! MySQL and MariaDB: `mysql://user@host:port/database?lock-timeout-ms=10000&statement-timeout-ms=30000`.
//!
//! Rows are counted when they are found, not only when they change, as everywhere else (`CLIENT_FOUND_ROWS`). The
//! isolation level is set for the session when it changes, so a begin is one trip. Lock waits are limited by the server
//! (in whole seconds), reads of a dead server by this side.
//! The password comes from the URL, `MYSQL_PWD` or `ISOSCOPE_PASSWORD`. There is no TLS: use it on a network that you
//! trust.

mod failure;
mod watch;

use std::time::Duration;

use history::Datum;
use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Params, Value};

use self::failure::{Moment, failure};
use self::watch::MysqlWatcher;
use crate::catalog::Catalog;
use crate::claim::{in_use, lock_key, patiently};
use crate::interface::node_of;
use crate::sql::{self, MYSQL, Query};
use crate::{
    Claim, Database, Description, Failure, FailureKind, Reply, Session, Setting, Statement, StatementKind,
    Table, Url, Watcher,
};

const LOCK_TIMEOUT_MS: u64 = 10_000;
const STATEMENT_TIMEOUT_MS: u64 = 30_000;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const PREPARED_STATEMENTS: usize = 200;
/// Where a password may be, beside the URL.
const PASSWORD_VARIABLES: &[&str] = &["MYSQL_PWD"];

/// A server, or several that are nodes of one database.
pub(crate) struct Mysql {
    nodes: Vec<Node>,
    catalog: Catalog,
    product: &'static str,
    version: String,
}

#[derive(Clone)]
struct Node {
    url: Url,
    options: Opts,
}

impl Mysql {
    pub fn open(urls: &[Url]) -> Result<Self, Failure> {
        let nodes: Vec<_> = urls.iter().map(Node::new).collect::<Result<_, _>>()?;
        let mut connection = nodes[0].connect()?;
        let version = match connection.free_sql("SELECT VERSION()")? {
            Reply::Rows(rows) if !rows.is_empty() => match &rows[0].0 {
                Datum::Str(version) => version.to_string(),
                other => other.to_string(),
            },
            _ => String::new(),
        };
        let product = if version.contains("MariaDB") { "MariaDB" } else { "MySQL" };
        Ok(Self { nodes, catalog: Catalog::default(), product, version })
    }
}

impl Node {
    fn new(url: &Url) -> Result<Self, Failure> {
        url.allow_parameters(&["lock-timeout-ms", "statement-timeout-ms", "socket"])?;
        if url.path().is_empty() {
            let message =
                format!("{url}: expected the name of a database, as in {}://USER@HOST/NAME", url.scheme());
            return Err(Failure::refused(message));
        }
        let lock_seconds = url.number("lock-timeout-ms")?.unwrap_or(LOCK_TIMEOUT_MS).div_ceil(1000).max(1);
        let limit =
            Duration::from_millis(url.number("statement-timeout-ms")?.unwrap_or(STATEMENT_TIMEOUT_MS).max(1));
        let limits = format!(
            "SET SESSION innodb_lock_wait_timeout = {lock_seconds}, SESSION lock_wait_timeout = {lock_seconds}, \
             SESSION autocommit = 1"
        );
        let options = OptsBuilder::new()
            .ip_or_hostname(Some(url.host().unwrap_or("localhost")))
            .tcp_port(url.port().unwrap_or(3306))
            .socket(url.parameter("socket"))
            .prefer_socket(false)
            .user(Some(url.user().unwrap_or("root")))
            .pass(url.password(PASSWORD_VARIABLES))
            .db_name(Some(url.path()))
            .tcp_connect_timeout(Some(CONNECT_TIMEOUT))
            .tcp_keepalive_time_ms(Some(5_000))
            .read_timeout(Some(limit))
            .write_timeout(Some(limit))
            .stmt_cache_size(PREPARED_STATEMENTS)
            .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS)
            .init(vec![limits]);
        Ok(Self { url: url.clone(), options: options.into() })
    }

    fn connect(&self) -> Result<Connection, Failure> {
        match Conn::new(self.options.clone()) {
            Ok(connection) => Ok(Connection { connection, url: self.url.clone() }),
            Err(error) => Err(failure(&error, Moment::Connecting, &self.url)),
        }
    }
}

impl Database for Mysql {
    fn describe(&self) -> Description {
        Description::new(self.product, &self.version, self.nodes.iter().map(|node| &node.url))
    }

    fn settings(&self) -> Vec<Setting> {
        Setting::standard("repeatable-read")
    }

    fn claim(&self, tables: &[&str]) -> Result<Claim, Failure> {
        let url = &self.nodes[0].url;
        let mut locks = NamedLocks { connection: self.nodes[0].connect()?, names: Vec::new() };
        // A server that ends idle sessions would end the claim.
        let _ = locks.connection.run("SET SESSION wait_timeout = 31536000", Moment::InTransaction);
        for table in tables {
            let name = format!("isoscope-{:016x}", lock_key(url.path(), table));
            let is_ours = patiently(|| locks.take(&name))?;
            if !is_ours {
                return Err(in_use(&format!("the table {table} of {url}")));
            }
            locks.names.push(name);
        }
        Ok(Claim::of(locks))
    }

    fn prepare(&self, tables: &[Table]) -> Result<(), Failure> {
        self.catalog.prepare(tables)?;
        let mut connection = self.nodes[0].connect()?;
        for table in tables {
            connection.run(&sql::drop_table(table, &MYSQL), Moment::InTransaction)?;
            connection.run(&sql::create(table, &MYSQL), Moment::InTransaction)?;
            connection.run("START TRANSACTION", Moment::InTransaction)?;
            for query in sql::fill(table, &MYSQL) {
                connection.query(&query)?;
            }
            connection.run("COMMIT", Moment::Committing)?;
        }
        Ok(())
    }

    fn connect(&self, node: usize) -> Result<Box<dyn Session>, Failure> {
        let connection = node_of(&self.nodes, node)?.connect()?;
        let id = u64::from(connection.connection.connection_id());
        let catalog = self.catalog.clone();
        let (setting, is_open, is_lost, marks) = (None, false, false, 0);
        Ok(Box::new(MysqlSession { connection, catalog, id, setting, is_open, is_lost, marks }))
    }

    fn node_count(&self) -> usize {
        self.nodes.len()
    }

    fn supports(&self, _: StatementKind) -> bool {
        true
    }

    fn watcher(&self, node: usize) -> Option<Box<dyn Watcher>> {
        let connection = node_of(&self.nodes, node).and_then(Node::connect).ok()?;
        Some(Box::new(MysqlWatcher::new(connection)))
    }

    fn drop_connection(&self, node: usize, session: u64) -> Result<(), Failure> {
        node_of(&self.nodes, node)?
            .connect()?
            .run(&format!("KILL CONNECTION {session}"), Moment::InTransaction)
    }
}

/// Locks of a connection, by name; they are the server's, so a name tells the database too.
struct NamedLocks {
    connection: Connection,
    names: Vec<String>,
}

impl NamedLocks {
    fn take(&mut self, name: &str) -> Result<bool, Failure> {
        match self.connection.free_sql(&format!("SELECT GET_LOCK('{name}', 0)")) {
            Ok(Reply::Rows(rows)) => Ok(rows.first().is_none_or(|(answer, _)| *answer != Datum::Int(0))),
            // What speaks this protocol without having these locks.
            Ok(_) => Ok(true),
            Err(failure) if failure.kind == FailureKind::Refused => Ok(true),
            Err(failure) => Err(failure),
        }
    }
}

/// The server would notice the end of the connection a moment later, and the next run may come sooner.
impl Drop for NamedLocks {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = self.connection.free_sql(&format!("SELECT RELEASE_LOCK('{name}')"));
        }
    }
}

struct Connection {
    connection: Conn,
    url: Url,
}

impl Connection {
    fn run(&mut self, text: &str, moment: Moment) -> Result<(), Failure> {
        self.connection.query_drop(text).map_err(|error| failure(&error, moment, &self.url))
    }

    fn query(&mut self, query: &Query) -> Result<Reply, Failure> {
        let parameters = Params::Positional(query.parameters.iter().map(value).collect());
        let run = || -> mysql::Result<Reply> {
            let mut result = self.connection.exec_iter(query.text.as_str(), parameters)?;
            if query.returns_rows() {
                let rows = result.by_ref().map(|row| Ok(row?.unwrap().into_iter().map(datum).collect()));
                return Ok(query.answer_rows(rows.collect::<mysql::Result<_>>()?));
            }
            Ok(query.answer_count(result.affected_rows()))
        };
        run().map_err(|error| failure(&error, Moment::InTransaction, &self.url))
    }

    /// Sends SQL as it stands; values come back as text, and what looks like an integer is taken for one.
    fn free_sql(&mut self, text: &str) -> Result<Reply, Failure> {
        let mut run = || -> mysql::Result<Reply> {
            let mut result = self.connection.query_iter(text)?;
            if result.columns().as_ref().is_empty() {
                return Ok(Reply::Count(result.affected_rows()));
            }
            let row = |row: mysql::Result<mysql::Row>| {
                Ok(sql::split_key(row?.unwrap().into_iter().map(|cell| from_text(datum(cell))).collect()))
            };
            Ok(Reply::Rows(result.by_ref().map(row).collect::<mysql::Result<_>>()?))
        };
        run().map_err(|error| failure(&error, Moment::InTransaction, &self.url))
    }
}

fn value(datum: &Datum) -> Value {
    match datum {
        Datum::Nil => Value::NULL,
        Datum::Int(int) => Value::Int(*int),
        Datum::Str(text) => Value::Bytes(text.as_bytes().into()),
        other => Value::Bytes(other.to_string().into_bytes()),
    }
}

fn datum(value: Value) -> Datum {
    match value {
        Value::NULL => Datum::Nil,
        Value::Int(int) => Datum::Int(int),
        Value::UInt(int) => Datum::uint(int),
        Value::Float(number) => Datum::float(f64::from(number)),
        Value::Double(number) => Datum::float(number),
        Value::Bytes(bytes) => Datum::str(String::from_utf8_lossy(&bytes)),
        other => Datum::str(other.as_sql(true)),
    }
}

fn from_text(datum: Datum) -> Datum {
    match &datum {
        Datum::Str(text) => text.parse().map_or(datum, Datum::Int),
        _ => datum,
    }
}

struct MysqlSession {
    connection: Connection,
    catalog: Catalog,
    id: u64,
    /// The setting that the session has now.
    setting: Option<String>,
    is_open: bool,
    is_lost: bool,
    /// How many updates marked the rows that they changed.
    marks: i64,
}

impl Session for MysqlSession {
    fn begin(&mut self, setting: &Setting) -> Result<(), Failure> {
        self.abort()?;
        if self.setting.as_ref() != Some(&setting.name) {
            let level = match setting.name.as_str() {
                "read-uncommitted" => "READ UNCOMMITTED",
                "read-committed" => "READ COMMITTED",
                "repeatable-read" => "REPEATABLE READ",
                "serializable" => "SERIALIZABLE",
                other => return Err(Failure::refused(format!("MySQL and MariaDB have no setting {other}"))),
            };
            self.run(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"), Moment::InTransaction)?;
            self.setting = Some(setting.name.clone());
        }
        self.run("START TRANSACTION", Moment::InTransaction)?;
        self.is_open = true;
        Ok(())
    }

    fn execute(&mut self, statement: &Statement) -> Result<Reply, Failure> {
        self.check_connection(Moment::InTransaction)?;
        let answer = match statement {
            Statement::Sql(text) => self.connection.free_sql(text),
            Statement::UpdateReturning { .. } => self.update_with_mark(statement),
            _ => {
                sql::compile(statement, &MYSQL, &self.catalog).and_then(|query| self.connection.query(&query))
            }
        };
        self.noting_loss(answer).inspect_err(|_| self.roll_back())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        if !self.is_open {
            return Err(Failure::refused("no transaction is open"));
        }
        self.is_open = false;
        self.run("COMMIT", Moment::Committing).inspect_err(|_| self.roll_back())
    }

    fn abort(&mut self) -> Result<(), Failure> {
        if !self.is_open {
            return Ok(());
        }
        self.is_open = false;
        self.run("ROLLBACK", Moment::InTransaction)
    }

    fn id(&self) -> Option<u64> {
        Some(self.id)
    }
}

impl MysqlSession {
    /// An update that returns the rows which it changed. The mark is one that no other session uses: connections are
    /// numbered, and a session makes fewer than 2^31 updates.
    fn update_with_mark(&mut self, statement: &Statement) -> Result<Reply, Failure> {
        self.marks += 1;
        let mark = ((self.id as i64) << 31) | self.marks;
        let [update, select] = sql::update_with_mark(statement, mark, &MYSQL, &self.catalog)?;
        self.connection.query(&update)?;
        self.connection.query(&select)
    }

    fn run(&mut self, text: &str, moment: Moment) -> Result<(), Failure> {
        self.check_connection(moment)?;
        let answer = self.connection.run(text, moment);
        self.noting_loss(answer)
    }

    /// A connection on which an answer was cut off must not be used again: the next answer would be the wrong one.
    fn check_connection(&self, moment: Moment) -> Result<(), Failure> {
        if !self.is_lost {
            return Ok(());
        }
        Err(Failure::new(moment.lost(), "the connection was lost"))
    }

    fn noting_loss<T>(&mut self, answer: Result<T, Failure>) -> Result<T, Failure> {
        answer.inspect_err(|failure| {
            self.is_lost |= matches!(failure.kind, FailureKind::Lost | FailureKind::Unknown);
        })
    }

    /// A deadlock rolls back the transaction, but a lock that came too late only its statement.
    fn roll_back(&mut self) {
        self.is_open = false;
        if !self.is_lost {
            let _ = self.run("ROLLBACK", Moment::InTransaction);
        }
    }
}
