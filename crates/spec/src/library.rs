//! The standard library: every shipped level as text, in the binary.
//!
//! The text is the definition. Checking, synthesis, comparison, `isoscope levels NAME` and the tests of every engine
//! start from these files and from nothing else.

use std::sync::OnceLock;

use crate::core::Level;
use crate::load::Spec;

const FILES: [(&str, &str); 6] = [
    ("std/relations.iso", include_str!("../std/relations.iso")),
    ("std/levels.iso", include_str!("../std/levels.iso")),
    ("std/guarantees.iso", include_str!("../std/guarantees.iso")),
    ("std/commit-order.iso", include_str!("../std/commit-order.iso")),
    ("std/visibility.iso", include_str!("../std/visibility.iso")),
    ("std/plume.iso", include_str!("../std/plume.iso")),
];

/// The text of a file of the standard library.
pub fn file(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|&(_, text)| text)
}

/// The files of the standard library.
pub fn file_names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|&(name, _)| name)
}

/// Every shipped level: those of product names first, then each framework's own.
pub fn levels() -> &'static [Level] {
    static LEVELS: OnceLock<Vec<Level>> = OnceLock::new();
    LEVELS.get_or_init(|| {
        let read =
            |&(name, text): &(&str, &str)| Spec::parse(name, text).unwrap_or_else(|error| panic!("{error}"));
        FILES.iter().flat_map(|file| read(file).levels).collect()
    })
}

/// A shipped level by its name or any alias.
pub fn level(name: &str) -> Option<&'static Level> {
    levels().iter().find(|level| level.name == name || level.aliases.iter().any(|alias| alias == name))
}

/// The file that defines a shipped level.
pub fn file_of(level: &Level) -> Option<&'static str> {
    FILES.iter().find(|(_, text)| text.contains(&level.text)).map(|&(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_level_reads_and_names_are_unique() {
        let mut names: Vec<&str> = levels().iter().flat_map(level_names).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "a name or alias is used twice");
        assert!(levels().iter().all(|level| !level.description.is_empty()));
    }

    fn level_names(level: &Level) -> impl Iterator<Item = &str> {
        [level.name.as_str()].into_iter().chain(level.aliases.iter().map(String::as_str))
    }
}
