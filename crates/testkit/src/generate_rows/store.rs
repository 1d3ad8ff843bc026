//! The store behind the generator, and a transaction under way on it.
//!
//! It knows what the generator needs, and shares nothing with the oracle, which it feeds.

use history::{Bound, Change, Datum, Predicate, TxnTimes};

use super::plan::PlannedOp;
use crate::{Random, Sketch, SketchOp, SketchRow, SketchTxn, What};

/// What a key holds.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct StoredValue {
    /// The row or the list; nil if there is nothing; the mark if it is dead.
    pub value: Datum,
    pub is_dead: bool,
    /// How often it was written, roughly.
    version: i64,
}

/// What all keys hold.
pub(super) type Keys = Vec<StoredValue>;

/// What all keys hold.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct State(Keys);

impl State {
    pub fn initial(sketch: &Sketch) -> Self {
        let default = sketch.initial.clone().unwrap_or(Datum::Nil);
        let value = |key: usize| {
            let recorded = sketch.recorded.iter().find(|&&(recorded, _)| recorded == key);
            recorded.map_or(default.clone(), |(_, value)| value.clone())
        };
        let held = |key| StoredValue { value: value(key), is_dead: false, version: 0 };
        Self((0..sketch.keys.len()).map(held).collect())
    }
}

/// A transaction under way.
pub(super) struct RowClient {
    steps: Vec<PlannedOp>,
    at: usize,
    pub snapshot: Option<State>,
    /// What the transaction wrote itself.
    own: Vec<Option<StoredValue>>,
    pub txn: SketchTxn,
}

impl RowClient {
    pub fn new(steps: Vec<PlannedOp>) -> Self {
        Self { steps, at: 0, snapshot: None, own: Vec::new(), txn: SketchTxn::committed(Vec::new()) }
    }

    pub fn begin(&mut self, seen: State, now: i64) {
        self.own = vec![None; seen.0.len()];
        self.snapshot = Some(seen);
        self.txn.times =
            TxnTimes { begin_request: Some(now - 1), begin_response: Some(now), ..TxnTimes::default() };
    }

    pub fn has_steps(&self) -> bool {
        self.at < self.steps.len()
    }

    /// Whether a key that it wrote is not what it was when it began.
    pub fn conflicts_with(&self, state: &State) -> bool {
        let Some(begun) = &self.snapshot else { return false };
        let is_changed = |key: usize| begun.0[key] != state.0[key];
        (0..self.own.len()).any(|key| self.own[key].is_some() && is_changed(key))
    }

    /// Puts what it wrote into the store, and notes the versions if they are recorded.
    pub fn commit(&mut self, random: &mut Random, state: &mut State, records_versions: bool) {
        for (key, own) in self.own.iter().enumerate() {
            let Some(own) = own else { continue };
            let version = state.0[key].version + random.between(1, 2) as i64;
            state.0[key] = StoredValue { version, ..own.clone() };
            let writes = |op: &&mut SketchOp| op.key() == Some(key) && op.written().is_some();
            if let Some(op) = self.txn.ops.iter_mut().rev().find(writes) {
                op.version = (records_versions && random.percent(80)).then_some(version);
            }
        }
    }

    /// The next operation, against the snapshot or against the store as it is now. So many of a hundred writes by
    /// predicate return the rows that they changed.
    pub fn operate(&mut self, random: &mut Random, keys: &[Datum], now: Option<&State>, returning: usize) {
        let step = self.steps[self.at].clone();
        self.at += 1;
        let below = now.or(self.snapshot.as_ref()).expect("it has begun");
        let seen: Keys =
            (0..keys.len()).map(|key| self.own[key].clone().unwrap_or(below.0[key].clone())).collect();
        let mut op = SketchOp::new(self.do_step(random, keys, &seen, step.clone()));
        if let PlannedOp::ReadVersion { key } = step
            && self.own[key].is_none()
        {
            op.version = random.percent(80).then_some(seen[key].version);
        }
        if let What::PredicateWrite { predicate, is_returning, .. } = &mut op.what
            && returning > 0
            && random.percent(returning)
        {
            *is_returning = true;
            let matching = matching(keys, &seen, predicate).into_iter();
            let rows = Some(matching.map(|key| row(key, &seen[key])).collect());
            self.txn.ops.push(SketchOp::new(What::PredicateRead { predicate: predicate.clone(), rows }));
        }
        self.txn.ops.push(op);
    }

    fn do_step(&mut self, random: &mut Random, keys: &[Datum], seen: &Keys, step: PlannedOp) -> What {
        match step {
            PlannedOp::Read { key } | PlannedOp::ReadVersion { key } => {
                What::Read { key, value: random.percent(97).then(|| seen[key].value.clone()) }
            }
            PlannedOp::Write { key, value } => {
                self.hold(key, value.clone(), false);
                What::Write { key, value }
            }
            PlannedOp::Insert { key, value } => {
                self.hold(key, value.clone(), false);
                What::Insert { key, value }
            }
            PlannedOp::Delete { key, mark } => {
                self.hold(key, mark.clone().unwrap_or(Datum::Nil), mark.is_some());
                What::Delete { key, mark }
            }
            PlannedOp::Append { key, value } => {
                let mut list = elements(&seen[key].value);
                list.push(value.clone());
                self.hold(key, Datum::List(list.into()), false);
                What::Append { key, value }
            }
            PlannedOp::ReadList { key } => What::ReadList { key, list: Some(elements(&seen[key].value)) },
            PlannedOp::Range { from, to, shows_dead } => range(random, keys, seen, (from, to), shows_dead),
            PlannedOp::PredicateRead { predicate } => {
                let matching = matching(keys, seen, &predicate).into_iter();
                let rows = matching.map(|key| row(key, &seen[key])).collect();
                What::PredicateRead { predicate, rows: random.percent(97).then_some(rows) }
            }
            PlannedOp::PredicateWrite { predicate, change } => {
                self.change(random, keys, seen, predicate, change)
            }
        }
    }

    fn change(
        &mut self,
        random: &mut Random,
        keys: &[Datum],
        seen: &Keys,
        predicate: Datum,
        change: Change,
    ) -> What {
        let matching = matching(keys, seen, &predicate);
        for &key in &matching {
            self.hold(key, change.apply(&seen[key].value), false);
        }
        What::PredicateWrite {
            predicate,
            change,
            row_count: random.percent(40).then_some(matching.len() as u64),
            keys: random.percent(20).then_some(matching),
            is_returning: false,
        }
    }

    fn hold(&mut self, key: usize, value: Datum, is_dead: bool) {
        self.own[key] = Some(StoredValue { value, is_dead, version: 0 });
    }
}

fn elements(value: &Datum) -> Vec<Datum> {
    match value {
        Datum::List(elements) => elements.to_vec(),
        _ => Vec::new(),
    }
}

fn row(key: usize, held: &StoredValue) -> SketchRow {
    SketchRow { key, value: held.value.clone(), is_dead: held.is_dead }
}

fn matching(keys: &[Datum], seen: &Keys, predicate: &Datum) -> Vec<usize> {
    let predicate = Predicate::parse(predicate).expect("the plan makes predicates");
    let matches = |&key: &usize| !seen[key].is_dead && predicate.matches(&keys[key], &seen[key].value);
    (0..keys.len()).filter(matches).collect()
}

fn range(
    random: &mut Random,
    keys: &[Datum],
    seen: &Keys,
    (from, to): (Bound, Bound),
    shows_dead: bool,
) -> What {
    let is_inside = |key: &usize| {
        let key = &keys[*key];
        let is_after = match &from {
            Bound::Unbounded => true,
            Bound::Included(limit) => key >= limit,
            Bound::Excluded(limit) => key > limit,
        };
        let is_before = match &to {
            Bound::Unbounded => true,
            Bound::Included(limit) => key <= limit,
            Bound::Excluded(limit) => key < limit,
        };
        is_after && is_before
    };
    let is_shown = |key: &usize| seen[*key].value != Datum::Nil && (shows_dead || !seen[*key].is_dead);
    let shown = (0..keys.len()).filter(is_inside).filter(is_shown);
    let rows = shown.map(|key| row(key, &seen[key])).collect();
    What::Range { from, to, rows: random.percent(97).then_some(rows) }
}
