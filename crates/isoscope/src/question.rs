//! Asks the engine for levels, strongest first, and skips what follows from answers that are there already.
//!
//! A history that satisfies a level satisfies what the level implies, and one that violates a level violates what
//! implies it. Where validation found something that no strong level allows, the weakest levels are asked first: one
//! answer then settles almost all. A large history that tells the order of versions, and that the order of its recorded times
//! does not explain, is asked for read committed first: the levels with sessions are settled together if it is violated. A
//! level that stays undecided still gets the answer that follows from another.
//!
//! No verdict leaves this file before the independent checker accepted its certificate (`decide_level`).

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use certify::text::facts::Facts;
use certify::{Certificate, Flaw, Level};
use history::{History, Outcome};
use index::{FindingKind, Index};
use levels::LevelId;
use verify::{Options, Stages, Stats, Unsupported, Verdict};

use crate::answer::{Answer, Decision, Obstacle};
use crate::error::{Error, Refused};
use crate::explanation::Explanation;
use crate::lazy_index::LazyIndex;
use crate::limits;
use crate::monitor::Monitor;
use crate::obstacle;
use crate::turns::Turns;

/// From so many transactions on, levels are asked in the order that takes the least time.
const LARGE: usize = 1_000;

/// Everything that answers depend on.
pub(crate) struct Question<'h> {
    pub history: &'h History,
    /// Built when the first level needs it.
    pub index: &'h LazyIndex,
    pub monitor: &'h Turns<'h>,
    /// Breaks ties.
    pub seed: u64,
    /// Which stages of the engine run.
    pub stages: Stages,
    /// How far apart the clocks of two clients may be, in the unit of the history's clock.
    pub clock_skew: i64,
    /// Whether every certificate is checked before its verdict is given.
    pub certify: bool,
    /// Whether the user named the levels; otherwise all are asked, and none may delay the others for long.
    pub is_named: bool,
    /// What texts of levels speak of, once it was asked for.
    pub facts: OnceLock<Result<Facts, Flaw>>,
    /// Whether the order that the recorded times suggest was tried: with one event for each transaction, and with two.
    pub tried_as_recorded: [AtomicBool; 2],
}

impl Question<'_> {
    /// Answers for levels one after the other, whether they have an engine or not.
    pub(crate) fn ask_first(&self, levels: impl Iterator<Item = LevelId>) -> Result<Vec<Answer>, Error> {
        let mut answers: Vec<Answer> = Vec::new();
        for level in levels {
            let answer = match (consequence(level, answers.iter()), level.engine()) {
                (Some(answer), _) => answer,
                (None, engine) => {
                    self.monitor.stage(&format!("checking {level}"));
                    match engine {
                        Some(_) => self.decide(level, &[])?,
                        None => crate::text::decide(self, level.spec(), level.into(), &[])?,
                    }
                }
            };
            self.monitor.answered(&answer);
            answers.push(answer);
        }
        Ok(answers)
    }

    /// Answers for levels, in their order: those that have an engine, then those that are decided from their texts. `first`
    /// were answered before. Where time is limited, levels take turns.
    pub(crate) fn ask(
        &self,
        with_engine: &[LevelId],
        by_text: &[LevelId],
        first: &[Answer],
    ) -> Result<Vec<Answer>, Error> {
        let mut engine = Places::of(with_engine, first);
        let mut texts = Places::of(by_text, first);
        let mut is_asked_again = false;
        self.monitor.limit();
        self.ask_as_recorded(&mut engine, first);
        if self.is_suspect(&engine) {
            self.ask_weakest_with_sessions(&mut texts, &engine.known(first))?;
            engine.last_asked = texts.last_asked;
        }
        loop {
            self.ask_engine(&mut engine, &texts.known(first))?;
            if !is_asked_again && !engine.has_open(self.monitor) {
                self.ask_again(&mut engine)?;
                is_asked_again = true;
            }
            engine.settle(&texts.known(first));
            self.ask_texts(&mut texts, &engine.known(first))?;
            let of_engine = engine.reopen(self.monitor);
            let of_texts = self.reopen_texts(&mut texts);
            match of_engine + of_texts {
                0 => break,
                1 if self.is_named || of_texts == 0 => self.monitor.unlimit(),
                _ => self.monitor.double(),
            }
        }
        self.monitor.unlimit();
        Ok(engine.answers.into_iter().chain(texts.answers).flatten().collect())
    }

    /// Empties the places of texts whose turn was over, and counts them. Texts that were not named must not delay the answer:
    /// after a long turn they stay undecided.
    fn reopen_texts(&self, texts: &mut Places<'_>) -> usize {
        if self.is_named || !self.monitor.are_long() {
            return texts.reopen(self.monitor);
        }
        for answer in texts.answers.iter_mut().flatten().filter(|answer| self.monitor.is_open(answer)) {
            let decision = Decision::Undecided(Obstacle::Effort);
            *answer = self.explained(Answer::plain(answer.level.clone(), decision, answer.time));
            self.monitor.answered(answer);
        }
        0
    }

    /// Answers for levels that the order of the recorded times explains: the strongest level of each kind is asked, and most
    /// of the others follow.
    fn ask_as_recorded(&self, places: &mut Places<'_>, first: &[Answer]) {
        for place in 0..places.levels.len() {
            let level = places.levels[place];
            let follows = places.answers[place].is_some()
                || consequence(level, first.iter().chain(places.answers.iter().flatten())).is_some();
            let Some(engine) = level.engine().filter(|_| !follows) else { continue };
            self.monitor.stage(&format!("checking {level}"));
            let answer = self.decide_as_recorded(level, &engine.with_clock_skew(self.clock_skew));
            if let Some(answer) = answer {
                self.monitor.answered(&answer);
                places.last_asked = Some(answer.decision);
                places.answers[place] = Some(answer);
            }
        }
    }

    /// The answer for a level if the order that the recorded times suggest explains the history. The order is a guess, so
    /// the checker examines it in every case.
    fn decide_as_recorded(&self, id: LevelId, level: &Level) -> Option<Answer> {
        let tried = &self.tried_as_recorded[level.events_per_txn() as usize - 1];
        let may_try = self.stages.recorded && self.monitor.reached().is_none();
        if !may_try || tried.swap(true, Ordering::Relaxed) {
            return None;
        }
        let started = Instant::now();
        let mut stats = Stats::default();
        let checking = Cell::new(Duration::ZERO);
        let accepts = |order: &Certificate| {
            let checked = Instant::now();
            let is_right = certify::check_on(order::parallel::threads(), self.history, level, order).is_ok();
            checking.set(checking.get() + checked.elapsed());
            is_right
        };
        let limit = || self.monitor.reached();
        let order = verify::explain_as_recorded(self.history, level, &limit, &accepts)?;
        stats.stages.push(("recorded", started.elapsed() - checking.get()));
        stats.stages.push(("certify", checking.get()));
        let answer = Answer::plain(id.into(), Decision::Holds, started.elapsed());
        Some(Answer { certificate: Some((*level, order)), stats, ..answer })
    }

    /// Answers for levels that have an engine; `known` are answers for other levels.
    fn ask_engine(&self, places: &mut Places<'_>, known: &[&Answer]) -> Result<(), Error> {
        loop {
            let Some(place) = self.next_place(places, known) else { return Ok(()) };
            let level = places.levels[place];
            self.monitor.stage(&format!("checking {level}"));
            self.monitor.begin();
            let answer = self.decide(level, &hints(&places.answers))?;
            self.monitor.answered(&answer);
            places.last_asked = Some(answer.decision);
            places.answers[place] = Some(answer);
        }
    }

    /// Whether the history probably violates even weak levels: it is large, tells the order of versions, so that each level
    /// is decided without a search, and the order of its recorded times explains no level.
    fn is_suspect(&self, engine: &Places<'_>) -> bool {
        let is_large = self.history.txn_count() >= LARGE && self.history.has_times();
        let is_unexplained = engine.last_asked.is_none() && engine.empty().next().is_some();
        is_large
            && is_unexplained
            && self.stages.recorded
            && !self.index().version_order().is_empty()
            && !self.has_finding()
    }

    /// Answers for read committed, if it is asked: nearly every level that respects sessions implies it, and a violation
    /// settles them all.
    fn ask_weakest_with_sessions(&self, texts: &mut Places<'_>, known: &[&Answer]) -> Result<(), Error> {
        let place = texts.empty().find(|&place| texts.levels[place] == LevelId::ReadCommitted);
        place.map_or(Ok(()), |place| self.ask_text(texts, place, known))
    }

    /// Answers for levels that are decided from their texts; `known` are answers for other levels.
    ///
    /// What follows from an answer that is there already is not asked. Causal comes first: whichever way it is answered,
    /// that settles most of the others.
    fn ask_texts(&self, texts: &mut Places<'_>, known: &[&Answer]) -> Result<(), Error> {
        texts.last_asked = None;
        let is_causal = |texts: &Places<'_>, place: &usize| texts.levels[*place] == LevelId::Causal;
        loop {
            let causal = texts.empty().find(|place| is_causal(texts, place));
            let next = causal.or_else(|| self.toward_the_boundary(texts, texts.last_asked));
            let Some(place) = next else { break };
            self.ask_text(texts, place, known)?;
        }
        texts.settle(known);
        Ok(())
    }

    /// Answers for the level at one place, from its text; `known` are answers for other levels.
    fn ask_text(&self, texts: &mut Places<'_>, place: usize, known: &[&Answer]) -> Result<(), Error> {
        let level = texts.levels[place];
        let there: Vec<&Answer> = known.iter().copied().chain(texts.answers.iter().flatten()).collect();
        let answer = match consequence(level, there.iter().copied()) {
            Some(answer) => answer,
            None => {
                self.monitor.stage(&format!("checking {level}"));
                self.monitor.begin();
                crate::text::decide(self, level.spec(), level.into(), &there)?
            }
        };
        self.monitor.answered(&answer);
        texts.last_asked = Some(answer.decision);
        texts.answers[place] = Some(answer);
        Ok(())
    }

    /// Fills in what follows from the answers, and picks the level to ask next.
    fn next_place(&self, places: &mut Places<'_>, known: &[&Answer]) -> Option<usize> {
        for place in 0..places.levels.len() {
            if places.answers[place].is_none() {
                let there = known.iter().copied().chain(places.answers.iter().flatten());
                places.answers[place] = consequence(places.levels[place], there);
            }
        }
        places.empty().next()?;
        match self.has_finding() {
            true => places.empty().next_back(),
            false => self.toward_the_boundary(places, places.last_asked),
        }
    }

    /// The level to ask next: the strongest one. Where a large history tells the order of versions, the weakest one after a
    /// violation, which settles the most: there each level is decided without a search, and no level takes long. Small
    /// histories have an argument of its own for each level.
    fn toward_the_boundary(&self, places: &Places<'_>, last: Option<Decision>) -> Option<usize> {
        let may_be_told = last == Some(Decision::Violated) && self.history.txn_count() >= LARGE;
        if !may_be_told || self.index().version_order().is_empty() {
            return places.empty().next();
        }
        // Without findings every read returned what was written, so read uncommitted holds, and it follows from any other
        // level that does.
        let is_open = |place: &usize| places.levels[*place] != LevelId::ReadUncommitted || self.has_finding();
        places.empty().rfind(is_open).or_else(|| places.empty().next())
    }

    /// Asks levels again that were undecided for want of an engine, now that other levels have orders to try: so the
    /// answers do not depend on which levels were asked at the same time.
    fn ask_again(&self, places: &mut Places<'_>) -> Result<(), Error> {
        let answers = &mut places.answers;
        for place in 0..answers.len() {
            let Some(answer) = &answers[place] else { continue };
            let (Decision::Undecided(Obstacle::Operation(_)), Some(level)) =
                (answer.decision, answer.level.shipped())
            else {
                continue;
            };
            let hints = hints(answers);
            if !hints.is_empty() {
                self.monitor.begin();
                answers[place] = Some(self.decide(level, &hints)?);
            }
        }
        Ok(())
    }

    /// Whether validation found something in a committed transaction; this only chooses which level is asked first.
    fn has_finding(&self) -> bool {
        let is_committed = |finding: &index::Finding| self.history.outcome(finding.txn) == Outcome::Committed;
        self.index().findings().iter().any(is_committed)
    }

    /// The answer for a level that has an engine; orders that explain the history at other levels are tried first.
    pub(crate) fn decide(&self, level: LevelId, hints: &[Hint<'_>]) -> Result<Answer, Error> {
        let answer = self.decide_by_engine(level, hints)?;
        // The text of a level speaks of lists where its engine does not.
        let decided = match answer.decision {
            Decision::Undecided(Obstacle::Operation(_)) => crate::text::decide_instead(self, level)?,
            _ => None,
        };
        Ok(decided.unwrap_or(answer))
    }

    /// The answer of the engine alone: the text of the level is not asked where the engine does not decide an operation.
    pub(crate) fn decide_by_engine(&self, level: LevelId, hints: &[Hint<'_>]) -> Result<Answer, Error> {
        let engine =
            level.engine().ok_or_else(|| Error::Failed(format!("deciding {level}, which has no engine")))?;
        self.decide_level(level, &engine.with_clock_skew(self.clock_skew), hints)
    }

    /// The answer for a level of any skew. The checker has accepted its certificate.
    pub(crate) fn decide_level(
        &self,
        id: LevelId,
        level: &Level,
        hints: &[Hint<'_>],
    ) -> Result<Answer, Error> {
        if let Some(answer) = self.decide_as_recorded(id, level) {
            return Ok(answer);
        }
        let started = Instant::now();
        let (decision, certificate, mut stats) = self.verify(level, hints);
        if let Some(certificate) = certificate.as_ref().filter(|_| self.certify) {
            let checked = Instant::now();
            self.check(level, certificate)?;
            stats.stages.push(("certify", checked.elapsed()));
        }
        Ok(self.explained(Answer {
            certificate: certificate.map(|certificate| (*level, certificate)),
            stats,
            ..Answer::plain(id.into(), decision, started.elapsed())
        }))
    }

    /// The index of the history, which is built at the first call.
    pub(crate) fn index(&self) -> &Index {
        self.index.of(self.history)
    }

    /// What texts of levels speak of, or why they do not speak of this history.
    pub(crate) fn facts(&self) -> Result<&Facts, &Flaw> {
        let facts = || {
            let mut facts = Facts::of(self.history)?;
            facts.set_clock_skew(self.clock_skew);
            Ok(facts)
        };
        self.facts.get_or_init(facts).as_ref()
    }

    fn verify(&self, level: &Level, hints: &[Hint<'_>]) -> (Decision, Option<Certificate>, Stats) {
        let undecided = |limit| Decision::Undecided(Obstacle::Limit(limit));
        if let Some(limit) = self.monitor.reached() {
            return (undecided(limit), None, Stats::default());
        }
        let options = Options {
            seed: self.seed,
            stages: self.stages,
            clock: &|| self.monitor.elapsed(),
            limit: &|| self.monitor.reached(),
            hints,
            memory_bytes: self.memory_bytes(),
        };
        match verify::verify(self.history, self.index(), level, &options) {
            Ok(answer) => match answer.verdict {
                Verdict::Holds(certificate) => (Decision::Holds, Some(certificate), answer.stats),
                Verdict::Violated(certificate) => (Decision::Violated, Some(certificate), answer.stats),
                Verdict::Undecided(limit) => (undecided(limit), None, answer.stats),
            },
            Err(Unsupported { op }) => (Decision::Undecided(Obstacle::Operation(op)), None, Stats::default()),
        }
    }

    /// What the engine may take beside the history and its index: what the limit leaves, or its own default.
    fn memory_bytes(&self) -> usize {
        match self.monitor.memory_bytes() {
            Some(limit) => {
                let left = limit.saturating_sub(limits::resident_bytes().unwrap_or(0));
                usize::try_from(left).unwrap_or(usize::MAX)
            }
            None => Options::default().memory_bytes,
        }
    }

    /// Has a certificate checked by the crate that shares no code with the engine.
    pub(crate) fn check(&self, level: &Level, certificate: &Certificate) -> Result<(), Error> {
        let refuse = |flaw| {
            Error::Refused(Box::new(Refused { level: *level, certificate: certificate.clone(), flaw }))
        };
        certify::check(self.history, level, certificate).map_err(refuse)
    }

    /// A violation of a level without an engine, shown by one read or one transaction alone: the order of transactions
    /// plays no part in the argument, so it is one for every level that forbids the finding.
    pub(crate) fn find_forbidden(
        &self,
        forbids: impl Fn(FindingKind) -> bool,
    ) -> Result<Option<(Level, Certificate)>, Error> {
        let level = Level::SERIALIZABLE;
        let found = verify::prove_finding(self.history, self.index(), &level, &forbids);
        let Some(certificate) = found.filter(Certificate::ignores_order) else { return Ok(None) };
        self.check(&level, &certificate)?;
        Ok(Some((level, certificate)))
    }

    /// An answer with its sentences: why it is violated or undecided.
    pub(crate) fn explained(&self, mut answer: Answer) -> Answer {
        if answer.explanation.is_none() {
            answer.explanation = Explanation::of(self.history, || self.index(), &answer);
        }
        if let Decision::Undecided(found) = answer.decision {
            answer.obstacle = Some(obstacle::sentence(self, found));
        }
        answer
    }
}

/// Levels, and a place for the answer of each.
struct Places<'l> {
    levels: &'l [LevelId],
    answers: Vec<Option<Answer>>,
    /// The decision about the level that was asked last.
    last_asked: Option<Decision>,
}

impl<'l> Places<'l> {
    /// Places that are filled where the level was answered first.
    fn of(levels: &'l [LevelId], first: &[Answer]) -> Self {
        let of =
            |level: &LevelId| first.iter().find(|answer| answer.level.shipped() == Some(*level)).cloned();
        Self { levels, answers: levels.iter().map(of).collect(), last_asked: None }
    }

    /// The places without an answer.
    fn empty(&self) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.levels.len()).filter(|&place| self.answers[place].is_none())
    }

    /// The answers, after others.
    fn known<'a>(&'a self, first: &'a [Answer]) -> Vec<&'a Answer> {
        first.iter().chain(self.answers.iter().flatten()).collect()
    }

    /// Whether a level is undecided only because its turn was over.
    fn has_open(&self, turns: &Turns<'_>) -> bool {
        self.answers.iter().flatten().any(|answer| turns.is_open(answer))
    }

    /// Empties the places of levels whose turn was over, and counts them.
    fn reopen(&mut self, turns: &Turns<'_>) -> usize {
        let reopened =
            self.answers.iter_mut().filter_map(|answer| answer.take_if(|answer| turns.is_open(answer)));
        reopened.count()
    }

    /// Levels that were asked at the same time may answer for one another afterwards; `known` are answers for others.
    fn settle(&mut self, known: &[&Answer]) {
        for place in 0..self.answers.len() {
            let undecided = self.answers[place].as_ref().is_some_and(|answer| answer.decision.is_undecided());
            if !undecided {
                continue;
            }
            let there = known.iter().copied().chain(self.answers.iter().flatten());
            if let Some(answer) = consequence(self.levels[place], there) {
                self.answers[place] = Some(answer);
            }
        }
    }
}

/// A level with an argument for the history.
pub(crate) type Hint<'a> = (Level, &'a Certificate);

/// The orders that explain the history at levels that were asked.
fn hints(answers: &[Option<Answer>]) -> Vec<Hint<'_>> {
    let holding = answers.iter().flatten().filter(|answer| answer.decision == Decision::Holds);
    holding.filter_map(|answer| answer.certificate.as_ref().map(|(level, order)| (*level, order))).collect()
}

/// The answer that follows for a level from the answers there are, if one does.
pub(crate) fn consequence<'a>(level: LevelId, answers: impl Iterator<Item = &'a Answer>) -> Option<Answer> {
    let own = answers.filter(|answer| answer.follows_from.is_none());
    let mut own = own.filter_map(|answer| Some((answer.level.shipped()?, answer.decision)));
    own.find_map(|(source, decision)| {
        let follows = match decision {
            Decision::Holds => source.implies(level),
            Decision::Violated => level.implies(source),
            Decision::Undecided(_) => false,
        };
        follows.then(|| Answer {
            follows_from: Some(source),
            ..Answer::plain(level.into(), decision, Duration::ZERO)
        })
    })
}
