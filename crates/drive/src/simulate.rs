//! A simulated database: many sessions, one multi-version store, one clock, one seed.
//!
//! A single-threaded discrete-event simulation. Each client sends one request at a time; a request travels, takes
//! effect at the store at one moment, and the answer travels back, so transactions overlap, conflict and abort as on a
//! real server, and their recorded times are intervals that contain the moment of the effect.
//! Every moment is different, so the order of the effects is the order of the events, and the commit order is known:
//! [`run`] gives it back beside the history, for tests that replay it.
//!
//! Costs one heap operation and one array look-up per operation; memory is the history, one version per key, and the
//! versions that a running transaction may still read.

mod application;
mod client;
mod config;
mod engine;
mod fault;
mod level;
mod lists;
mod presets;
mod record;
mod scan;
mod store;
mod table;
mod workload;

pub use config::{Application, Config, ConfigError, Duplicates, KeyDistribution, Operations};
pub use fault::Fault;
pub use level::{Age, Reads, Rules, StoreLevel};
pub use presets::{PRESETS, Preset, preset};
pub use store::{INITIAL_STAMP, Replication, Store, Version, View};
pub use workload::{Planned, Workload};

use history::{History, SessionId, TxnId};

/// Runs the simulation and gives back what the clients saw.
pub fn generate(config: &Config) -> Result<History, ConfigError> {
    run(config).map(|run| run.history)
}

/// Runs the simulation and gives back what the clients saw, and what really happened.
pub fn run(config: &Config) -> Result<Run, ConfigError> {
    config.check()?;
    Ok(engine::Engine::new(config, false).run())
}

/// Runs the simulation and hands out what the clients saw in parts, in memory that does not grow; the same history as
/// that of [`generate`].
///
/// # Errors
/// If the configuration makes no sense; what the receiver refuses is in the inner result.
pub fn stream<E>(
    config: &Config,
    take: &mut dyn FnMut(&Part) -> Result<(), E>,
) -> Result<Result<(), E>, ConfigError> {
    config.check()?;
    Ok(engine::Engine::new(config, true).stream(take))
}

/// Some transactions of a simulation, in a history with all its sessions.
#[derive(Clone, Debug)]
pub struct Part {
    /// The transactions.
    pub history: History,
    /// The session of each, in the order in which they ended at the store.
    pub sessions: Vec<SessionId>,
}

/// A finished simulation.
#[derive(Clone, Debug)]
pub struct Run {
    /// What the clients saw.
    pub history: History,
    /// What really happened: every transaction that took effect, in commit order, even those whose client never heard.
    pub commits: Vec<Commit>,
}

/// One transaction that took effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Commit {
    /// The transaction.
    pub txn: TxnId,
    /// The moment of its begin at the store.
    pub begin: i64,
    /// The moment of its commit at the store.
    pub commit: i64,
}

#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;
