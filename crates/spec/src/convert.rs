//! Recorded histories to small ones and back.
//!
//! The way in looks at the operations themselves and not at `history::Index`, so that the oracle shares no code with
//! the engines it tests. What no order can explain stays unexplainable: a read that contradicts the transaction's own
//! write becomes a read of a value that nobody wrote.

use std::fmt;

use history::{
    Builder, Clock, Datum, History, InitialDefault, InitialState, KeyId, Op, OpId, TxnId, TxnTimes, ValueId,
};

use crate::facts::MAX_TXNS;
use crate::small::{Object, Outcome, SmallHistory, SmallTimes, SmallTxn, Value, object_name};

/// Why a recorded history has no small form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConvertError {
    /// More transactions than can be tried in every order.
    TooManyTxns(usize),
    /// An operation on lists, ranges or predicates, or one with a recorded version, of which levels do not speak.
    UnsupportedOp(OpId),
}

impl fmt::Display for ConvertError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyTxns(count) => {
                write!(
                    out,
                    "{count} transactions are too many to decide by definition (at most {})",
                    MAX_TXNS - 1
                )
            }
            Self::UnsupportedOp(op) => {
                write!(out, "operation {} is not just a read or write of one key", op.0)
            }
        }
    }
}

impl std::error::Error for ConvertError {}

impl SmallHistory {
    /// The external reads and final writes of a recorded history; transaction `TxnId(i)` has place i.
    pub fn from_history(history: &History, clock_skew: i64) -> Result<Self, ConvertError> {
        if history.txn_count() >= MAX_TXNS {
            return Err(ConvertError::TooManyTxns(history.txn_count()));
        }
        let txns = history.txns().map(|txn| small_txn(history, txn)).collect::<Result<Vec<_>, _>>()?;
        let clock_skew = if history.clock() == Clock::Position { 0 } else { clock_skew };
        let mut small = Self { txns, clock_skew, ..Self::default() };
        small.initial = initial_values(history, &small);
        Ok(small)
    }

    /// A recorded history with the same sessions, reads and writes; each transaction reads before it writes. Session
    /// order beyond sessions has no place in a recording and is left out.
    pub fn to_history(&self) -> History {
        let mut builder = Builder::new();
        let objects: Vec<KeyId> = (0..self.object_count())
            .map(|object| builder.keys.intern(Datum::str(object_name(object))))
            .collect();
        let initial = |object| builder_value(self.initial_value(object));
        builder.initial = InitialState {
            default: InitialDefault::Value(builder_value(0)),
            recorded: (0..objects.len()).map(|object| (objects[object], initial(object))).collect(),
        };
        let mut sessions: Vec<usize> = self.txns.iter().map(|txn| txn.session).collect();
        sessions.sort_unstable();
        sessions.dedup();
        let ids: Vec<_> = sessions.iter().map(|_| builder.session()).collect();
        for txn in &self.txns {
            builder.begin(ids[sessions.binary_search(&txn.session).expect("every session is listed")]);
            builder.set_times(txn.times.into()).expect("the times of a session do not run backwards");
            for &(object, value) in &txn.reads {
                builder.read(objects[object], builder_value(value));
            }
            for &(object, value) in &txn.writes {
                builder.write(objects[object], builder_value(value));
            }
            builder.end(txn.outcome);
        }
        builder.finish()
    }
}

/// Small integers are their own value ids.
fn builder_value(value: Value) -> ValueId {
    ValueId(value)
}

impl From<SmallTimes> for TxnTimes {
    fn from(times: SmallTimes) -> Self {
        Self {
            begin_request: times.begin_request,
            begin_response: times.begin_response,
            commit_request: times.commit_request,
            commit_response: times.commit_response,
        }
    }
}

fn small_txn(history: &History, txn: TxnId) -> Result<SmallTxn, ConvertError> {
    let times = history.times(txn);
    let mut small = SmallTxn::committed(history.session_of(txn).index(), &[], &[]);
    small.outcome = history.outcome(txn);
    small.times = SmallTimes {
        begin_request: times.begin_request,
        begin_response: times.begin_response,
        commit_request: times.commit_request,
        commit_response: times.commit_response.filter(|_| small.outcome == Outcome::Committed),
    };
    for (id, op) in history.ops(txn) {
        if history.op_version(id).is_some() {
            return Err(ConvertError::UnsupportedOp(id));
        }
        match op {
            Op::Read { value: None, .. } => {}
            Op::Read { key, value: Some(value) } => read(&mut small, key.index(), value.0),
            Op::Write { key, value } | Op::Insert { key, value } => write(&mut small, key.index(), value.0),
            Op::Delete { key, tombstone } => {
                write(&mut small, key.index(), tombstone.unwrap_or(ValueId::NIL).0)
            }
            _ => return Err(ConvertError::UnsupportedOp(id)),
        }
    }
    Ok(small)
}

fn read(txn: &mut SmallTxn, object: Object, value: Value) {
    match txn.written(object) {
        Some(own) if own == value => {}
        Some(_) => txn.reads.push((object, UNEXPLAINABLE)),
        None => txn.reads.push((object, value)),
    }
}

/// Ids of values count up from 0 and from 2^31, so this one is never reached.
const UNEXPLAINABLE: Value = u32::MAX;

fn write(txn: &mut SmallTxn, object: Object, value: Value) {
    txn.writes.retain(|&(written, _)| written != object);
    txn.writes.push((object, value));
}

/// Where the initial values are unknown, the first value that nobody wrote is taken: there can be only one, and if
/// there are two, either choice leaves the other unexplained.
fn initial_values(history: &History, small: &SmallHistory) -> Vec<Value> {
    let guessed = |object: Object| {
        let written = |value: Value| small.txns.iter().any(|txn| txn.written(object) == Some(value));
        let reads =
            small.txns.iter().filter(|txn| txn.outcome == Outcome::Committed).flat_map(|txn| &txn.reads);
        let mut unwritten =
            reads.filter(|&&(read, value)| read == object && value != UNEXPLAINABLE && !written(value));
        unwritten.next().map_or(UNEXPLAINABLE - 1, |&(_, value)| value)
    };
    let recorded = |object: Object| history.initial().value_of(KeyId::from_index(object));
    (0..history.keys().len())
        .map(|object| recorded(object).map_or_else(|| guessed(object), |value| value.0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{library, oracle};

    #[test]
    fn there_and_back() {
        let small = SmallHistory::parse("a: r(x)=0 w(y)=1\nb?: r(y)=1\na: r(y)=0 w(x)=2").unwrap();
        let back = SmallHistory::from_history(&small.to_history(), 0).unwrap();
        let lines = |history: &SmallHistory| {
            let mut lines: Vec<String> = history.to_string().lines().map(str::to_string).collect();
            lines.sort_unstable();
            lines
        };
        assert_eq!(lines(&small), lines(&back));
    }

    #[test]
    fn a_read_against_an_own_write_cannot_be_explained() {
        let mut builder = Builder::new();
        builder.initial = InitialState::all(ValueId(0));
        let session = builder.session();
        let key = builder.keys.intern_int(5);
        builder.begin(session);
        builder.write(key, ValueId(1));
        builder.read(key, ValueId(0));
        builder.end(Outcome::Committed);
        let small = SmallHistory::from_history(&builder.finish(), 0).unwrap();
        assert!(!oracle::holds(&small, library::level("read-committed").unwrap()));
    }
}
