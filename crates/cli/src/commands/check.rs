//! `isoscope check`: reads, asks, explains, reports.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use certify::Fingerprint;
use clap::Args;
use history::{Clock, Index};
use verify::Stages;

use crate::args::{InputArguments, LimitArguments, OutputArguments};
use crate::ask::{Answer, Decision, Question, no_engine};
use crate::exit::{Exit, Failure};
use crate::explanation::Explanation;
use crate::files::{is_dash, write_whole};
use crate::levels::{self, NamedLevel};
use crate::limits::{self, Limits};
use crate::load::Subject;
use crate::progress::Progress;
use crate::report::{self, NotAsked, Report, Ruling, RunStats};
use crate::{interrupt, units};

/// The flags of `check`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    input: InputArguments,
    /// The levels to decide, by name or alias; without it all, strongest first
    #[arg(short, long = "level", value_name = "NAME", value_delimiter = ',')]
    levels: Vec<String>,
    /// How far apart the clocks of two clients may be, such as 5ms, for the levels of real time
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration)]
    clock_skew: Option<Duration>,
    /// Write the proof of the answer to this file, for `isoscope certify`; needs exactly one --level
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
    /// Write a JUnit report to this file (- for standard output, instead of the text)
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a SARIF report to this file (- for standard output, instead of the text)
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write a Markdown summary to this file (- for standard output, instead of the text)
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Report time and counts of every stage, and the peak of memory
    #[arg(long)]
    stats: bool,
    #[command(flatten)]
    limits: LimitArguments,
    /// How many levels to decide at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Breaks ties in the search; equal seeds give equal runs
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Switch off a stage of the engine, to measure what it is worth (see docs/stages.md)
    #[arg(long, value_name = "STAGE", value_delimiter = ',', hide_short_help = true)]
    without: Vec<String>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let stages = parse_stages(&arguments.without)?;
    let asked = parse_levels(&arguments.levels)?;
    if arguments.certificate.is_some() && asked.len() != 1 {
        return Err(Failure::new(
            "--certificate is the proof of one answer: name one level with --level",
        ));
    }
    let limits = Limits::start(arguments.limits.time_limit, arguments.limits.memory_limit)?;
    let progress = Progress::start(&format!("reading {}", arguments.input.name()));
    let subject = match Subject::read(&arguments.input, &limits) {
        Ok(subject) => subject,
        Err(Failure::Limit(sentence)) if arguments.output.json => {
            drop(progress);
            return report::json::undecided_while_reading(&arguments.input.name(), &asked, &sentence);
        }
        Err(failure) => return Err(failure),
    };
    progress.set("indexing");
    let (subject, index, index_time) = index_of(subject, &limits)?;
    let clock_skew = skew_of(arguments.clock_skew, &subject)?;
    let (asked, not_asked) = choose(asked, &subject)?;
    let question = Question {
        history: &subject.history,
        index: &index,
        limits: &limits,
        seed: arguments.seed,
        stages,
        clock_skew,
        threads: usize::from(arguments.threads),
    };
    let answers = interrupt::while_deciding(|| question.ask(&asked, &|stage| progress.set(stage)))?;
    progress.set("explaining");
    let rulings = answers
        .into_iter()
        .map(|answer| rule(&question, answer))
        .collect();
    drop(progress);
    let report = Report {
        subject: &subject,
        rulings,
        not_asked,
        stats: arguments.stats.then(|| run_stats(&subject, index_time, &limits)),
    };
    subject.warn();
    if let Some(file) = &arguments.certificate {
        write_certificate(file, &report)?;
    }
    write_reports(arguments, &report)?;
    Ok(report.exit())
}

/// An answer with what people want to know about it.
pub fn rule(question: &Question<'_>, answer: Answer) -> Ruling {
    let limit = match answer.decision {
        Decision::Undecided(limit) => Some(question.limits.sentence(limit)),
        _ => None,
    };
    Ruling {
        explanation: Explanation::of(question.history, question.index, &answer),
        answer,
        limit,
    }
}

fn index_of(subject: Subject, limits: &Limits) -> Result<(Subject, Index, Duration), Failure> {
    let started = Instant::now();
    let (subject, index) = limits.bound("indexing the history", move || {
        let index = Index::of(&subject.history);
        (subject, index)
    })?;
    Ok((subject, index, started.elapsed()))
}

fn parse_stages(without: &[String]) -> Result<Stages, Failure> {
    let mut stages = Stages::default();
    for name in without {
        if !stages.switch_off(name) {
            let known = Stages::NAMES.join(", ");
            return Err(Failure::new(format!(
                "no stage is called {name:?}; there are {known}"
            )));
        }
    }
    Ok(stages)
}

fn parse_levels(names: &[String]) -> Result<Vec<NamedLevel>, Failure> {
    let mut asked: Vec<NamedLevel> = Vec::new();
    for name in names {
        let level = levels::find(name)?;
        if level.engine.is_none() {
            return Err(no_engine(level));
        }
        if asked.iter().all(|known| known.name() != level.name()) {
            asked.push(level);
        }
    }
    Ok(asked)
}

/// The skew in the unit of the history's clock.
fn skew_of(skew: Option<Duration>, subject: &Subject) -> Result<i64, Failure> {
    match (skew, subject.history.clock()) {
        (None, _) => Ok(0),
        (Some(skew), Clock::Nanoseconds) => Ok(skew.as_nanos() as i64),
        (Some(skew), Clock::Position) if skew.is_zero() => Ok(0),
        (Some(_), Clock::Position) => Err(Failure::new(format!(
            "--clock-skew does not apply to {}: its order of events is that of one recording, not of clocks",
            subject.name
        ))),
    }
}

/// What is asked: what the user named, or every level that the history can be asked for.
fn choose(named: Vec<NamedLevel>, subject: &Subject) -> Result<(Vec<NamedLevel>, Vec<NotAsked>), Failure> {
    let answerable = |level: &NamedLevel| subject.history.has_times() || !level.needs_times();
    if let Some(level) = named.iter().find(|level| !answerable(level)) {
        return Err(Failure::new(format!(
            "{} needs to know when transactions ran, and {} has no times; without times ask for {}",
            level.name(),
            subject.name,
            timeless(*level)
        )));
    }
    if !named.is_empty() {
        return Ok((named, Vec::new()));
    }
    let (asked, left): (Vec<_>, Vec<_>) = levels::with_engine().into_iter().partition(answerable);
    let not_asked = left.iter().map(|level| NotAsked {
        level: level.name(),
        reason: "the history has no times",
    });
    Ok((asked, not_asked.collect()))
}

/// The strongest level that a level of real time implies and that needs no times.
fn timeless(level: NamedLevel) -> &'static str {
    levels::with_engine()
        .into_iter()
        .find(|weaker| !weaker.needs_times() && levels::implies(level.name(), weaker.name()))
        .map_or("serializable", NamedLevel::name)
}

fn run_stats(subject: &Subject, index_time: Duration, limits: &Limits) -> RunStats {
    RunStats {
        read_ms: units::milliseconds(subject.read_time),
        index_ms: units::milliseconds(index_time),
        total_ms: units::milliseconds(limits.elapsed()),
        history_bytes: subject.history.heap_bytes() as u64,
        peak_memory_bytes: limits::peak_bytes(),
    }
}

fn write_certificate(file: &Path, report: &Report<'_>) -> Result<(), Failure> {
    let Some((level, certificate)) = report
        .rulings
        .iter()
        .find_map(|ruling| ruling.answer.certificate.as_ref())
    else {
        let file = file.display();
        eprintln!("warning: {file} was not written, since the answer has no certificate");
        return Ok(());
    };
    let fingerprint = Fingerprint::of(&report.subject.history);
    write_whole(file, |mut out| {
        Ok(certify::write(certificate, level, fingerprint, &mut out)?)
    })
}

fn write_reports(arguments: &Arguments, report: &Report<'_>) -> Result<(), Failure> {
    let mut is_stdout_taken = arguments.certificate.as_deref().is_some_and(is_dash);
    let files = [
        (&arguments.junit, report::junit::write as report::Writer),
        (&arguments.sarif, report::sarif::write),
        (&arguments.markdown, report::markdown::write),
    ];
    for (file, write) in files {
        if let Some(file) = file {
            write_whole(file, |out| write(report, out))?;
            is_stdout_taken |= is_dash(file);
        }
    }
    match (arguments.output.json, is_stdout_taken) {
        (_, true) => Ok(()),
        (true, false) => report::json::print(report),
        (false, false) => report::text::print(report),
    }
}
