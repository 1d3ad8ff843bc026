//! Asks the engine for levels, strongest first, and skips what follows from answers already there.
//!
//! A history that satisfies a level satisfies what the level implies, and one that violates a level violates what
//! implies it. Where validation already found something that no level allows, the weakest are asked first: one answer
//! then settles almost all.

use std::time::{Duration, Instant};

use certify::{Certificate, Level};
use history::{History, Index, Op, OpId, Predicate, PredicateRead, PredicateWrite};
use run::forbidden::facts;
use spec::ConvertError;
use verify::{Limit, Options, Stages, Stats, Unsupported, Verdict};

use crate::exit::Failure;
use crate::levels::{self, NamedLevel};
use crate::limits::Limits;

/// Everything that answers depend on.
#[derive(Debug)]
pub struct Question<'h> {
    /// What was observed.
    pub history: &'h History,
    /// What is derived from it.
    pub index: &'h Index,
    /// When to stop.
    pub limits: &'h Limits,
    /// Breaks ties.
    pub seed: u64,
    /// Which stages of the engine run.
    pub stages: Stages,
    /// How far apart the clocks of two clients may be, in the unit of the history's clock.
    pub clock_skew: i64,
    /// How many levels are decided at the same time.
    pub threads: usize,
}

/// The answer for one level.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The name of the level.
    pub level: String,
    /// The verdict.
    pub decision: Decision,
    /// How long it took.
    pub time: Duration,
    /// The level from whose answer this one follows, if it was not asked itself.
    pub follows_from: Option<&'static str>,
    /// The argument, with the level as the engine understood it.
    pub certificate: Option<(Level, Certificate)>,
    /// Times and counts of the engine's stages.
    pub stats: Stats,
}

/// A verdict without its argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// The level holds.
    Holds,
    /// The level is violated.
    Violated,
    /// Something stood in the way.
    Undecided(Obstacle),
}

/// Why a level is undecided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// This limit was reached.
    Limit(Limit),
    /// No engine decides this operation at this level.
    Operation(OpId),
    /// The level has no engine, and its definition cannot be tried on the history.
    Definition(ConvertError),
}

impl Decision {
    /// The word for it, in text and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Violated => "violated",
            Self::Undecided(_) => "undecided",
        }
    }
}

impl Question<'_> {
    /// Answers for these levels, in their order.
    pub fn ask(&self, asked: &[NamedLevel], progress: &dyn Fn(&str)) -> Result<Vec<Answer>, Failure> {
        let mut answers: Vec<Option<Answer>> = vec![None; asked.len()];
        loop {
            let batch = self.next_batch(asked, &mut answers);
            if batch.is_empty() {
                return Ok(answers.into_iter().flatten().collect());
            }
            let names: Vec<_> = batch.iter().map(|&place| asked[place].name()).collect();
            progress(&format!("checking {}", names.join(", ")));
            for (place, answer) in batch.iter().zip(self.decide_all(asked, &batch)) {
                answers[*place] = Some(answer?);
            }
        }
    }

    /// Fills in what follows from the answers, and picks the levels to ask next.
    fn next_batch(&self, asked: &[NamedLevel], answers: &mut [Option<Answer>]) -> Vec<usize> {
        for place in 0..asked.len() {
            if answers[place].is_none() {
                answers[place] = consequence(asked[place].name(), answers);
            }
        }
        let open = (0..asked.len()).filter(|&place| answers[place].is_none());
        let open: Vec<usize> = match self.has_committed_finding() {
            true => open.rev().collect(),
            false => open.collect(),
        };
        open.into_iter().take(self.threads.max(1)).collect()
    }

    fn has_committed_finding(&self) -> bool {
        facts(self.history, self.index).next().is_some()
    }

    fn decide_all(&self, asked: &[NamedLevel], batch: &[usize]) -> Vec<Result<Answer, Failure>> {
        if let [place] = *batch {
            return vec![self.decide(asked[place])];
        }
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                batch.iter().map(|&place| scope.spawn(move || self.decide(asked[place]))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err(Failure::new("the engine failed"))))
                .collect()
        })
    }

    /// The answer for a level that has an engine.
    pub fn decide(&self, level: NamedLevel) -> Result<Answer, Failure> {
        let engine = level.engine.ok_or_else(|| Failure::new(format!("{} has no engine", level.name())))?;
        Ok(self.decide_level(level.name(), &engine.with_clock_skew(self.clock_skew)))
    }

    /// The answer for a level of any skew.
    pub fn decide_level(&self, name: &str, level: &Level) -> Answer {
        let started = Instant::now();
        let (decision, certificate, stats) = self.verify(level);
        Answer {
            certificate: certificate.map(|certificate| (*level, certificate)),
            stats,
            ..Answer::plain(name, decision, started.elapsed())
        }
    }

    fn verify(&self, level: &Level) -> (Decision, Option<Certificate>, Stats) {
        let undecided = |limit| Decision::Undecided(Obstacle::Limit(limit));
        if let Some(limit) = self.limits.reached() {
            return (undecided(limit), None, Stats::default());
        }
        let options = Options {
            seed: self.seed,
            stages: self.stages,
            clock: &|| self.limits.elapsed(),
            limit: &|| self.limits.reached(),
            ..Options::default()
        };
        match verify::verify(self.history, self.index, level, &options) {
            Ok(answer) => match answer.verdict {
                Verdict::Holds(certificate) => (Decision::Holds, Some(certificate), answer.stats),
                Verdict::Violated(certificate) => (Decision::Violated, Some(certificate), answer.stats),
                Verdict::Undecided(limit) => (undecided(limit), None, answer.stats),
            },
            // Validation alone answers: what it found is forbidden at every level.
            Err(_) if self.has_committed_finding() => (Decision::Violated, None, Stats::default()),
            Err(Unsupported { op }) => (Decision::Undecided(Obstacle::Operation(op)), None, Stats::default()),
        }
    }

    /// Why a level is undecided, as a sentence.
    pub fn sentence(&self, obstacle: Obstacle) -> String {
        match obstacle {
            Obstacle::Limit(limit) => self.limits.sentence(limit),
            Obstacle::Operation(op) => format!("{} {}", txn_of(self.history, op), self.unsupported(op)),
            Obstacle::Definition(ConvertError::UnsupportedOp(op)) => format!(
                "there is no engine for it, and its definition does not speak of lists, ranges, \
                 predicates and versions, as in {}",
                txn_of(self.history, op)
            ),
            Obstacle::Definition(error) => format!("there is no engine for it, and {error}"),
        }
    }

    /// What keeps an operation from being decided, to read on after the name of its transaction.
    fn unsupported(&self, op: OpId) -> String {
        match self.history.op(op) {
            Op::Append { .. } | Op::ReadList { .. } if self.index.unindexed() == Some(op) => {
                "has a list of a kind that is not decided yet: an element that is appended twice, a list that does \
                 not start empty or is also written as a whole, or lists together with predicates"
                    .to_owned()
            }
            Op::Append { .. } | Op::ReadList { .. } => {
                "has a list, and lists are not decided under prefix consistency".to_owned()
            }
            Op::PredicateRead(PredicateRead { predicate, .. })
            | Op::PredicateWrite(PredicateWrite { predicate, .. }) => match Predicate::parse(predicate) {
                Err(error) => format!("has a predicate without a meaning: {error}"),
                Ok(_) => "has a predicate, which is not decided where initial values are unknown or rows can have \
                          thousands of contents"
                    .into(),
            },
            _ if self.history.op_version(op).is_some() => {
                "tells a version of its key, and not all writes of the key do, or two tell the same one".into()
            }
            _ => "saw what may be the initial value of a key, and so did another transaction of unknown outcome, \
                  with another value"
                .into(),
        }
    }
}

impl Answer {
    /// A verdict without its argument.
    pub fn plain(level: &str, decision: Decision, time: Duration) -> Self {
        Self {
            level: level.to_owned(),
            decision,
            time,
            follows_from: None,
            certificate: None,
            stats: Stats::default(),
        }
    }
}

/// The answer that follows for a level from the answers there are, if one does.
fn consequence(name: &str, answers: &[Option<Answer>]) -> Option<Answer> {
    answers.iter().flatten().filter(|answer| answer.follows_from.is_none()).find_map(|answer| {
        let follows = match answer.decision {
            Decision::Holds => levels::implies(&answer.level, name),
            Decision::Violated => levels::implies(name, &answer.level),
            Decision::Undecided(_) => false,
        };
        let source = levels::find(&answer.level).ok()?.name();
        follows.then(|| Answer {
            follows_from: Some(source),
            ..Answer::plain(name, answer.decision, Duration::ZERO)
        })
    })
}

/// The name of an operation's transaction, safe to print.
fn txn_of(history: &History, op: OpId) -> String {
    crate::terminal::visible(&history.txn_label(history.txn_of(op)))
}
