//! Real databases behind one interface: tables of rows, transactions of statements, failures by what they mean.
//!
//! [`open`] takes a [`Url`] (or one for each node) and gives a [`Database`]; a [`Session`] is one connection, for one
//! thread. A driver never retries, and says of every failure what it means for the transaction: aborted, lost, unknown
//! or refused ([`FailureKind`]). Every wait has a limit, so that a dead server or a deadlock ends as a failure.

#[cfg(feature = "drivers")]
mod bytes;
mod catalog;
mod claim;
mod codes;
#[cfg(feature = "duckdb")]
mod duckdb;
#[cfg(feature = "drivers")]
mod embedded_sql;
mod exec;
mod failure;
#[cfg(feature = "drivers")]
mod fjall;
mod interface;
#[cfg(feature = "drivers")]
mod key_value;
#[cfg(feature = "drivers")]
mod mysql;
mod open;
#[cfg(feature = "drivers")]
mod postgres;
#[cfg(feature = "drivers")]
mod redb;
mod rows;
mod secrets;
mod sim;
#[cfg(feature = "slatedb")]
mod slatedb;
#[cfg(feature = "drivers")]
mod sql;
#[cfg(feature = "drivers")]
mod sqlite;
#[cfg(feature = "surrealkv")]
mod surrealkv;
#[cfg(feature = "turso")]
mod turso;
mod url;
mod where_clause;

pub use claim::Claim;
pub use exec::{is_exec_hello, read_exec_answer};
pub use failure::{Failure, FailureKind};
pub use interface::{
    ColumnType, Database, Description, Reply, Session, Setting, Statement, StatementKind, Table, Watcher,
    list_elements,
};
pub use open::open;
pub use secrets::hide_secrets;
pub use sim::simulated_promise;
pub use url::Url;
pub use where_clause::{Comparison, Where};
