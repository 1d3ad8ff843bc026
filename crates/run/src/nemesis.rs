//! Faults on request: the fault, how often it strikes, and which session.
//!
//! A schedule is `kill-server=10s,drop-connection=500ms,pause-session=2s:200ms`: each fault strikes once in its
//! interval. Victims come from the seed. The thread that watches the run strikes; a client finds a pause, or a
//! connection that is to be cut from its own side, before its next statement.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use drive::random::Random;

use crate::quantity::duration;

/// Something that happens to a client between two of its statements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disturbance {
    /// Its connection is cut.
    Drop,
    /// It does nothing for this long, in the middle of its transaction.
    Pause(Duration),
}

/// A fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The server's processes are killed with signal 9 and it is started again.
    KillServer,
    /// The connection of one session is cut.
    DropConnection,
    /// One session does nothing for a while.
    PauseSession(Duration),
}

impl Fault {
    /// The name in a schedule and in the notes of a history.
    pub fn name(self) -> &'static str {
        match self {
            Self::KillServer => "kill-server",
            Self::DropConnection => "drop-connection",
            Self::PauseSession(_) => "pause-session",
        }
    }
}

/// Which faults strike how often.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    entries: Vec<(Fault, Duration)>,
}

/// Faults more often than this would be all that happens.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

impl Schedule {
    /// Reads a schedule; an empty text is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        Ok(Self { entries: parts.map(parse_entry).collect::<Result<_, _>>()? })
    }

    /// Whether the server is to be killed.
    pub fn kills_server(&self) -> bool {
        self.entries.iter().any(|(fault, _)| *fault == Fault::KillServer)
    }

    /// Whether nothing is to happen.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The schedule as a clock that says what is due.
    pub(crate) fn start(&self, seed: u64) -> Due {
        let due = self.entries.iter().map(|&(fault, interval)| (fault, interval, interval)).collect();
        Due { due, random: Random::new(seed ^ 0x6e65_6d65_7369_7300) }
    }
}

fn parse_entry(text: &str) -> Result<(Fault, Duration), String> {
    let expected = "expected faults such as kill-server=10s, drop-connection=500ms or pause-session=2s:200ms";
    let (name, times) = text.split_once('=').ok_or_else(|| format!("{expected}, found `{text}`"))?;
    let (interval, length) = match times.split_once(':') {
        Some((interval, length)) => (duration(interval)?, Some(duration(length)?)),
        None => (duration(times)?, None),
    };
    if interval < SHORTEST_INTERVAL {
        return Err(format!("{text}: a fault may strike every 10ms at most"));
    }
    let fault = match (name, length) {
        ("kill-server", None) => Fault::KillServer,
        ("drop-connection", None) => Fault::DropConnection,
        ("pause-session", length) => Fault::PauseSession(length.unwrap_or(Duration::from_millis(200))),
        _ => return Err(format!("{expected}, found `{text}`")),
    };
    Ok((fault, interval))
}

/// What is due when.
#[derive(Debug)]
pub(crate) struct Due {
    /// Each fault with its interval and its next moment.
    due: Vec<(Fault, Duration, Duration)>,
    random: Random,
}

impl Due {
    /// The faults that are due at this time since the start.
    pub fn at(&mut self, now: Duration) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (fault, interval, next) in &mut self.due {
            if *next <= now {
                faults.push(*fault);
                // What was missed while the server was down is not made up for.
                *next = now + *interval;
            }
        }
        faults
    }

    /// A victim out of so many.
    pub fn victim(&mut self, count: usize) -> usize {
        self.random.below(count as u64) as usize
    }
}

/// Where clients find what happens to them.
#[derive(Debug)]
pub(crate) struct Board {
    pending: Vec<Mutex<Option<Disturbance>>>,
    has_pending: Vec<std::sync::atomic::AtomicBool>,
    server_ids: Vec<AtomicU64>,
}

/// No connection, or one whose id is not known.
const NO_ID: u64 = u64::MAX;

impl Board {
    pub fn new(sessions: usize) -> Self {
        Self {
            pending: (0..sessions).map(|_| Mutex::new(None)).collect(),
            has_pending: (0..sessions).map(|_| false.into()).collect(),
            server_ids: (0..sessions).map(|_| AtomicU64::new(NO_ID)).collect(),
        }
    }

    /// Leaves something for a client.
    pub fn put(&self, session: usize, disturbance: Disturbance) {
        *self.pending[session].lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(disturbance);
        self.has_pending[session].store(true, Ordering::Release);
    }

    /// What is there for a client, once.
    pub fn take(&self, session: usize) -> Option<Disturbance> {
        if !self.has_pending[session].load(Ordering::Acquire) {
            return None;
        }
        self.has_pending[session].store(false, Ordering::Release);
        self.pending[session].lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take()
    }

    /// Notes the id that the server has for a client's connection.
    pub fn set_server_id(&self, session: usize, id: Option<u64>) {
        self.server_ids[session].store(id.unwrap_or(NO_ID), Ordering::Relaxed);
    }

    /// The id that the server has for a client's connection.
    pub fn server_id(&self, session: usize) -> Option<u64> {
        let id = self.server_ids[session].load(Ordering::Relaxed);
        (id != NO_ID).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_says_what_is_due() {
        let schedule = Schedule::parse("kill-server=10s, pause-session=3s:50ms").unwrap();
        assert!(schedule.kills_server());
        let mut due = schedule.start(0);
        let pause = Fault::PauseSession(Duration::from_millis(50));
        assert_eq!(due.at(Duration::from_secs(2)), []);
        assert_eq!(due.at(Duration::from_secs(4)), [pause]);
        assert_eq!(due.at(Duration::from_secs(10)), [Fault::KillServer, pause]);
        assert_eq!(due.at(Duration::from_secs(11)), []);
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for wrong in [
            "kill-server",
            "kill-server=",
            "kill-server=5",
            "kill-server=1s:2s",
            "burn=1s",
            "drop-connection=1us",
        ] {
            assert!(Schedule::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Schedule::parse("").unwrap().is_empty());
    }

    #[test]
    fn a_client_finds_what_was_left_for_it_once() {
        let board = Board::new(2);
        board.put(1, Disturbance::Drop);
        assert_eq!((board.take(0), board.take(1), board.take(1)), (None, Some(Disturbance::Drop), None));
    }
}
