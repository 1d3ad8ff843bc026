//! `isoscope watch`: the verdict while a recording grows.
//!
//! Here are the flags; `follow.rs` reads and decides, `report.rs` says what changed, `metrics.rs` answers scrapers.

pub mod follow;
mod metrics;
mod report;

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use formats::native_jsonl::LineReader;
use isoscope::watch::{Source, Watcher};
use isoscope::{LevelId, Limits, limits, units};

use crate::args::{LimitArguments, OutputArguments};
use crate::exit::{Exit, Failure};
use crate::files::{flags, is_dash, keep_apart, named};
use crate::{interrupt, level_files};
use follow::{Follower, Pace};
use metrics::Metrics;
pub use report::Lines;

/// The flags of `watch`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The recording, in the native format: a file that grows, or - for standard input
    #[arg(value_name = "FILE")]
    recording: PathBuf,
    /// The level to follow; may be repeated [default: strict-serializable]
    #[arg(short, long = "level", value_name = "NAME", value_delimiter = ',')]
    levels: Vec<String>,
    /// How far apart the clocks of two clients may be, such as 5ms
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration, default_value = "0s")]
    clock_skew: Duration,
    /// Decide after so many transactions
    #[arg(long, value_name = "N", default_value_t = 1000)]
    batch: usize,
    /// Decide at the latest after this time, if something came
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration, default_value = "500ms")]
    interval: Duration,
    /// Go on after a violation: leave its transactions out, and look for others
    #[arg(long)]
    keep_going: bool,
    /// End at the end of the file instead of waiting for more
    #[arg(long)]
    no_follow: bool,
    /// Write the first violation here: a history that `check` violates; its certificate goes to FILE.certificate
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Write now and then where it is, and go on from there when it is started again; one level and a file only
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Answer http://127.0.0.1:PORT/metrics in the text format of Prometheus; 0 chooses a port and says which
    #[arg(long, value_name = "PORT")]
    metrics: Option<u16>,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let outputs = flags([("--save", &arguments.save), ("--checkpoint", &arguments.checkpoint)]);
    keep_apart(&[named("the recording", &arguments.recording)], &outputs)?;
    let limits = arguments.limits.start()?;
    let mut watchers = arguments.watchers()?;
    let (source, reader) = arguments.open(&mut watchers)?;
    let metrics = arguments.metrics.map(Metrics::serve).transpose()?;
    let name = follow::name_of(&arguments.recording);
    let mut lines = Lines::new(&name, arguments.output.json, arguments.save.clone());
    lines.metrics = metrics;
    let pace = Pace {
        interval: arguments.interval,
        ends_at_end: arguments.no_follow,
        keeps_going: arguments.keep_going,
        checkpoint: arguments.checkpoint.clone(),
    };
    let mut follower = Follower { name, source, reader, watchers, lines, pace, limits: &limits };
    interrupt::while_deciding(|| follower.follow(&interrupt::is_asked, &|| false))
}

impl Arguments {
    fn watchers(&self) -> Result<Vec<Watcher>, Failure> {
        let names: Vec<String> = match self.levels.is_empty() {
            true => vec![LevelId::StrictSerializable.name().to_owned()],
            false => self.levels.clone(),
        };
        if self.checkpoint.is_some() && (names.len() > 1 || is_dash(&self.recording)) {
            return Err(Failure::new("--checkpoint needs one level and a file that can be read again"));
        }
        names.iter().map(|name| Ok(self.watcher(level_files::find(name)?))).collect()
    }

    fn watcher(&self, level: LevelId) -> Watcher {
        let watcher = new_watcher(level, self.clock_skew, self.limits.memory_limit);
        let watcher = watcher.batch(self.batch).keep_going(self.keep_going);
        match is_dash(&self.recording) {
            true => watcher,
            false => {
                let path = self.recording.clone();
                watcher.read_again(Arc::new(move || Ok(Box::new(File::open(&path)?) as Box<dyn Read + Send>)))
            }
        }
    }

    /// The recording, from its beginning or from where a checkpoint says.
    fn open(&self, watchers: &mut [Watcher]) -> Result<(Source, LineReader), Failure> {
        let name = follow::name_of(&self.recording);
        if is_dash(&self.recording) {
            return Ok((Source::pipe(std::io::stdin()), LineReader::new(&name)));
        }
        let open = |offset| {
            Source::file(&self.recording, offset).map_err(|error| Failure::about(&self.recording, &error))
        };
        let Some(checkpoint) = self.checkpoint.as_deref().filter(|path| path.exists()) else {
            return Ok((open(0)?, LineReader::new(&name)));
        };
        let refused = |error: &dyn std::fmt::Display| {
            let shown = crate::terminal::visible(&checkpoint.display().to_string());
            Failure::new(format!("{shown}: {error}; remove it to begin anew"))
        };
        let [watcher] = watchers else { return Err(refused(&"it is for one level")) };
        let place = watcher.read_checkpoint(checkpoint).map_err(|error| refused(&error))?;
        let reader = LineReader::resume(&name, place.lines, watcher.clock(), watcher.sessions());
        Ok((open(place.offset)?, reader))
    }
}

/// A watcher whose questions Ctrl-C ends, and a memory limit.
pub fn new_watcher(level: LevelId, clock_skew: Duration, memory_limit: Option<u64>) -> Watcher {
    let new_limits = move || {
        let limits = Limits::start(None, memory_limit).or_else(|_| Limits::start(None, None));
        let limits = limits.unwrap_or_else(|_| unreachable!("no limit needs nothing"));
        let ceiling = if memory_limit.is_none() { limits::free_share() } else { None };
        limits.with_ceiling(ceiling).with_interrupt(interrupt::is_asked)
    };
    Watcher::new(level, clock_skew).limits(new_limits)
}
