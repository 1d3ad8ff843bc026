//! The reference semantics of the spec crate, asked about a history of the model.

use history::History;
use spec::SmallHistory;

/// Whether a level of the standard library holds; `None` if there is no such level.
pub fn holds(history: &History, level: &str, clock_skew: i64) -> Option<bool> {
    let level = spec::library::level(level)?;
    let small = SmallHistory::from_history(history, clock_skew).unwrap_or_else(|error| panic!("{error}"));
    Some(spec::oracle::holds(&small, level))
}
