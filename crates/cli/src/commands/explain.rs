//! `isoscope explain`: what violates a level, as few transactions as it takes, in sentences and pictures.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use isoscope::{Asked, Check, Decision, LazyIndex, Limits, Witness, units};
use picture::Use;
use serde_json::json;

use super::check::skew_of;
use crate::args::{InputArguments, LimitArguments, OutputArguments};
use crate::exit::{Exit, Failure};
use crate::files::{flags, is_stdout, keep_apart, named, write_whole};
use crate::load::Subject;
use crate::progress::{Progress, Watched};
use crate::report::shown::{Bar, Shown};
use crate::report::{self, Report};
use crate::screen::{Form, Screen, say};
use crate::terminal::Style;
use crate::watch::{Watch, nothing_known, watched};
use crate::{interrupt, level_files, refused};

/// The flags of `explain`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    input: InputArguments,
    /// The levels to explain, by name or alias or as a file FILE.iso; without it the weakest that are violated
    #[arg(short, long = "level", value_name = "NAME", value_delimiter = ',')]
    levels: Vec<String>,
    /// How far apart the clocks of two clients may be, such as 5ms, for the levels of real time
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration)]
    clock_skew: Option<Duration>,
    /// Draw the first violation to this SVG file (- for standard output, instead of the text)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the first violation to this file as a graph for Graphviz (- for standard output, instead of the text)
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// Write a report with pictures to this HTML file (- for standard output, instead of the text)
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    limits: LimitArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    arguments.keep_apart()?;
    let asked = level_files::asked(&arguments.levels)?;
    let limits = arguments.limits.start()?;
    let progress = Progress::start(&format!("reading {}", arguments.input.name()));
    watched(&limits, nothing_known(&limits, &progress), |watch| {
        explain(arguments, asked, &limits, &progress, watch)
    })
}

fn explain(
    arguments: &Arguments,
    asked: Asked,
    limits: &Limits,
    progress: &Progress,
    watch: &Watch,
) -> Result<Exit, Failure> {
    let subject = Subject::read(&arguments.input, limits)?;
    let monitor = Watched::new(limits, progress);
    let check = Check::new(&subject.history)
        .levels(asked)
        .monitor(&monitor)
        .skews(false)
        .clock_skew(skew_of(arguments.clock_skew, &subject)?);
    let answered = interrupt::while_deciding(|| {
        let report = check.run()?;
        let witnesses = check.witnesses(&report.answers)?;
        Ok((report, witnesses))
    });
    watch.answer();
    progress.end();
    subject.warn();
    let (answered, witnesses) = answered.map_err(|error| refused::failure(&subject, error))?;
    let report = Report {
        subject: &subject,
        answers: answered.answers,
        not_asked: answered.not_asked,
        stats: None,
        witnesses,
        shown: Shown::of(&subject.history, &LazyIndex::default(), Bar::ReadsOthers),
        run: None,
    };
    write(arguments, &report)?;
    Ok(report.exit())
}

impl Arguments {
    /// No output is an input or another output.
    fn keep_apart(&self) -> Result<(), Failure> {
        let mut inputs = vec![named("the history", &self.input.history)];
        inputs.extend(level_files::inputs(&self.levels));
        let outputs = [("--svg", &self.svg), ("--dot", &self.dot), ("--html", &self.html)];
        keep_apart(&inputs, &flags(outputs))
    }
}

fn write(arguments: &Arguments, report: &Report<'_>) -> Result<(), Failure> {
    let first = report.witnesses.first();
    let mut is_stdout_taken = false;
    let pictures = [
        (&arguments.svg, first.map(|witness| picture::svg(witness, Use::File))),
        (&arguments.dot, first.map(picture::dot)),
        (
            &arguments.html,
            Some(picture::html(&report::html::page(report))).filter(|_| arguments.html.is_some()),
        ),
    ];
    for (file, content) in pictures {
        let Some(file) = file else { continue };
        is_stdout_taken |= is_stdout(file);
        match content {
            Some(content) => write_whole(file, Form::Text, |out| Ok(out.write_all(content.as_bytes())?))?,
            None => {
                let file = file.display();
                say(&format!("warning: {file} was not written, since no violation was found"));
            }
        }
    }
    match (arguments.output.json, is_stdout_taken) {
        (_, true) => Ok(()),
        (true, false) => print_json(report),
        (false, false) => print(arguments, report),
    }
}

fn print_json(report: &Report<'_>) -> Result<(), Failure> {
    let mut value = report::json::value(report)?;
    value["witnesses"] = report.witnesses.iter().map(report::witness::json).collect();
    report::json::print_value(&json!(value))
}

fn print(arguments: &Arguments, report: &Report<'_>) -> Result<(), Failure> {
    let mut out = Screen::stdout();
    let style = Style::of_stdout();
    let without_witness = |witnesses: &[Witness]| {
        witnesses.is_empty() || report.answers.iter().any(|answer| answer.decision.is_undecided())
    };
    if without_witness(&report.witnesses) {
        report::text::write(report, style, &mut out)?;
    } else {
        writeln!(out, "{}", style.wrap(&report.subject.headline(), 0, 2))?;
        let holding = report.names(|decision| decision == Decision::Holds);
        if !holding.is_empty() {
            writeln!(out, "{}", style.wrap(&format!("holds      {}", holding.join(", ")), 2, 13))?;
        }
    }
    for witness in &report.witnesses {
        writeln!(out)?;
        report::witness::write(witness, style, &mut out)?;
    }
    if !report.witnesses.is_empty() && arguments.html.is_none() && arguments.svg.is_none() {
        writeln!(out, "\n  --html report.html draws it")?;
    }
    Ok(out.flush()?)
}
