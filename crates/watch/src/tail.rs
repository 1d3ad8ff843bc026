//! Reads a file that others still write to.

use std::fmt;

/// A file that is followed.
#[derive(Debug)]
pub struct Tail;

/// Why a file cannot be followed.
#[derive(Debug)]
pub struct TailError;

impl fmt::Display for TailError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("tail")
    }
}
