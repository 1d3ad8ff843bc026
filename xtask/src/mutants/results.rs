//! What became of each mutant, in a file, so that a run goes on where the last one stopped.
//!
//! A mutant is known by its file, its line and its change, and by how many equal lines stand before it, not by its number
//! or the number of its line: a result is kept while other lines change. After a change of the code that a line calls, or
//! of a test, the results may be others: `--all` runs each mutant again.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::copy::{Mutant, write};
use crate::run::Done;

/// What became of a mutant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fate {
    /// This test failed.
    Killed(String),
    /// This test did not end in time.
    Hung(String),
    /// Tests meet it, and all pass.
    Survived,
    /// No test meets it.
    Unmet,
}

impl Fate {
    /// Whether a test noticed it.
    pub fn is_killed(&self) -> bool {
        matches!(self, Self::Killed(_) | Self::Hung(_))
    }

    /// The test that noticed it.
    pub fn killer(&self) -> Option<&str> {
        match self {
            Self::Killed(test) | Self::Hung(test) => Some(test),
            Self::Survived | Self::Unmet => None,
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Killed(test) => format!("killed\t{test}"),
            Self::Hung(test) => format!("hung\t{test}"),
            Self::Survived => "survived\t".to_owned(),
            Self::Unmet => "unmet\t".to_owned(),
        }
    }

    fn of(word: &str, test: &str) -> Option<Self> {
        match word {
            "killed" => Some(Self::Killed(test.to_owned())),
            "hung" => Some(Self::Hung(test.to_owned())),
            "survived" => Some(Self::Survived),
            "unmet" => Some(Self::Unmet),
            _ => None,
        }
    }
}

/// The results of earlier runs and of this one.
pub struct Results {
    path: PathBuf,
    fates: BTreeMap<String, Fate>,
}

impl Results {
    /// Reads the results of earlier runs, if there are any; of several results of a mutant the last one counts.
    pub fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let entry = |line: &str| {
            let mut words = line.splitn(3, '\t');
            let (word, test, mutant) = (words.next()?, words.next()?, words.next()?);
            Some((mutant.to_owned(), Fate::of(word, test)?))
        };
        let fates = text.lines().filter_map(entry).collect();
        Self { path, fates }
    }

    /// What is known of a mutant.
    pub fn of(&self, mutant: &Mutant) -> Option<&Fate> {
        self.fates.get(&key(mutant))
    }

    /// Notes what became of a mutant, in the file too.
    pub fn add(&mut self, mutant: &Mutant, fate: Fate) -> Done {
        if !Path::new(&self.path).exists() {
            write(&self.path, b"")?;
        }
        let line = format!("{}\t{}\n", fate.shown(), key(mutant));
        let file = fs::OpenOptions::new().append(true).open(&self.path);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        self.fates.insert(key(mutant), fate);
        written.map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

/// What a mutant is known by.
fn key(mutant: &Mutant) -> String {
    let Mutant { file, text, what, part, equal, .. } = mutant;
    format!("{file}: {what} ({part}, {equal}): {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_result_of_a_mutant_counts() {
        let path = std::env::temp_dir().join(format!("isoscope-results-{}", std::process::id()));
        let mutant = |part| Mutant {
            number: 7,
            file: "f.rs".to_owned(),
            line: 3,
            text: "if a {".to_owned(),
            what: "condition negated",
            part,
            equal: 0,
        };
        let mut results = Results::read(path.clone());
        results.add(&mutant(1), Fate::Survived).unwrap();
        results.add(&mutant(1), Fate::Killed("a/b/c".to_owned())).unwrap();
        let results = Results::read(path.clone());
        fs::remove_file(path).unwrap();
        assert_eq!(results.of(&mutant(1)).and_then(Fate::killer), Some("a/b/c"));
        assert_eq!(results.of(&mutant(2)), None);
    }
}
