//! The levels as sentences name them, and which implies which.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::run::{Done, output_of};

/// How the first sentence of an answer calls a level.
const PHRASES: [(&str, &str); 18] = [
    ("strict serializability", "strict-serializable"),
    ("session serializability", "session-serializable"),
    ("serializability", "serializable"),
    ("strong snapshot isolation", "strong-si"),
    ("strong session snapshot isolation", "strong-session-si"),
    ("generalized snapshot isolation", "generalized-si"),
    ("session snapshot isolation", "session-snapshot-isolation"),
    ("snapshot isolation", "snapshot-isolation"),
    ("prefix consistency", "prefix"),
    ("parallel snapshot isolation", "parallel-si"),
    ("update serializability", "update-serializable"),
    ("causal consistency", "causal"),
    ("update atomicity", "update-atomic"),
    ("absence of lost updates", "no-lost-update"),
    ("read atomicity", "read-atomic"),
    ("read committed", "read-committed"),
    ("cut isolation", "cut-isolation"),
    ("read uncommitted", "read-uncommitted"),
];

/// The name of a level from what a sentence calls it; a level that is known by its name alone is called by it.
pub fn name_of(phrase: &str) -> &str {
    PHRASES.iter().find(|(known, _)| *known == phrase).map_or(phrase, |(_, name)| name)
}

/// What each level implies directly, as `isoscope levels --json` says.
pub struct Lattice(BTreeMap<String, Vec<String>>);

impl Lattice {
    /// The lattice of a command.
    pub fn of(isoscope: &Path) -> Done<Self> {
        let text = output_of(Command::new(isoscope).args(["levels", "--json"]), &[0])?;
        let levels: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let level = |level: &Value| Some((level["name"].as_str()?.to_owned(), names(&level["implies"])));
        Ok(Self(levels.as_array().into_iter().flatten().filter_map(level).collect()))
    }

    /// Whether a level implies another one.
    pub fn is_stronger(&self, level: &str, other: &str) -> bool {
        let direct = self.0.get(level).into_iter().flatten();
        direct.into_iter().any(|implied| implied == other || self.is_stronger(implied, other))
    }
}

fn names(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|name| Some(name.as_str()?.to_owned())).collect()
}

#[cfg(test)]
impl Lattice {
    /// A chain of levels, the strongest first.
    pub fn chain(levels: &[&str]) -> Self {
        let pair = |pair: &[&str]| (pair[0].to_owned(), vec![pair[1].to_owned()]);
        Self(levels.windows(2).map(pair).collect())
    }
}
