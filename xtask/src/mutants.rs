//! `cargo xtask mutants`: are the tests able to notice an error in the engine?
//!
//! A mutant is the program with one small error: a condition that is negated, or a call that is left out. Building one
//! program for each would take hours, so all mutants are built at once, as switches in a copy of the sources, and the
//! variable `ISOSCOPE_MUTANT` selects one when a test program runs. A mutant is *killed* if a test fails or does not end
//! in time; a mutant that survives is shown with its place, to be read: it only makes the engine slower, changes nothing,
//! or shows that a test is missing.
//!
//! The sources are changed line by line, without a parser: what does not look like one of the patterns below is left
//! alone. `docs/trust.md` has the results.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::run::{Done, cargo, expect_success, output_of, root, target};

/// The crates that are changed, and the files of them unless others are named.
const CRATES: [(&str, &[&str]); 3] = [
    (
        "verify",
        &[
            "saturate.rs",
            "saturate/simple.rs",
            "saturate/open.rs",
            "saturate/follow.rs",
            "saturate/pass.rs",
            "windows.rs",
            "windows/key.rs",
            "known.rs",
            "matrix.rs",
            "choices.rs",
            "refute.rs",
            "versions.rs",
        ],
    ),
    (
        "solve",
        &["analyze.rs", "choices.rs", "clauses.rs", "propagate.rs", "search.rs", "solver.rs", "theory.rs"],
    ),
    ("order", &["incremental.rs", "reach.rs", "topological.rs", "components.rs"]),
];

/// How many histories the tests of many histories try for each mutant.
const HISTORIES: &str = "200";
/// A test program hangs if it takes this many times as long as without a mutant, and some seconds more.
const TIMES_LONGER: u32 = 8;
const MORE_TIME: Duration = Duration::from_secs(4);
/// How long it may take without a mutant.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// Tests that take as long as all others together: with them all mutants take hours.
const SLOW_TESTS: [&str; 2] = ["every_small_history", "recordings_of_the_manifest"];

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
    file: String,
    line: usize,
    text: String,
    what: &'static str,
}

/// Makes the mutants, runs the tests on each and says which survive. `--only N,N` runs some of them.
pub fn run(words: &[&str]) -> Done {
    let only: Option<Vec<usize>> = match words {
        [] => None,
        ["--only", numbers] => {
            let number = |text: &str| text.parse().map_err(|_| format!("{text} is no number of a mutant"));
            Some(numbers.split(',').map(number).collect::<Result<_, _>>()?)
        }
        _ => return Err("usage: cargo xtask mutants [--only NUMBER,NUMBER...]".into()),
    };
    let folder = target().join("mutants");
    let tree = folder.join("tree");
    copy_sources(&tree)?;
    let mutants = mutate(&tree)?;
    let programs = build(&tree, &folder.join("build"))?;
    println!("{} mutants, {} test programs", mutants.len(), programs.len());
    let mut limits = Vec::new();
    for program in &programs {
        let started = Instant::now();
        if run_mutant(program, 0, TIME_LIMIT) != End::Passed {
            return Err(format!("{} fails without a mutant", program.display()));
        }
        limits.push(started.elapsed() * TIMES_LONGER + MORE_TIME);
    }
    let (mut survivors, mut killed, mut hung) = (0, 0, 0);
    for (place, mutant) in mutants.iter().enumerate() {
        let number = place + 1;
        if only.as_ref().is_some_and(|only| !only.contains(&number)) {
            continue;
        }
        let ends = programs.iter().zip(&limits).map(|(program, &limit)| run_mutant(program, number, limit));
        match ends.into_iter().find(|&end| end != End::Passed) {
            Some(End::Hung) => hung += 1,
            Some(_) => killed += 1,
            None => {
                survivors += 1;
                println!("{number}: {}:{}: {}: {}", mutant.file, mutant.line, mutant.what, mutant.text);
            }
        }
        if (killed + hung + survivors) % 50 == 0 {
            println!("{killed} killed, {hung} killed by time, {survivors} survived so far");
        }
    }
    println!("{killed} killed, {hung} killed by time, {survivors} survived");
    Ok(())
}

/// Copies what git tracks, so that nothing in the work tree is changed.
fn copy_sources(tree: &Path) -> Done {
    let mut list = Command::new("git");
    let files = output_of(list.current_dir(root()).args(["ls-files", "-co", "--exclude-standard"]), &[0])?;
    for file in files.lines().filter(|file| !file.starts_with("python/") && !file.starts_with("fuzz/")) {
        let (from, to) = (root().join(file), tree.join(file));
        let Ok(content) = fs::read(&from) else { continue };
        // A file that stays the same keeps its time, so that it is not built again.
        if fs::read(&to).is_ok_and(|known| known == content) {
            continue;
        }
        let parent = to.parent().map_or_else(|| tree.to_path_buf(), Path::to_path_buf);
        fs::create_dir_all(&parent).map_err(|error| format!("{}: {error}", parent.display()))?;
        fs::write(&to, content).map_err(|error| format!("{}: {error}", to.display()))?;
    }
    Ok(())
}

/// Puts the switches into the copy.
fn mutate(tree: &Path) -> Done<Vec<Mutant>> {
    let mut mutants = Vec::new();
    for (name, files) in CRATES {
        let source = tree.join("crates").join(name).join("src");
        for file in files {
            let path = source.join(file);
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let changed = mutate_text(&text, &format!("{name}/src/{file}"), &mut mutants);
            fs::write(&path, changed).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let library = source.join("lib.rs");
        let text = fs::read_to_string(&library).map_err(|error| format!("{}: {error}", library.display()))?;
        fs::write(&library, text + SWITCH).map_err(|error| format!("{}: {error}", library.display()))?;
    }
    Ok(mutants)
}

fn mutate_text(text: &str, file: &str, mutants: &mut Vec<Mutant>) -> String {
    let mut changed = String::with_capacity(text.len() * 2);
    let mut is_test = false;
    let mut previous = "";
    for (place, line) in text.lines().enumerate() {
        is_test |= previous == "#[cfg(test)]" && line.ends_with('{');
        let number = mutants.len() + 1;
        let mutated = if is_test { None } else { mutate_line(line, number, previous) };
        if !line.trim().starts_with("//") {
            previous = line.trim();
        }
        if let Some((_, what)) = &mutated {
            mutants.push(Mutant {
                file: file.to_owned(),
                line: place + 1,
                text: line.trim().to_owned(),
                what,
            });
        }
        changed.push_str(mutated.as_ref().map_or(line, |(mutated, _)| mutated));
        changed.push('\n');
    }
    changed
}

/// The line with a switch, and what the switch does; `None` if the line fits no pattern.
fn mutate_line(line: &str, number: usize, previous: &str) -> Option<(String, &'static str)> {
    let trimmed = line.trim();
    let indent = &line[..line.len() - line.trim_start().len()];
    if trimmed.starts_with("//") || trimmed.contains("assert") || trimmed.contains("mutants::") {
        return None;
    }
    if let Some((opening, condition)) = condition_of(trimmed) {
        let line = format!("{indent}{opening} crate::mutants::flip({number}, {condition}) {{");
        return Some((line, "condition negated"));
    }
    if let Some((before, guard, after)) = guard_of(trimmed) {
        let line = format!("{indent}{before} if crate::mutants::flip({number}, {guard}) => {after}");
        return Some((line, "guard negated"));
    }
    if let Some((opening, value)) = closure_of(trimmed) {
        return Some((format!("{indent}{opening} crate::mutants::flip({number}, {value});"), "test negated"));
    }
    let is_statement = previous.is_empty() || previous.ends_with([';', '{', '}']);
    if is_statement && is_call(trimmed) {
        let line = format!("{indent}if !crate::mutants::is_on({number}) {{ {trimmed} }}");
        return Some((line, "call left out"));
    }
    let is_value = !trimmed.ends_with(['{', '(', ',', ';', '|', '&', '=']) && is_balanced(trimmed);
    let is_block = ["match ", "if ", "let ", "for ", "while ", "loop", "return"].iter();
    if previous.ends_with("-> bool {")
        && is_value
        && !trimmed.is_empty()
        && !is_block.clone().any(|word| trimmed.starts_with(word))
    {
        // A chain that goes on in the next line would be cut in the middle.
        let is_whole = trimmed.ends_with(')') || trimmed.ends_with(|end: char| end.is_alphanumeric());
        return is_whole
            .then(|| (format!("{indent}crate::mutants::flip({number}, {trimmed})"), "result negated"));
    }
    None
}

/// `if CONDITION {`, without patterns.
fn condition_of(trimmed: &str) -> Option<(&'static str, &str)> {
    let inner = trimmed.strip_suffix(" {")?;
    let (opening, condition) = match inner.strip_prefix("} else if ") {
        Some(condition) => ("} else if", condition),
        None => ("if", inner.strip_prefix("if ")?),
    };
    (!condition.contains("let ") && !condition.contains('{') && is_balanced(condition))
        .then_some((opening, condition))
}

/// `PATTERN if GUARD => REST`.
fn guard_of(trimmed: &str) -> Option<(&str, &str, &str)> {
    let (pattern, rest) = trimmed.split_once(" if ")?;
    let (guard, after) = rest.split_once(" => ")?;
    let is_arm = !pattern.contains('=') && !pattern.contains("else") && is_balanced(pattern);
    (is_arm && is_balanced(guard) && !guard.contains("let ")).then_some((pattern, guard, after))
}

/// `let is_SOMETHING = |...| VALUE;`
fn closure_of(trimmed: &str) -> Option<(&str, &str)> {
    let name = trimmed.strip_prefix("let ")?;
    if !["is_", "has_", "can_", "may_", "must_"].iter().any(|prefix| name.starts_with(prefix)) {
        return None;
    }
    let start = trimmed.find(" = |")? + 4;
    let end = start + trimmed[start..].find("| ")? + 1;
    let value = trimmed[end..].trim().strip_suffix(';')?;
    (!value.starts_with('{') && !value.contains("match ") && is_balanced(value))
        .then_some((&trimmed[..end], value))
}

/// `self.something(...);`, whose result is dropped.
fn is_call(trimmed: &str) -> bool {
    let Some(inner) = trimmed.strip_suffix(");") else { return false };
    let Some((name, _)) = inner.split_once('(') else { return false };
    let is_name = name.contains('.')
        && name.chars().all(|letter| letter.is_alphanumeric() || "._[]".contains(letter))
        && name.starts_with(|first: char| first.is_ascii_lowercase());
    is_name && !trimmed.contains('?') && is_balanced(trimmed)
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0_i32;
    for letter in text.chars() {
        depth += match letter {
            '(' | '[' | '{' => 1,
            ')' | ']' | '}' => -1,
            _ => 0,
        };
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

/// Builds the test programs of the copy; the quickest to fail come first.
fn build(tree: &Path, folder: &Path) -> Done<Vec<PathBuf>> {
    let mut words = vec!["test", "--no-run", "--message-format=json-render-diagnostics"];
    let packages: Vec<String> = CRATES.iter().map(|(name, _)| format!("isoscope-{name}")).collect();
    packages.iter().for_each(|package| words.extend(["-p", package.as_str()]));
    let command = |words: &[&str]| {
        let mut command = cargo(words);
        command.current_dir(tree).env("CARGO_TARGET_DIR", folder).env("RUSTFLAGS", "-Awarnings");
        command
    };
    expect_success(command(&words[..2]).args(&words[3..]))?;
    let said = output_of(&mut command(&words), &[0])?;
    let mut programs: Vec<PathBuf> = said
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .collect();
    // Quick ones first. Attacks on certificates take long, and kill what the others have killed.
    let rank = |program: &PathBuf| {
        let name = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        ["isoscope_", "hints", "unordered", "versions", "few_values", "oracle", "corpus", "rows"]
            .iter()
            .position(|known| name.starts_with(known))
    };
    programs.retain(|program| rank(program).is_some());
    programs.sort_by_key(rank);
    Ok(programs)
}

/// How the tests of a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Passed,
    Failed,
    Hung,
}

/// Runs the tests of a program with a mutant.
fn run_mutant(program: &Path, number: usize, limit: Duration) -> End {
    let mut command = Command::new(program);
    command.env("ISOSCOPE_MUTANT", number.to_string()).env("ISOSCOPE_SOAK", HISTORIES);
    SLOW_TESTS.iter().for_each(|name| {
        command.args(["--skip", name]);
    });
    command.arg("--quiet").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return End::Failed };
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return if status.success() { End::Passed } else { End::Failed },
            Ok(None) if started.elapsed() < limit => std::thread::sleep(Duration::from_millis(20)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return End::Hung;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutated(line: &str) -> Option<String> {
        mutate_line(line, 7, "").map(|(line, _)| line)
    }

    #[test]
    fn lines_that_fit_get_a_switch() {
        assert_eq!(mutated("  if a < b {").unwrap(), "  if crate::mutants::flip(7, a < b) {");
        assert_eq!(
            mutated("Some(x) if x.is_open() => x,").unwrap(),
            "Some(x) if crate::mutants::flip(7, x.is_open()) => x,"
        );
        assert_eq!(
            mutated("let is_new = |node: u32| node > 3;").unwrap(),
            "let is_new = |node: u32| crate::mutants::flip(7, node > 3);"
        );
        assert_eq!(
            mutated("self.queue.push(node);").unwrap(),
            "if !crate::mutants::is_on(7) { self.queue.push(node); }"
        );
    }

    #[test]
    fn other_lines_stay() {
        for line in
            ["if let Some(x) = y {", "// if a {", "let next = self.pop();", "assert!(a);", "while a {"]
        {
            assert_eq!(mutated(line), None, "{line}");
        }
    }
}
