//! `cargo xtask mutants`: are the tests able to notice an error in the engine, or in the checker?
//!
//! A mutant is the program with one small error: a condition that is negated, or a call that is left out; in the checker
//! also a part of a condition or a check that is left out, or a bound that is moved. Building one program for each would
//! take hours, so all mutants of a group are built at once, as switches in a copy of the sources, and the variable
//! `ISOSCOPE_MUTANT` selects one when a test program runs. A mutant is *killed* if a test fails or does not end in time; a
//! mutant that survives is shown with its place, to be read: it only makes the engine slower, changes nothing, or shows
//! that a test is missing.
//!
//! Each test runs once without a mutant and says which mutants it meets; a mutant is run on those tests alone, the
//! quickest first, and the test that killed it the last time or killed the mutant before it before all others. Results
//! are kept in `target/mutants`, and a run goes on where the last one stopped: `--survivors` asks again for those that no
//! test noticed, `--all` for each. `docs/mutants.md` has the results.

mod copy;
mod groups;
mod results;
mod switches;
mod tests_of;

use std::collections::BTreeSet;

use crate::run::{Done, target};
use copy::{Mutant, build, copy_sources, mutants_that_compile};
use groups::{CHECKER, ENGINE, Group};
use results::{Fate, Results};
use tests_of::{End, Test, tests_of};

const USAGE: &str = "usage: cargo xtask mutants engine|checker [--only N,N-N...] [--histories N] [--list] \
                     [--survivors | --all]";

/// Which mutants are run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// Those without a result.
    New,
    /// Those that no test noticed the last time, too.
    Survivors,
    /// Each.
    All,
}

/// What was asked for.
struct Asked {
    group: &'static Group,
    only: Option<BTreeSet<usize>>,
    histories: u64,
    /// Whether the mutants are only shown.
    is_list: bool,
    which: Which,
}

impl Asked {
    fn of(words: &[&str]) -> Done<Self> {
        let (&name, mut words) = words.split_first().ok_or(USAGE)?;
        let group = [&ENGINE, &CHECKER].into_iter().find(|group| group.name == name).ok_or(USAGE)?;
        let histories = group.histories;
        let mut asked = Self { group, only: None, histories, is_list: false, which: Which::New };
        while let Some((&word, rest)) = words.split_first() {
            words = rest;
            match (word, rest) {
                ("--list", _) => asked.is_list = true,
                ("--survivors", _) => asked.which = Which::Survivors,
                ("--all", _) => asked.which = Which::All,
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

    /// Whether a mutant is to be run, with what is known of it.
    fn wants(&self, mutant: &Mutant, known: Option<&Fate>) -> bool {
        let is_wanted = match self.which {
            Which::New => known.is_none(),
            Which::Survivors => known.is_none_or(|fate| !fate.is_killed()),
            Which::All => true,
        };
        is_wanted && self.is_asked(mutant)
    }

    fn is_asked(&self, mutant: &Mutant) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&mutant.number))
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
    let (tree, built) = (folder.join("tree"), folder.join("build"));
    copy_sources(asked.group, &tree)?;
    let mutants = mutants_that_compile(asked.group, &tree, &built)?;
    let mut results = Results::read(folder.join("results"));
    if !asked.is_list {
        let programs = build(asked.group, &tree, &built)?;
        let mut tests = Vec::new();
        for program in &programs {
            tests.extend(tests_of(program, asked.histories, &folder.join("meets"))?);
        }
        tests.sort_by_key(|test| test.used);
        println!("{} mutants, {} tests of {} programs", mutants.len(), tests.len(), programs.len());
        run_all(&asked, &mutants, &tests, &mut results)?;
    }
    show(&asked, &mutants, &results);
    Ok(())
}

/// Runs the mutants that are asked for.
fn run_all(asked: &Asked, mutants: &[Mutant], tests: &[Test<'_>], results: &mut Results) -> Done {
    let wanted: Vec<&Mutant> =
        mutants.iter().filter(|mutant| asked.wants(mutant, results.of(mutant))).collect();
    let mut last_killer = String::new();
    for (count, mutant) in wanted.iter().enumerate() {
        let known = results.of(mutant).and_then(Fate::killer).unwrap_or_default().to_owned();
        let fate = fate_of(mutant, tests, &[&known, &last_killer]);
        last_killer = fate.killer().unwrap_or(&last_killer).to_owned();
        results.add(mutant, fate)?;
        if (count + 1) % 50 == 0 {
            println!("{} of {} run", count + 1, wanted.len());
        }
    }
    Ok(())
}

/// Runs a mutant on the tests that meet it until one notices; the tests of these names first.
fn fate_of(mutant: &Mutant, tests: &[Test<'_>], first: &[&str]) -> Fate {
    let mut meeting: Vec<&Test<'_>> =
        tests.iter().filter(|test| test.meets.contains(&mutant.number)).collect();
    if meeting.is_empty() {
        return Fate::Unmet;
    }
    let rank = |test: &Test<'_>| first.iter().position(|&name| name == test.name()).unwrap_or(first.len());
    meeting.sort_by_key(|test| rank(test));
    for test in meeting {
        match test.end_with(mutant.number) {
            End::Passed => {}
            End::Failed => return Fate::Killed(test.name()),
            End::Hung => return Fate::Hung(test.name()),
        }
    }
    Fate::Survived
}

/// The mutants that no test noticed, or all in a list, and how many there are of each kind.
fn show(asked: &Asked, mutants: &[Mutant], results: &Results) {
    let (mut killed, mut hung, mut survived, mut unmet, mut not_run) = (0, 0, 0, 0, 0);
    for mutant in mutants.iter().filter(|mutant| asked.is_asked(mutant)) {
        let (count, fate) = match results.of(mutant) {
            Some(Fate::Killed(_)) => (&mut killed, ""),
            Some(Fate::Hung(_)) => (&mut hung, ""),
            Some(Fate::Survived) => (&mut survived, ""),
            Some(Fate::Unmet) => (&mut unmet, ", no test meets it"),
            None => (&mut not_run, ", not run"),
        };
        *count += 1;
        if asked.is_list || results.of(mutant).is_none_or(|fate| !fate.is_killed()) {
            println!("{}{fate}", described(mutant));
        }
    }
    println!(
        "{killed} killed, {hung} killed by time, {survived} survived, {unmet} not met, {not_run} not run"
    );
}

fn described(mutant: &Mutant) -> String {
    let Mutant { number, file, line, text, what, part, .. } = mutant;
    let part = if *part > 1 { format!(" ({part})") } else { String::new() };
    format!("{number}: {file}:{line}: {what}{part}: {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_listed_one_by_one_or_as_ranges() {
        assert_eq!(numbers_of("3,7-9").unwrap(), BTreeSet::from([3, 7, 8, 9]));
        assert!(numbers_of("3,x").is_err());
    }
}
