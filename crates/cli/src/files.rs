//! Files that isoscope writes besides histories: whole or not at all, `-` for standard output.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::exit::Failure;
use crate::interrupt;

/// Whether a name on the command line means standard input or output.
pub fn is_dash(path: &Path) -> bool {
    path == Path::new("-")
}

/// Writes a file through a temporary neighbour, or to standard output.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if is_dash(path) {
        let mut out = BufWriter::new(io::stdout().lock());
        write(&mut out)?;
        return Ok(out.flush()?);
    }
    interrupt::while_writing(path, || {
        let part = interrupt::part_of(path);
        let written = write_and_rename(&part, path, write);
        if written.is_err() {
            // The failure is what to report, not that its traces could not be removed.
            let _ = fs::remove_file(&part);
        }
        written
    })
}

fn write_and_rename(
    part: &Path,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let refused = |error: io::Error| Failure::about(path, &error);
    let mut out = BufWriter::new(File::create(part).map_err(refused)?);
    write(&mut out)?;
    out.flush().map_err(refused)?;
    out.get_ref().sync_all().map_err(refused)?;
    fs::rename(part, path).map_err(refused)
}
