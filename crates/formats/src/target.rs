//! Where a name on the command line leads: a file to replace, a device or pipe to write to, or an open descriptor.
//!
//! Only a regular file, or a name that is not taken, is replaced. A device, a pipe or a socket is opened and written
//! to. Symbolic links are followed to their end, so that a link stays a link. `/dev/stdout`, `/dev/fd/N` and their like
//! are links whose end may be a regular file that the shell has open: replacing that file would separate it from the
//! shell's descriptor, so these names are recognised on the way and written to as well.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// What an output's name leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// The standard output of this process.
    Stdout,
    /// The standard error of this process.
    Stderr,
    /// A device, a pipe or an open descriptor, which is written to as it is.
    Stream(PathBuf),
    /// A regular file or a free name, which gets its content in one step.
    File(PathBuf),
    /// A folder.
    Folder(PathBuf),
}

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;

impl Target {
    /// Follows a name; `-` is standard output.
    pub fn of(name: &Path) -> io::Result<Self> {
        if name == Path::new("-") {
            return Ok(Self::Stdout);
        }
        let end = follow(name)?;
        if let Some(descriptor) = descriptor(&end) {
            return Ok(match descriptor {
                Some(1) => Self::Stdout,
                Some(2) => Self::Stderr,
                _ => Self::Stream(end),
            });
        }
        match fs::metadata(&end) {
            Ok(found) if found.is_dir() => Ok(Self::Folder(end)),
            Ok(found) if found.is_file() => Ok(Self::File(end)),
            Ok(_) => Ok(Self::Stream(end)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::File(end)),
            Err(error) => Err(error),
        }
    }
}

/// The end of a chain of links, which need not exist.
fn follow(name: &Path) -> io::Result<PathBuf> {
    let mut place = name.to_owned();
    for _ in 0..MOST_LINKS {
        if descriptor(&place).is_some() {
            return Ok(place);
        }
        match fs::read_link(&place) {
            Ok(next) => place = folder_of(&place).join(next),
            // No link, or not there.
            Err(_) => return Ok(place),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// The folder of a name; the current one is `.`.
pub(crate) fn folder_of(place: &Path) -> &Path {
    match place.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) => Path::new("."),
        None => place,
    }
}

/// Whether a name is that of an open descriptor, and its number if the descriptor is one of this process.
fn descriptor(place: &Path) -> Option<Option<u32>> {
    let number = place.file_name()?.to_str()?.parse().ok()?;
    let folder = fs::canonicalize(folder_of(place)).ok()?;
    if folder == Path::new("/dev/fd") {
        return Some(Some(number));
    }
    let parts: Vec<&str> = folder
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    match parts[..] {
        ["proc", process, "fd"] | ["proc", process, "task", _, "fd"] => {
            let is_own = process.parse() == Ok(std::process::id());
            Some(is_own.then_some(number))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_standard_output_are_recognised() {
        for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1"] {
            assert_eq!(Target::of(Path::new(name)).unwrap(), Target::Stdout, "{name}");
        }
        assert_eq!(Target::of(Path::new("/dev/stderr")).unwrap(), Target::Stderr);
    }

    #[test]
    fn a_device_is_a_stream_and_a_free_name_a_file() {
        assert_eq!(Target::of(Path::new("/dev/null")).unwrap(), Target::Stream("/dev/null".into()));
        assert_eq!(Target::of(Path::new("/no/such")).unwrap(), Target::File("/no/such".into()));
        assert_eq!(Target::of(Path::new("/")).unwrap(), Target::Folder("/".into()));
    }
}
