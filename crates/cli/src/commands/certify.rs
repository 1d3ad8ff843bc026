//! `isoscope certify`: checks an answer without the engine that gave it.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use certify::text::{self, TextCertificate, TextDocument};
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
use crate::watch::{Watch, nothing_known, watched};
use isoscope::Limits;
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
    let progress = Progress::start(&format!("reading {}", arguments.certificate.display()));
    watched(&limits, nothing_known(&limits, &progress), |watch| {
        let bytes = read_bytes(&arguments.certificate, &limits)?;
        if let Some(document) = text::read(&bytes).map_err(|error| about(&arguments.certificate, &error))? {
            return check_text(arguments, document, &limits, &progress, watch);
        }
        let checked = check(arguments, &bytes, &limits, &progress);
        watch.answer();
        progress.end();
        let (subject, document) = checked?;
        print(arguments, &subject, &document)
    })
}

/// Reads the history and has the certificate checked.
fn check(
    arguments: &Arguments,
    bytes: &[u8],
    limits: &Limits,
    progress: &Progress,
) -> Result<(Subject, Document), Failure> {
    let document = certify::read(bytes).map_err(|error| about(&arguments.certificate, &error))?;
    refuse_unexpected(arguments, &document.level)?;
    progress.set(&format!("reading {}", arguments.input.name()));
    let subject = Subject::read(&arguments.input, limits)?;
    progress.set("checking the certificate");
    let checked = document.check(&subject.history);
    progress.end();
    subject.warn();
    let name = arguments.certificate.display();
    checked.map_err(|error| Failure::new(format!("{name}: {}", visible(&error.to_string()))))?;
    Ok((subject, document))
}

/// Refuses a certificate that is about another question than the command line states.
fn refuse_unexpected(arguments: &Arguments, level: &Level) -> Result<(), Failure> {
    let refuse = |is_about: String, expected: String| {
        let file = arguments.certificate.display();
        Err(Failure::new(format!("{file}: expected a certificate {expected}, found one {is_about}")))
    };
    if let Some(name) = &arguments.level {
        if level_files::is_file_name(name) {
            return Err(Failure::new(format!(
                "{}: the certificate is about {}, which isoscope ships: name that level with --level, not {}",
                arguments.certificate.display(),
                name_of(level),
                visible(name)
            )));
        }
        let expected = level_files::find(name)?;
        let Some(engine) = expected.engine() else {
            return Err(Failure::new(format!("{} has no certificates", expected.name())));
        };
        if engine.with_clock_skew(level.clock_skew) != *level {
            return refuse(format!("for {}", name_of(level)), format!("for {}", expected.name()));
        }
    }
    refuse_unexpected_skew(arguments, level.needs_times().then_some(level.clock_skew))
}

/// Refuses a certificate that assumes another clock skew than the command line states, if it assumes one.
fn refuse_unexpected_skew(arguments: &Arguments, assumed: Option<i64>) -> Result<(), Failure> {
    let expected = arguments.clock_skew.map(|skew| i64::try_from(skew.as_nanos()).unwrap_or(i64::MAX));
    match (expected, assumed) {
        (Some(expected), Some(assumed)) if expected != assumed => Err(Failure::new(format!(
            "{}: expected a certificate with a clock skew of {}, found one with {}",
            arguments.certificate.display(),
            exact_duration(expected),
            exact_duration(assumed)
        ))),
        _ => Ok(()),
    }
}

fn name_of(level: &Level) -> &'static str {
    level.name().unwrap_or("a level without a name")
}

/// Checks a certificate of a level that is given by its text.
fn check_text(
    arguments: &Arguments,
    document: TextDocument,
    limits: &Limits,
    progress: &Progress,
    watch: &Watch,
) -> Result<Exit, Failure> {
    let asked = text_of(arguments, &document)?;
    let subject = Subject::read(&arguments.input, limits)?;
    let level = match asked {
        Some(level) => level,
        None => spec::recorded::level(&subject.history)
            .map_err(|why| Failure::new(visible(&why.sentence(&subject.history))))?,
    };
    let skew = level.needs_times().then_some(document.clock_skew);
    refuse_unexpected_skew(arguments, skew)?;
    progress.set("checking the certificate");
    let checked = document.check(&subject.history, &level);
    watch.answer();
    progress.end();
    subject.warn();
    checked.map_err(|error| about(&arguments.certificate, &error))?;
    let (exit, verdict, size) = match &document.certificate {
        TextCertificate::Holds { order, .. } => {
            (Exit::Holds, "holds", format!("an order of {}", counted(order.len(), "transaction")))
        }
        TextCertificate::Violated { txns } => (
            Exit::Violated,
            "violated",
            format!("a contradiction among {}", counted(txns.len(), "transaction")),
        ),
    };
    if arguments.output.json {
        print_value(&json!({
            "history": subject.json(),
            "certificate": {
                "file": arguments.certificate.display().to_string(),
                "level": document.level,
                "clock_skew": document.clock_skew,
                "verdict": verdict,
                "is_valid": true,
            },
        }))?;
    } else {
        let mut out = Screen::stdout();
        writeln!(out, "{}\n", subject.headline())?;
        write_verdict(&mut out, arguments, verdict, &document.level, skew, &size)?;
        out.flush()?;
    }
    Ok(exit)
}

/// The text of the level that a certificate is about: the one that the command line names, or a shipped one. Nothing if
/// the history says it.
fn text_of(arguments: &Arguments, document: &TextDocument) -> Result<Option<spec::Level>, Failure> {
    let asked = level_files::asked(&[arguments.level.clone().unwrap_or_else(|| document.level.clone())]);
    let asked = asked.map_err(|failure| match arguments.level {
        Some(_) => failure,
        None => Failure::new(format!(
            "{}: the certificate is about the level {:?}, which isoscope does not ship: give its text with --level \
             FILE.iso",
            arguments.certificate.display(),
            document.level
        )),
    })?;
    if asked.is_recorded() && asked.is_one() && document.level == spec::recorded::NAME {
        return Ok(None);
    }
    let Some(level) = asked.only_text() else {
        return Err(Failure::new(
            "--level names several levels: name the one of the certificate, as FILE.iso:NAME",
        ));
    };
    if level.name != document.level {
        return Err(Failure::new(format!(
            "{}: expected a certificate for {}, found one for {}",
            arguments.certificate.display(),
            level.name,
            document.level
        )));
    }
    Ok(Some(level.clone()))
}

fn about(path: &Path, error: &certify::Error) -> Failure {
    Failure::new(format!("{}: {}", path.display(), visible(&error.to_string())))
}

/// The most bytes that a certificate may have where memory is not limited.
const LARGEST_CERTIFICATE: u64 = 4 << 30;

fn read_bytes(path: &Path, limits: &Limits) -> Result<Vec<u8>, Failure> {
    let most = limits.memory().unwrap_or(LARGEST_CERTIFICATE);
    let mut bytes = Vec::new();
    match is_dash(path) {
        true => io::stdin().lock().take(most + 1).read_to_end(&mut bytes),
        false => std::fs::File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)),
    }
    .map_err(|error| Failure::about(path, &error))?;
    if bytes.len() as u64 > most {
        let sentence = format!(
            "{}: the certificate has more than {}; --memory-limit SIZE allows as much",
            path.display(),
            units::size(most)
        );
        return Err(Failure::new(sentence));
    }
    Ok(bytes)
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
        let skew = document.level.needs_times().then_some(document.level.clock_skew);
        write_verdict(&mut out, arguments, verdict, level, skew, &size)?;
        out.flush()?;
    }
    Ok(exit)
}

/// Says what is proved, and which clock skew that assumes, if it assumes one.
fn write_verdict(
    out: &mut Screen<'_>,
    arguments: &Arguments,
    verdict: &str,
    level: &str,
    skew: Option<i64>,
    size: &str,
) -> Result<(), Failure> {
    let told = skew.map_or_else(String::new, |skew| format!(", clock skew {}", exact_duration(skew)));
    writeln!(out, "  {verdict:<10} {}{told}, proved by {size}", visible(level))?;
    if let Some(assumption) = assumption(arguments, skew) {
        writeln!(out, "\n{assumption}")?;
    }
    Ok(())
}

/// The assumption on which a verdict rests although the command line does not state it.
fn assumption(arguments: &Arguments, skew: Option<i64>) -> Option<String> {
    let unstated = skew.filter(|&skew| arguments.clock_skew.is_none() && skew != 0);
    unstated.map(|skew| {
        let skew = exact_duration(skew);
        format!(
            "  This verdict assumes that the clocks of two clients may be {skew} apart.\n  \
             Give --clock-skew {skew} to accept that, or --clock-skew 0 to refuse it."
        )
    })
}
