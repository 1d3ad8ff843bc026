//! Time and memory that a check may take, and how far it has come.
//!
//! The engine asks [`Limits::reached`] now and then. Work that cannot ask (reading, indexing) runs in [`Limits::bound`]:
//! in a thread that is left behind when a limit is reached. Memory is what `/proc` says of this process.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use verify::Limit;

use crate::monitor::Monitor;
use crate::units;

/// The limits of a check, which begins when they are made.
#[derive(Debug)]
pub struct Limits {
    started: Instant,
    time: Option<Duration>,
    memory: Option<u64>,
    is_interrupted: fn() -> bool,
    /// Microseconds from the start until the kernel may be asked for memory again.
    memory_due_us: AtomicU64,
}

/// Work that [`Limits::bound`] ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bounded {
    /// A limit was reached; the sentence says which and where.
    Limit(String),
    /// The work ended without a result; the text says which work.
    Failed(String),
}

impl fmt::Display for Bounded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(sentence) => out.write_str(sentence),
            Self::Failed(what) => write!(out, "isoscope failed while {what}"),
        }
    }
}

impl std::error::Error for Bounded {}

/// How often the kernel is asked for memory at most.
const MEMORY_INTERVAL_US: u64 = 2000;

impl Limits {
    /// Starts the clock.
    ///
    /// # Errors
    /// If memory is limited and the system does not say how much the process holds.
    pub fn start(time: Option<Duration>, memory: Option<u64>) -> Result<Self, String> {
        if memory.is_some() && resident_bytes().is_none() {
            return Err("a memory limit needs /proc/self/statm, which is not there".to_owned());
        }
        let is_interrupted = || false;
        Ok(Self { started: Instant::now(), time, memory, is_interrupted, memory_due_us: AtomicU64::new(0) })
    }

    /// The same, ended also when the function says so.
    pub fn with_interrupt(self, is_interrupted: fn() -> bool) -> Self {
        Self { is_interrupted, ..self }
    }

    /// The memory limit.
    pub fn memory(&self) -> Option<u64> {
        self.memory
    }

    fn is_memory_reached(&self) -> bool {
        let Some(memory) = self.memory else { return false };
        let now_us = self.elapsed().as_micros() as u64;
        if now_us < self.memory_due_us.load(Ordering::Relaxed) {
            return false;
        }
        self.memory_due_us.store(now_us + MEMORY_INTERVAL_US, Ordering::Relaxed);
        resident_bytes().is_some_and(|resident| resident > memory)
    }

    /// Runs work that cannot ask for limits itself; `what` completes "while ...".
    pub fn bound<T: Send + 'static>(
        &self,
        what: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Bounded> {
        if self.time.is_none() && self.memory.is_none() {
            return Ok(work());
        }
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || sender.send(work()));
        loop {
            match receiver.recv_timeout(Duration::from_millis(5)) {
                Ok(result) => return Ok(result),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(Bounded::Failed(what.to_owned()));
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if let Some(limit) = self.reached() {
                return Err(Bounded::Limit(format!("{} while {what}", self.sentence(limit))));
            }
        }
    }
}

impl Monitor for Limits {
    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn reached(&self) -> Option<Limit> {
        if (self.is_interrupted)() {
            return Some(Limit::Interrupt);
        }
        if self.time.is_some_and(|limit| self.elapsed() >= limit) {
            return Some(Limit::Time);
        }
        self.is_memory_reached().then_some(Limit::Memory)
    }

    fn memory_bytes(&self) -> Option<u64> {
        self.memory
    }

    fn sentence(&self, limit: Limit) -> String {
        match limit {
            Limit::Time => {
                format!("the time limit of {} was reached", units::duration(self.time.unwrap_or_default()))
            }
            Limit::Memory => match self.memory {
                Some(memory) => format!("the memory limit of {} was reached", units::size(memory)),
                None => {
                    "the engine would need more memory than it takes by itself; --memory-limit SIZE allows it more"
                        .to_owned()
                }
            },
            Limit::Interrupt => "interrupted".to_owned(),
        }
    }
}

/// The memory that this process holds now.
pub fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_size())
}

/// The most memory that this process ever held.
pub fn peak_bytes() -> Option<u64> {
    kilobytes_of("VmHWM:")
}

fn kilobytes_of(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// The size of a page, from the one figure that the kernel gives in both units.
fn page_size() -> u64 {
    static PAGE_SIZE: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *PAGE_SIZE.get_or_init(|| {
        let pages = || -> Option<u64> {
            let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
            statm.split_whitespace().next()?.parse().ok()
        };
        match (pages(), kilobytes_of("VmSize:")) {
            (Some(pages), Some(bytes)) if pages > 0 => (bytes / pages).next_power_of_two(),
            _ => 4096,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_and_the_memory_are_watched() {
        let none = Limits::start(None, None).unwrap();
        assert_eq!(none.reached(), None);
        let time = Limits::start(Some(Duration::ZERO), None).unwrap();
        assert_eq!(time.reached(), Some(Limit::Time));
        if resident_bytes().is_some() {
            let memory = Limits::start(None, Some(1)).unwrap();
            assert_eq!(memory.reached(), Some(Limit::Memory));
            assert!(peak_bytes() >= Some(1 << 20));
        }
    }

    #[test]
    fn work_that_takes_too_long_is_left_behind() {
        let limits = Limits::start(Some(Duration::from_millis(20)), None).unwrap();
        assert_eq!(limits.bound("adding", || 1 + 1).unwrap(), 2);
        let sleep = || std::thread::sleep(Duration::from_secs(5));
        match limits.bound("sleeping", sleep) {
            Err(Bounded::Limit(sentence)) => assert!(sentence.ends_with("while sleeping"), "{sentence}"),
            other => panic!("{other:?}"),
        }
    }
}
