//! `isoscope certify`: checks an answer without the engine that gave it.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use certify::{Certificate, Document};
use clap::Args;
use serde_json::json;

use crate::args::{InputArguments, LimitArguments, OutputArguments};
use crate::exit::{Exit, Failure};
use crate::files::is_dash;
use crate::load::Subject;
use crate::progress::Progress;
use crate::report::json::print_value;
use crate::screen::Screen;
use crate::terminal::visible;
use isoscope::units::counted;

/// The flags of `certify`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    input: InputArguments,
    /// The certificate that `check --certificate` wrote, or - for standard input
    #[arg(value_name = "CERTIFICATE")]
    certificate: PathBuf,
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
    let level = document.level.name().unwrap_or("a level without a name");
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
        writeln!(out, "  {verdict:<10} {}, proved by {size}", visible(level))?;
        out.flush()?;
    }
    Ok(exit)
}
