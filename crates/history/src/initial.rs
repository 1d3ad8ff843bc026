//! What the keys held before anybody wrote.

use crate::{KeyId, ValueId};

/// The state before every transaction: one value for each key.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct InitialState {
    /// What holds for a key that is not listed.
    pub default: InitialDefault,
    /// Keys whose initial value was recorded, sorted by key and without repeats.
    pub recorded: Vec<(KeyId, ValueId)>,
}

/// The initial value of keys for which none was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialDefault {
    /// This value; [`ValueId::NIL`] for absent.
    Value(ValueId),
    /// Unknown, but one value for each key, and none that anybody wrote to it.
    UnknownButOne,
}

impl Default for InitialDefault {
    fn default() -> Self {
        Self::Value(ValueId::NIL)
    }
}

impl InitialState {
    /// Every key starts with this value.
    pub fn all(value: ValueId) -> Self {
        Self { default: InitialDefault::Value(value), recorded: Vec::new() }
    }

    /// Every key starts with some value that no transaction wrote.
    pub fn unknown() -> Self {
        Self { default: InitialDefault::UnknownButOne, recorded: Vec::new() }
    }

    /// The initial value of a key, or `None` if it is unknown.
    #[inline]
    pub fn value_of(&self, key: KeyId) -> Option<ValueId> {
        // Where every key is recorded, each is at its own place.
        match self.recorded.get(key.index()) {
            Some(&(recorded, value)) if recorded == key => Some(value),
            _ => self.find(key),
        }
    }

    fn find(&self, key: KeyId) -> Option<ValueId> {
        if let Ok(place) = self.recorded.binary_search_by_key(&key, |&(key, _)| key) {
            return Some(self.recorded[place].1);
        }
        match self.default {
            InitialDefault::Value(value) => Some(value),
            InitialDefault::UnknownButOne => None,
        }
    }
}
