//! Follows a recording while it grows, in memory that does not grow with it.
//!
//! A [`Window`] holds the transactions that still matter. Again and again they become an ordinary small history
//! ([`Window::build`]), which any engine can decide; if it holds, [`Window::settle`] forgets what no transaction that is
//! still to come can contradict, and keeps its last versions as the initial state of the next small history.
//! [`Frontier`] says how far a recording is complete, and [`Source`] reads a file that others still write to.
//!
//! The crate decides nothing: it knows two levels, `strict-serializable` and `strong-si`, by what they say about time.

mod bits;
mod events;
mod fates;
mod frontier;
mod graph;
mod guess;
mod lists;
mod row;
mod settle;
mod state;
mod tail;
mod window;

pub use frontier::Frontier;
pub use row::{Kind, Operation, Row};
pub use settle::Known;
pub use tail::{Next, Source};
pub use window::{Built, Refused, Settled, Window};
