//! Arbitrary bytes as lines of the exec protocol.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::exec::read(bytes));
