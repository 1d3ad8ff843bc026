//! The histories of a batch: all that a folder holds, or the lines of a list.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::exit::Failure;
use crate::files::is_dash;

/// The histories that the command line names, in a fixed order and each once.
pub fn find(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if is_dash(path) {
        return listed(path, io::stdin().lock());
    }
    let about = |error: io::Error| Failure::about(path, &error);
    if fs::metadata(path).map_err(about)?.is_dir() {
        let mut found = Vec::new();
        walk(path, &mut found).map_err(about)?;
        return Ok(found);
    }
    listed(path, BufReader::new(fs::File::open(path).map_err(about)?))
}

/// The files below a folder, by name. A folder with the logs of sessions is one history; hidden files are left out.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder)? {
        entries.push(entry?.path());
    }
    entries.sort();
    if entries.iter().any(|path| is_session_log(path)) {
        found.push(folder.to_owned());
        return Ok(());
    }
    for path in entries {
        match path.is_dir() {
            _ if name_of(&path).starts_with('.') => {}
            true => walk(&path, found)?,
            false => found.push(path),
        }
    }
    Ok(())
}

/// Whether a file is called as Cobra and Viper call the log of a session, such as `T12.log`.
fn is_session_log(path: &Path) -> bool {
    let name = name_of(path);
    let plain = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(name);
    let stem = plain.strip_suffix(".log").and_then(|stem| stem.strip_prefix(['T', 'J']));
    stem.is_some_and(|digits| digits.starts_with(|char: char| char.is_ascii_digit()))
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// The lines of a list; empty ones and those that begin with `#` are left out.
fn listed(list: &Path, lines: impl BufRead) -> Result<Vec<PathBuf>, Failure> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for line in lines.lines() {
        let line = line.map_err(|error| Failure::about(list, &error))?;
        let name = line.trim_end_matches('\r');
        if !name.is_empty() && !name.starts_with('#') && seen.insert(name.to_owned()) {
            found.push(PathBuf::from(name));
        }
    }
    if !found.is_empty() && !found.iter().any(|path| path.exists()) {
        let first = found[0].display();
        return Err(Failure::new(format!(
            "{}: expected a list of histories, one a line, and found no file that is there (the first line is \
             {first}); one history is checked with `isoscope check`",
            list.display()
        )));
    }
    Ok(found)
}
