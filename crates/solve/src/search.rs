//! The loop: propagate, learn from conflicts, decide what the order violates, restart now and then (Luby 1993).

use crate::solver::{Ranks, Solver};

/// How a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchEnd {
    /// The current order satisfies every choice.
    Satisfied,
    /// No order does; [`Solver::proof`] says why.
    Contradiction,
    /// It was told to stop.
    Stopped,
}

/// What a search took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Literals decided.
    pub decisions: u64,
    /// Conflicts, of cycles and of clauses.
    pub conflicts: u64,
    /// Cycles found.
    pub cycles: u64,
    /// Restarts.
    pub restarts: u64,
}

/// Conflicts until the first restart.
const RESTART_UNIT: u64 = 100;

/// How much work passes between two questions whether to stop: 64 steps, or so many options that are looked at. A step can
/// take milliseconds in a large graph, and so can an option with hundreds of edges.
const STOP_INTERVAL: u64 = 4096;

/// What a step counts as.
const STEP_WORK: u64 = STOP_INTERVAL / 64;

impl Solver<'_> {
    /// Searches for an order that satisfies every choice. The ranks are asked for at the first restart: most searches
    /// end before it, and finding the ranks costs a pass over the whole graph.
    pub fn search(
        &mut self,
        stop: &mut dyn FnMut() -> bool,
        rank: &mut dyn FnMut() -> Option<Ranks>,
    ) -> SearchEnd {
        if !self.add_given_clauses() {
            return SearchEnd::Contradiction;
        }
        let mut until_restart = RESTART_UNIT;
        let mut ask_at = STOP_INTERVAL;
        loop {
            self.work += STEP_WORK;
            if self.work >= ask_at {
                ask_at = self.work + STOP_INTERVAL;
                if stop() {
                    return SearchEnd::Stopped;
                }
            }
            if let Err(conflict) = self.propagate() {
                if !self.resolve_conflict(conflict) {
                    return SearchEnd::Contradiction;
                }
                until_restart = until_restart.saturating_sub(1);
            } else if until_restart == 0 {
                self.counts.restarts += 1;
                until_restart = RESTART_UNIT * luby(self.counts.restarts + 1);
                self.backtrack(0);
                if self.counts.restarts == 1
                    && let Some(ranks) = rank()
                {
                    self.rank(&ranks);
                }
            } else if let Some(lit) = self.next_decision() {
                self.decide(lit);
            } else {
                return SearchEnd::Satisfied;
            }
        }
    }
}

/// The sequence 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ..., from 1.
fn luby(mut place: u64) -> u64 {
    loop {
        let width = 64 - place.leading_zeros();
        if place == (1 << width) - 1 {
            return 1 << (width - 1);
        }
        place -= (1 << (width - 1)) - 1;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn luby_sequence() {
        let found: Vec<u64> = (1..=15).map(super::luby).collect();
        assert_eq!(found, [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
    }
}
