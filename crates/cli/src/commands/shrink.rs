//! `isoscope shrink`: the smallest history that still violates a level.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use formats::{Format, WriteOptions};
use history::{History, Summary};
use isoscope::{Check, Decision, Limits, Witness, units};
use probe::script::{self, SqlDialect};

use super::check::skew_of;
use super::convert::{Output, write_history};
use crate::args::{InputArguments, LimitArguments, OutputArguments, parse_format};
use crate::exit::{Exit, Failure};
use crate::files::{is_stdout, keep_apart, named, write_whole};
use crate::load::Subject;
use crate::progress::{Progress, Watched};
use crate::screen::{Form, say};
use crate::watch::{Watch, nothing_known, watched};
use crate::{interrupt, level_files, refused};

/// The flags of `shrink`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    input: InputArguments,
    /// The level that is violated, by name or alias or as a file FILE.iso
    #[arg(short, long, value_name = "NAME")]
    level: String,
    /// Where to write (- for standard output)
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// The format to write [default: the one that the name of the output stands for, or notation]
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    to: Option<Format>,
    /// Write SQL with a column for each session instead, to be pasted into terminals: postgres, mysql or sqlite
    #[arg(long, value_name = "DIALECT", value_parser = parse_dialect, conflicts_with = "to")]
    sql: Option<SqlDialect>,
    /// Write a schedule for `isoscope probe --schedules` instead
    #[arg(long, conflicts_with_all = ["to", "sql"])]
    schedule: bool,
    /// The isolation that the SQL sets, such as "repeatable read"
    #[arg(long, value_name = "NAME", requires = "sql", value_parser = parse_isolation)]
    isolation: Option<String>,
    /// Keep the keys and values of the history instead of plain names
    #[arg(long)]
    keep_names: bool,
    /// How far apart the clocks of two clients may be, such as 5ms, for the levels of real time
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration)]
    clock_skew: Option<Duration>,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    answer: OutputArguments,
}

fn parse_dialect(name: &str) -> Result<SqlDialect, String> {
    SqlDialect::named(name).ok_or_else(|| "expected postgres, mysql or sqlite".to_owned())
}

/// Words only: the isolation becomes a part of SQL.
fn parse_isolation(name: &str) -> Result<String, String> {
    let words = name.replace('-', " ").to_ascii_uppercase();
    match words.chars().all(|char| char.is_ascii_uppercase() || char == ' ') && !words.trim().is_empty() {
        true => Ok(words.trim().to_owned()),
        false => Err("expected an isolation level in words, such as \"repeatable read\"".to_owned()),
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut inputs = vec![named("the history", &arguments.input.history)];
    inputs.extend(level_files::inputs(std::slice::from_ref(&arguments.level)));
    keep_apart(&inputs, &[named("--output", &arguments.output)])?;
    let limits = arguments.limits.start()?;
    let progress = Progress::start(&format!("reading {}", arguments.input.name()));
    watched(&limits, nothing_known(&limits, &progress), |watch| shrink(arguments, &limits, &progress, watch))
}

fn shrink(
    arguments: &Arguments,
    limits: &Limits,
    progress: &Progress,
    watch: &Watch,
) -> Result<Exit, Failure> {
    let subject = Subject::read(&arguments.input, limits)?;
    let monitor = Watched::new(limits, progress);
    let check = Check::new(&subject.history)
        .levels(level_files::asked(std::slice::from_ref(&arguments.level))?)
        .monitor(&monitor)
        .skews(false)
        .clock_skew(skew_of(arguments.clock_skew, &subject)?);
    let found = interrupt::while_deciding(|| {
        let report = check.run()?;
        let violated = report.answers.iter().find(|answer| answer.decision == Decision::Violated);
        let witness = match violated {
            Some(answer) => check.witness(answer)?,
            None => None,
        };
        let shrunk = witness.map(|witness| (renamed(arguments, &check, &witness), witness));
        Ok((report, shrunk))
    });
    watch.answer();
    progress.end();
    subject.warn();
    let (report, shrunk) = found.map_err(|error| refused::failure(&subject, error))?;
    let Some((history, witness)) = shrunk else {
        return Err(no_violation(&subject, &report));
    };
    write(arguments, subject, &witness, history)
}

/// Why there is nothing to shrink; a level that is undecided has the exit code of that.
fn no_violation(subject: &Subject, report: &isoscope::Report) -> Failure {
    let undecided = report.answers.iter().find(|answer| answer.decision.is_undecided());
    match undecided {
        Some(answer) => Failure::Limit(format!("{}: {}", answer.level, answer.reason().unwrap_or_default())),
        None => {
            let levels: Vec<&str> = report.answers.iter().map(|answer| answer.level.name()).collect();
            let name = &subject.name;
            Failure::new(format!("{name} does not violate {}: there is nothing to shrink", levels.join(", ")))
        }
    }
}

/// The witness with plain names, if it still violates the level with them.
fn renamed(arguments: &Arguments, check: &Check<'_>, witness: &Witness) -> History {
    let plain = match arguments.keep_names {
        true => None,
        false => witness.plain(),
    };
    let violates = |history: &History| check.violates(history, &witness.level).unwrap_or(false);
    plain.filter(violates).unwrap_or_else(|| witness.history.clone())
}

fn write(
    arguments: &Arguments,
    subject: Subject,
    witness: &Witness,
    history: History,
) -> Result<Exit, Failure> {
    if let Some(text) = script(arguments, witness, &history)? {
        write_whole(&arguments.output, Form::Text, |out| Ok(out.write_all(text.as_bytes())?))?;
    } else {
        let json = arguments.answer.json;
        let by_name = Output::named(&arguments.output, arguments.to, json);
        let output = match (by_name, arguments.to) {
            (Err(_), None) => Output::named(&arguments.output, Some(Format::Notation), json)?,
            (output, _) => output?,
        };
        let small = Subject { summary: Summary::of(&history), history, ..subject };
        let warnings = write_history(&small, &output, &WriteOptions { lossy: false })?;
        output.report(&small, &warnings)?;
    }
    if !is_stdout(&arguments.output) || arguments.sql.is_none() && !arguments.schedule {
        say(&format!("{} violates {}", witness.headline, witness.level));
    }
    Ok(Exit::Holds)
}

/// The text of a script, if one was asked for.
fn script(arguments: &Arguments, witness: &Witness, history: &History) -> Result<Option<String>, Failure> {
    if arguments.sql.is_none() && !arguments.schedule {
        return Ok(None);
    }
    let refuse = |reason: String| Failure::new(format!("the smallest history is no schedule: {reason}"));
    let name = witness.name().replace(' ', "-");
    let mut schedule = probe::from_history(&name, history).map_err(refuse)?;
    schedule.about = format!("{}.", witness.headline);
    let sessions: Vec<usize> = history.txns().map(|txn| history.session_of(txn).index()).collect();
    let text = match arguments.sql {
        Some(dialect) => script::sql(&schedule, &sessions, dialect, arguments.isolation.as_deref()),
        None => script::notation(&schedule),
    };
    text.map(Some).map_err(refuse)
}
