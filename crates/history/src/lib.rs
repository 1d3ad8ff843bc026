//! What clients observed: sessions, transactions, operations, outcomes and times, in columns.
//!
//! A [`History`] is built once with a [`Builder`] and never changes afterwards.
//! A [`Predicate`] says which rows a `WHERE` is true of.
//!
//! The crate knows nothing of files and nothing of levels, and derives nothing: that is the crate `index`.

mod builder;
mod datum;
mod ids;
mod initial;
mod intern;
mod model;
mod note;
mod ops;
mod piece;
mod predicate;
mod summary;
mod times;
mod visible;

pub use builder::{Builder, Joined};
pub use datum::Datum;
pub use ids::{KeyId, OpId, SessionId, TxnId, ValueId};
pub use initial::{InitialDefault, InitialState};
pub use intern::{Keys, ShapeId, Values};
pub use model::{History, Outcome, RegisterOp};
pub use note::Note;
pub use ops::{Bound, Change, Op, PredicateRead, PredicateWrite, RangeRead, Row};
pub use piece::{Piece, PieceIds};
pub use predicate::{Interval, Predicate, PredicateError, RecordedPredicate, Subject};
pub use summary::Summary;
pub use times::{Backwards, Clock, Moment, OpTimes, TxnTimes};
pub use visible::{is_steering, visible};
