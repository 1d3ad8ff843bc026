//! What the databases that speak SQL differ in.

use std::fmt::Write;

/// One way to write SQL.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// What is put around names.
    pub quote: char,
    /// Whether parameters are `$1` rather than `?`.
    pub numbers_parameters: bool,
    /// The clause that locks what a SELECT reads, if there is one.
    pub for_update: Option<&'static str>,
    /// Whether an UPDATE can return the rows that it changed.
    pub update_returning: bool,
    /// Whether an UPDATE marks the rows that it changed instead, so that a SELECT after it returns them.
    pub marks_changes: bool,
    /// What makes an INSERT an update if the key exists.
    pub on_conflict: &'static str,
    /// What is put around a column to mean the value that the INSERT brought.
    pub excluded: (&'static str, &'static str),
    /// Before, between and after texts that are put together.
    pub concat: (&'static str, &'static str, &'static str),
    /// The type of integers.
    pub int: &'static str,
    /// The type of a text that is a key.
    pub text_key: &'static str,
    /// The type of other texts.
    pub text: &'static str,
    /// What follows a CREATE TABLE.
    pub table_options: &'static str,
}

impl Dialect {
    /// Whether tables can have columns that keep what the others held before the last update.
    pub fn keeps_old(&self) -> bool {
        self.update_returning || self.marks_changes
    }

    /// Writes the mark of a parameter; the first is 1.
    pub fn placeholder(&self, text: &mut String, number: usize) {
        match self.numbers_parameters {
            true => write!(text, "${number}").expect("a string takes everything"),
            false => text.push('?'),
        }
    }
}

/// SQLite.
pub(crate) const SQLITE: Dialect = Dialect {
    quote: '"',
    numbers_parameters: false,
    for_update: None,
    update_returning: true,
    marks_changes: false,
    on_conflict: " ON CONFLICT (\"k\") DO UPDATE SET",
    excluded: ("excluded.", ""),
    concat: ("", " || ", ""),
    int: "INTEGER",
    text_key: "TEXT",
    text: "TEXT",
    table_options: " STRICT",
};

/// DuckDB.
#[cfg(feature = "duckdb")]
pub(crate) const DUCKDB: Dialect =
    Dialect { int: "BIGINT", text_key: "VARCHAR", text: "VARCHAR", table_options: "", ..SQLITE };

/// turso, which has SQLite's language; whether it returns changed rows was not tried.
#[cfg(feature = "turso")]
pub(crate) const TURSO: Dialect = Dialect { update_returning: false, ..SQLITE };

/// PostgreSQL.
pub(crate) const POSTGRES: Dialect = Dialect {
    quote: '"',
    numbers_parameters: true,
    for_update: Some(" FOR UPDATE"),
    int: "BIGINT",
    text_key: "TEXT COLLATE \"C\"",
    text: "TEXT COLLATE \"C\"",
    table_options: "",
    ..SQLITE
};

/// MySQL and MariaDB.
pub(crate) const MYSQL: Dialect = Dialect {
    quote: '`',
    numbers_parameters: false,
    for_update: Some(" FOR UPDATE"),
    update_returning: false,
    marks_changes: true,
    on_conflict: " ON DUPLICATE KEY UPDATE",
    excluded: ("VALUES(", ")"),
    concat: ("CONCAT(", ", ", ")"),
    int: "BIGINT",
    // The longest key of the oldest row format, in characters of four bytes.
    text_key: "VARCHAR(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    text: "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    table_options: " ENGINE = InnoDB",
};
