//! Levels by the names that people write.

use std::fmt;
use std::str::FromStr;

use crate::LevelId;

/// No level has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownLevel {
    /// The name as it was written.
    pub name: String,
    /// The known name that is most like it, if one is.
    pub nearest: Option<&'static str>,
}

impl fmt::Display for UnknownLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "no level is called {:?}", self.name)?;
        match self.nearest {
            Some(nearest) => write!(out, "; did you mean {nearest}?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownLevel {}

impl FromStr for LevelId {
    type Err = UnknownLevel;

    /// The level of this name or alias; case and underscores do not matter.
    fn from_str(name: &str) -> Result<Self, UnknownLevel> {
        let canonical = canonical_name(name);
        // Aliases are in the texts, which take two milliseconds to parse; a name does without.
        let is_it = |level: &Self| level.name() == canonical;
        let has_alias = |level: &Self| level.names().any(|known| known == canonical);
        let named = Self::ALL.into_iter().find(is_it).or_else(|| Self::ALL.into_iter().find(has_alias));
        named.ok_or_else(|| unknown(name, &canonical))
    }
}

/// A name as levels are written: case, blanks and underscores do not matter.
pub fn canonical_name(name: &str) -> String {
    name.trim().to_lowercase().replace(['_', ' '], "-")
}

/// A suggestion is made if at most one letter and a quarter of the name differ. Long names get none: they are no typing
/// errors, and comparing letters costs the product of the lengths.
fn unknown(name: &str, canonical: &str) -> UnknownLevel {
    const LONGEST: usize = 64;
    let names = LevelId::ALL.into_iter().flat_map(LevelId::names).filter(|_| canonical.len() <= LONGEST);
    let nearest =
        names.map(|known| (distance(canonical, known), known)).min_by_key(|&(distance, _)| distance);
    // Names that differ in a number are other levels, not typing errors.
    let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
    let is_near = |&(distance, known): &(usize, &str)| {
        distance <= 1 + canonical.len() / 4 && digits(known) == digits(canonical)
    };
    UnknownLevel { name: name.to_owned(), nearest: nearest.filter(is_near).map(|(_, known)| known) }
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
    fn names_are_found_however_they_are_written() {
        assert_eq!("Snapshot_Isolation".parse(), Ok(LevelId::SnapshotIsolation));
        assert_eq!("PL-3".parse(), Ok(LevelId::Serializable));
        let error = "serialisable".parse::<LevelId>().unwrap_err();
        assert_eq!(error.nearest, Some("serializable"));
        assert_eq!("pl-2".parse::<LevelId>().unwrap_err().nearest, None);
        assert_eq!("x".repeat(100_000).parse::<LevelId>().unwrap_err().nearest, None);
    }
}
