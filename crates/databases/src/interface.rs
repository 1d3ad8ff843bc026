//! What a workload or a schedule may ask of any database, and what it answers.

use history::{Bound, Datum};

use crate::secrets::hide_secrets;
use crate::{Claim, Failure, Url, Where};

/// A table of rows, as a workload or a schedule needs it.
///
/// Its key column is called `k`. Names are lower-case words of letters, digits and underscores.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// What its keys are.
    pub key: ColumnType,
    /// Its other columns, in order.
    pub columns: Vec<(String, ColumnType)>,
    /// What it holds at first: keys with one value for each column.
    pub rows: Vec<(Datum, Vec<Datum>)>,
    /// Whether [`Statement::UpdateReturning`] may be asked of it, for which SQL needs further columns.
    pub keeps_old: bool,
}

impl Table {
    /// A table of integer keys with one integer column `v`.
    pub fn of_integers(name: &str, rows: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let row = |(key, value)| (Datum::Int(key), vec![Datum::Int(value)]);
        Self {
            name: name.into(),
            key: ColumnType::Int,
            columns: vec![("v".into(), ColumnType::Int)],
            rows: rows.into_iter().map(row).collect(),
            keeps_old: false,
        }
    }
}

/// What a column holds; nothing is ever null.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ColumnType {
    /// 64-bit integers.
    Int,
    /// Text, compared by its bytes.
    Text,
}

/// What a session asks for; SQL drivers send real statements on real tables, key-value drivers make their calls.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the fields are named by what they are")]
pub enum Statement {
    /// Read the row of a key: `Reply::Row`.
    Read { table: String, key: Datum },
    /// Read the row of a key and lock it, where the database can (`SELECT ... FOR UPDATE`): `Reply::Row`.
    ReadForUpdate { table: String, key: Datum },
    /// Set one column of an existing row (`UPDATE ... WHERE k = ?`): `Reply::Count` of rows found, 0 or 1.
    Write { table: String, key: Datum, column: String, value: Datum },
    /// Insert a row or replace its columns, one value for each: `Reply::Done`.
    Put { table: String, key: Datum, values: Vec<Datum> },
    /// Add to an integer column of an existing row (`SET c = c + ?`): `Reply::Count` of rows found.
    Add { table: String, key: Datum, column: String, by: i64 },
    /// Append an element to the list in the first column, which is text with commas between the elements; a missing
    /// row is inserted: `Reply::Done`.
    Append { table: String, key: Datum, value: Datum },
    /// Insert a row; that the key exists is a failure: `Reply::Done`.
    Insert { table: String, key: Datum, values: Vec<Datum> },
    /// Delete the row of a key: `Reply::Count` of rows found, 0 or 1.
    Delete { table: String, key: Datum },
    /// Read the rows between two keys: `Reply::Rows`, in the order of the keys.
    Range { table: String, from: Bound, to: Bound },
    /// Read the rows that satisfy a predicate: `Reply::Rows`, in the order of the keys.
    Select { table: String, predicate: Where },
    /// Set columns of the rows that satisfy a predicate: `Reply::Count` of rows found.
    Update { table: String, predicate: Where, set: Vec<(String, Datum)> },
    /// Set columns of the rows that satisfy a predicate, and return these rows as they were before (`UPDATE ...
    /// RETURNING`): `Answer::Rows`, in any order. A program may leave the columns out and return keys alone.
    UpdateReturning { table: String, predicate: Where, set: Vec<(String, Datum)> },
    /// Delete the rows that satisfy a predicate: `Reply::Count`.
    DeleteWhere { table: String, predicate: Where },
    /// SQL as it stands; a driver without SQL refuses it. `Reply::Rows` with the first column as the key if it
    /// returns rows, else `Reply::Count`.
    Sql(String),
}

/// A kind of statement, to ask whether a database can do it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "see `Statement`")]
pub enum StatementKind {
    Read,
    ReadForUpdate,
    Write,
    Put,
    Add,
    Append,
    Insert,
    Delete,
    Range,
    Select,
    Update,
    UpdateReturning,
    DeleteWhere,
    Sql,
}

impl StatementKind {
    /// What it is, for a message that a database cannot do it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Read => "reads of rows by key",
            Self::ReadForUpdate => "reads that lock a row",
            Self::Write => "updates of a row by key",
            Self::Put => "writes that insert or replace a row",
            Self::Add => "additions to a column",
            Self::Append => "appends to a list",
            Self::Insert => "inserts",
            Self::Delete => "deletes by key",
            Self::Range => "reads of key ranges",
            Self::Select => "reads by condition",
            Self::Update => "updates by condition",
            Self::UpdateReturning => "updates that return the changed rows",
            Self::DeleteWhere => "deletes by condition",
            Self::Sql => "SQL as it stands",
        }
    }
}

impl Statement {
    /// The table that it is about; SQL as it stands may be about any.
    pub fn table(&self) -> Option<&str> {
        match self {
            Self::Read { table, .. }
            | Self::ReadForUpdate { table, .. }
            | Self::Write { table, .. }
            | Self::Put { table, .. }
            | Self::Add { table, .. }
            | Self::Append { table, .. }
            | Self::Insert { table, .. }
            | Self::Delete { table, .. }
            | Self::Range { table, .. }
            | Self::Select { table, .. }
            | Self::Update { table, .. }
            | Self::UpdateReturning { table, .. }
            | Self::DeleteWhere { table, .. } => Some(table),
            Self::Sql(_) => None,
        }
    }

    /// Its kind.
    pub fn kind(&self) -> StatementKind {
        match self {
            Self::Read { .. } => StatementKind::Read,
            Self::ReadForUpdate { .. } => StatementKind::ReadForUpdate,
            Self::Write { .. } => StatementKind::Write,
            Self::Put { .. } => StatementKind::Put,
            Self::Add { .. } => StatementKind::Add,
            Self::Append { .. } => StatementKind::Append,
            Self::Insert { .. } => StatementKind::Insert,
            Self::Delete { .. } => StatementKind::Delete,
            Self::Range { .. } => StatementKind::Range,
            Self::Select { .. } => StatementKind::Select,
            Self::Update { .. } => StatementKind::Update,
            Self::UpdateReturning { .. } => StatementKind::UpdateReturning,
            Self::DeleteWhere { .. } => StatementKind::DeleteWhere,
            Self::Sql(_) => StatementKind::Sql,
        }
    }
}

/// What a statement returned; [`Statement`] says which of these.
#[derive(Clone, PartialEq, Debug)]
pub enum Reply {
    /// It was done.
    Done,
    /// So many rows were found.
    Count(u64),
    /// The columns of the row, if there is one.
    Row(Option<Vec<Datum>>),
    /// Keys with their columns.
    Rows(Vec<(Datum, Vec<Datum>)>),
}

/// An isolation setting of a database, by the name it has there (`repeatable-read`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// The name, lower-case with hyphens.
    pub name: String,
    /// Whether it is what a client gets that asks for nothing.
    pub is_default: bool,
}

impl Setting {
    /// Settings of these names, the default one marked by its name.
    pub fn list(names: &[&str], default: &str) -> Vec<Self> {
        names.iter().map(|&name| Self { name: name.into(), is_default: name == default }).collect()
    }

    /// The four settings of the SQL standard, the default one marked by its name.
    pub(crate) fn standard(default: &str) -> Vec<Self> {
        Self::list(&["read-uncommitted", "read-committed", "repeatable-read", "serializable"], default)
    }
}

/// Which database it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    /// The product: `PostgreSQL`, `MariaDB`, `SQLite`.
    pub product: String,
    /// Its version, as it says itself.
    pub version: String,
    /// Where it is, without the password; one for each node.
    pub urls: Vec<String>,
}

impl Description {
    /// A product of a version at these places.
    pub(crate) fn new<'u>(product: &str, version: &str, urls: impl IntoIterator<Item = &'u Url>) -> Self {
        let urls = urls.into_iter().map(Url::to_string).collect();
        Self { product: hide_secrets(product), version: hide_secrets(version), urls }
    }
}

/// One of the nodes of a database, counted from 0.
pub(crate) fn node_of<N>(nodes: &[N], node: usize) -> Result<&N, Failure> {
    nodes.get(node).ok_or_else(|| Failure::refused(format!("there is no node {node}")))
}

/// A database that can be connected to.
pub trait Database: Send + Sync {
    /// Which one it is.
    fn describe(&self) -> Description;

    /// The isolation settings that it has.
    fn settings(&self) -> Vec<Setting>;

    /// Keeps every other process away from these tables as long as the claim lives; refused if another run has them.
    ///
    /// Where neither the database nor the operating system has a lock for this, nothing is claimed.
    fn claim(&self, tables: &[&str]) -> Result<Claim, Failure> {
        let _ = tables;
        Ok(Claim::not_needed())
    }

    /// Drops the tables, creates them and fills them, through the first node.
    fn prepare(&self, tables: &[Table]) -> Result<(), Failure>;

    /// A new session on a node, counted from 0. A failure of kind `Lost` means that the server cannot be reached now,
    /// so that it is worth trying again later; `Refused` means that it does not want this client.
    fn connect(&self, node: usize) -> Result<Box<dyn Session>, Failure>;

    /// How many nodes there are.
    fn node_count(&self) -> usize {
        1
    }

    /// Whether it can do a kind of statement.
    fn supports(&self, kind: StatementKind) -> bool;

    /// Tells from the own views of a node, counted from 0, whether a session on it waits for a lock; `None` where there
    /// are no such views, so that only time can tell.
    fn watcher(&self, node: usize) -> Option<Box<dyn Watcher>> {
        let _ = node;
        None
    }

    /// Ends the connection of a session, by its id, as a crash of its network would: the session finds out at its next
    /// call.
    fn drop_connection(&self, node: usize, session: u64) -> Result<(), Failure> {
        let _ = (node, session);
        Err(Failure::refused("this database cannot end a session from outside"))
    }
}

/// One connection, for one thread; one transaction at a time.
pub trait Session: Send {
    /// Begins a transaction at a setting.
    fn begin(&mut self, setting: &Setting) -> Result<(), Failure>;

    /// Asks one statement. After a failure the transaction is over, as [`crate::FailureKind`] says.
    fn execute(&mut self, statement: &Statement) -> Result<Reply, Failure>;

    /// Commits. After a failure the transaction is over.
    fn commit(&mut self) -> Result<(), Failure>;

    /// Rolls back; fine when no transaction is open.
    fn abort(&mut self) -> Result<(), Failure>;

    /// The server's id of the session, for [`Watcher`] and [`Database::drop_connection`].
    fn id(&self) -> Option<u64>;

    /// How far this client's clock is off: a simulated fault, which the recorder has to apply.
    fn clock_offset_ns(&self) -> i64 {
        0
    }
}

/// Looks at a node's own views, on a connection of its own.
pub trait Watcher: Send {
    /// Whether a session of this node waits for a lock that another session holds. Other nodes may have a session of
    /// the same id.
    fn is_waiting(&mut self, session: u64) -> Result<bool, Failure>;
}

/// The elements of a list as [`Statement::Append`] keeps it: text with commas; integers where an element is one.
pub fn list_elements(text: &str) -> Vec<Datum> {
    if text.is_empty() {
        return Vec::new();
    }
    let element = |part: &str| part.parse().map_or_else(|_| Datum::str(part), Datum::Int);
    text.split(',').map(element).collect()
}
