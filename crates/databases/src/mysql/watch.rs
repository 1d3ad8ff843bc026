//! The sessions that wait for a lock, from InnoDB's own report.
//!
//! `information_schema` shows copies of InnoDB's state that may be a tenth of a second old; the report is of this
//! moment. It has a block for each transaction, with its thread and the words `LOCK WAIT` if it waits.

use history::Datum;

use super::Connection;
use crate::{Failure, Reply, Watcher};

pub(super) struct MysqlWatcher {
    connection: Connection,
}

impl MysqlWatcher {
    pub fn new(connection: Connection) -> Self {
        Self { connection }
    }
}

impl Watcher for MysqlWatcher {
    fn is_waiting(&mut self, session: u64) -> Result<bool, Failure> {
        let report = self.connection.free_sql("SHOW ENGINE INNODB STATUS")?;
        if let Reply::Rows(rows) = report {
            let texts = rows.iter().flat_map(|(_, columns)| columns);
            if texts.into_iter().any(|text| matches!(text, Datum::Str(text) if waits_in(text, session))) {
                return Ok(true);
            }
        }
        // Waits for tables are not InnoDB's.
        let answer = self.connection.free_sql(&format!(
            "SELECT COUNT(*) FROM information_schema.processlist \
             WHERE id = {session} AND state LIKE 'Waiting for%lock%'"
        ));
        Ok(matches!(answer?, Reply::Rows(rows) if rows.iter().any(|(waits, _)| *waits != Datum::Int(0))))
    }
}

/// Whether a report of InnoDB says that the transaction of a session waits.
fn waits_in(report: &str, session: u64) -> bool {
    let thread = format!(" thread id {session},");
    // An earlier part of the report tells of the last deadlock, whose transactions are over.
    let now = report.rsplit_once("\nTRANSACTIONS\n").map_or("", |(_, now)| now);
    now.split("---TRANSACTION ").any(|block| block.contains(&thread) && block.contains("\nLOCK WAIT "))
}

#[cfg(test)]
mod tests {
    use super::waits_in;

    #[test]
    fn the_block_of_the_session_counts() {
        let report = "LATEST DETECTED DEADLOCK\n---TRANSACTION 1, ACTIVE\nLOCK WAIT 2 lock struct(s)\n\
            MariaDB thread id 9, OS\n\nTRANSACTIONS\n------------\n---TRANSACTION 2, ACTIVE 0 sec\n\
            LOCK WAIT 2 lock struct(s)\nMariaDB thread id 7, OS\n---TRANSACTION 3, ACTIVE\nMariaDB thread id 8, OS\n";
        assert_eq!([7, 8, 9, 77].map(|session| waits_in(report, session)), [true, false, false, false]);
    }
}
