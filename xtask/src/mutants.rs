//! `cargo xtask mutants`: are the tests able to notice an error in the engine, or in the checker?
//!
//! A mutant is the program with one small error: a condition that is negated, or a call that is left out; in the checker
//! also a part of a condition or a check that is left out, or a bound that is moved. Building one program for each would
//! take hours, so all mutants of a group are built at once, as switches in a copy of the sources, and the variable
//! `ISOSCOPE_MUTANT` selects one when a test program runs. A mutant is *killed* if a test fails or does not end in time; a
//! mutant that survives is shown with its place, to be read: it only makes the engine slower, changes nothing, or shows
//! that a test is missing.
//!
//! A line that does not compile with its switches stays as it is. `docs/mutants.md` has the results.

mod groups;
mod switches;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::run::{Done, cargo, expect_success, output_of, root, shown, target};
use groups::{CHECKER, ENGINE, Group, QUICK_PROGRAMS, SLOW_TESTS};
use switches::{Around, mutate_line};

/// A test program hangs if it uses this many times the processor time that it uses without a mutant, and some seconds
/// more.
const TIMES_LONGER: u32 = 8;
const MORE_TIME: Duration = Duration::from_secs(4);
/// A program that waits hangs after so many times its limit.
const WAITING: u32 = 100;
/// How long it may take without a mutant.
const TIME_LIMIT: Duration = Duration::from_secs(300);

const USAGE: &str =
    "usage: cargo xtask mutants engine|checker [--only N,N-N...] [--histories N] [--list] [--quick]";

/// The switch, added to each crate that is changed.
const SWITCH: &str = r#"
#[doc(hidden)]
#[allow(missing_docs, dead_code)]
mod mutants {
    use std::sync::OnceLock;
    static SELECTED: OnceLock<u32> = OnceLock::new();
    #[inline]
    pub fn is_on(number: u32) -> bool {
        let read = || std::env::var("ISOSCOPE_MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        *SELECTED.get_or_init(read) == number
    }
    #[inline]
    pub fn flip(number: u32, value: bool) -> bool {
        value != is_on(number)
    }
}
"#;

/// A change of one line.
struct Mutant {
    number: usize,
    file: String,
    line: usize,
    text: String,
    what: &'static str,
}

/// What was asked for.
struct Asked {
    group: &'static Group,
    only: Option<BTreeSet<usize>>,
    histories: u64,
    /// Whether the mutants are only shown.
    is_list: bool,
    /// Whether only the first two test programs run: what they do not kill is to be run again with all.
    is_quick: bool,
}

impl Asked {
    fn of(words: &[&str]) -> Done<Self> {
        let (&name, mut words) = words.split_first().ok_or(USAGE)?;
        let group = [&ENGINE, &CHECKER].into_iter().find(|group| group.name == name).ok_or(USAGE)?;
        let histories = group.histories;
        let mut asked = Self { group, only: None, histories, is_list: false, is_quick: false };
        while let Some((&word, rest)) = words.split_first() {
            words = rest;
            match (word, rest) {
                ("--list", _) => asked.is_list = true,
                ("--quick", _) => asked.is_quick = true,
                ("--only", [numbers, rest @ ..]) => {
                    asked.only = Some(numbers_of(numbers)?);
                    words = rest;
                }
                ("--histories", [number, rest @ ..]) => {
                    asked.histories = number.parse().map_err(|_| USAGE)?;
                    words = rest;
                }
                _ => return Err(USAGE.into()),
            }
        }
        Ok(asked)
    }
}

/// `3,7-9`
fn numbers_of(text: &str) -> Done<BTreeSet<usize>> {
    let number = |text: &str| text.parse::<usize>().map_err(|_| format!("{text} is no number of a mutant"));
    let mut numbers = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        numbers.extend(number(first)?..=number(last)?);
    }
    Ok(numbers)
}

/// Makes the mutants, runs the tests on each and says which survive.
pub fn run(words: &[&str]) -> Done {
    let asked = Asked::of(words)?;
    let folder = target().join("mutants").join(asked.group.name);
    let tree = folder.join("tree");
    copy_sources(asked.group, &tree)?;
    let mutants = mutants_that_compile(asked.group, &tree, &folder.join("build"))?;
    if asked.is_list {
        mutants.iter().for_each(|mutant| println!("{}", described(mutant)));
        return Ok(());
    }
    let mut programs = build(asked.group, &tree, &folder.join("build"))?;
    if asked.is_quick {
        programs.truncate(2);
    }
    println!("{} mutants, {} test programs", mutants.len(), programs.len());
    let mut limits = Vec::new();
    for program in &programs {
        let (end, used) = run_mutant(program, 0, asked.histories, TIME_LIMIT);
        if end != End::Passed {
            return Err(format!("{} fails without a mutant", program.display()));
        }
        println!("{}: {:.1} s", program.display(), used.as_secs_f64());
        limits.push(used * TIMES_LONGER + MORE_TIME);
    }
    let (mut survivors, mut killed, mut hung) = (0, 0, 0);
    for mutant in &mutants {
        if asked.only.as_ref().is_some_and(|only| !only.contains(&mutant.number)) {
            continue;
        }
        let mut ends = programs
            .iter()
            .zip(&limits)
            .map(|(program, &limit)| run_mutant(program, mutant.number, asked.histories, limit).0);
        match ends.find(|&end| end != End::Passed) {
            Some(End::Hung) => hung += 1,
            Some(_) => killed += 1,
            None => {
                survivors += 1;
                println!("{}", described(mutant));
            }
        }
        if (killed + hung + survivors) % 50 == 0 {
            println!("{killed} killed, {hung} killed by time, {survivors} survived, up to {}", mutant.number);
        }
    }
    println!("{killed} killed, {hung} killed by time, {survivors} survived");
    Ok(())
}

fn described(mutant: &Mutant) -> String {
    let Mutant { number, file, line, text, what } = mutant;
    format!("{number}: {file}:{line}: {what}: {text}")
}

/// Copies what git tracks, so that nothing in the work tree is changed; the files of the group are written by `mutate`.
fn copy_sources(group: &Group, tree: &Path) -> Done {
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
fn write(path: &Path, content: &[u8]) -> Done {
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
fn mutants_that_compile(group: &Group, tree: &Path, folder: &Path) -> Done<Vec<Mutant>> {
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
    command.current_dir(tree).env("CARGO_TARGET_DIR", folder).env("RUSTFLAGS", "-Awarnings");
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
            true => text + SWITCH,
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
        for (offset, what) in mutated.iter().flat_map(|mutated| &mutated.what).enumerate() {
            let (number, text) = (first + offset, line.trim().to_owned());
            mutants.push(Mutant { number, file: file.to_owned(), line: place + 1, text, what });
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
fn build(group: &Group, tree: &Path, folder: &Path) -> Done<Vec<PathBuf>> {
    let mut command = in_copy(&["test", "--no-run"], tree, folder);
    let crates: BTreeSet<&str> = group.programs.iter().map(|(name, _)| *name).collect();
    for name in crates {
        let package = if name == "isoscope" { name.to_owned() } else { format!("isoscope-{name}") };
        command.args(["-p", &package]);
    }
    for (package, name) in group.programs {
        match name.strip_prefix("isoscope_") == Some(package) {
            true => command.arg("--lib"),
            false => command.args(["--test", name]),
        };
    }
    expect_success(&mut command)?;
    let said = output_of(command.arg("--message-format=json"), &[0])?;
    let built: Vec<(String, String, PathBuf)> = said
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| {
            let folder = Path::new(message["manifest_path"].as_str()?).parent()?.file_name()?;
            let (name, program) = (message["target"]["name"].as_str()?, message["executable"].as_str()?);
            Some((folder.to_string_lossy().into_owned(), name.to_owned(), PathBuf::from(program)))
        })
        .collect();
    let find = |&(package, name): &(&str, &str)| {
        let found = built.iter().find(|(folder, program, _)| folder == package && program == name);
        found.map(|(.., path)| path.clone()).ok_or(format!("{}: no program {name}", shown(&command)))
    };
    group.programs.iter().map(find).collect()
}

/// How the tests of a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Passed,
    Failed,
    Hung,
}

/// How many times as many histories a test program tries.
fn times_as_many(program: &Path) -> u64 {
    let file = program.file_name().unwrap_or_default().to_string_lossy();
    let is_it = |name: &str| file.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
    QUICK_PROGRAMS.iter().find(|(name, _)| is_it(name)).map_or(1, |&(_, times)| times)
}

/// Runs the tests of a program with a mutant.
fn run_mutant(program: &Path, number: usize, histories: u64, limit: Duration) -> (End, Duration) {
    let mut command = Command::new(program);
    let histories = histories * times_as_many(program);
    command.env("ISOSCOPE_MUTANT", number.to_string()).env("ISOSCOPE_SOAK", histories.to_string());
    SLOW_TESTS.iter().for_each(|name| {
        command.args(["--skip", name]);
    });
    command.arg("--quiet").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return (End::Failed, Duration::ZERO) };
    let started = Instant::now();
    let mut used = Duration::ZERO;
    loop {
        used = processor_time(child.id()).map_or_else(|| started.elapsed(), |now| now.max(used));
        let is_late = used > limit || started.elapsed() > limit * WAITING;
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return (End::Passed, used),
            Ok(Some(_)) => return (End::Failed, used),
            Ok(None) if !is_late => std::thread::sleep(Duration::from_millis(5)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return (End::Hung, used);
            }
        }
    }
}

/// The processor time that a process has used, where the system says so: other load does not make it longer.
fn processor_time(process: u32) -> Option<Duration> {
    const TICKS_PER_SECOND: u64 = 100;
    let said = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in brackets, may have spaces in it.
    let (_, fields) = said.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11).map(|field| field.parse::<u64>().ok());
    let ticks = fields.next()?? + fields.next()??;
    Some(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_listed_one_by_one_or_as_ranges() {
        assert_eq!(numbers_of("3,7-9").unwrap(), BTreeSet::from([3, 7, 8, 9]));
        assert!(numbers_of("3,x").is_err());
    }

    #[test]
    fn a_line_that_does_not_compile_stays() {
        let mut mutants = Vec::new();
        let text = "if a {\nif b {\n";
        let changed = mutate_text(text, "f.rs", false, &|line| line == 1, &mut mutants);
        assert_eq!(changed, "if a {\nif crate::mutants::flip(1, b) {\n");
        assert_eq!(mutants.len(), 1);
    }
}
