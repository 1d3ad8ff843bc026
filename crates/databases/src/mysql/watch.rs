//! Who waits for a lock, from `information_schema`.
//!
//! The server copies the state of InnoDB for these tables at most every tenth of a second, and only if nobody looked
//! in the meantime: so we look less often than that.

use std::time::{Duration, Instant};

use history::Datum;

use super::Connection;
use crate::{Answer, Failure, Watcher};

const BETWEEN_LOOKS: Duration = Duration::from_millis(110);

pub(super) struct MysqlWatcher {
    connection: Connection,
    last_look: Option<Instant>,
}

impl MysqlWatcher {
    pub fn new(connection: Connection) -> Self {
        Self { connection, last_look: None }
    }
}

impl Watcher for MysqlWatcher {
    fn is_waiting(&mut self, session: u64) -> Result<bool, Failure> {
        if let Some(last) = self.last_look {
            std::thread::sleep(BETWEEN_LOOKS.saturating_sub(last.elapsed()));
        }
        // The second half finds waits for tables, which are not InnoDB's.
        let answer = self.connection.free_sql(&format!(
            "SELECT (SELECT COUNT(*) FROM information_schema.innodb_trx \
             WHERE trx_mysql_thread_id = {session} AND trx_state = 'LOCK WAIT') + \
             (SELECT COUNT(*) FROM information_schema.processlist \
             WHERE id = {session} AND state LIKE 'Waiting for%lock%')"
        ));
        self.last_look = Some(Instant::now());
        Ok(matches!(answer?, Answer::Rows(rows) if rows.iter().any(|(waits, _)| *waits != Datum::Int(0))))
    }
}
