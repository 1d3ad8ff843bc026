//! One history, some levels, all answers.

use std::sync::OnceLock;
use std::time::Duration;

use certify::Fingerprint;
use history::{Clock, History};
use levels::LevelId;
use order::parallel::with_threads;
use verify::{Limit, Stages};

use crate::answer::{Answer, AskedLevel, Decision, Obstacle};
use crate::asked::{Asked, NotAsked};
use crate::error::Error;
use crate::lazy_index::LazyIndex;
use crate::monitor::{Monitor, Unlimited};
use crate::question::{Question, consequence};
use crate::skew::SkewReport;
use crate::text;
use crate::turns::Turns;
use crate::witness::Witness;

/// A question about a history: which levels, and how.
pub struct Check<'h> {
    history: &'h History,
    index: Option<&'h LazyIndex>,
    monitor: Option<&'h dyn Monitor>,
    asked: Asked,
    seed: u64,
    stages: Stages,
    clock_skew: i64,
    threads: usize,
    certify: bool,
    skews: bool,
    first: Vec<LevelId>,
    is_own_first: bool,
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
    /// Asks for all levels that the history can be asked for.
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
            first: Vec::new(),
            is_own_first: false,
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

    /// Uses this place for the index of the history, so that others can use the index too.
    pub fn index(self, index: &'h LazyIndex) -> Self {
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

    /// How many threads work on one level. The answer does not depend on it.
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

    /// Decides these levels before all others, in this order, as far as they are among those that are asked, so that a
    /// monitor may give the others less time.
    pub fn first(self, levels: impl IntoIterator<Item = LevelId>) -> Self {
        Self { first: levels.into_iter().collect(), ..self }
    }

    /// Decides levels that are given by their text right after those of [`Check::first`], and not after all others.
    pub fn own_first(self, is_own_first: bool) -> Self {
        Self { is_own_first, ..self }
    }

    /// Decides.
    ///
    /// # Errors
    /// If a level needs times that the history does not have, or if the checker refuses a certificate of the engine.
    pub fn run(&self) -> Result<Report, Error> {
        with_threads(self.threads, || self.decide())
    }

    fn decide(&self) -> Result<Report, Error> {
        let choice = self.asked.choose(self.history)?;
        let unlimited = Unlimited::default();
        let own = LazyIndex::default();
        let index = self.index.unwrap_or(&own);
        let turns = Turns::new(self.monitor.unwrap_or(&unlimited));
        let question = self.question(index, &turns);
        let is_asked = |level: &LevelId| choice.engine.contains(level) || choice.weak.contains(level);
        let first = question.ask_first(self.first.iter().copied().filter(is_asked))?;
        let own_first = match self.is_own_first {
            true => decide_own(&question, &choice.own, &first)?,
            false => Vec::new(),
        };
        let mut answers = question.ask(&choice.engine, &choice.weak, &first)?;
        if self.skews {
            add_skews(&question, &mut answers)?;
        }
        match own_first.iter().any(|answer| answer.decision.is_undecided()) || !self.is_own_first {
            // The answers for the other levels may help.
            true => answers.extend(decide_own(&question, &choice.own, &answers)?),
            false => answers.extend(own_first),
        }
        Ok(Report { answers, not_asked: choice.not_asked })
    }

    /// The report of a check that a limit ended from outside: the answers that [`Monitor::answered`] heard of, what
    /// follows from them, and undecided for every other level.
    ///
    /// # Errors
    /// If a level needs times that the history does not have.
    pub fn unfinished(&self, known: Vec<Answer>, limit: Limit) -> Result<Report, Error> {
        let choice = self.asked.choose(self.history)?;
        let shipped = choice.engine.iter().chain(&choice.weak).copied().map(AskedLevel::Shipped);
        let own = choice.own.iter().map(|level| AskedLevel::Own(level.name.clone()));
        let known: Vec<Option<Answer>> = known.into_iter().map(Some).collect();
        let undecided = |level: AskedLevel| {
            let decision = Decision::Undecided(Obstacle::Limit(limit));
            let obstacle = self.monitor.map(|monitor| monitor.sentence(limit));
            Answer { obstacle, ..Answer::plain(level, decision, Duration::ZERO) }
        };
        let answer = |level: AskedLevel| {
            let heard = known.iter().flatten().find(|answer| answer.level == level).cloned();
            let follows = || consequence(level.shipped()?, known.iter().flatten());
            heard.or_else(follows).unwrap_or_else(|| undecided(level))
        };
        Ok(Report { answers: shipped.chain(own).map(answer).collect(), not_asked: choice.not_asked })
    }

    fn question<'q>(&self, index: &'q LazyIndex, monitor: &'q Turns<'q>) -> Question<'q>
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
            certify: self.certify,
            is_named: !self.asked.is_all(),
            facts: OnceLock::new(),
            tried_as_recorded: Default::default(),
        }
    }

    /// The part of the history that shows a violation, as small as possible; `None` for an answer that is none, or
    /// where no part violates the level.
    ///
    /// # Errors
    /// As for [`Check::run`].
    pub fn witness(&self, answer: &Answer) -> Result<Option<Witness>, Error> {
        if answer.decision != Decision::Violated {
            return Ok(None);
        }
        let unlimited = Unlimited::default();
        let monitor = self.monitor.unwrap_or(&unlimited);
        monitor.stage(&format!("shrinking the violation of {}", answer.level));
        let asked = self.asked.only(&answer.level);
        let ask = |part: &History| match self.about(part, asked.clone(), monitor).run() {
            Ok(report) => Ok(report.answers.into_iter().next()),
            // A part without times shows nothing about real time.
            Err(Error::NeedsTimes { .. }) => Ok(None),
            Err(error) => Err(error),
        };
        let mut witness = Witness::of(self.history, answer, &ask, &|| monitor.reached().is_some())?;
        if let Some(unnamed) = witness.as_mut().filter(|witness| witness.anomaly.is_none()) {
            // A level that is given by its text proves that there is a contradiction, without a name for it. What
            // violates it is not serializable in its sessions either, and the cycle that shows that has a name.
            let asked = [LevelId::SessionSerializable].into_iter().collect();
            let report = self.about(&unnamed.history, asked, monitor).run()?;
            let named = report.answers.into_iter().find_map(|answer| answer.certificate);
            if let Some((level, certificate)) = named {
                unnamed.name_by(&level, &certificate);
            }
        }
        Ok(witness)
    }

    /// What shows the violations of a report: a witness for each violated level that implies no other violated one,
    /// once where several are violated for the same reason.
    ///
    /// # Errors
    /// As for [`Check::run`].
    pub fn witnesses(&self, answers: &[Answer]) -> Result<Vec<Witness>, Error> {
        let mut told: Vec<&Answer> = Vec::new();
        let mut witnesses = Vec::new();
        for answer in answers.iter().filter(|answer| answer.decision == Decision::Violated) {
            if !is_weakest_violated(answer, answers) || self.is_shown(answer, &mut witnesses)? {
                continue;
            }
            let is_told = told.iter().any(|known| known.explanation == answer.explanation);
            if !is_told {
                told.push(answer);
                witnesses.extend(self.witness(answer)?);
            }
        }
        Ok(witnesses)
    }

    /// Whether a witness for another level is one for this level too; then it names both.
    fn is_shown(&self, answer: &Answer, witnesses: &mut [Witness]) -> Result<bool, Error> {
        for witness in witnesses {
            if self.violates_all(witness, &answer.level)? {
                witness.also.push(answer.level.clone());
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a witness violates a level, and without any one of its transactions does not.
    fn violates_all(&self, witness: &Witness, level: &AskedLevel) -> Result<bool, Error> {
        let violates = |history: &History| match self.violates(history, level) {
            Err(Error::NeedsTimes { .. }) => Ok(false),
            decided => decided,
        };
        if !violates(&witness.history)? {
            return Ok(false);
        }
        for txn in witness.history.txns() {
            if let Some(rest) = witness.without(txn)
                && violates(&rest)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether another history violates one of the levels of this question.
    ///
    /// # Errors
    /// As for [`Check::run`].
    pub fn violates(&self, history: &History, level: &AskedLevel) -> Result<bool, Error> {
        let unlimited = Unlimited::default();
        let report = self.about(history, self.asked.only(level), &unlimited).run()?;
        Ok(report.answers.iter().any(|answer| answer.decision == Decision::Violated))
    }

    /// The same question about another history and fewer levels.
    fn about<'p>(&self, history: &'p History, asked: Asked, monitor: &'p dyn Monitor) -> Check<'p> {
        Check {
            history,
            index: None,
            monitor: Some(monitor),
            asked,
            seed: self.seed,
            stages: self.stages,
            clock_skew: self.clock_skew,
            threads: 1,
            certify: self.certify,
            skews: false,
            first: Vec::new(),
            is_own_first: false,
        }
    }

    /// The fingerprint of the history, which a certificate file names.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.history)
    }
}

/// Answers for levels that are given by their text; `known` are answers for other levels.
fn decide_own(
    question: &Question<'_>,
    levels: &[spec::Level],
    known: &[Answer],
) -> Result<Vec<Answer>, Error> {
    let mut answers = Vec::new();
    for level in levels {
        question.monitor.stage(&format!("checking {}", level.name));
        let there: Vec<&Answer> = known.iter().chain(&answers).collect();
        let name = AskedLevel::Own(level.name.clone());
        let answer = match text::consequence(level, &name, &there) {
            Some(answer) => answer,
            None => text::decide(question, level, name, &there)?,
        };
        question.monitor.answered(&answer);
        answers.push(answer);
    }
    Ok(answers)
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::limits::Limits;

    /// Hears of answers, as the command does that ends a check from outside.
    struct Hearing(Limits, Mutex<Vec<Answer>>);

    impl Monitor for Hearing {
        fn elapsed(&self) -> Duration {
            self.0.elapsed()
        }

        fn reached(&self) -> Option<Limit> {
            None
        }

        fn answered(&self, answer: &Answer) {
            self.1.lock().unwrap().push(answer.clone());
        }
    }

    #[test]
    fn a_check_that_was_ended_reports_what_was_heard_and_what_follows() {
        let history = crate::parse("a: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1\n").unwrap();
        let hearing = Hearing(Limits::start(None, None).unwrap(), Mutex::new(Vec::new()));
        let check = Check::new(&history).level(LevelId::Serializable).monitor(&hearing);
        check.run().unwrap();
        let heard = hearing.1.lock().unwrap().clone();
        assert_eq!(heard.len(), 1);
        let all = Check::new(&history).monitor(&hearing);
        let report = all.unfinished(heard, Limit::Time).unwrap();
        let decision = |level| report.answer(level).unwrap().decision;
        assert_eq!(decision(LevelId::Serializable), Decision::Violated);
        let follows = report.answer(LevelId::SessionSerializable).unwrap();
        assert_eq!(
            (follows.decision, follows.follows_from),
            (Decision::Violated, Some(LevelId::Serializable))
        );
        let open = report.answer(LevelId::SnapshotIsolation).unwrap();
        assert_eq!(open.decision, Decision::Undecided(Obstacle::Limit(Limit::Time)));
        assert_eq!(open.obstacle.as_deref(), Some("the time limit was reached"));
    }
}
