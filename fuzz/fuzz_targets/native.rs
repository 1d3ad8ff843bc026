//! Arbitrary bytes as native.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read_as(formats::Format::Native, bytes));
