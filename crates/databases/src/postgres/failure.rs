//! What an error of PostgreSQL means for the transaction.
//!
//! By SQLSTATE and severity (PostgreSQL documentation, appendix A): an ERROR leaves the session and rolls back, also in
//! COMMIT, since nothing may fail once the commit record is written; FATAL and PANIC end the session, and in COMMIT
//! it is not known which came first.

use tokio_postgres::error::{DbError, Severity};

use super::PASSWORD_VARIABLES;
use crate::{Failure, FailureKind, Url};

/// What was being asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moment {
    Connecting,
    InTransaction,
    Committing,
}

/// What it means that the server is gone.
fn lost(moment: Moment) -> FailureKind {
    match moment {
        Moment::Connecting | Moment::InTransaction => FailureKind::Lost,
        Moment::Committing => FailureKind::Unknown,
    }
}

pub(super) fn timed_out(moment: Moment) -> Failure {
    Failure::new(lost(moment), "the server did not answer in time")
}

pub(super) fn failure(error: &tokio_postgres::Error, moment: Moment, url: &Url) -> Failure {
    let scrub = |text: &str| url.scrub(text, PASSWORD_VARIABLES);
    let Some(said) = error.as_db_error() else {
        let mut text = scrub(&with_sources(error));
        if text.contains("password missing") {
            text.push_str("; it is taken from the URL, PGPASSWORD or ISOSCOPE_PASSWORD");
        }
        return Failure::new(kind_without_answer(error, moment), text);
    };
    Failure::new(kind(said, moment), scrub(said.message())).with_code(said.code().code())
}

fn kind(said: &DbError, moment: Moment) -> FailureKind {
    let code = said.code().code();
    let is_gone = matches!(said.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
    match &code[..code.len().min(2)] {
        // The server shuts down, starts, or ends the session; or the connection broke.
        "08" => lost(moment),
        "57" if is_gone => lost(moment),
        // A wrong password, no such database, and the like.
        "28" | "3D" => FailureKind::Refused,
        _ if moment == Moment::Connecting => FailureKind::Lost,
        _ if is_gone => lost(moment),
        // Wrong SQL, wrong data, not supported, no such object, not permitted.
        "42" | "22" | "0A" | "26" | "34" | "3F" | "54" => FailureKind::Refused,
        // 40: serialization failure and deadlock; 55P03: a lock came too late; 57014: a statement took too long;
        // 23: a constraint; 25, 53, XX: the server cannot go on with this transaction.
        _ => FailureKind::Aborted,
    }
}

/// No answer of the server: the connection is gone, or this side could not even ask.
fn kind_without_answer(error: &tokio_postgres::Error, moment: Moment) -> FailureKind {
    let mut source = std::error::Error::source(error);
    let mut is_io = error.is_closed();
    while let Some(cause) = source {
        is_io |= cause.is::<std::io::Error>();
        source = cause.source();
    }
    if is_io || moment == Moment::Committing { lost(moment) } else { FailureKind::Refused }
}

fn with_sources(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        source = cause.source();
    }
    text
}
