//! One module for each command: its flags, and what it does.

pub mod anomalies;
pub mod batch;
pub mod certify;
pub mod check;
pub mod compare;
pub mod completions;
pub mod convert;
pub mod demo;
pub mod diff;
pub mod elle;
mod elle_folder;
pub mod explain;
pub mod generate;
pub mod levels;
pub mod man;
pub mod probe;
pub mod run;
pub mod shrink;
pub mod stats;
pub mod synth;
pub mod watch;
