//! `isoscope probe`: litmus schedules against every isolation setting of a database.

pub mod html;
pub mod json;
mod markdown;
mod suite;
mod table;
pub mod text;

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use databases::{Database, Setting, Statement, StatementKind, Url};
use probe::expect::{Difference, Expectation};
use probe::{Patience, Report, Suite, TABLE};

use crate::args::OutputArguments;
use crate::exit::{Exit, Failure};
use crate::files::{Named, flags, keep_apart, named, write_whole};
use crate::progress::Progress;
use crate::report::json::print_value;
use crate::report::outputs::{Collected, ReportArguments};
use crate::screen::{Form, Screen};
use crate::terminal::{Style, visible};
use crate::{connect, interrupt};

/// The flags of `probe`.
#[derive(Args, Debug)]
#[command(after_help = "\
The table isoscope_litmus of the database is dropped, made and filled for each schedule, and dropped at the end.

Exit codes: 0 the table was made (and is as expected), 1 it differs from --expect, 2 nothing could be asked, 130 Ctrl-C.")]
pub struct Arguments {
    /// The database: sqlite:PATH, postgres://USER@HOST:PORT/NAME, mariadb://..., and others (docs/run.md); several
    /// URLs are the nodes of one cluster
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    /// Only these isolation settings, instead of all that the database has
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    setting: Vec<String>,
    /// The schedules: hermitage, coo, predicates, or a file of schedules
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',', default_value = "hermitage")]
    schedules: Vec<String>,
    /// Ask whether the database shows this small history, such as `isoscope synth` writes, instead of schedules
    #[arg(long, value_name = "FILE", conflicts_with_all = ["schedules", "transcript"])]
    history: Option<PathBuf>,
    /// Also list every schedule with what came of it
    #[arg(long)]
    all: bool,
    /// Run only this schedule and show step by step what happened
    #[arg(long, value_name = "SCHEDULE")]
    transcript: Option<String>,
    /// Compare with what this file expects
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// Write what was found to this file, as --expect reads it
    #[arg(long, value_name = "FILE")]
    write_expect: Option<PathBuf>,
    /// After so many milliseconds without an answer a session waits, where the database does not tell
    #[arg(long, value_name = "MS", default_value_t = 150, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    wait_ms: u64,
    #[command(flatten)]
    reports: ReportArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let urls = connect::urls(&arguments.urls)?;
    keep_apart(&arguments.inputs(&urls), &arguments.outputs())?;
    let expectation = arguments.expect.as_deref().map(read_expectation).transpose()?;
    let suites = suites(arguments)?;
    let report =
        ask(arguments, &urls, suites).inspect_err(|failure| arguments.report_failure(&urls, failure))?;
    let differences = expectation.map(|expectation| expectation.differences(&report));
    if let Some(file) = &arguments.write_expect {
        write_whole(file, Form::Text, |out| Ok(out.write_all(probe::expect::text_of(&report).as_bytes())?))?;
    }
    if let Some(file) = &arguments.reports.html {
        crate::report::html::write(file, &html::page(&report))?;
    }
    let mut collected = Collected::default();
    collected.add(suite::of(&report, differences.as_deref()), |out| {
        markdown::write(&report, differences.as_deref(), out)
    })?;
    arguments.reports.write(&collected)?;
    print(arguments, &report, differences.as_deref())?;
    match differences.is_some_and(|differences| !differences.is_empty()) {
        true => Ok(Exit::Violated),
        false => Ok(Exit::Holds),
    }
}

/// Opens the database and asks it.
fn ask(arguments: &Arguments, urls: &[Url], suites: Vec<Suite>) -> Result<Report, Failure> {
    let database = connect::open(urls)?;
    let settings = settings(database.as_ref(), &arguments.setting)?;
    let report = probe_with_progress(arguments, database.as_ref(), suites, settings)?;
    match report.refused() {
        Some(reason) => {
            Err(Failure::new(format!("{}: nothing could be asked: {reason}", text::headline(&report))))
        }
        None => Ok(report),
    }
}

impl Arguments {
    /// Writes the reports of a database that could not be asked; that failure matters more than one to report it.
    fn report_failure(&self, urls: &[Url], failure: &Failure) {
        let mut collected = Collected::default();
        let name = urls.first().map_or_else(String::new, Url::to_string);
        let _ = collected.add_failure(&name, failure).and_then(|()| self.reports.write(&collected));
    }

    /// The files that are written.
    fn outputs(&self) -> Vec<Named> {
        let mut outputs = self.reports.outputs();
        outputs.extend(flags([("--write-expect", &self.write_expect)]));
        outputs
    }

    /// The files that are read.
    fn inputs(&self, urls: &[Url]) -> Vec<Named> {
        let schedules = self.schedules.iter().filter(|name| probe::built_in(name).is_none());
        let mut inputs = flags([("--expect", &self.expect), ("--history", &self.history)]);
        inputs.extend(schedules.map(|name| named("--schedules", name)));
        inputs.extend(connect::files(urls));
        inputs
    }
}

fn suites(arguments: &Arguments) -> Result<Vec<Suite>, Failure> {
    if let Some(file) = &arguments.history {
        return Ok(vec![suite_of_history(file)?]);
    }
    let mut suites: Vec<Suite> =
        arguments.schedules.iter().map(|name| suite(name)).collect::<Result<_, _>>()?;
    if let Some(name) = &arguments.transcript {
        for suite in &mut suites {
            suite.schedules.retain(|schedule| schedule.name == *name);
        }
        suites.retain(|suite| !suite.schedules.is_empty());
        if suites.is_empty() {
            let asked = arguments.schedules.join(", ");
            return Err(Failure::new(format!(
                "no schedule `{}` in {asked}; --schedules names others",
                visible(name)
            )));
        }
    }
    Ok(suites)
}

fn suite(name: &str) -> Result<Suite, Failure> {
    if let Some(suite) = probe::built_in(name) {
        return Ok(suite);
    }
    let path = Path::new(name);
    let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::new(format!("{name}: expected hermitage, coo, predicates or a file of schedules"))
        }
        _ => Failure::about(path, &error),
    })?;
    let called = path.file_stem().unwrap_or_default().to_string_lossy();
    Suite::parse(&called, &text).map_err(|error| Failure::new(format!("{name}: {error}")))
}

/// A suite of interleavings of a history.
fn suite_of_history(file: &Path) -> Result<Suite, Failure> {
    let options = formats::ReadOptions::default();
    let loaded = formats::read(&formats::Input::named(file.to_owned()), &options)
        .map_err(|error| Failure::new(error.to_string()))?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let schedules = probe::interleavings(&name, &loaded.history)
        .map_err(|reason| Failure::new(format!("{}: {reason}", file.display())))?;
    Ok(Suite { name: "history".to_owned(), schedules })
}

fn settings(database: &dyn Database, names: &[String]) -> Result<Vec<Setting>, Failure> {
    let known = database.settings();
    if names.is_empty() {
        return Ok(known);
    }
    let find = |name: &String| {
        let found = known.iter().find(|setting| setting.name == *name).cloned();
        found.ok_or_else(|| {
            let known: Vec<&str> = known.iter().map(|setting| setting.name.as_str()).collect();
            Failure::new(format!("no setting `{}`; this database has {}", visible(name), known.join(", ")))
        })
    };
    names.iter().map(find).collect()
}

fn read_expectation(file: &Path) -> Result<Expectation, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| Failure::about(file, &error))?;
    Expectation::parse(&text).map_err(|error| Failure::new(format!("{}: {error}", file.display())))
}

fn probe_with_progress(
    arguments: &Arguments,
    database: &dyn Database,
    suites: Vec<Suite>,
    settings: Vec<Setting>,
) -> Result<Report, Failure> {
    let progress = Progress::start("connecting");
    let total = settings.len() * suites.iter().map(|suite| suite.schedules.len()).sum::<usize>();
    let started = Instant::now();
    let mut done = 0;
    let without_views = std::time::Duration::from_millis(arguments.wait_ms);
    let patience = Patience { without_views, ..Patience::default() };
    let claim = database.claim(&[TABLE]).map_err(|failure| asking_failed(&failure))?;
    let report = until_interrupted(|| {
        probe::probe(database, suites, settings, patience, &mut |setting, schedule| {
            done += 1;
            let share = (done - 1) as f64 / (total as f64).max(1.0);
            let stage = format!("schedule {done} of {total}, {} at {}", schedule.name, setting.name);
            progress.set_share(&stage, Some((share, started.elapsed())));
            go_on()
        })
    });
    drop_table(database);
    drop(claim);
    report
}

/// Asks a database, until Ctrl-C; the caller cleans up.
pub fn until_interrupted(
    ask: impl FnOnce() -> Result<Option<Report>, databases::Failure>,
) -> Result<Report, Failure> {
    match interrupt::while_deciding(ask) {
        Ok(Some(report)) => Ok(report),
        Ok(None) => Err(Failure::Interrupted),
        Err(failure) => Err(asking_failed(&failure)),
    }
}

fn asking_failed(failure: &databases::Failure) -> Failure {
    Failure::new(visible(&::run::RunError::of("asking", failure).to_string()))
}

/// Whether Ctrl-C leaves time for another schedule.
pub fn go_on() -> ControlFlow<()> {
    if interrupt::is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Leaves the database as it was. What cannot be dropped stays: the answer is what matters.
fn drop_table(database: &dyn Database) {
    if !database.supports(StatementKind::Sql) {
        return;
    }
    if let (Some(setting), Ok(mut session)) = (database.settings().first(), database.connect(0)) {
        let drop = Statement::Sql(format!("DROP TABLE IF EXISTS {TABLE}"));
        let _ = session.begin(setting).and_then(|()| session.execute(&drop)).and_then(|_| session.commit());
    }
}

fn print(arguments: &Arguments, report: &Report, differences: Option<&[Difference]>) -> Result<(), Failure> {
    if arguments.reports.takes_stdout() {
        return Ok(());
    }
    if arguments.output.json {
        return print_value(&json::value(report, differences));
    }
    let mut out = Screen::stdout();
    let style = Style::of_stdout();
    match (arguments.reports.quiet, arguments.transcript.as_deref()) {
        (true, _) => text::write_sentence(report, style, &mut out)?,
        (false, Some(name)) => text::write_transcripts(report, name, &mut out)?,
        (false, None) if arguments.history.is_some() => text::write_history(report, &mut out)?,
        (false, None) => text::write(report, arguments.all, style, &mut out)?,
    }
    if let Some(differences) = differences {
        text::write_differences(differences, &mut out)?;
    }
    Ok(out.flush()?)
}
