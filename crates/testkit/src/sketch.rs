//! A small history that can still be changed: what generators make and what the shrinker takes apart.
//!
//! It holds what a history holds, but for names, times of operations, and operations that failed.

mod convert;

use history::{Bound, Change, Datum, Outcome, TxnTimes};

/// A history in the making.
#[derive(Clone, PartialEq, Debug)]
pub struct Sketch {
    /// The keys; operations name them by their place here.
    pub keys: Vec<Datum>,
    /// What a key holds at first that is not listed; `None` if unknown but one.
    pub initial: Option<Datum>,
    /// Keys that hold something else at first.
    pub recorded: Vec<(usize, Datum)>,
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
#[derive(Clone, PartialEq, Debug)]
pub struct SketchOp {
    /// What was done and seen.
    pub what: What,
    /// The place of the version, if recorded.
    pub version: Option<i64>,
}

/// What an operation did and saw.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the fields are those of `history::Op`")]
pub enum What {
    Read {
        key: usize,
        value: Option<Datum>,
    },
    ReadList {
        key: usize,
        list: Option<Vec<Datum>>,
    },
    Write {
        key: usize,
        value: Datum,
    },
    Append {
        key: usize,
        value: Datum,
    },
    Insert {
        key: usize,
        value: Datum,
    },
    Delete {
        key: usize,
        mark: Option<Datum>,
    },
    Range {
        from: Bound,
        to: Bound,
        rows: Option<Vec<SketchRow>>,
    },
    PredicateRead {
        predicate: Datum,
        rows: Option<Vec<SketchRow>>,
    },
    PredicateWrite {
        predicate: Datum,
        change: Change,
        row_count: Option<u64>,
        keys: Option<Vec<usize>>,
        is_returning: bool,
    },
}

/// A row of an answer.
#[derive(Clone, PartialEq, Debug)]
pub struct SketchRow {
    /// The place of its key.
    pub key: usize,
    /// What it held.
    pub value: Datum,
    /// Whether it was returned as deleted.
    pub is_dead: bool,
}

impl SketchOp {
    /// An operation without a recorded version.
    pub fn new(what: What) -> Self {
        Self { what, version: None }
    }

    /// A read of one key.
    pub fn read(key: usize, value: Datum) -> Self {
        Self::new(What::Read { key, value: Some(value) })
    }

    /// A write of one key.
    pub fn write(key: usize, value: Datum) -> Self {
        Self::new(What::Write { key, value })
    }

    /// The key, for an operation on one key.
    pub fn key(&self) -> Option<usize> {
        match self.what {
            What::Read { key, .. }
            | What::ReadList { key, .. }
            | What::Write { key, .. }
            | What::Append { key, .. }
            | What::Insert { key, .. }
            | What::Delete { key, .. } => Some(key),
            What::Range { .. } | What::PredicateRead { .. } | What::PredicateWrite { .. } => None,
        }
    }

    /// The value that it left in its key, if it writes one key.
    pub fn written(&self) -> Option<Datum> {
        match &self.what {
            What::Write { value, .. } | What::Insert { value, .. } => Some(value.clone()),
            What::Delete { mark, .. } => Some(mark.clone().unwrap_or(Datum::Nil)),
            _ => None,
        }
    }

    /// The rows of an answer, to change them.
    pub fn rows_mut(&mut self) -> Option<&mut Vec<SketchRow>> {
        match &mut self.what {
            What::Range { rows, .. } | What::PredicateRead { rows, .. } => rows.as_mut(),
            _ => None,
        }
    }

    /// All places of keys in it, to change them.
    pub fn keys_mut(&mut self) -> Vec<&mut usize> {
        match &mut self.what {
            What::Read { key, .. }
            | What::ReadList { key, .. }
            | What::Write { key, .. }
            | What::Append { key, .. }
            | What::Insert { key, .. }
            | What::Delete { key, .. } => vec![key],
            What::Range { rows, .. } | What::PredicateRead { rows, .. } => {
                rows.iter_mut().flatten().map(|row| &mut row.key).collect()
            }
            What::PredicateWrite { keys, .. } => keys.iter_mut().flatten().collect(),
        }
    }

    /// All values of a key that it saw or wrote, to change them.
    pub fn values_mut(&mut self, of: usize) -> Vec<&mut Datum> {
        let is_of = self.key() == Some(of);
        match &mut self.what {
            What::Range { rows, .. } | What::PredicateRead { rows, .. } => {
                let rows = rows.iter_mut().flatten().filter(|row| row.key == of);
                rows.map(|row| &mut row.value).collect()
            }
            _ if !is_of => Vec::new(),
            What::Read { value, .. } | What::Delete { mark: value, .. } => value.iter_mut().collect(),
            What::Write { value, .. } | What::Append { value, .. } | What::Insert { value, .. } => {
                vec![value]
            }
            What::ReadList { list, .. } => list.iter_mut().flatten().collect(),
            What::PredicateWrite { .. } => Vec::new(),
        }
    }
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
        Self {
            keys: (0..keys).map(name).collect(),
            initial: Some(Datum::Int(0)),
            recorded: Vec::new(),
            sessions: Vec::new(),
        }
    }

    /// All transactions, session by session.
    pub fn txns(&self) -> impl Iterator<Item = &SketchTxn> {
        self.sessions.iter().flatten()
    }

    /// All transactions, to change them.
    pub fn txns_mut(&mut self) -> impl Iterator<Item = &mut SketchTxn> {
        self.sessions.iter_mut().flatten()
    }

    /// All operations.
    pub fn ops(&self) -> impl Iterator<Item = &SketchOp> {
        self.txns().flat_map(|txn| &txn.ops)
    }

    /// All operations, to change them.
    pub fn ops_mut(&mut self) -> impl Iterator<Item = &mut SketchOp> {
        self.txns_mut().flat_map(|txn| &mut txn.ops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sketch_of_a_history_builds_the_same_history() {
        for text in [
            "a: r(x)=0 w(y)=1\na: w(x)=2 unknown @[1,2]\nb: r(y)=1 abort\n",
            "init *=nil y=1\na: i(x)=1^2 d(x)=dead d(y) r(x)=?\nb: r[1..y)={x=1 ~y=2} r(..]=?\n",
            "init *=nil\na: a(x)=1 r(x)=[1]\nb: r(x)=[?]\n",
            "init *=?\na: p(v = 1)={x=1} pw(true)={v: 1}*1~{x} pd(v < 2)\n",
        ] {
            let history = formats::notation::parse(text).unwrap();
            let rebuilt = Sketch::of(&history).unwrap().build();
            let printed = formats::notation::print(&history).unwrap();
            assert_eq!(formats::notation::print(&rebuilt).unwrap(), printed);
        }
    }
}
