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

/// Engines that are built in on request, since they take minutes: each has a feature of its name.
const FEATURES: [&str; 4] = ["duckdb", "slatedb", "surrealkv", "turso"];

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
        #[cfg(feature = "duckdb")]
        "duckdb" => Ok(Box::new(crate::duckdb::DuckDb::open(first)?)),
        #[cfg(feature = "slatedb")]
        "slatedb" => Ok(Box::new(crate::slatedb::open(first)?)),
        #[cfg(feature = "surrealkv")]
        "surrealkv" => Ok(Box::new(crate::surrealkv::open(first)?)),
        #[cfg(feature = "turso")]
        "turso" => Ok(Box::new(crate::turso::Turso::open(first)?)),
        engine if FEATURES.contains(&engine) => Err(Failure::refused(format!(
            "this isoscope was built without {engine}; the feature `{engine}` brings it: \
             cargo install --path crates/cli --features {engine}"
        ))),
        other => Err(Failure::refused(format!(
            "no driver for `{other}:`, expected one of {SCHEMES}; or, as features, {}",
            FEATURES.join(", ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_is_not_built_in_names_its_feature() {
        for engine in FEATURES {
            let url = Url::parse(&format!("{engine}:")).unwrap();
            // An engine that is built in asks for a path.
            let said = open(&[url]).err().unwrap().message;
            let names_feature = said.contains(&format!("--features {engine}"));
            assert!(names_feature || said.contains("expected a path"), "{said}");
        }
        let said = open(&[Url::parse("oracle:x").unwrap()]).err().unwrap().message;
        assert!(said.contains("no driver for `oracle:`") && said.contains("duckdb"), "{said}");
    }
}
