//! Why a question cannot be asked, or has no answer that may be given.

use std::fmt;

use certify::{Certificate, Flaw, Level};
use levels::LevelId;

/// Why there is no report.
#[derive(Debug)]
pub enum Error {
    /// The level orders events by time, and the history has no times.
    NeedsTimes {
        /// The name of the level.
        level: String,
        /// The strongest level that it implies and that needs no times, if it is a shipped one.
        instead: Option<LevelId>,
    },
    /// The transactions do not all record a level that they ran at, or one that cannot be mixed with others.
    NoRecordedLevel(String),
    /// The independent checker refused the engine's argument: an error of isoscope. The verdict is not given.
    Refused(Box<Refused>),
    /// A thread of the engine ended without an answer: an error of isoscope.
    Failed(String),
}

/// An argument that the independent checker refused.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The level as the engine understood it.
    pub level: Level,
    /// The argument.
    pub certificate: Certificate,
    /// What is wrong with it.
    pub flaw: Flaw,
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeedsTimes { level, instead: Some(instead) } => write!(
                out,
                "{level} needs to know when transactions ran, and the history has no times; without times ask for \
                 {instead}"
            ),
            Self::NeedsTimes { level, instead: None } => {
                write!(out, "{level} needs to know when transactions ran, and the history has no times")
            }
            Self::NoRecordedLevel(why) => write!(out, "{why}"),
            Self::Refused(refused) => write!(
                out,
                "internal error: the checker refused the engine's certificate for {}, so there is no verdict ({})",
                refused.level.name().unwrap_or("a level without a name"),
                refused.flaw
            ),
            Self::Failed(what) => write!(out, "internal error: isoscope failed while {what}"),
        }
    }
}

impl std::error::Error for Error {}
