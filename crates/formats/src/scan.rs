//! (scan)
