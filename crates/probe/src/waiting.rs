//! Whether a session that has not answered waits for another one.
//!
//! A server's own views say so, where it has them ([`databases::Watcher`]); otherwise time must tell, and a slow answer
//! may be taken for a wait. Then the next step is asked a little early, which a session that does not wait cannot
//! notice except by what the step itself does.

use std::time::Duration;

use databases::{Database, Failure, Watcher};

/// How long things may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// After so long the server's views are asked for the first time.
    pub before_looking: Duration,
    /// After so long a session waits, where there are no views.
    pub without_views: Duration,
    /// After so long a session waits, whatever the views say.
    pub with_views: Duration,
    /// After so long a session that waits is given up.
    pub before_giving_up: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            before_looking: Duration::from_millis(4),
            without_views: Duration::from_millis(150),
            with_views: Duration::from_secs(5),
            before_giving_up: Duration::from_secs(90),
        }
    }
}

/// Looks whether sessions wait.
pub(crate) struct Lookout {
    watcher: Option<Box<dyn Watcher>>,
    patience: Patience,
}

impl Lookout {
    pub fn new(database: &dyn Database, patience: Patience) -> Self {
        // Sessions of different nodes may have the same id, and one node's views know nothing of another's.
        let watcher = if database.node_count() > 1 { None } else { database.watcher() };
        Self { watcher, patience }
    }

    /// Whether a session waits, which has been asked so long ago.
    pub fn is_waiting(&mut self, session: Option<u64>, asked: Duration) -> Result<bool, Failure> {
        match (&mut self.watcher, session) {
            (Some(_), Some(_)) if asked < self.patience.before_looking => Ok(false),
            (Some(watcher), Some(session)) => {
                Ok(watcher.is_waiting(session)? || asked >= self.patience.with_views)
            }
            _ => Ok(asked >= self.patience.without_views),
        }
    }
}
