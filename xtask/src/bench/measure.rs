//! One history and one level, several times.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::Bench;
use super::saved::Figure;
use crate::run::{Done, output_of};

/// What `check` took: medians of the runs, the largest peak.
#[derive(Clone, Debug, Default)]
pub struct Measure {
    /// The verdict.
    pub verdict: String,
    /// Time from the start of reading to the answer.
    pub total_ms: f64,
    /// Time to read and index.
    pub read_ms: f64,
    /// Time to index alone.
    pub index_ms: f64,
    /// Time to decide.
    pub decide_ms: f64,
    /// The peak of memory.
    pub peak_bytes: f64,
    /// Time of each stage of the engine, from the last run.
    pub stages: Vec<(String, f64)>,
    /// Counts of the engine, from the last run.
    pub counts: Vec<(String, u64)>,
}

/// Nothing takes longer; what does is undecided.
const TIME_LIMIT: &str = "120s";

impl Bench {
    /// Checks a history at a level, with further flags.
    pub fn check(&self, file: &Path, level: &str, flags: &[&str]) -> Done<Measure> {
        let mut runs = Vec::new();
        for _ in 0..self.runs {
            runs.push(self.check_once(file, level, flags)?);
        }
        let last = runs.last().cloned().unwrap_or_default();
        let file = file.file_name().unwrap_or_default().to_string_lossy();
        let name = [&*file, level].into_iter().chain(flags.iter().copied()).collect::<Vec<_>>().join(" ");
        let peak = runs.iter().map(|run| run.peak_bytes).fold(0.0, f64::max);
        let runs_ms = runs.iter().map(|run| run.total_ms).collect();
        self.figures.add(name, Figure { runs_ms, peak_bytes: peak });
        Ok(Measure {
            total_ms: median(runs.iter().map(|run| run.total_ms)),
            read_ms: median(runs.iter().map(|run| run.read_ms)),
            index_ms: median(runs.iter().map(|run| run.index_ms)),
            decide_ms: median(runs.iter().map(|run| run.decide_ms)),
            peak_bytes: peak,
            ..last
        })
    }

    /// The same once.
    pub fn check_once(&self, file: &Path, level: &str, flags: &[&str]) -> Done<Measure> {
        let mut check = Command::new(&self.isoscope);
        check.arg("check").arg(file);
        check.args(["--level", level, "--stats", "--json", "--time-limit", TIME_LIMIT]);
        check.args(flags);
        let answer = json_of(&mut check)?;
        let (verdict, stats) = (&answer["verdicts"][0], &answer["stats"]);
        let numbers = |object: &Value| -> Vec<(String, f64)> {
            let entries = object.as_object().into_iter().flatten();
            entries.map(|(name, number)| (name.clone(), number.as_f64().unwrap_or(0.0))).collect()
        };
        Ok(Measure {
            verdict: verdict["verdict"].as_str().unwrap_or("?").to_owned(),
            total_ms: number(stats, "total_ms"),
            read_ms: number(stats, "read_ms") + number(stats, "index_ms"),
            index_ms: number(stats, "index_ms"),
            decide_ms: number(verdict, "time_ms"),
            peak_bytes: number(stats, "peak_memory_bytes"),
            stages: numbers(&verdict["stats"]["stages"]),
            counts: numbers(&verdict["stats"]["counts"])
                .into_iter()
                .map(|(name, count)| (name, count as u64))
                .collect(),
        })
    }
}

impl Bench {
    /// Runs a command several times: the exit code, the median of its processor time (user and system), and the largest
    /// peak of memory, as the kernel reports them.
    pub fn processor(&self, command: &Command) -> Done<(i32, f64, f64)> {
        let runs: Vec<Taken> = (0..self.runs).map(|_| Taken::by(command)).collect::<Done<_>>()?;
        let code = runs.last().map_or(0, |run| run.code);
        let peak = runs.iter().map(|run| run.peak_bytes).fold(0.0, f64::max);
        Ok((code, median(runs.iter().map(|run| run.processor_ms)), peak))
    }
}

/// What one run of a command took, as the kernel reports it.
pub struct Taken {
    /// The exit code; the negative number of a signal that ended it.
    pub code: i32,
    /// What the processor spent on it, in the program and in the kernel.
    pub processor_ms: f64,
    /// The peak of memory.
    pub peak_bytes: f64,
    /// From the start of the process to its end.
    pub elapsed_ms: f64,
}

impl Taken {
    /// Runs a command, whose program is a path, once.
    pub fn by(command: &Command) -> Done<Self> {
        let mut timed = Command::new("python3");
        timed.arg("-c").arg(TIMED).arg(command.get_program()).args(command.get_args());
        let answer = output_of(&mut timed, &[0])?;
        let numbers: Vec<f64> = answer.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [code, processor_s, peak_kib, elapsed_s] = numbers[..] else {
            return Err(format!("the measuring script answered {answer:?}"));
        };
        Ok(Self {
            code: code as i32,
            processor_ms: processor_s * 1000.0,
            peak_bytes: peak_kib * 1024.0,
            elapsed_ms: elapsed_s * 1000.0,
        })
    }
}

/// Prints the exit code, the processor seconds, the peak in KiB and the elapsed seconds of a command. `wait4` counts this
/// process alone: where `python3` is a script that finds an interpreter, the children of that script would count too.
const TIMED: &str = "import os, sys, time
null = os.open(os.devnull, os.O_WRONLY)
quiet = [(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
started = time.monotonic()
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, used = os.wait4(process, 0)
print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss, time.monotonic() - started)";

/// The JSON that a command answers with; a verdict of any kind will do.
pub fn json_of(command: &mut Command) -> Done<Value> {
    let text = output_of(command, &[0, 1, 3])?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", crate::run::shown(command)))
}

/// A number of an object, 0 if there is none.
pub fn number(object: &Value, name: &str) -> f64 {
    object[name].as_f64().unwrap_or(0.0)
}

/// The middle one.
pub fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_the_middle_one() {
        assert_eq!(median([5.0, 1.0, 3.0].into_iter()), 3.0);
        assert_eq!(median([].into_iter()), 0.0);
    }
}
