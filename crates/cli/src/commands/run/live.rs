//! `run --watch`: the recording is followed in a thread while the clients run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ::run::options::Options;
use ::run::promises::Promise;
use formats::native_jsonl::LineReader;
use isoscope::watch::Source;
use isoscope::{LevelId, Limits};

use super::super::watch::follow::{Follower, Pace, name_of};
use super::super::watch::{Lines, new_watcher};
use crate::exit::{Exit, Failure};
use crate::level_files;

/// A recording that is followed while it is made.
pub struct Live {
    is_over: Arc<AtomicBool>,
    is_violated: Arc<AtomicBool>,
    thread: JoinHandle<Result<Exit, Failure>>,
}

impl Live {
    /// Follows a recording at the levels that the run is judged by.
    pub fn start(out: &Path, options: &Options, promise: Option<&Promise>) -> Result<Self, Failure> {
        let levels = levels(options, promise)?;
        let (is_over, is_violated) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (over, violated, out) = (Arc::clone(&is_over), Arc::clone(&is_violated), out.to_owned());
        let thread = std::thread::spawn(move || {
            let followed = follow(out, &levels, &over);
            violated.store(matches!(followed, Ok(Exit::Violated)), Ordering::Relaxed);
            followed
        });
        Ok(Self { is_over, is_violated, thread })
    }

    /// Whether a violation was found, so that the run has shown enough.
    pub fn is_violated(&self) -> bool {
        self.is_violated.load(Ordering::Relaxed)
    }

    /// Nothing more is recorded: what is left is decided.
    pub fn end(self) -> Result<Exit, Failure> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|_| {
            Err(Failure::new("the recording could not be followed; this is a bug of isoscope"))
        })
    }
}

fn follow(out: PathBuf, levels: &[LevelId], is_over: &AtomicBool) -> Result<Exit, Failure> {
    let name = name_of(&out);
    let source = Source::file(&out, 0).map_err(|error| Failure::about(&out, &error))?;
    let limits = Limits::start(None, None).map_err(Failure::new)?;
    let mut lines = Lines::new(&name, false, None);
    lines.to_stderr = true;
    let watchers = levels.iter().map(|&level| {
        let path = out.clone();
        new_watcher(level, Duration::ZERO, None).read_again(Arc::new(move || {
            Ok(Box::new(std::fs::File::open(&path)?) as Box<dyn std::io::Read + Send>)
        }))
    });
    let pace = Pace {
        interval: Duration::from_millis(500),
        ends_at_end: false,
        keeps_going: false,
        checkpoint: None,
    };
    let reader = LineReader::new(&name);
    let watchers = watchers.collect();
    Follower { name, source, reader, watchers, lines, pace, limits: &limits }
        .follow(&|| false, &|| is_over.load(Ordering::Relaxed))
}

/// The levels that were named, else the one that is promised, else the strongest.
fn levels(options: &Options, promise: Option<&Promise>) -> Result<Vec<LevelId>, Failure> {
    match (options.levels.is_empty(), promise) {
        (false, _) => options.levels.iter().map(|name| level_files::find(name)).collect(),
        (true, Some(promise)) => Ok(vec![promise.level]),
        (true, None) => Ok(vec![LevelId::StrictSerializable]),
    }
}
