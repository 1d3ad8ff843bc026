//! `isoscope certify`: checks an answer without the engine that gave it.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use certify::{Certificate, Document, Level};
use clap::Args;
use serde_json::json;

use crate::args::{InputArguments, LimitArguments, OutputArguments};
use crate::exit::{Exit, Failure};
use crate::files::is_dash;
use crate::level_files;
use crate::load::Subject;
use crate::progress::Progress;
use crate::report::json::print_value;
use crate::screen::Screen;
use crate::terminal::visible;
use isoscope::units::{self, counted, exact_duration};

/// The flags of `certify`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    input: InputArguments,
    /// The certificate that `check --certificate` wrote, or - for standard input
    #[arg(value_name = "CERTIFICATE")]
    certificate: PathBuf,
    /// Refuse the certificate unless it is about this level, by name or alias
    #[arg(short, long, value_name = "NAME")]
    level: Option<String>,
    /// Refuse the certificate unless it assumes this clock skew, such as 5ms or 0 (levels of real time)
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration)]
    clock_skew: Option<Duration>,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    limits: LimitArguments,
}

/// Runs the command. The exit code is that of the verdict which the certificate proves.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if is_dash(&arguments.input.history) && is_dash(&arguments.certificate) {
        return Err(Failure::new("history and certificate cannot both be standard input"));
    }
    let limits = arguments.limits.start()?;
    let progress = Progress::start("reading");
    let document = read(&arguments.certificate)?;
    refuse_unexpected(arguments, &document.level)?;
    let subject = Subject::read(&arguments.input, &limits)?;
    progress.set("checking the certificate");
    let (subject, document, checked) = limits.bound("checking the certificate", move || {
        let checked = document.check(&subject.history);
        (subject, document, checked)
    })?;
    drop(progress);
    subject.warn();
    let name = arguments.certificate.display();
    checked.map_err(|error| Failure::new(format!("{name}: {}", visible(&error.to_string()))))?;
    print(arguments, &subject, &document)
}

/// Refuses a certificate that is about another question than the command line states.
fn refuse_unexpected(arguments: &Arguments, level: &Level) -> Result<(), Failure> {
    let refuse = |is_about: String, expected: String| {
        let file = arguments.certificate.display();
        Err(Failure::new(format!("{file}: expected a certificate {expected}, found one {is_about}")))
    };
    if let Some(name) = &arguments.level {
        let expected = level_files::find(name)?;
        let Some(engine) = expected.engine() else {
            return Err(Failure::new(format!("{} has no certificates", expected.name())));
        };
        if engine.with_clock_skew(level.clock_skew) != *level {
            return refuse(format!("for {}", name_of(level)), format!("for {}", expected.name()));
        }
    }
    let skew = arguments.clock_skew.map(|skew| skew.as_nanos() as i64);
    match skew.filter(|&skew| skew != level.clock_skew && level.needs_times()) {
        Some(skew) => refuse(
            format!("with {}", exact_duration(level.clock_skew)),
            format!("with a clock skew of {}", exact_duration(skew)),
        ),
        None => Ok(()),
    }
}

fn name_of(level: &Level) -> &'static str {
    level.name().unwrap_or("a level without a name")
}

fn read(path: &Path) -> Result<Document, Failure> {
    let mut bytes = Vec::new();
    match is_dash(path) {
        true => io::stdin().lock().read_to_end(&mut bytes).map(drop),
        false => std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes).map(drop)),
    }
    .map_err(|error| Failure::about(path, &error))?;
    certify::read(&bytes)
        .map_err(|error| Failure::new(format!("{}: {}", path.display(), visible(&error.to_string()))))
}

fn print(arguments: &Arguments, subject: &Subject, document: &Document) -> Result<Exit, Failure> {
    let level = name_of(&document.level);
    let (exit, verdict, size) = match &document.certificate {
        Certificate::Holds { order, .. } => {
            (Exit::Holds, "holds", format!("an order of {}", counted(order.len(), "event")))
        }
        Certificate::Violated { steps, .. } => {
            (Exit::Violated, "violated", format!("a contradiction in {}", counted(steps.len(), "step")))
        }
    };
    if arguments.output.json {
        print_value(&json!({
            "history": subject.json(),
            "certificate": {
                "file": arguments.certificate.display().to_string(),
                "level": level,
                "clock_skew": document.level.clock_skew,
                "verdict": verdict,
                "is_valid": true,
            },
        }))?;
    } else {
        let mut out = Screen::stdout();
        writeln!(out, "{}\n", subject.headline())?;
        let skew = match document.level.needs_times() {
            true => format!(", clock skew {}", exact_duration(document.level.clock_skew)),
            false => String::new(),
        };
        writeln!(out, "  {verdict:<10} {}{skew}, proved by {size}", visible(level))?;
        if let Some(assumption) = assumption(arguments, &document.level) {
            writeln!(out, "\n{assumption}")?;
        }
        out.flush()?;
    }
    Ok(exit)
}

/// The assumption on which a verdict rests although the command line does not state it.
fn assumption(arguments: &Arguments, level: &Level) -> Option<String> {
    let is_unstated = arguments.clock_skew.is_none() && level.needs_times() && level.clock_skew != 0;
    is_unstated.then(|| {
        let skew = exact_duration(level.clock_skew);
        format!(
            "  This verdict assumes that the clocks of two clients may be {skew} apart.\n  \
             Give --clock-skew {skew} to accept that, or --clock-skew 0 to refuse it."
        )
    })
}
