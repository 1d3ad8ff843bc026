//! Arbitrary bytes as histories: an error or a history that keeps its meaning.
//!
//! A history that was read is looked through for findings and written in the native format; what that gives is read
//! and written once more, and has to be the same text.

use formats::{Format, ReadOptions, WriteOptions, read_bytes, write_to};
use history::{History, Summary};
use index::Index;

/// The most memory a history may take: more than the fuzzer's inputs can justify, less than its own limit.
const MEMORY_LIMIT: u64 = 256 << 20;

/// Reads bytes as one format.
pub fn read_as(format: Format, bytes: &[u8]) {
    check(bytes, &options().with_format(format));
}

/// Reads bytes as whatever they look like.
pub fn read_as_detected(bytes: &[u8]) {
    check(bytes, &options());
}

fn options() -> ReadOptions {
    ReadOptions::default().with_memory_limit(MEMORY_LIMIT)
}

fn check(bytes: &[u8], options: &ReadOptions) {
    match read_bytes("input", bytes, options) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(loaded) => check_history(&loaded.history),
    }
}

fn check_history(history: &History) {
    for finding in Index::of(history).findings() {
        assert!(!finding.sentence(history).is_empty());
    }
    let native = native(history);
    let back = read_bytes("native", &native, &ReadOptions::default().with_format(Format::Native));
    let back = back.expect("what is written natively is read").history;
    assert_eq!(Summary::of(&back), Summary::of(history));
    assert_eq!(native_text(&back), String::from_utf8_lossy(&native));
}

fn native(history: &History) -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = WriteOptions::default();
    write_to(history, Format::Native, &mut bytes, &options).expect("the native format holds everything");
    bytes
}

fn native_text(history: &History) -> String {
    String::from_utf8_lossy(&native(history)).into_owned()
}
