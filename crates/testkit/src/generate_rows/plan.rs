//! What transactions set out to do, by the content of the history.

use history::{Bound, Change, Datum};

use super::{RowKind, Shape, int};
use crate::{Random, Sketch};

/// An operation before it has an answer.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum PlannedOp {
    Read {
        key: usize,
    },
    /// A read that tells the version.
    ReadVersion {
        key: usize,
    },
    Write {
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
    Append {
        key: usize,
        value: Datum,
    },
    ReadList {
        key: usize,
    },
    Range {
        from: Bound,
        to: Bound,
        shows_dead: bool,
    },
    PredicateRead {
        predicate: Datum,
    },
    PredicateWrite {
        predicate: Datum,
        change: Change,
    },
}

/// A history without transactions: the keys and what they hold at first.
pub(super) fn empty_sketch(random: &mut Random, shape: &Shape) -> Sketch {
    let count = random.between(1, shape.keys);
    let mut sketch = Sketch::new(count);
    if random.percent(50) {
        sketch.keys = (1..=count).map(int).collect();
    }
    sketch.initial = match shape.content {
        RowKind::Lists => Some(Datum::Nil),
        RowKind::Versions => Some(int(0)),
        RowKind::Ranges if random.percent(5) => None,
        RowKind::Columns => Some(Datum::Nil),
        _ => Some(if random.percent(70) { Datum::Nil } else { int(0) }),
    };
    let is_row = !matches!(shape.content, RowKind::Lists | RowKind::Versions);
    for key in (0..count).filter(|_| is_row) {
        if random.percent(50) {
            sketch.recorded.push((key, value(random, shape)));
        }
    }
    sketch
}

/// A row, of one value or of two columns.
fn value(random: &mut Random, shape: &Shape) -> Datum {
    let mut number = || int(random.between(0, shape.values));
    match shape.content {
        RowKind::Columns => Datum::row(vec![("a".into(), number()), ("b".into(), number())]),
        _ => number(),
    }
}

/// What is common to all transactions of a history.
pub(super) struct Plan<'s> {
    shape: &'s Shape,
    keys: Vec<Datum>,
    shows_dead: bool,
    /// Few predicates, so that several transactions have the same.
    predicates: Vec<Datum>,
}

impl<'s> Plan<'s> {
    pub fn of(random: &mut Random, shape: &'s Shape, keys: &[Datum]) -> Self {
        let mut plan =
            Self { shape, keys: keys.to_vec(), shows_dead: random.percent(50), predicates: Vec::new() };
        for _ in 0..random.between(1, 3) {
            let predicate = plan.predicate(random);
            plan.predicates.push(predicate);
        }
        plan
    }

    pub fn step(&self, random: &mut Random, txn: usize) -> PlannedOp {
        let key = random.below(self.keys.len());
        let value = value(random, self.shape);
        match self.shape.content {
            // Elements are unique, as in the recordings of list-append; now and then one is not.
            RowKind::Lists if random.percent(45) => {
                let element = if random.percent(95) { txn * 10 + random.below(10) } else { 1 };
                PlannedOp::Append { key, value: int(element) }
            }
            RowKind::Lists => PlannedOp::ReadList { key },
            RowKind::Versions if random.percent(50) => PlannedOp::ReadVersion { key },
            RowKind::Versions => PlannedOp::Write { key, value },
            RowKind::Ranges => self.row_step(random, key, value),
            RowKind::Mixed if random.percent(50) => self.row_step(random, key, value),
            RowKind::Predicates | RowKind::Columns | RowKind::Mixed => {
                self.predicate_step(random, key, value)
            }
        }
    }

    fn row_step(&self, random: &mut Random, key: usize, value: Datum) -> PlannedOp {
        match random.below(10) {
            0 => PlannedOp::Insert { key, value },
            1 | 2 => PlannedOp::Write { key, value },
            3 | 4 => {
                let mark = int(90 + random.below(2));
                let mark = if random.percent(90) { mark } else { value };
                PlannedOp::Delete { key, mark: random.percent(self.shape.marked).then_some(mark) }
            }
            5 | 6 => PlannedOp::Read { key },
            _ => PlannedOp::Range {
                from: self.bound(random),
                to: self.bound(random),
                shows_dead: self.shows_dead,
            },
        }
    }

    fn bound(&self, random: &mut Random) -> Bound {
        let key = random.pick(&self.keys).clone();
        match random.below(4) {
            0 | 1 => Bound::Unbounded,
            2 => Bound::Included(key),
            _ => Bound::Excluded(key),
        }
    }

    fn predicate_step(&self, random: &mut Random, key: usize, value: Datum) -> PlannedOp {
        let predicate = random.pick(&self.predicates).clone();
        match random.below(10) {
            0 => PlannedOp::Insert { key, value },
            1 => PlannedOp::Delete { key, mark: None },
            2 => PlannedOp::Write { key, value },
            3 => PlannedOp::Read { key },
            4..=6 => PlannedOp::PredicateRead { predicate },
            _ => PlannedOp::PredicateWrite { predicate, change: self.change(random) },
        }
    }

    fn change(&self, random: &mut Random) -> Change {
        let number = int(random.between(0, self.shape.values));
        let plus = || Datum::row(vec![("+".into(), int(1))]);
        match (self.shape.content, random.below(6)) {
            (_, 0) => Change::Delete,
            (RowKind::Columns, 1) => Change::Set(Datum::row(vec![("a".into(), plus())])),
            (RowKind::Columns, 2) => Change::Set(value(random, self.shape)),
            (RowKind::Columns, _) => {
                let column = *random.pick(&["a", "b"]);
                Change::Set(Datum::row(vec![(column.into(), number)]))
            }
            (_, 1) => Change::Set(plus()),
            _ => Change::Set(number),
        }
    }

    fn predicate(&self, random: &mut Random) -> Datum {
        if random.percent(5) {
            return self.listed(random);
        }
        let first = self.condition(random);
        let text = match random.below(8) {
            0 => format!("{first} and {}", self.condition(random)),
            1 => format!("{first} or {}", self.condition(random)),
            2 => format!("not ({first})"),
            3 => "true".into(),
            _ => first,
        };
        text.as_str().into()
    }

    fn condition(&self, random: &mut Random) -> String {
        let column = match self.shape.content {
            RowKind::Columns => *random.pick(&["a", "b"]),
            _ => "v",
        };
        let (least, more) = (random.between(0, self.shape.values), random.between(0, 2));
        let key = match random.pick(&self.keys) {
            Datum::Str(text) => format!("'{text}'"),
            other => other.to_string(),
        };
        match random.below(9) {
            0 => format!("{column} != {least}"),
            1 => format!("{column} < {least}"),
            2 => format!("{column} between {least} and {}", least + more),
            3 => format!("{column} % 2 = {}", least % 2),
            4 => format!("key = {key}"),
            5 => format!("key >= {key}"),
            6 if self.shape.content == RowKind::Columns => "a <= b".into(),
            6 => format!("{column} in ({least}, {})", least + more),
            _ => format!("{column} = {least}"),
        }
    }

    /// A predicate that lists the versions that match.
    fn listed(&self, random: &mut Random) -> Datum {
        let mut items: Vec<Datum> = vec!["matches".into()];
        for _ in 0..random.between(1, 3) {
            let pair = [random.pick(&self.keys).clone(), value(random, self.shape)];
            items.push(Datum::List(pair.into()));
        }
        Datum::List(items.into())
    }
}
