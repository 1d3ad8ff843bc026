//! Puts one anomaly at a random place into a history.
//!
//! A few transactions of different sessions, close to each other in time, get additional operations on keys that
//! no other transaction uses. So the rest of the history keeps its meaning, and the anomaly is there whatever the rest allows:
//! no order of these transactions explains the additional operations.
//! Costs one copy of the history.

use std::fmt;

use history::{Builder, Datum, History, KeyId, Op, OpId, Outcome, SessionId, TxnId, ValueId};

use crate::random::Random;

/// An anomaly that can be planted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Planted {
    /// Two transactions read from each other (G1c).
    CircularInformationFlow,
    /// Two readers see two independent writes in opposite orders.
    LongFork,
    /// A reader sees a write but misses one that this write had seen (G-SIb: a cycle with one anti-dependency).
    MissedEffect,
    /// Two transactions read the same state of a key and both overwrite it.
    LostUpdate,
    /// Two transactions read the same two keys and each overwrites one of them; snapshot isolation allows that.
    WriteSkew,
    /// A transaction reads one of two writes of another transaction and misses the other.
    FracturedRead,
    /// A transaction reads what an aborted one wrote; the history must have an aborted transaction.
    AbortedRead,
    /// A transaction reads what another wrote and replaced before it committed (G1b).
    IntermediateRead,
    /// Two transactions append to two lists, in one order to the first and in the other to the second (G0); only where
    /// there are lists, which show the order of writes.
    WriteCycle,
}

impl Planted {
    /// All anomalies that can be planted.
    pub const ALL: [Self; 9] = [
        Self::CircularInformationFlow,
        Self::LongFork,
        Self::MissedEffect,
        Self::LostUpdate,
        Self::WriteSkew,
        Self::FracturedRead,
        Self::AbortedRead,
        Self::IntermediateRead,
        Self::WriteCycle,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::CircularInformationFlow => "g1c",
            Self::LongFork => "long-fork",
            Self::MissedEffect => "g-sib",
            Self::LostUpdate => "lost-update",
            Self::WriteSkew => "write-skew",
            Self::FracturedRead => "fractured-read",
            Self::AbortedRead => "aborted-read",
            Self::IntermediateRead => "g1b",
            Self::WriteCycle => "g0",
        }
    }

    /// The anomaly of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|planted| planted.name() == name)
    }

    /// What each transaction does, in program order.
    fn roles(self) -> &'static [&'static [PlantedOp]] {
        use PlantedOp::{ReadInitial as Old, ReadNew as New, Write};
        match self {
            Self::CircularInformationFlow => &[&[Write(0), New(1)], &[Write(1), New(0)]],
            Self::LongFork => &[&[Write(0)], &[Write(1)], &[New(0), Old(1)], &[Old(0), New(1)]],
            Self::MissedEffect => &[&[Write(0)], &[New(0), Write(1)], &[New(1), Old(0)]],
            Self::LostUpdate => &[&[Old(0), Write(0)], &[Old(0), WriteOther(0)]],
            Self::WriteSkew => &[&[Old(0), Old(1), Write(0)], &[Old(0), Old(1), Write(1)]],
            Self::FracturedRead => &[&[Write(0), Write(1)], &[New(0), Old(1)]],
            Self::AbortedRead => &[&[Write(0)], &[New(0)]],
            Self::IntermediateRead => &[&[Write(0), WriteOther(0)], &[New(0)]],
            Self::WriteCycle => {
                &[&[Write(0), Write(1)], &[WriteOther(0), WriteOther(1)], &[ReadBoth(0), ReadBothReversed(1)]]
            }
        }
    }

    fn outcome_of_first(self) -> Outcome {
        match self {
            Self::AbortedRead => Outcome::Aborted,
            _ => Outcome::Committed,
        }
    }
}

/// An additional operation on one of two new keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PlantedOp {
    ReadInitial(usize),
    ReadNew(usize),
    Write(usize),
    WriteOther(usize),
    /// The list of both writes, the first one first.
    ReadBoth(usize),
    /// The same the other way round.
    ReadBothReversed(usize),
}
use PlantedOp::{ReadBoth, ReadBothReversed, WriteOther};

/// A history with an anomaly in it, and where.
#[derive(Clone, Debug)]
pub struct WithAnomaly {
    /// The history.
    pub history: History,
    /// The transactions that show the anomaly, in their roles.
    pub transactions: Vec<TxnId>,
}

/// Plants an anomaly at a place that the seed determines.
pub fn plant(history: &History, planted: Planted, seed: u64) -> Result<WithAnomaly, PlantError> {
    let mut random = Random::new(seed);
    if planted == Planted::WriteCycle && !has_lists(history) {
        return Err(PlantError { planted });
    }
    let transactions = choose(history, planted, &mut random)?;
    let history = rewrite(history, planted, &transactions);
    Ok(WithAnomaly { history, transactions })
}

/// Why an anomaly could not be planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlantError {
    planted: Planted,
}

impl fmt::Display for PlantError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roles = self.planted.roles().len();
        let name = self.planted.name();
        let lists = if self.planted == Planted::WriteCycle { "lists, and " } else { "" };
        write!(out, "planting {name} needs {lists}transactions of {roles} different sessions")?;
        match self.planted.outcome_of_first() {
            Outcome::Aborted => write!(out, ", one of them aborted and the others committed"),
            _ => write!(out, ", all of them committed"),
        }
    }
}

impl std::error::Error for PlantError {}

/// A random transaction for the first role, and near ones of other sessions for the rest.
fn choose(history: &History, planted: Planted, random: &mut Random) -> Result<Vec<TxnId>, PlantError> {
    let error = PlantError { planted };
    let fits = |txn: &TxnId| history.outcome(*txn) == planted.outcome_of_first();
    let candidates = history.txns().filter(fits).count() as u64;
    let chosen = random.below(candidates) as usize;
    let first = history.txns().filter(fits).nth(chosen).ok_or(error)?;
    let mut near: Vec<_> = (0..history.session_count())
        .map(SessionId::from_index)
        .filter(|&session| session != history.session_of(first))
        .filter_map(|session| nearest(history, session, first))
        .collect();
    near.sort_by_key(|&(distance, txn)| (distance, txn));
    let mut transactions = vec![first];
    transactions.extend(near.iter().map(|&(_, txn)| txn));
    transactions.truncate(planted.roles().len());
    if transactions.len() < planted.roles().len() {
        return Err(error);
    }
    Ok(transactions)
}

/// The committed transaction of a session that is closest to another transaction, and how far it is away.
fn nearest(history: &History, session: SessionId, other: TxnId) -> Option<(u64, TxnId)> {
    let place = moment(history, other);
    history
        .session_txns(session)
        .filter(|&txn| history.outcome(txn) == Outcome::Committed)
        .map(|txn| (moment(history, txn).abs_diff(place), txn))
        .min()
}

/// When a transaction was about to commit; without times, how far its session had come, in millionths.
fn moment(history: &History, txn: TxnId) -> i64 {
    let times = history.times(txn);
    let recorded = times.commit_request.or(times.commit_response);
    recorded.or(times.begin_request).unwrap_or_else(|| {
        let length = history.session_txns(history.session_of(txn)).count() as i64;
        history.place_in_session(txn) as i64 * 1_000_000 / length
    })
}

/// The new keys with what they hold.
struct NewKeys {
    keys: [KeyId; 2],
    initial: ValueId,
    written: [ValueId; 2],
    other: ValueId,
    /// Whether they are lists, as other keys are.
    are_lists: bool,
}

impl NewKeys {
    fn add_to(builder: &mut Builder, are_lists: bool) -> Self {
        let keys = unused_keys(builder).map(|key| builder.keys.intern(key));
        // Where the initial values are unknown, a value that no transaction writes to the key is the initial one.
        let initial = builder.initial.value_of(keys[0]).unwrap_or(ValueId(0));
        let mut values = (1..).map(ValueId).filter(|&value| value != initial);
        let mut value = || values.next().unwrap_or(ValueId::NIL);
        Self { keys, initial, written: [value(), value()], other: value(), are_lists }
    }

    fn perform(&self, step: PlantedOp, builder: &mut Builder) {
        if self.are_lists {
            return self.perform_on_lists(step, builder);
        }
        match step {
            PlantedOp::ReadInitial(key) => builder.read(self.keys[key], self.initial),
            PlantedOp::ReadNew(key) => builder.read(self.keys[key], self.written[key]),
            PlantedOp::Write(key) => builder.write(self.keys[key], self.written[key]),
            PlantedOp::WriteOther(key) => builder.write(self.keys[key], self.other),
            // Only lists show two writes at once, and without lists this is not planted.
            PlantedOp::ReadBoth(key) | PlantedOp::ReadBothReversed(key) => {
                builder.read_unknown(self.keys[key])
            }
        };
    }

    fn perform_on_lists(&self, step: PlantedOp, builder: &mut Builder) {
        let other = self.other;
        match step {
            PlantedOp::ReadInitial(key) => builder.read_list(self.keys[key], &[]),
            PlantedOp::ReadNew(key) => builder.read_list(self.keys[key], &[self.written[key]]),
            PlantedOp::Write(key) => builder.append(self.keys[key], self.written[key]),
            PlantedOp::WriteOther(key) => builder.append(self.keys[key], other),
            PlantedOp::ReadBoth(key) => builder.read_list(self.keys[key], &[self.written[key], other]),
            PlantedOp::ReadBothReversed(key) => {
                builder.read_list(self.keys[key], &[other, self.written[key]])
            }
        };
    }
}

/// Two keys that look like the others: the next integers where there are integers, words otherwise.
fn unused_keys(builder: &Builder) -> [Datum; 2] {
    let integers = builder.keys.iter().filter_map(|(_, key)| match key {
        Datum::Int(int) => Some(*int),
        _ => None,
    });
    match integers.max() {
        Some(largest) if largest < i64::MAX - 2 => [Datum::Int(largest + 1), Datum::Int(largest + 2)],
        _ => {
            let mut words = (1..).map(|number| Datum::str(format!("planted{number}")));
            let mut unused = || {
                let word = words.find(|word| builder.keys.get(word).is_none());
                word.unwrap_or(Datum::Nil)
            };
            [unused(), unused()]
        }
    }
}

fn rewrite(history: &History, planted: Planted, transactions: &[TxnId]) -> History {
    let mut builder = Builder::like(history);
    let new_keys = NewKeys::add_to(&mut builder, has_lists(history));
    for txn in history.txns() {
        builder.begin(history.session_of(txn));
        if let Some(name) = history.txn_name(txn) {
            builder.name_txn(name);
        }
        builder.set_times(history.times(txn)).expect(COPIED);
        if let Some(note) = history.txn_note(txn) {
            builder.note_txn(&note);
        }
        for op in history.op_range(txn) {
            copy_op(history, OpId(op), &mut builder);
        }
        if let Some(role) = transactions.iter().position(|&chosen| chosen == txn) {
            for &step in planted.roles()[role] {
                new_keys.perform(step, &mut builder);
            }
        }
        builder.end(history.outcome(txn));
    }
    builder.finish()
}

fn has_lists(history: &History) -> bool {
    (0..history.op_count() as u32).any(|op| matches!(history.op(OpId(op)), Op::Append { .. }))
}

/// Why copied times are accepted.
const COPIED: &str = "the times of a history do not run backwards";

fn copy_op(history: &History, op: OpId, builder: &mut Builder) {
    builder.op(history.op(op));
    if history.is_failed(op) {
        builder.mark_failed();
    }
    let times = history.op_times(op);
    if times != history::OpTimes::default() {
        builder.set_op_times(times).expect(COPIED);
    }
    if let Some(version) = history.op_version(op) {
        builder.set_op_version(version);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Config, generate};
    use index::Index;

    fn base(seed: u64) -> History {
        let config =
            Config { seed, sessions: 6, transactions: 200, keys: 40, abort_share: 0.1, ..Config::default() };
        generate(&config).unwrap()
    }

    /// The additional operations as `T1: w(x)=1 r(y)=0`.
    fn added(base: &History, planted: &WithAnomaly) -> Vec<String> {
        let transactions = planted.transactions.iter().enumerate();
        let lines = transactions.map(|(role, &txn)| {
            let old = base.op_range(txn).len();
            let ops = planted.history.ops(txn).skip(old).map(|(_, op)| {
                let key = op.key().unwrap().index() - base.keys().len();
                let kind = if op.is_read() { "r" } else { "w" };
                format!(" {kind}({})={}", ["x", "y"][key], op.value().unwrap().0)
            });
            format!("T{}:{}", role + 1, ops.collect::<String>())
        });
        lines.collect()
    }

    fn shape(planted: Planted) -> Vec<String> {
        let base = base(1);
        added(&base, &plant(&base, planted, 5).unwrap())
    }

    #[test]
    fn the_anomalies_are_what_their_names_say() {
        use Planted::*;
        assert_eq!(shape(CircularInformationFlow), ["T1: w(x)=1 r(y)=2", "T2: w(y)=2 r(x)=1"]);
        assert_eq!(shape(LongFork), ["T1: w(x)=1", "T2: w(y)=2", "T3: r(x)=1 r(y)=0", "T4: r(x)=0 r(y)=2"]);
        assert_eq!(shape(MissedEffect), ["T1: w(x)=1", "T2: r(x)=1 w(y)=2", "T3: r(y)=2 r(x)=0"]);
        assert_eq!(shape(LostUpdate), ["T1: r(x)=0 w(x)=1", "T2: r(x)=0 w(x)=3"]);
        assert_eq!(shape(WriteSkew), ["T1: r(x)=0 r(y)=0 w(x)=1", "T2: r(x)=0 r(y)=0 w(y)=2"]);
        assert_eq!(shape(FracturedRead), ["T1: w(x)=1 w(y)=2", "T2: r(x)=1 r(y)=0"]);
        assert_eq!(shape(AbortedRead), ["T1: w(x)=1", "T2: r(x)=1"]);
        assert_eq!(shape(IntermediateRead), ["T1: w(x)=1 w(x)=3", "T2: r(x)=1"]);
    }

    #[test]
    fn the_rest_of_the_history_stays_as_it_was() {
        for seed in 0..20 {
            let base = base(seed);
            // Registers do not show the order of writes.
            assert!(plant(&base, Planted::WriteCycle, seed).is_err());
            for planted in Planted::ALL.into_iter().filter(|&planted| planted != Planted::WriteCycle) {
                let with = plant(&base, planted, seed).unwrap();
                assert_eq!(with.history.txn_count(), base.txn_count());
                for txn in base.txns() {
                    let old: Vec<_> = base.ops(txn).map(|(_, op)| op).collect();
                    let new: Vec<_> = with.history.ops(txn).map(|(_, op)| op).collect();
                    assert!(new.starts_with(&old));
                    assert_eq!(new.len() > old.len(), with.transactions.contains(&txn));
                    assert_eq!(base.times(txn), with.history.times(txn));
                    assert_eq!(base.txn_label(txn), with.history.txn_label(txn));
                }
                let findings = Index::of(&with.history).findings().len();
                let shows_itself = matches!(planted, Planted::AbortedRead | Planted::IntermediateRead);
                assert_eq!(findings, usize::from(shows_itself));
            }
        }
    }

    #[test]
    fn the_place_depends_on_the_seed_and_sessions_differ() {
        let base = base(3);
        let places = |seed| plant(&base, Planted::LongFork, seed).unwrap().transactions;
        assert_eq!(places(1), places(1));
        assert_ne!(places(1), places(2));
        let mut sessions: Vec<_> = places(1).iter().map(|&txn| base.session_of(txn)).collect();
        sessions.sort();
        sessions.dedup();
        assert_eq!(sessions.len(), 4);
    }

    #[test]
    fn too_few_sessions_are_refused() {
        let config = Config { sessions: 3, transactions: 10, ..Config::default() };
        let error = plant(&generate(&config).unwrap(), Planted::LongFork, 0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "planting long-fork needs transactions of 4 different sessions, all of them committed"
        );
        let empty = Builder::new().finish();
        assert!(plant(&empty, Planted::LostUpdate, 0).is_err());
    }
}
