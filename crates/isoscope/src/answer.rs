//! The answer for one level.

use std::fmt;
use std::time::Duration;

use certify::text::TextCertificate;
use certify::{Certificate, Level};
use history::OpId;
use levels::LevelId;
use spec::ConvertError;
use verify::{Limit, Stats};

use crate::explanation::Explanation;
use crate::skew::SkewReport;

/// A level that was asked for: one that isoscope ships, or one that the user's text defines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AskedLevel {
    /// A shipped level.
    Shipped(LevelId),
    /// A level of the user's own, by its name.
    Own(String),
}

impl AskedLevel {
    /// The name.
    pub fn name(&self) -> &str {
        match self {
            Self::Shipped(level) => level.name(),
            Self::Own(name) => name,
        }
    }

    /// The shipped level, if it is one.
    pub fn shipped(&self) -> Option<LevelId> {
        match *self {
            Self::Shipped(level) => Some(level),
            Self::Own(_) => None,
        }
    }

    /// Whether both are shipped levels and the first implies the second; a level implies itself.
    pub fn implies(&self, weaker: &Self) -> bool {
        match (self, weaker) {
            (Self::Shipped(stronger), Self::Shipped(weaker)) => stronger.implies(*weaker),
            _ => self == weaker,
        }
    }
}

impl From<LevelId> for AskedLevel {
    fn from(level: LevelId) -> Self {
        Self::Shipped(level)
    }
}

impl fmt::Display for AskedLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The answer for one level.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The level.
    pub level: AskedLevel,
    /// The verdict.
    pub decision: Decision,
    /// Why the level is violated.
    pub explanation: Option<Explanation>,
    /// Why the level is undecided, as a sentence.
    pub obstacle: Option<String>,
    /// How the verdict depends on the clocks.
    pub skew: Option<SkewReport>,
    /// The level from whose answer this one follows, if it was not decided by itself.
    pub follows_from: Option<LevelId>,
    /// The argument, with the level that it is about; the independent checker accepted it.
    pub certificate: Option<(Level, Certificate)>,
    /// The argument for a level that is decided from its text; the checker evaluated the text on it.
    pub text_certificate: Option<TextCertificate>,
    /// How a level that is given by its text was decided, as the rest of a sentence.
    pub method: Option<&'static str>,
    /// How long it took.
    pub time: Duration,
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
    /// Neither was proved.
    Undecided(Obstacle),
}

/// Why a level is undecided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// This limit was reached.
    Limit(Limit),
    /// No engine decides this operation at this level.
    Operation(OpId),
    /// The level was not named, and a short search found neither an order nor a contradiction.
    Effort,
    /// The level has no engine, and its text cannot be tried on the history.
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

    /// Whether it is neither `holds` nor `violated`.
    pub fn is_undecided(self) -> bool {
        matches!(self, Self::Undecided(_))
    }
}

impl Answer {
    /// A verdict without its argument.
    pub(crate) fn plain(level: AskedLevel, decision: Decision, time: Duration) -> Self {
        Self {
            level,
            decision,
            explanation: None,
            obstacle: None,
            skew: None,
            follows_from: None,
            certificate: None,
            text_certificate: None,
            method: None,
            time,
            stats: Stats::default(),
        }
    }

    /// One line that says why the verdict is what it is.
    pub fn reason(&self) -> Option<String> {
        if let Some(source) = self.follows_from {
            return Some(format!("follows from {source}"));
        }
        if let Some(obstacle) = &self.obstacle {
            return Some(obstacle.clone());
        }
        let lines = &self.explanation.as_ref()?.lines;
        let roots = lines.iter().filter(|line| line.depth == 0);
        Some(roots.map(|line| line.text.as_str()).collect::<Vec<_>>().join("; "))
    }

    /// How the verdict depends on the clocks, to read on after the name of the level.
    pub fn skew_phrase(&self) -> Option<String> {
        Some(self.skew?.phrase(self.decision == Decision::Violated))
    }
}
