//! Arbitrary bytes as dbcop hist.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read_as(formats::Format::DbcopHist, bytes));
