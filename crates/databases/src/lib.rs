//! Real databases behind one interface: tables of rows, transactions of statements, failures by what they mean.
//!
//! [`open`] takes a [`Url`] (or one for each node) and gives a [`Database`]; a [`Session`] is one connection, for one
//! thread. A driver never retries, and says of every failure what it means for the transaction: aborted, lost, unknown
//! or refused ([`FailureKind`]). Every wait has a limit, so that a dead server or a deadlock ends as a failure.

mod bytes;
mod catalog;
mod claim;
#[cfg(feature = "duckdb")]
mod duckdb;
mod embedded_sql;
mod exec;
mod failure;
mod fjall;
mod interface;
mod key_value;
mod mysql;
mod open;
mod postgres;
mod redb;
mod rows;
mod secrets;
mod sim;
#[cfg(feature = "slatedb")]
mod slatedb;
mod sql;
mod sqlite;
#[cfg(feature = "surrealkv")]
mod surrealkv;
#[cfg(feature = "turso")]
mod turso;
mod url;
mod where_clause;

pub use claim::Claim;
pub use failure::{Failure, FailureKind};
pub use interface::{
    Answer, ColumnType, Database, Description, Session, Setting, Statement, StatementKind, Table, Watcher,
    list_elements,
};
pub use open::open;
pub use secrets::hide_secrets;
pub use sim::simulated_promise;
pub use url::Url;
pub use where_clause::{Comparison, Where};
