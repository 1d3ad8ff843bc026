//! One run: opens the database, starts its server if it is asked to, drives, records, and has it checked.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::run::options::Options;
use ::run::promises::{Promise, promise};
use ::run::server::Server;
use ::run::{Control, Job, Pace, RunError, Summary, open_with_patience};
use databases::{Database, Description, Setting, Url};
use formats::Temporary;
use history::Datum;
use isoscope::units;
use record::Recorder;

use super::super::probe::text::short_version;
use super::check::{self, Checked, Question};
use super::live::Live;
use crate::args::LimitArguments;
use crate::exit::{Exit, Failure};
use crate::progress::Progress;
use crate::terminal::visible;
use crate::{connect, interrupt};

/// What a run gave.
pub struct Executed {
    /// The database.
    pub description: Description,
    /// Its isolation setting.
    pub setting: Setting,
    /// What is promised of the setting.
    pub promise: Option<Promise>,
    /// What the run did.
    pub summary: Summary,
    /// Where the history is, if it was recorded.
    pub out: Option<PathBuf>,
    /// What the check said, if there was one.
    pub checked: Option<Checked>,
    /// Why there is no answer, although there was a check.
    pub failure: Option<Failure>,
    /// What following the recording gave, if it was followed while it was made.
    pub followed: Option<Exit>,
}

/// Runs and checks.
pub fn execute(
    options: &Options,
    limits: &LimitArguments,
    with_witnesses: bool,
    follows: bool,
) -> Result<Executed, Failure> {
    let progress = Progress::start("connecting");
    let urls = connect::urls(&options.db)?;
    let mut server = start_server(options)?;
    let database = open(&urls, server.as_mut())?;
    let description = database.describe();
    let settings = options.choose_settings(database.as_ref()).map_err(Failure::new)?;
    let setting = together(&settings);
    let promise = promise_of(&description, &settings)?;
    let workload = options.build().map_err(Failure::new)?;
    ::run::check_abilities(database.as_ref(), workload.as_ref()).map_err(not_run)?;
    let claim = ::run::claim(database.as_ref(), workload.as_ref()).map_err(not_run)?;
    let job = options.job(database.as_ref(), &settings, workload.as_ref(), &claim);
    let recording = options.records.then(|| record(options, &description, &setting)).transpose()?;
    let (out, recorder) = recording.unzip();
    let live = match out.as_deref().filter(|_| follows) {
        Some(out) => Some(Live::start(out, options, promise.as_ref())?),
        None => None,
    };
    let is_shown = || live.as_ref().is_some_and(Live::is_violated);
    let summary = drive(&job, recorder.as_ref(), server.as_mut(), &progress, &is_shown)
        .map_err(|failure| with_recording(failure, out.as_deref()));
    let followed = live.map(Live::end).transpose();
    let (summary, followed) = (summary?, followed?);
    drop((claim, server));
    let (checked, failure) = match &out {
        Some(out) if options.checks => {
            let question = Question {
                options,
                promise,
                database: subject(&description, &setting),
                run_time: summary.elapsed,
                limits,
                with_witnesses,
            };
            match check::check(out, &question, &progress) {
                Ok(checked) => (Some(checked), None),
                Err(failure) => (None, Some(failure)),
            }
        }
        _ => (None, None),
    };
    // Until here no other run could write to the file that was checked.
    drop((recorder, progress));
    Ok(Executed { description, setting, promise, summary, out, checked, failure, followed })
}

/// Several settings as one, for sentences and names of files.
fn together(settings: &[Setting]) -> Setting {
    let names: Vec<&str> = settings.iter().map(|setting| setting.name.as_str()).collect();
    let is_default = settings.iter().all(|setting| setting.is_default);
    Setting { name: names.join("+"), is_default }
}

/// What is promised of the setting. Several settings are judged together, by the level that is promised of each.
fn promise_of(description: &Description, settings: &[Setting]) -> Result<Option<Promise>, Failure> {
    let promise = |setting: &Setting| promise(&description.product, &setting.name);
    match settings {
        [setting] => Ok(promise(setting)),
        settings => match settings.iter().find(|setting| promise(setting).is_none()) {
            None => Ok(None),
            Some(setting) => Err(Failure::new(format!(
                "isoscope does not know what {} promises at {}, so sessions at several settings cannot be judged by it",
                description.product, setting.name
            ))),
        },
    }
}

/// The database at its setting, as a sentence names it: `MariaDB 10.11.14 at repeatable-read`.
fn subject(description: &Description, setting: &Setting) -> String {
    let short = short_version(&description.version);
    visible(&format!("{} {short} at {}", description.product, setting.name))
}

fn start_server(options: &Options) -> Result<Option<Server>, Failure> {
    let Some(command) = &options.server_command else { return Ok(None) };
    let server = new_log().and_then(|log| Server::start(command, &log));
    server.map(Some).map_err(|error| Failure::new(format!("the server command could not be run: {error}")))
}

/// An empty file for what a server prints. A rename replaces whatever was planted under the name, and follows no link.
fn new_log() -> std::io::Result<PathBuf> {
    let folder = std::env::temp_dir();
    let log = folder.join(format!("isoscope-server-{}.log", std::process::id()));
    let (empty, _) = Temporary::file_in(&folder)?;
    std::fs::rename(empty.path(), &log)?;
    Ok(log)
}

fn open(urls: &[Url], server: Option<&mut Server>) -> Result<Box<dyn Database>, Failure> {
    match server {
        None => connect::open(urls),
        Some(server) => open_with_patience(urls, &interrupt::is_asked).map_err(|error| {
            Failure::new(format!("{error}; what the server said is in {}", server.log().display()))
        }),
    }
}

/// Begins the recording in the file that was named, or in a new one, with what people want to know of it.
fn record(
    options: &Options,
    description: &Description,
    setting: &Setting,
) -> Result<(PathBuf, Recorder), Failure> {
    let (out, recorder) = match &options.out {
        Some(out) => (out.clone(), Recorder::create(out)),
        None => new_file(options, description, setting),
    };
    let begin = || -> std::io::Result<Recorder> {
        let recorder = recorder?;
        recorder.note(&about(options, description, setting))?;
        Ok(recorder)
    };
    match begin() {
        Ok(recorder) => Ok((out, recorder)),
        Err(error) => Err(Failure::about(&out, &error)),
    }
}

/// A file of a name that is not taken, not even by another run that starts now.
fn new_file(
    options: &Options,
    description: &Description,
    setting: &Setting,
) -> (PathBuf, std::io::Result<Recorder>) {
    let plain = |text: &str| {
        text.to_lowercase().replace(|char: char| !char.is_ascii_alphanumeric() && char != '-', "-")
    };
    let (product, isolation) = (plain(&description.product), plain(&setting.name));
    let name = format!("run-{product}-{isolation}-{}-{}", options.workload.name, options.shape.seed);
    let numbered = (2..).map(|number| PathBuf::from(format!("{name}-{number}.jsonl")));
    let mut names = std::iter::once(PathBuf::from(format!("{name}.jsonl"))).chain(numbered);
    loop {
        let path = names.next().unwrap_or_default();
        match Recorder::create_new(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return (path, created),
        }
    }
}

fn about(options: &Options, description: &Description, setting: &Setting) -> Datum {
    Datum::row(vec![
        ("database".into(), Datum::str(format!("{} {}", description.product, description.version))),
        ("urls".into(), Datum::List(description.urls.iter().map(|url| Datum::str(url.as_str())).collect())),
        ("isolation".into(), Datum::str(setting.name.as_str())),
        ("workload".into(), Datum::from(options.workload.name)),
        ("sessions".into(), Datum::Int(options.shape.sessions.into())),
        ("seed".into(), Datum::uint(options.shape.seed)),
    ])
}

fn drive(
    job: &Job<'_>,
    recorder: Option<&Recorder>,
    server: Option<&mut Server>,
    progress: &Progress,
    is_shown: &dyn Fn() -> bool,
) -> Result<Summary, Failure> {
    let control = Control {
        is_stopped: &|| interrupt::is_asked() || is_shown(),
        progress: &|now| progress.set_share(&sentence(now), share(&job.pace, now)),
    };
    progress.set("creating the tables");
    let summary = interrupt::while_deciding(|| ::run::run(job, recorder, server, &control));
    // A run that is ended early still says what it showed.
    interrupt::forget();
    summary.map_err(not_run)
}

/// Names the recording of a run that failed: what it holds can still be checked.
fn with_recording(failure: Failure, out: Option<&Path>) -> Failure {
    match (failure, out) {
        (Failure::Message(reason), Some(out)) => {
            let out = visible(&out.display().to_string());
            Failure::new(format!("{reason}; what was recorded until then is in {out}"))
        }
        (failure, _) => failure,
    }
}

fn not_run(error: RunError) -> Failure {
    Failure::new(visible(&error.to_string()))
}

/// How much of a run is done: of its transactions or of its time, whichever is further.
fn share(pace: &Pace, now: &::run::Progress) -> Option<(f64, Duration)> {
    let done = (now.tally.committed + now.tally.unknown) as f64;
    let of_transactions = pace.transactions.map(|all| done / (all.max(1) as f64));
    let of_time = pace.duration.map(|all| now.elapsed.as_secs_f64() / all.as_secs_f64().max(1e-9));
    let share = of_transactions.into_iter().chain(of_time).reduce(f64::max)?;
    Some((share, now.elapsed))
}

fn sentence(now: &::run::Progress) -> String {
    let count = |number: u64| units::count(number as usize);
    let mut text = format!(
        "running: {} committed, {} per second, {} aborted",
        count(now.tally.committed),
        count(now.commits_per_second as u64),
        count(now.tally.aborted)
    );
    if now.tally.unknown > 0 {
        text += &format!(", {} unknown", count(now.tally.unknown));
    }
    text
}
