//! The levels that have certificates: a core and an order obligation.

/// What a transaction must look like from outside.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Core {
    /// One point in the order for each transaction.
    Serializable,
    /// A begin and a commit for each transaction; two writers of a key do not overlap.
    Snapshot,
    /// A begin and a commit for each transaction; two writers of a key are only ordered by their commits.
    Prefix,
}

/// Which pairs of events that do not overlap in real time must be ordered so.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RealTime {
    /// None.
    Ignored,
    /// For the serializable core: the end of one transaction and the start of another.
    Strict,
    /// For the snapshot core: from begins and commits to commits.
    ToCommits,
    /// For the snapshot core: from anything to anything, but not from begin to begin.
    AllButBegins,
}

/// A level: a core, whether sessions are ordered, and what real time obliges to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Level {
    /// What a transaction looks like.
    pub core: Core,
    /// Whether the transactions of a session must be in session order.
    pub sessions: bool,
    /// What real time obliges to.
    pub real_time: RealTime,
    /// How far apart the clocks of two clients may be, in the unit of the history's clock.
    ///
    /// `a` is before `b` in real time when `response(a) + clock_skew < request(b)`; between events of one session the
    /// skew counts as zero.
    pub clock_skew: i64,
}

impl Level {
    const fn new(core: Core, sessions: bool, real_time: RealTime) -> Self {
        Self { core, sessions, real_time, clock_skew: 0 }
    }

    /// Serializable in some order.
    pub const SERIALIZABLE: Self = Self::new(Core::Serializable, false, RealTime::Ignored);
    /// Serializable in an order that respects sessions.
    pub const SESSION_SERIALIZABLE: Self = Self::new(Core::Serializable, true, RealTime::Ignored);
    /// Serializable in an order that respects sessions and real time.
    pub const STRICT_SERIALIZABLE: Self = Self::new(Core::Serializable, true, RealTime::Strict);
    /// Snapshot isolation without any obligation of order.
    pub const SNAPSHOT_ISOLATION: Self = Self::new(Core::Snapshot, false, RealTime::Ignored);
    /// Snapshot isolation that respects sessions.
    pub const SESSION_SNAPSHOT_ISOLATION: Self = Self::new(Core::Snapshot, true, RealTime::Ignored);
    /// Snapshots are no later than the real begin.
    pub const GENERALIZED_SI: Self = Self::new(Core::Snapshot, false, RealTime::ToCommits);
    /// Generalized, and a session sees its own earlier transactions.
    pub const STRONG_SESSION_SI: Self = Self::new(Core::Snapshot, true, RealTime::ToCommits);
    /// Snapshots are the state at the real begin.
    pub const STRONG_SI: Self = Self::new(Core::Snapshot, true, RealTime::AllButBegins);
    /// Everyone sees a prefix of one order of commits; respects sessions.
    pub const PREFIX: Self = Self::new(Core::Prefix, true, RealTime::Ignored);

    /// The largest clock skew that a certificate may assume: 73 years in nanoseconds.
    pub const LARGEST_CLOCK_SKEW: i64 = i64::MAX / 4;

    /// All named levels, strongest first within a family.
    pub const NAMED: [(&'static str, Self); 9] = [
        ("strict-serializable", Self::STRICT_SERIALIZABLE),
        ("session-serializable", Self::SESSION_SERIALIZABLE),
        ("serializable", Self::SERIALIZABLE),
        ("strong-si", Self::STRONG_SI),
        ("strong-session-si", Self::STRONG_SESSION_SI),
        ("generalized-si", Self::GENERALIZED_SI),
        ("session-snapshot-isolation", Self::SESSION_SNAPSHOT_ISOLATION),
        ("snapshot-isolation", Self::SNAPSHOT_ISOLATION),
        ("prefix", Self::PREFIX),
    ];

    /// The name of the level, if it has one; the skew plays no part.
    pub fn name(&self) -> Option<&'static str> {
        let plain = Self { clock_skew: 0, ..*self };
        Self::NAMED.iter().find(|(_, level)| *level == plain).map(|&(name, _)| name)
    }

    /// The level with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|&&(known, _)| known == name).map(|&(_, level)| level)
    }

    /// The same level with another skew.
    pub const fn with_clock_skew(self, clock_skew: i64) -> Self {
        Self { clock_skew, ..self }
    }

    /// Whether the level respects real time, so that a history without times has no certificates for it.
    pub const fn needs_times(&self) -> bool {
        !matches!(self.real_time, RealTime::Ignored)
    }

    /// The clock skew, if the level orders transactions that do not overlap: then what a
    /// transaction can have seen of a row is limited.
    pub const fn window(&self) -> Option<i64> {
        match self.real_time {
            RealTime::Strict | RealTime::AllButBegins => Some(self.clock_skew),
            RealTime::Ignored | RealTime::ToCommits => None,
        }
    }

    /// How many events a transaction has: one if it happens at a point, two if it begins and commits.
    pub const fn events_per_txn(&self) -> u32 {
        match self.core {
            Core::Serializable => 1,
            Core::Snapshot | Core::Prefix => 2,
        }
    }
}
