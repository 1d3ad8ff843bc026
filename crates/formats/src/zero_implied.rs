//! The initial state of formats in which 0 is implied: a key starts with 0 unless a transaction writes 0 to it.
//!
//! Where one does, 0 is an ordinary value and the key is absent at first. Some of these formats also have a word
//! for "the initial value", which then means whichever of the two holds for the key; that is known at the end only,
//! so such reads are remembered.

use history::{Builder, History, InitialState, Joined, KeyId, OpId, ValueId};

const ZERO: ValueId = ValueId(0);

/// Watches the operations for what they say about the initial state.
#[derive(Debug, Default)]
pub(crate) struct ZeroImplied {
    /// For each key, whether a transaction writes 0 to it; short where none does.
    is_zero_written: Vec<bool>,
    initial_reads: Vec<(OpId, KeyId)>,
}

impl ZeroImplied {
    /// Adds a write.
    #[inline]
    pub fn write(&mut self, builder: &mut Builder, key: KeyId, value: ValueId) {
        if value == ZERO {
            self.note_zero(key);
        }
        builder.write(key, value);
    }

    fn note_zero(&mut self, key: KeyId) {
        let length = self.is_zero_written.len().max(key.index() + 1);
        self.is_zero_written.resize(length, false);
        self.is_zero_written[key.index()] = true;
    }

    /// Adds a read of "the initial value".
    pub fn read_initial(&mut self, builder: &mut Builder, key: KeyId) {
        let op = builder.read(key, ZERO);
        self.initial_reads.push((op, key));
    }

    /// Adds what a later part of the file says, whose keys and operations have the ids of the whole by now.
    pub fn join(&mut self, part: Self, joined: &Joined) {
        for (place, _) in part.is_zero_written.iter().enumerate().filter(|(_, is_written)| **is_written) {
            self.note_zero(joined.keys[place]);
        }
        let moved =
            |(op, key): (OpId, KeyId)| (OpId(op.0 + joined.ops_before as u32), joined.keys[key.index()]);
        self.initial_reads.extend(part.initial_reads.into_iter().map(moved));
    }

    /// The history with its initial state.
    pub fn finish(self, mut builder: Builder) -> History {
        let is_zero_written = |key: KeyId| self.is_zero_written.get(key.index()).copied().unwrap_or(false);
        for &(op, key) in &self.initial_reads {
            if is_zero_written(key) {
                builder.replace_value(op, ValueId::NIL);
            }
        }
        let keys = (0..self.is_zero_written.len()).map(KeyId::from_index);
        builder.initial = InitialState::all(ZERO);
        builder.initial.recorded =
            keys.filter(|&key| is_zero_written(key)).map(|key| (key, ValueId::NIL)).collect();
        builder.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use history::Outcome;
    use index::Index;

    #[test]
    fn zero_is_initial_only_where_nobody_writes_it() {
        let mut builder = Builder::new();
        let mut zero = ZeroImplied::default();
        let (x, y) = (builder.keys.intern("x".into()), builder.keys.intern("y".into()));
        let session = builder.session();
        builder.begin(session);
        zero.read_initial(&mut builder, x);
        zero.read_initial(&mut builder, y);
        builder.end(Outcome::Committed);
        builder.begin(session);
        zero.write(&mut builder, y, ZERO);
        builder.end(Outcome::Committed);
        let history = zero.finish(builder);
        assert_eq!(history.initial().value_of(x), Some(ZERO));
        assert_eq!(history.initial().value_of(y), Some(ValueId::NIL));
        assert!(Index::of(&history).findings().is_empty());
    }
}
