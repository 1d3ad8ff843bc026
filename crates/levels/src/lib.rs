//! The isolation levels that isoscope knows, in one place.
//!
//! [`LevelId`] is the exhaustive type: the name, the text (from `spec`), the engine (a `certify::Level`), the lattice,
//! the examples and the findings that a level forbids are all functions of it, each with a `match` that does not compile
//! if a level is forgotten. No other crate compares the names of levels.

mod examples;
mod find;
mod forbids;
mod id;
mod lattice;
mod phrase;

pub use examples::{Example, Sample};
pub use find::{UnknownLevel, canonical_name};
pub use id::LevelId;
