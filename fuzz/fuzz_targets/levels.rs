//! Arbitrary text as definitions of levels.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::levels::parse(bytes));
