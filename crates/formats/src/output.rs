//! Histories to files and folders, whole or not at all (`whole_file.rs`).
//!
//! A name that ends in `.gz` or `.zst` asks for compression.

use std::io::Write;
use std::path::Path;

use history::History;

use crate::error::Error;
use crate::whole_file::{self, write_whole};
use crate::{Format, Warning, WriteOptions, cobra, dbcop_bincode, jepsen, native_jsonl, notation, polysi};

/// Writes a history to a stream. Cobra, a folder of sessions, can be written so only if there is one session.
pub fn write_to(
    history: &History,
    format: Format,
    out: &mut dyn Write,
    options: &WriteOptions,
) -> Result<Vec<Warning>, Error> {
    let mut warnings = write_as(history, format, out, options)?;
    if history.has_txn_notes() || !history.notes().is_empty() {
        let sentence = "notes of the recording (the nemesis, further members of operations) were not written";
        warnings.push(Warning::new("notes-dropped", sentence));
    }
    if history.has_levels() && !matches!(format, Format::Native | Format::Notation) {
        let sentence = format!("{format} does not hold the levels that transactions ran at");
        warnings.push(Warning::new("levels-dropped", sentence));
    }
    Ok(warnings)
}

fn write_as(
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
        _ => write_whole(path, |out| {
            write_compressed(path, out, |out| write_to(history, format, out, options))
        }),
    };
    written.map_err(|error| error.in_file(&name))
}

fn write_folder(history: &History, path: &Path, options: &WriteOptions) -> Result<Vec<Warning>, Error> {
    whole_file::write_folder(path, |folder| {
        cobra::write_folder(history, options, &mut |log, write| {
            whole_file::write_member(&folder.join(log), |out| write(out))
        })
    })
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
        #[cfg(not(feature = "zstd"))]
        Some("zst") => Err(crate::input::without_zstd().into()),
        #[cfg(feature = "zstd")]
        Some("zst") => {
            let mut encoder = zstd::stream::write::Encoder::new(out, 0)?;
            let written = write(&mut encoder)?;
            encoder.finish()?;
            Ok(written)
        }
        _ => write(out),
    }
}
