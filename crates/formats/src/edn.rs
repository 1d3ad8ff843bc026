//! EDN, and JSON as a dialect of it, scanned from a window of bytes.
//!
//! A Jepsen history is mostly text that is passed over (times, indices, the values of invocations), so the scanner
//! builds nothing unless asked: [`Scanner::skip_form`] only counts brackets. Nothing recurses deeper than
//! [`MAX_DEPTH`], whatever the input.
//!
//! In JSON, commas and colons are blanks, as commas are in EDN; everything else that EDN has beyond JSON is refused.

mod print;
mod scanner;
mod values;

pub(crate) use print::print_datum;
pub(crate) use scanner::{Scanner, Stop, Syntax};

/// How deep brackets may stand inside each other in a key or a value of any text format, so that no input can make
/// the recursion over it overflow the stack.
pub(crate) const MAX_DEPTH: usize = 128;

#[cfg(test)]
mod tests;
