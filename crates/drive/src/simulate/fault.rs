//! Named defects of the simulated store, each a small change of what the store does for one transaction.

use super::level::{Age, Reads, Rules};

/// A defect. It strikes single transactions, at the rate that the configuration gives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// At commit the keys that the transaction itself writes are not checked: it overwrites what it did not see.
    LostUpdate,
    /// Reads return the last value that an aborted transaction wrote to the key, if there is one.
    AbortedRead,
    /// The transaction reads an old state.
    StaleRead,
    /// Half of the transaction's reads see an old state, the others the newest.
    FracturedRead,
    /// The transaction reads from a site that has not yet received all commits of the others.
    LongFork,
    /// The transaction runs under snapshot isolation, whatever the others do.
    WriteSkew,
    /// Reads see what others have written but not committed.
    DirtyRead,
    /// The commit is acknowledged, and its writes are gone.
    LostCommit,
    /// The clocks of some clients are wrong; the rate is the share of these clients.
    ClockSkew,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 9] = [
        Self::LostUpdate,
        Self::AbortedRead,
        Self::StaleRead,
        Self::FracturedRead,
        Self::LongFork,
        Self::WriteSkew,
        Self::DirtyRead,
        Self::LostCommit,
        Self::ClockSkew,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::LostUpdate => "lost-update",
            Self::AbortedRead => "aborted-read",
            Self::StaleRead => "stale-read",
            Self::FracturedRead => "fractured-read",
            Self::LongFork => "long-fork",
            Self::WriteSkew => "write-skew",
            Self::DirtyRead => "dirty-read",
            Self::LostCommit => "lost-commit",
            Self::ClockSkew => "clock-skew",
        }
    }

    /// The fault of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }

    /// What the store does for a transaction that the fault strikes, instead of its own rules.
    pub fn change(self, rules: Rules) -> Rules {
        let snapshot = |age| Rules { reads: Reads::Snapshot(age), checks_reads: false, checks_writes: true };
        match self {
            Self::LostUpdate => Rules { checks_writes: false, ..rules },
            Self::StaleRead => snapshot(Age::Any),
            Self::WriteSkew => snapshot(Age::Fresh),
            Self::LongFork => Rules { reads: Reads::Copies, checks_reads: false, checks_writes: true },
            Self::DirtyRead => Rules { reads: Reads::Dirty, checks_reads: false, checks_writes: false },
            Self::FracturedRead | Self::AbortedRead | Self::LostCommit | Self::ClockSkew => rules,
        }
    }

    /// Whether it needs versions older than the newest.
    pub(crate) fn needs_old_versions(self) -> bool {
        matches!(self, Self::StaleRead | Self::FracturedRead | Self::LongFork | Self::WriteSkew)
    }

    /// Whether it needs to know what was written but not, or not yet, committed.
    pub(crate) fn needs_uncommitted(self) -> bool {
        matches!(self, Self::AbortedRead | Self::DirtyRead)
    }
}
