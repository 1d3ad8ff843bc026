//! Time and memory that a run may take, and how far it has come.
//!
//! The engine asks [`Limits::reached`] now and then. What cannot ask (reading, indexing) runs in [`Limits::bound`]: in
//! a thread that is left behind when a limit is reached. Memory is what `/proc` says of this process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use verify::Limit;

use crate::exit::Failure;
use crate::{interrupt, units};

/// The limits of a run, which begins when they are made.
#[derive(Debug)]
pub struct Limits {
    started: Instant,
    time: Option<Duration>,
    memory: Option<u64>,
    /// Microseconds from the start until the kernel may be asked for memory again.
    memory_due_us: AtomicU64,
}

/// How often the kernel is asked for memory at most.
const MEMORY_INTERVAL_US: u64 = 2000;

impl Limits {
    /// Starts the clock.
    pub fn start(time: Option<Duration>, memory: Option<u64>) -> Result<Self, Failure> {
        if memory.is_some() && resident_bytes().is_none() {
            return Err(Failure::new("--memory-limit needs /proc/self/statm, which is not there"));
        }
        Ok(Self { started: Instant::now(), time, memory, memory_due_us: AtomicU64::new(0) })
    }

    /// The memory limit.
    pub fn memory(&self) -> Option<u64> {
        self.memory
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The limit that is reached, if one is.
    pub fn reached(&self) -> Option<Limit> {
        if interrupt::is_asked() {
            return Some(Limit::Interrupt);
        }
        if self.time.is_some_and(|limit| self.elapsed() >= limit) {
            return Some(Limit::Time);
        }
        let memory = self.memory?;
        let now_us = self.elapsed().as_micros() as u64;
        if now_us < self.memory_due_us.load(Ordering::Relaxed) {
            return None;
        }
        self.memory_due_us.store(now_us + MEMORY_INTERVAL_US, Ordering::Relaxed);
        (resident_bytes()? > memory).then_some(Limit::Memory)
    }

    /// The limit as a sentence.
    pub fn sentence(&self, limit: Limit) -> String {
        match limit {
            Limit::Time => {
                format!("the time limit of {} was reached", units::duration(self.time.unwrap_or_default()))
            }
            Limit::Memory => {
                format!("the memory limit of {} was reached", units::size(self.memory.unwrap_or_default()))
            }
            Limit::Interrupt => "interrupted".to_owned(),
        }
    }

    /// Runs work that cannot ask for limits itself; `what` completes "while ...".
    pub fn bound<T: Send + 'static>(
        &self,
        what: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        if self.time.is_none() && self.memory.is_none() {
            return Ok(work());
        }
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || sender.send(work()));
        loop {
            match receiver.recv_timeout(Duration::from_millis(5)) {
                Ok(result) => return Ok(result),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(Failure::new(format!("isoscope failed while {what}")));
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if let Some(limit) = self.reached() {
                return Err(Failure::Limit(format!("{} while {what}", self.sentence(limit))));
            }
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
            Err(Failure::Limit(sentence)) => assert!(sentence.ends_with("while sleeping"), "{sentence}"),
            other => panic!("{other:?}"),
        }
    }
}
