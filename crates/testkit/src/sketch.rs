//! A small history that can still be changed: what generators make and what the shrinker takes apart.
//!
//! Only reads and writes of single keys; an insert is a write here, and a delete a write of nil.

use history::{Builder, Datum, History, InitialDefault, InitialState, Op, Outcome, TxnTimes, ValueId};

/// A history in the making.
#[derive(Clone, PartialEq, Debug)]
pub struct Sketch {
    /// The keys; operations name them by their place here.
    pub keys: Vec<Datum>,
    /// What every key holds at first; `None` if unknown but one.
    pub initial: Option<Datum>,
    /// The transactions of each session in order.
    pub sessions: Vec<Vec<SketchTxn>>,
}

/// A transaction of a sketch.
#[derive(Clone, PartialEq, Debug)]
pub struct SketchTxn {
    /// The operations in program order.
    pub ops: Vec<SketchOp>,
    /// What became of it.
    pub outcome: Outcome,
    /// When.
    pub times: TxnTimes,
}

/// An operation of a sketch.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SketchOp {
    /// Whether it writes.
    pub is_write: bool,
    /// The place of its key.
    pub key: usize,
    /// What it saw or wrote.
    pub value: Datum,
}

impl SketchTxn {
    /// A committed transaction without times.
    pub fn committed(ops: Vec<SketchOp>) -> Self {
        Self { ops, outcome: Outcome::Committed, times: TxnTimes::default() }
    }
}

impl Sketch {
    /// An empty history over keys `x`, `y`, `z`, `k3`, `k4`, ..., which are 0 at first.
    pub fn new(keys: usize) -> Self {
        let name = |key: usize| match ["x", "y", "z"].get(key) {
            Some(&name) => Datum::str(name),
            None => Datum::str(format!("k{key}")),
        };
        Self { keys: (0..keys).map(name).collect(), initial: Some(Datum::Int(0)), sessions: Vec::new() }
    }

    /// The history, with sessions called `a`, `b`, ....
    pub fn build(&self) -> History {
        let mut builder = Builder::new();
        let keys: Vec<_> = self.keys.iter().map(|key| builder.keys.intern(key.clone())).collect();
        builder.initial = match &self.initial {
            Some(value) => InitialState::all(builder.values.intern(value.clone())),
            None => InitialState::unknown(),
        };
        for (number, txns) in self.sessions.iter().enumerate() {
            let session = builder.named_session(session_name(number));
            for txn in txns {
                builder.begin(session);
                builder.set_times(txn.times);
                for op in &txn.ops {
                    let value = builder.values.intern(op.value.clone());
                    match op.is_write {
                        true => builder.write(keys[op.key], value),
                        false => builder.read(keys[op.key], value),
                    };
                }
                builder.end(txn.outcome);
            }
        }
        builder.finish()
    }

    /// A history taken apart, or `None` if it has more in it than a sketch can hold.
    pub fn of(history: &History) -> Option<Self> {
        if !history.initial().recorded.is_empty() {
            return None;
        }
        let initial = match history.initial().default {
            InitialDefault::Value(value) => Some(history.values().original(value)),
            InitialDefault::UnknownButOne => None,
        };
        let txn = |txn| {
            Some(SketchTxn {
                ops: history.ops(txn).map(|(_, op)| sketch_op(history, op)).collect::<Option<_>>()?,
                outcome: history.outcome(txn),
                times: history.times(txn),
            })
        };
        let sessions = history.sessions().map(|session| history.session_txns(session).map(txn).collect());
        Some(Self {
            keys: history.keys().iter().map(|(_, key)| key.clone()).collect(),
            initial,
            sessions: sessions.collect::<Option<_>>()?,
        })
    }

    /// All transactions, session by session.
    pub fn txns(&self) -> impl Iterator<Item = &SketchTxn> {
        self.sessions.iter().flatten()
    }

    /// All transactions, to change them.
    pub fn txns_mut(&mut self) -> impl Iterator<Item = &mut SketchTxn> {
        self.sessions.iter_mut().flatten()
    }
}

fn session_name(number: usize) -> Datum {
    match u8::try_from(number) {
        Ok(number) if number < 26 => Datum::str(char::from(b'a' + number).to_string()),
        _ => Datum::str(format!("s{number}")),
    }
}

fn sketch_op(history: &History, op: Op<'_>) -> Option<SketchOp> {
    let value = |value: ValueId| history.values().original(value);
    match op {
        Op::Read { key, value: Some(seen) } => {
            Some(SketchOp { is_write: false, key: key.index(), value: value(seen) })
        }
        op => Some(SketchOp { is_write: true, key: op.key()?.index(), value: value(op.written()?) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sketch_of_a_history_builds_the_same_history() {
        let text = "a: r(x)=0 w(y)=1\na: w(x)=2 unknown @[1,2]\nb: r(y)=1 abort\n";
        let history = formats::notation::parse(text).unwrap();
        let rebuilt = Sketch::of(&history).unwrap().build();
        assert_eq!(formats::notation::print(&rebuilt).unwrap(), text);
    }
}
