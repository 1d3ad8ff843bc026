//! Arbitrary bytes as dbcop bincode.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read_as(formats::Format::DbcopBincode, bytes));
