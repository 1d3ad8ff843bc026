//! Arbitrary notation through the whole engine.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::engine::decide(bytes));
