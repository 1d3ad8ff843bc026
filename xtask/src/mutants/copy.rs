//! The copy of the sources in which the mutants are, and the test programs that are built from it.
//!
//! Nothing in the work tree is changed. A line that does not compile with its switches stays as it is; which lines these
//! are takes several rounds of the compiler the first time, and is remembered.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::groups::Group;
use super::switches::{Around, mutate_line};
use crate::run::{Done, cargo, expect_success, output_of, root, shown};

/// The switch, added to each crate that is changed.
///
/// `ISOSCOPE_MUTANT` selects a mutant. Where `ISOSCOPE_REACHED` names a file, none is selected, and the number of each
/// switch that would have made a difference at its place is written there, once.
const SWITCH: &str = r#"
#[doc(hidden)]
#[allow(missing_docs, dead_code, clippy::all)]
mod mutants {
    use std::io::Write;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    const RECORDING: u32 = u32::MAX;
    static SELECTED: OnceLock<u32> = OnceLock::new();
    static NOTED: [AtomicBool; 10_000] = [const { AtomicBool::new(false) }; 10_000];

    #[inline]
    pub fn is_on(number: u32) -> bool {
        match *SELECTED.get_or_init(selected) {
            RECORDING => note(number),
            selected => selected == number,
        }
    }

    #[inline]
    pub fn flip(number: u32, value: bool) -> bool {
        value != is_on(number)
    }

    fn selected() -> u32 {
        match std::env::var_os("ISOSCOPE_REACHED") {
            Some(_) => RECORDING,
            None => std::env::var("ISOSCOPE_MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0),
        }
    }

    fn note(number: u32) -> bool {
        let noted = &NOTED[number as usize];
        if !noted.load(Ordering::Relaxed) && !noted.swap(true, Ordering::Relaxed) {
            let path = std::env::var_os("ISOSCOPE_REACHED").unwrap();
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            file.unwrap().write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        false
    }

    /// Whether a check found something wrong.
    pub trait Outcome {
        fn is_wrong(&self) -> bool;
    }

    impl<T> Outcome for Option<T> {
        fn is_wrong(&self) -> bool {
            self.is_none()
        }
    }

    impl<T, E> Outcome for Result<T, E> {
        fn is_wrong(&self) -> bool {
            self.is_err()
        }
    }
}
"#;

/// A change of one line.
pub struct Mutant {
    /// Its switch.
    pub number: usize,
    /// Its place.
    pub file: String,
    /// Its place in the file, from 1.
    pub line: usize,
    /// The line without the change.
    pub text: String,
    /// The change.
    pub what: &'static str,
    /// Which of the changes of its line it is, from 1.
    pub part: usize,
    /// How many lines before it in its file are the same.
    pub equal: usize,
}

/// A test program.
pub struct Program {
    /// The crate and the name of the program.
    pub name: String,
    /// Where it was built.
    pub path: PathBuf,
    /// The folder of its crate, in which it runs.
    pub folder: PathBuf,
}

/// Copies what git tracks, so that nothing in the work tree is changed; the files of the group are written by `mutate`.
pub fn copy_sources(group: &Group, tree: &Path) -> Done {
    let mut list = Command::new("git");
    let files = output_of(list.current_dir(root()).args(["ls-files", "-co", "--exclude-standard"]), &[0])?;
    let changed: BTreeSet<PathBuf> = changed_files(group).map(|(_, file)| file).collect();
    for file in files.lines().filter(|file| !file.starts_with("python/") && !file.starts_with("fuzz/")) {
        let Ok(content) = fs::read(root().join(file)) else { continue };
        if !changed.contains(Path::new(file)) {
            write(&tree.join(file), &content)?;
        }
    }
    Ok(())
}

/// Writes a file; one that stays the same keeps its time, so that it is not built again.
pub fn write(path: &Path, content: &[u8]) -> Done {
    if fs::read(path).is_ok_and(|known| known == content) {
        return Ok(());
    }
    let parent = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    fs::create_dir_all(&parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    fs::write(path, content).map_err(|error| format!("{}: {error}", path.display()))
}

/// The files that are changed, with their names in the results; the switches themselves are added to `lib.rs`.
fn changed_files(group: &Group) -> impl Iterator<Item = (String, PathBuf)> {
    group.crates.iter().flat_map(|(name, files)| {
        let folder = Path::new("crates").join(name).join("src");
        let files = files.iter().copied().chain(["lib.rs"]);
        files.map(move |file| (format!("{name}/src/{file}"), folder.join(file)))
    })
}

/// Puts the switches into the copy, but for lines that do not compile with them.
pub fn mutants_that_compile(group: &Group, tree: &Path, folder: &Path) -> Done<Vec<Mutant>> {
    let list = folder.join("excluded");
    let mut excluded = known_to_be_wrong(&list);
    loop {
        let mutants = mutate(group, tree, &excluded)?;
        let wrong = wrong_lines(group, tree, folder)?;
        if wrong.is_empty() {
            write(&list, shown_lines(&excluded).as_bytes())?;
            return Ok(mutants);
        }
        let count = excluded.len();
        excluded.extend(wrong);
        if excluded.len() == count {
            return Err("the mutants do not compile".into());
        }
    }
}

/// The lines that the compiler refused the last time, as far as they have not changed since: finding them anew takes
/// several rounds of the compiler.
fn known_to_be_wrong(list: &Path) -> BTreeSet<(String, usize)> {
    let known = fs::read_to_string(list).unwrap_or_default();
    let entry = |line: &str| {
        let (place, text) = line.split_once(": ")?;
        let (file, number) = place.split_once(':')?;
        let number = number.parse().ok()?;
        (line_of(file, number)? == text).then(|| (file.to_owned(), number))
    };
    known.lines().filter_map(entry).collect()
}

fn shown_lines(lines: &BTreeSet<(String, usize)>) -> String {
    let shown =
        |(file, number): &(String, usize)| Some(format!("{file}:{number}: {}\n", line_of(file, *number)?));
    lines.iter().filter_map(shown).collect()
}

/// A line of a source file of the crates, without indentation.
fn line_of(file: &str, number: usize) -> Option<String> {
    let text = fs::read_to_string(root().join("crates").join(file)).ok()?;
    Some(text.lines().nth(number.checked_sub(1)?)?.trim().to_owned())
}

/// The lines of the changed crates that the compiler refuses.
fn wrong_lines(group: &Group, tree: &Path, folder: &Path) -> Done<BTreeSet<(String, usize)>> {
    let mut command = in_copy(&["check", "--message-format=json"], tree, folder);
    for (name, _) in group.crates {
        command.args(["-p", &format!("isoscope-{name}")]);
    }
    let said = output_of(&mut command, &[0, 101])?;
    let mut lines = BTreeSet::new();
    for message in said.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()) {
        if message["message"]["level"] != "error" {
            continue;
        }
        for span in message["message"]["spans"].as_array().into_iter().flatten() {
            let file = span["file_name"].as_str().and_then(|file| file.strip_prefix("crates/"));
            let line = span["line_start"].as_u64();
            lines.extend(file.zip(line).map(|(file, line)| (file.to_owned(), line as usize)));
        }
    }
    Ok(lines)
}

/// Cargo in the copy.
fn in_copy(words: &[&str], tree: &Path, folder: &Path) -> Command {
    let mut command = cargo(words);
    command.current_dir(tree).env("CARGO_TARGET_DIR", folder);
    command
}

/// Puts switches into the copy; the excluded lines stay.
fn mutate(group: &Group, tree: &Path, excluded: &BTreeSet<(String, usize)>) -> Done<Vec<Mutant>> {
    let mut mutants = Vec::new();
    for (name, file) in changed_files(group) {
        let path = root().join(&file);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let is_excluded = |line: usize| excluded.contains(&(name.clone(), line));
        let changed = match name.ends_with("src/lib.rs") {
            true => format!("#![allow(warnings)]\n{text}{SWITCH}"),
            false => mutate_text(&text, &name, group.is_thorough, &is_excluded, &mut mutants),
        };
        write(&tree.join(&file), changed.as_bytes())?;
    }
    Ok(mutants)
}

fn mutate_text(
    text: &str,
    file: &str,
    is_thorough: bool,
    is_excluded: &dyn Fn(usize) -> bool,
    mutants: &mut Vec<Mutant>,
) -> String {
    let mut changed = String::with_capacity(text.len() * 2);
    let mut is_test = false;
    let mut previous = "";
    let mut lines = text.lines().enumerate().peekable();
    while let Some((place, line)) = lines.next() {
        is_test |= previous == "#[cfg(test)]" && line.ends_with('{');
        let next = lines.peek().map_or("", |(_, next)| next.trim());
        let around = Around { previous, next, is_thorough };
        let first = mutants.len() + 1;
        let mutated = if is_test { None } else { mutate_line(line, first, around) };
        if !line.trim().starts_with("//") {
            previous = line.trim();
        }
        let is_kept = is_excluded(place + 1);
        for (offset, &what) in mutated.iter().flat_map(|mutated| &mutated.what).enumerate() {
            let (number, text) = (first + offset, line.trim().to_owned());
            let (file, line, part) = (file.to_owned(), place + 1, offset + 1);
            let is_equal = |other: &&Mutant| other.file == file && other.text == text && other.part == part;
            let equal = mutants.iter().filter(is_equal).count();
            mutants.push(Mutant { number, file, line, text, what, part, equal });
        }
        match mutated {
            Some(mutated) if !is_kept => changed.push_str(&mutated.line),
            _ => changed.push_str(line),
        }
        changed.push('\n');
        if is_kept {
            mutants.truncate(first - 1);
        }
    }
    changed
}

/// Builds the test programs of the copy, in the order in which they run.
pub fn build(group: &Group, tree: &Path, folder: &Path) -> Done<Vec<Program>> {
    let mut command = in_copy(&["test", "--no-run"], tree, folder);
    let crates: BTreeSet<&str> = group.programs.iter().map(|(name, _)| *name).collect();
    for name in crates {
        let package = if name == "isoscope" { name.to_owned() } else { format!("isoscope-{name}") };
        command.args(["-p", &package]);
    }
    for (package, name) in group.programs {
        match is_library(package, name) {
            true => command.arg("--lib"),
            false => command.args(["--test", name]),
        };
    }
    expect_success(&mut command)?;
    let said = output_of(command.arg("--message-format=json"), &[0])?;
    let built: Vec<Program> = said
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| built_program(&message))
        .collect();
    let find = |&(package, name): &(&str, &str)| {
        let name = format!("{package}/{name}");
        let found = built.iter().find(|program| program.name == name);
        let found = found.map(|Program { path, folder, .. }| (path.clone(), folder.clone()));
        let (path, folder) = found.ok_or(format!("{}: no program {name}", shown(&command)))?;
        Ok(Program { name, path, folder })
    };
    group.programs.iter().map(find).collect()
}

/// Whether a program is made of the tests inside a library.
fn is_library(package: &str, name: &str) -> bool {
    name.strip_prefix("isoscope_") == Some(package)
}

/// What cargo says of a program that it built.
fn built_program(message: &serde_json::Value) -> Option<Program> {
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let (name, path) = (message["target"]["name"].as_str()?, message["executable"].as_str()?);
    let name = format!("{}/{name}", folder.file_name()?.to_string_lossy());
    Some(Program { name, path: PathBuf::from(path), folder: folder.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_does_not_compile_stays() {
        let mut mutants = Vec::new();
        let text = "if a {\nif b {\n";
        let changed = mutate_text(text, "f.rs", false, &|line| line == 1, &mut mutants);
        assert_eq!(changed, "if a {\nif crate::mutants::flip(1, b) {\n");
        assert_eq!(mutants.len(), 1);
    }
}
