//! The index of a history, built when it is first needed: an order that the recorded times suggest needs none.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use history::History;
use index::Index;

/// A place for the index of one history.
#[derive(Default)]
pub struct LazyIndex(OnceLock<(Index, Duration)>);

impl LazyIndex {
    /// The index of the history. The first call builds it, on the threads of its caller.
    pub fn of(&self, history: &History) -> &Index {
        let build = || {
            let started = Instant::now();
            (Index::of(history), started.elapsed())
        };
        &self.0.get_or_init(build).0
    }

    /// Whether it was built; false while it is being built.
    pub fn is_built(&self) -> bool {
        self.0.get().is_some()
    }

    /// How long building took; zero if nothing needed the index.
    pub fn time(&self) -> Duration {
        self.0.get().map_or(Duration::ZERO, |(_, time)| *time)
    }
}
