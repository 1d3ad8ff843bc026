//! How levels imply one another: every history that satisfies the first satisfies the second.
//!
//! Strict serializability does not imply the snapshot levels of real time: those forbid a transaction to see what was
//! committed after it began, and a serial order does not. The levels without session order do not imply the weak ones,
//! which respect sessions.

use crate::LevelId;

impl LevelId {
    /// The levels that this one directly implies.
    pub const fn directly_implies(self) -> &'static [Self] {
        match self {
            Self::StrictSerializable => &[Self::SessionSerializable],
            Self::SessionSerializable => {
                &[Self::Serializable, Self::SessionSnapshotIsolation, Self::UpdateSerializable]
            }
            Self::Serializable => &[Self::SnapshotIsolation],
            Self::StrongSi => &[Self::StrongSessionSi],
            Self::StrongSessionSi => &[Self::GeneralizedSi, Self::SessionSnapshotIsolation],
            Self::GeneralizedSi => &[Self::SnapshotIsolation],
            Self::SessionSnapshotIsolation => &[Self::SnapshotIsolation, Self::Prefix, Self::ParallelSi],
            Self::SnapshotIsolation => &[Self::CutIsolation],
            Self::Prefix => &[Self::Causal],
            Self::ParallelSi => &[Self::Causal, Self::UpdateAtomic],
            Self::UpdateSerializable => &[Self::ReadUncommitted],
            Self::Causal => &[Self::ReadAtomic],
            Self::UpdateAtomic => &[Self::NoLostUpdate],
            Self::NoLostUpdate => &[Self::ReadAtomic],
            Self::ReadAtomic => &[Self::ReadCommitted, Self::CutIsolation],
            Self::ReadCommitted | Self::CutIsolation => &[Self::ReadUncommitted],
            Self::ReadUncommitted => &[],
        }
    }

    /// Whether this level implies another, directly or through others; it implies itself.
    pub fn implies(self, weaker: Self) -> bool {
        self == weaker || self.directly_implies().iter().any(|next| next.implies(weaker))
    }

    /// The levels that directly imply this one.
    pub fn directly_implied_by(self) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |stronger| stronger.directly_implies().contains(&self))
    }

    /// The strongest level that this one implies and that needs no times.
    pub fn without_times(self) -> Self {
        let is_timeless = |weaker: &Self| !weaker.needs_times() && self.implies(*weaker);
        Self::with_engine().find(is_timeless).unwrap_or(Self::Serializable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_listed_before_those_it_implies() {
        for level in LevelId::ALL {
            assert!(level.directly_implies().iter().all(|weaker| level < *weaker), "{level}");
        }
    }

    #[test]
    fn implication_is_transitive() {
        assert!(LevelId::StrictSerializable.implies(LevelId::ReadCommitted));
        assert!(LevelId::StrongSi.implies(LevelId::SnapshotIsolation));
        assert!(!LevelId::StrictSerializable.implies(LevelId::GeneralizedSi));
        assert!(!LevelId::SnapshotIsolation.implies(LevelId::Prefix));
        assert_eq!(LevelId::StrongSi.without_times(), LevelId::SessionSnapshotIsolation);
    }
}
