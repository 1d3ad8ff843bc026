//! A level as people say it in a sentence: "the database gave snapshot isolation".

use crate::LevelId;

impl LevelId {
    /// The level as a noun, for sentences; [`LevelId::name`] is for commands and files.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::StrictSerializable => "strict serializability",
            Self::SessionSerializable => "session serializability",
            Self::Serializable => "serializability",
            Self::StrongSi => "strong snapshot isolation",
            Self::StrongSessionSi => "strong session snapshot isolation",
            Self::GeneralizedSi => "generalized snapshot isolation",
            Self::SessionSnapshotIsolation => "session snapshot isolation",
            Self::SnapshotIsolation => "snapshot isolation",
            Self::Prefix => "prefix consistency",
            Self::ParallelSi => "parallel snapshot isolation",
            Self::UpdateSerializable => "update serializability",
            Self::Causal => "causal consistency",
            Self::UpdateAtomic => "update atomicity",
            Self::NoLostUpdate => "absence of lost updates",
            Self::ReadAtomic => "read atomicity",
            Self::ReadCommitted => "read committed",
            Self::CutIsolation => "cut isolation",
            Self::ReadUncommitted => "read uncommitted",
        }
    }
}
