//! The command line: for how long, from which seed, which trials.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::trials::Trial;

/// What to run.
pub struct Options {
    /// The first seed; trials count up from it.
    pub seed: u64,
    /// End after this time.
    pub time: Option<Duration>,
    /// End after so many trials.
    pub count: Option<u64>,
    /// How many at once.
    pub threads: usize,
    /// The trials, in turn.
    pub trials: Vec<Trial>,
    /// Whether to go on after a disagreement.
    pub keep_going: bool,
}

const USAGE: &str =
    "isoscope-soak [--minutes M] [--count N] [--seed S] [--threads T] [--only TRIAL] [--keep-going]";

impl Options {
    /// The options of a command line; without a time or a count one minute, without a seed a fresh one.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let fresh = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut options = Self {
            // Leave room to count up, and keep it short enough to type.
            seed: fresh % 1_000_000_000_000,
            time: None,
            count: None,
            threads,
            trials: Vec::new(),
            keep_going: false,
        };
        let mut words = words;
        while let Some(word) = words.next() {
            if word == "--keep-going" {
                options.keep_going = true;
                continue;
            }
            let value = words.next().ok_or_else(|| format!("{word} needs a value; {USAGE}"))?;
            options.set(&word, &value)?;
        }
        if options.time.is_none() && options.count.is_none() {
            options.time = Some(Duration::from_secs(60));
        }
        if options.trials.is_empty() {
            options.trials = Trial::ALL.to_vec();
        }
        Ok(options)
    }

    fn set(&mut self, word: &str, value: &str) -> Result<(), String> {
        let refused = || format!("{word} does not take {value:?}; {USAGE}");
        match word {
            "--minutes" => {
                let minutes: f64 = value.parse().map_err(|_| refused())?;
                let is_sensible = minutes > 0.0 && minutes < 1e6;
                self.time = Some(Duration::from_secs_f64(60.0 * minutes)).filter(|_| is_sensible);
                self.time.map(drop).ok_or_else(refused)?;
            }
            "--count" => self.count = Some(value.parse().map_err(|_| refused())?),
            "--seed" => self.seed = value.parse().map_err(|_| refused())?,
            "--threads" => self.threads = value.parse().map_err(|_| refused())?,
            "--only" => self.trials.push(Trial::named(value).ok_or_else(refused)?),
            _ => return Err(format!("{word} is not an option; {USAGE}")),
        }
        Ok(())
    }

    /// The trial whose turn it is.
    pub fn trial(&self, number: u64) -> Trial {
        let weights: Vec<Trial> =
            self.trials.iter().flat_map(|&trial| std::iter::repeat_n(trial, trial.weight())).collect();
        weights[(number % weights.len() as u64) as usize]
    }
}
