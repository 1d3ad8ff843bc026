//! Whether a session that has not answered waits for another one.
//!
//! A server's own views say so, where it has them ([`databases::Watcher`], one for each node: a node knows its own
//! sessions only, and may number them as another does); otherwise time must tell, and a slow answer may be taken for a
//! wait. Then the next step is asked a little early, which a session that does not wait cannot
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
pub(crate) struct WaitDetector {
    /// One for each node, where it has views.
    watchers: Vec<Option<Box<dyn Watcher>>>,
    patience: Patience,
}

impl WaitDetector {
    pub fn new(database: &dyn Database, patience: Patience) -> Self {
        let watchers = (0..database.node_count()).map(|node| database.watcher(node)).collect();
        Self { watchers, patience }
    }

    /// Whether a session of a node waits, which has been asked so long ago.
    pub fn is_waiting(
        &mut self,
        node: usize,
        session: Option<u64>,
        asked: Duration,
    ) -> Result<bool, Failure> {
        match (self.watchers.get_mut(node), session) {
            (Some(Some(_)), Some(_)) if asked < self.patience.before_looking => Ok(false),
            (Some(Some(watcher)), Some(session)) => {
                Ok(watcher.is_waiting(session)? || asked >= self.patience.with_views)
            }
            _ => Ok(asked >= self.patience.without_views),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use databases::{Description, Session, Setting, StatementKind, Table};

    /// Three nodes: the second has a session 7 that waits, and the third has no views.
    struct Cluster;

    struct View {
        waiting: Option<u64>,
    }

    impl Watcher for View {
        fn is_waiting(&mut self, session: u64) -> Result<bool, Failure> {
            Ok(self.waiting == Some(session))
        }
    }

    impl Database for Cluster {
        fn describe(&self) -> Description {
            Description { product: "cluster".into(), version: "1".into(), urls: Vec::new() }
        }

        fn settings(&self) -> Vec<Setting> {
            Vec::new()
        }

        fn prepare(&self, _tables: &[Table]) -> Result<(), Failure> {
            Ok(())
        }

        fn connect(&self, _node: usize) -> Result<Box<dyn Session>, Failure> {
            Err(Failure::refused("no session connects here"))
        }

        fn node_count(&self) -> usize {
            3
        }

        fn supports(&self, _kind: StatementKind) -> bool {
            true
        }

        fn watcher(&self, node: usize) -> Option<Box<dyn Watcher>> {
            match node {
                0 => Some(Box::new(View { waiting: None })),
                1 => Some(Box::new(View { waiting: Some(7) })),
                _ => None,
            }
        }
    }

    #[test]
    fn every_node_is_asked_about_its_own_sessions() {
        let mut wait_detector = WaitDetector::new(&Cluster, Patience::default());
        let mut at = |node, ms| wait_detector.is_waiting(node, Some(7), Duration::from_millis(ms)).unwrap();
        assert_eq!([at(0, 10), at(1, 10), at(2, 10)], [false, true, false]);
        // Too early to look; time enough to tell without views; time enough whatever the views say.
        assert_eq!([at(1, 1), at(2, 200), at(0, 200), at(0, 6_000)], [false, true, false, true]);
    }
}
