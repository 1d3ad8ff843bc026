//! The last versions of what is settled: the initial state of the next small history.

use history::{Datum, InitialDefault, KeyId, Keys};

/// What each key holds after everything that is settled.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The keys by the numbers that rows use.
    pub keys: Keys,
    /// What a key holds that is not listed; nil if it is absent.
    pub default: Datum,
    held: Vec<Option<Datum>>,
}

impl Default for State {
    fn default() -> Self {
        Self { keys: Keys::default(), default: Datum::Nil, held: Vec::new() }
    }
}

impl State {
    /// The number of a key.
    #[inline]
    pub fn key(&mut self, key: &Datum) -> u32 {
        match *key {
            Datum::Int(int) => self.keys.intern_int(int).0,
            ref other => self.keys.get(other).unwrap_or_else(|| self.keys.intern(other.clone())).0,
        }
    }

    /// Whether a key holds something of its own.
    pub fn own(&self, key: u32) -> Option<&Datum> {
        self.held.get(key as usize)?.as_ref()
    }

    /// A key holds this from now on.
    pub fn set(&mut self, key: u32, value: Datum) {
        if key as usize >= self.held.len() {
            self.held.resize(key as usize + 1, None);
        }
        self.held[key as usize] = Some(value);
    }

    /// A key holds nothing of its own any more.
    pub fn clear(&mut self, key: u32) {
        if let Some(held) = self.held.get_mut(key as usize) {
            *held = None;
        }
    }

    /// All keys that hold something of their own.
    pub fn iter(&self) -> impl Iterator<Item = (&Datum, &Datum)> {
        let held = self.held.iter().enumerate();
        held.filter_map(|(key, value)| Some((self.keys.original(KeyId::from_index(key)), value.as_ref()?)))
    }

    /// The default as a history states it.
    pub fn default_in(&self, values: &mut history::Values) -> InitialDefault {
        InitialDefault::Value(values.intern(self.default.clone()))
    }
}
