//! What every engine derives from a history before it decides anything.
//!
//! [`Index`] lists the external reads, the final writes, and for each read the writes that it may have come from.
//! [`RowEffects`] says what a transaction with predicates may have done to each row.
//! A [`Finding`] is a read that no order of transactions explains.
//!
//! The checker (`certify`) and the oracles (`testkit`, `spec`) do not use [`Index`]: they derive the same facts in their
//! own, slower way, so that an error here does not go unnoticed.

mod findings;
#[allow(clippy::module_inception)]
mod index;
mod row_effects;

pub use findings::{Finding, FindingKind};
pub use index::{ExternalRead, FinalWrite, Index, Observed, SourceClass, Sources, Telling, VersionOrder};
pub use row_effects::{
    Alternative, Content, RowCount, RowEffect, RowEffects, Scope, first_by_predicate, has_predicates,
};
