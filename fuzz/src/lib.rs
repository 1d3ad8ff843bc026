//! What every fuzz target checks, one module for each kind of input.
//!
//! `cargo xtask fuzz` builds the targets with AddressSanitizer on the nightly toolchain and runs them from the seeds in
//! `fuzz/seeds`; `cargo +nightly fuzz run NAME` does too, where cargo-fuzz is installed.

pub mod certificates;
pub mod engine;
pub mod exec;
pub mod levels;
pub mod predicates;
mod readers;

pub use readers::{read_as, read_as_detected};
