//! Damaged files: every format cut at every byte, and with every byte changed, gives an error or a history.
//!
//! A counting allocator watches that no damaged length makes a reader ask for memory out of proportion.
#![allow(unsafe_code)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use history::History;
use isoscope_formats::{Format, ReadOptions, WriteOptions, detect, read_bytes, read_from, write_to};

/// What the process may hold while it reads files of a few hundred bytes.
const MOST_BYTES: usize = 64 << 20;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged; the counters do not touch the memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Reads as the format and as whatever it looks like; a damaged file may be either.
fn try_read(format: Format, bytes: &[u8]) {
    let outcome = read_bytes("damaged", bytes, &ReadOptions::default().with_format(format));
    match outcome {
        Err(error) => {
            let text = error.to_string();
            assert!(text.starts_with("damaged") && text.len() < 600, "{text}");
        }
        Ok(loaded) => check_native_round_trip(&loaded.history),
    }
    if detect(bytes) != Some(format) {
        let _ = read_bytes("damaged", bytes, &ReadOptions::default());
    }
    let peak = PEAK.load(Ordering::Relaxed);
    assert!(peak < MOST_BYTES, "{format} held {peak} bytes for a file of {}", bytes.len());
}

/// Whatever was read can be written natively and comes back the same.
fn check_native_round_trip(history: &History) {
    let written = native(history);
    let back = read_bytes("native", &written, &ReadOptions::default().with_format(Format::Native));
    let back = back.unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(&written)));
    assert_eq!(native(&back.history), written, "{}", String::from_utf8_lossy(&written));
}

fn native(history: &History) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_to(history, Format::Native, &mut bytes, &WriteOptions::default()).unwrap();
    bytes
}

/// Each byte changed in a few ways: single bits, all bits, and values that mean something to some format.
fn flip_every_byte(bytes: &[u8], mut check: impl FnMut(&[u8])) {
    let mut damaged = bytes.to_vec();
    for place in 0..bytes.len() {
        for mask in
            [0x01, 0x02, 0x10, 0x20, 0x80, 0xff, bytes[place], bytes[place] ^ b'9', bytes[place] ^ b'"']
        {
            damaged[place] = bytes[place] ^ mask;
            check(&damaged);
        }
        damaged[place] = bytes[place];
    }
}

#[test]
fn whole_samples_are_read_and_recognised() {
    for (format, bytes) in common::samples() {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let loaded = read_bytes("sample", &bytes, &ReadOptions::default());
        let loaded = loaded.unwrap_or_else(|error| panic!("{format}: {error}\n{text}"));
        assert_eq!(loaded.format, format, "{text}");
        assert!(loaded.history.txn_count() > 0, "{format}: {text}");
    }
}

#[test]
fn a_file_that_comes_byte_by_byte_is_the_same_history() {
    struct Trickle<'b>(&'b [u8]);
    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let one = self.0.len().min(buffer.len()).min(1);
            self.0.split_at(one).0.iter().zip(buffer).for_each(|(&from, to)| *to = from);
            self.0 = &self.0[one..];
            Ok(one)
        }
    }
    for (format, bytes) in common::samples() {
        let whole = read_bytes("whole", &bytes, &ReadOptions::default()).unwrap();
        let trickled = read_from("trickled", Trickle(&bytes), &ReadOptions::default()).unwrap();
        assert_eq!(native(&trickled.history), native(&whole.history), "{format}");
    }
}

#[test]
fn a_byte_order_mark_and_carriage_returns_change_nothing() {
    let is_text = |format: &Format| !matches!(format, Format::DbcopBincode | Format::Cobra);
    for (format, bytes) in common::samples().into_iter().filter(|(format, _)| is_text(format)) {
        let text = String::from_utf8(bytes.clone()).unwrap();
        let marked = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        let plain = read_bytes("plain", &bytes, &ReadOptions::default()).unwrap();
        for options in [ReadOptions::default(), ReadOptions::default().with_format(format)] {
            let loaded = read_bytes("marked", marked.as_bytes(), &options)
                .unwrap_or_else(|error| panic!("{format}: {error}\n{marked}"));
            assert_eq!(loaded.format, format);
            assert_eq!(native(&loaded.history), native(&plain.history), "{format}");
        }
    }
}

#[test]
fn a_file_cut_at_any_byte_is_an_error_or_a_history() {
    for (format, bytes) in common::samples() {
        for length in 0..bytes.len() {
            try_read(format, &bytes[..length]);
        }
    }
}

#[test]
fn a_file_with_any_byte_changed_is_an_error_or_a_history() {
    for (format, bytes) in common::samples() {
        flip_every_byte(&bytes, |damaged| try_read(format, damaged));
    }
}

#[test]
fn a_damaged_compressed_file_is_an_error_or_a_history() {
    let (format, bytes) = common::samples().pop().unwrap();
    for compressed in [gzip(&bytes), zstd(&bytes)] {
        let whole = read_bytes("sample", &compressed, &ReadOptions::default()).unwrap();
        assert_eq!(whole.format, format);
        for length in 0..compressed.len() {
            try_read(format, &compressed[..length]);
        }
        flip_every_byte(&compressed, |damaged| try_read(format, damaged));
    }
}

#[test]
fn a_bomb_ends_at_the_limit() {
    let lines = b"w(1,1,1,1)\n".repeat(1 << 20);
    let options = ReadOptions::default().with_memory_limit(1 << 20);
    for bomb in [gzip(&lines), zstd(&lines)] {
        let error = read_bytes("bomb", &bomb, &options).unwrap_err();
        assert_eq!(error.kind(), isoscope_formats::ErrorKind::Limit, "{error}");
    }
    let long_line = gzip(&b"r".repeat(16 << 20));
    let error = read_bytes("bomb", &long_line, &options.with_format(Format::Polysi)).unwrap_err();
    assert_eq!(error.kind(), isoscope_formats::ErrorKind::Limit, "{error}");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 0).unwrap()
}
