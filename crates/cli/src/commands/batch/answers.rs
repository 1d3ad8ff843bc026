//! The output of a batch: a line of JSON for each history, appended as it comes.
//!
//! The file is locked while the batch runs. A last line that was cut off is removed, and its history checked again.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use isoscope::units::count;
use serde_json::Value;

use crate::exit::{Exit, Failure};
use crate::files::{is_stdout, refused};
use crate::screen::{Form, Screen};

/// The answers so far.
pub struct Answers {
    path: PathBuf,
    /// `None` for standard output.
    file: Option<File>,
    /// The names of the histories that have an answer.
    known: HashSet<String>,
    failed: usize,
    /// For each level how many histories have each verdict.
    verdicts: BTreeMap<String, BTreeMap<String, usize>>,
}

impl Answers {
    /// Opens the output, with the answers that it has for these levels.
    pub fn open(path: &Path, levels: &[String]) -> Result<Self, Failure> {
        let mut answers = Self {
            path: path.to_owned(),
            file: None,
            known: HashSet::new(),
            failed: 0,
            verdicts: BTreeMap::new(),
        };
        if is_stdout(path) {
            return Ok(answers);
        }
        let about = |error: io::Error| Failure::about(path, &error);
        let options = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = options.map_err(about)?;
        lock_file(&file).map_err(about)?;
        let whole = answers.read(&file, levels)?;
        file.set_len(whole).and_then(|()| file.seek(SeekFrom::End(0))).map_err(about)?;
        answers.file = Some(file);
        Ok(answers)
    }

    /// Reads the whole lines of the file, and gives their length.
    fn read(&mut self, file: &File, levels: &[String]) -> Result<u64, Failure> {
        let mut reader = BufReader::new(file);
        let (mut whole, mut number) = (0, 0);
        let mut line = Vec::new();
        loop {
            line.clear();
            let length = reader.read_until(b'\n', &mut line);
            let length = length.map_err(|error| Failure::about(&self.path, &error))?;
            if line.last() != Some(&b'\n') {
                return Ok(whole);
            }
            number += 1;
            let answer: Option<Value> = serde_json::from_slice(&line).ok();
            let answer = answer.filter(|answer| answer["history"]["file"].is_string());
            let answer = answer.ok_or_else(|| self.not_an_answer(number))?;
            self.refuse_other_levels(&answer, levels, number)?;
            self.count(&answer);
            whole += length as u64;
        }
    }

    fn not_an_answer(&self, line: usize) -> Failure {
        let file = self.path.display();
        Failure::new(format!(
            "{file}: line {line} is not an answer of isoscope; choose another file with --output"
        ))
    }

    /// An answer is kept only if it is the answer to the same question.
    fn refuse_other_levels(&self, answer: &Value, levels: &[String], line: usize) -> Result<(), Failure> {
        let names = |field: &str| answer[field].as_array().into_iter().flatten().filter_map(level_of);
        let found: BTreeSet<&str> = names("verdicts").chain(names("not_asked")).collect();
        let expected: BTreeSet<&str> = levels.iter().map(String::as_str).collect();
        if found == expected || answer["error"].is_string() {
            return Ok(());
        }
        let file = self.path.display();
        Err(Failure::new(format!(
            "{file}: line {line} answers for other levels than those that are asked for now; choose another file with \
             --output"
        )))
    }

    /// Whether a history has an answer.
    pub fn has(&self, path: &Path) -> bool {
        self.known.contains(&*path.to_string_lossy())
    }

    /// Writes an answer, one line and one write.
    pub fn add(&mut self, answer: Value) -> Result<(), Failure> {
        self.count(&answer);
        let mut line = Vec::new();
        let mut out = Screen::over(&mut line, Form::Json);
        serde_json::to_writer(&mut out, &answer)?;
        out.flush()?;
        drop(out);
        line.push(b'\n');
        let written = match &mut self.file {
            Some(file) => file.write_all(&line),
            None => io::stdout().lock().write_all(&line),
        };
        written.map_err(|error| refused(&self.path, error))
    }

    fn count(&mut self, answer: &Value) {
        self.known.extend(answer["history"]["file"].as_str().map(str::to_owned));
        self.failed += usize::from(answer["error"].is_string());
        for verdict in answer["verdicts"].as_array().into_iter().flatten() {
            let (level, word) = (level_of(verdict), verdict["verdict"].as_str());
            let counts = self.verdicts.entry(level.unwrap_or_default().to_owned()).or_default();
            *counts.entry(word.unwrap_or_default().to_owned()).or_default() += 1;
        }
    }

    /// Prints the sums, unless standard output has the answers, and gives the gravest exit code.
    pub fn report(&self) -> Result<Exit, Failure> {
        if self.file.is_some() {
            self.print()?;
        }
        let any = |word: &str| self.verdicts.values().any(|counts| counts.contains_key(word));
        let exits = [
            (self.failed > 0, Exit::Failed),
            (any("violated"), Exit::Violated),
            (any("undecided"), Exit::Undecided),
        ];
        let found = exits.into_iter().filter(|(is_so, _)| *is_so).map(|(_, exit)| exit);
        Ok(found.fold(Exit::Holds, Exit::graver))
    }

    fn print(&self) -> Result<(), Failure> {
        let mut out = Screen::stdout();
        let histories = match self.known.len() {
            1 => "1 history".to_owned(),
            number => format!("{} histories", count(number)),
        };
        let failed = match self.failed {
            0 => String::new(),
            number => format!(", {} without an answer", count(number)),
        };
        writeln!(out, "{}: {histories}{failed}\n", self.path.display())?;
        for level in isoscope::LevelId::ALL.iter().map(|level| level.name()) {
            self.print_level(level, &mut out)?;
        }
        let is_own = |name: &&String| name.parse::<isoscope::LevelId>().is_err();
        for level in self.verdicts.keys().filter(is_own) {
            self.print_level(level, &mut out)?;
        }
        Ok(out.flush()?)
    }

    fn print_level(&self, level: &str, out: &mut Screen<'_>) -> Result<(), Failure> {
        let Some(counts) = self.verdicts.get(level) else { return Ok(()) };
        let words = ["holds", "violated", "undecided"];
        let parts = words.iter().filter_map(|word| Some(format!("{} {word}", count(*counts.get(*word)?))));
        Ok(writeln!(out, "  {level:<28} {}", parts.collect::<Vec<_>>().join(", "))?)
    }
}

fn level_of(verdict: &Value) -> Option<&str> {
    verdict["level"].as_str()
}

fn lock_file(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(io::Error::other("another batch is writing to this file")),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
