//! What is known of a recording while it grows, and what each answer means.

use history::History;
use levels::LevelId;

use crate::answer::Answer;

/// What is known of a recording so far.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// What is complete can be explained.
    Holds(Holding),
    /// The level is violated; the independent checker accepted the argument.
    Violated(Box<Violation>),
    /// Neither is proved, for this reason.
    Undecided(String),
}

/// How far a level is known to hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holding {
    /// Every transaction that ended before this moment is part of the answer; `None` if nothing is complete yet, and the
    /// largest number if the recording is closed.
    pub up_to: Option<i64>,
    /// How many transactions had been recorded when the question was asked.
    pub transactions: u64,
    /// How the answer was found.
    pub way: Way,
}

/// How it was found that a level holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Window by window, forgetting only what no later transaction can contradict.
    Exact,
    /// Window by window, and so many times something was forgotten that a later transaction might have contradicted: a
    /// violation that needs it would not be seen.
    Windowed(u64),
    /// By asking about all transactions at once, the last time when there were so many as `transactions` says.
    Whole,
    /// The level follows from this one, which was followed window by window.
    Follows(LevelId, u64),
}

/// A violation as it was found.
#[derive(Clone, Debug)]
pub struct Violation {
    /// What the argument is about: the transactions that were not settled, from the last versions of those that were; or
    /// all transactions.
    pub history: History,
    /// The answer about this history, with its certificate.
    pub answer: Answer,
    /// How many transactions had been recorded.
    pub after: u64,
}

impl Violation {
    /// A sentence about the window as it reads for the whole recording. Where transactions were forgotten, the initial
    /// values of the window are the last settled versions, and a value without a writer may be an older version.
    pub fn sentence(&self, text: &str) -> String {
        if self.history.txn_count() as u64 >= self.after {
            return text.to_owned();
        }
        text.replace("(the initial value)", "(the last settled version)")
            .replace("thin-air read", "stale or thin-air read")
            .replace(
                "which no transaction wrote",
                "which is neither the last settled version nor written since",
            )
    }
}

impl Verdict {
    /// The word for it, in text and in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Holds(_) => "holds",
            Self::Violated(_) => "violated",
            Self::Undecided(_) => "undecided",
        }
    }

    /// Whether it says that the level holds.
    pub fn is_holding(&self) -> bool {
        matches!(self, Self::Holds(_))
    }

    /// Whether it says that the level is violated.
    pub fn is_violated(&self) -> bool {
        matches!(self, Self::Violated(_))
    }
}

impl Way {
    /// The word for it, in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exact | Self::Follows(_, 0) => "exact",
            Self::Windowed(_) | Self::Follows(..) => "windowed",
            Self::Whole => "whole",
        }
    }
}
