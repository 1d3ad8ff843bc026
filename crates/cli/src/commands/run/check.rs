//! The history of a run, decided at the promised level and at those above and below it.

use std::path::Path;
use std::time::Instant;

use ::run::options::Options;
use ::run::promises::Promise;
use isoscope::{Answer, Asked, AskedLevel, Check, Decision, LevelId, Limits, Monitor, NotAsked, Witness};

use crate::args::{InputArguments, LimitArguments, ReadingArguments};
use crate::exit::{Exit, Failure};
use crate::load::Subject;
use crate::progress::{Progress, Watched};
use crate::report::Report;
use crate::terminal::visible;
use crate::watch::watched;
use crate::{interrupt, level_files, refused};

/// A history with the answers about it.
pub struct Checked {
    subject: Subject,
    answers: Vec<Answer>,
    not_asked: Vec<NotAsked>,
    witnesses: Vec<Witness>,
    /// The levels that the run is judged by; none if nothing is promised and nothing was asked for.
    pub judged: Vec<Judged>,
    /// How long reading and deciding took.
    pub time: std::time::Duration,
}

/// A level that the run is judged by.
pub struct Judged {
    /// The level.
    pub level: AskedLevel,
    /// The verdict.
    pub decision: Decision,
}

impl Checked {
    /// The answers as `check` reports them.
    pub fn report(&self) -> Report<'_> {
        Report {
            subject: &self.subject,
            answers: self.answers.clone(),
            not_asked: self.not_asked.clone(),
            stats: None,
            witnesses: self.witnesses.clone(),
        }
    }

    /// The exit code: that of the levels that the run is judged by.
    pub fn exit(&self) -> Exit {
        if self.judged.is_empty() {
            return self.report().exit();
        }
        let any = |wanted: fn(&Judged) -> bool| self.judged.iter().any(wanted);
        if any(|judged| judged.decision == Decision::Violated) {
            Exit::Violated
        } else if any(|judged| judged.decision != Decision::Holds) {
            Exit::Undecided
        } else {
            Exit::Holds
        }
    }
}

/// Reads the history and decides.
pub fn check(
    file: &Path,
    options: &Options,
    promise: Option<Promise>,
    limits: &LimitArguments,
    progress: &Progress,
    with_witnesses: bool,
) -> Result<Checked, Failure> {
    let started = Instant::now();
    let limits = limits.start()?;
    progress.set("reading the history");
    let late = |limit| {
        progress.end();
        let (sentence, stage) = (limits.sentence(limit), progress.stage());
        let file = visible(&file.display().to_string());
        Err(Failure::Limit(format!("{sentence} while {stage}; the recording is in {file}")))
    };
    let (subject, report, witnesses) =
        watched(&limits, late, |_| decide(file, options, promise, &limits, progress, with_witnesses))?;
    let judged = judged(options, promise, &report.answers);
    let (answers, not_asked) = (report.answers, report.not_asked);
    Ok(Checked { subject, answers, not_asked, witnesses, judged, time: started.elapsed() })
}

fn decide(
    file: &Path,
    options: &Options,
    promise: Option<Promise>,
    limits: &Limits,
    progress: &Progress,
    with_witnesses: bool,
) -> Result<(Subject, isoscope::Report, Vec<Witness>), Failure> {
    let reading = ReadingArguments { format: None, initial_transaction: false, input_limit: None };
    let subject = Subject::read(&InputArguments { history: file.to_owned(), reading }, limits)?;
    let monitor = Watched::new(limits, progress);
    let check = Check::new(&subject.history)
        .levels(asked_levels(options, promise)?)
        .monitor(&monitor)
        .seed(options.shape.seed)
        .skews(false);
    let decided = interrupt::while_deciding(|| {
        let report = check.run()?;
        let witnesses = if with_witnesses { check.witnesses(&report.answers)? } else { Vec::new() };
        Ok((report, witnesses))
    });
    let (report, witnesses) = decided.map_err(|error| refused::failure(&subject, error))?;
    Ok((subject, report, witnesses))
}

/// What to ask: what the user named; else the promised level with those above and below it; else everything.
fn asked_levels(options: &Options, promise: Option<Promise>) -> Result<Asked, Failure> {
    if !options.levels.is_empty() {
        return level_files::asked(&options.levels);
    }
    let Some(promise) = promise else { return Ok(Asked::default()) };
    let centre: Vec<LevelId> = [promise.level].into_iter().chain(promise.expected).collect();
    let is_near = |level: &LevelId| centre.iter().any(|near| near.implies(*level) || level.implies(*near));
    Ok(LevelId::with_engine().filter(is_near).chain([promise.level]).collect())
}

/// The levels that the run is judged by: those that the user named, or the promised one.
fn judged(options: &Options, promise: Option<Promise>, answers: &[Answer]) -> Vec<Judged> {
    let is_judged = |answer: &&Answer| match promise {
        _ if !options.levels.is_empty() => true,
        Some(promise) => answer.level.shipped() == Some(promise.level),
        None => false,
    };
    let judged = answers.iter().filter(is_judged);
    judged.map(|answer| Judged { level: answer.level.clone(), decision: answer.decision }).collect()
}
