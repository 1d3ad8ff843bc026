//! What a read saw of a key: a value, a row, a mark, or nothing.

use crate::{FinalWrite, ValueId};

/// What a read saw of a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Observed {
    /// This value, or a delete that left it as its mark: a read of one key does not say which. And
    /// [`ValueId::NIL`] is a null value or no row.
    Value(ValueId),
    /// A row with this value.
    Live(ValueId),
    /// The mark of a delete.
    Mark(ValueId),
    /// No row.
    Absent,
}

impl Observed {
    /// The value or mark; [`ValueId::NIL`] if there was no row.
    pub fn value(self) -> ValueId {
        match self {
            Self::Value(value) | Self::Live(value) | Self::Mark(value) => value,
            Self::Absent => ValueId::NIL,
        }
    }

    /// Whether it may be what this write left.
    pub fn allows(self, write: &FinalWrite) -> bool {
        match self {
            Self::Value(ValueId::NIL) => write.is_dead || write.value == ValueId::NIL,
            Self::Value(value) => write.value == value,
            Self::Live(value) => write.value == value && !write.is_dead,
            Self::Mark(value) => write.value == value && write.is_dead,
            Self::Absent => write.is_dead,
        }
    }

    /// Whether it may be the initial state of a key, if that is this value.
    pub fn allows_initial(self, initial: ValueId) -> bool {
        match self {
            Self::Value(value) => value == initial,
            Self::Live(value) => value == initial && initial != ValueId::NIL,
            Self::Mark(value) => value == initial && initial == ValueId::NIL,
            Self::Absent => initial == ValueId::NIL,
        }
    }

    /// Whether everything that this allows, the other allows too.
    pub(super) fn implies(self, other: Self) -> bool {
        match (self, other) {
            (Self::Live(value) | Self::Mark(value), Self::Value(other)) => value == other,
            (Self::Mark(_), Self::Absent) => true,
            (Self::Absent, Self::Value(ValueId::NIL)) => true,
            _ => self == other,
        }
    }

    /// Whether nothing can be both, in a history whose deletes leave marks or not.
    pub(super) fn excludes(self, other: Self, has_marks: bool) -> bool {
        let is_nil = |observed: Self| observed.value() == ValueId::NIL;
        match (self, other) {
            (Self::Absent | Self::Mark(_), Self::Live(_)) | (Self::Live(_), Self::Absent | Self::Mark(_)) => true,
            // A mark is no row, and what a read of one key saw may be a mark.
            (Self::Live(_), _) | (_, Self::Live(_)) => self.value() != other.value(),
            _ => self.value() != other.value() && !(has_marks && (is_nil(self) || is_nil(other))),
        }
    }
}
