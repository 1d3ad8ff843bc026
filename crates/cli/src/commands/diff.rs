//! `isoscope diff`: two answers of `check --json`, and what changed between them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::args::OutputArguments;
use crate::exit::{Exit, Failure};
use crate::report::json::print_value;
use crate::screen::Screen;
use crate::terminal::{Tone, visible};

/// The flags of `diff`.
#[derive(Args, Debug)]
#[command(after_help = "Exit codes: 0 no violation came, 1 one did, 2 a file is no answer of check --json.")]
pub struct Arguments {
    /// The answer before, as `isoscope check --json` prints it
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The answer after
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    #[command(flatten)]
    output: OutputArguments,
}

/// What an answer says of a level.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Said {
    verdict: String,
    anomaly: Option<String>,
}

/// What became of a level.
struct Change {
    level: String,
    before: Option<Said>,
    after: Option<Said>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let (before, after) = (read(&arguments.before)?, read(&arguments.after)?);
    let changes = changes(&before, &after);
    match arguments.output.json {
        true => print_value(&json!({ "levels": changes.iter().map(Change::json).collect::<Vec<_>>() }))?,
        false => print(&changes)?,
    }
    match changes.iter().any(|change| change.word() == "came") {
        true => Ok(Exit::Violated),
        false => Ok(Exit::Holds),
    }
}

type SavedAnswers = BTreeMap<String, Said>;

fn read(file: &Path) -> Result<SavedAnswers, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| Failure::about(file, &error))?;
    let refuse = |why: &str| {
        let file = visible(&file.display().to_string());
        Failure::new(format!("{file}: {why}; expected what isoscope check --json prints"))
    };
    let value: Value = serde_json::from_str(&text).map_err(|error| refuse(&error.to_string()))?;
    let verdicts = value["verdicts"].as_array().ok_or_else(|| refuse("no array `verdicts`"))?;
    let said = |verdict: &Value| {
        let level = verdict["level"].as_str()?.to_owned();
        let anomaly = verdict["anomaly"].as_str().map(str::to_owned);
        Some((level, Said { verdict: verdict["verdict"].as_str()?.to_owned(), anomaly }))
    };
    verdicts.iter().map(|verdict| said(verdict).ok_or_else(|| refuse("a verdict without a level"))).collect()
}

fn changes(before: &SavedAnswers, after: &SavedAnswers) -> Vec<Change> {
    let mut levels: Vec<&String> = before.keys().chain(after.keys()).collect();
    levels.sort();
    levels.dedup();
    let change = |level: &String| Change {
        level: level.clone(),
        before: before.get(level).cloned(),
        after: after.get(level).cloned(),
    };
    levels.into_iter().map(change).collect()
}

impl Change {
    /// Whether a violation came, went or stayed, or something else changed.
    fn word(&self) -> &'static str {
        let is_violated = |said: &Option<Said>| said.as_ref().is_some_and(|said| said.verdict == "violated");
        match (is_violated(&self.before), is_violated(&self.after)) {
            (false, true) => "came",
            (true, false) => "went",
            (true, true) if self.is_same_anomaly() => "stayed",
            (true, true) => "other",
            (false, false) if self.before == self.after => "same",
            (false, false) => "changed",
        }
    }

    /// A verdict that follows from another one has no anomaly of its own, which is no difference.
    fn is_same_anomaly(&self) -> bool {
        let anomaly = |said: &Option<Said>| said.as_ref().and_then(|said| said.anomaly.clone());
        match (anomaly(&self.before), anomaly(&self.after)) {
            (Some(before), Some(after)) => before == after,
            _ => true,
        }
    }

    fn json(&self) -> Value {
        let said = |said: &Option<Said>| {
            said.as_ref().map(|said| json!({ "verdict": said.verdict, "anomaly": said.anomaly }))
        };
        json!({
            "level": self.level,
            "change": self.word(),
            "before": said(&self.before),
            "after": said(&self.after),
        })
    }
}

fn print(changes: &[Change]) -> Result<(), Failure> {
    let mut out = Screen::stdout();
    let width = changes.iter().map(|change| change.level.chars().count()).max().unwrap_or(0);
    for change in changes {
        let tone = match change.word() {
            "came" => Tone::Bad,
            "went" => Tone::Good,
            "other" | "changed" => Tone::Unsure,
            _ => Tone::Faint,
        };
        write!(out, "  ")?;
        out.paint(tone, &format!("{:<8}", change.word()))?;
        let (before, after) = (shown(&change.before), shown(&change.after));
        let text = match before == after {
            true => after,
            false => format!("{before} -> {after}"),
        };
        writeln!(out, "{:<width$}  {}", visible(&change.level), visible(&text))?;
    }
    Ok(out.flush()?)
}

fn shown(said: &Option<Said>) -> String {
    match said {
        None => "not asked".to_owned(),
        Some(Said { verdict, anomaly: Some(anomaly) }) => format!("{verdict} ({anomaly})"),
        Some(Said { verdict, anomaly: None }) => verdict.clone(),
    }
}
