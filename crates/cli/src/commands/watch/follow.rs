//! Reads what is new, has it decided, and says what changed, until the recording ends.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use formats::native_jsonl::LineReader;
use isoscope::watch::{Next, Place, Source, WatchError, Watcher};
use isoscope::{Limits, Monitor};

use super::report::Lines;
use crate::exit::{Exit, Failure};
use crate::files::is_dash;
use crate::screen::say;
use crate::terminal::visible;

/// How a recording is followed.
pub struct Pace {
    /// Decide at the latest after this time, if something came.
    pub interval: Duration,
    /// End at the end of the file.
    pub ends_at_end: bool,
    /// Go on after a violation.
    pub keeps_going: bool,
    /// Where to write where it is.
    pub checkpoint: Option<PathBuf>,
}

/// A recording and what is known of it.
pub struct Follower<'f> {
    /// What to call the recording.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
    /// Reads its lines.
    pub reader: LineReader,
    /// One for each level.
    pub watchers: Vec<Watcher>,
    /// Says what changed.
    pub lines: Lines,
    /// How it is followed.
    pub pace: Pace,
    /// When to stop.
    pub limits: &'f Limits,
}

/// How long nothing may come until it is looked at what else there is to do.
const WAIT: Duration = Duration::from_millis(50);

/// The time between two checkpoints.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(5);

/// What a look at the recording gave.
enum Received {
    Some,
    None,
    End,
}

impl Follower<'_> {
    /// Follows the recording until it ends, or until `is_stopped`; `is_over` says that nothing more will be written.
    pub fn follow(
        &mut self,
        is_stopped: &dyn Fn() -> bool,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Exit, Failure> {
        let (mut asked, mut saved) = (Instant::now(), Instant::now());
        loop {
            // Asked before the read: what was written before is read then.
            let was_over = is_over();
            let step = self.step()?;
            if asked.elapsed() >= self.pace.interval {
                asked = Instant::now();
                self.decide()?;
            }
            self.lines.tell(&mut self.watchers)?;
            if saved.elapsed() >= CHECKPOINT_INTERVAL && self.checkpoint()? {
                saved = Instant::now();
            }
            let has_enough =
                !self.pace.keeps_going && self.watchers.iter().all(|one| one.verdict().is_violated());
            if has_enough || is_stopped() || self.limits.reached().is_some() {
                return self.finish(true);
            }
            match step {
                Received::End => break,
                Received::None if was_over || self.is_at_end() => break,
                Received::Some | Received::None => {}
            }
        }
        self.finish(false)
    }

    fn step(&mut self) -> Result<Received, Failure> {
        let next = self.source.next(WAIT).map_err(|error| Failure::new(format!("{}: {error}", self.name)))?;
        match next {
            Next::End => Ok(Received::End),
            Next::Idle => Ok(Received::None),
            Next::Rotated => {
                self.reader.rotate();
                Ok(Received::Some)
            }
            Next::Lines(lines) => {
                let batch =
                    self.reader.read(lines).map_err(|error| Failure::new(visible(&error.to_string())))?;
                self.lines.note_times(&batch, &self.watchers);
                self.watchers.iter_mut().try_for_each(|watcher| watcher.take(&batch)).map_err(failed)?;
                Ok(Received::Some)
            }
        }
    }

    fn decide(&mut self) -> Result<(), Failure> {
        let mut behind =
            self.watchers.iter_mut().filter(|watcher| watcher.is_behind() && !watcher.is_whole());
        behind.try_for_each(|watcher| watcher.decide().map_err(failed))
    }

    /// Whether everything is read and the recorder is gone.
    fn is_at_end(&self) -> bool {
        let is_closed = self.watchers.iter().all(Watcher::is_closed);
        self.pace.ends_at_end || (is_closed || self.reader.is_open()) && !self.source.is_locked()
    }

    /// Decides what is left. A recording whose recorder promised to close it and did not has broken off.
    fn finish(&mut self, is_stopped: bool) -> Result<Exit, Failure> {
        let rest = self.source.rest();
        if !rest.trim_ascii().is_empty() && !is_stopped {
            match self.reader.read(&[rest, b"\n"].concat()) {
                Ok(batch) => {
                    self.watchers.iter_mut().try_for_each(|watcher| watcher.take(&batch)).map_err(failed)?;
                }
                Err(_) => say(&format!("warning: {}: the last line is cut off and was left out", self.name)),
            }
        }
        let is_broken = self.reader.is_open();
        for watcher in &mut self.watchers {
            let ended = if is_broken || is_stopped { watcher.finish() } else { watcher.close() };
            ended.map_err(failed)?;
        }
        self.lines.tell(&mut self.watchers)?;
        self.checkpoint()?;
        self.lines.end(&mut self.watchers, is_broken && !is_stopped)
    }

    fn checkpoint(&mut self) -> Result<bool, Failure> {
        let (Some(path), [watcher]) = (&self.pace.checkpoint, &mut self.watchers[..]) else {
            return Ok(false);
        };
        let Some(offset) = self.source.offset() else { return Ok(false) };
        if watcher.is_behind() {
            watcher.decide().map_err(failed)?;
        }
        let place = Place { offset, lines: self.reader.lines() };
        let written = watcher.write_checkpoint(path, place);
        written.map_err(|error| Failure::new(format!("{}: {error}", visible(&path.display().to_string()))))
    }
}

fn failed(error: WatchError) -> Failure {
    Failure::new(visible(&error.to_string()))
}

/// What to call a recording when speaking of it.
pub fn name_of(path: &Path) -> String {
    if is_dash(path) { "standard input".to_owned() } else { visible(&path.display().to_string()) }
}
