//! Files and folders that are written whole or not at all.
//!
//! The content goes to a temporary neighbour of the target, which takes the target's name when it is complete; a
//! writer that fails leaves the old file as it was. A new file gets the usual permissions, a replaced one keeps its
//! own. A target that is not a regular file is written to as it is ([`Target`]).

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::target::{Target, folder_of};
use crate::temporary::Temporary;

const BUFFER_BYTES: usize = 64 << 10;

/// Has a file written: a regular file whole or not at all, anything else as it is; `-` is standard output.
pub fn write_whole<T, E: From<io::Error>>(
    name: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    match Target::of(name)? {
        Target::Stdout => write_through(io::stdout().lock(), write),
        Target::Stderr => write_through(io::stderr().lock(), write),
        // A regular file that is open under a descriptor may have content already.
        Target::Stream(place) => write_through(File::options().append(true).open(place)?, write),
        Target::File(place) => replace(&place, write),
        Target::Folder(_) => Err(io::Error::from(io::ErrorKind::IsADirectory).into()),
    }
}

fn write_through<T, E: From<io::Error>>(
    stream: impl Write,
    write: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, stream);
    let written = write(&mut out)?;
    out.flush()?;
    Ok(written)
}

fn replace<T, E: From<io::Error>>(
    place: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    let (temporary, file) = Temporary::file_in(folder_of(place))?;
    keep_owner_and_mode(place, &file);
    let written = write_and_sync(file, write)?;
    fs::rename(temporary.path(), place)?;
    Ok(written)
}

fn write_and_sync<T, E: From<io::Error>>(
    file: File,
    write: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, file);
    let written = write(&mut out)?;
    out.flush()?;
    out.get_ref().sync_all()?;
    Ok(written)
}

/// Has a folder filled, which must be empty or not there, whole or not at all.
pub(crate) fn write_folder<T, E: From<io::Error>>(
    name: &Path,
    fill: impl FnOnce(&Path) -> Result<T, E>,
) -> Result<T, E> {
    let place = match Target::of(name)? {
        Target::Folder(place) if fs::read_dir(&place)?.next().is_none() => place,
        Target::File(place) if !place.exists() => place,
        _ => {
            let reason = "it exists and is no empty folder; name a new one";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, reason).into());
        }
    };
    let temporary = Temporary::folder_in(folder_of(&place))?;
    let filled = fill(temporary.path())?;
    fs::rename(temporary.path(), &place)?;
    Ok(filled)
}

/// Has a file of a folder of [`write_folder`] written.
pub(crate) fn write_member<T, E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    write_and_sync(File::create_new(path)?, write)
}

/// A file that is replaced hands on its owner, as far as this process may change it, and its permissions.
#[cfg(unix)]
fn keep_owner_and_mode(place: &Path, successor: &File) {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let Ok(old) = fs::metadata(place) else { return };
    // Without the right to give files away the new file belongs to this process's user, like any other.
    let _ = fchown(successor, Some(old.uid()), Some(old.gid()));
    let _ = successor.set_permissions(fs::Permissions::from_mode(old.mode() & 0o777));
}

#[cfg(not(unix))]
fn keep_owner_and_mode(_place: &Path, _successor: &File) {}
