//! A window on the input: decompressed bytes, a block at a time.
//!
//! Text readers take blocks of whole lines, binary readers take records; both parse slices, so nothing is copied or
//! allocated for each line. The window is 256 KiB, at first 16 KiB, and grows only when one line or record is
//! longer.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use history::Builder;

use crate::error::{Error, Place};
use crate::options::ReadOptions;

/// What to do about an input that is refused for its size.
const LIFT: &str = "--input-limit SIZE allows an input of that size whatever its form";

/// The size of the window at first: a small file costs no more.
const FIRST_WINDOW: usize = 16 << 10;

/// The usual size of the window.
const WINDOW: usize = 256 << 10;

/// The decompressed bytes of one file, with its name and where we are in it.
pub struct Source<'a> {
    file: String,
    reader: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
    /// What of the buffer was not consumed yet.
    start: usize,
    end: usize,
    /// What of the buffer belongs to the block that was handed out last.
    handed_out: usize,
    /// The offset in the input of the first byte of the buffer.
    buffer_offset: u64,
    /// Line breaks consumed so far.
    lines: u64,
    is_at_end: bool,
    input_limit: u64,
    line_limit: u64,
    ratio_limit: u64,
    memory_limit: u64,
    /// Bytes that were taken from the input before decompression, where it is compressed.
    compressed: Option<Arc<AtomicU64>>,
}

/// Whole lines of the input.
#[derive(Clone, Copy, Debug)]
pub struct Block<'s> {
    /// The lines with their line breaks; only the last of the input may lack one.
    pub bytes: &'s [u8],
    /// The number of the first line, from 1.
    pub first_line: u64,
    /// The name of the file.
    pub file: &'s str,
}

impl Block<'_> {
    /// The place of a byte of the block, as line and column.
    pub fn place(&self, index: usize) -> Place {
        let before = &self.bytes[..index.min(self.bytes.len())];
        let line = line_breaks(before);
        let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() as u64;
        Place::Column(self.first_line + line, column + 1)
    }

    /// An error at a byte of the block, showing the rest of its line.
    pub fn error(&self, index: usize, expected: impl Into<String>) -> Error {
        let rest = &self.bytes[index.min(self.bytes.len())..];
        let line_end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        let found = match (line_end, rest.is_empty()) {
            (0, true) => "the end of the file".into(),
            (0, false) => "the end of the line".into(),
            _ => crate::error::excerpt(&rest[..line_end]),
        };
        Error::input(self.file, self.place(index), expected, found)
    }
}

impl<'a> Source<'a> {
    /// A source of bytes that are already decompressed.
    pub fn new(file: &str, reader: impl Read + 'a, options: &ReadOptions) -> Self {
        Self {
            file: file.to_owned(),
            reader: Box::new(reader),
            buffer: Vec::new(),
            start: 0,
            end: 0,
            handed_out: 0,
            buffer_offset: 0,
            lines: 0,
            is_at_end: false,
            input_limit: options.input_limit.min(ReadOptions::LARGEST_INPUT),
            line_limit: options.line_limit,
            ratio_limit: options.ratio_limit,
            memory_limit: options.memory_limit,
            compressed: None,
        }
    }

    /// The same, of bytes that were decompressed; the counter says how many bytes they were before.
    pub(crate) fn decompressed(self, compressed: Arc<AtomicU64>) -> Self {
        Self { compressed: Some(compressed), ..self }
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Whether the bytes were compressed.
    pub(crate) fn is_compressed(&self) -> bool {
        self.compressed.is_some()
    }

    /// How many lines were consumed.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The offset of the next byte, after decompression.
    pub fn offset(&self) -> u64 {
        self.buffer_offset + self.start as u64
    }

    /// The bytes ahead: at least `wanted` of them, unless the input ends before. They are not consumed.
    pub fn peek(&mut self, wanted: usize) -> Result<&[u8], Error> {
        self.release_block();
        if self.end - self.start < wanted && !self.is_at_end {
            self.fill(wanted)?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Consumes bytes that were peeked at.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        assert!(count <= self.end - self.start, "consumed more than was there");
        self.start += count;
    }

    /// The next byte, which stays; `None` at the end.
    #[inline]
    pub fn peek_byte(&mut self) -> Result<Option<u8>, Error> {
        if self.start < self.end {
            return Ok(Some(self.buffer[self.start]));
        }
        Ok(self.peek(1)?.first().copied())
    }

    /// Consumes one byte that was peeked at.
    #[inline]
    pub fn skip_byte(&mut self) {
        debug_assert!(self.start < self.end, "consumed more than was there");
        self.start += 1;
    }

    /// Whether nothing is left.
    pub fn is_empty(&mut self) -> Result<bool, Error> {
        Ok(self.peek(1)?.is_empty())
    }

    /// The next lines, as many whole ones as the window holds; `None` at the end. The block is consumed by the next
    /// call.
    pub fn next_block(&mut self) -> Result<Option<Block<'_>>, Error> {
        self.release_block();
        let mut searched = 0;
        let length = loop {
            let window = &self.buffer[self.start..self.end];
            if let Some(last) = memchr::memrchr(b'\n', &window[searched..]) {
                break searched + last + 1;
            }
            searched = window.len();
            if self.is_at_end {
                break searched;
            }
            if searched as u64 > self.line_limit {
                return Err(self.line_error());
            }
            self.fill(searched.max(WINDOW / 2) * 2)?;
        };
        if length == 0 {
            return Ok(None);
        }
        self.handed_out = length;
        Ok(Some(Block {
            bytes: &self.buffer[self.start..self.start + length],
            first_line: self.lines + 1,
            file: &self.file,
        }))
    }

    /// All that is left, for formats that are one value. Costs its size.
    pub fn read_to_end(&mut self) -> Result<&[u8], Error> {
        self.release_block();
        while !self.is_at_end {
            let held = self.end - self.start;
            self.fill((held + 1).max(WINDOW) * 2)?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// An error at the next byte.
    pub fn error(&self, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::input(&self.file, Place::Byte(self.offset()), expected, found)
    }

    /// Whether the model keeps within the memory limit; readers ask after each block or transaction.
    #[inline]
    pub fn check_memory(&self, builder: &Builder) -> Result<(), Error> {
        if builder.heap_bytes() as u64 <= self.memory_limit {
            return Ok(());
        }
        let sentence = format!(
            "the history needs more than the memory limit of {} bytes after {} transactions",
            self.memory_limit,
            builder.txn_count()
        );
        Err(Error::limit(&self.file, Place::Byte(self.offset()), sentence))
    }

    fn release_block(&mut self) {
        if self.handed_out > 0 {
            let block = &self.buffer[self.start..self.start + self.handed_out];
            self.lines += line_breaks(block);
            self.start += self.handed_out;
            self.handed_out = 0;
        }
    }

    /// Reads until `wanted` bytes are ahead or the input ends.
    #[cold]
    fn fill(&mut self, wanted: usize) -> Result<(), Error> {
        // The buffer follows what really came: a wanted size may come from a broken file, and most files are small.
        let mut is_full = self.end == self.buffer.len();
        self.buffer.copy_within(self.start..self.end, 0);
        self.buffer_offset += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        while self.end < wanted && !self.is_at_end {
            if is_full || self.end == self.buffer.len() {
                let least = if self.buffer.is_empty() { FIRST_WINDOW } else { WINDOW };
                let room = (self.end * 2).clamp(least, wanted.max(least));
                self.buffer.resize(room.max(self.buffer.len()), 0);
                is_full = false;
            }
            self.read_some()?;
        }
        Ok(())
    }

    fn read_some(&mut self) -> Result<(), Error> {
        match self.reader.read(&mut self.buffer[self.end..]) {
            Ok(0) => self.is_at_end = true,
            Ok(count) => self.end += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(self.read_error(&error)),
        }
        let total = self.buffer_offset + self.end as u64;
        if total > self.input_limit {
            let sentence = format!("the input has more than {} bytes", self.input_limit);
            return Err(Error::limit(&self.file, Place::Byte(total), sentence)
                .with_hint("a larger memory limit allows more"));
        }
        self.refuse_bomb(total)
    }

    /// Refuses an input that is many times as large as its compressed form.
    fn refuse_bomb(&self, total: u64) -> Result<(), Error> {
        let Some(compressed) = self.compressed.as_ref().filter(|_| total > ReadOptions::SMALL_INPUT) else {
            return Ok(());
        };
        let compressed = compressed.load(Ordering::Relaxed).max(1);
        if total / compressed <= self.ratio_limit {
            return Ok(());
        }
        let sentence = format!(
            "{compressed} compressed bytes became {total}, more than {} times as many",
            self.ratio_limit
        );
        Err(Error::limit(&self.file, Place::Byte(total), sentence).with_hint(LIFT))
    }

    fn line_error(&self) -> Error {
        let sentence = format!("line {} has more than {} bytes", self.lines + 1, self.line_limit);
        Error::limit(&self.file, Place::Byte(self.offset()), sentence).with_hint(LIFT)
    }

    fn read_error(&self, error: &io::Error) -> Error {
        let is_content = matches!(
            error.kind(),
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof
        );
        // The decompressors report broken data in these ways, and zstd's own codes as `Other`.
        if is_content || error.kind() == io::ErrorKind::Other {
            let place = Place::Byte(self.buffer_offset + self.end as u64);
            return Error::input(&self.file, place, "more compressed data", error.to_string());
        }
        Error::io(&self.file, error)
    }
}

/// How many line breaks there are; every block is counted, so that an error has its line.
pub(crate) fn line_breaks(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives a few bytes at a time.
    struct Trickle<'b>(&'b [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(buffer.len()).min(3);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn blocks_are_whole_lines_and_know_their_place() {
        let text = format!("first\n{}\nthird", "x".repeat(3 * WINDOW));
        let mut source = Source::new("t", Trickle(text.as_bytes()), &ReadOptions::default());
        let mut seen = Vec::new();
        while let Some(block) = source.next_block().unwrap() {
            let lines = seen.iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!(block.first_line, lines as u64 + 1);
            seen.extend_from_slice(block.bytes);
            assert!(block.bytes.ends_with(b"\n") || seen.len() == text.len());
            let end = block.bytes.len();
            assert_ne!(block.place(end), block.place(0));
        }
        assert_eq!(seen, text.as_bytes());
    }

    #[test]
    fn records_are_whole_wherever_the_window_ends() {
        let bytes: Vec<u8> = (0..3 * WINDOW + 7).map(|place| (place % 251) as u8).collect();
        let mut source = Source::new("t", bytes.as_slice(), &ReadOptions::default());
        let mut place = 0;
        while place + 13 <= bytes.len() {
            assert_eq!(source.offset(), place as u64);
            assert_eq!(source.peek(13).unwrap()[..13], bytes[place..place + 13]);
            source.consume(13);
            place += 13;
        }
        assert!(source.peek(13).unwrap().len() < 13);
    }

    #[test]
    fn a_line_without_an_end_is_refused_unless_the_bound_is_lifted() {
        let options = ReadOptions { line_limit: 3 * WINDOW as u64, ..ReadOptions::default() };
        let text = "x".repeat(20 * WINDOW);
        let mut source = Source::new("t", text.as_bytes(), &options);
        let error = source.next_block().unwrap_err().to_string();
        assert!(error.contains("line 1 has more than 786432 bytes"), "{error}");
        assert!(error.contains("--input-limit"), "{error}");
        let lifted = options.with_input_limit(1 << 30);
        let mut source = Source::new("t", text.as_bytes(), &lifted);
        assert_eq!(source.next_block().unwrap().unwrap().bytes.len(), text.len());
    }

    #[test]
    fn a_wanted_length_costs_nothing_that_does_not_come() {
        let mut source = Source::new("t", &b"short"[..], &ReadOptions::default());
        assert_eq!(source.peek(usize::MAX / 4).unwrap(), b"short");
        assert!(source.buffer.len() <= WINDOW);
        assert_eq!(source.read_to_end().unwrap(), b"short");
    }
}
