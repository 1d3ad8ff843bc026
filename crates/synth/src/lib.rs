//! Histories from levels, within a scope; comparison of levels.

pub mod bench;
mod cycle;
mod encode;
mod problem;
mod search;
mod symbols;
mod unknown;

pub use problem::{Effort, Found, NoneWithin, Options, Outcome, Problem, Scope, ScopeProof, Sessions};

/// Looks for a history of exactly this scope.
pub fn synth_within(problem: &Problem<'_>, scope: Scope) -> Outcome {
    search::Search::new(problem, scope).outcome()
}
