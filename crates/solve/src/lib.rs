//! CDCL modulo acyclicity that decides only what the current order violates.
//!
//! A literal stands for a set of edges; several literals together may stand for further edges. A *choice* is a few
//! literals of which one must hold. The question is whether the choices can be made so that the graph has no cycle.
//!
//! Written here rather than taken from a library because of one rule that no library's interface allows: a choice one
//! of whose options already agrees with the current topological order needs no decision and no edge. When no choice
//! disagrees, the order itself is the solution. On BL-10k this leaves 552 decisions
//! where there are 2,023 choices, on a million transactions 3 where there are 2,400.
//!
//! One file for each technique: `theory` asserts edges, `choices` finds what the order violates, `propagate` and
//! `analyze` are the clause side, `search` the loop, `proof` what remains of it.
//!
//! The solver does not know what a transaction is.

mod analyze;
mod choices;
mod clauses;
mod lit;
mod proof;
mod propagate;
mod search;
mod solver;
mod theory;

pub use lit::Lit;
pub use proof::{Origin, Proof, ProofClause};
pub use search::{Counts, SearchEnd};
pub use solver::{Habits, Ranks, Setup, Solver};
