//! What a table is expected to be, as a text for continuous integration.
//!
//! A line is a setting, a schedule and a word: `read-committed g1a prevented`. The words are those of [`Cell`], and
//! `impossible` for any of them but `possible`. A suite instead of a schedule has counts: `read-committed coo 19/5/30`.
//! What the text does not mention may be anything.

use crate::report::{Finding, Report, Row};
use crate::{Cell, Counts};

/// What a text expects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expectation {
    lines: Vec<Line>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Line {
    number: usize,
    setting: String,
    subject: String,
    word: String,
}

/// A line of the text that does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The line of the text, from 1.
    pub line: usize,
    /// The setting.
    pub setting: String,
    /// The schedule or suite.
    pub subject: String,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl Expectation {
    /// Reads a text; an error names the line.
    pub fn parse(text: &str) -> Result<Expectation, String> {
        let mut lines = Vec::new();
        for (place, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
            match words[..] {
                [] => {}
                [setting, subject, word] if is_word(word) => lines.push(Line {
                    number: place + 1,
                    setting: setting.to_owned(),
                    subject: subject.to_owned(),
                    word: word.to_owned(),
                }),
                _ => return Err(format!("line {}: expected `SETTING SCHEDULE WORD`, {WORDS}", place + 1)),
            }
        }
        match lines.is_empty() {
            true => Err("nothing is expected: every line is empty".to_owned()),
            false => Ok(Expectation { lines }),
        }
    }

    /// Where a report differs.
    pub fn differences(&self, report: &Report) -> Vec<Difference> {
        self.lines.iter().filter_map(|line| line.difference(report)).collect()
    }
}

const WORDS: &str =
    "where the word is possible, impossible, aborts, waits, prevented, stuck, or counts such as 19/5/30";

fn is_word(word: &str) -> bool {
    let is_counts = || word.contains('/') && word.split('/').all(|part| part.parse::<u32>().is_ok());
    word == "impossible" || Cell::ALL.iter().any(|cell| cell.word() == word) || is_counts()
}

impl Line {
    fn difference(&self, report: &Report) -> Option<Difference> {
        let found = self.found(report);
        let is_met = match self.word.as_str() {
            "impossible" => ["aborts", "waits", "prevented"].contains(&found.as_str()),
            word => found == word,
        };
        (!is_met).then(|| Difference {
            line: self.number,
            setting: self.setting.clone(),
            subject: self.subject.clone(),
            expected: self.word.clone(),
            found,
        })
    }

    fn found(&self, report: &Report) -> String {
        let Some(row) = report.rows.iter().find(|row| row.setting.name == self.setting) else {
            return "nothing: no such setting was asked".to_owned();
        };
        if let Some(place) = report.suites.iter().position(|suite| suite.name == self.subject) {
            return row.counts(place).to_string();
        }
        let mut of_schedule = report.named(&self.subject).filter(|(other, ..)| std::ptr::eq(*other, row));
        match of_schedule.next() {
            Some((_, _, Finding::Ran(ran))) => ran.1.cell.word().to_owned(),
            Some((_, _, Finding::Refused(_))) => "refused".to_owned(),
            None => "nothing: no such schedule was asked (--all lists those that were)".to_owned(),
        }
    }
}

/// What a report says, as a text that expects just that.
pub fn text_of(report: &Report) -> String {
    let mut lines = vec![format!(
        "# What isoscope probe found on {} {}.",
        report.database.product, report.database.version
    )];
    for row in &report.rows {
        lines.push(String::new());
        lines.extend(lines_of(report, row));
    }
    lines.join("\n") + "\n"
}

fn lines_of(report: &Report, row: &Row) -> Vec<String> {
    let mut lines = Vec::new();
    for (suite, findings) in report.suites.iter().zip(&row.findings) {
        let ran = |finding: &Finding| finding.cell().map(Cell::word);
        for (schedule, word) in suite.schedules.iter().zip(findings.iter().map(ran)) {
            lines.extend(word.map(|word| format!("{} {} {word}", row.setting.name, schedule.name)));
        }
        let counts = Counts::of(findings.iter().filter_map(Finding::class));
        lines.push(format!("{} {} {counts}", row.setting.name, suite.name));
    }
    lines
}
