//! Tables in use: a claim keeps every other run of isoscope away from them, and ends with its holder.
//!
//! Two runs on the same tables would read each other's writes, and an innocent database would be accused. A claim is
//! therefore a lock that the operating system or the server drops when its holder ends, however it ends, so that a run
//! that was killed blocks nothing: a locked file beside the file of an embedded database, an advisory lock of
//! PostgreSQL, `GET_LOCK` of MySQL and MariaDB. An engine that admits one process at a time needs no claim.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::Failure;

/// Tables that belong to this process until it is dropped.
pub struct Claim {
    _held: Box<dyn Send>,
}

impl Claim {
    /// A claim that ends with this.
    pub(crate) fn of(held: impl Send + 'static) -> Self {
        Self { _held: Box::new(held) }
    }

    /// For databases in which other processes cannot be.
    pub(crate) fn not_needed() -> Self {
        Self::of(())
    }
}

/// How long the end of another run is waited for: a server may notice a moment later that its client is gone.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(20);

/// Asks until the answer is yes or the patience is over.
pub(crate) fn patiently(mut ask: impl FnMut() -> Result<bool, Failure>) -> Result<bool, Failure> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let is_ours = ask()?;
        if is_ours || Instant::now() > deadline {
            return Ok(is_ours);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Why a claim is refused.
pub(crate) fn in_use(what: &str) -> Failure {
    Failure::refused(format!(
        "{what} is in use by another run of isoscope, and each would read the other's writes: wait until it ends, or \
         name another database"
    ))
}

/// Why an engine that admits one process at a time refuses a second one.
pub(crate) const OPEN_ELSEWHERE: &str = "another process, perhaps another run of isoscope, has it open: wait until it ends, or name another database";

/// A name for a lock of a server, from the name of a database and a table (FNV-1a, the same in every version).
pub(crate) fn lock_key(database: &str, table: &str) -> u64 {
    let bytes = database.bytes().chain([0]).chain(table.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A locked file beside the file or folder of a database; it is removed in the end, and a process that was killed leaves an
/// empty file without a lock.
///
/// The database's own file is not touched: closing any descriptor of it would drop the locks of SQLite.
#[derive(Debug)]
pub(crate) struct LockFile {
    path: PathBuf,
    _file: File,
}

impl LockFile {
    /// Locks the file or folder of a database.
    pub fn beside(database: &str) -> Result<Self, Failure> {
        let path = lock_path(Path::new(database));
        let refused = |error: io::Error| Failure::refused(format!("{}: {error}", path.display()));
        loop {
            let file = open(&path).map_err(refused)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(in_use(database)),
                Err(TryLockError::Error(error)) => return Err(refused(error)),
            }
            // Another run may have removed the file between the two calls: then the lock is on no name.
            if is_at(&file, &path) {
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // While the lock is held, so that no other run has locked this file.
        let _ = fs::remove_file(&self.path);
    }
}

/// Beside the end of all links, so that every name of a database has the same lock.
fn lock_path(database: &Path) -> PathBuf {
    let in_folder = || Some(fs::canonicalize(database.parent()?).ok()?.join(database.file_name()?));
    let end = fs::canonicalize(database).ok().or_else(in_folder).unwrap_or_else(|| database.to_owned());
    let mut name = end.file_name().unwrap_or_default().to_owned();
    name.push(".isoscope-lock");
    end.with_file_name(name)
}

/// Opens the file or creates it; a link is not followed.
fn open(path: &Path) -> io::Result<File> {
    match File::create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        created => return created,
    }
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => {
            Err(io::Error::other("it is in the way: expected a file, to lock it"))
        }
        _ => match File::options().write(true).open(path) {
            // It was removed between the two calls.
            Err(error) if error.kind() == io::ErrorKind::NotFound => open(path),
            opened => opened,
        },
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let inode = |found: fs::Metadata| (found.dev(), found.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(file), Ok(path)) => inode(file) == inode(path),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_claimed_once_by_whichever_name_and_again_when_it_is_free() {
        let folder = std::env::temp_dir().join(format!("isoscope-claim-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [file, link] = ["a.db", "link.db"].map(|name| folder.join(name));
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        // Left by a run that was killed.
        fs::write(folder.join("a.db.isoscope-lock"), "").unwrap();
        let claim = LockFile::beside(file.to_str().unwrap()).unwrap();
        let refused = LockFile::beside(link.to_str().unwrap()).unwrap_err();
        assert!(refused.message.contains("in use by another run"), "{refused}");
        drop(claim);
        assert!(!folder.join("a.db.isoscope-lock").exists());
        drop(LockFile::beside(link.to_str().unwrap()).unwrap());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_names_of_locks_never_change() {
        assert_eq!(lock_key("test", "isoscope_bank"), lock_key("test", "isoscope_bank"));
        assert_ne!(lock_key("test", "isoscope_bank"), lock_key("tes", "tisoscope_bank"));
        assert_eq!(lock_key("", ""), 0xaf63_bd4c_8601_b7df);
    }
}
