//! Ctrl-C: an engine that is deciding ends with what it knows; anything else ends at once, and leaves no half file.
//!
//! Files are written to a temporary neighbour that takes the target's name when it is complete, so a target is never
//! half written; all that is left to do is to remove the neighbours (`formats::abandon_unfinished`).

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::Exit;

static ASKED_TO_STOP: AtomicBool = AtomicBool::new(false);
static CAN_STOP_ITSELF: AtomicBool = AtomicBool::new(false);

/// Installs the handler. Without one (it is already taken) Ctrl-C ends the process as usual.
pub fn install() {
    let _ = ctrlc::set_handler(|| {
        let is_second = ASKED_TO_STOP.swap(true, Ordering::Relaxed);
        if is_second || !CAN_STOP_ITSELF.load(Ordering::Relaxed) {
            formats::abandon_unfinished();
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
