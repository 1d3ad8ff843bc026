//! Levels as the command line names them: shipped ones by name or alias, and those of files.

use std::path::Path;

use isoscope::{Asked, LevelId};
use spec::Spec;

use crate::exit::Failure;
use crate::files::{Named, named};

/// The levels of a command line; no names mean all.
pub fn asked(names: &[String]) -> Result<Asked, Failure> {
    let mut asked = Asked::default();
    for name in names {
        match is_file_name(name) {
            true => asked.add_own(read(name)?),
            false => asked.add(find(name)?),
        }
    }
    Ok(asked)
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
    files.map(|name| named("the level of", name))
}

/// Whether the user named a file instead of a level.
pub fn is_file_name(name: &str) -> bool {
    name.ends_with(".iso")
}

/// The levels that a file defines.
pub fn read(name: &str) -> Result<Vec<spec::Level>, Failure> {
    let path = Path::new(name);
    let text = std::fs::read_to_string(path).map_err(|error| Failure::about(path, &error))?;
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let mut include = |included: &str| std::fs::read_to_string(folder.join(included)).ok();
    let spec = Spec::parse_with(name, &text, &mut include)
        .map_err(|error| Failure::new(format!("the level is not defined\n{error}")))?;
    match spec.levels.is_empty() {
        true => Err(Failure::new(format!("{name} defines no level; `level NAME : ...` would"))),
        false => Ok(spec.levels),
    }
}
