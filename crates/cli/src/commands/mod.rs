//! One module for each command: its flags, and what it does.

pub mod certify;
pub mod check;
pub mod compare;
pub mod convert;
pub mod demo;
pub mod generate;
pub mod levels;
pub mod probe;
pub mod run;
pub mod stats;
pub mod synth;
