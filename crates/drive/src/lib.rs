//! Workloads and databases to record histories from; today the simulated one.
//!
//! [`simulate`] runs many sessions against an in-process multi-version store under a simulated clock and gives back
//! what the clients saw; [`plant`] puts one anomaly at a random place into a history that is otherwise left alone.
//! Both are pure: the same configuration and seed give the same history, byte for byte.

pub mod plant;
pub mod random;
pub mod simulate;
pub mod zipf;
