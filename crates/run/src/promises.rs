//! What a vendor promises of an isolation setting, with the place where it says so.
//!
//! A promise is the strongest level of the lattice that follows from the vendor's own words; a run is judged by it.
//! `expected` is what holds as far as is known, though the vendor does not promise it.

use levels::LevelId;

/// A promise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promise {
    /// The level that is promised.
    pub level: LevelId,
    /// A level outside the lattice that is promised beyond it, by its name in the standard library.
    pub text: Option<&'static str>,
    /// A stronger level that is known to hold on a single node.
    pub expected: Option<LevelId>,
    /// Where the vendor says so.
    pub source: &'static str,
    /// What is worth knowing about it.
    pub remark: Option<&'static str>,
}

struct Entry {
    product: &'static str,
    setting: &'static str,
    promise: Promise,
}

const POSTGRES: &str = "PostgreSQL documentation, 13.2 Transaction Isolation, \
                        https://www.postgresql.org/docs/current/transaction-iso.html";
const MYSQL: &str = "MySQL 8.4 Reference Manual, 17.7.2.1 Transaction Isolation Levels, \
                     https://dev.mysql.com/doc/refman/8.4/en/innodb-transaction-isolation-levels.html";
const MYSQL_READS: &str = "MySQL 8.4 Reference Manual, 17.7.2.3 Consistent Nonlocking Reads, \
                           https://dev.mysql.com/doc/refman/8.4/en/innodb-consistent-read.html";
const MARIADB: &str = "MariaDB documentation, SET TRANSACTION, Isolation Levels, \
                       https://mariadb.com/docs/server/reference/sql-statements/administrative-sql-statements/\
                       set-commands/set-transaction";
const SQLITE: &str = "SQLite documentation, Isolation In SQLite, https://www.sqlite.org/isolation.html";
const FJALL: &str =
    "fjall README, Transactional modes, Optimistic: serializable transactions, https://docs.rs/crate/fjall";
const REDB: &str = "redb design document, first section: a single isolation level, serializable, https://github.com/cberner/redb/blob/\
                    master/docs/design.md";
const DUCKDB: &str = "DuckDB documentation, Transaction Management, Isolation Level, \
                      https://duckdb.org/docs/current/sql/statements/transactions";
const TURSO: &str = "Turso Database Manual, Transactions, Concurrent, \
                     https://github.com/tursodatabase/turso/blob/main/docs/manual.md";
const SURREALKV: &str = "surrealkv README, Features, Snapshot Isolation, https://docs.rs/crate/surrealkv";
/// With its other ways to begin.
const TURSO_ONE_WRITER: &str = "Turso Database Manual, Transactions, Deferred transaction lifecycle, \
                                https://github.com/tursodatabase/turso/blob/main/docs/manual.md";
const SLATEDB: &str = "documentation of slatedb 0.18, IsolationLevel: Snapshot is snapshot isolation, \
                       SerializableSnapshot serializable snapshot isolation, \
                       https://docs.rs/slatedb/0.18.0/slatedb/enum.IsolationLevel.html";

const FOLLOWS_FROM_ONE_WRITER: &str = "turso names no level here; it follows from what it says: one transaction writes \
                                       at a time, and one that has read before another committed can write no more";
const UPDATE_AND_DELETE: &str = "that one transaction updates a row and another deletes it is no conflict for DuckDB, \
                                 and both commit, which snapshot isolation forbids (docs/probe.md)";
const ROWS_NOT_KEYS: &str = "conflicts are between versions of a row: a key that others have inserted and deleted since \
                             the snapshot can be inserted again, which snapshot isolation of keys forbids";
const NOT_SNAPSHOT: &str = "plain reads see one snapshot, but UPDATE, DELETE and locking reads see what others have \
                            committed since, and the next plain read sees the snapshot again: this goes back, which read \
                            committed forbids here, and lost updates are not prevented";
const NOT_SNAPSHOT_UNLESS_ASKED: &str = "plain reads see one snapshot, but UPDATE, DELETE and locking reads see what \
                                         others have committed since, and the next plain read sees the \
                                         snapshot again, which read committed forbids here; lost updates are not \
                                         prevented, unless \
                                         innodb_snapshot_isolation is on (from 11.6.2 on it is unless switched off)";

const fn entry(product: &'static str, setting: &'static str, level: LevelId, source: &'static str) -> Entry {
    Entry { product, setting, promise: Promise { level, text: None, expected: None, source, remark: None } }
}

const fn expecting(mut entry: Entry, level: LevelId) -> Entry {
    entry.promise.expected = Some(level);
    entry
}

/// Adya's PL-2: every read is of a transaction that committed, and reads do not lead in a circle.
const fn reading_committed(mut entry: Entry) -> Entry {
    entry.promise.text = Some("pl-2");
    entry
}

const fn remarking(mut entry: Entry, remark: &'static str) -> Entry {
    entry.promise.remark = Some(remark);
    entry
}

const STRICT: LevelId = LevelId::StrictSerializable;

impl Promise {
    /// The name of the level that a run is judged by.
    pub fn name(&self) -> &'static str {
        self.text.unwrap_or(self.level.name())
    }
}

/// All promises. A setting named `*` is any setting of the product.
const ENTRIES: [Entry; 22] = [
    expecting(entry("PostgreSQL", "serializable", LevelId::Serializable, POSTGRES), STRICT),
    remarking(
        expecting(
            entry("PostgreSQL", "repeatable-read", LevelId::SnapshotIsolation, POSTGRES),
            LevelId::StrongSi,
        ),
        ROWS_NOT_KEYS,
    ),
    entry("PostgreSQL", "read-committed", LevelId::ReadCommitted, POSTGRES),
    remarking(
        entry("PostgreSQL", "read-uncommitted", LevelId::ReadCommitted, POSTGRES),
        "PostgreSQL gives read committed instead",
    ),
    expecting(entry("MySQL", "serializable", LevelId::Serializable, MYSQL), STRICT),
    remarking(
        reading_committed(entry("MySQL", "repeatable-read", LevelId::ReadUncommitted, MYSQL_READS)),
        NOT_SNAPSHOT,
    ),
    entry("MySQL", "read-committed", LevelId::ReadCommitted, MYSQL),
    entry("MySQL", "read-uncommitted", LevelId::ReadUncommitted, MYSQL),
    expecting(entry("MariaDB", "serializable", LevelId::Serializable, MARIADB), STRICT),
    remarking(
        reading_committed(entry("MariaDB", "repeatable-read", LevelId::ReadUncommitted, MARIADB)),
        NOT_SNAPSHOT_UNLESS_ASKED,
    ),
    entry("MariaDB", "read-committed", LevelId::ReadCommitted, MARIADB),
    entry("MariaDB", "read-uncommitted", LevelId::ReadUncommitted, MARIADB),
    expecting(entry("SQLite", "*", LevelId::Serializable, SQLITE), STRICT),
    expecting(entry("fjall", "*", LevelId::Serializable, FJALL), STRICT),
    expecting(entry("redb", "*", LevelId::Serializable, REDB), STRICT),
    remarking(entry("DuckDB", "*", LevelId::SnapshotIsolation, DUCKDB), UPDATE_AND_DELETE),
    entry("turso", "concurrent", LevelId::SnapshotIsolation, TURSO),
    remarking(entry("turso", "deferred", LevelId::Serializable, TURSO_ONE_WRITER), FOLLOWS_FROM_ONE_WRITER),
    remarking(entry("turso", "immediate", LevelId::Serializable, TURSO_ONE_WRITER), FOLLOWS_FROM_ONE_WRITER),
    entry("slatedb", "snapshot", LevelId::SnapshotIsolation, SLATEDB),
    entry("slatedb", "serializable", LevelId::Serializable, SLATEDB),
    entry("surrealkv", "*", LevelId::SnapshotIsolation, SURREALKV),
];

/// What is promised of a setting of a product; `None` if isoscope does not know.
pub fn promise(product: &str, setting: &str) -> Option<Promise> {
    if product.eq_ignore_ascii_case("sim") {
        return simulated(setting);
    }
    let found = ENTRIES.iter().find(|entry| {
        entry.product.eq_ignore_ascii_case(product) && (entry.setting == "*" || entry.setting == setting)
    });
    found.map(|entry| entry.promise)
}

fn simulated(setting: &str) -> Option<Promise> {
    Some(Promise {
        level: databases::simulated_promise(setting)?,
        text: None,
        expected: None,
        source: "isoscope's simulated store, crates/drive",
        remark: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_find_their_promises() {
        assert_eq!(promise("PostgreSQL", "repeatable-read").unwrap().level, LevelId::SnapshotIsolation);
        assert_eq!(promise("SQLite", "immediate").unwrap().expected, Some(STRICT));
        assert_eq!(promise("sim", "snapshot").unwrap().level, LevelId::StrongSi);
        assert_eq!(promise("PostgreSQL", "nonsense"), None);
        for product in ["MySQL", "MariaDB"] {
            let promise = promise(product, "repeatable-read").unwrap();
            assert_eq!(promise.name(), "pl-2");
            assert!(promise.remark.unwrap().contains("lost updates are not prevented"));
        }
    }

    #[test]
    fn every_promise_has_a_source_and_expects_something_stronger() {
        for entry in &ENTRIES {
            let expected = entry.promise.expected.unwrap_or(entry.promise.level);
            assert!(expected.implies(entry.promise.level), "{}", entry.product);
            assert!(entry.promise.source.contains("https://"), "{}", entry.product);
        }
    }
}
