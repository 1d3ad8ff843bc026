//! CDCL modulo acyclicity that decides only what the current order violates.
