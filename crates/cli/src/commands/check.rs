//! `isoscope check`: reads, asks, explains, reports.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use certify::Fingerprint;
use clap::Args;
use history::{Clock, Index};
use verify::Stages;

use crate::args::{InputArguments, LimitArguments, OutputArguments};
use crate::ask::{Answer, Decision, Question};
use crate::asked::Asked;
use crate::definitions::level_files;
use crate::exit::{Exit, Failure};
use crate::explanation::Explanation;
use crate::files::{flags, is_stdout, keep_apart, named, write_whole};
use crate::levels;
use crate::limits::{self, Limits};
use crate::load::Subject;
use crate::progress::Progress;
use crate::report::{self, Report, Ruling, RunStats};
use crate::screen::{Form, say};
use crate::skew::SkewReport;
use crate::terminal::visible;
use crate::{interrupt, own_level, units, weak};

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
    let asked = Asked::parse(&arguments.levels)?;
    if arguments.certificate.is_some() && !asked.is_one_with_engine() {
        return Err(Failure::new(
            "--certificate is the proof of one answer: name one level that has an engine with --level",
        ));
    }
    let limits = Limits::start(arguments.limits.time_limit, arguments.limits.memory_limit)?;
    let progress = Progress::start(&format!("reading {}", arguments.input.name()));
    let prepared = Prepared::read(arguments, &limits, &progress);
    if let (Err(Failure::Limit(sentence)), true) = (&prepared, arguments.output.json) {
        drop(progress);
        return report::json::undecided_without_history(&arguments.input.name(), &asked, sentence);
    }
    let prepared = prepared?;
    let question = prepared.question(arguments, stages, &limits)?;
    let report = prepared.report(asked, &question, arguments.stats, &progress);
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
        inputs.extend(level_files(&self.levels));
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

    fn question<'p>(
        &'p self,
        arguments: &Arguments,
        stages: Stages,
        limits: &'p Limits,
    ) -> Result<Question<'p>, Failure> {
        Ok(Question {
            history: &self.subject.history,
            index: &self.index,
            limits,
            seed: arguments.seed,
            stages,
            clock_skew: skew_of(arguments.clock_skew, &self.subject)?,
            threads: usize::from(arguments.threads),
        })
    }

    fn report(
        &self,
        asked: Asked,
        question: &Question<'_>,
        with_stats: bool,
        progress: &Progress,
    ) -> Result<Report<'_>, Failure> {
        let choice = asked.choose(&self.subject)?;
        let set = |stage: &str| progress.set(stage);
        let answers = interrupt::while_deciding(|| question.ask(&choice.named, &set))?;
        let stats = with_stats.then(|| self.stats(question.limits));
        progress.set("explaining");
        let mut rulings = Vec::new();
        for answer in &answers {
            let skew = match is_weakest_violated(answer, &answers) {
                true => interrupt::while_deciding(|| SkewReport::of(question, answer)),
                false => None,
            };
            rulings.push(Ruling { skew, ..rule(question, answer.clone()) });
        }
        for &level in &choice.weak {
            progress.set(&format!("checking {}", level.name()));
            rulings.push(weak::decide(question, level)?);
        }
        for level in &choice.own {
            progress.set(&format!("checking {}", level.name));
            rulings.push(own_level::decide(question, level)?);
        }
        Ok(Report { subject: &self.subject, rulings, not_asked: choice.not_asked, stats })
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

/// Whether an answer is not a violation that another, weaker violation makes uninteresting.
fn is_weakest_violated(answer: &Answer, answers: &[Answer]) -> bool {
    let is_weaker_violated = |other: &Answer| {
        other.decision == Decision::Violated
            && other.level != answer.level
            && levels::implies(&answer.level, &other.level)
    };
    answer.decision != Decision::Violated || !answers.iter().any(is_weaker_violated)
}

/// An answer with what people want to know about it.
pub fn rule(question: &Question<'_>, answer: Answer) -> Ruling {
    let obstacle = match answer.decision {
        Decision::Undecided(obstacle) => Some(question.sentence(obstacle)),
        _ => None,
    };
    Ruling {
        explanation: Explanation::of(question.history, question.index, &answer),
        answer,
        obstacle,
        skew: None,
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

fn write_certificate(file: &Path, report: &Report<'_>) -> Result<(), Failure> {
    let Some((level, certificate)) =
        report.rulings.iter().find_map(|ruling| ruling.answer.certificate.as_ref())
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
