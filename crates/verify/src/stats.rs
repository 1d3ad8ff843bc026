//! Times and counts of the stages, in the order in which they ran.

use std::time::Duration;

/// What a check took.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Time of each stage that ran.
    pub stages: Vec<(&'static str, Duration)>,
    /// Counts, by name (pairs, ambiguous reads, decisions, conflicts, ...).
    pub counts: Vec<(&'static str, u64)>,
}

impl Stats {
    /// The count of this name, 0 if there is none.
    pub fn count(&self, name: &str) -> u64 {
        self.counts.iter().find(|(known, _)| *known == name).map_or(0, |&(_, count)| count)
    }

    pub(crate) fn set(&mut self, name: &'static str, count: u64) {
        match self.counts.iter_mut().find(|(known, _)| *known == name) {
            Some(entry) => entry.1 = count,
            None => self.counts.push((name, count)),
        }
    }
}
