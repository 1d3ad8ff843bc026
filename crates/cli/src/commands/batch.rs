//! `isoscope batch`: checks many histories, each in a process of its own, and writes a line of JSON for each.
//!
//! A process for each history keeps limits and failures apart: a history that reaches its limit or ends the process is an
//! answer like any other. A start costs a few milliseconds. Answers that the output has already are kept, so a batch that
//! was interrupted goes on where it stopped.

mod answers;
mod inputs;
mod process;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use clap::Args;
use isoscope::{limits, units};

use crate::args::{LimitArguments, processors};
use crate::exit::{Exit, Failure};
use crate::files::{keep_apart, named};
use crate::progress::Progress;
use crate::{interrupt, level_files};
use answers::Answers;
use process::Children;

/// The flags of `batch`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The histories: a folder with all that is in it, a list of files, one a line, or - for a list on standard input
    #[arg(value_name = "FOLDER|LIST")]
    histories: PathBuf,
    /// Append a line of JSON for each history to this file, as `check --json` answers (- for standard output);
    /// histories that it has an answer for are not checked again
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How many histories to check at the same time; without it as many as there are processors
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// The levels to decide, by name or alias or as a file FILE.iso; without it all
    #[arg(short, long = "level", value_name = "NAME", value_delimiter = ',')]
    levels: Vec<String>,
    /// How far apart the clocks of two clients may be, such as 5ms, for the levels of real time
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration)]
    clock_skew: Option<std::time::Duration>,
    /// The limits of each history; without --memory-limit the jobs share the memory that is free
    #[command(flatten)]
    limits: LimitArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut files = vec![named("the histories", &arguments.histories)];
    files.extend(level_files::inputs(&arguments.levels));
    keep_apart(&files, &[named("--output", &arguments.output)])?;
    let asked = level_files::asked(&arguments.levels)?;
    let found = inputs::find(&arguments.histories)?;
    let answers = Answers::open(&arguments.output, &asked.names())?;
    let left: VecDeque<PathBuf> = found.into_iter().filter(|path| !answers.has(path)).collect();
    let progress = Progress::start("checking histories");
    let batch = Batch {
        words: arguments.words(),
        left: Mutex::new(left),
        answers: Mutex::new(answers),
        children: Children::default(),
        failure: Mutex::new(None),
    };
    interrupt::while_deciding(|| batch.work(arguments.job_count(), &progress));
    progress.end();
    let failure = batch.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    match failure {
        Some(failure) => Err(failure),
        None if interrupt::is_asked() => Err(Failure::Interrupted),
        None => batch.answers.into_inner().unwrap_or_else(PoisonError::into_inner).report(),
    }
}

impl Arguments {
    fn job_count(&self) -> usize {
        self.jobs.map_or_else(processors, usize::from)
    }

    /// The words of `check` for each history.
    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["check".into(), "--json".into()];
        let mut flag = |name: &str, value: String| words.extend([name.into(), value.into()]);
        self.levels.iter().for_each(|level| flag("--level", level.clone()));
        flag("--threads", (processors() / self.job_count()).clamp(1, 256).to_string());
        if let Some(skew) = self.clock_skew {
            flag("--clock-skew", nanoseconds(skew));
        }
        if let Some(limit) = self.limits.time_limit {
            flag("--time-limit", nanoseconds(limit));
        }
        if let Some(bytes) = self.limits.memory_limit.or_else(|| self.share_of_memory()) {
            flag("--memory-limit", format!("{bytes}B"));
        }
        words
    }

    /// The memory of each job, so that all together stay within what is free; one job alone finds that out by itself.
    fn share_of_memory(&self) -> Option<u64> {
        match self.job_count() {
            1 => None,
            jobs => limits::free_share().map(|bytes| bytes / jobs as u64),
        }
    }
}

fn nanoseconds(duration: std::time::Duration) -> String {
    format!("{}ns", duration.as_nanos())
}

/// What the threads share.
struct Batch {
    words: Vec<OsString>,
    left: Mutex<VecDeque<PathBuf>>,
    answers: Mutex<Answers>,
    children: Children,
    failure: Mutex<Option<Failure>>,
}

impl Batch {
    fn work(&self, job_count: usize, progress: &Progress) {
        std::thread::scope(|scope| {
            let jobs: Vec<_> = (0..job_count).map(|_| scope.spawn(|| self.check_all(progress))).collect();
            while jobs.iter().any(|job| !job.is_finished()) {
                if interrupt::is_asked() {
                    self.children.kill();
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        });
    }

    /// Takes histories until none is left, the user ends the batch, or the output cannot be written.
    fn check_all(&self, progress: &Progress) {
        while let Some(path) = self.next() {
            progress.set(&format!("checking {}", path.display()));
            let answer = self.children.check(&path, &self.words);
            if interrupt::is_asked() {
                return;
            }
            let written = lock(&self.answers).add(answer);
            if let Err(failure) = written {
                lock(&self.failure).get_or_insert(failure);
            }
        }
    }

    fn next(&self) -> Option<PathBuf> {
        let is_over = interrupt::is_asked() || lock(&self.failure).is_some();
        if is_over { None } else { lock(&self.left).pop_front() }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
