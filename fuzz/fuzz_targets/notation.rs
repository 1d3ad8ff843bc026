//! Arbitrary bytes as notation.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read_as(formats::Format::Notation, bytes));
