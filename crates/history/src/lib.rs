//! What clients observed: sessions, transactions, operations, outcomes and times, in columns.
//!
//! A [`History`] is built once with a [`Builder`] and never changes afterwards.
//! [`Index`] derives from it what every engine starts from: the external reads, the final writes, and for each read
//! the writes it may have come from; what no explanation can repair is a [`Finding`].
//!
//! The crate knows nothing of files and nothing of levels.

mod builder;
mod datum;
mod findings;
mod ids;
mod index;
mod initial;
mod intern;
mod model;
mod note;
mod ops;
mod predicate;
mod stories;
mod summary;
mod times;
mod visible;

pub use builder::Builder;
pub use datum::Datum;
pub use findings::{Finding, FindingKind};
pub use ids::{KeyId, OpId, SessionId, TxnId, ValueId};
pub use index::{ExternalRead, FinalWrite, Index, Observed, SourceClass, Sources, Telling, VersionOrder};
pub use initial::{InitialDefault, InitialState};
pub use intern::{Keys, ShapeId, Values};
pub use model::{History, Outcome};
pub use note::Note;
pub use ops::{Bound, Change, Op, PredicateRead, PredicateWrite, RangeRead, Row};
pub use predicate::{Interval, Predicate, PredicateError, Subject};
pub use stories::{
    Alternative, Content, RowCount, Scope, Stories, Story, first_by_predicate, has_predicates,
};
pub use summary::Summary;
pub use times::{Backwards, Clock, Moment, OpTimes, TxnTimes};
pub use visible::{is_steering, visible};
