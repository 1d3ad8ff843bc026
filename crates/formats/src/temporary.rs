//! Temporary files and folders: created exclusively, under names that cannot be guessed, and removed in the end.
//!
//! An exclusive creation never follows a link that was planted under the name. The random part of a name is a keyed
//! hash (SipHash) whose key the standard library takes from the operating system; the crate `tempfile` draws its names
//! from a generator that is seeded with the time, and knows nothing of the list below.
//!
//! Temporary files are listed while they exist, since a process that is told to end by a signal runs no destructors:
//! [`abandon_unfinished`] is for its signal handler.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Those that exist now.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A temporary file or folder; dropping it removes it, unless it was renamed.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// A new file in a folder.
    pub fn file_in(folder: &Path) -> io::Result<(Self, File)> {
        Self::create(folder, |path| File::create_new(path))
    }

    /// A new folder in a folder.
    pub fn folder_in(folder: &Path) -> io::Result<Self> {
        Ok(Self::create(folder, |path| fs::create_dir(path))?.0)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The list is locked meanwhile, so that a signal handler finds either no file or a listed one.
    fn create<T>(folder: &Path, create: impl Fn(&Path) -> io::Result<T>) -> io::Result<(Self, T)> {
        const MOST_TRIES: u32 = 100;
        let mut unfinished = list();
        for try_number in 0.. {
            let path = folder.join(random_name(try_number));
            match create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && try_number < MOST_TRIES => {}
                created => {
                    let created = created?;
                    unfinished.push(path.clone());
                    return Ok((Self { path }, created));
                }
            }
        }
        unreachable!("the last try returns")
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut unfinished = list();
        remove(&self.path);
        unfinished.retain(|path| *path != self.path);
    }
}

/// Removes every temporary file and folder, for a process that is about to end.
///
/// No other can be begun afterwards: a thread that tries waits for the end of the process.
pub fn abandon_unfinished() {
    let mut unfinished = list();
    for path in unfinished.drain(..) {
        remove(&path);
    }
    std::mem::forget(unfinished);
}

/// It is a file or a folder, or has been renamed. What cannot be removed stays: there is no better place to say so.
fn remove(path: &Path) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir_all(path);
}

fn random_name(number: u32) -> String {
    let random = RandomState::new();
    format!(".isoscope-{:016x}{:016x}.part", random.hash_one((number, 0)), random.hash_one((number, 1)))
}

fn list() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_file_or_folder_is_removed_unless_it_was_renamed() {
        let folder = Temporary::folder_in(&std::env::temp_dir()).unwrap();
        let (dropped, _) = Temporary::file_in(folder.path()).unwrap();
        let (renamed, _) = Temporary::file_in(folder.path()).unwrap();
        let kept = folder.path().join("kept");
        fs::rename(renamed.path(), &kept).unwrap();
        drop((dropped, renamed));
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, [kept]);
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn two_names_differ() {
        assert_ne!(random_name(0), random_name(0));
    }
}
