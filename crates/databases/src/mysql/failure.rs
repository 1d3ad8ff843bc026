//! What an error of MySQL or MariaDB means for the transaction.
//!
//! By error number (the servers' error references). In COMMIT only the numbers that say so mean that the transaction is
//! rolled back; any other leaves its outcome unknown, as a commit may fail after it is decided (on a Galera node that
//! leaves the cluster, say).

use mysql::Error;

use super::PASSWORD_VARIABLES;
use crate::{Failure, FailureKind, Url};

/// What was being asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moment {
    Connecting,
    InTransaction,
    Committing,
}

impl Moment {
    /// What it means that the server is gone.
    pub fn lost(self) -> FailureKind {
        match self {
            Self::Connecting | Self::InTransaction => FailureKind::Lost,
            Self::Committing => FailureKind::Unknown,
        }
    }
}

pub(super) fn failure(error: &Error, moment: Moment, url: &Url) -> Failure {
    let scrub = |text: &str| url.scrub(text, PASSWORD_VARIABLES);
    match error {
        Error::MySqlError(said) => {
            let kind = kind(said.code, &said.state, moment);
            Failure::new(kind, scrub(&said.message)).with_code(said.code.to_string())
        }
        // What these say of themselves is wrapped in the names of types.
        Error::IoError(inner) => Failure::new(moment.lost(), scrub(&inner.to_string())),
        Error::CodecError(inner) => Failure::new(moment.lost(), scrub(&inner.to_string())),
        Error::DriverError(inner) => Failure::new(moment.lost(), scrub(&inner.to_string())),
        _ if moment == Moment::Committing => Failure::new(FailureKind::Unknown, scrub(&error.to_string())),
        _ => Failure::refused(scrub(&error.to_string())),
    }
}

fn kind(code: u16, state: &str, moment: Moment) -> FailureKind {
    match code {
        // Shutting down, killed, too many connections, errors on the way, no primary component of a cluster.
        1053 | 1079 | 1080 | 1927 | 1040 | 1129 | 1158..=1161 | 1203 | 1226 | 4031 => moment.lost(),
        1047 if moment == Moment::InTransaction => FailureKind::Aborted,
        1047 => moment.lost(),
        // Wrong password or no such database.
        1044 | 1045 | 1049 | 1698 => FailureKind::Refused,
        _ if moment == Moment::Connecting => FailureKind::Lost,
        // Deadlock, lock wait timeout, record changed since it was read, duplicate key.
        1213 | 1205 | 1020 | 1062 | 1586 => FailureKind::Aborted,
        _ if state == "40001" => FailureKind::Aborted,
        _ if moment == Moment::Committing => FailureKind::Unknown,
        // Interrupted, or ran into the server's limit of time, locks, memory or disk.
        1317 | 1969 | 3024 | 1206 | 1637 | 1021 | 1037 | 1038 | 1041 | 1114 => FailureKind::Aborted,
        // Other constraints.
        1048 | 1451 | 1452 | 3819 | 4025 => FailureKind::Aborted,
        _ => FailureKind::Refused,
    }
}
