//! Chains, reachability, incremental topological order, components and shortest cycles of plain graphs.
