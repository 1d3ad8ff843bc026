//! `cargo xtask bench`: time and memory of the built command, as Markdown tables.
//!
//! Every figure comes from a process of its own: time as the command reports it (and as seen from outside), memory as
//! the kernel counts the peak of the process (`VmHWM`). Times are the median of five runs. Histories come from
//! `../shared/histories` where that is there, and from `isoscope generate`; the latter are kept in `target/bench`.

mod append;
mod cliffs;
mod formats;
mod growth;
mod history;
mod hostile;
pub mod instructions;
mod levels;
mod measure;
mod predicates;
mod recording;
mod reject;
mod saved;
mod scaling;
mod synth;
pub mod table;
mod watch;

use std::path::PathBuf;

use crate::run::{Done, cargo, expect_success, target};

/// The names of the suites.
pub const SUITES: [&str; 14] = [
    "append",
    "formats",
    "serializable",
    "snapshot",
    "weak",
    "predicates",
    "ablation",
    "reject",
    "scaling",
    "cliffs",
    "growth",
    "synth",
    "recording",
    "watch",
];

/// How to measure.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The command.
    isoscope: PathBuf,
    /// The profile it was built with.
    profile: String,
    /// Runs for each figure.
    runs: usize,
    /// Small histories only.
    quick: bool,
    /// What was measured so far.
    figures: saved::Figures,
}

/// Runs the suites that are named, or all.
pub fn run(options: &[&str]) -> Done {
    let (mut quick, mut profile, mut suites) = (false, "release", Vec::new());
    let (mut save, mut against) = (None, None);
    let mut words = options.iter();
    while let Some(&word) = words.next() {
        match word {
            "--quick" => quick = true,
            "--profile" => profile = words.next().ok_or("--profile needs dev or release")?,
            "--save" => save = Some(*words.next().ok_or("--save needs a name")?),
            "--against" => against = Some(*words.next().ok_or("--against needs a name that was saved")?),
            suite if SUITES.contains(&suite) => suites.push(suite),
            other => {
                return Err(format!("no suite is called {other}; there are {}", SUITES.join(", ")));
            }
        }
    }
    if suites.is_empty() {
        suites = SUITES.to_vec();
    }
    let bench = Bench::build(profile, quick)?;
    suites.iter().try_for_each(|suite| bench.suite(suite))?;
    save.map_or(Ok(()), |name| bench.figures.save(name))?;
    against.map_or(Ok(()), |name| bench.figures.compare(name))
}

/// The command, built with a profile.
pub fn built(profile: &str) -> Done<PathBuf> {
    // The tests have built the programs of the whole workspace: other features would build most of it again.
    let scope: &[&str] =
        if profile == "dev" { &["--workspace", "--bins"] } else { &["--package", "isoscope-cli"] };
    expect_success(cargo(&["build", "--quiet", "--profile", profile]).args(scope))?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target().join(folder).join(format!("isoscope{}", std::env::consts::EXE_SUFFIX)))
}

impl Bench {
    fn build(profile: &str, quick: bool) -> Done<Self> {
        Ok(Self {
            isoscope: built(profile)?,
            profile: profile.to_owned(),
            runs: if quick { 1 } else { 5 },
            quick,
            figures: saved::Figures::default(),
        })
    }

    fn suite(&self, name: &str) -> Done {
        println!("\n## {name}\n");
        match name {
            "append" => append::run(self),
            "formats" => formats::run(self),
            "serializable" => levels::serializable(self),
            "snapshot" => levels::snapshot(self),
            "weak" => levels::weak(self),
            "predicates" => predicates::run(self),
            "ablation" => levels::ablation(self),
            "reject" => reject::run(self),
            "scaling" => scaling::run(self),
            "cliffs" => cliffs::run(self),
            "growth" => growth::run(self),
            "synth" => synth::run(self),
            "recording" => recording::run(self),
            "watch" => watch::run(self),
            other => Err(format!("the suite {other} is listed but not written")),
        }
    }
}
