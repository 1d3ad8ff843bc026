//! How a run ends: the four exit codes, and the failures that keep a question from being asked.

use std::fmt;
use std::io;
use std::process::ExitCode;

use crate::terminal::visible;

/// The exit codes; scripts depend on them, so they never change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Exit {
    /// The level holds, or the command did what it was asked.
    Holds = 0,
    /// A level is violated.
    Violated = 1,
    /// The question could not be asked.
    Failed = 2,
    /// A limit was reached first.
    Undecided = 3,
    /// Ctrl-C; what a shell reports for a program that `SIGINT` ended.
    Interrupted = 130,
    /// The reader of the output closed the pipe; what a shell reports for a program that `SIGPIPE` ended.
    BrokenPipe = 141,
}

impl Exit {
    /// Of two runs the code that matters more: violated before undecided before holds.
    pub fn graver(self, other: Self) -> Self {
        let weight = |exit: Self| match exit {
            Self::Holds => 0,
            Self::Undecided => 1,
            Self::Violated => 2,
            Self::Failed | Self::Interrupted | Self::BrokenPipe => 3,
        };
        if weight(other) > weight(self) { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command ended without an answer.
#[derive(Debug)]
pub enum Failure {
    /// The question could not be asked; the text is a sentence for the user.
    Message(String),
    /// A limit that the user set was reached; the text says which and where.
    Limit(String),
    /// The user ended it, and what it had begun was cleaned up.
    Interrupted,
    /// The reader of the output closed the pipe.
    BrokenPipe,
}

impl Failure {
    /// A failure with this sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self::Message(sentence.into())
    }

    /// The operating system refused something about a file.
    pub fn about(file: &std::path::Path, error: &io::Error) -> Self {
        Self::Message(format!("{}: {error}", visible(&file.display().to_string())))
    }

    /// The code to exit with.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Message(_) => Exit::Failed,
            Self::Limit(_) => Exit::Undecided,
            Self::Interrupted => Exit::Interrupted,
            Self::BrokenPipe => Exit::BrokenPipe,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(sentence) => write!(out, "error: {sentence}"),
            Self::Limit(sentence) => write!(out, "undecided: {sentence}"),
            Self::Interrupted => out.write_str("interrupted"),
            Self::BrokenPipe => Ok(()),
        }
    }
}

/// An error while printing.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Message(format!("standard output: {error}")),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::from(io::Error::from(error))
    }
}

impl From<isoscope::limits::Bounded> for Failure {
    fn from(bounded: isoscope::limits::Bounded) -> Self {
        match bounded {
            isoscope::limits::Bounded::Limit(sentence) => Self::Limit(sentence),
            isoscope::limits::Bounded::Failed(_) => Self::Message(bounded.to_string()),
        }
    }
}
