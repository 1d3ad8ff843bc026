//! The identity of a level, its names, its text and its engine.

use std::fmt;

use certify::{Level, RealTime};

/// A level that isoscope ships. The variants are in the order of the lattice: a level comes before those it implies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)] // The text of each level, `LevelId::spec`, has its documentation.
pub enum LevelId {
    StrictSerializable,
    SessionSerializable,
    Serializable,
    StrongSi,
    StrongSessionSi,
    GeneralizedSi,
    SessionSnapshotIsolation,
    SnapshotIsolation,
    Prefix,
    ParallelSi,
    UpdateSerializable,
    Causal,
    UpdateAtomic,
    NoLostUpdate,
    ReadAtomic,
    ReadCommitted,
    CutIsolation,
    ReadUncommitted,
}

impl LevelId {
    /// All levels, strongest first.
    pub const ALL: [Self; 18] = [
        Self::StrictSerializable,
        Self::SessionSerializable,
        Self::Serializable,
        Self::StrongSi,
        Self::StrongSessionSi,
        Self::GeneralizedSi,
        Self::SessionSnapshotIsolation,
        Self::SnapshotIsolation,
        Self::Prefix,
        Self::ParallelSi,
        Self::UpdateSerializable,
        Self::Causal,
        Self::UpdateAtomic,
        Self::NoLostUpdate,
        Self::ReadAtomic,
        Self::ReadCommitted,
        Self::CutIsolation,
        Self::ReadUncommitted,
    ];

    /// The name: the same in texts, on the command line, in JSON and in certificates.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StrictSerializable => "strict-serializable",
            Self::SessionSerializable => "session-serializable",
            Self::Serializable => "serializable",
            Self::StrongSi => "strong-si",
            Self::StrongSessionSi => "strong-session-si",
            Self::GeneralizedSi => "generalized-si",
            Self::SessionSnapshotIsolation => "session-snapshot-isolation",
            Self::SnapshotIsolation => "snapshot-isolation",
            Self::Prefix => "prefix",
            Self::ParallelSi => "parallel-si",
            Self::UpdateSerializable => "update-serializable",
            Self::Causal => "causal",
            Self::UpdateAtomic => "update-atomic",
            Self::NoLostUpdate => "no-lost-update",
            Self::ReadAtomic => "read-atomic",
            Self::ReadCommitted => "read-committed",
            Self::CutIsolation => "cut-isolation",
            Self::ReadUncommitted => "read-uncommitted",
        }
    }

    /// What the engine decides and the checker checks; `None` for a level that only its text decides.
    pub const fn engine(self) -> Option<Level> {
        match self {
            Self::StrictSerializable => Some(Level::STRICT_SERIALIZABLE),
            Self::SessionSerializable => Some(Level::SESSION_SERIALIZABLE),
            Self::Serializable => Some(Level::SERIALIZABLE),
            Self::StrongSi => Some(Level::STRONG_SI),
            Self::StrongSessionSi => Some(Level::STRONG_SESSION_SI),
            Self::GeneralizedSi => Some(Level::GENERALIZED_SI),
            Self::SessionSnapshotIsolation => Some(Level::SESSION_SNAPSHOT_ISOLATION),
            Self::SnapshotIsolation => Some(Level::SNAPSHOT_ISOLATION),
            Self::Prefix => Some(Level::PREFIX),
            Self::ParallelSi
            | Self::UpdateSerializable
            | Self::Causal
            | Self::UpdateAtomic
            | Self::NoLostUpdate
            | Self::ReadAtomic
            | Self::ReadCommitted
            | Self::CutIsolation
            | Self::ReadUncommitted => None,
        }
    }

    /// All levels that an engine decides, strongest first.
    pub fn with_engine() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|level| level.engine().is_some())
    }

    /// The name of the level that an engine decides; the clock skew plays no part.
    pub fn of_engine(level: &Level) -> Option<Self> {
        let plain = level.with_clock_skew(0);
        Self::with_engine().find(|known| known.engine() == Some(plain))
    }

    /// The text that defines the level, with aliases and description.
    pub fn spec(self) -> &'static spec::Level {
        spec::library::level(self.name()).expect("a test finds the text of every level")
    }

    /// Whether the level orders events by recorded times, so that a history without times cannot be asked for it.
    pub fn needs_times(self) -> bool {
        self.engine().is_some_and(|level| level.real_time != RealTime::Ignored)
    }

    /// The name and the aliases.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name()).chain(self.spec().aliases.iter().map(String::as_str))
    }
}

impl fmt::Display for LevelId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_has_a_text_of_its_name_and_all_lists_each_once() {
        for (place, level) in LevelId::ALL.into_iter().enumerate() {
            assert_eq!(level as usize, place);
            assert_eq!(level.spec().name, level.name());
            assert_eq!(level.needs_times(), level.spec().needs_times(), "{level}");
        }
    }

    #[test]
    fn certificates_and_levels_use_the_same_names() {
        for (name, level) in Level::NAMED {
            assert_eq!(LevelId::of_engine(&level.with_clock_skew(3)).map(LevelId::name), Some(name));
        }
        assert_eq!(LevelId::with_engine().count(), Level::NAMED.len());
    }
}
