//! `isoscope convert`: a history in another format.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use drive::plant::{Planted, plant};
use formats::{ErrorKind, Format, Warning, WriteOptions};
use isoscope::Limits;
use serde_json::json;

use crate::args::{InputArguments, LimitArguments, OutputArguments, parse_format, parse_planted};
use crate::exit::{Exit, Failure};
use crate::files::{Named, Noting, is_stdout, keep_apart, named};
use crate::load::Subject;
use crate::progress::Progress;
use crate::report::json::print_value;
use crate::screen::{Form, Screen, say};
use crate::terminal::visible;
use crate::watch::{nothing_known, watched};

/// The flags of `convert`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    input: InputArguments,
    /// Where to write: a file (compressed if it ends in .gz or .zst), a folder for Cobra, - for standard output
    #[arg(value_name = "OUTPUT", default_value = "-")]
    output: PathBuf,
    /// The format to write; without it the one that the name of the output stands for
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    to: Option<Format>,
    /// Leave out, with a warning, what the format cannot express even if a verdict could depend on it
    #[arg(long)]
    lossy: bool,
    /// Put one anomaly at a random place into the history, to see whether a checker finds it
    #[arg(long, value_name = "ANOMALY", value_parser = parse_planted)]
    plant: Option<Planted>,
    /// Where the anomaly goes; equal seeds give equal places
    #[arg(long, value_name = "N", default_value_t = 0, requires = "plant")]
    seed: u64,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    answer: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let output = Output::named(&arguments.output, arguments.to, arguments.answer.json)?;
    output.keep_apart(&[named("the history", &arguments.input.history)])?;
    let limits = arguments.limits.start()?;
    let progress = Progress::start(&format!("reading {}", arguments.input.name()));
    watched(&limits, nothing_known(&limits, &progress), |watch| {
        let subject = read(arguments, &limits)?;
        progress.set("writing");
        let options = WriteOptions { lossy: arguments.lossy };
        let written = write_history(&subject, &output, &options);
        watch.answer();
        progress.end();
        subject.warn();
        output.report(&subject, &written?)
    })
}

/// The history, with the anomaly that is to be planted.
fn read(arguments: &Arguments, limits: &Limits) -> Result<Subject, Failure> {
    let subject = Subject::read(&arguments.input, limits)?;
    let Some(planted) = arguments.plant else { return Ok(subject) };
    let with_anomaly = plant(&subject.history, planted, arguments.seed);
    Ok(subject.with_history(with_anomaly.map_err(|error| Failure::new(error.to_string()))?.history))
}

/// Where a history goes, and how.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    format: Format,
    json: bool,
}

impl Output {
    /// The output that the command line names.
    pub fn named(path: &Path, format: Option<Format>, json: bool) -> Result<Self, Failure> {
        if json && is_stdout(path) {
            return Err(Failure::new(
                "--json and a history on standard output would mix; name a file to write to",
            ));
        }
        let format = match format {
            Some(format) => format,
            None => format_by_name(path)?,
        };
        Ok(Self { path: path.to_owned(), format, json })
    }

    /// The output as something that is written to bit by bit: standard output, or a file that readers may follow.
    pub fn stream(&self) -> Result<Box<dyn Write>, Failure> {
        if self.format != Format::Native {
            return Err(Failure::new(format!("--stream writes the native format, not {}", self.format)));
        }
        if is_stdout(&self.path) {
            return stdout_for(self.format);
        }
        let file = std::fs::File::create(&self.path).map_err(|error| Failure::about(&self.path, &error))?;
        Ok(Box::new(BufWriter::new(file)))
    }

    /// Refuses an output that is also an input.
    pub fn keep_apart(&self, inputs: &[Named]) -> Result<(), Failure> {
        keep_apart(inputs, &[named("the output", &self.path)])
    }

    /// Says what was written, unless that is what standard output got.
    pub fn report(&self, subject: &Subject, warnings: &[Warning]) -> Result<Exit, Failure> {
        let file = self.path.display().to_string();
        for warning in warnings {
            say(&format!("warning: {}: {}", visible(&file), visible(&warning.to_string())));
        }
        if self.json {
            let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
            print_value(&json!({
                "history": subject.json(),
                "output": { "file": file, "format": self.format.name(), "warnings": warnings },
            }))?;
        } else if !is_stdout(&self.path) {
            let mut out = Screen::stdout();
            writeln!(out, "{}", subject.headline())?;
            writeln!(out, "written to {} as {}", visible(&file), self.format)?;
            out.flush()?;
        }
        Ok(Exit::Holds)
    }
}

/// Writes a history whole or not at all.
pub fn write_history(
    subject: &Subject,
    output: &Output,
    options: &WriteOptions,
) -> Result<Vec<Warning>, Failure> {
    if is_stdout(&output.path) {
        return write_to_stdout(subject, output.format, options);
    }
    formats::write_to_path(&subject.history, output.format, &output.path, options)
        .map_err(|error| not_written(&error))
}

fn write_to_stdout(
    subject: &Subject,
    format: Format,
    options: &WriteOptions,
) -> Result<Vec<Warning>, Failure> {
    let mut out = Noting { out: stdout_for(format)?, error: None };
    let written = formats::write_to(&subject.history, format, &mut out, options);
    // An error is in `out` now.
    let _ = out.flush();
    match out.error {
        Some(error) => Err(Failure::from(error)),
        None => written.map_err(|error| not_written(&error)),
    }
}

/// Standard output; a terminal gets texts made harmless and no bytes that are none.
fn stdout_for(format: Format) -> Result<Box<dyn Write>, Failure> {
    let out = BufWriter::new(io::stdout().lock());
    if !io::stdout().is_terminal() {
        return Ok(Box::new(out));
    }
    match format {
        Format::Cobra | Format::DbcopBincode => Err(Failure::new(format!(
            "{format} is not text, and standard output is a terminal: name a file to write to"
        ))),
        Format::Notation => Ok(Box::new(Screen::over(out, Form::Text))),
        _ => Ok(Box::new(Screen::over(out, Form::Json))),
    }
}

fn not_written(error: &formats::Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::CannotExpress if error.hint().is_empty() => {
            "; --lossy leaves it out, another --to may hold it"
        }
        _ => "",
    };
    Failure::new(format!("{}{hint}", visible(&error.to_string())))
}

/// The format that a file name stands for.
fn format_by_name(output: &Path) -> Result<Format, Failure> {
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let plain = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    match plain.rsplit_once('.').map(|(_, extension)| extension) {
        Some("jsonl") => Ok(Format::Native),
        Some("edn") => Ok(Format::JepsenEdn),
        Some("bincode") => Ok(Format::DbcopBincode),
        _ => {
            let formats = Format::ALL.iter().filter(|format| format.can_write());
            let names: Vec<_> = formats.map(|format| format.name()).collect();
            Err(Failure::new(format!(
                "the name of the output does not say in which format to write; add --to with one of {}",
                names.join(", ")
            )))
        }
    }
}
