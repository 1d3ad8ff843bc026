//! What the codes of databases mean, in words, for those that a run meets.
//!
//! From the error references of PostgreSQL (appendix A), MySQL and MariaDB. SQLite's codes are names already.

/// The name of a code: an SQLSTATE of five characters, or an error number of MySQL and MariaDB.
pub fn code_name(code: &str) -> Option<&'static str> {
    Some(match code {
        "40001" => "serialization failure",
        "40P01" => "deadlock",
        "40002" => "integrity violation at commit",
        "55P03" => "lock not available",
        "57014" => "statement cancelled",
        "57P01" => "server shut down",
        "57P02" => "server crashed",
        "57P03" => "server cannot be connected to now",
        "25P02" => "transaction already failed",
        "25P03" => "idle transaction timed out",
        "23505" => "duplicate key",
        "23502" => "null in a column that has none",
        "23503" => "foreign key",
        "23514" => "check constraint",
        "53200" => "out of memory",
        "53100" => "disk full",
        "53300" => "too many connections",
        "1213" => "deadlock",
        "1205" => "lock wait timeout",
        "1020" => "record changed since it was read",
        "1062" | "1586" => "duplicate key",
        "1047" => "node not ready",
        "1040" => "too many connections",
        "1053" => "server shut down",
        "1317" => "statement interrupted",
        "1969" | "3024" => "statement timed out",
        "1206" => "lock table full",
        "1114" => "table full",
        "1048" => "null in a column that has none",
        "1451" | "1452" => "foreign key",
        "3819" | "4025" => "check constraint",
        "1927" => "connection killed",
        _ => return None,
    })
}
