//! One history, some levels, all answers.

use std::time::Duration;

use certify::Fingerprint;
use history::{Clock, History, Index};
use levels::LevelId;
use verify::Stages;

use crate::answer::{Answer, AskedLevel, Decision};
use crate::asked::{Asked, NotAsked};
use crate::definition;
use crate::error::Error;
use crate::monitor::{Monitor, Unlimited};
use crate::question::Question;
use crate::skew::SkewReport;
use crate::weak;

/// A question about a history: which levels, and how.
pub struct Check<'h> {
    history: &'h History,
    index: Option<&'h Index>,
    monitor: Option<&'h dyn Monitor>,
    asked: Asked,
    seed: u64,
    stages: Stages,
    clock_skew: i64,
    threads: usize,
    certify: bool,
    skews: bool,
}

/// The answers to a [`Check`].
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order in which the levels were named, or strongest first.
    pub answers: Vec<Answer>,
    /// Levels that the history cannot be asked for.
    pub not_asked: Vec<NotAsked>,
}

impl<'h> Check<'h> {
    /// Asks for all levels that an engine decides.
    pub fn new(history: &'h History) -> Self {
        Self {
            history,
            index: None,
            monitor: None,
            asked: Asked::default(),
            seed: 0,
            stages: Stages::default(),
            clock_skew: 0,
            threads: 1,
            certify: true,
            skews: true,
        }
    }

    /// Asks for this level, and others that are named.
    pub fn level(mut self, level: LevelId) -> Self {
        self.asked.add(level);
        self
    }

    /// Asks for these levels.
    pub fn levels(self, asked: Asked) -> Self {
        Self { asked, ..self }
    }

    /// Uses an index of the history that is there already.
    pub fn index(self, index: &'h Index) -> Self {
        Self { index: Some(index), ..self }
    }

    /// Has the check watched, and stopped, by this.
    pub fn monitor(self, monitor: &'h dyn Monitor) -> Self {
        Self { monitor: Some(monitor), ..self }
    }

    /// Breaks ties in the search; equal seeds give equal runs.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Runs only these stages of the engine.
    pub fn stages(self, stages: Stages) -> Self {
        Self { stages, ..self }
    }

    /// How far apart the clocks of two clients may be; times that are positions in one recording have no skew.
    pub fn clock_skew(self, skew: Duration) -> Self {
        let in_clock = match self.history.clock() {
            Clock::Nanoseconds => {
                i64::try_from(skew.as_nanos()).unwrap_or(i64::MAX).min(certify::Level::LARGEST_CLOCK_SKEW)
            }
            Clock::Position => 0,
        };
        Self { clock_skew: in_clock, ..self }
    }

    /// How many levels are decided at the same time.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Whether the independent checker examines every certificate before its verdict is given. It does unless a
    /// benchmark switches it off.
    pub fn certify(self, certify: bool) -> Self {
        Self { certify, ..self }
    }

    /// Whether the answers say for which clock skews they would stay the same.
    pub fn skews(self, skews: bool) -> Self {
        Self { skews, ..self }
    }

    /// Decides.
    ///
    /// # Errors
    /// If a level needs times that the history does not have, or if the checker refuses a certificate of the engine.
    pub fn run(&self) -> Result<Report, Error> {
        let choice = self.asked.choose(self.history)?;
        let unlimited = Unlimited::default();
        let made;
        let index = match self.index {
            Some(index) => index,
            None => {
                made = Index::of(self.history);
                &made
            }
        };
        let question = self.question(index, self.monitor.unwrap_or(&unlimited));
        let mut answers = question.ask(&choice.engine)?;
        if self.skews {
            add_skews(&question, &mut answers)?;
        }
        for level in choice.weak {
            question.monitor.stage(&format!("checking {level}"));
            let answer = weak::decide(&question, level, &answers)?;
            answers.push(answer);
        }
        for level in &choice.own {
            question.monitor.stage(&format!("checking {}", level.name));
            answers.push(definition::decide(&question, level, AskedLevel::Own(level.name.clone()))?);
        }
        Ok(Report { answers, not_asked: choice.not_asked })
    }

    fn question<'q>(&self, index: &'q Index, monitor: &'q dyn Monitor) -> Question<'q>
    where
        'h: 'q,
    {
        Question {
            history: self.history,
            index,
            monitor,
            seed: self.seed,
            stages: self.stages,
            clock_skew: self.clock_skew,
            threads: self.threads,
            certify: self.certify,
        }
    }

    /// The fingerprint of the history, which a certificate file names.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.history)
    }
}

/// Finds out how the answers depend on the clocks, for those that no other answer makes uninteresting.
fn add_skews(question: &Question<'_>, answers: &mut [Answer]) -> Result<(), Error> {
    for place in 0..answers.len() {
        if is_weakest_violated(&answers[place], answers) {
            answers[place].skew = SkewReport::of(question, &answers[place])?;
        }
    }
    Ok(())
}

/// False if the violation of a weaker level implies this one.
fn is_weakest_violated(answer: &Answer, answers: &[Answer]) -> bool {
    let is_weaker_violated = |other: &Answer| {
        other.decision == Decision::Violated
            && other.level != answer.level
            && answer.level.implies(&other.level)
    };
    answer.decision != Decision::Violated || !answers.iter().any(is_weaker_violated)
}

impl Report {
    /// The answer for a level, if it was asked.
    pub fn answer(&self, level: LevelId) -> Option<&Answer> {
        self.answers.iter().find(|answer| answer.level.shipped() == Some(level))
    }

    /// Whether the level is proved to hold, by its own answer or by that of a stronger level.
    pub fn holds(&self, level: LevelId) -> bool {
        self.decision(level) == Some(Decision::Holds)
    }

    /// The verdict for a level: its own answer, or what follows from the answers for other levels.
    pub fn decision(&self, level: LevelId) -> Option<Decision> {
        let own = self.answer(level).map(|answer| answer.decision);
        if own.is_some_and(|decision| !decision.is_undecided()) {
            return own;
        }
        let shipped = |answer: &Answer| Some((answer.level.shipped()?, answer.decision));
        let follows = self.answers.iter().filter_map(shipped).find(|&(other, decision)| match decision {
            Decision::Holds => other.implies(level),
            Decision::Violated => level.implies(other),
            Decision::Undecided(_) => false,
        });
        follows.map(|(_, decision)| decision).or(own)
    }
}
