//! What a caller can ask of readers and writers.

use crate::Format;

/// How to read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadOptions {
    /// The format; `None` to find it out from the content.
    pub format: Option<Format>,
    /// The most bytes the model may take on the heap.
    pub memory_limit: u64,
    /// The most bytes the input may have after decompression. Never more than [`ReadOptions::LARGEST_INPUT`].
    pub input_limit: u64,
    /// The most bytes that one line may have, in formats of lines.
    pub line_limit: u64,
    /// How many times as large as its compressed form an input may be, once it has [`ReadOptions::SMALL_INPUT`] bytes.
    pub ratio_limit: u64,
    /// Takes a transaction that looks like the initial state as the initial state: the only transaction of its
    /// session, or the first of the first one, that writes without reading and that no session could run before.
    /// For formats whose converters leave it among the ordinary ones (dbcop).
    pub initial_txn: bool,
    /// How many threads may read a large file at the same time; the history does not depend on it.
    pub threads: usize,
}

impl ReadOptions {
    /// Above this an input could hold more operations or list elements than the model can number (2^32, of two bytes
    /// at least).
    pub const LARGEST_INPUT: u64 = (1 << 33) - 1;

    /// The longest line of text by default: a transaction of a million operations has fewer bytes.
    pub const LONGEST_LINE: u64 = 64 << 20;

    /// The highest ratio of decompression by default. Recordings of workloads reach 30.
    pub const HIGHEST_RATIO: u64 = 2_000;

    /// An input up to this size may be compressed as much as it can be.
    pub const SMALL_INPUT: u64 = 64 << 20;

    /// Limits the memory, and with it the size of the input, so that a compressed bomb ends early.
    #[must_use]
    pub fn with_memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self.input_limit = bytes.saturating_mul(4).min(Self::LARGEST_INPUT);
        self
    }

    /// Allows an input of this many bytes, however long its lines are and however well it was compressed.
    #[must_use]
    pub fn with_input_limit(mut self, bytes: u64) -> Self {
        self.input_limit = bytes.min(Self::LARGEST_INPUT);
        self.line_limit = bytes;
        self.ratio_limit = u64::MAX;
        self
    }

    /// Takes the input to be of this format.
    #[must_use]
    pub fn with_format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            memory_limit: u64::MAX,
            input_limit: Self::LARGEST_INPUT,
            line_limit: Self::LONGEST_LINE,
            ratio_limit: Self::HIGHEST_RATIO,
            initial_txn: false,
            threads: 1,
        }
    }
}

/// How to write.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WriteOptions {
    /// Leaves out, with a warning, what the format cannot express even if a verdict could depend on it; otherwise
    /// that is an error. What no verdict depends on (names, say) is left out with a warning in any case.
    pub lossy: bool,
}
