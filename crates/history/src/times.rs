//! When things happened, on the clients' clocks.
//!
//! A begin or a commit happens somewhere between the client's request and the response, so each is an interval.

/// What the numbers of a history's times count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Clock {
    /// Nanoseconds of a clock of each client.
    #[default]
    Nanoseconds,
    /// Places in one recording: exact, and without skew.
    Position,
}

/// Request and response of a transaction's begin and commit; what was not recorded is `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TxnTimes {
    /// When the client asked to begin.
    pub begin_request: Option<i64>,
    /// When the client learned that it had begun.
    pub begin_response: Option<i64>,
    /// When the client asked to commit (or to abort).
    pub commit_request: Option<i64>,
    /// When the client learned the outcome.
    pub commit_response: Option<i64>,
}

impl TxnTimes {
    /// A transaction of which only its whole span is known.
    pub fn span(start: i64, end: Option<i64>) -> Self {
        Self { begin_request: Some(start), commit_response: end, ..Self::default() }
    }

    /// Whether anything was recorded.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The earliest moment at which it can have begun.
    pub fn start(&self) -> Option<i64> {
        self.begin_request
    }

    /// The latest moment at which it can have ended.
    pub fn end(&self) -> Option<i64> {
        self.commit_response
    }
}

/// Request and response of one operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpTimes {
    /// When the client sent it.
    pub request: Option<i64>,
    /// When the client had the answer.
    pub response: Option<i64>,
}

/// No time: the columns store plain integers, and this one stands for `None`.
pub(crate) const NO_TIME: i64 = i64::MIN;

pub(crate) fn pack(time: Option<i64>) -> i64 {
    time.unwrap_or(NO_TIME)
}

pub(crate) fn unpack(time: i64) -> Option<i64> {
    (time != NO_TIME).then_some(time)
}
