//! When things happened, on the clients' clocks.
//!
//! A begin or a commit happens somewhere between the client's request and the response, so each is an interval.
//! The times of one session never run backwards: a history that says so is refused while it is built
//! ([`crate::Builder::set_times`]), because no order of events could agree with such a clock.

use std::fmt;

use crate::SessionId;

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

    /// The times that were recorded, in the order in which they must not decrease.
    pub fn recorded(&self) -> impl Iterator<Item = Moment> {
        let all = [
            ("the begin request", self.begin_request),
            ("the begin response", self.begin_response),
            ("the commit request", self.commit_request),
            ("the commit response", self.commit_response),
        ];
        all.into_iter().filter_map(|(what, time)| Some(Moment { what, time: time? }))
    }
}

/// One recorded time and what happened then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// What happened, such as `the begin request`.
    pub what: &'static str,
    /// When.
    pub time: i64,
}

/// Two times of one session that run backwards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Backwards {
    /// The transaction, by its name or its place in the input.
    pub txn: String,
    /// What happened first, although its time is greater.
    pub earlier: Moment,
    /// What happened after it.
    pub later: Moment,
    /// Whether the first belongs to the transaction before it in its session.
    pub is_of_previous: bool,
}

impl Backwards {
    /// What a user can do about it.
    pub const HINT: &'static str = "the times of one session never run backwards: record them with one monotonic \
        clock, give transactions that overlap sessions of their own, or leave out times that are not known";

    /// What was expected instead of the later time.
    pub fn expected(&self) -> String {
        let Self { txn, earlier, later, is_of_previous } = self;
        let whose = if *is_of_previous { " of the transaction before it in its session" } else { "" };
        format!("{} of {txn} no earlier than {}{whose} at {}", later.what, earlier.what, earlier.time)
    }

    /// The later time.
    pub fn found(&self) -> String {
        self.later.time.to_string()
    }
}

impl fmt::Display for Backwards {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "expected {}, found {} ({})", self.expected(), self.found(), Self::HINT)
    }
}

impl std::error::Error for Backwards {}

/// The last recorded time of each session.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionClocks(Vec<Option<Moment>>);

impl SessionClocks {
    /// Takes the times of the next transaction of a session, unless they run backwards.
    pub fn advance(
        &mut self,
        session: usize,
        times: &TxnTimes,
        txn: impl FnOnce() -> String,
    ) -> Result<(), Backwards> {
        let last = self.last_after(session, times, txn)?;
        let length = self.0.len().max(session + 1);
        self.0.resize(length, None);
        self.0[session] = last;
        Ok(())
    }

    /// The last recorded time of a session after its next transaction, unless the times run backwards.
    pub fn last_after(
        &self,
        session: usize,
        times: &TxnTimes,
        txn: impl FnOnce() -> String,
    ) -> Result<Option<Moment>, Backwards> {
        let mut last = self.0.get(session).copied().flatten();
        let mut is_of_previous = true;
        for later in times.recorded() {
            if let Some(earlier) = last.filter(|earlier| earlier.time > later.time) {
                return Err(Backwards { txn: txn(), earlier, later, is_of_previous });
            }
            (last, is_of_previous) = (Some(later), false);
        }
        Ok(last)
    }

    /// Goes on where a later part of the recording ends, whose sessions have these numbers here.
    pub fn follow(&mut self, part: &Self, sessions: &[SessionId]) {
        for (last, session) in part.0.iter().zip(sessions).filter(|(last, _)| last.is_some()) {
            let length = self.0.len().max(session.index() + 1);
            self.0.resize(length, None);
            self.0[session.index()] = *last;
        }
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

impl OpTimes {
    /// The request and the response, if the response is before the request.
    fn backwards(&self) -> Option<(Moment, Moment)> {
        let (request, response) =
            self.request.zip(self.response).filter(|(request, response)| request > response)?;
        let moment = |what, time| Moment { what, time };
        Some((moment("its request", request), moment("the response to an operation", response)))
    }

    /// Refuses times that run backwards.
    pub(crate) fn check(&self, txn: impl FnOnce() -> String) -> Result<(), Backwards> {
        match self.backwards() {
            Some((earlier, later)) => Err(Backwards { txn: txn(), earlier, later, is_of_previous: false }),
            None => Ok(()),
        }
    }
}

/// No time: the columns store plain integers, and this one stands for `None`.
pub(crate) const NO_TIME: i64 = i64::MIN;

pub(crate) fn pack(time: Option<i64>) -> i64 {
    time.unwrap_or(NO_TIME)
}

/// The times of a transaction, from its column.
#[inline]
pub(crate) fn unpack_txn(
    [begin_request, begin_response, commit_request, commit_response]: [i64; 4],
) -> TxnTimes {
    TxnTimes {
        begin_request: unpack(begin_request),
        begin_response: unpack(begin_response),
        commit_request: unpack(commit_request),
        commit_response: unpack(commit_response),
    }
}

#[inline]
pub(crate) fn unpack(time: i64) -> Option<i64> {
    (time != NO_TIME).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advance(all: &[TxnTimes]) -> Result<(), String> {
        let mut clocks = SessionClocks::default();
        all.iter()
            .try_for_each(|times| clocks.advance(0, times, || "T9".into()))
            .map_err(|backwards| format!("{}, found {}", backwards.expected(), backwards.found()))
    }

    #[test]
    fn times_of_one_transaction_do_not_run_backwards() {
        let all = TxnTimes {
            begin_request: Some(1),
            begin_response: Some(2),
            commit_request: Some(2),
            commit_response: Some(3),
        };
        assert_eq!(advance(&[all]), Ok(()));
        let expected = "the commit response of T9 no earlier than the commit request at 2, found 1";
        assert_eq!(advance(&[TxnTimes { commit_response: Some(1), ..all }]), Err(expected.into()));
        let expected = "the commit response of T9 no earlier than the begin request at 5, found 4";
        assert_eq!(advance(&[TxnTimes::span(5, Some(4))]), Err(expected.into()));
    }

    #[test]
    fn the_transactions_of_a_session_do_not_overlap() {
        let gave_up = TxnTimes::span(4, None);
        assert_eq!(
            advance(&[TxnTimes::span(1, Some(3)), TxnTimes::span(3, Some(4)), gave_up, gave_up]),
            Ok(())
        );
        let overlapping = [TxnTimes::span(1, Some(3)), TxnTimes::default(), TxnTimes::span(2, Some(4))];
        let expected = "the begin request of T9 no earlier than the commit response of the transaction before it in \
            its session at 3, found 2";
        assert_eq!(advance(&overlapping), Err(expected.into()));
    }
}
