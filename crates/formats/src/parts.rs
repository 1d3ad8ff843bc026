//! Large files of text, read in parts on several threads.
//!
//! The file is cut at places where a reader can begin, each part is read by a thread of its own through a window of its
//! own, and what the parts say is joined in their order ([`Builder::join`](history::Builder::join)), which gives the ids
//! that reading from beginning to end gives. So the history depends neither on the number of threads nor on the cuts.
//!
//! A part is read without knowing what is before it. Wherever that could matter, and whenever anything is wrong, the
//! parts are given up and the file is read again from beginning to end: this finds the first error and says what it
//! always said. Compressed files, folders and pipes are always read so.
//!
//! Parts are large, because each has a table of its keys. A million transactions (246 MB of native lines, two threads):
//! see `docs/performance.md`.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::detect::{self, BYTE_ORDER_MARK};
use crate::error::Error;
use crate::{Format, Loaded, ReadOptions, Source, awdit, input, native_jsonl, polysi};

/// No part is smaller, so that its tables are worth making.
const SMALLEST_PART: u64 = 4 << 20;

/// Parts for each thread: when another process takes a core for a while, the other threads take over what is left.
const PARTS_A_THREAD: u64 = 2;

/// How far from the middle of a line the next place to cut may be.
const WINDOW: u64 = 1 << 20;

/// A file with the places where it is cut.
pub(crate) struct Parts<'p> {
    path: &'p Path,
    name: &'p str,
    options: ReadOptions,
    threads: usize,
    /// Where each part begins, and the end of the last one.
    cuts: Vec<u64>,
}

/// Reads a file in parts if that is worth it and gives the same as reading it whole.
pub(crate) fn read(path: &Path, name: &str, options: &ReadOptions) -> Option<Loaded> {
    if options.threads < 2 {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    let count = (length / SMALLEST_PART).min(options.threads as u64 * PARTS_A_THREAD);
    if count < 2 || length > options.input_limit {
        return None;
    }
    let format = format_of(&mut file, name, options)?;
    let cut: Cut = match format {
        Format::Native => |_| Some(0),
        Format::Polysi => polysi::cut,
        Format::Awdit => awdit::cut,
        _ => return None,
    };
    let parts = Parts {
        path,
        name,
        options: ReadOptions { memory_limit: options.memory_limit / count, ..options.clone() },
        threads: options.threads,
        cuts: cuts(&mut file, length, count, cut)?,
    };
    match format {
        Format::Native => native_jsonl::read_parts(&parts),
        Format::Polysi => polysi::read_parts(&parts),
        _ => awdit::read_parts(&parts),
    }
}

/// The format of a file that is not compressed and begins as plain text.
fn format_of(file: &mut File, name: &str, options: &ReadOptions) -> Option<Format> {
    let mut source = input::open(name, file, options).ok()?;
    if source.is_compressed() || source.peek(BYTE_ORDER_MARK.len()).ok()?.starts_with(BYTE_ORDER_MARK) {
        return None;
    }
    options.format.or_else(|| detect::of_source(&mut source).ok())
}

/// Where the first line begins, in a text that begins with a line, at which a part may begin.
type Cut = fn(&[u8]) -> Option<usize>;

/// Cuts a file into about so many parts; `None` if there is no place to cut.
fn cuts(file: &mut File, length: u64, count: u64, cut: Cut) -> Option<Vec<u64>> {
    let mut cuts = vec![0];
    for part in 1..count {
        let wanted = length / count * part;
        cuts.extend(
            cut_after(file, wanted, cut).filter(|&place| place > cuts[cuts.len() - 1] && place < length),
        );
    }
    cuts.push(length);
    (cuts.len() > 2).then_some(cuts)
}

fn cut_after(file: &mut File, wanted: u64, cut: Cut) -> Option<u64> {
    let mut window = Vec::new();
    file.seek(SeekFrom::Start(wanted)).ok()?;
    file.take(WINDOW).read_to_end(&mut window).ok()?;
    let line = memchr::memchr(b'\n', &window)? + 1;
    Some(wanted + (line + cut(&window[line..])?) as u64)
}

impl Parts<'_> {
    /// Reads each part; a part is told its number. `None` if one of them cannot be read.
    pub fn read<T: Send>(
        &self,
        read: impl Fn(&mut Source<'_>, usize) -> Result<T, Error> + Sync,
    ) -> Option<Vec<T>> {
        let count = self.cuts.len() - 1;
        let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
        let work = || {
            while !has_failed.load(Ordering::Relaxed) {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(result) = results.get(place) else { break };
                match self.open(place).and_then(|mut source| read(&mut source, place)) {
                    Ok(part) => *result.lock().expect("no thread panicked") = Some(part),
                    Err(_) => has_failed.store(true, Ordering::Relaxed),
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads.min(count) {
                scope.spawn(work);
            }
            work();
        });
        results.into_iter().map(|result| result.into_inner().ok()?).collect()
    }

    fn open(&self, place: usize) -> Result<Source<'static>, Error> {
        let failed = |error: std::io::Error| Error::io(self.name, &error);
        let mut file = File::open(self.path).map_err(failed)?;
        file.seek(SeekFrom::Start(self.cuts[place])).map_err(failed)?;
        let length = self.cuts[place + 1] - self.cuts[place];
        Ok(Source::new(self.name, file.take(length), &self.options))
    }
}

#[cfg(test)]
mod tests;
