//! Why a run could not go on.

use std::fmt;
use std::io;

use databases::{Failure, FailureKind};

/// A failure of the run itself, not of a transaction.
#[derive(Debug)]
pub enum RunError {
    /// The database cannot be asked this, or not any more.
    Database(String),
    /// The history cannot be written.
    Recording(io::Error),
}

impl RunError {
    /// The database failed in a way that is not a transaction's.
    pub fn of(doing: &str, failure: &Failure) -> Self {
        let code = failure.code.as_ref().map_or_else(String::new, |code| format!(" ({code})"));
        let advice = match failure.kind {
            // What a program did is said already, and it has no host.
            _ if failure.message.starts_with("exec:") => "",
            FailureKind::Lost | FailureKind::Unknown => {
                "; check that the server runs and that host, port, user and password of the URL are right"
            }
            FailureKind::Aborted | FailureKind::Refused => "",
        };
        Self::Database(format!("{doing}: {}{code}{advice}", failure.message))
    }
}

impl From<io::Error> for RunError {
    fn from(error: io::Error) -> Self {
        Self::Recording(error)
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(sentence) => out.write_str(sentence),
            Self::Recording(error) => write!(out, "the history could not be written: {error}"),
        }
    }
}

impl std::error::Error for RunError {}
