//! How the simulated store isolates transactions.
//!
//! Each level is a choice of three things: which committed versions a read sees, whether reads are checked at commit,
//! and whether writes are.

use levels::LevelId;

/// The isolation of the simulated store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum StoreLevel {
    /// One transaction at a time: strictly serializable, and nothing ever conflicts.
    Serial,
    /// Reads see the newest committed version and are checked at commit to be still the newest (optimistic
    /// validation): strictly serializable.
    #[default]
    Serializable,
    /// Reads see the state at the begin, and the first committer of a key wins: strong snapshot isolation.
    Snapshot,
    /// As `Snapshot`, but the state may be older, though never older than the last transaction of the session.
    SessionSnapshot,
    /// As `Snapshot`, but the state may be older, even than the session's last transaction.
    GeneralizedSnapshot,
    /// Reads see the state at the begin, and nothing is checked at commit: updates can be lost.
    Prefix,
    /// Sites that copy each other's commits in causal order, and no two invisible to each other write one key.
    ParallelSnapshot,
    /// Sites that copy each other's commits in causal order; the latest commit wins.
    Causal,
    /// Sites that copy each other's commits whole but in any order; the latest commit wins.
    ReadAtomic,
    /// Every read sees the newest committed version at that moment.
    ReadCommitted,
    /// Every read sees the newest write, committed or not.
    ReadUncommitted,
}

impl StoreLevel {
    /// All levels, strongest first.
    pub const ALL: [Self; 11] = [
        Self::Serial,
        Self::Serializable,
        Self::Snapshot,
        Self::SessionSnapshot,
        Self::GeneralizedSnapshot,
        Self::Prefix,
        Self::ParallelSnapshot,
        Self::Causal,
        Self::ReadAtomic,
        Self::ReadCommitted,
        Self::ReadUncommitted,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Serializable => "serializable",
            Self::Snapshot => "snapshot",
            Self::SessionSnapshot => "session-snapshot",
            Self::GeneralizedSnapshot => "generalized-snapshot",
            Self::Prefix => "prefix",
            Self::ParallelSnapshot => "parallel-snapshot",
            Self::Causal => "causal",
            Self::ReadAtomic => "read-atomic",
            Self::ReadCommitted => "read-committed",
            Self::ReadUncommitted => "read-uncommitted",
        }
    }

    /// The level of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The strongest level that every history without faults satisfies.
    pub fn promises(self) -> LevelId {
        match self {
            Self::Serial | Self::Serializable => LevelId::StrictSerializable,
            Self::Snapshot => LevelId::StrongSi,
            Self::SessionSnapshot => LevelId::StrongSessionSi,
            Self::GeneralizedSnapshot => LevelId::GeneralizedSi,
            Self::Prefix => LevelId::Prefix,
            Self::ParallelSnapshot => LevelId::ParallelSi,
            Self::Causal => LevelId::Causal,
            Self::ReadAtomic => LevelId::ReadAtomic,
            Self::ReadCommitted => LevelId::ReadCommitted,
            Self::ReadUncommitted => LevelId::ReadUncommitted,
        }
    }

    /// Whether an append finds at commit the list that it was made from, so that lists only ever grow at the end.
    pub fn keeps_lists_whole(self) -> bool {
        let rules = self.rules();
        self == Self::Serial || rules.checks_reads || rules.checks_writes
    }

    /// What the level does for a transaction.
    pub fn rules(self) -> Rules {
        let (reads, checks_reads, checks_writes) = match self {
            Self::Serial => (Reads::Newest, false, false),
            Self::Serializable => (Reads::Newest, true, false),
            Self::Snapshot => (Reads::Snapshot(Age::Fresh), false, true),
            Self::SessionSnapshot => (Reads::Snapshot(Age::SessionFresh), false, true),
            Self::GeneralizedSnapshot => (Reads::Snapshot(Age::Any), false, true),
            Self::Prefix => (Reads::Snapshot(Age::Fresh), false, false),
            Self::ParallelSnapshot => (Reads::Copies, false, true),
            Self::Causal | Self::ReadAtomic => (Reads::Copies, false, false),
            Self::ReadCommitted => (Reads::NewestEachTime, false, false),
            Self::ReadUncommitted => (Reads::Dirty, false, false),
        };
        Rules { reads, checks_reads, checks_writes }
    }
}

/// What a level, or a fault in its place, does for one transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Which version a read sees.
    pub reads: Reads,
    /// At commit every version read must still be the newest.
    pub checks_reads: bool,
    /// At commit the newest version of every key written must be one that the transaction could see.
    pub checks_writes: bool,
}

/// Which version a read sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reads {
    /// The newest committed one; a second read of a key repeats the first.
    Newest,
    /// The newest committed one, every time anew.
    NewestEachTime,
    /// The newest committed one as of one moment.
    Snapshot(Age),
    /// The newest committed one that has reached the client's site at the begin.
    Copies,
    /// The newest one, committed or not.
    Dirty,
}

/// How old a snapshot may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Age {
    /// The moment of the begin.
    Fresh,
    /// Some earlier moment, but not before the session's last commit.
    SessionFresh,
    /// Any earlier moment.
    Any,
}
