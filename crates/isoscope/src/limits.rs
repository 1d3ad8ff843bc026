//! Time and memory that a check may take, and how far it has come.
//!
//! The engine asks [`Limits::reached`] now and then. Work that does not ask soon enough is ended from outside: a process
//! that can end itself watches [`Limits::overdue`] in a thread; a library runs the work in [`Limits::bound`], in a thread
//! that is left behind when a limit is reached. Memory is what `/proc` says of this process.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
    /// What the process may hold if no memory limit was given.
    ceiling: Option<u64>,
    is_interrupted: fn() -> bool,
    /// Whether a thread watches [`Limits::overdue`] and ends the process.
    is_watched: AtomicBool,
    /// Microseconds from the start until the kernel may be asked for memory again.
    memory_due_us: AtomicU64,
    /// What the kernel said when it was asked last.
    is_memory_exceeded: AtomicBool,
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

/// Time that work has to end by itself once the time limit is reached: a part of the limit, and this at most.
const LONGEST_GRACE: Duration = Duration::from_millis(250);
const GRACE_SHARE: u32 = 20;

/// Time that work has to end by itself after an interrupt.
const INTERRUPT_GRACE: Duration = Duration::from_millis(300);

/// Memory beyond its limit that work may hold until it ends by itself: a part of the limit.
const EXCESS_SHARE: u64 = 25;

/// Where this much memory or more is left by default, the engine keeps to its own default.
const PLENTY: u64 = 4 << 30;

impl Limits {
    /// Starts the clock.
    ///
    /// # Errors
    /// If memory is limited and the system does not say how much the process holds.
    pub fn start(time: Option<Duration>, memory: Option<u64>) -> Result<Self, String> {
        if memory.is_some() && resident_bytes().is_none() {
            return Err("a memory limit needs /proc/self/statm, which is not there".to_owned());
        }
        Ok(Self {
            started: Instant::now(),
            time,
            memory,
            ceiling: None,
            is_interrupted: || false,
            is_watched: AtomicBool::new(false),
            memory_due_us: AtomicU64::new(0),
            is_memory_exceeded: AtomicBool::new(false),
        })
    }

    /// The same; without a memory limit the process may hold this many bytes, if the system says how many it holds.
    pub fn with_ceiling(self, ceiling: Option<u64>) -> Self {
        Self { ceiling: ceiling.filter(|_| resident_bytes().is_some()), ..self }
    }

    /// The same, ended also when the function says so.
    pub fn with_interrupt(self, is_interrupted: fn() -> bool) -> Self {
        Self { is_interrupted, ..self }
    }

    /// The memory limit.
    pub fn memory(&self) -> Option<u64> {
        self.memory
    }

    /// The memory limit, or what replaces it if none was given.
    pub fn most_memory(&self) -> Option<u64> {
        self.memory.or(self.ceiling)
    }

    /// Says that from now on a thread watches [`Limits::overdue`], so that [`Limits::bound`] needs none.
    pub fn set_watched(&self, is_watched: bool) {
        self.is_watched.store(is_watched, Ordering::Relaxed);
    }

    /// The limit that was reached so long ago, or is exceeded by so much, that the work should have ended by itself.
    /// `interrupted` keeps when the interrupt was first seen, from one call to the next.
    pub fn overdue(&self, interrupted: &mut Option<Instant>) -> Option<Limit> {
        if (self.is_interrupted)() {
            let since = *interrupted.get_or_insert_with(Instant::now);
            return (since.elapsed() > INTERRUPT_GRACE).then_some(Limit::Interrupt);
        }
        let with_grace = |limit: Duration| limit + (limit / GRACE_SHARE).min(LONGEST_GRACE);
        if self.time.is_some_and(|limit| self.elapsed() >= with_grace(limit)) {
            return Some(Limit::Time);
        }
        let is_exceeded = |memory: u64| resident_bytes() > Some(memory + memory / EXCESS_SHARE);
        self.most_memory().is_some_and(is_exceeded).then_some(Limit::Memory)
    }

    fn is_memory_reached(&self) -> bool {
        let Some(memory) = self.most_memory() else { return false };
        let now_us = self.elapsed().as_micros() as u64;
        if now_us >= self.memory_due_us.load(Ordering::Relaxed) {
            self.memory_due_us.store(now_us + MEMORY_INTERVAL_US, Ordering::Relaxed);
            let is_exceeded = resident_bytes().is_some_and(|resident| resident > memory);
            self.is_memory_exceeded.store(is_exceeded, Ordering::Relaxed);
        }
        self.is_memory_exceeded.load(Ordering::Relaxed)
    }

    /// Runs work that cannot ask for limits itself; `what` completes "while ...".
    pub fn bound<T: Send + 'static>(
        &self,
        what: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Bounded> {
        let has_limit = self.time.is_some() || self.most_memory().is_some();
        if !has_limit || self.is_watched.load(Ordering::Relaxed) {
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

    fn time_left(&self) -> Option<Duration> {
        self.time.map(|limit| limit.saturating_sub(self.elapsed()))
    }

    fn memory_bytes(&self) -> Option<u64> {
        self.memory.or(self.ceiling.filter(|&ceiling| ceiling < PLENTY))
    }

    fn sentence(&self, limit: Limit) -> String {
        match limit {
            Limit::Time => {
                format!("the time limit of {} was reached", units::duration(self.time.unwrap_or_default()))
            }
            Limit::Memory => match (self.memory, self.ceiling) {
                (Some(memory), _) => format!("the memory limit of {} was reached", units::size(memory)),
                (None, Some(ceiling)) if resident_bytes() >= Some(ceiling) => format!(
                    "the process holds {}, most of the memory that was free; --memory-limit SIZE allows it more",
                    units::size(ceiling)
                ),
                (None, _) => {
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

/// The share of the memory that is free which a process may take without being asked, in percent.
const FREE_SHARE: u64 = 80;

/// What this process may hold if it is told no limit: most of the memory that the machine, the control group and the
/// limit of the address space leave free now. `None` if the system does not say.
pub fn free_share() -> Option<u64> {
    let free = [machine_free(), group_free(), address_space()].into_iter().flatten().min()?;
    Some(free / 100 * FREE_SHARE)
}

/// What the kernel estimates can be had without swapping.
fn machine_free() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    Some(field_of(&meminfo, "MemAvailable:")? * 1024)
}

/// What the control group leaves, in the second version of control groups or in the first. The group's caches of files
/// can be had, so they count as free.
fn group_free() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let free = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let (root, limit, used, cache) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
            "memory" => (
                "/sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_inactive_file",
            ),
            _ => return None,
        };
        // In a container the path may be that of the host: then the group's files are at the root.
        let folder = [format!("{root}{path}"), root.to_owned()];
        folder.iter().find_map(|folder| {
            let number = |name: &str| -> Option<u64> {
                std::fs::read_to_string(format!("{folder}/{name}")).ok()?.trim().parse().ok()
            };
            let stat = std::fs::read_to_string(format!("{folder}/memory.stat")).unwrap_or_default();
            let used = number(used)?.saturating_sub(field_of(&stat, cache).unwrap_or(0));
            Some(number(limit)?.saturating_sub(used))
        })
    });
    free.min()
}

/// The limit of the address space (`ulimit -v`), which an allocation beyond would end the process.
fn address_space() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    field_of(&limits, "Max address space")
}

/// The number that follows a name at the begin of a line.
fn field_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What the processors spent on this process so far, to the hundredth of a second; on a machine with other work to do
/// this says more than the clock.
pub fn processor_time() -> Option<Duration> {
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may have blanks in it; user and system time are the 14th and 15th field.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u32>().ok());
    ticks.sum::<Option<u32>>().map(|ticks| ticks * TICK)
}

/// The most memory that this process ever held.
pub fn peak_bytes() -> Option<u64> {
    kilobytes_of("VmHWM:")
}

fn kilobytes_of(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    Some(field_of(&status, field)? * 1024)
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
            assert!(processor_time().is_some());
            let memory = Limits::start(None, Some(1)).unwrap();
            assert_eq!(memory.reached(), Some(Limit::Memory));
            assert!(peak_bytes() >= Some(1 << 20));
        }
    }

    #[test]
    fn work_is_overdue_only_after_its_grace() {
        let late = Limits::start(Some(Duration::ZERO), None).unwrap();
        assert_eq!(late.overdue(&mut None), Some(Limit::Time));
        let soon = Limits::start(Some(Duration::from_secs(3600)), None).unwrap();
        assert_eq!(soon.overdue(&mut None), None);
        let mut since = None;
        let interrupted = soon.with_interrupt(|| true);
        assert_eq!(interrupted.overdue(&mut since), None);
        since = Some(Instant::now() - 2 * INTERRUPT_GRACE);
        assert_eq!(interrupted.overdue(&mut since), Some(Limit::Interrupt));
    }

    #[test]
    fn without_a_limit_memory_ends_at_a_share_of_what_is_free() {
        let Some(share) = free_share() else { return };
        assert!(share > 1 << 20, "{share} bytes are no share of a machine that runs tests");
        let limits = Limits::start(None, None).unwrap().with_ceiling(Some(1));
        assert_eq!(limits.reached(), Some(Limit::Memory));
        assert!(limits.sentence(Limit::Memory).contains("most of the memory that was free"));
        let fields = "Max address space         8000 unlimited bytes\nMax data size unlimited";
        assert_eq!(field_of(fields, "Max address space"), Some(8000));
        assert_eq!(field_of(fields, "Max data size"), None);
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
