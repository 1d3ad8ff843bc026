//! Recorded histories to small ones and back.
//!
//! The way in looks at the operations themselves and not at `index::Index`, so that the oracle shares no code with
//! the engines it tests. What no order can explain stays unexplainable: a read that contradicts the transaction's own
//! write becomes a read of a value that no transaction wrote.

mod left_by_predicate;
mod rows;

use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;

use history::{
    Builder, Clock, Datum, History, InitialDefault, InitialState, KeyId, Op, OpId, TxnId, TxnTimes, ValueId,
};

use crate::core::Level;
use crate::facts::MAX_TXNS;
use crate::recorded;
use crate::small::{Object, Outcome, SmallHistory, SmallTimes, SmallTxn, Value, object_name};

/// Why a recorded history has no small form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConvertError {
    /// More transactions than can be tried in every order.
    TooManyTxns(usize),
    /// An operation on lists or ranges, one by a predicate whose effect is not known, or one with a recorded version, of
    /// which levels do not speak.
    UnsupportedOp(OpId),
    /// More combinations of values that were not recorded than are tried: initial ones, and those of rows that a predicate
    /// did not match.
    TooManyReadings,
}

impl fmt::Display for ConvertError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyTxns(count) => {
                write!(
                    out,
                    "{count} transactions are too many to decide by its text (at most {})",
                    MAX_TXNS - 1
                )
            }
            Self::UnsupportedOp(op) => {
                write!(out, "operation {} is not just a read or write of one key", op.0)
            }
            Self::TooManyReadings => {
                write!(out, "too many combinations of values that were not recorded are possible")
            }
        }
    }
}

impl std::error::Error for ConvertError {}

/// The most combinations of initial values that are tried.
const MAX_READINGS: usize = 64;

impl SmallHistory {
    /// The external reads and final writes of a recorded history; transaction `TxnId(i)` has place i. Where initial
    /// values were not recorded, the first of the possible ones is taken.
    pub fn from_history(history: &History, clock_skew: i64) -> Result<Self, ConvertError> {
        Ok(Self::all_readings(history, clock_skew, &|_| false, MAX_READINGS)?.swap_remove(0))
    }

    /// All small forms of a recorded history: a level allows the history if it allows one of them. There are several if
    /// initial values were not recorded and several are possible.
    pub fn readings(history: &History, clock_skew: i64, level: &Level) -> Result<Vec<Self>, ConvertError> {
        Self::readings_up_to(history, clock_skew, level, MAX_READINGS)
    }

    /// As [`SmallHistory::readings`], if there are at most so many.
    pub fn readings_up_to(
        history: &History,
        clock_skew: i64,
        level: &Level,
        limit: usize,
    ) -> Result<Vec<Self>, ConvertError> {
        let uncommitted = |txn: TxnId| match level.name == recorded::NAME {
            true => recorded::reads_uncommitted(history, txn),
            false => level.allows_uncommitted,
        };
        Self::all_readings(history, clock_skew, &uncommitted, limit)
    }

    fn all_readings(
        history: &History,
        clock_skew: i64,
        allows_uncommitted: &dyn Fn(TxnId) -> bool,
        limit: usize,
    ) -> Result<Vec<Self>, ConvertError> {
        if history.txn_count() >= MAX_TXNS {
            return Err(ConvertError::TooManyTxns(history.txn_count()));
        }
        let clock_skew = if history.clock() == Clock::Position { 0 } else { clock_skew };
        if rows::speaks_of(history)? {
            return Self::readings_of_rows(history, clock_skew, allows_uncommitted, limit);
        }
        let written = WrittenValues::of(history);
        let mut txns = history.txns().map(|txn| small_txn(history, txn)).collect::<Result<Vec<_>, _>>()?;
        keep_unwritten_reads(history, &mut txns, &written, allows_uncommitted);
        let initial = initial_values(history, &txns, &written)?;
        let reading = |initial| Self { txns: txns.clone(), clock_skew, initial, ..Self::default() };
        Ok(initial.into_iter().map(reading).collect())
    }

    /// All small forms of a history with predicates, unless transactions may read what was never committed.
    fn readings_of_rows(
        history: &History,
        clock_skew: i64,
        allows_uncommitted: &dyn Fn(TxnId) -> bool,
        limit: usize,
    ) -> Result<Vec<Self>, ConvertError> {
        if let Some(txn) = history.txns().find(|&txn| allows_uncommitted(txn)) {
            return Err(ConvertError::UnsupportedOp(OpId(history.op_range(txn).start)));
        }
        let txns: Vec<SmallTxn> = history.txns().map(|txn| blank_txn(history, txn)).collect();
        let value_of = |key: usize| history.initial().value_of(KeyId::from_index(key));
        let initial: Vec<Value> =
            (0..history.keys().len()).map(|key| value_of(key).map_or(0, |value| value.0)).collect();
        let reading = |txns| Self { txns, clock_skew, initial: initial.clone(), ..Self::default() };
        Ok(rows::readings(history, &txns, limit)?.into_iter().map(reading).collect())
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
            if let Some(level) = &txn.level {
                builder.set_level(level);
            }
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

/// A transaction without its reads and writes.
fn blank_txn(history: &History, txn: TxnId) -> SmallTxn {
    let times = history.times(txn);
    let mut small = SmallTxn::committed(history.session_of(txn).index(), &[], &[]);
    small.outcome = history.outcome(txn);
    small.level = history.txn_level(txn).map(|name| recorded::canonical(&name));
    small.times = SmallTimes {
        begin_request: times.begin_request,
        begin_response: times.begin_response,
        commit_request: times.commit_request,
        commit_response: times.commit_response.filter(|_| small.outcome == Outcome::Committed),
    };
    small
}

fn small_txn(history: &History, txn: TxnId) -> Result<SmallTxn, ConvertError> {
    let mut small = blank_txn(history, txn);
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

/// Every value that some transaction wrote to a key, whatever became of it.
struct WrittenValues(FxHashSet<(KeyId, ValueId)>);

impl WrittenValues {
    fn of(history: &History) -> Self {
        let ops = history.txns().flat_map(|txn| history.ops(txn)).map(|(_, op)| op);
        let written = |op: Op<'_>| Some((op.key()?, op.written().or(op.value_appended())?));
        let mut all: FxHashSet<(KeyId, ValueId)> = ops.filter_map(written).collect();
        let lists: Vec<(KeyId, Box<[Datum]>)> = all
            .iter()
            .filter_map(|&(key, value)| match history.values().original(value) {
                Datum::List(elements) => Some((key, elements)),
                _ => None,
            })
            .collect();
        // A list that was written as a whole may be read element by element.
        for (key, elements) in lists {
            let known = elements.iter().filter_map(|element| history.values().get(element));
            all.extend(known.map(|element| (key, element)));
        }
        if history.has_predicates() {
            left_by_predicate::add(history, &mut all);
        }
        Self(all)
    }

    fn contains(&self, key: KeyId, value: ValueId) -> bool {
        self.0.contains(&(key, value))
    }
}

/// The first read of a committed transaction that returned a value which no transaction wrote to the key and which is
/// not its initial value: the operation, the key and the value. A row that is absent may have been deleted, or never
/// inserted. A value that only a write by predicate of unknown effect can have made counts as not written.
pub fn unwritten_read(history: &History) -> Option<(OpId, KeyId, ValueId)> {
    unwritten_read_by(history, &|_| true)
}

/// As [`unwritten_read`], of some transactions.
pub fn unwritten_read_by(
    history: &History,
    readers: &dyn Fn(TxnId) -> bool,
) -> Option<(OpId, KeyId, ValueId)> {
    let written = WrittenValues::of(history);
    let mut pinned: FxHashMap<KeyId, ValueId> = FxHashMap::default();
    let committed = history.txns().filter(|&txn| history.outcome(txn) == Outcome::Committed);
    let committed = committed.filter(|&txn| readers(txn));
    for (id, op) in committed.flat_map(|txn| history.ops(txn)) {
        for (key, value) in returned(&op) {
            if value == ValueId::NIL || written.contains(key, value) {
                continue;
            }
            let initial = history.initial().value_of(key);
            let initial = initial.unwrap_or_else(|| *pinned.entry(key).or_insert(value));
            if !is_initially(history, initial, value) {
                return Some((id, key, value));
            }
        }
    }
    None
}

/// Whether a value is the initial one, or an element of the list that the key holds at first.
fn is_initially(history: &History, initial: ValueId, value: ValueId) -> bool {
    let is_element = |elements: &[Datum]| elements.contains(&history.values().original(value));
    initial == value || matches!(history.values().original(initial), Datum::List(list) if is_element(&list))
}

/// The keys and values that an operation returned.
fn returned(op: &Op<'_>) -> Vec<(KeyId, ValueId)> {
    let row = |row: &history::Row| (row.key, row.value);
    match op {
        Op::Read { key, value: Some(value) } => vec![(*key, *value)],
        Op::ReadList { key, list: Some(list) } => list.iter().map(|&value| (*key, value)).collect(),
        Op::RangeRead(range) => range.rows.iter().flatten().map(row).collect(),
        Op::PredicateRead(read) => read.rows.iter().flatten().map(row).collect(),
        _ => Vec::new(),
    }
}

/// Drops the reads of values that some transaction wrote: a level over values demands nothing more of them.
fn keep_unwritten_reads(
    history: &History,
    txns: &mut [SmallTxn],
    written: &WrittenValues,
    allows_uncommitted: &dyn Fn(TxnId) -> bool,
) {
    for (txn, id) in txns.iter_mut().zip(history.txns()).filter(|(_, id)| allows_uncommitted(*id)) {
        let reads = history.ops(id).flat_map(|(_, op)| returned(&op));
        let unwritten = reads.filter(|&(key, value)| value != ValueId::NIL && !written.contains(key, value));
        txn.reads = unwritten.map(|(key, value)| (key.index(), value.0)).collect();
    }
}

/// All combinations of initial values that the history may have started with.
fn initial_values(
    history: &History,
    txns: &[SmallTxn],
    written: &WrittenValues,
) -> Result<Vec<Vec<Value>>, ConvertError> {
    let mut combinations: Vec<Vec<Value>> = vec![Vec::new()];
    for object in 0..history.keys().len() {
        let choices = initial_choices(history, txns, written, object);
        if combinations.len() * choices.len() > MAX_READINGS {
            return Err(ConvertError::TooManyReadings);
        }
        let extended = combinations
            .iter()
            .flat_map(|known| choices.iter().map(|&choice| [&known[..], &[choice]].concat()));
        combinations = extended.collect();
    }
    Ok(combinations)
}

/// What a key may hold at first: what was recorded; or else one of the values that were read and never written, or no
/// row. If a committed transaction read such a value, no other one is possible. A value that no transaction read stands
/// for all others.
fn initial_choices(
    history: &History,
    txns: &[SmallTxn],
    written: &WrittenValues,
    object: Object,
) -> Vec<Value> {
    let key = KeyId::from_index(object);
    if let Some(value) = history.initial().value_of(key) {
        return vec![value.0];
    }
    let is_nil = |value: Value| value == ValueId::NIL.0;
    let reads_of = |outcome: Outcome| {
        let reads = txns.iter().filter(move |txn| txn.outcome == outcome).flat_map(|txn| &txn.reads);
        reads.filter(move |&&(read, value)| read == object && value != UNEXPLAINABLE).map(|&(_, value)| value)
    };
    let is_unwritten = |value: &Value| is_nil(*value) || !written.contains(key, ValueId(*value));
    if let Some(pinned) = reads_of(Outcome::Committed).find(|value| !is_nil(*value) && is_unwritten(value)) {
        return vec![pinned];
    }
    let reads = reads_of(Outcome::Committed).chain(reads_of(Outcome::Unknown));
    let mut choices: Vec<Value> = reads.filter(is_unwritten).collect();
    choices.sort_unstable();
    choices.dedup();
    if choices.is_empty() {
        choices.push(UNEXPLAINABLE - 1);
    }
    choices
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
