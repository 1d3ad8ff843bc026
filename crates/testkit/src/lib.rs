//! Brute-force oracles, history generators and the corpus, for tests only.
//!
//! An engine is tested with one line: [`agree`] compares its verdict with the oracle's, has its certificate checked,
//! and on a disagreement gives the smallest history that still shows it, in the notation, ready to become a test.

mod agree;
pub mod corpus;
pub mod exhaustive;
pub mod generate;
pub mod generate_mixed;
pub mod generate_rows;
mod levels;
mod list_orders;
pub mod mutate;
pub mod oracle;
pub mod prove;
mod random;
pub mod reference;
mod shrink;
mod sketch;

pub use agree::{Claim, Disagreement, agree, agree_if_decided, assert_agrees, has_certificates};
pub use levels::with_levels;
pub use list_orders::ListOrders;
pub use random::Random;
pub use shrink::shrink;
pub use sketch::{Sketch, SketchOp, SketchRow, SketchTxn, What};
