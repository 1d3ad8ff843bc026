//! Levels as the command line names them: shipped ones by name or alias, and those of files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use isoscope::{Asked, LevelId};
use spec::Spec;

use crate::exit::Failure;
use crate::files::{Named, named};

/// The levels of a command line; no names mean all.
pub fn asked(names: &[String]) -> Result<Asked, Failure> {
    let mut asked = Asked::default();
    for name in names {
        match (is_file_name(name), further(name)) {
            (true, _) => asked.add_own(read(name)?),
            (false, _) if name == spec::recorded::NAME => asked.add_recorded(),
            (false, Some(level)) => asked.add_own([level.clone()]),
            (false, None) => asked.add(find(name)?),
        }
    }
    Ok(asked)
}

/// A level of the standard library that is no part of the lattice; its text decides it, as for a level of a file.
pub fn further(name: &str) -> Option<&'static spec::Level> {
    match name.parse::<LevelId>() {
        Ok(_) => None,
        Err(_) => spec::library::level(name),
    }
}

/// The shipped level of this name or alias.
pub fn find(name: &str) -> Result<LevelId, Failure> {
    name.parse::<LevelId>().map_err(|error| {
        Failure::new(format!(
            "{error} (`isoscope levels` lists them; a level of your own is a file that ends in .iso)"
        ))
    })
}

/// The files among the names of levels.
pub fn inputs<'n>(names: impl IntoIterator<Item = &'n String>) -> impl Iterator<Item = Named> {
    let files = names.into_iter().filter(|name| is_file_name(name));
    files.map(|name| named("the level of", parts(name).0))
}

/// Whether the user named a file instead of a level.
pub fn is_file_name(name: &str) -> bool {
    name.ends_with(".iso") || name.contains(".iso:")
}

/// The most bytes that a file of levels may have. The shipped ones have a tenth.
const LARGEST_FILE: u64 = 256 << 10;

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LARGEST_FILE + 1).read_to_string(&mut text)?;
    match text.len() as u64 > LARGEST_FILE {
        false => Ok(text),
        true => Err(io::Error::other(format!(
            "a file of levels may have {} bytes, and this one has more",
            LARGEST_FILE
        ))),
    }
}

/// The path of a file of levels, and the name of one of them if the user gave it, as in `mine.iso:causal`.
fn parts(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once(':') {
        Some((path, level)) if path.ends_with(".iso") => (path, Some(level)),
        _ => (name, None),
    }
}

/// The levels that a file defines, or the one of them that is named behind a colon.
pub fn read(name: &str) -> Result<Vec<spec::Level>, Failure> {
    let (name, wanted) = parts(name);
    let path = Path::new(name);
    let text = read_text(path).map_err(|error| Failure::about(path, &error))?;
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let mut include = |included: &str| read_text(&folder.join(included)).ok();
    let spec = Spec::parse_with(name, &text, &mut include)
        .map_err(|error| Failure::new(format!("the level is not defined\n{error}")))?;
    if spec.levels.is_empty() {
        return Err(Failure::new(format!("{name} defines no level; `level NAME : ...` would")));
    }
    let Some(wanted) = wanted else { return Ok(spec.levels) };
    let names: Vec<String> = spec.levels.iter().map(|level| level.name.clone()).collect();
    let is_wanted =
        |level: &spec::Level| level.name == wanted || level.aliases.iter().any(|alias| alias == wanted);
    match spec.levels.into_iter().find(is_wanted) {
        Some(level) => Ok(vec![level]),
        None => {
            Err(Failure::new(format!("{name} defines no level {wanted:?}; it defines {}", names.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::further;

    /// A run whose promise has a text that is not found would be judged by nothing.
    #[test]
    fn texts_that_are_promised_are_in_the_library() {
        for product in ["MySQL", "MariaDB"] {
            let promise = ::run::promises::promise(product, "repeatable-read").unwrap();
            assert!(further(promise.name()).is_some(), "{product}");
        }
    }
}
