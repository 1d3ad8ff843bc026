//! The trust harness: every level and every path of the library against oracles, and answers against one another.
//!
//! A trial ([`trials`]) draws something from a seed and compares; a disagreement shrinks itself to the smallest history
//! that shows it, which is printed ready to become a test, and ends the run with exit code 1. `cargo xtask soak` builds
//! and runs this; the seed is printed first, so that every run can be repeated.

mod options;
mod tally;
mod trials;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use options::Options;
use tally::Tally;
use trials::{Disagreement, Trial};

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    println!("seed {}, {} threads", options.seed, options.threads);
    let soak = Soak {
        options: &options,
        started: Instant::now(),
        next: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
        found: Mutex::new((Tally::default(), Vec::new())),
    };
    soak.run()
}

struct Soak<'o> {
    options: &'o Options,
    started: Instant,
    next: AtomicU64,
    is_over: AtomicBool,
    found: Mutex<(Tally, Vec<Disagreement>)>,
}

impl Soak<'_> {
    fn run(&self) -> ExitCode {
        std::thread::scope(|scope| {
            for _ in 0..self.options.threads {
                scope.spawn(|| self.work());
            }
        });
        let found = self.found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        print!("{}", found.0.table(self.started.elapsed()));
        for disagreement in &found.1 {
            println!("\n{disagreement}");
        }
        if found.1.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Runs trials in turn until the time or the count is reached, or another thread found a disagreement.
    fn work(&self) {
        let mut tally = Tally::default();
        let mut disagreements = Vec::new();
        while !self.is_over.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if self.is_reached(number) {
                break;
            }
            let trial = self.options.trial(number);
            let seed = self.options.seed.wrapping_add(number);
            if let Err(disagreement) = run_trial(trial, seed, &mut tally) {
                disagreements.push(disagreement);
                self.is_over.store(!self.options.keep_going, Ordering::Relaxed);
            }
        }
        let mut found = self.found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        found.0.add(&tally);
        found.1.extend(disagreements);
    }

    fn is_reached(&self, number: u64) -> bool {
        self.options.count.is_some_and(|count| number >= count)
            || self.options.time.is_some_and(|time| self.started.elapsed() >= time)
    }
}

/// A panic anywhere below is a disagreement too.
fn run_trial(trial: Trial, seed: u64, tally: &mut Tally) -> Result<(), Disagreement> {
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| trial.run(seed, tally)));
    caught.unwrap_or_else(|panic| {
        let problem = trials::panic_text(&*panic);
        Err(Disagreement { trial: trial.name(), seed, problem, history: String::new() })
    })
}
