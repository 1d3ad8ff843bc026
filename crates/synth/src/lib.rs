//! Histories from levels, within a scope; comparison of levels.
