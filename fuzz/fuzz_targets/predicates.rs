//! Arbitrary text as a predicate.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::predicates::parse(bytes));
