//! Files, folders and standard input to histories.
//!
//! Compressed files are recognised by their magic number and decompressed while reading; the format is recognised from the first
//! bytes. A folder is one history: of Cobra logs or of Viper logs.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use history::{Datum, History};

use crate::detect::BYTE_ORDER_MARK;
use crate::error::{Error, Place};
use crate::{
    Format, ReadOptions, Source, Warning, awdit, cobra, dbcop_bincode, dbcop_hist, dbcop_json, detect,
    initial_txn, jepsen, native_jsonl, notation, parts, polysi, viper,
};

/// Where a history comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A file or a folder.
    Path(PathBuf),
    /// Standard input.
    Stdin,
}

impl Input {
    /// The input that a command line names: `-` is standard input.
    pub fn named(name: impl Into<PathBuf>) -> Self {
        match name.into() {
            path if path == Path::new("-") => Self::Stdin,
            path => Self::Path(path),
        }
    }
}

/// A history with how it was read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What was observed.
    pub history: History,
    /// The format it was in.
    pub format: Format,
    /// What is worth knowing about the input.
    pub warnings: Vec<Warning>,
}

impl Loaded {
    /// A history that was read without anything to say about it.
    pub fn new(history: History, format: Format) -> Self {
        Self { history, format, warnings: Vec::new() }
    }
}

/// Reads a history.
pub fn read(input: &Input, options: &ReadOptions) -> Result<Loaded, Error> {
    match input {
        Input::Stdin => read_from("standard input", io::stdin().lock(), options),
        Input::Path(path) => {
            let name = path.display().to_string();
            if path.is_dir() {
                return settle_initial(read_folder(path, options)?, &name, options);
            }
            if let Some(loaded) = parts::read(path, &name, options) {
                return settle_initial(loaded, &name, options);
            }
            let file = File::open(path).map_err(|error| Error::io(&name, &error))?;
            read_from(&name, file, options)
        }
    }
}

/// Reads a history from memory; the name is for messages.
pub fn read_bytes(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Loaded, Error> {
    read_from(name, bytes, options)
}

/// Reads a history from a stream as it comes; the name is for messages.
pub fn read_from<'a>(name: &str, stream: impl Read + 'a, options: &ReadOptions) -> Result<Loaded, Error> {
    let mut source = open(name, stream, options)?;
    let format = match options.format {
        Some(format) => format,
        None => detect::of_source(&mut source)?,
    };
    if !format.is_binary() && source.peek(BYTE_ORDER_MARK.len())?.starts_with(BYTE_ORDER_MARK) {
        source.consume(BYTE_ORDER_MARK.len());
    }
    settle_initial(read_source(&mut source, format, options)?, name, options)
}

/// What is to become of a transaction that looks like the initial state.
fn settle_initial(mut loaded: Loaded, name: &str, options: &ReadOptions) -> Result<Loaded, Error> {
    if options.initial_txn {
        return initial_txn::take(loaded, name);
    }
    if matches!(loaded.format, Format::DbcopBincode | Format::Awdit) {
        initial_txn::hint(&mut loaded);
    }
    Ok(loaded)
}

fn read_source(source: &mut Source<'_>, format: Format, options: &ReadOptions) -> Result<Loaded, Error> {
    match format {
        Format::Native => native_jsonl::read(source, options),
        Format::Notation => notation::read(source, options),
        Format::DbcopBincode => dbcop_bincode::read(source, options),
        Format::DbcopJson => dbcop_json::read(source, options),
        Format::DbcopHist => dbcop_hist::read(source, options),
        Format::Cobra => cobra::read(source, options),
        Format::Viper => viper::read(source, options),
        Format::Polysi => polysi::read(source, options),
        Format::Awdit => awdit::read(source, options),
        Format::JepsenEdn => jepsen::read_edn(source, options),
        Format::JepsenJson => jepsen::read_json(source, options),
    }
}

/// Takes off compression, which may be none.
pub(crate) fn open<'a>(
    name: &str,
    mut stream: impl Read + 'a,
    options: &ReadOptions,
) -> Result<Source<'a>, Error> {
    let mut magic = [0; 4];
    let length = read_up_to(&mut stream, &mut magic).map_err(|error| Error::io(name, &error))?;
    let whole = io::Cursor::new(magic).take(length as u64).chain(stream);
    let count = Arc::new(AtomicU64::new(0));
    let counted = |stream| Counted { stream, count: Arc::clone(&count) };
    match magic {
        [0x1f, 0x8b, ..] => {
            let buffered = io::BufReader::with_capacity(64 << 10, counted(whole));
            let decoder = flate2::read::MultiGzDecoder::new(buffered);
            Ok(Source::new(name, decoder, options).decompressed(count))
        }
        #[cfg(feature = "zstd")]
        [0x28, 0xb5, 0x2f, 0xfd] => {
            let decoder = zstd::stream::read::Decoder::new(counted(whole));
            let decoder = decoder.map_err(|error| Error::io(name, &error))?;
            Ok(Source::new(name, decoder, options).decompressed(count))
        }
        #[cfg(not(feature = "zstd"))]
        [0x28, 0xb5, 0x2f, 0xfd] => Err(Error::io(name, &without_zstd())),
        _ => Ok(Source::new(name, whole, options)),
    }
}

/// The error of a build that leaves out the feature `zstd`.
#[cfg(not(feature = "zstd"))]
pub(crate) fn without_zstd() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "compressed by zstd, which this program was built without (feature `zstd` of isoscope-formats)",
    )
}

/// Counts the bytes that are taken from a stream.
struct Counted<R> {
    stream: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(buffer)?;
        self.count.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

fn read_up_to(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match stream.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// The logs of a folder, each one session.
pub(crate) struct Folder<'o> {
    /// The name of the folder.
    pub name: String,
    logs: Vec<PathBuf>,
    options: &'o ReadOptions,
}

impl Folder<'_> {
    /// Whether there are no logs.
    pub fn is_empty(&self) -> bool {
        self.logs.is_empty()
    }

    /// Opens the logs one after the other, in the order of their numbers; each has its number as a name.
    pub fn logs(&self) -> impl Iterator<Item = Result<(Option<Datum>, Source<'static>), Error>> {
        self.logs.iter().map(|path| {
            let name = path.display().to_string();
            let file = File::open(path).map_err(|error| Error::io(&name, &error))?;
            Ok((session_name(path), open(&name, file, self.options)?))
        })
    }
}

/// `T12.log` is session 12.
fn session_name(path: &Path) -> Option<Datum> {
    let name = path.file_name()?.to_str()?;
    let digits = name[1..].split('.').next()?;
    let is_canonical = digits == "0" || !digits.starts_with('0');
    digits.parse().ok().filter(|_| is_canonical).map(Datum::Int)
}

fn read_folder(path: &Path, options: &ReadOptions) -> Result<Loaded, Error> {
    let name = path.display().to_string();
    let cobra = logs_in(path, 'T').map_err(|error| Error::io(&name, &error))?;
    let viper = logs_in(path, 'J').map_err(|error| Error::io(&name, &error))?;
    let nested = logs_in(&path.join("json"), 'J').unwrap_or_default();
    let folder = |logs| Folder { name: name.clone(), logs, options };
    match options.format {
        Some(Format::Cobra) => cobra::read_folder(&folder(cobra), options),
        Some(Format::Viper) if viper.is_empty() => viper::read_folder(&folder(nested), options),
        Some(Format::Viper) => viper::read_folder(&folder(viper), options),
        Some(format) => {
            Err(Error::input(&name, Place::Whole, format!("a file, as {format} is no folder"), "a folder"))
        }
        None if !cobra.is_empty() && viper.is_empty() => cobra::read_folder(&folder(cobra), options),
        None if !cobra.is_empty() => Err(Error::unknown_format(&name, "both T*.log and J*.log files")
            .with_hint("choose with --format cobra or --format viper")),
        None if !viper.is_empty() => viper::read_folder(&folder(viper), options),
        None if !nested.is_empty() => viper::read_folder(&folder(nested), options),
        None => {
            Err(Error::unknown_format(&name, "a folder with neither T*.log (Cobra) nor J*.log (Viper) files"))
        }
    }
}

/// The files of a folder that are called like `T12.log`, compressed or not, by number and name.
fn logs_in(folder: &Path, initial: char) -> io::Result<Vec<PathBuf>> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let plain = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(name);
        if let Some(stem) = plain.strip_suffix(".log")
            && stem.starts_with(initial)
            && !path.is_dir()
        {
            logs.push((first_number(stem), path));
        }
    }
    logs.sort();
    Ok(logs.into_iter().map(|(_, path)| path).collect())
}

fn first_number(stem: &str) -> u64 {
    let digits = stem.trim_start_matches(|char: char| !char.is_ascii_digit());
    let end = digits.find(|char: char| !char.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "zstd")]
    #[test]
    fn a_small_file_that_becomes_a_large_one_is_refused_unless_the_bound_is_lifted() {
        let lines = "\n".repeat(16 << 20);
        let packed = zstd::encode_all(lines.as_bytes(), 1).unwrap().repeat(5);
        let options = ReadOptions::default().with_format(Format::Notation);
        let error = read_bytes("bomb", &packed, &options).unwrap_err().to_string();
        assert!(error.contains("more than 2000 times as many"), "{error}");
        let lifted = options.with_input_limit(1 << 30);
        assert_eq!(read_bytes("bomb", &packed, &lifted).unwrap().history.txn_count(), 0);
    }
}
