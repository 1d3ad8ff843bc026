//! The history of a run, decided at the promised level first, then at those around it.
//!
//! The exit code depends on the levels that the run is judged by, so these are decided without a limit of their own. A
//! promised level that another level would have to wait for comes first, and the levels that were not asked for share
//! the time that the run took ([`Shares`]).

use std::path::Path;
use std::time::{Duration, Instant};

use ::run::options::Options;
use ::run::promises::Promise;
use formats::{Input, ReadOptions};
use isoscope::{
    Answer, Asked, AskedLevel, Check, Decision, LazyIndex, LevelId, Limits, Monitor, NotAsked, Witness,
    limits,
};

use crate::args::{LimitArguments, ReadingArguments, processors};
use crate::exit::{Exit, Failure};
use crate::load::Subject;
use crate::progress::{Progress, Watched};
use crate::report::shown::{Bar, Shown};
use crate::report::{OfRun, Report};
use crate::shares::Shares;
use crate::terminal::visible;
use crate::watch::watched;
use crate::{interrupt, level_files, refused};

/// A history with the answers about it.
pub struct Checked {
    subject: Subject,
    answers: Vec<Answer>,
    not_asked: Vec<NotAsked>,
    witnesses: Vec<Witness>,
    shown: Shown,
    /// The database at its setting.
    database: String,
    /// The levels that the run is judged by; none if nothing is promised and nothing was asked for.
    pub judged: Vec<Judged>,
    /// How long reading and deciding took.
    pub time: Duration,
    /// How long it took until the promised level was decided.
    pub judged_time: Option<Duration>,
    /// What the processors spent on reading and deciding.
    pub processor_time: Option<Duration>,
}

/// A level that the run is judged by.
pub struct Judged {
    /// The level.
    pub level: AskedLevel,
    /// The verdict.
    pub decision: Decision,
}

/// What a check of a run depends on, besides the history.
pub struct Question<'q> {
    /// The options of the run.
    pub options: &'q Options,
    /// What is promised of the setting.
    pub promise: Option<Promise>,
    /// The database at its setting, for sentences.
    pub database: String,
    /// How long the run took: the levels that were not asked for share as much.
    pub run_time: Duration,
    /// The limits that the user set.
    pub limits: &'q LimitArguments,
    /// Whether violations are shrunk.
    pub with_witnesses: bool,
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
            shown: self.shown.clone(),
            run: Some(OfRun {
                subject: self.database.clone(),
                judged: self.judged.iter().map(|judged| judged.level.clone()).collect(),
            }),
        }
    }

    /// The exit code: that of the levels that the run is judged by.
    pub fn exit(&self) -> Exit {
        self.report().exit()
    }

    /// The verdict for a level, if it was asked.
    pub fn decision(&self, level: LevelId) -> Option<Decision> {
        let answer = self.answers.iter().find(|answer| answer.level.shipped() == Some(level));
        answer.map(|answer| answer.decision)
    }
}

/// Reads the history and decides.
pub fn check(file: &Path, question: &Question<'_>, progress: &Progress) -> Result<Checked, Failure> {
    let (started, spent) = (Instant::now(), limits::processor_time());
    let limits = question.limits.start()?;
    progress.set("reading the history");
    let late = |limit| {
        progress.end();
        let (sentence, stage) = (limits.sentence(limit), progress.stage());
        let file = visible(&file.display().to_string());
        Err(Failure::Limit(format!("{sentence} while {stage}; the recording is in {file}")))
    };
    let checked = watched(&limits, late, |_| decide(file, question, &limits, progress))?;
    let processor_time = limits::processor_time().zip(spent).map(|(end, start)| end.saturating_sub(start));
    Ok(Checked { time: started.elapsed(), processor_time, ..checked })
}

fn decide(
    file: &Path,
    question: &Question<'_>,
    limits: &Limits,
    progress: &Progress,
) -> Result<Checked, Failure> {
    let threads = processors();
    let reading = ReadingArguments { format: None, initial_transaction: false, input_limit: None };
    let options = ReadOptions { threads, ..reading.options(limits.memory()) };
    let subject = Subject::read_as(Input::Path(file.to_owned()), options, limits)?;
    let index = LazyIndex::default();
    let watched = Watched::new(limits, progress);
    let first = question.first();
    let monitor = Shares::of_run(&watched, &first, question.judged_name(), question.time_for_others());
    let check = Check::new(&subject.history)
        .index(&index)
        .levels(question.asked()?)
        .monitor(&monitor)
        .seed(question.options.shape.seed)
        .first(first.iter().copied())
        .own_first(question.judged_name().is_some())
        .threads(threads)
        .skews(false);
    let decided = interrupt::while_deciding(|| {
        let report = check.run()?;
        let with_witnesses = question.with_witnesses;
        let witnesses = if with_witnesses { check.witnesses(&report.answers)? } else { Vec::new() };
        Ok((report, witnesses))
    });
    let (report, witnesses) = decided.map_err(|error| refused::failure(&subject, error))?;
    Ok(Checked {
        shown: Shown::of(&subject.history, &index, Bar::ClientsMeet),
        judged: question.judged(&report.answers),
        answers: report.answers,
        not_asked: report.not_asked,
        witnesses,
        database: question.database.clone(),
        time: Duration::ZERO,
        processor_time: None,
        judged_time: monitor.judged_at(),
        subject,
    })
}

impl Question<'_> {
    /// What to ask: what the user named; else the promised level and all that an engine decides; else everything.
    fn asked(&self) -> Result<Asked, Failure> {
        if !self.options.levels.is_empty() {
            return level_files::asked(&self.options.levels);
        }
        let Some(promise) = self.promise else { return Ok(Asked::default()) };
        let mut asked: Asked = LevelId::with_engine().chain([promise.level]).collect();
        asked.add_own(promise.text.and_then(level_files::further).cloned());
        Ok(asked)
    }

    /// The levels that are decided first, the judged one last. A level that is known to hold is asked before it: where it
    /// holds, the promised one does too, and real time makes it much easier to decide.
    fn first(&self) -> Vec<LevelId> {
        let Some(judged) = self.judged_level() else { return Vec::new() };
        let known = self.promise.and_then(|promise| promise.expected);
        known.into_iter().filter(|known| *known != judged).chain([judged]).collect()
    }

    /// The promised level, unless the user named levels.
    fn judged_level(&self) -> Option<LevelId> {
        self.promise.filter(|_| self.options.levels.is_empty()).map(|promise| promise.level)
    }

    /// The name of the promised level, which may be given by its text, unless the user named levels.
    fn judged_name(&self) -> Option<&'static str> {
        self.promise.filter(|_| self.options.levels.is_empty()).map(|promise| promise.name())
    }

    /// The levels that the run is judged by, with their verdicts: those that the user named, or the promised one.
    fn judged(&self, answers: &[Answer]) -> Vec<Judged> {
        let is_judged = |answer: &&Answer| {
            !self.options.levels.is_empty()
                || self.judged_level().is_some()
                    && self.promise.is_some_and(|promise| answer.level.name() == promise.name())
        };
        let judged = answers.iter().filter(is_judged);
        judged.map(|answer| Judged { level: answer.level.clone(), decision: answer.decision }).collect()
    }

    /// How long checking may take together with the levels that the exit code does not depend on. A limit of the user's
    /// own is all that counts.
    fn time_for_others(&self) -> Option<Duration> {
        self.limits.time_limit.is_none().then_some(less_than(self.run_time))
    }
}

/// Somewhat less than the run took: levels end a moment after their time is over, and checking is to take no longer than
/// the run. A run of less than a second counts as one of a second.
fn less_than(run_time: Duration) -> Duration {
    const SHORTEST: Duration = Duration::from_secs(1);
    run_time.max(SHORTEST) * 4 / 5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_levels_leave_time_to_end() {
        assert_eq!(less_than(Duration::from_secs(10)), Duration::from_secs(8));
        assert_eq!(less_than(Duration::from_millis(10)), Duration::from_millis(800));
    }
}
