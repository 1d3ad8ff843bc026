//! The history that a command works on, with what it took to read it.

use std::time::{Duration, Instant};

use formats::{ErrorKind, Format, Input, ReadOptions, Warning};
use history::{History, Summary};
use isoscope::Limits;
use serde::Serialize;

use crate::args::InputArguments;
use crate::exit::Failure;
use crate::report::shown::is_final_read;
use crate::screen::say;
use crate::terminal::visible;
use isoscope::units::{count, counted};

/// A history as a command sees it.
#[derive(Debug)]
pub struct Subject {
    /// What to call it.
    pub name: String,
    /// What was observed.
    pub history: History,
    /// The format it was in.
    pub format: Format,
    /// What is worth knowing about the input.
    pub warnings: Vec<Warning>,
    /// The counts.
    pub summary: Summary,
    /// How long reading took.
    pub read_time: Duration,
}

/// The `history` object of every JSON answer.
#[derive(Serialize, Clone, Debug)]
pub struct HistoryJson {
    /// The name of the file.
    pub file: String,
    /// The format it was in.
    pub format: &'static str,
    /// Sessions.
    pub sessions: usize,
    /// Transactions, whatever became of them.
    pub transactions: usize,
    /// Committed transactions.
    pub committed: usize,
    /// Aborted transactions.
    pub aborted: usize,
    /// Transactions of unknown outcome.
    pub unknown: usize,
    /// Successful operations of committed transactions.
    pub operations: usize,
    /// Different keys.
    pub keys: usize,
    /// Warnings of the reader, each with its stable name in brackets.
    pub warnings: Vec<String>,
}

impl Subject {
    /// Reads the history, within the limits.
    pub fn read(arguments: &InputArguments, limits: &Limits) -> Result<Self, Failure> {
        Self::read_as(arguments.input(), arguments.reading.options(limits.memory()), limits)
    }

    /// Reads a history with other flags than those of most commands.
    pub fn read_as(input: Input, options: ReadOptions, limits: &Limits) -> Result<Self, Failure> {
        let name = match &input {
            Input::Stdin => "standard input".to_owned(),
            Input::Path(path) => path.display().to_string(),
        };
        let started = Instant::now();
        let loaded = limits
            .bound(&format!("reading {}", visible(&name)), move || formats::read(&input, &options))?
            .map_err(|error| reading_failed(&error, limits))?;
        Ok(Self {
            name,
            summary: Summary::of(&loaded.history),
            history: loaded.history,
            format: loaded.format,
            warnings: loaded.warnings,
            read_time: started.elapsed(),
        })
    }

    /// The same with another history.
    pub fn with_history(self, history: History) -> Self {
        Self { summary: Summary::of(&history), history, ..self }
    }

    /// Prints the reader's warnings to standard error.
    pub fn warn(&self) {
        for warning in &self.warnings {
            say(&format!("warning: {}: {}", visible(&self.name), visible(&warning.to_string())));
        }
    }

    /// The name and the counts.
    pub fn headline(&self) -> String {
        format!("{}: {}", visible(&self.name), self.counts())
    }

    /// The counts as a sentence.
    pub fn counts(&self) -> String {
        let summary = &self.summary;
        let mut outcomes = vec![format!("{} committed", count(summary.committed))];
        if summary.aborted > 0 {
            outcomes.push(format!("{} aborted", count(summary.aborted)));
        }
        if summary.unknown > 0 {
            outcomes.push(format!("{} unknown", count(summary.unknown)));
        }
        let outcomes = match outcomes.len() {
            1 => String::new(),
            _ => format!(" ({})", outcomes.join(", ")),
        };
        let final_reads =
            self.history.sessions().filter(|&session| is_final_read(&self.history, session)).count();
        let clients = counted(summary.sessions - final_reads, "session");
        let sessions = if final_reads > 0 { format!("{clients} and the final read") } else { clients };
        format!(
            "{sessions}, {}{outcomes}, {}, {}",
            counted(summary.transactions, "transaction"),
            counted(summary.operations, "operation"),
            counted(summary.keys, "key"),
        )
    }

    /// The `history` object.
    pub fn json(&self) -> HistoryJson {
        let summary = &self.summary;
        HistoryJson {
            file: self.name.clone(),
            format: self.format.name(),
            sessions: summary.sessions,
            transactions: summary.transactions,
            committed: summary.committed,
            aborted: summary.aborted,
            unknown: summary.unknown,
            operations: summary.operations,
            keys: summary.keys,
            warnings: self.warnings.iter().map(ToString::to_string).collect(),
        }
    }
}

/// A limit that the user set is no fault of the input.
fn reading_failed(error: &formats::Error, limits: &Limits) -> Failure {
    let sentence = visible(&error.to_string());
    match error.kind() {
        ErrorKind::Limit if limits.memory().is_some() => Failure::Limit(sentence),
        _ => Failure::Message(sentence),
    }
}
