//! What a recording says beside transactions: faults that were caused on purpose, and other remarks.

/// A remark about a moment of the recording; no verdict depends on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// When it was made, in the unit of the history's clock.
    pub time: i64,
    /// What it says.
    pub text: String,
}
