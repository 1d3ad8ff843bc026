//! Arbitrary bytes as whatever they look like, compressed or not.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read_as_detected(bytes));
