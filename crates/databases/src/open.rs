//! From a URL to its driver.

use crate::exec::Exec;
#[cfg(feature = "drivers")]
use crate::mysql::Mysql;
#[cfg(feature = "drivers")]
use crate::postgres::Postgres;
use crate::sim::Sim;
#[cfg(feature = "drivers")]
use crate::sqlite::Sqlite;
use crate::{Database, Failure, Url};

/// The URLs that are understood, for messages.
const SCHEMES: &str =
    "sqlite:PATH, fjall:PATH, redb:PATH, exec:PROGRAM, sim:LEVEL, postgres://..., mysql://..., mariadb://...";

/// What keeps its rows in a file or a folder.
const FILES: [&str; 3] = ["sqlite", "fjall", "redb"];

/// The same for engines that are built in on request, since they take minutes: each has a feature of its name.
const FEATURES: [&str; 4] = ["duckdb", "slatedb", "surrealkv", "turso"];

/// Whether a scheme is one of databases that are in this process or started by it.
pub(crate) fn is_local(scheme: &str) -> bool {
    ["exec", "sim"].contains(&scheme) || FILES.contains(&scheme) || FEATURES.contains(&scheme)
}

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
        #[cfg(feature = "drivers")]
        "postgres" | "postgresql" => Ok(Box::new(Postgres::open(urls)?)),
        #[cfg(feature = "drivers")]
        "mysql" | "mariadb" => Ok(Box::new(Mysql::open(urls)?)),
        _ if urls.len() > 1 => {
            Err(Failure::refused(format!("{first} has no nodes: only servers may have several URLs")))
        }
        _ => open_here(first),
    }
}

/// Opens what runs in this process or is started by it.
fn open_here(url: &Url) -> Result<Box<dyn Database>, Failure> {
    let has_server = url.host().is_some() || url.user().is_some();
    match url.scheme() {
        "sim" | "exec" if has_server => Err(Failure::refused(format!(
            "{url}: `{}:` has no server, so no host: leave out the two slashes",
            url.scheme()
        ))),
        scheme if has_server && (FILES.contains(&scheme) || FEATURES.contains(&scheme)) => {
            Err(Failure::refused(format!(
                "{url}: `{scheme}:` is a file or folder here, so there is no host: write {scheme}:PATH, as in \
                 {scheme}:test.db for one in the current folder, or {scheme}:///tmp/test.db"
            )))
        }
        #[cfg(feature = "drivers")]
        "sqlite" => Ok(Box::new(Sqlite::open(url)?)),
        "exec" => Ok(Box::new(Exec::open(url)?)),
        #[cfg(feature = "drivers")]
        "fjall" => Ok(Box::new(crate::fjall::open(url)?)),
        #[cfg(feature = "drivers")]
        "redb" => Ok(Box::new(crate::redb::open(url)?)),
        "sim" => Ok(Box::new(Sim::open(url)?)),
        #[cfg(feature = "duckdb")]
        "duckdb" => Ok(Box::new(crate::duckdb::DuckDb::open(url)?)),
        #[cfg(feature = "slatedb")]
        "slatedb" => Ok(Box::new(crate::slatedb::open(url)?)),
        #[cfg(feature = "surrealkv")]
        "surrealkv" => Ok(Box::new(crate::surrealkv::open(url)?)),
        #[cfg(feature = "turso")]
        "turso" => Ok(Box::new(crate::turso::Turso::open(url)?)),
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
            assert!(names_feature || said.contains("has no path"), "{said}");
        }
    }

    #[test]
    fn what_cannot_be_opened_is_told_what_to_write() {
        let said = |url: &str| open(&[Url::parse(url).unwrap()]).err().unwrap().message;
        for url in ["oracle:x", "oracle://ann:secret@host/x"] {
            let said = said(url);
            assert!(said.contains("no driver for `oracle:`") && said.contains("duckdb"), "{said}");
            assert!(!said.contains("secret"), "{said}");
        }
        for url in ["sqlite://test.db", "redb://folder/test.db?mode=wal", "fjall://ann:secret@host/x"] {
            let said = said(url);
            assert!(said.contains("for one in the current folder") && !said.contains("secret"), "{said}");
        }
        assert!(said("sim://serializable").contains("leave out the two slashes"));
    }
}
