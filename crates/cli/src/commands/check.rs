//! `isoscope check`: reads, asks, explains, reports.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use certify::Fingerprint;
use clap::Args;
use history::{Clock, Index};
use isoscope::{Asked, Check, Limits, Monitor, Stages, limits, units};

use crate::args::{InputArguments, LimitArguments, OutputArguments};
use crate::exit::{Exit, Failure};
use crate::files::{flags, is_stdout, keep_apart, named, write_whole};
use crate::load::Subject;
use crate::progress::{Progress, Watched};
use crate::report::{self, Report, RunStats};
use crate::screen::{Form, say};
use crate::terminal::visible;
use crate::{interrupt, level_files, refused};

/// The flags of `check`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    input: InputArguments,
    /// The levels to decide, by name or alias or as a file FILE.iso; without it all, strongest first
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
    /// Do not have the checker examine the certificate of each verdict before it is given, to measure the engine alone
    #[arg(long, hide_short_help = true)]
    no_certify: bool,
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
    arguments.keep_apart()?;
    let stages = parse_stages(&arguments.without)?;
    let asked = level_files::asked(&arguments.levels)?;
    if arguments.certificate.is_some() && !asked.is_one_with_engine() {
        return Err(Failure::new(
            "--certificate is the proof of one answer: name one level that has an engine with --level",
        ));
    }
    let limits = arguments.limits.start()?;
    let progress = Progress::start(&format!("reading {}", arguments.input.name()));
    let prepared = Prepared::read(arguments, &limits, &progress);
    if let (Err(Failure::Limit(sentence)), true) = (&prepared, arguments.output.json) {
        drop(progress);
        return report::json::undecided_without_history(&arguments.input.name(), &asked, sentence);
    }
    let prepared = prepared?;
    let report = prepared.report(arguments, asked, stages, &limits, &progress);
    drop(progress);
    // What is odd about the input may be why it cannot be asked.
    prepared.subject.warn();
    let report = report?;
    if let Some(file) = &arguments.certificate {
        write_certificate(file, &report)?;
    }
    write_reports(arguments, &report)?;
    Ok(report.exit())
}

impl Arguments {
    /// No output is an input or another output.
    fn keep_apart(&self) -> Result<(), Failure> {
        let mut inputs = vec![named("the history", &self.input.history)];
        inputs.extend(level_files::inputs(&self.levels));
        let outputs = [
            ("--certificate", &self.certificate),
            ("--junit", &self.junit),
            ("--sarif", &self.sarif),
            ("--markdown", &self.markdown),
        ];
        keep_apart(&inputs, &flags(outputs))
    }
}

/// A history that is ready to be asked about.
struct Prepared {
    subject: Subject,
    index: Index,
    index_time: Duration,
}

impl Prepared {
    fn read(arguments: &Arguments, limits: &Limits, progress: &Progress) -> Result<Self, Failure> {
        let subject = Subject::read(&arguments.input, limits)?;
        progress.set("indexing");
        let started = Instant::now();
        let (subject, index) = limits.bound("indexing the history", move || {
            let index = Index::of(&subject.history);
            (subject, index)
        })?;
        Ok(Self { subject, index, index_time: started.elapsed() })
    }

    fn report(
        &self,
        arguments: &Arguments,
        asked: Asked,
        stages: Stages,
        limits: &Limits,
        progress: &Progress,
    ) -> Result<Report<'_>, Failure> {
        let monitor = Watched { limits, progress };
        let check = Check::new(&self.subject.history)
            .index(&self.index)
            .levels(asked)
            .monitor(&monitor)
            .seed(arguments.seed)
            .stages(stages)
            .clock_skew(skew_of(arguments.clock_skew, &self.subject)?)
            .threads(usize::from(arguments.threads))
            .certify(!arguments.no_certify);
        let report = interrupt::while_deciding(|| check.run());
        let report = report.map_err(|error| refused::failure(&self.subject, error))?;
        Ok(Report {
            subject: &self.subject,
            answers: report.answers,
            not_asked: report.not_asked,
            stats: arguments.stats.then(|| self.stats(limits)),
        })
    }

    fn stats(&self, limits: &Limits) -> RunStats {
        RunStats {
            read_ms: units::milliseconds(self.subject.read_time),
            index_ms: units::milliseconds(self.index_time),
            total_ms: units::milliseconds(limits.elapsed()),
            history_bytes: self.subject.history.heap_bytes() as u64,
            peak_memory_bytes: limits::peak_bytes(),
        }
    }
}

fn parse_stages(without: &[String]) -> Result<Stages, Failure> {
    let mut stages = Stages::default();
    for name in without {
        if !stages.switch_off(name) {
            let known = Stages::NAMES.join(", ");
            return Err(Failure::new(format!("no stage is called {name:?}; there are {known}")));
        }
    }
    Ok(stages)
}

/// The skew, which only clocks have.
fn skew_of(skew: Option<Duration>, subject: &Subject) -> Result<Duration, Failure> {
    let skew = skew.unwrap_or_default();
    match subject.history.clock() {
        Clock::Position if !skew.is_zero() => Err(Failure::new(format!(
            "--clock-skew does not apply to {}: its order of events is that of one recording, not of clocks",
            subject.name
        ))),
        Clock::Position | Clock::Nanoseconds => Ok(skew),
    }
}

fn write_certificate(file: &Path, report: &Report<'_>) -> Result<(), Failure> {
    let Some((level, certificate)) = report.answers.iter().find_map(|answer| answer.certificate.as_ref())
    else {
        let file = visible(&file.display().to_string());
        say(&format!("warning: {file} was not written, since the answer has no certificate"));
        return Ok(());
    };
    let fingerprint = Fingerprint::of(&report.subject.history);
    write_whole(file, Form::Json, |mut out| Ok(certify::write(certificate, level, fingerprint, &mut out)?))
}

fn write_reports(arguments: &Arguments, report: &Report<'_>) -> Result<(), Failure> {
    let mut is_stdout_taken = arguments.certificate.as_deref().is_some_and(is_stdout);
    let files = [
        (&arguments.junit, Form::Text, report::junit::write as report::Writer),
        (&arguments.sarif, Form::Json, report::sarif::write),
        (&arguments.markdown, Form::Text, report::markdown::write),
    ];
    for (file, form, write) in files {
        if let Some(file) = file {
            write_whole(file, form, |out| write(report, out))?;
            is_stdout_taken |= is_stdout(file);
        }
    }
    match (arguments.output.json, is_stdout_taken) {
        (_, true) => Ok(()),
        (true, false) => report::json::print(report),
        (false, false) => report::text::print(report),
    }
}
