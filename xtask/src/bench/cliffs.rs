//! `cargo xtask bench cliffs`: inputs that are ordinary for applications and hard for a checker, and ten times as much.
//!
//! Every check runs with a time limit and a memory limit of its own, and the shell's limit of address space catches
//! what ignores them. The time is the one seen from outside, from the start of the process to its end, beside the time
//! of the processor, which other programs do not change much. A process that does not end with a verdict is shown with
//! its status.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Bench;
use super::hostile::{Hostile, Plant};
use super::measure::Taken;
use super::table::{self, mb, ms};
use crate::run::{Done, target};

/// What every check may take.
const TIME_LIMIT: &str = "20s";
const MEMORY_LIMIT: &str = "2GiB";

/// Kilobytes of address space: more than the memory limit, so that only a limit that did not hold is caught.
const ADDRESS_SPACE_KB: &str = "12000000";

/// A history, a level, further flags, what to aim at, and whether it is small enough for quick mode.
struct Case(Hostile, &'static str, &'static [&'static str], &'static str, bool);

const SESSION: &str = "session-serializable";
const PLAIN: &str = "serializable";
const SNAPSHOT: &str = "session-snapshot-isolation";

const fn status(sessions: usize, txns: usize, keys: usize) -> Hostile {
    Hostile::Status { sessions, txns, keys, plant: Plant::Nothing }
}

const fn planted(sessions: usize, txns: usize, plant: Plant) -> Hostile {
    Hostile::Status { sessions, txns, keys: 5, plant }
}

const CASES: [Case; 41] = [
    Case(Hostile::EqualWrites(300), SESSION, &[], "10 ms", true),
    Case(Hostile::EqualWrites(300), SNAPSHOT, &[], "10 ms", true),
    Case(Hostile::EqualWrites(10_000), SESSION, &[], "200 ms", false),
    Case(Hostile::EqualWrites(10_000), SNAPSHOT, &[], "200 ms", false),
    Case(Hostile::OneReader(10_000), SESSION, &[], "", true),
    Case(Hostile::OneReader(100_000), SESSION, &[], "2 s", false),
    Case(Hostile::Overwritten(2_000), SESSION, &[], "", true),
    Case(Hostile::Overwritten(20_000), SESSION, &[], "5 s", false),
    Case(Hostile::Overwritten(200_000), SESSION, &[], "", false),
    Case(Hostile::OneReaderEach(1_000), PLAIN, &[], "", true),
    Case(Hostile::OneReaderEach(10_000), PLAIN, &[], "", false),
    Case(Hostile::OneReaderEach(10_000), "snapshot-isolation", &[], "", false),
    Case(Hostile::TwoAndTwo { sessions: 8, txns: 12 }, SNAPSHOT, &[], "50 ms", true),
    Case(Hostile::TwoAndTwo { sessions: 8, txns: 120 }, SNAPSHOT, &[], "", false),
    Case(Hostile::Additions, SESSION, &[], "50 ms", true),
    Case(Hostile::UnknownChain(12_000), SESSION, &["--threads", "2"], "", true),
    Case(Hostile::UnknownChain(120_000), SESSION, &["--threads", "2"], "", false),
    Case(Hostile::SessionBreaks(50), PLAIN, &[], "", true),
    Case(Hostile::SessionBreaks(500), PLAIN, &[], "1 s", false),
    Case(Hostile::SessionBreaks(5_000), PLAIN, &[], "10 s", false),
    Case(status(1_000, 10, 5), SESSION, &[], "", true),
    Case(status(1_000, 10, 1_000), SESSION, &[], "", true),
    Case(status(10_000, 10, 5), SESSION, &[], "2 s, 500 MB", false),
    Case(status(10_000, 10, 100), SESSION, &[], "2 s, 500 MB", false),
    Case(status(10_000, 10, 1_000), SESSION, &[], "2 s, 500 MB", false),
    Case(status(10_000, 10, 1_000), SNAPSHOT, &[], "2 s, 500 MB", false),
    Case(status(4, 10, 5), SESSION, &[], "", true),
    Case(status(4, 100, 5), SESSION, &[], "10 s, 300 MB", false),
    Case(status(8, 200, 5), SESSION, &[], "10 s, 300 MB", false),
    Case(status(8, 200, 5), SNAPSHOT, &[], "10 s, 300 MB", false),
    Case(status(8, 2_000, 5), SESSION, &[], "300 MB", false),
    Case(status(20, 2_000, 5), SESSION, &[], "300 MB", false),
    Case(planted(4, 100, Plant::WriteSkew), SESSION, &[], "10 s, 300 MB", true),
    Case(planted(8, 200, Plant::WriteSkew), SESSION, &[], "10 s, 300 MB", false),
    Case(planted(8, 2_000, Plant::WriteSkew), SESSION, &[], "300 MB", false),
    Case(planted(20, 2_000, Plant::WriteSkew), SESSION, &[], "300 MB", false),
    Case(planted(4, 100, Plant::Fracture), SESSION, &[], "10 s, 300 MB", true),
    Case(planted(8, 200, Plant::Fracture), SESSION, &[], "10 s, 300 MB", false),
    Case(planted(8, 2_000, Plant::Fracture), SESSION, &[], "300 MB", false),
    Case(planted(20, 2_000, Plant::Fracture), SESSION, &[], "300 MB", false),
    Case(planted(20, 2_000, Plant::Fracture), SNAPSHOT, &[], "300 MB", false),
];

/// Workloads whose recordings are killed, with flags of `isoscope run`.
const KILLED: [&str; 2] = ["range-b", "append"];

/// `cargo xtask bench cliffs`.
pub fn run(bench: &Bench) -> Done {
    table::head(&["history", "level", "verdict", "time", "processor", "peak", "aim"]);
    for Case(hostile, level, flags, aim, is_small) in CASES {
        if is_small || !bench.quick {
            bench.cliff(&hostile.name(), &file_of(hostile)?, level, flags, aim)?;
        }
    }
    match bench.quick {
        true => Ok(()),
        false => KILLED.iter().try_for_each(|workload| bench.killed(workload)),
    }
}

/// Where histories and pictures of the suites are kept.
pub fn folder() -> Done<PathBuf> {
    let folder = target().join("bench");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// The file of a history, which is written once.
pub fn file_of(hostile: Hostile) -> Done<PathBuf> {
    let file = folder()?.join(format!("{}.jsonl", hostile.name().replace(' ', "-")));
    if !file.exists() {
        std::fs::write(&file, hostile.text()).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(file)
}

impl Bench {
    fn cliff(&self, name: &str, file: &Path, level: &str, flags: &[&str], aim: &str) -> Done {
        let (verdict, taken) = self.check_within_limits(file, level, flags)?;
        let figures = [ms(taken.elapsed_ms), ms(taken.processor_ms), mb(taken.peak_bytes), aim.to_owned()];
        let row: Vec<String> =
            [name.to_owned(), level.to_owned(), verdict].into_iter().chain(figures).collect();
        table::row(&row);
        Ok(())
    }

    /// One check with the limits of this suite: its verdict, or how it ended, and what it took.
    pub fn check_within_limits(&self, file: &Path, level: &str, flags: &[&str]) -> Done<(String, Taken)> {
        let mut check = Command::new("/bin/sh");
        check.args(["-c", &format!("ulimit -v {ADDRESS_SPACE_KB}; exec \"$@\""), "sh"]);
        check.arg(&self.isoscope).arg("check").arg(file).args(["--level", level]);
        check.args(["--time-limit", TIME_LIMIT, "--memory-limit", MEMORY_LIMIT]).args(flags);
        let taken = Taken::by(&check)?;
        let verdict = match taken.code {
            0 => "holds".to_owned(),
            1 => "violated".to_owned(),
            3 => "undecided".to_owned(),
            code => format!("none (exit code {code})"),
        };
        Ok((verdict, taken))
    }

    /// Records a workload on SQLite, kills the recorder, and checks what it left.
    fn killed(&self, workload: &str) -> Done {
        let file = folder()?.join(format!("killed-{workload}.jsonl"));
        if !file.exists() {
            let database = folder()?.join(format!("killed-{workload}.sqlite"));
            let mut run = Command::new(&self.isoscope);
            run.args(["run", "--workload", workload, "--keys", "50", "--duration", "60s", "--db"]);
            run.arg(format!("sqlite:{}", database.display())).arg("--out").arg(&file);
            run.stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = run.spawn().map_err(|error| format!("{workload}: {error}"))?;
            std::thread::sleep(Duration::from_secs(5));
            child.kill().and_then(|()| child.wait()).map_err(|error| format!("{workload}: {error}"))?;
        }
        let name = format!("{workload} on SQLite, killed");
        self.cliff(&name, &file, "strict-serializable", &[], "1 s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_history_has_a_file_of_its_own() {
        let mut names: Vec<String> = CASES.iter().map(|Case(hostile, ..)| hostile.name()).collect();
        names.sort();
        names.dedup();
        let mut texts: Vec<String> = CASES.iter().map(|Case(hostile, ..)| hostile.text()).collect();
        texts.sort();
        texts.dedup();
        assert_eq!(names.len(), texts.len());
    }
}
