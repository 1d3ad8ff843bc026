//! Recordings of the simulated store that were cut at any byte, as a killed process leaves them: nothing is accused.

use std::path::PathBuf;
use std::time::Duration;

use databases::{Url, simulated_promise};
use history::History;
use isoscope::formats::{ReadOptions, read_bytes};
use isoscope::{Decision, LevelId, Limits};
use record::Recorder;
use run::Control;
use run::options::{Options, Settings};
use testkit::Random;

use super::{Disagreement, Trial, ask};
use crate::tally::Tally;

/// How many times each recording is cut.
const CUTS: usize = 12;

/// One recording, cut in several places.
pub fn run(seed: u64, tally: &mut Tally) -> Result<(), Disagreement> {
    let mut random = Random::new(seed);
    let setting = *random.pick(&["serializable", "snapshot", "session-snapshot", "prefix", "ssi"]);
    let workload = *random.pick(&["general", "append", "range-b", "rmw", "blindw-rw"]);
    let Some(promise) = simulated_promise(setting) else { return Ok(()) };
    let bytes = match recording(setting, workload, seed) {
        Ok(bytes) => bytes,
        Err(problem) => return Err(disagreement(seed, problem, String::new())),
    };
    for _ in 0..CUTS {
        let cut = random.below(bytes.len() + 1);
        // Without its first line a recording is not one.
        let Ok(loaded) = read_bytes("cut", &bytes[..cut], &ReadOptions::default()) else { continue };
        tally.history(Trial::Killed.name());
        examine_cut(seed, &loaded.history, promise, tally)?;
    }
    Ok(())
}

fn examine_cut(
    seed: u64,
    history: &History,
    promise: LevelId,
    tally: &mut Tally,
) -> Result<(), Disagreement> {
    if promise.needs_times() && !history.has_times() {
        return Ok(());
    }
    let limits = Limits::start(Some(Duration::from_secs(10)), None);
    let limits = limits.map_err(|problem| disagreement(seed, problem, String::new()))?;
    let shown = || formats::notation::print(history).unwrap_or_default();
    let check = isoscope::Check::new(history).level(promise).monitor(&limits).skews(false);
    let report = check.run().map_err(|error| disagreement(seed, error.to_string(), shown()))?;
    for answer in &report.answers {
        tally.answer(Trial::Killed.name(), answer, true);
        if answer.decision == Decision::Violated {
            let reason = answer.reason().unwrap_or_default();
            let smallest = testkit::shrink(history, &|history| is_violated(history, promise));
            let shown = formats::notation::print(&smallest).unwrap_or_else(|_| shown());
            return Err(disagreement(seed, format!("a cut recording violates {promise}: {reason}"), shown));
        }
    }
    Ok(())
}

fn is_violated(history: &History, level: LevelId) -> bool {
    let report = ask(history, &[level], |check| check);
    report.is_ok_and(|report| report.decision(level) == Some(Decision::Violated))
}

fn disagreement(seed: u64, problem: String, history: String) -> Disagreement {
    Disagreement { trial: Trial::Killed.name(), seed, problem, history }
}

/// A file that is removed at the end.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file among temporary ones may stay behind.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The bytes of a whole recording.
fn recording(setting: &str, workload: &str, seed: u64) -> Result<Vec<u8>, String> {
    let text = format!(
        "db=sim:{setting}?seed={seed} workload={workload} keys=8 sessions=4 transactions=60 seed={seed}"
    );
    let pair =
        |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), vec![value.to_owned()]));
    let settings: Settings = text.split_whitespace().filter_map(pair).collect();
    let options = Options::read(&settings)?;
    let urls = options.db.iter().map(|url| Url::parse(url)).collect::<Result<Vec<_>, _>>();
    let database = databases::open(&urls.map_err(|error| error.to_string())?);
    let database = database.map_err(|error| error.to_string())?;
    let setting = options.choose_settings(database.as_ref())?;
    let file = format!("isoscope-soak-{}-{seed}-{setting:?}.jsonl", std::process::id());
    let file: String =
        file.chars().filter(|char| char.is_ascii_alphanumeric() || "-.".contains(*char)).collect();
    let scratch = Scratch(std::env::temp_dir().join(file));
    let recorder = Recorder::create(&scratch.0).map_err(|error| error.to_string())?;
    let workload = options.build()?;
    let claim = run::claim(database.as_ref(), workload.as_ref()).map_err(|error| error.to_string())?;
    let job = options.job(database.as_ref(), &setting, workload.as_ref(), &claim);
    let control = Control { is_stopped: &|| false, progress: &|_| {} };
    run::run(&job, Some(&recorder), None, &control).map_err(|error| error.to_string())?;
    drop(recorder);
    std::fs::read(&scratch.0).map_err(|error| error.to_string())
}
