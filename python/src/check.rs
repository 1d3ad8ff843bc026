//! `check`: asks the library for levels, within limits, without the interpreter's lock.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use history::Clock;
use isoscope::{Asked, Check, Error, Limit, Monitor, Report};
use pyo3::prelude::*;

use crate::answer::PyAnswer;
use crate::errors::{bad_value, check_error};
use crate::history::{PyHistory, Subject};
use crate::levels::{PyLevel, asked};
use crate::watch::{Ended, Watch};

/// What was asked about a history; a witness asks the same again about parts of it.
pub struct Question {
    /// The history.
    pub subject: Arc<Subject>,
    /// The levels.
    pub asked: Asked,
    /// How far apart the clocks of two clients may be.
    pub clock_skew: Duration,
    /// How many threads decide a level.
    pub threads: usize,
    /// Breaks ties in the search.
    pub seed: u64,
    /// The memory limit in bytes.
    pub memory_limit: Option<u64>,
}

impl Question {
    /// The question as the library asks it.
    pub fn check<'q>(&'q self, monitor: &'q dyn Monitor) -> Check<'q> {
        Check::new(&self.subject.history)
            .levels(self.asked.clone())
            .monitor(monitor)
            .clock_skew(self.clock_skew)
            .threads(self.threads)
            .seed(self.seed)
    }

    /// The report when a limit ended the check from outside.
    fn unfinished(&self, watch: &Watch, limit: Limit) -> Result<Report, Error> {
        self.check(watch).unfinished(watch.answers(), limit)
    }
}

/// The answers, and the levels that were not asked with the reason.
type Answers = (Vec<PyAnswer>, Vec<(&'static str, &'static str)>);

/// Decides levels.
#[pyfunction]
#[pyo3(signature = (history, levels, time_limit_ns, memory_limit, clock_skew_ns, threads, seed))]
#[allow(clippy::too_many_arguments)] // The Python function names them all.
pub fn check(
    py: Python<'_>,
    history: &PyHistory,
    levels: Vec<PyRef<'_, PyLevel>>,
    time_limit_ns: Option<u64>,
    memory_limit: Option<u64>,
    clock_skew_ns: u64,
    threads: usize,
    seed: u64,
) -> PyResult<Answers> {
    let subject = Arc::clone(&history.subject);
    refuse_needless_skew(&subject, clock_skew_ns)?;
    let clock_skew = Duration::from_nanos(clock_skew_ns);
    let asked = asked(&levels);
    let question = Arc::new(Question { subject, asked, clock_skew, threads, seed, memory_limit });
    let watch = Watch::start(time_limit_ns, memory_limit)?;
    let asking = Arc::clone(&question);
    let report = match watch.run(py, move |watch| asking.check(watch).run())? {
        Ended::Done(report) => report,
        Ended::Late(limit) => question.unfinished(&watch, limit),
    };
    let report = report.map_err(|error| check_error(&error))?;
    let not_asked = report.not_asked.iter().map(|left_out| (left_out.level, left_out.reason)).collect();
    let answer = |answer| PyAnswer { question: Arc::clone(&question), answer, witness: OnceLock::new() };
    Ok((report.answers.into_iter().map(answer).collect(), not_asked))
}

/// Only clocks have a skew.
fn refuse_needless_skew(subject: &Subject, clock_skew_ns: u64) -> PyResult<()> {
    match subject.history.clock() {
        Clock::Position if clock_skew_ns != 0 => Err(bad_value(format!(
            "clock_skew does not apply to {}: its order of events is that of one recording, not of clocks",
            subject.name
        ))),
        Clock::Position | Clock::Nanoseconds => Ok(()),
    }
}
