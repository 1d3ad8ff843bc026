//! A watcher on disk, so that one that was killed goes on where it was.
//!
//! A checkpoint is a native recording: the last versions are its initial state, and the transactions of the window its
//! transactions, called by a list of their number in the recording, their name in it, and whether they are in a session,
//! are parts, and may not count. An empty transaction has the rest in its name.
//! It is written beside its place and renamed, so a process that is killed leaves the one before.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use ::watch::{Frontier, Kind, Row, Window};
use formats::native_jsonl::{NativeWriter, TxnLine};
use formats::{Input, ReadOptions};
use history::{Datum, History, Outcome, SessionId, TxnTimes};

use super::Watcher;

/// Where a watcher is in its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// Bytes that were read.
    pub offset: u64,
    /// Lines that were read.
    pub lines: u64,
}

/// Why a checkpoint cannot be used.
#[derive(Debug)]
pub enum CheckpointError {
    /// It cannot be read or written.
    Io(io::Error),
    /// It is no checkpoint.
    Input(String),
    /// It is one for another question.
    Other(String),
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(out),
            Self::Input(what) => write!(out, "it is no checkpoint of isoscope watch: {what}"),
            Self::Other(what) => write!(out, "it is a checkpoint for {what}"),
        }
    }
}

impl std::error::Error for CheckpointError {}

impl From<io::Error> for CheckpointError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

const VERSION: i64 = 1;

/// Sessions from this number on are those of the checkpoint itself.
const OWN_SESSIONS: u64 = 1 << 62;

impl Watcher {
    /// Writes a checkpoint, if the watcher is one that can go on from one: it follows a window that holds.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_checkpoint(&self, path: &Path, place: Place) -> Result<bool, CheckpointError> {
        let is_holding = self.verdict.is_holding() && self.unasked == 0;
        let Some(window) = self.window.as_ref().filter(|_| is_holding) else { return Ok(false) };
        let beside = path.with_extension("unfinished");
        let mut writer = NativeWriter::new(BufWriter::new(File::create(&beside)?), self.clock)?;
        let (state, default) = window.state();
        writer.default_value(default)?;
        for part in state.chunks(100) {
            writer.initial(part)?;
        }
        let sessions = window.sessions();
        for (number, name) in &sessions {
            writer.session(*number, name.as_ref())?;
        }
        let numbers = self.numbers(window, place);
        let numbers = TxnLine::new(OWN_SESSIONS, Some(&numbers));
        writer.transaction(&numbers.end(Outcome::Aborted, TxnTimes::default()))?;
        for (place, (row, is_optional)) in window.rows().enumerate() {
            let own = OWN_SESSIONS + 1 + place as u64;
            let session = row.session.map_or(own, |session| sessions[session as usize].0);
            writer.transaction(&line(window, row, session, is_optional))?;
        }
        let file = writer.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        std::fs::rename(&beside, path)?;
        Ok(true)
    }

    fn numbers(&self, window: &Window, place: Place) -> Datum {
        let int = |value: u64| Datum::Int(value as i64);
        let (ends, mark, is_unannounced) = window.frontier.parts();
        let optional = |time: Option<i64>| time.map_or(Datum::Nil, Datum::Int);
        Datum::row(vec![
            ("checkpoint".into(), Datum::Int(VERSION)),
            ("level".into(), Datum::str(self.level.name())),
            ("skew".into(), Datum::Int(self.skew)),
            ("offset".into(), int(place.offset)),
            ("lines".into(), int(place.lines)),
            ("seen".into(), int(self.seen)),
            ("loosened".into(), int(window.loosened())),
            ("mark".into(), optional(mark)),
            ("unannounced".into(), Datum::Bool(is_unannounced)),
            ("ends".into(), Datum::List(ends.iter().map(|&end| optional(end)).collect())),
            (
                "sessions".into(),
                Datum::List(window.sessions().iter().map(|(number, _)| int(*number)).collect()),
            ),
            ("times".into(), Datum::List(window.last_times().iter().map(|&time| Datum::Int(time)).collect())),
        ])
    }

    /// Goes on from a checkpoint; gives back where the file has to be read further.
    ///
    /// # Errors
    /// If it is none, or one for another question.
    pub fn read_checkpoint(&mut self, path: &Path) -> Result<Place, CheckpointError> {
        let loaded = formats::read(&Input::named(path), &ReadOptions::default());
        let history = loaded.map_err(|error| CheckpointError::Input(error.to_string()))?.history;
        let numbers =
            history.txns().find_map(|txn| history.txn_name(txn).filter(|name| matches!(name, Datum::Row(_))));
        let numbers = Numbers(numbers.ok_or_else(|| no_checkpoint("its numbers are missing"))?);
        if numbers.int("checkpoint")? != VERSION {
            return Err(no_checkpoint("another version of isoscope wrote it"));
        }
        self.compare(&numbers)?;
        self.set_clock(history.clock());
        let Some(window) = &mut self.window else { return Err(no_checkpoint("this level has no window")) };
        restore(window, &history, &numbers)?;
        self.collected = None;
        self.seen = numbers.int("seen")? as u64;
        self.sessions =
            window.sessions().iter().zip(0..).map(|(&(number, _), place)| (number, place)).collect();
        self.frontier = window.frontier.clone();
        self.note_holding();
        Ok(Place { offset: numbers.int("offset")? as u64, lines: numbers.int("lines")? as u64 })
    }

    fn compare(&self, numbers: &Numbers) -> Result<(), CheckpointError> {
        let level = numbers.get("level")?;
        if *level != Datum::str(self.level.name()) {
            return Err(CheckpointError::Other(format!("the level {level}, not {}", self.level)));
        }
        let skew = numbers.int("skew")?;
        if skew != self.skew {
            return Err(CheckpointError::Other(format!("a clock skew of {skew} ns, not {} ns", self.skew)));
        }
        Ok(())
    }

    /// The numbers of the sessions so far, for a reader that goes on.
    pub fn sessions(&self) -> Vec<u64> {
        let mut sessions: Vec<u64> = self.sessions.keys().copied().collect();
        sessions.sort_unstable();
        sessions
    }

    /// What the times of the recording count.
    pub fn clock(&self) -> history::Clock {
        self.clock
    }
}

fn restore(window: &mut Window, history: &History, numbers: &Numbers) -> Result<(), CheckpointError> {
    let refused = |refused: ::watch::Refused| no_checkpoint(&refused.to_string());
    window.set_initial(history).map_err(refused)?;
    let times: Option<Vec<i64>> = numbers.list("times")?.iter().map(int).collect();
    let times = times.ok_or_else(|| no_checkpoint("a time is missing"))?;
    let ends = numbers.list("ends")?.iter().map(int).collect();
    let is_unannounced = *numbers.get("unannounced")? == Datum::Bool(true);
    let frontier = Frontier::of_parts(ends, int(numbers.get("mark")?), is_unannounced);
    for (place, number) in numbers.list("sessions")?.iter().enumerate() {
        let number = int(number).ok_or_else(|| no_checkpoint("a session has no number"))?;
        window.introduce(number as u64, history.session_name(SessionId::from_index(place)));
    }
    window.restore(numbers.int("seen")? as u64, numbers.int("loosened")? as u64, times, frontier);
    for txn in history.txns() {
        let Some(Datum::List(name)) = history.txn_name(txn) else { continue };
        let [
            Datum::Int(number),
            name,
            Datum::Bool(is_in_session),
            Datum::Bool(is_part),
            Datum::Bool(is_optional),
        ] = &*name
        else {
            return Err(no_checkpoint("a transaction has another name"));
        };
        let row = Row {
            number: *number as u64,
            session: is_in_session.then(|| history.session_of(txn).0),
            name: Some(name.clone()).filter(|name| *name != Datum::Nil),
            outcome: history.outcome(txn),
            times: history.times(txn),
            ops: Vec::new(),
            is_part: *is_part,
        };
        window.restore_row(row, *is_optional, history, txn).map_err(refused)?;
    }
    Ok(())
}

/// A row as a line.
fn line(window: &Window, row: &Row, session: u64, is_optional: bool) -> Vec<u8> {
    let name = [
        Datum::Int(row.number as i64),
        row.name.clone().unwrap_or(Datum::Nil),
        Datum::Bool(row.session.is_some()),
        Datum::Bool(row.is_part),
        Datum::Bool(is_optional),
    ];
    let mut line = TxnLine::new(session, Some(&Datum::List(name.into())));
    for op in &row.ops {
        let key = window.key(op.key);
        match op.kind {
            Kind::Read => line.read(key, &op.value),
            Kind::Write => line.write(key, &op.value),
            Kind::Insert => line.insert(key, &op.value),
            Kind::Delete => line.delete(key, None),
        }
    }
    line.end(row.outcome, row.times)
}

/// What a checkpoint says beside its transactions.
struct Numbers(Datum);

impl Numbers {
    fn get(&self, name: &str) -> Result<&Datum, CheckpointError> {
        self.0.column(name).ok_or_else(|| no_checkpoint(&format!("{name} is missing")))
    }

    fn int(&self, name: &str) -> Result<i64, CheckpointError> {
        int(self.get(name)?).ok_or_else(|| no_checkpoint(&format!("{name} is no number")))
    }

    fn list(&self, name: &str) -> Result<&[Datum], CheckpointError> {
        match self.get(name)? {
            Datum::List(items) => Ok(items),
            _ => Err(no_checkpoint(&format!("{name} is no list"))),
        }
    }
}

fn int(datum: &Datum) -> Option<i64> {
    match datum {
        Datum::Int(int) => Some(*int),
        _ => None,
    }
}

fn no_checkpoint(what: &str) -> CheckpointError {
    CheckpointError::Input(what.to_owned())
}
