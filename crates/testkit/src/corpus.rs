//! Histories with known verdicts, for every engine to run.
//!
//! [`named`] are small ones with a sentence why, and [`rows`] those with rows that come and go; [`counterexamples`] are fifteen on which at least one known tool gives a
//! wrong answer; [`recordings`] are the large ones of real databases, where the folder with them is at hand.

use std::fs;
use std::path::{Path, PathBuf};

use certify::Level;
use formats::{Format, Input, ReadOptions};
use history::History;

/// The levels of which every named case gives the verdict.
pub const LEVELS: [&str; 15] = [
    "read-committed",
    "cut-isolation",
    "read-atomic",
    "update-atomic",
    "causal",
    "parallel-si",
    "prefix",
    "snapshot-isolation",
    "session-snapshot-isolation",
    "generalized-si",
    "strong-session-si",
    "strong-si",
    "serializable",
    "session-serializable",
    "strict-serializable",
];

/// A small history and what is true of it.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// Why the verdicts are what they are.
    pub why: String,
    /// The history.
    pub history: History,
    /// Names of levels, and whether each holds.
    pub verdicts: Vec<(&'static str, bool)>,
}

/// Runs something for every named case and every counterexample, with each level that it gives a verdict of.
pub fn for_each(mut run: impl FnMut(&Case, &'static str, bool)) {
    for case in named().iter().chain(&counterexamples()) {
        for &(level, holds) in &case.verdicts {
            run(case, level, holds);
        }
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The named cases of `corpus/named.txt`: reads and writes of single keys.
pub fn named() -> Vec<Case> {
    cases("named.txt", &LEVELS)
}

/// The cases of `corpus/rows.txt`: ranges, inserts, deletes, lists, recorded versions and predicates.
///
/// They give verdicts of the levels that have certificates.
pub fn rows() -> Vec<Case> {
    cases("rows.txt", &Level::NAMED.map(|(name, _)| name))
}

fn cases(file: &str, levels: &[&'static str]) -> Vec<Case> {
    let text = read(&folder().join(file));
    let mut cases = Vec::new();
    for block in text.split("\n[").skip(1) {
        let (name, rest) = block.split_once("]\n").unwrap_or_else(|| panic!("{block}: no closing bracket"));
        cases.push(named_case(name, rest, levels));
    }
    cases
}

fn named_case(name: &str, text: &str, levels: &[&'static str]) -> Case {
    let field = |field: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(field));
        line.unwrap_or_else(|| panic!("{name}: no line begins with {field:?}")).trim()
    };
    let is_history = |line: &&str| line.starts_with("  ");
    let history: String = text.lines().filter(is_history).map(|line| format!("{line}\n")).collect();
    Case {
        name: name.into(),
        why: field("why:").into(),
        history: formats::notation::parse(&history).unwrap_or_else(|error| panic!("{name}: {error}")),
        verdicts: verdicts(name, field("holds:"), levels),
    }
}

fn verdicts(name: &str, holds: &str, levels: &[&'static str]) -> Vec<(&'static str, bool)> {
    let (listed, listed_hold) = match holds.strip_prefix("all but ") {
        Some(violated) => (violated, false),
        None if holds == "all" => ("", false),
        None if holds == "none" => ("", true),
        None => (holds, true),
    };
    let listed: Vec<&str> = listed.split_whitespace().collect();
    let unknown = listed.iter().find(|level| !levels.contains(level));
    assert_eq!(unknown, None, "{name}: no such level");
    levels.iter().map(|&level| (level, listed.contains(&level) == listed_hold)).collect()
}

/// The levels of the counterexamples, by the short names of their table.
const SHORT_NAMES: [(&str, &str); 6] = [
    ("rc", "read-committed"),
    ("ra", "read-atomic"),
    ("cc", "causal"),
    ("pc", "prefix"),
    ("si", "session-snapshot-isolation"),
    ("ser", "session-serializable"),
];

/// The fifteen histories of `corpus/counterexamples`.
pub fn counterexamples() -> Vec<Case> {
    let folder = folder().join("counterexamples");
    let table = read(&folder.join("EXPECTED.tsv"));
    let case = |line: &str| {
        let (name, holds) = line.split_once('\t').unwrap_or((line, ""));
        let holds: Vec<&str> = holds.split_whitespace().collect();
        let path = folder.join(format!("{name}.hist"));
        Case {
            name: name.into(),
            why: "A known tool gives a wrong answer for a level of this history.".into(),
            history: load(&path, Format::DbcopHist),
            verdicts: SHORT_NAMES.into_iter().map(|(short, level)| (level, holds.contains(&short))).collect(),
        }
    };
    table.lines().filter(|line| !line.is_empty()).map(case).collect()
}

fn load(path: &Path, format: Format) -> History {
    let options = ReadOptions::default().with_format(format);
    let loaded = formats::read(&Input::named(path), &options);
    loaded.unwrap_or_else(|error| panic!("{}: {error}", path.display())).history
}

/// A history that was recorded from a real database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recording {
    /// Where it is.
    pub path: PathBuf,
    /// The name of its format.
    pub format: String,
    /// How many committed transactions it has.
    pub committed: usize,
    /// The level that was asked about.
    pub level: String,
    /// Whether it holds.
    pub holds: bool,
}

impl Recording {
    /// Reads it.
    pub fn load(&self) -> History {
        let loaded = formats::read(&Input::named(&self.path), &ReadOptions::default());
        loaded.unwrap_or_else(|error| panic!("{}: {error}", self.path.display())).history
    }
}

/// The recordings of `../shared/histories`, smallest first; none if the folder is not there.
pub fn recordings() -> Vec<Recording> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/histories");
    let Ok(table) = fs::read_to_string(folder.join("MANIFEST.tsv")) else {
        return Vec::new();
    };
    let mut recordings: Vec<Recording> = table.lines().skip(1).map(|line| recording(&folder, line)).collect();
    recordings.sort_by(|left, right| (left.committed, &left.path).cmp(&(right.committed, &right.path)));
    recordings
}

fn recording(folder: &Path, line: &str) -> Recording {
    let fields: Vec<&str> = line.split('\t').collect();
    let [path, format, _sessions, committed, _aborted, _ops, _keys, level, verdict, ..] = fields[..] else {
        panic!("MANIFEST.tsv: too few fields: {line}");
    };
    assert!(matches!(verdict, "holds" | "violated"), "MANIFEST.tsv: no verdict: {line}");
    Recording {
        path: folder.join(path),
        format: format.into(),
        committed: committed.parse().unwrap_or_else(|_| panic!("MANIFEST.tsv: not a number: {line}")),
        level: level.into(),
        holds: verdict == "holds",
    }
}
