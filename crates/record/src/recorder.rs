//! The file of a recording, shared by all clients.
//!
//! One lock around the file, held for the one write of a finished line; the counts are atomic, for a progress line.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use formats::native_jsonl::NativeWriter;
use history::{Clock, Datum, Outcome};

use crate::SessionRecorder;
use crate::slots::Slots;
use crate::wall_clock::utc;

/// A recording in progress. Clones write to the same recording.
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
}

/// How many transactions ended how.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// The database said that they committed.
    pub committed: u64,
    /// They certainly took no effect.
    pub aborted: u64,
    /// The client did not hear the outcome.
    pub unknown: u64,
}

impl Counts {
    /// All together.
    pub fn total(&self) -> u64 {
        self.committed + self.aborted + self.unknown
    }
}

pub(crate) struct Shared {
    writer: Mutex<NativeWriter<Box<dyn Write + Send>>>,
    started: Instant,
    next_session: AtomicU64,
    /// By the number of the outcome.
    counts: [AtomicU64; 3],
    /// When the transactions in progress began.
    pub slots: Slots,
}

impl Recorder {
    /// Begins a recording in a file; a file of that name is emptied, unless another recording is being written to it.
    ///
    /// The file stays locked until the recorder and all its clones are dropped or the process ends.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::in_file(File::options().write(true).create(true).truncate(false).open(path)?)
    }

    /// The same in a file of a name that is not taken.
    pub fn create_new(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::in_file(File::create_new(path)?)
    }

    /// Devices and pipes can be written to by many.
    fn in_file(file: File) -> io::Result<Self> {
        if file.metadata()?.is_file() {
            file.try_lock().map_err(|error| match error {
                TryLockError::WouldBlock => io::Error::new(
                    io::ErrorKind::ResourceBusy,
                    "another recording is being written to this file",
                ),
                TryLockError::Error(error) => error,
            })?;
            file.set_len(0)?;
        }
        Self::new(Box::new(file))
    }

    /// Begins a recording anywhere. Each line is one write; buffered lines are lost in a crash.
    ///
    /// Times count from now; the first line after the header notes the wall clock.
    pub fn new(out: Box<dyn Write + Send>) -> io::Result<Self> {
        let started = Instant::now();
        let mut writer = NativeWriter::new(out, Clock::Nanoseconds)?;
        writer.note(&Datum::row(vec![("started".into(), Datum::str(utc(SystemTime::now())))]))?;
        let shared = Shared {
            writer: Mutex::new(writer),
            started,
            next_session: AtomicU64::new(0),
            counts: Default::default(),
            slots: Slots::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// A client with a name, if it has one; sessions are numbered from 0 in the order of these calls.
    pub fn session(&self, name: Option<&Datum>) -> io::Result<SessionRecorder> {
        let mut writer = self.shared.writer();
        let number = self.shared.next_session.fetch_add(1, Ordering::Relaxed);
        writer.session(number, name)?;
        drop(writer);
        Ok(SessionRecorder::new(Arc::clone(&self.shared), number))
    }

    /// The same for a client whose transactions run at an isolation level, unless
    /// [`SessionRecorder::set_level`] says otherwise.
    pub fn session_at(&self, name: Option<&Datum>, level: &str) -> io::Result<SessionRecorder> {
        let mut writer = self.shared.writer();
        let number = self.shared.next_session.fetch_add(1, Ordering::Relaxed);
        writer.session_at(number, name, level)?;
        drop(writer);
        Ok(SessionRecorder::new(Arc::clone(&self.shared), number))
    }

    /// The value with which keys start that have no other; without this line they are absent at first.
    pub fn default_value(&self, value: &Datum) -> io::Result<()> {
        self.shared.writer().default_value(value)
    }

    /// Keys with the values with which they start.
    pub fn initial(&self, pairs: &[(Datum, Datum)]) -> io::Result<()> {
        self.shared.writer().initial(pairs)
    }

    /// Keys that are there although nothing else may mention them.
    pub fn keys(&self, keys: &[Datum]) -> io::Result<()> {
        self.shared.writer().keys(keys)
    }

    /// Something for people, which readers pass over: the workload, the database, what a nemesis did.
    ///
    /// Passwords do not belong into a recording, and nothing here could recognise one.
    pub fn note(&self, note: &Datum) -> io::Result<()> {
        self.shared.writer().note(note)
    }

    /// Promises that [`Recorder::close`] will be called: a recording without it is known to have broken off, and what
    /// its last transactions saw is not held against the database.
    pub fn open(&self) -> io::Result<()> {
        self.shared.writer().open()
    }

    /// Every transaction that wrote something has ended and is recorded.
    pub fn close(&self) -> io::Result<()> {
        self.shared.writer().closed()
    }

    /// Says how far the recording has come, if the last time that it said so is a tenth of a second ago: all
    /// transactions that began before the moment of the mark are recorded. Sessions do so whenever a transaction ends;
    /// a program whose clients may all be idle calls it now and then.
    pub fn mark(&self) -> io::Result<()> {
        self.shared.mark()
    }

    /// Nanoseconds since the recording began: what the times of its transactions count.
    pub fn now_ns(&self) -> i64 {
        self.shared.now_ns()
    }

    /// How many transactions have ended so far.
    pub fn counts(&self) -> Counts {
        let count = |outcome: Outcome| self.shared.counts[outcome as usize].load(Ordering::Relaxed);
        Counts {
            committed: count(Outcome::Committed),
            aborted: count(Outcome::Aborted),
            unknown: count(Outcome::Unknown),
        }
    }

    /// Hands everything to the operating system, for a writer that buffers.
    pub fn flush(&self) -> io::Result<()> {
        self.shared.writer().flush()
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Recorder").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

impl Shared {
    pub fn now_ns(&self) -> i64 {
        i64::try_from(self.started.elapsed().as_nanos()).unwrap_or(i64::MAX)
    }

    /// Appends a finished transaction.
    pub fn append(&self, line: &[u8], outcome: Outcome) -> io::Result<()> {
        self.writer().transaction(line)?;
        self.counts[outcome as usize].fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Writes a mark if one is due.
    pub fn mark(&self) -> io::Result<()> {
        match self.slots.due(|| self.now_ns()) {
            Some(before) => self.writer().before(before),
            None => Ok(()),
        }
    }

    /// A client that panicked while it held the lock left at most a cut line, which the reader notices.
    fn writer(&self) -> MutexGuard<'_, NativeWriter<Box<dyn Write + Send>>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
