//! The notation of schedules: blocks of lines that begin with a word.
//!
//! ```text
//! schedule write-skew
//! about    Each transaction writes one of two rows that both have read.
//! class    IAT-DDA
//! init     x=0 y=0
//! steps    r1(x) r1(y) r2(x) r2(y) w1(x)=1 w2(y)=1 c1 c2
//! shown    committed 1 2 and not serializable
//! ```
//!
//! A step is a letter, the number of its transaction, and what it is about: `r1(x)` reads a row, `l1(x)` reads and locks
//! it, `w1(x)=5` writes, `w1(x)+=5` adds, `i1(x)=5` inserts, `d1(x)` deletes, `p1[v=5]` reads the rows that satisfy a
//! predicate, `u1[v=5]=6` writes them, `d1[v=5]` deletes them, `c1` commits, `a1` rolls back. Keys are integers or words;
//! values are integers. A table has one column `v` unless `columns` names others: `init kevin=(500,500)`,
//! `w1(kevin.saving)=5`. `shown` may stand more than once: one of them is enough. Without it, the anomaly is an outcome
//! that no serial order gives. `#` begins a comment line, and a line that begins with a blank goes on with the line
//! before it.

mod cursor;
mod shown;
mod steps;

use std::fmt;

use databases::{ColumnType, Statement, Table};
use history::Datum;

use crate::schedule::{Schedule, ScheduleStep, TABLE};
use crate::{Action, Condition};
pub(crate) use cursor::Cursor;

/// The longest text that is read: schedules are written by people.
const LONGEST_TEXT: usize = 4 << 20;

/// The most steps of a schedule.
const MOST_STEPS: usize = 1000;

/// What is wrong with a text, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// The line, from 1.
    pub line: usize,
    /// What was expected and what was found.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for Error {}

/// Reads schedules.
pub fn parse(text: &str) -> Result<Vec<Schedule>, Error> {
    if text.len() > LONGEST_TEXT {
        return Err(Error { line: 1, message: format!("longer than {LONGEST_TEXT} bytes") });
    }
    let mut drafts: Vec<Draft> = Vec::new();
    for (line, words) in logical_lines(text) {
        let (word, rest) = words.split_once(char::is_whitespace).unwrap_or((&words, ""));
        let fail = |message: String| Error { line, message };
        match (word, drafts.last_mut()) {
            ("schedule", _) => drafts.push(Draft::new(line, rest.trim()).map_err(fail)?),
            (_, Some(draft)) => draft.take(word, rest.trim()).map_err(fail)?,
            (_, None) => return Err(fail(format!("expected `schedule NAME`, found `{}`", excerpt(word)))),
        }
    }
    reject_repeated_names(&drafts)?;
    drafts.into_iter().map(Draft::finish).collect()
}

/// Lines with their numbers, without comments and with the lines that go on with them.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let is_comment = line.trim_start().starts_with('#');
        if is_comment || line.trim().is_empty() {
            continue;
        }
        match lines.last_mut() {
            Some((_, last)) if line.starts_with(char::is_whitespace) => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => lines.push((number + 1, line.trim_end().to_owned())),
        }
    }
    lines
}

fn reject_repeated_names(drafts: &[Draft]) -> Result<(), Error> {
    let mut seen = std::collections::BTreeSet::new();
    match drafts.iter().find(|draft| !seen.insert(draft.name.as_str())) {
        None => Ok(()),
        Some(draft) => {
            Err(Error { line: draft.line, message: format!("a second schedule `{}`", excerpt(&draft.name)) })
        }
    }
}

/// A schedule that is being read.
struct Draft {
    line: usize,
    name: String,
    about: String,
    class: String,
    columns: Vec<String>,
    rows: Vec<(Datum, Vec<Datum>)>,
    steps: Vec<ScheduleStep>,
    shown: Vec<Vec<Condition>>,
}

impl Draft {
    fn new(line: usize, name: &str) -> Result<Draft, String> {
        let is_name = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
        if name.is_empty() || name.len() > 100 || !name.chars().all(is_name) {
            return Err(format!(
                "expected a name of letters, digits, `-`, `_`, `.`, found `{}`",
                excerpt(name)
            ));
        }
        Ok(Draft {
            line,
            name: name.to_owned(),
            about: String::new(),
            class: String::new(),
            columns: Vec::new(),
            rows: Vec::new(),
            steps: Vec::new(),
            shown: Vec::new(),
        })
    }

    fn take(&mut self, word: &str, rest: &str) -> Result<(), String> {
        match word {
            "about" => self.about = rest.to_owned(),
            "class" => self.class = rest.to_owned(),
            "columns" => self.columns = self.named_columns(rest)?,
            "init" => self.rows = steps::rows(&mut Cursor::new(rest), self.width())?,
            "steps" => self.steps.extend(steps::parse(&mut Cursor::new(rest), &self.column_names())?),
            "shown" => self.shown.push(shown::parse(&mut Cursor::new(rest), self.width())?),
            _ => {
                let known = "schedule, about, class, columns, init, steps, shown";
                return Err(format!("expected one of {known}, found `{}`", excerpt(word)));
            }
        }
        Ok(())
    }

    fn named_columns(&self, rest: &str) -> Result<Vec<String>, String> {
        if !self.rows.is_empty() || !self.steps.is_empty() {
            return Err("`columns` comes before `init` and `steps`".to_owned());
        }
        let names: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
        let is_name = |name: &String| {
            name.len() <= 40
                && name != "k"
                && name.starts_with(|first: char| first.is_ascii_lowercase())
                && name.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_')
        };
        match names.iter().find(|name| !is_name(name)) {
            Some(name) => {
                Err(format!("expected a column of lower-case letters, not `k`, found `{}`", excerpt(name)))
            }
            None if names.is_empty() => Err("expected the names of columns".to_owned()),
            None => Ok(names),
        }
    }

    fn column_names(&self) -> Vec<String> {
        if self.columns.is_empty() { vec!["v".to_owned()] } else { self.columns.clone() }
    }

    fn width(&self) -> usize {
        self.columns.len().max(1)
    }

    fn finish(mut self) -> Result<Schedule, Error> {
        let line = self.line;
        let fail = |message: String| Error { line, message };
        if self.steps.is_empty() || self.steps.len() > MOST_STEPS {
            return Err(fail(format!("schedule `{}` needs steps, at most {MOST_STEPS}", self.name)));
        }
        self.check_txns().map_err(fail)?;
        let key = self.key_type().map_err(fail)?;
        if self.shown.is_empty() {
            self.shown.push(vec![Condition::NotSerializable]);
        }
        let columns = self.column_names().into_iter().map(|name| (name, ColumnType::Int)).collect();
        let table = Table { name: TABLE.to_owned(), key, columns, rows: self.rows, keeps_old: false };
        let Draft { name, about, class, steps, shown, .. } = self;
        Ok(Schedule { name, about, class, table, steps, shown })
    }

    /// Every transaction has an end, and nothing comes after it; numbers leave no gaps.
    fn check_txns(&self) -> Result<(), String> {
        let count = self.steps.iter().map(|step| step.txn.number()).max().unwrap_or(0);
        for txn in 0..count {
            let mut own = self.steps.iter().filter(|step| step.txn.0 == txn).map(|step| &step.action);
            let is_end = |action: &&Action| matches!(action, Action::Commit | Action::Abort);
            let number = txn + 1;
            match (own.clone().count(), own.find(is_end), own.next()) {
                (0, _, _) => return Err(format!("there is no transaction {number} among {count}")),
                (1, Some(_), _) => return Err(format!("transaction {number} does nothing before it ends")),
                (_, None, _) => return Err(format!("transaction {number} needs `c{number}` or `a{number}`")),
                (_, Some(_), Some(_)) => return Err(format!("transaction {number} goes on after its end")),
                (_, Some(_), None) => {}
            }
        }
        let named = self.shown.iter().flatten().flat_map(Condition::txns);
        match named.into_iter().find(|txn| txn.0 >= count) {
            Some(txn) => Err(format!("`shown` names transaction {}, and there is none", txn.number())),
            None => Ok(()),
        }
    }

    /// Keys are all integers or all words.
    fn key_type(&self) -> Result<ColumnType, String> {
        let in_steps = self.steps.iter().filter_map(|step| match &step.action {
            Action::Ask(statement) => key_of(statement),
            Action::Commit | Action::Abort => None,
        });
        let mut types = self.rows.iter().map(|(key, _)| key).chain(in_steps).map(|key| match key {
            Datum::Int(_) => ColumnType::Int,
            _ => ColumnType::Text,
        });
        let first = types.next().unwrap_or(ColumnType::Int);
        match types.all(|other| other == first) {
            true => Ok(first),
            false => Err("keys are either all integers or all words".to_owned()),
        }
    }
}

fn key_of(statement: &Statement) -> Option<&Datum> {
    match statement {
        Statement::Read { key, .. }
        | Statement::ReadForUpdate { key, .. }
        | Statement::Write { key, .. }
        | Statement::Add { key, .. }
        | Statement::Insert { key, .. }
        | Statement::Delete { key, .. } => Some(key),
        _ => None,
    }
}

/// The beginning of a text, for messages.
fn excerpt(text: &str) -> String {
    let mut short: String =
        text.chars().take(30).map(|char| if char.is_control() { '?' } else { char }).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests;
