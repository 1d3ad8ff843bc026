//! Ctrl-C: an engine that is deciding ends with what it knows; anything else ends at once, and leaves no half file.
//!
//! Files are written to a neighbour with a temporary name that takes the target's name when complete, so a target is
//! never half written; all that is left to do is to remove the neighbour.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::Exit;

static ASKED_TO_STOP: AtomicBool = AtomicBool::new(false);
static CAN_STOP_ITSELF: AtomicBool = AtomicBool::new(false);
static BEING_WRITTEN: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Installs the handler. Without one (it is already taken) Ctrl-C ends the process as usual.
pub fn install() {
    let _ = ctrlc::set_handler(|| {
        let is_second = ASKED_TO_STOP.swap(true, Ordering::Relaxed);
        if is_second || !CAN_STOP_ITSELF.load(Ordering::Relaxed) {
            remove_part();
            crate::progress::clear();
            std::process::exit(Exit::Interrupted as i32);
        }
    });
}

/// Whether the user asked to stop.
pub fn is_asked() -> bool {
    ASKED_TO_STOP.load(Ordering::Relaxed)
}

/// Forgets that the user asked: what was to stop has stopped, and what follows may go on.
pub fn forget() {
    ASKED_TO_STOP.store(false, Ordering::Relaxed);
}

/// Runs work that asks [`is_asked`] now and then and ends by itself; it may be part of other such work.
pub fn while_deciding<T>(work: impl FnOnce() -> T) -> T {
    let before = CAN_STOP_ITSELF.swap(true, Ordering::Relaxed);
    let result = work();
    CAN_STOP_ITSELF.store(before, Ordering::Relaxed);
    result
}

/// Runs work that writes to this file through a temporary neighbour.
pub fn while_writing<T>(target: &Path, work: impl FnOnce() -> T) -> T {
    *lock() = Some(part_of(target));
    let result = work();
    *lock() = None;
    result
}

/// The temporary neighbour of a file, by the convention that `formats` uses too.
pub fn part_of(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

fn remove_part() {
    if let Some(part) = lock().take() {
        // It may not exist yet, or be a folder.
        let _ = std::fs::remove_file(&part);
        let _ = std::fs::remove_dir_all(&part);
    }
}

fn lock() -> std::sync::MutexGuard<'static, Option<PathBuf>> {
    BEING_WRITTEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
