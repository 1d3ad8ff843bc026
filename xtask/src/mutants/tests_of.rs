//! The tests of the programs, each alone: how long it takes, which mutants it meets, and how it ends with one.
//!
//! A test meets a mutant if the switch of the mutant is asked in a run without any, and its answer would make a
//! difference at that place: a part of a condition that is left out makes none where the part is true. Whatever does not
//! meet a mutant cannot notice it, so a mutant is run on few of the tests, and one that no test meets is known without a
//! run. Finding out costs one run of each test, and again only after its program was built anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, UNIX_EPOCH};

use super::copy::{Program, write};
use super::groups::{QUICK_PROGRAMS, SLOW_TESTS};
use crate::run::{Done, output_of};

/// A test hangs if it uses this many times the processor time that it uses without a mutant, and some seconds more.
const TIMES_LONGER: u32 = 8;
const MORE_TIME: Duration = Duration::from_secs(2);
/// A test that waits hangs after so many times its limit.
const WAITING: u32 = 100;
/// How long it may take without a mutant.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// A test of a program.
pub struct Test<'p> {
    program: &'p Program,
    name: String,
    /// The processor time that it uses without a mutant.
    pub used: Duration,
    /// The mutants that it meets.
    pub meets: BTreeSet<usize>,
    histories: u64,
}

/// How a test ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It noticed nothing.
    Passed,
    /// It failed.
    Failed,
    /// It did not end in time.
    Hung,
}

impl Test<'_> {
    /// The crate, the program and the test.
    pub fn name(&self) -> String {
        format!("{}/{}", self.program.name, self.name)
    }

    /// Runs the test with a mutant.
    pub fn end_with(&self, mutant: usize) -> End {
        let mut command = command(self.program, &self.name, self.histories);
        command.env("ISOSCOPE_MUTANT", mutant.to_string());
        ended(command, self.used * TIMES_LONGER + MORE_TIME).0
    }
}

/// The tests of a program with the mutants that they meet, from the file in `folder` if the program is still the same.
pub fn tests_of<'p>(program: &'p Program, histories: u64, folder: &Path) -> Done<Vec<Test<'p>>> {
    let histories = histories * times_as_many(&program.name);
    let file = folder.join(program.name.replace('/', "-"));
    let stamp = format!("built {} histories {histories}", built_at(&program.path));
    if let Some(tests) = remembered(program, histories, &file, &stamp) {
        return Ok(tests);
    }
    let names = output_of(Command::new(&program.path).args(["--list", "--format", "terse"]), &[0])?;
    let names = names.lines().filter_map(|line| line.strip_suffix(": test"));
    let names = names.filter(|name| !SLOW_TESTS.iter().any(|slow| name.contains(slow)));
    let mut tests = Vec::new();
    for name in names {
        tests.extend(met_by(program, name, histories, &folder.join("met"))?);
    }
    let lines: String = tests.iter().map(shown_test).collect();
    write(&file, format!("{stamp}\n{lines}").as_bytes())?;
    Ok(tests)
}

/// How many times as many histories a test program tries.
fn times_as_many(program: &str) -> u64 {
    QUICK_PROGRAMS.iter().find(|(name, _)| *name == program).map_or(1, |&(_, times)| times)
}

fn built_at(program: &Path) -> u128 {
    let time = fs::metadata(program).and_then(|known| known.modified()).unwrap_or(UNIX_EPOCH);
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}

/// Runs a test without a mutant. One that fails is left out: it wants more histories than it got.
fn met_by<'p>(program: &'p Program, name: &str, histories: u64, file: &Path) -> Done<Option<Test<'p>>> {
    write(file, b"")?;
    let mut command = command(program, name, histories);
    command.env("ISOSCOPE_REACHED", file);
    let (end, used) = ended(command, TIME_LIMIT);
    if end != End::Passed {
        println!("{}/{name} fails without a mutant, and is left out", program.name);
        return Ok(None);
    }
    let met = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let meets: BTreeSet<usize> = met.lines().filter_map(|line| line.parse().ok()).collect();
    println!("{}/{name}: {:.2} s, meets {}", program.name, used.as_secs_f64(), meets.len());
    Ok(Some(Test { program, name: name.to_owned(), used, meets, histories }))
}

fn shown_test(test: &Test<'_>) -> String {
    let meets: Vec<String> = test.meets.iter().map(usize::to_string).collect();
    format!("{}\t{}\t{}\n", test.name, test.used.as_millis(), meets.join(","))
}

fn remembered<'p>(program: &'p Program, histories: u64, file: &Path, stamp: &str) -> Option<Vec<Test<'p>>> {
    let text = fs::read_to_string(file).ok()?;
    let (first, rest) = text.split_once('\n')?;
    let test = |line: &str| {
        let (name, rest) = line.split_once('\t')?;
        let (used, meets) = rest.split_once('\t')?;
        let used = Duration::from_millis(used.parse().ok()?);
        let meets = meets.split(',').filter_map(|number| number.parse().ok()).collect();
        Some(Test { program, name: name.to_owned(), used, meets, histories })
    };
    if first == stamp { rest.lines().map(test).collect() } else { None }
}

/// One test of a program, alone.
fn command(program: &Program, name: &str, histories: u64) -> Command {
    let mut command = Command::new(&program.path);
    command.current_dir(&program.folder).env("ISOSCOPE_SOAK", histories.to_string());
    command.args(["--quiet", "--exact", name]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Runs a command to its end or until it has used too much, and gives the processor time that it used.
fn ended(mut command: Command, limit: Duration) -> (End, Duration) {
    let Ok(mut child) = command.spawn() else { return (End::Failed, Duration::ZERO) };
    let started = Instant::now();
    let mut used = Duration::ZERO;
    let mut pause = Duration::from_micros(500);
    loop {
        used = processor_time(child.id()).map_or_else(|| started.elapsed(), |now| now.max(used));
        let is_late = used > limit || started.elapsed() > limit * WAITING;
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return (End::Passed, used),
            Ok(Some(_)) => return (End::Failed, used),
            Ok(None) if !is_late => std::thread::sleep(pause),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return (End::Hung, used);
            }
        }
        pause = (pause * 2).min(Duration::from_millis(8));
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
