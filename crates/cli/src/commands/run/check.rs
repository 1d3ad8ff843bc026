//! The history of a run, decided at the promised level and at those above and below it.

use std::path::Path;
use std::time::Instant;

use ::run::forbidden::{facts, forbids, is_of_single_reads};
use ::run::options::Options;
use ::run::promises::Promise;
use history::Index;
use verify::Stages;

use crate::args::{InputArguments, LimitArguments, ReadingArguments};
use crate::ask::{Decision, Question};
use crate::asked::Asked;
use crate::commands::check::rule;
use crate::exit::{Exit, Failure};
use crate::limits::Limits;
use crate::load::Subject;
use crate::progress::Progress;
use crate::report::{NotAsked, Report, Ruling};
use crate::{interrupt, levels, weak};

/// A history with the answers about it.
pub struct Checked {
    subject: Subject,
    rulings: Vec<Ruling>,
    not_asked: Vec<NotAsked>,
    /// The levels that the run is judged by; none if nothing is promised and nothing was asked for.
    pub judged: Vec<Judged>,
    /// How long reading and deciding took.
    pub time: std::time::Duration,
}

/// A level that the run is judged by.
pub struct Judged {
    /// Its name.
    pub level: String,
    /// The verdict; `None` if no engine decides the level, and nothing else does.
    pub decision: Option<Decision>,
}

impl Checked {
    /// The answers as `check` reports them.
    pub fn report(&self) -> Report<'_> {
        Report {
            subject: &self.subject,
            rulings: self.rulings.clone(),
            not_asked: self.not_asked.clone(),
            stats: None,
        }
    }

    /// The exit code: that of the levels that the run is judged by.
    pub fn exit(&self) -> Exit {
        if self.judged.is_empty() {
            return self.report().exit();
        }
        let any = |wanted: fn(&Judged) -> bool| self.judged.iter().any(wanted);
        if any(|judged| judged.decision == Some(Decision::Violated)) {
            Exit::Violated
        } else if any(|judged| judged.decision != Some(Decision::Holds)) {
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
) -> Result<Checked, Failure> {
    let started = Instant::now();
    let limits = Limits::start(limits.time_limit, limits.memory_limit)?;
    progress.set("reading the history");
    let reading = ReadingArguments { format: None, initial_transaction: false };
    let subject = Subject::read(&InputArguments { history: file.to_owned(), reading }, &limits)?;
    let index = Index::of(&subject.history);
    let question = Question {
        history: &subject.history,
        index: &index,
        limits: &limits,
        seed: options.shape.seed,
        stages: Stages::default(),
        clock_skew: 0,
        threads: 1,
    };
    let judged = judged_levels(options, promise);
    let choice = Asked::parse(&asked_levels(options, &judged, promise)?)?.choose(&subject)?;
    let answers = interrupt::while_deciding(|| question.ask(&choice.named, &|stage| progress.set(stage)))?;
    progress.set("explaining");
    let mut rulings: Vec<Ruling> = answers.into_iter().map(|answer| rule(&question, answer)).collect();
    for &level in &choice.weak {
        rulings.push(weak::decide(&question, level)?);
    }
    let judge = |level: String| Judged { decision: decision(&level, &rulings, &question), level };
    let judged = judged.into_iter().map(judge).collect();
    Ok(Checked { subject, rulings, not_asked: choice.not_asked, judged, time: started.elapsed() })
}

fn judged_levels(options: &Options, promise: Option<Promise>) -> Vec<String> {
    match promise {
        _ if !options.levels.is_empty() => options.levels.clone(),
        Some(promise) => vec![promise.level.to_owned()],
        None => Vec::new(),
    }
}

/// What to ask: what the user named; else the judged level with those above and below it; else everything.
fn asked_levels(
    options: &Options,
    judged: &[String],
    promise: Option<Promise>,
) -> Result<Vec<String>, Failure> {
    if !options.levels.is_empty() {
        return Ok(options.levels.clone());
    }
    let centre = judged.iter().map(String::as_str).chain(promise.and_then(|promise| promise.expected));
    let centre: Vec<&str> = centre.collect();
    let is_near = |name: &str| {
        centre.is_empty()
            || centre.iter().any(|level| levels::implies(level, name) || levels::implies(name, level))
    };
    let names = levels::with_engine().into_iter().map(|level| level.name()).filter(|name| is_near(name));
    Ok(names.map(str::to_owned).collect())
}

/// The verdict for a level, from its own answer or from what follows from the others.
fn decision(level: &str, rulings: &[Ruling], question: &Question<'_>) -> Option<Decision> {
    let name = levels::find(level).map_or(level, |known| known.name());
    if let Some(ruling) = rulings.iter().find(|ruling| ruling.answer.level == name) {
        return Some(ruling.answer.decision);
    }
    if facts(question.history, question.index).any(|finding| forbids(name, finding.kind)) {
        return Some(Decision::Violated);
    }
    let holds = |ruling: &Ruling| {
        ruling.answer.decision == Decision::Holds && levels::implies(&ruling.answer.level, name)
    };
    (is_of_single_reads(name) || rulings.iter().any(holds)).then_some(Decision::Holds)
}
