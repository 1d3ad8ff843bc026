//! What a read saw of a key: a value, a row, a mark, or nothing.

use crate::FinalWrite;
use history::ValueId;

/// What a read saw of a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Observed {
    /// This value, or a delete that left it as its mark: a read of one key does not say which. [`ValueId::NIL`] is no
    /// row, and no mark either.
    Value(ValueId),
    /// A row with this value.
    Live(ValueId),
    /// The mark of a delete.
    Mark(ValueId),
    /// No row.
    Absent,
    /// One of the contents of an alternative: the numbers of its effect and of the alternative.
    RowEffect(u32, u32),
}

impl Observed {
    /// The value or mark; [`ValueId::NIL`] if there was no row.
    pub fn value(self) -> ValueId {
        match self {
            Self::Value(value) | Self::Live(value) | Self::Mark(value) => value,
            Self::Absent | Self::RowEffect(..) => ValueId::NIL,
        }
    }

    /// Whether it may be what this write left; what an effect saw is for the index to say.
    pub fn allows(self, write: &FinalWrite) -> bool {
        match self {
            Self::Value(value) => write.value == value,
            Self::Live(value) => write.value == value && !write.is_dead,
            Self::Mark(value) => write.value == value && write.is_dead,
            Self::Absent => write.is_dead,
            Self::RowEffect(..) => false,
        }
    }

    /// Whether it may be the initial state of a key, if that is this value.
    pub fn allows_initial(self, initial: ValueId) -> bool {
        match self {
            Self::Value(value) => value == initial,
            Self::Live(value) => value == initial && initial != ValueId::NIL,
            Self::Mark(value) => value == initial && initial == ValueId::NIL,
            Self::Absent => initial == ValueId::NIL,
            Self::RowEffect(..) => false,
        }
    }

    /// How much it says, beside another one that does not exclude it.
    pub(super) fn detail(self) -> u8 {
        match self {
            Self::Absent | Self::RowEffect(..) => 0,
            Self::Value(_) => 1,
            Self::Live(_) | Self::Mark(_) => 2,
        }
    }

    /// Whether everything that this allows, the other allows too.
    pub(super) fn implies(self, other: Self) -> bool {
        match (self, other) {
            (Self::Live(value) | Self::Mark(value), Self::Value(other)) => value == other,
            (Self::Mark(_), Self::Absent) => true,
            (Self::Value(ValueId::NIL), Self::Absent) => true,
            _ => self == other,
        }
    }

    /// Whether nothing can be both, in a history whose deletes leave marks or not.
    pub(super) fn excludes(self, other: Self, has_marks: bool) -> bool {
        let is_row = |observed: Self| matches!(observed, Self::Live(_));
        let is_gone = |observed: Self| matches!(observed, Self::Absent | Self::Mark(_));
        match (self, other) {
            _ if is_row(self) && is_gone(other) || is_gone(self) && is_row(other) => true,
            // What is not there may have left a mark.
            (Self::Absent, _) | (_, Self::Absent) if has_marks => false,
            _ => self.value() != other.value(),
        }
    }
}
