//! Histories to files, whole or not at all.
//!
//! The new content goes to a temporary neighbour that takes the name of the target when it is complete; an
//! interrupted run leaves the old file as it was. A name that ends in `.gz` or `.zst` asks for compression.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use history::History;

use crate::error::Error;
use crate::{Format, Warning, WriteOptions, cobra, dbcop_bincode, jepsen, native_jsonl, notation, polysi};

/// Writes a history to a stream. Cobra, a folder of sessions, can be written so only if there is one session.
pub fn write_to(
    history: &History,
    format: Format,
    out: &mut dyn Write,
    options: &WriteOptions,
) -> Result<Vec<Warning>, Error> {
    match format {
        Format::Native => native_jsonl::write(history, out, options),
        Format::Notation => notation::write(history, out, options),
        Format::DbcopBincode => dbcop_bincode::write(history, out, options),
        Format::Cobra => cobra::write(history, out, options),
        Format::Polysi => polysi::write(history, out, options),
        Format::JepsenEdn => jepsen::write_edn(history, out, options),
        Format::DbcopJson | Format::DbcopHist | Format::Viper | Format::Awdit | Format::JepsenJson => {
            Err(cannot_write(format))
        }
    }
}

fn cannot_write(format: Format) -> Error {
    let can: Vec<_> = Format::ALL.iter().filter(|format| format.can_write()).collect();
    let names: Vec<_> = can.iter().map(|format| format.name()).collect();
    Error::cannot_express(format!("{format} is read but not written"))
        .with_hint(format!("written are {}", names.join(", ")))
}

/// Writes a history to a file, or for Cobra to a folder.
pub fn write_to_path(
    history: &History,
    format: Format,
    path: &Path,
    options: &WriteOptions,
) -> Result<Vec<Warning>, Error> {
    let name = path.display().to_string();
    let written = match format {
        Format::Cobra => write_folder(history, path, options),
        _ => write_file(path, |out| write_to(history, format, out, options)),
    };
    written.map_err(|error| error.in_file(&name))
}

fn write_folder(history: &History, path: &Path, options: &WriteOptions) -> Result<Vec<Warning>, Error> {
    if path.exists() && !(path.is_dir() && fs::read_dir(path)?.next().is_none()) {
        let refusal = io::Error::new(io::ErrorKind::AlreadyExists, "it exists and is no empty folder");
        return Err(Error::io("", &refusal).with_hint("a Cobra history is a folder of its own"));
    }
    let temporary = Temporary::beside(path);
    fs::create_dir(&temporary.path)?;
    let warnings = cobra::write_folder(history, options, &mut |log, write| {
        let mut out = BufWriter::with_capacity(64 << 10, File::create_new(temporary.path.join(log))?);
        write(&mut out)?;
        finish_file(out)
    })?;
    temporary.become_target(path)?;
    Ok(warnings)
}

/// A regular file is replaced when its successor is complete; a pipe or a device is written to as it is.
fn write_file<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<T, Error>) -> Result<T, Error> {
    // A link stays, and what it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_stream = fs::metadata(&target).is_ok_and(|found| !found.is_file() && !found.is_dir());
    if is_stream {
        let mut out = BufWriter::with_capacity(64 << 10, File::options().write(true).open(&target)?);
        let written = write(&mut out)?;
        out.flush()?;
        return Ok(written);
    }
    let temporary = Temporary::beside(&target);
    let mut out = BufWriter::with_capacity(64 << 10, File::create_new(&temporary.path)?);
    let written = write_compressed(path, &mut out, write)?;
    finish_file(out)?;
    temporary.become_target(&target)?;
    Ok(written)
}

fn write_compressed<T>(
    path: &Path,
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Error>,
) -> Result<T, Error> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => {
            let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            let written = write(&mut encoder)?;
            encoder.finish()?;
            Ok(written)
        }
        Some("zst") => {
            let mut encoder = zstd::stream::write::Encoder::new(out, 0)?;
            let written = write(&mut encoder)?;
            encoder.finish()?;
            Ok(written)
        }
        _ => write(out),
    }
}

fn finish_file(mut out: BufWriter<File>) -> Result<(), Error> {
    out.flush()?;
    out.get_ref().sync_all()?;
    Ok(())
}

/// A file or folder that is removed unless it becomes the target.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    fn beside(target: &Path) -> Self {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let hidden = format!(".{name}.{}.part", std::process::id());
        Self { path: target.with_file_name(hidden) }
    }

    fn become_target(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the rename neither is there; when something failed, that is the error to report, not this.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_dir_all(&self.path);
    }
}
