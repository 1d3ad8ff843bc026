//! The trials: each draws something from a seed, asks the library, and compares.

mod conversions;
mod killed;
mod oracle;
mod relations;
mod synthesis;
mod texts;
mod weak;

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use history::History;
use isoscope::{Answer, Check, Decision, LevelId, Limits, Report};
use testkit::shrink;

use crate::tally::Tally;

/// A trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trial {
    /// Histories that mix kinds, at all levels with an engine, against the oracle.
    Mixed,
    /// Histories of one kind, likewise.
    Kinds,
    /// Levels without an engine against the reference semantics of their texts.
    Weak,
    /// Levels whose texts are made up, likewise.
    Texts,
    /// Answers against one another: the lattice, threads, renaming, permuting, splitting, leaving out.
    Relations,
    /// A history and what becomes of it in each format that is written.
    Conversions,
    /// Histories that one level allows and another forbids.
    Synthesis,
    /// Recordings of the simulated store that were killed.
    Killed,
}

/// The library is wrong, or contradicts itself.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// The trial.
    pub trial: &'static str,
    /// Its seed.
    pub seed: u64,
    /// What is wrong.
    pub problem: String,
    /// The smallest history that shows it, in the notation.
    pub history: String,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "DISAGREEMENT in trial {}, seed {}: {}", self.trial, self.seed, self.problem)?;
        writeln!(out, "```text\n{}```", self.history)
    }
}

impl Trial {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Mixed,
        Self::Kinds,
        Self::Weak,
        Self::Texts,
        Self::Relations,
        Self::Conversions,
        Self::Synthesis,
        Self::Killed,
    ];

    /// The name, on the command line and in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Kinds => "kinds",
            Self::Weak => "weak",
            Self::Texts => "texts",
            Self::Relations => "relations",
            Self::Conversions => "conversions",
            Self::Synthesis => "synthesis",
            Self::Killed => "killed",
        }
    }

    /// The trial of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trial| trial.name() == name)
    }

    /// How often it has its turn: those that take longer less often.
    pub const fn weight(self) -> usize {
        match self {
            Self::Mixed => 400,
            Self::Kinds => 100,
            Self::Weak => 60,
            Self::Texts => 60,
            Self::Relations => 60,
            Self::Conversions => 60,
            Self::Synthesis => 1,
            Self::Killed => 1,
        }
    }

    /// Runs it once.
    pub fn run(self, seed: u64, tally: &mut Tally) -> Result<(), Disagreement> {
        match self {
            Self::Mixed => oracle::mixed(seed, tally),
            Self::Kinds => oracle::kinds(seed, tally),
            Self::Weak => weak::run(seed, tally),
            Self::Texts => texts::run(seed, tally),
            Self::Relations => relations::run(seed, tally),
            Self::Conversions => conversions::run(seed, tally),
            Self::Synthesis => synthesis::run(seed, tally),
            Self::Killed => killed::run(seed, tally),
        }
    }
}

/// Counts the answers for a history, looks for a problem with them, and shrinks the history if there is one. A panic is
/// a problem too.
fn examine(
    trial: Trial,
    seed: u64,
    history: &History,
    tally: &mut Tally,
    problem: &dyn Fn(&History, &mut Tally) -> Option<String>,
) -> Result<(), Disagreement> {
    let problem = |history: &History, tally: &mut Tally| {
        let caught = catch_unwind(AssertUnwindSafe(|| problem(history, tally)));
        caught.unwrap_or_else(|panic| Some(panic_text(&*panic)))
    };
    tally.history(trial.name());
    if problem(history, tally).is_none() {
        return Ok(());
    }
    // What is asked while the history shrinks is not counted.
    let again = |history: &History| problem(history, &mut Tally::default());
    let smallest = shrink(history, &|history| again(history).is_some());
    Err(Disagreement {
        trial: trial.name(),
        seed,
        problem: again(&smallest).unwrap_or_else(|| "it did not show again".to_owned()),
        history: formats::notation::print(&smallest).unwrap_or_else(|error| error.to_string()),
    })
}

/// What a panic said.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or_default())
}

/// How long a small history may be thought about; after that it is undecided, and counted so.
const PATIENCE: Duration = Duration::from_secs(2);

/// The answers for these levels; an error of the library as a problem.
fn ask(
    history: &History,
    levels: &[LevelId],
    adjust: impl for<'a> Fn(Check<'a>) -> Check<'a>,
) -> Result<Report, String> {
    let limits = Limits::start(Some(PATIENCE), None)?;
    let check = Check::new(history).levels(levels.iter().copied().collect()).skews(false);
    adjust(check).monitor(&limits).run().map_err(|error| error.to_string())
}

/// The levels with an engine that the history can be asked for.
fn answerable(history: &History) -> Vec<LevelId> {
    LevelId::with_engine().filter(|level| history.has_times() || !level.needs_times()).collect()
}

/// Whether two answers contradict each other: one holds and the other is violated.
fn contradict(one: Decision, other: Decision) -> bool {
    matches!((one, other), (Decision::Holds, Decision::Violated) | (Decision::Violated, Decision::Holds))
}

/// What two reports about the same question contradict each other in.
fn difference(what: &str, one: &[Answer], other: &[Answer]) -> Option<String> {
    one.iter().find_map(|answer| {
        let twin = other.iter().find(|twin| twin.level == answer.level)?;
        contradict(answer.decision, twin.decision).then(|| {
            let (was, is) = (answer.decision.word(), twin.decision.word());
            format!("{what}: {} was {was} and is {is}", answer.level)
        })
    })
}
