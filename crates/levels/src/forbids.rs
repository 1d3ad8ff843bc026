//! Which findings of validation a level forbids.
//!
//! Validation looks at single reads and at single transactions. A finding is a fact about the history; whether the fact
//! violates a level follows from the level's text. All levels but read uncommitted demand that a read returns the initial
//! value or the last value that a committed transaction wrote to the key. Read uncommitted demands only that some
//! transaction wrote the value. Read committed and update serializability allow a second read of a key to find another
//! committed value.

use index::FindingKind;

use crate::LevelId;

impl LevelId {
    /// Whether the level forbids what was found in a committed transaction.
    pub const fn forbids(self, finding: FindingKind) -> bool {
        match finding {
            FindingKind::ThinAirRead
            | FindingKind::FutureRead
            | FindingKind::NotMyOwnWrite
            | FindingKind::NotMyLastWrite
            | FindingKind::DuplicatedElement
            | FindingKind::RowOutOfBounds
            | FindingKind::TombstoneServed
            | FindingKind::RowNotMatching => true,
            FindingKind::AbortedRead | FindingKind::IntermediateRead => self.demands_committed_sources(),
            FindingKind::NonRepeatableRead
            | FindingKind::DuplicatedRow
            | FindingKind::UnexplainedRow
            | FindingKind::WrongRowCount => self.demands_repeatable_reads(),
        }
    }

    const fn demands_committed_sources(self) -> bool {
        !matches!(self, Self::ReadUncommitted)
    }

    const fn demands_repeatable_reads(self) -> bool {
        !matches!(self, Self::ReadUncommitted | Self::ReadCommitted | Self::UpdateSerializable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_does_not_repeat_is_allowed_by_the_weakest_levels_only() {
        let forbidden = |level: LevelId| level.forbids(FindingKind::NonRepeatableRead);
        assert!(!forbidden(LevelId::ReadUncommitted) && !forbidden(LevelId::ReadCommitted));
        assert!(forbidden(LevelId::CutIsolation) && forbidden(LevelId::ReadAtomic));
        assert!(LevelId::with_engine().all(forbidden));
    }

    #[test]
    fn a_read_of_an_aborted_write_is_allowed_at_read_uncommitted_only() {
        for level in LevelId::ALL {
            for finding in [FindingKind::AbortedRead, FindingKind::IntermediateRead] {
                assert_eq!(level.forbids(finding), level != LevelId::ReadUncommitted, "{level}");
            }
            assert!(level.forbids(FindingKind::ThinAirRead));
        }
    }
}
