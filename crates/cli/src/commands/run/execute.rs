//! One run: opens the database, starts its server if it is asked to, drives, records, and has it checked.

use std::path::{Path, PathBuf};

use ::run::options::Options;
use ::run::promises::{Promise, promise};
use ::run::server::Server;
use ::run::{Control, RunError, Summary, open_with_patience};
use databases::{Database, Description, Setting, Url};
use history::Datum;
use isoscope::units;
use record::Recorder;

use super::check::{self, Checked};
use crate::args::LimitArguments;
use crate::exit::Failure;
use crate::progress::Progress;
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
}

/// Runs and checks.
pub fn execute(options: &Options, limits: &LimitArguments) -> Result<Executed, Failure> {
    let progress = Progress::start("connecting");
    let urls = connect::urls(&options.db)?;
    let mut server = start_server(options)?;
    let database = open(&urls, server.as_mut())?;
    let description = database.describe();
    let setting = options.choose_setting(database.as_ref()).map_err(Failure::new)?;
    let promise = promise(&description.product, &setting.name);
    let out = options.records.then(|| output(options, &description, &setting));
    let recorder = out.as_deref().map(|out| record(out, options, &description, &setting)).transpose()?;
    let summary = drive(options, database.as_ref(), &setting, recorder.as_ref(), server.as_mut(), &progress)?;
    drop((recorder, server));
    let (checked, failure) = match &out {
        Some(out) if options.checks => match check::check(out, options, promise, limits, &progress) {
            Ok(checked) => (Some(checked), None),
            Err(failure) => (None, Some(failure)),
        },
        _ => (None, None),
    };
    drop(progress);
    Ok(Executed { description, setting, promise, summary, out, checked, failure })
}

fn start_server(options: &Options) -> Result<Option<Server>, Failure> {
    let Some(command) = &options.server_command else { return Ok(None) };
    let log = std::env::temp_dir().join(format!("isoscope-server-{}.log", std::process::id()));
    let server = Server::start(command, &log);
    server.map(Some).map_err(|error| Failure::new(format!("the server command could not be run: {error}")))
}

fn open(urls: &[Url], server: Option<&mut Server>) -> Result<Box<dyn Database>, Failure> {
    match server {
        None => connect::open(urls),
        Some(server) => open_with_patience(urls, &interrupt::is_asked).map_err(|error| {
            Failure::new(format!("{error}; what the server said is in {}", server.log().display()))
        }),
    }
}

/// The file of the history: as named, or a name that is not taken.
fn output(options: &Options, description: &Description, setting: &Setting) -> PathBuf {
    if let Some(out) = &options.out {
        return out.clone();
    }
    let product = description.product.to_lowercase().replace(|char: char| !char.is_ascii_alphanumeric(), "-");
    let name = format!("run-{product}-{}-{}-{}", setting.name, options.workload.name, options.shape.seed);
    let numbered = (2..).map(|number| PathBuf::from(format!("{name}-{number}.jsonl")));
    let mut names = std::iter::once(PathBuf::from(format!("{name}.jsonl"))).chain(numbered);
    names.find(|path| !path.exists()).unwrap_or_default()
}

/// Begins the recording, with what people want to know of it.
fn record(
    out: &Path,
    options: &Options,
    description: &Description,
    setting: &Setting,
) -> Result<Recorder, Failure> {
    let begin = || -> std::io::Result<Recorder> {
        let recorder = Recorder::create(out)?;
        recorder.note(&Datum::row(vec![
            ("database".into(), Datum::str(format!("{} {}", description.product, description.version))),
            (
                "urls".into(),
                Datum::List(description.urls.iter().map(|url| Datum::str(url.as_str())).collect()),
            ),
            ("isolation".into(), Datum::str(setting.name.as_str())),
            ("workload".into(), Datum::from(options.workload.name)),
            ("sessions".into(), Datum::Int(options.shape.sessions.into())),
            ("seed".into(), Datum::uint(options.shape.seed)),
        ]))?;
        Ok(recorder)
    };
    begin().map_err(|error| Failure::about(out, &error))
}

fn drive(
    options: &Options,
    database: &dyn Database,
    setting: &Setting,
    recorder: Option<&Recorder>,
    server: Option<&mut Server>,
    progress: &Progress,
) -> Result<Summary, Failure> {
    let workload = options.build().map_err(Failure::new)?;
    let job = options.job(database, setting, workload.as_ref());
    let control = Control { is_stopped: &interrupt::is_asked, progress: &|now| progress.set(&sentence(now)) };
    progress.set("creating the tables");
    let summary = interrupt::while_deciding(|| ::run::run(&job, recorder, server, &control));
    // Whoever ends a run still wants to know what it showed.
    interrupt::forget();
    summary.map_err(|error| match error {
        RunError::Database(sentence) => Failure::new(sentence),
        RunError::Recording(_) => Failure::new(error.to_string()),
    })
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
