//! A scanner for EDN.

/// How deep brackets may stand inside each other in a key or a value of any text format, so that no input can make
/// the recursion over it overflow the stack.
pub(crate) const MAX_DEPTH: usize = 128;
