//! The language of isolation levels, the standard levels as text, and their reference semantics.
//!
//! A level is text ([`Spec::parse`], [`library::level`]); what it means for a history is decided by trying every
//! witness ([`oracle::holds`]). Engines are tested like this:
//!
//! ```
//! use isoscope_spec::{SmallHistory, library, oracle};
//!
//! let level = library::level("session-serializable").expect("a shipped level");
//! let write_skew = SmallHistory::parse("
//!     a: r(x)=0 r(y)=0 w(x)=1
//!     b: r(x)=0 r(y)=0 w(y)=1
//! ").unwrap();
//! assert!(!oracle::holds(&write_skew, level));
//! assert!(oracle::holds(&write_skew, library::level("snapshot-isolation").unwrap()));
//! ```
//!
//! A recorded history becomes a small one with [`SmallHistory::from_history`]. [`oracle::decide`] also gives the witness;
//! [`ground::decide`] answers the same by a solver, with the witness or the demands that contradict one another, and is
//! the way to decide a user's own level. [`Level::normal_form`] finds "one order and what is visible" in a definition of
//! either framework.
//!
//! The crate knows levels and small histories; it knows no engine, reads no file and never looks at a clock.

mod ast;
mod bounds;
mod check;
mod check_binary;
pub mod circuit;
mod closed;
mod convert;
mod core;
pub mod dense;
mod edges;
mod error;
pub mod facts;
mod forward;
pub mod ground;
mod grounding;
mod grow;
mod implies;
mod judge;
mod lexer;
pub mod library;
mod load;
mod matrix;
mod names;
mod normal;
mod normalize;
pub mod oracle;
mod parser;
pub mod recorded;
pub mod sat;
mod simplify;
pub mod small;
mod vocabulary;

pub use crate::core::{Base, Formula, Framework, Level, Rel, Sort, Var};
pub use convert::{ConvertError, unwritten_read, unwritten_read_by};
pub use error::{SourceFile, SpecError, SpecErrorKind};
pub use grounding::total_order;
pub use implies::Implications;
pub use judge::{Judged, judge};
pub use load::Spec;
pub use normal::edge;
pub use small::{Outcome, SmallHistory, SmallTimes, SmallTxn};
pub use vocabulary::{WORDS, Word};
