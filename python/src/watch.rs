//! Runs work of the engine without the interpreter's lock, and ends it by Ctrl-C or by a limit.
//!
//! The work runs in a thread of its own. The thread that called waits for it and asks Python for signals every 20 ms, so
//! Ctrl-C is noticed whatever the engine is doing. The engine asks [`Watch::reached`] in its loops and ends by itself.
//! Work that does not ask in time is left behind, and ends at the next time it asks. A start of a thread costs about
//! 30 µs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use isoscope::{Answer, Limit, Limits, Monitor, limits};
use pyo3::prelude::*;

use crate::errors::{InternalError, bad_value};

/// How often Python is asked for signals and the limits are compared.
const INTERVAL: Duration = Duration::from_millis(20);

/// Time that work has to end by itself after Ctrl-C.
const INTERRUPT_GRACE: Duration = Duration::from_millis(300);

/// The stack of the thread, as large as that of a main thread.
const STACK_BYTES: usize = 8 << 20;

/// The limits of one call, and what the engine has answered so far.
pub struct Watch {
    limits: Limits,
    is_cancelled: AtomicBool,
    answers: Mutex<Vec<Answer>>,
}

/// How work ended.
pub enum Ended<T> {
    /// With its result.
    Done(T),
    /// The limit is overdue, and the work is left behind.
    Late(Limit),
}

impl Watch {
    /// Starts the clock.
    pub fn start(time_limit_ns: Option<u64>, memory_limit: Option<u64>) -> PyResult<Arc<Self>> {
        let time = time_limit_ns.map(Duration::from_nanos);
        let limits = Limits::start(time, memory_limit).map_err(bad_value)?;
        let ceiling = if memory_limit.is_none() { limits::free_share() } else { None };
        Ok(Arc::new(Self {
            limits: limits.with_ceiling(ceiling),
            is_cancelled: AtomicBool::new(false),
            answers: Mutex::default(),
        }))
    }

    /// The answers so far.
    pub fn answers(&self) -> Vec<Answer> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs work; an exception of a signal handler (`KeyboardInterrupt`) ends it.
    pub fn run<T: Send + 'static>(
        self: &Arc<Self>,
        py: Python<'_>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> PyResult<Ended<T>> {
        let (sender, receiver) = mpsc::channel();
        let watch = Arc::clone(self);
        let thread = thread::Builder::new().name("isoscope".to_owned()).stack_size(STACK_BYTES);
        // The result has no reader if the work was left behind.
        let started = thread.spawn(move || drop(sender.send(work(&watch))));
        started.map_err(|error| InternalError::new_err(format!("no thread can be started: {error}")))?;
        py.detach(move || self.wait(&receiver))
    }

    /// Waits without the interpreter's lock, which is taken only to ask for signals.
    fn wait<T>(&self, receiver: &Receiver<T>) -> PyResult<Ended<T>> {
        loop {
            match receiver.recv_timeout(INTERVAL) {
                Ok(result) => return Ok(Ended::Done(result)),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(InternalError::new_err("the engine ended without an answer"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Err(raised) = Python::attach(|py| py.check_signals()) {
                self.is_cancelled.store(true, Ordering::Relaxed);
                let _ = receiver.recv_timeout(INTERRUPT_GRACE);
                return Err(raised);
            }
            if let Some(limit) = self.limits.overdue(&mut None) {
                self.is_cancelled.store(true, Ordering::Relaxed);
                return Ok(Ended::Late(limit));
            }
        }
    }
}

impl Monitor for Watch {
    fn elapsed(&self) -> Duration {
        self.limits.elapsed()
    }

    fn reached(&self) -> Option<Limit> {
        match self.is_cancelled.load(Ordering::Relaxed) {
            true => Some(Limit::Interrupt),
            false => self.limits.reached(),
        }
    }

    fn memory_bytes(&self) -> Option<u64> {
        self.limits.memory_bytes()
    }

    fn sentence(&self, limit: Limit) -> String {
        self.limits.sentence(limit).replace("--memory-limit SIZE", "memory_limit")
    }

    fn answered(&self, answer: &Answer) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).push(answer.clone());
    }
}
