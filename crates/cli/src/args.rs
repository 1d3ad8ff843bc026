//! The command line. A flag is defined once, here if several commands have it, else beside its command.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use drive::plant::Planted;
use formats::{Format, Input, ReadOptions};
use isoscope::{Limits, units};

use crate::commands::{
    batch, certify, check, compare, completions, convert, demo, diff, elle, explain, generate, levels, man,
    probe, run, shrink, stats, synth, watch,
};
use crate::exit::Failure;
use crate::interrupt;
use crate::terminal::Colour;

/// Finds out which isolation a database really gives.
///
/// isoscope reads what clients saw, in the format of any tool of the field, decides isolation levels completely,
/// proves its answer, and says in sentences what is wrong.
#[derive(Parser, Debug)]
#[command(name = "isoscope", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Arguments {
    /// When to use colours: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", value_parser = Colour::named)]
    pub color: Colour,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 the level holds, 1 it is violated, 2 the question could not be asked, 3 undecided (a limit was reached, the history has something that is not decided yet, or it could have shown nothing).

Start with `isoscope demo`, then `isoscope check FILE`.";

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Ask SQLite and a simulated store what isolation they give; needs no set-up
    Demo(demo::Arguments),
    /// Decide which isolation levels a history satisfies
    Check(check::Arguments),
    /// Check many histories, and write a line of JSON for each
    Batch(batch::Arguments),
    /// Show what violates a level: the transactions it takes, in sentences and pictures
    Explain(explain::Arguments),
    /// Write the smallest history (or SQL) that still violates a level
    Shrink(shrink::Arguments),
    /// Compare two answers of `check --json`: which violations came, went and stayed
    Diff(diff::Arguments),
    /// Answer as elle-cli does: its flags, its input and its output
    Elle(elle::Arguments),
    /// Check an answer's certificate, independently of the engine that gave it
    Certify(certify::Arguments),
    /// Write a history in another format
    Convert(convert::Arguments),
    /// Say what is in a history, and how much it could have shown
    Stats(stats::Arguments),
    /// Drive a database with a workload, record what its clients see, and check it
    Run(Box<run::Arguments>),
    /// Follow a recording while it grows, and say when a level is violated
    Watch(watch::Arguments),
    /// Make a history with a simulated database of a chosen isolation or a chosen fault
    Generate(Box<generate::Arguments>),
    /// List the isolation levels, or explain one
    Levels(levels::Arguments),
    /// Find the smallest history that some levels allow and others forbid
    Synth(synth::Arguments),
    /// Run litmus schedules against a database: which anomalies are possible at which setting
    Probe(probe::Arguments),
    /// Compare levels by the histories that they allow, within a scope
    Compare(compare::Arguments),
    /// Print the completions of a shell
    Completions(completions::Arguments),
    /// Print the manual page, or write one for each command
    Man(man::Arguments),
}

/// Where the history comes from.
#[derive(Args, Debug)]
pub struct InputArguments {
    /// The history: a file, a folder of logs, or - for standard input; gzip and zstd are decompressed
    #[arg(value_name = "HISTORY")]
    pub history: PathBuf,
    #[command(flatten)]
    pub reading: ReadingArguments,
}

/// How to read a history.
#[derive(Args, Clone, Debug)]
pub struct ReadingArguments {
    /// The format of the history, instead of finding it out from the content
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub format: Option<Format>,
    /// Take a transaction that only writes and stands alone or first as the initial state (dbcop files that
    /// other tools converted have one)
    #[arg(long)]
    pub initial_transaction: bool,
    /// Read an input of at most this size after decompression, however well it was compressed and however long its lines
    /// are; without it lines of 64 MiB and a compression of 1 to 2000 are the most
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, hide_short_help = true)]
    pub input_limit: Option<u64>,
}

/// Limits of a run.
#[derive(Args, Debug)]
pub struct LimitArguments {
    /// Stop after this time, such as 30s or 5m, with what is known by then
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration)]
    pub time_limit: Option<Duration>,
    /// Stop when the process holds this much memory, such as 4GiB, with what is known by then
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    pub memory_limit: Option<u64>,
}

/// How to answer.
#[derive(Args, Debug)]
pub struct OutputArguments {
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

impl LimitArguments {
    /// Starts the clock; Ctrl-C ends what it watches too.
    pub fn start(&self) -> Result<Limits, Failure> {
        let limits = Limits::start(self.time_limit, self.memory_limit).map_err(Failure::new)?;
        let ceiling = if self.memory_limit.is_none() { isoscope::limits::free_share() } else { None };
        Ok(limits.with_ceiling(ceiling).with_interrupt(interrupt::is_asked))
    }
}

impl InputArguments {
    /// The input.
    pub fn input(&self) -> Input {
        Input::named(self.history.clone())
    }

    /// What to call the input when speaking of it.
    pub fn name(&self) -> String {
        match self.input() {
            Input::Stdin => "standard input".to_owned(),
            Input::Path(path) => path.display().to_string(),
        }
    }
}

impl ReadingArguments {
    /// The options for the readers.
    pub fn options(&self, memory_limit: Option<u64>) -> ReadOptions {
        let options = ReadOptions {
            format: self.format,
            initial_txn: self.initial_transaction,
            threads: processors(),
            ..ReadOptions::default()
        };
        let options = match memory_limit {
            Some(bytes) => options.with_memory_limit(bytes),
            None => options,
        };
        match self.input_limit {
            Some(bytes) => options.with_input_limit(bytes),
            None => options,
        }
    }
}

/// How many threads can run at the same time. The system is asked once: each time takes some twenty calls of the kernel.
pub fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get))
}

/// A format by any of its names.
pub fn parse_format(name: &str) -> Result<Format, String> {
    name.parse()
}

/// An anomaly to plant, by its name.
pub fn parse_planted(name: &str) -> Result<Planted, String> {
    let names = Planted::ALL.map(Planted::name);
    Planted::named(name).ok_or_else(|| format!("expected one of {}", names.join(", ")))
}
