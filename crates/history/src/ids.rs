//! One type for each kind of index, so that a key can never be taken for a value.

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a column.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of a column's row; columns hold fewer than 2^32 rows.
            #[inline]
            pub fn from_index(index: usize) -> Self {
                debug_assert!(index < u32::MAX as usize);
                Self(index as u32)
            }
        }
    };
}

dense_id!(
    /// A session, numbered from 0 in the order of the input.
    SessionId
);
dense_id!(
    /// A transaction, numbered from 0; the transactions of a session are consecutive and in session order.
    TxnId
);
dense_id!(
    /// An operation, numbered from 0; the operations of a transaction are consecutive and in program order.
    OpId
);
dense_id!(
    /// A key, numbered from 0 in order of first appearance.
    KeyId
);

/// A value. Equal ids are equal values.
///
/// Integers from 0 to 2^31 - 1, which are nearly all values of nearly all recordings, are their own id: they need
/// neither a table nor a look-up. Any other value has the top bit set. The next bit tells rows and lists of integers from
/// everything else, and the rest is the place in [`crate::Values`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ValueId(pub u32);

/// Where a value is kept.
pub(crate) enum Place {
    /// Nowhere: the id is the integer.
    Int(i64),
    /// In the table of all kinds of things.
    Table(usize),
    /// Among the rows and lists of integers.
    Row(u32),
}

impl ValueId {
    const TABLE_BIT: u32 = 1 << 31;
    pub(crate) const ROW_BIT: u32 = 1 << 30;

    /// The absent value: null, nil, a key that does not exist.
    pub const NIL: Self = Self(Self::TABLE_BIT);

    /// The id of a small integer, or `None` if it has to be interned.
    #[inline]
    pub fn of_small_int(int: i64) -> Option<Self> {
        (0..i64::from(Self::TABLE_BIT)).contains(&int).then_some(Self(int as u32))
    }

    /// The small integer this id stands for, if it stands for one.
    #[inline]
    pub fn small_int(self) -> Option<u32> {
        (self.0 & Self::TABLE_BIT == 0).then_some(self.0)
    }

    /// The place among the rows and lists of integers, or among everything else that is no small integer.
    #[inline]
    pub fn table_place(self) -> usize {
        (self.0 & !(Self::TABLE_BIT | Self::ROW_BIT)) as usize
    }

    /// Whether the id is the integer itself.
    #[inline]
    pub(crate) fn is_small_int(self) -> bool {
        self.0 & Self::TABLE_BIT == 0
    }

    /// Whether it is a row or a list of integers, if it is no small integer: these have places of their own.
    pub fn is_flat(self) -> bool {
        self.0 & Self::ROW_BIT != 0
    }

    pub(crate) fn of_table(index: u32) -> Self {
        Self(index | Self::TABLE_BIT)
    }

    pub(crate) fn of_row(number: u32) -> Self {
        Self(number | Self::TABLE_BIT | Self::ROW_BIT)
    }

    pub(crate) fn place(self) -> Place {
        let number = self.0 & !(Self::TABLE_BIT | Self::ROW_BIT);
        match (self.0 & Self::TABLE_BIT != 0, self.0 & Self::ROW_BIT != 0) {
            (false, _) => Place::Int(i64::from(self.0)),
            (true, false) => Place::Table(number as usize),
            (true, true) => Place::Row(number),
        }
    }
}
