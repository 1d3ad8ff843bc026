//! Drives a database with a workload from many sessions at once, and records what they see.
//!
//! A [`workload`] is a stream of transactions for each session, seeded. [`run`] gives each session a thread and a
//! connection, watches, strikes as a [`nemesis`] where it is asked to, and ends with one read of everything. [`options`]
//! are what the command line and a configuration file can say; [`promises`] are what vendors say of their settings.
//!
//! A run never repeats a transaction: an attempt that failed is in the history as aborted or unknown, and what comes
//! next has values of its own. Memory does not grow with the run: the history goes to disk as it is made.

mod attempt;
mod client;
mod error;
mod final_read;
mod ids;
pub mod nemesis;
pub mod options;
pub mod promises;
pub mod quantity;
mod relation;
mod runner;
pub mod server;
mod shared;
mod start;
pub mod sweep;
pub mod workload;
mod workloads;

pub use attempt::{Abilities, Attempt, Stop};
pub use error::RunError;
pub use relation::Relation;
pub use runner::{Control, Ended, Event, Job, Pace, Progress, Summary, check_abilities, claim, run};
pub use shared::{Absent, Tally};
pub use start::open_with_patience;
