//! Why a call failed, by what it means for the transaction.

use std::fmt;

use crate::codes::code_name;
use crate::secrets::hide_secrets;

/// What a failure means for the transaction in which it happened.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FailureKind {
    /// The transaction is rolled back: a serialization failure, a deadlock, a lock that came too late, a constraint.
    /// The session is ready for the next one.
    Aborted,
    /// The connection was lost after the commit had been sent: it may have taken effect. The session is of no further
    /// use.
    Unknown,
    /// The connection was lost before a commit was sent: the transaction is aborted. The session is of no further use.
    Lost,
    /// The question could not be asked: something is not supported, or a statement is wrong. This is an error for the
    /// user; the transaction, if one was open, is rolled back.
    Refused,
}

/// A call that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What it means.
    pub kind: FailureKind,
    /// The database's code, such as an SQLSTATE.
    pub code: Option<String>,
    /// What the database said; never holds a password.
    pub message: String,
}

impl Failure {
    /// A failure without a code; what looks like a password in the message is hidden.
    pub fn new(kind: FailureKind, message: impl AsRef<str>) -> Self {
        Self { kind, code: None, message: hide_secrets(message.as_ref()) }
    }

    /// Something that cannot be asked.
    pub fn refused(message: impl AsRef<str>) -> Self {
        Self::new(FailureKind::Refused, message)
    }

    /// The transaction is rolled back.
    pub fn aborted(message: impl AsRef<str>) -> Self {
        Self::new(FailureKind::Aborted, message)
    }

    /// Why, in a few words: the code with its name, or what the database said.
    pub fn reason(&self) -> String {
        match &self.code {
            Some(code) => match code_name(code) {
                Some(name) => format!("{code} {name}"),
                None => code.clone(),
            },
            None => self.message.clone(),
        }
    }

    /// The same with the database's code.
    pub fn with_code(self, code: impl AsRef<str>) -> Self {
        Self { code: Some(hide_secrets(code.as_ref())), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            FailureKind::Aborted => "aborted",
            FailureKind::Unknown => "outcome unknown",
            FailureKind::Lost => "connection lost",
            FailureKind::Refused => "refused",
        };
        write!(out, "{what}: {}", self.message)?;
        self.code.as_ref().map_or(Ok(()), |code| write!(out, " ({code})"))
    }
}

impl std::error::Error for Failure {}
