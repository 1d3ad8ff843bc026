//! Workloads and databases to record histories from; today the simulated one.
