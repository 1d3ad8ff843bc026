//! One operation of a transaction, as the client saw it.

use crate::{Datum, KeyId, RecordedPredicate, ValueId};

/// An operation with what it returned.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Op<'h> {
    /// Read one key; `None` if the client does not know what it saw.
    Read {
        /// The key read.
        key: KeyId,
        /// What it held; [`ValueId::NIL`] if it was absent.
        value: Option<ValueId>,
    },
    /// Read a list to which others append; `None` if the client does not know what it saw.
    ReadList {
        /// The key read.
        key: KeyId,
        /// The elements, oldest first.
        list: Option<&'h [ValueId]>,
    },
    /// Write one key.
    Write {
        /// The key written.
        key: KeyId,
        /// What it holds from now on.
        value: ValueId,
    },
    /// Append one element to a list.
    Append {
        /// The list.
        key: KeyId,
        /// The element.
        value: ValueId,
    },
    /// Insert a key that did not exist.
    Insert {
        /// The key inserted.
        key: KeyId,
        /// What it holds from now on.
        value: ValueId,
    },
    /// Delete a key.
    Delete {
        /// The key deleted.
        key: KeyId,
        /// The mark that the recorder left in its place, if it leaves marks.
        tombstone: Option<ValueId>,
    },
    /// Read all keys between two bounds.
    RangeRead(&'h RangeRead),
    /// Read all rows that satisfy a predicate.
    PredicateRead(&'h PredicateRead),
    /// Change all rows that satisfy a predicate.
    PredicateWrite(&'h PredicateWrite),
}

impl Op<'_> {
    /// The key, for an operation on one key.
    #[inline]
    pub fn key(&self) -> Option<KeyId> {
        match *self {
            Self::Read { key, .. }
            | Self::ReadList { key, .. }
            | Self::Write { key, .. }
            | Self::Append { key, .. }
            | Self::Insert { key, .. }
            | Self::Delete { key, .. } => Some(key),
            Self::RangeRead(_) | Self::PredicateRead(_) | Self::PredicateWrite(_) => None,
        }
    }

    /// The value that was read from or written to one key, if it is one value and known.
    pub fn value(&self) -> Option<ValueId> {
        match *self {
            Self::Read { value, .. } => value,
            _ => self.written(),
        }
    }

    /// The value that its key holds after it, for a write of one key; [`ValueId::NIL`] after an unmarked delete.
    pub fn written(&self) -> Option<ValueId> {
        match *self {
            Self::Write { value, .. } | Self::Insert { value, .. } => Some(value),
            Self::Delete { tombstone, .. } => Some(tombstone.unwrap_or(ValueId::NIL)),
            _ => None,
        }
    }

    /// The element that it appends to a list.
    pub fn value_appended(&self) -> Option<ValueId> {
        match *self {
            Self::Append { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Whether it only observes.
    pub fn is_read(&self) -> bool {
        matches!(
            self,
            Self::Read { .. } | Self::ReadList { .. } | Self::RangeRead(_) | Self::PredicateRead(_)
        )
    }
}

/// An end of a range of keys.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Bound {
    /// No limit on this side.
    #[default]
    Unbounded,
    /// Up to and with this key.
    Included(Datum),
    /// Up to but without this key.
    Excluded(Datum),
}

/// A row that a range or predicate read returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Its key.
    pub key: KeyId,
    /// What it held, or the tombstone.
    pub value: ValueId,
    /// Whether the recorder returned it as deleted.
    pub is_dead: bool,
}

/// A read of all keys between two bounds.
#[derive(Clone, PartialEq, Debug)]
pub struct RangeRead {
    /// The lower bound.
    pub from: Bound,
    /// The upper bound.
    pub to: Bound,
    /// What was returned, in the order of the answer; `None` if the client does not know.
    pub rows: Option<Vec<Row>>,
}

impl RangeRead {
    /// Whether a key is between the bounds.
    pub fn contains(&self, key: &Datum) -> bool {
        let is_after = match &self.from {
            Bound::Unbounded => true,
            Bound::Included(from) => from <= key,
            Bound::Excluded(from) => from < key,
        };
        let is_before = match &self.to {
            Bound::Unbounded => true,
            Bound::Included(to) => key <= to,
            Bound::Excluded(to) => key < to,
        };
        is_after && is_before
    }
}

/// A read of all rows that satisfy a predicate.
#[derive(Clone, PartialEq, Debug)]
pub struct PredicateRead {
    /// The predicate.
    pub predicate: RecordedPredicate,
    /// What was returned; `None` if the client does not know.
    pub rows: Option<Vec<Row>>,
}

/// A write of all rows that satisfy a predicate.
#[derive(Clone, PartialEq, Debug)]
pub struct PredicateWrite {
    /// The predicate.
    pub predicate: RecordedPredicate,
    /// What happens to the rows.
    pub change: Change,
    /// How many rows the database said it changed.
    pub row_count: Option<u64>,
    /// Which rows the database said it changed, as `RETURNING` tells.
    pub keys: Option<Vec<KeyId>>,
    /// Whether the read by predicate just before it is a part of the same statement: it returned the rows that this
    /// statement changed, as they were before.
    pub is_returning: bool,
}

/// What a predicate write does to a row.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// Sets it (a scalar, or a row of the columns that change).
    Set(Datum),
    /// Deletes it.
    Delete,
}
