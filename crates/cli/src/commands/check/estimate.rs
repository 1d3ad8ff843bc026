//! Says before reading that a history does not fit into memory.
//!
//! Native lines are sampled at several places of the file. The place where a byte of the file becomes the least memory
//! counts for the whole file, and only the columns of operations and transactions count: no table of keys, no index, no
//! engine. So a history that is refused could not have been read, and one that is not may still be too large. On
//! `million` the estimate is 0.6 of what reading alone needs.
//!
//! Other formats, compressed files and pipes are read until the limit.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use formats::native_jsonl::LineReader;
use formats::{Format, Input};
use isoscope::{Limits, units};

use super::Question;
use super::pieces::is_native;
use crate::exit::Failure;
use crate::terminal::visible;

/// So many places of a file are looked at.
const PLACES: u64 = 5;

/// So many bytes at each.
const SAMPLE: u64 = 1 << 20;

/// What an operation takes in the columns of a history: its kind, key and value.
const OPERATION: u64 = 1 + 4 + 4;

/// What a transaction takes: its session, outcome and first operation, and its four times if it has any.
const TRANSACTION: u64 = 4 + 1 + 4;
const TIMES: u64 = 4 * 8;

/// Refuses a history that would not fit.
pub(super) fn refuse_too_large(question: &Question<'_>) -> Result<(), Failure> {
    let Input::Path(path) = question.input.input() else { return Ok(()) };
    let format = question.arguments.reading.format;
    let limits = question.monitor.limits;
    let (Some(least), Some(most)) = (least_memory(&path, format), limits.most_memory()) else {
        return Ok(());
    };
    match least > most {
        true => Err(Failure::Limit(sentence(&question.input.name(), least, most, limits))),
        false => Ok(()),
    }
}

fn sentence(name: &str, least: u64, most: u64, limits: &Limits) -> String {
    let bound = match limits.memory() {
        Some(_) => "the memory limit is",
        None => "most of the memory that is free is",
    };
    format!(
        "{} needs about {} of memory, and {bound} {}; --memory-limit SIZE allows more",
        visible(name),
        units::size(least),
        units::size(most)
    )
}

/// A bound for what reading a file of native lines takes at least; `None` for other files, and for small ones.
fn least_memory(path: &Path, format: Option<Format>) -> Option<u64> {
    let length = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
    let is_other = format.is_some_and(|format| format != Format::Native);
    if length < PLACES * SAMPLE || is_other || !is_native(path) {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let sample = |place| bytes_of_sample(&mut file, length / PLACES * place);
    let least = (0..PLACES).map(sample).collect::<Option<Vec<_>>>()?;
    let (bytes, of) = least.into_iter().min_by_key(|&(bytes, of)| u128::from(bytes) * (1 << 32) / of)?;
    u64::try_from(u128::from(bytes) * u128::from(length) / of).ok()
}

/// What the lines at a place take in memory, and in the file; `None` if they are no native lines.
fn bytes_of_sample(file: &mut File, place: u64) -> Option<(u64, u128)> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(place)).ok()?;
    file.take(SAMPLE).read_to_end(&mut bytes).ok()?;
    let is_line_break = |&byte: &u8| byte == b'\n';
    // The first line of a later place is cut off.
    let first = if place == 0 { 0 } else { bytes.iter().position(is_line_break)? + 1 };
    let end = bytes.iter().rposition(is_line_break)? + 1;
    let lines = bytes.get(first..end).filter(|lines| !lines.is_empty())?;
    let mut reader = match place {
        0 => LineReader::new("the history"),
        _ => LineReader::resume("the history", 0, history::Clock::default(), []),
    };
    let history = reader.read(lines).ok()?.history;
    let transaction = TRANSACTION + if history.has_times() { TIMES } else { 0 };
    let (operations, transactions) = (history.op_count() as u64, history.txn_count() as u64);
    Some((operations * OPERATION + transactions * transaction, lines.len() as u128))
}
