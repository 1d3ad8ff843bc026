//! The reports that a command writes beside its answer: one set of flags for `check`, `run` and `probe`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::suite::Suite;
use super::{junit, sarif};
use crate::exit::Failure;
use crate::files::{Named, flags, is_stdout, write_whole};
use crate::screen::Form;

/// Which reports to write, and where.
#[derive(Args, Debug, Default)]
pub struct ReportArguments {
    /// Write a JUnit report to this file (- for standard output, instead of the text)
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write a SARIF report to this file (- for standard output, instead of the text)
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Write a Markdown summary to this file (- for standard output, instead of the text)
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write a report with pictures to this HTML file (- for standard output, instead of the text); of several
    /// histories or runs, those after the first go to FILE-2.html and so on
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print only the first sentence of each answer
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,
}

/// What the reports are made of, collected while the command goes on.
#[derive(Debug, Default)]
pub struct Collected {
    /// For JUnit and SARIF.
    pub suites: Vec<Suite>,
    /// The Markdown summaries, one after the other.
    pub markdown: Vec<u8>,
}

impl ReportArguments {
    /// Whether a report is asked for that is written when all histories are done.
    pub fn is_any_collected(&self) -> bool {
        self.junit.is_some() || self.sarif.is_some() || self.markdown.is_some()
    }

    /// The files, as the command line names them.
    pub fn outputs(&self) -> Vec<Named> {
        flags([
            ("--junit", &self.junit),
            ("--sarif", &self.sarif),
            ("--markdown", &self.markdown),
            ("--html", &self.html),
        ])
    }

    /// Whether a report goes to standard output, so that the text does not.
    pub fn takes_stdout(&self) -> bool {
        let files = [&self.junit, &self.sarif, &self.markdown, &self.html];
        files.into_iter().flatten().any(|file| is_stdout(file))
    }

    /// The page of the history or run at this place, counted from 0.
    pub fn page_file(&self, place: usize) -> Option<PathBuf> {
        let file = self.html.as_ref()?;
        if place == 0 || is_stdout(file) {
            return Some(file.clone());
        }
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let ending =
            file.extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
        Some(file.with_file_name(format!("{stem}-{}{ending}", place + 1)))
    }

    /// Writes all but the pages.
    pub fn write(&self, collected: &Collected) -> Result<(), Failure> {
        let write = |file: &Option<PathBuf>, form, write: &dyn Fn(&mut dyn Write) -> Result<(), Failure>| {
            let write_to = |file: &Path| write_whole(file, form, write);
            file.as_deref().map_or(Ok(()), write_to)
        };
        write(&self.junit, Form::Text, &|out| junit::write(&collected.suites, out))?;
        write(&self.sarif, Form::Json, &|out| sarif::write(&collected.suites, out))?;
        write(&self.markdown, Form::Text, &|out| Ok(out.write_all(&collected.markdown)?))
    }
}

impl Collected {
    /// Adds a suite with its summary.
    pub fn add(
        &mut self,
        suite: Suite,
        markdown: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.suites.push(suite);
        if !self.markdown.is_empty() {
            self.markdown.push(b'\n');
        }
        markdown(&mut self.markdown)
    }

    /// Adds a question that could not be asked.
    pub fn add_failure(&mut self, name: &str, failure: &Failure) -> Result<(), Failure> {
        let text = super::markdown::escape(&failure.to_string());
        self.add(Suite::of_failure(name, failure), |out| Ok(writeln!(out, "### {text}")?))
    }
}
