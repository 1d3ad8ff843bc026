//! Strict serializability of histories with times, by key and by predicate: the workloads of the paper on Vbox.
//!
//! The recordings of that paper are not public, so its workloads are generated here: 10,000 transactions each of TPC-C,
//! a social network, and BlindW in four mixes, one of them by predicate; and BlindW-WR with ten times as many.

use super::Bench;
use super::history::Source;
use super::levels::{Case, decide};
use crate::run::Done;

const LEVEL: &str = "strict-serializable";
const AIM: &str = "150 ms, 60 MB";

const PREDICATES: [Case; 8] = [
    Case(Source::Generated(&["--workload", "tpcc"]), LEVEL, AIM),
    Case(Source::Generated(&["--workload", "twitter"]), LEVEL, AIM),
    Case(Source::Generated(&["--workload", "blindw-rh"]), LEVEL, AIM),
    Case(Source::Generated(&["--workload", "blindw-wr"]), LEVEL, AIM),
    Case(Source::Generated(&["--workload", "blindw-wh"]), LEVEL, AIM),
    Case(
        Source::Generated(&["--workload", "blindw-wr", "--transactions", "100000"]),
        LEVEL,
        "12 times as long as 10,000",
    ),
    Case(Source::Generated(&["--workload", "blindw-keys"]), LEVEL, "1.5 s"),
    Case(Source::Generated(&["--workload", "blindw-pred"]), LEVEL, "1.5 s"),
];

/// `cargo xtask bench predicates`.
pub fn run(bench: &Bench) -> Done {
    decide(bench, &PREDICATES)
}
