//! Histories from levels, within a scope; comparison of levels.
//!
//! ```
//! use spec::library::level;
//! use isoscope_synth::{Bounds, Options, Synthesis, Problem, synth};
//!
//! let problem = Problem {
//!     allow: vec![level("session-snapshot-isolation").unwrap()],
//!     forbid: vec![level("session-serializable").unwrap()],
//!     options: Options::default(),
//! };
//! let Synthesis::Found(found) = synth(&problem, Bounds::default()) else { panic!("write skew exists") };
//! assert_eq!(found.history.to_string(), "a: r(x)=0 w(y)=1\nb: r(y)=0 w(x)=1\n");
//! ```
//!
//! [`synth()`] grows the scope and minimises; [`synth_within`] asks about exactly one scope; [`all`] enumerates up to
//! isomorphism; [`compare()`] and [`matrix`] compare levels, and [`Hasse`] draws the result. Levels of any framework may
//! be mixed. "None" always means "none within the scope", and with [`Options::log_proof`] comes with a log that
//! [`proof::check`] (or any DRAT checker) can verify.
//!
//! The crate proposes histories and never trusts itself: each one shown was asked of every level again, as written.

pub mod bench;
mod compare;
mod cycle;
mod encode;
mod enumerate;
mod grow;
mod hasse;
mod problem;
pub mod proof;
mod report;
mod search;
mod symbols;
mod unknown;

pub use compare::{Comparison, Matrix, Relation, compare, matrix};
pub use enumerate::{All, all};
pub use grow::{Bounds, MOST_OBJECTS, MOST_TXNS, first, synth, synth_telling};
pub use hasse::Hasse;
pub use problem::{Effort, Found, NoneWithin, Options, Problem, Scope, ScopeProof, Sessions, Synthesis};

/// Looks for a history of exactly this scope; what is found is not minimised.
pub fn synth_within(problem: &Problem<'_>, scope: Scope) -> Synthesis {
    search::Search::new(problem, scope).outcome()
}
