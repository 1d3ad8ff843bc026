//! The levels by name: their texts come from `spec`, their engines from `verify`, and how they imply one another from
//! here.

use certify::{Level, RealTime};

use crate::exit::Failure;

/// A level that users can name.
#[derive(Clone, Copy, Debug)]
pub struct NamedLevel {
    /// Name, aliases, description and definition.
    pub spec: &'static spec::Level,
    /// What the engine decides, if one does.
    pub engine: Option<Level>,
}

impl NamedLevel {
    /// The name.
    pub fn name(self) -> &'static str {
        &self.spec.name
    }

    /// Whether it speaks of real time, so that a history without times cannot be asked for it.
    pub fn needs_times(self) -> bool {
        self.engine.is_some_and(|level| level.real_time != RealTime::Ignored)
    }
}

/// For each level those that it directly implies: every history that satisfies the first satisfies the others.
///
/// Strict serializability does not imply the snapshot levels of real time: these forbid a transaction to see what was
/// committed after it began, and a serial order does not. Nor do the levels without order obligations imply the weak
/// ones, which respect sessions.
pub const IMPLIES: [(&str, &[&str]); 18] = [
    ("strict-serializable", &["session-serializable"]),
    ("session-serializable", &["serializable", "session-snapshot-isolation", "update-serializable"]),
    ("serializable", &["snapshot-isolation"]),
    ("strong-si", &["strong-session-si"]),
    ("strong-session-si", &["generalized-si", "session-snapshot-isolation"]),
    ("generalized-si", &["snapshot-isolation"]),
    ("session-snapshot-isolation", &["snapshot-isolation", "prefix", "parallel-si"]),
    ("snapshot-isolation", &["cut-isolation"]),
    ("prefix", &["causal"]),
    ("parallel-si", &["causal", "update-atomic"]),
    ("update-serializable", &["read-uncommitted"]),
    ("causal", &["read-atomic"]),
    ("update-atomic", &["no-lost-update"]),
    ("no-lost-update", &["read-atomic"]),
    ("read-atomic", &["read-committed", "cut-isolation"]),
    ("read-committed", &["read-uncommitted"]),
    ("cut-isolation", &["read-uncommitted"]),
    ("read-uncommitted", &[]),
];

/// Whether the first level implies the second, directly or through others.
pub fn implies(stronger: &str, weaker: &str) -> bool {
    stronger == weaker || implied_by(stronger).iter().any(|next| implies(next, weaker))
}

/// The levels that a level directly implies.
pub fn implied_by(name: &str) -> &'static [&'static str] {
    IMPLIES.iter().find(|(known, _)| *known == name).map_or(&[], |&(_, weaker)| weaker)
}

/// All levels of the lattice, strongest first.
pub fn all() -> Vec<NamedLevel> {
    IMPLIES.iter().filter_map(|(name, _)| named(name)).collect()
}

/// All levels that an engine decides, strongest first.
pub fn with_engine() -> Vec<NamedLevel> {
    all().into_iter().filter(|level| level.engine.is_some()).collect()
}

/// The level of this name or alias; case and underscores do not matter.
pub fn find(name: &str) -> Result<NamedLevel, Failure> {
    let canonical = canonical(name);
    named(&canonical).ok_or_else(|| unknown(name, &canonical))
}

/// A name as levels are written: case and underscores do not matter.
pub fn canonical(name: &str) -> String {
    name.trim().to_lowercase().replace(['_', ' '], "-")
}

fn named(name: &str) -> Option<NamedLevel> {
    let spec = spec::library::level(name)?;
    Some(NamedLevel { spec, engine: Level::named(&spec.name) })
}

fn unknown(name: &str, canonical: &str) -> Failure {
    let names = all().into_iter().flat_map(|level| names_of(level.spec));
    let nearest =
        names.map(|known| (distance(canonical, known), known)).min_by_key(|&(distance, _)| distance);
    let hint = match nearest {
        Some((distance, known)) if distance <= 1 + canonical.len() / 4 => {
            format!("did you mean {known}? ")
        }
        _ => String::new(),
    };
    Failure::new(format!(
        "no level is called {name:?} ({hint}`isoscope levels` lists them; a level of your own is a file that ends in .iso)"
    ))
}

/// The name and the aliases.
pub fn names_of(level: &'static spec::Level) -> impl Iterator<Item = &'static str> {
    std::iter::once(level.name.as_str()).chain(level.aliases.iter().map(String::as_str))
}

/// How many letters have to be inserted, removed or replaced to make one word of the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &r) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(l != r);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_of_the_lattice_has_a_text_and_every_engine_a_place_in_it() {
        for (name, weaker) in IMPLIES {
            assert!(spec::library::level(name).is_some(), "{name} has no text");
            for weaker in weaker {
                let place = |name: &str| IMPLIES.iter().position(|(known, _)| *known == name);
                assert!(place(name) < place(weaker), "{name} is listed after {weaker}");
            }
        }
        for (name, level) in Level::NAMED {
            let known = with_engine().into_iter().find(|known| known.name() == name).expect(name);
            assert_eq!(known.engine, Some(level));
        }
    }

    #[test]
    fn implication_is_transitive() {
        assert!(implies("strict-serializable", "read-committed"));
        assert!(implies("strong-si", "snapshot-isolation"));
        assert!(!implies("strict-serializable", "generalized-si"));
        assert!(!implies("snapshot-isolation", "prefix"));
    }

    #[test]
    fn names_are_found_however_they_are_written() {
        assert_eq!(find("Snapshot_Isolation").unwrap().name(), "snapshot-isolation");
        assert_eq!(find("PL-3").unwrap().name(), "serializable");
        let error = find("serialisable").unwrap_err().to_string();
        assert!(error.contains("did you mean serializable?"), "{error}");
    }
}
