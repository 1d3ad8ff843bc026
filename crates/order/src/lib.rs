//! Chains, reachability, incremental topological order, components and cheapest paths of plain graphs.
//!
//! Nodes are `u32` numbers from 0; the crate knows nothing of transactions.

mod chains;
mod components;
mod flat;
mod graph;
mod incremental;
pub mod parallel;
mod path;
mod reach;
mod rows;
mod topological;
mod waiting;

pub use chains::Chains;
pub use components::{Components, components};
pub use flat::Flat;
pub use graph::{Digraph, Edge, EdgeId};
pub use incremental::{IncrementalOrder, Inserted};
pub use path::{PathSearch, cheapest_cycle, shortest_cycle};
pub use reach::{Improved, Reach};
pub use topological::{late_order, topological_order, topological_order_by, topological_order_of};

/// The length of the longest chain for which the closure takes half the room.
pub const SHORT_CHAIN: u32 = rows::SHORT_CHAIN;

/// No node, no edge, no chain.
pub const NONE: u32 = u32::MAX;
