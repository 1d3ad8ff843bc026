//! From a URL to its driver.

use crate::exec::Exec;
use crate::mysql::Mysql;
use crate::postgres::Postgres;
use crate::sim::Sim;
use crate::sqlite::Sqlite;
use crate::{Database, Failure, Url};

/// The URLs that are understood, for messages.
const SCHEMES: &str =
    "sqlite:PATH, fjall:PATH, redb:PATH, exec:PROGRAM, sim:LEVEL, postgres://..., mysql://..., mariadb://...";

/// Opens a database; several URLs are several nodes of one.
///
/// A server is asked for its version, and an embedded store may create its file; nothing else is changed before
/// [`Database::prepare`].
pub fn open(urls: &[Url]) -> Result<Box<dyn Database>, Failure> {
    let Some(first) = urls.first() else {
        return Err(Failure::refused("no database was named"));
    };
    if let Some(other) = urls.iter().find(|url| url.scheme() != first.scheme()) {
        return Err(Failure::refused(format!("{first} and {other} are not nodes of one database")));
    }
    match first.scheme() {
        "postgres" | "postgresql" => return Ok(Box::new(Postgres::open(urls)?)),
        "mysql" | "mariadb" => return Ok(Box::new(Mysql::open(urls)?)),
        _ => {}
    }
    if urls.len() > 1 {
        return Err(Failure::refused(format!("{first} has no nodes: only servers may have several URLs")));
    }
    if first.host().is_some() || first.user().is_some() {
        let scheme = first.scheme();
        return Err(Failure::refused(format!(
            "{first}: `{scheme}:` has no server, so no user and no host: expected one of {SCHEMES}"
        )));
    }
    match first.scheme() {
        "sqlite" => Ok(Box::new(Sqlite::open(first)?)),
        "exec" => Ok(Box::new(Exec::open(first)?)),
        "fjall" => Ok(Box::new(crate::fjall::open(first)?)),
        "redb" => Ok(Box::new(crate::redb::open(first)?)),
        "sim" => Ok(Box::new(Sim::open(first)?)),
        #[cfg(feature = "surrealkv")]
        "surrealkv" => Ok(Box::new(crate::surrealkv::open(first)?)),
        other => Err(Failure::refused(format!("no driver for `{other}:`, expected one of {SCHEMES}"))),
    }
}
