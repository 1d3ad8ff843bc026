//! The workloads, a file each.

pub mod bank;
pub mod planned;
pub mod predicates;
pub mod rooms;
pub mod rubis;
pub mod tpcc;
pub mod twitter;
