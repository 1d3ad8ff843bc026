//! `isoscope demo`: a small built-in history, checked and shown. Needs nothing and takes no time.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use clap::Args;
use formats::Format;
use history::{Index, Summary};
use verify::Stages;

use crate::args::OutputArguments;
use crate::ask::Question;
use crate::commands::check;
use crate::exit::{Exit, Failure};
use crate::levels;
use crate::limits::Limits;
use crate::load::Subject;
use crate::report::{self, Report};
use crate::terminal::{Style, Tone};

/// The flags of `demo`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    output: OutputArguments,
}

/// Two doctors are on call, and each may leave as long as the other stays.
const HISTORY: &str = "\
init alice=1 bob=1
one: r(alice)=1 r(bob)=1 w(alice)=0
two: r(alice)=1 r(bob)=1 w(bob)=0
three: r(alice)=0 r(bob)=0
";

const STORY: &str = "\
Two doctors are on call, and the rule is that one of them must stay.
Session one sees both on call and lets alice go; session two, at the same time, sees both and lets bob go.
Then session three finds nobody. Which isolation level did this database give?";

const NEXT: &str = "\
Save the four lines to a file and run `isoscope check FILE`, or check a history of your own.
`isoscope levels snapshot-isolation` explains a level; `isoscope --help` lists the commands.";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let subject = subject()?;
    let index = Index::of(&subject.history);
    let limits = Limits::start(None, None)?;
    let question = Question {
        history: &subject.history,
        index: &index,
        limits: &limits,
        seed: 0,
        stages: Stages::default(),
        clock_skew: 0,
        threads: 1,
    };
    let asked: Vec<_> = levels::with_engine().into_iter().filter(|level| !level.needs_times()).collect();
    let answers = question.ask(&asked, &|_| {})?;
    let report = Report {
        subject: &subject,
        rulings: answers.into_iter().map(|answer| check::rule(&question, answer)).collect(),
        not_asked: Vec::new(),
        stats: None,
    };
    match arguments.output.json {
        true => report::json::print(&report)?,
        false => print(&report)?,
    }
    // The demonstration succeeded, whatever it found.
    Ok(Exit::Holds)
}

fn subject() -> Result<Subject, Failure> {
    let history = formats::notation::parse(HISTORY).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Subject {
        name: "demo".to_owned(),
        summary: Summary::of(&history),
        history,
        format: Format::Notation,
        warnings: Vec::new(),
        read_time: Duration::ZERO,
    })
}

fn print(report: &Report<'_>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let style = Style::of_stdout();
    for line in STORY.lines() {
        writeln!(out, "{}", style.wrap(line, 0, 0))?;
    }
    writeln!(out)?;
    for line in HISTORY.lines() {
        writeln!(out, "    {}", style.paint(Tone::Strong, line))?;
    }
    writeln!(out)?;
    report::text::write(report, style, &mut out)?;
    writeln!(out)?;
    for line in NEXT.lines() {
        writeln!(out, "{}", style.wrap(line, 0, 0))?;
    }
    Ok(out.flush()?)
}
