//! Random small histories that mix kinds: registers, lists, ranges, versions and predicates in one history.
//!
//! Two histories of [`crate::generate_rows`] or [`crate::generate`] are drawn and joined: each keeps its own keys, and
//! their transactions are run in the same sessions, some of them merged into one. Then the recording is made worse in
//! the ways that recordings are: initial values are unknown, a predicate is not understood, times are missing or equal,
//! some versions are not recorded, a list is written or read as a whole, an element is appended twice.
//!
//! The oracle refuses some of these histories; [`crate::oracle::variants`] says what can be asked of it instead.

use history::{Datum, History, Outcome, TxnTimes};

use crate::generate_rows::RowKind;
use crate::{Random, Sketch, SketchOp, SketchTxn, What, generate, generate_rows};

/// A history that depends on the seed alone.
pub fn history(seed: u64) -> History {
    sketch(&mut Random::new(seed)).build()
}

/// The same as a sketch, from a source of random numbers.
pub fn sketch(random: &mut Random) -> Sketch {
    let (first, second) = (part(random), part(random));
    let mut sketch = join(random, first, second);
    for _ in 0..random.between(0, 2) {
        spoil(random, &mut sketch);
    }
    sketch
}

/// One kind of history, of few transactions.
fn part(random: &mut Random) -> Sketch {
    let kinds = RowKind::ALL.len() + 2;
    match random.below(kinds) {
        kind if kind < RowKind::ALL.len() => {
            let shape = generate_rows::Shape::any(RowKind::ALL[kind], random);
            let shape = generate_rows::Shape { least_txns: 2, most_txns: 4, keys: 2, ..shape };
            generate_rows::sketch(random, &shape)
        }
        _ => {
            let shape = generate::Shape::any(random);
            let shape = generate::Shape { least_txns: 2, most_txns: 4, keys: 2, ..shape };
            generate::sketch(random, &shape)
        }
    }
}

/// Both histories at once; keys of the second are renamed, so that each history keeps its own.
fn join(random: &mut Random, first: Sketch, second: Sketch) -> Sketch {
    let shift = first.keys.len();
    let mut joined = first;
    let first_initial = joined.initial.clone();
    joined.keys.extend((0..second.keys.len()).map(|key| Datum::str(format!("m{key}"))));
    joined.initial = if random.percent(50) { first_initial.clone() } else { second.initial.clone() };
    if joined.initial != second.initial {
        record_initial(&mut joined, shift..shift + second.keys.len(), &second.initial);
    } else if joined.initial != first_initial {
        record_initial(&mut joined, 0..shift, &first_initial);
    }
    joined.recorded.extend(second.recorded.iter().map(|(key, value)| (key + shift, value.clone())));
    joined.recorded.sort_by_key(|&(key, _)| key);
    joined.recorded.dedup_by_key(|&mut (key, _)| key);
    for (place, txns) in second.sessions.into_iter().enumerate() {
        let txns = txns.into_iter().map(|txn| shifted(txn, shift));
        match joined.sessions.get_mut(place) {
            Some(session) => *session = woven(random, std::mem::take(session), txns.collect()),
            None => joined.sessions.push(txns.collect()),
        }
    }
    joined
}

/// What keys of one part hold at first, where the default is another one. Values that are unknown stay so only where
/// nothing is recorded, so then the default becomes unknown.
fn record_initial(joined: &mut Sketch, keys: std::ops::Range<usize>, initial: &Option<Datum>) {
    let Some(value) = initial else {
        joined.initial = None;
        return;
    };
    let missing = keys.filter(|key| joined.recorded.iter().all(|(known, _)| known != key));
    let missing: Vec<_> = missing.map(|key| (key, value.clone())).collect();
    joined.recorded.extend(missing);
}

fn shifted(mut txn: SketchTxn, by: usize) -> SketchTxn {
    txn.ops.iter_mut().flat_map(SketchOp::keys_mut).for_each(|key| *key += by);
    txn
}

/// The transactions of two sessions in the order of their begins, some of them merged into one.
fn woven(random: &mut Random, first: Vec<SketchTxn>, second: Vec<SketchTxn>) -> Vec<SketchTxn> {
    let merges = random.percent(50);
    let (mut first, mut second) = (first.into_iter().peekable(), second.into_iter().peekable());
    let mut all = Vec::new();
    loop {
        match (first.peek().is_some(), second.peek().is_some()) {
            (true, true) if merges => {
                if let (Some(one), Some(other)) = (first.next(), second.next()) {
                    all.push(merged(one, other));
                }
            }
            (true, _) if second.peek().is_none() || random.percent(50) => all.extend(first.next()),
            (_, true) => all.extend(second.next()),
            _ => return without_overlap(all),
        }
    }
}

/// One transaction that did what two did, in the time of the first.
fn merged(one: SketchTxn, other: SketchTxn) -> SketchTxn {
    let outcome = match (one.outcome, other.outcome) {
        (Outcome::Committed, outcome) | (outcome, Outcome::Committed) => outcome,
        (outcome, _) => outcome,
    };
    SketchTxn { ops: [one.ops, other.ops].concat(), outcome, times: one.times }
}

/// A session does one thing at a time: a transaction that would begin before the last one ended loses its times.
fn without_overlap(mut session: Vec<SketchTxn>) -> Vec<SketchTxn> {
    let mut latest = i64::MIN;
    for txn in &mut session {
        let all = [
            txn.times.begin_request,
            txn.times.begin_response,
            txn.times.commit_request,
            txn.times.commit_response,
        ];
        let first = all.into_iter().flatten().min();
        if first.is_some_and(|first| first < latest) {
            txn.times = TxnTimes::default();
        }
        let own = all.into_iter().flatten().max().filter(|_| first.is_some_and(|first| first >= latest));
        latest = latest.max(own.unwrap_or(i64::MIN));
    }
    session
}

/// Makes the recording worse in one way.
fn spoil(random: &mut Random, sketch: &mut Sketch) {
    match random.below(9) {
        0 => sketch.initial = None,
        1 => forget_meaning(random, sketch),
        2 => forget_times(random, sketch),
        3 => make_times_equal(random, sketch),
        4 => forget_versions(random, sketch),
        5 => append_twice(random, sketch),
        6 => treat_list_as_value(random, sketch),
        7 => start_with_list(random, sketch),
        _ => change_outcome(random, sketch),
    }
}

fn any_op<'s>(random: &mut Random, sketch: &'s mut Sketch) -> Option<&'s mut SketchOp> {
    let count = sketch.ops().count();
    if count == 0 {
        return None;
    }
    let place = random.below(count);
    sketch.ops_mut().nth(place)
}

fn any_txn<'s>(random: &mut Random, sketch: &'s mut Sketch) -> Option<&'s mut SketchTxn> {
    let count = sketch.txns().count();
    if count == 0 {
        return None;
    }
    let place = random.below(count);
    sketch.txns_mut().nth(place)
}

/// A predicate that isoscope does not understand.
fn forget_meaning(random: &mut Random, sketch: &mut Sketch) {
    let unknown = Datum::List([Datum::str("foo"), Datum::Int(1)].into());
    for op in sketch.ops_mut() {
        if let What::PredicateRead { predicate, .. } | What::PredicateWrite { predicate, .. } = &mut op.what
            && random.percent(40)
        {
            *predicate = unknown.clone();
        }
    }
}

fn forget_times(random: &mut Random, sketch: &mut Sketch) {
    if let Some(txn) = any_txn(random, sketch) {
        match random.below(3) {
            0 => txn.times = TxnTimes::default(),
            1 => (txn.times.begin_response, txn.times.commit_request) = (None, None),
            _ => (txn.times.begin_request, txn.times.begin_response) = (None, None),
        }
    }
}

/// A clock that is read once: all times of a transaction are the same.
fn make_times_equal(random: &mut Random, sketch: &mut Sketch) {
    if let Some(txn) = any_txn(random, sketch)
        && let Some(time) = txn.times.commit_response.or(txn.times.begin_request)
    {
        let time = Some(time);
        txn.times = TxnTimes {
            begin_request: time,
            begin_response: time,
            commit_request: time,
            commit_response: time,
        };
    }
}

fn forget_versions(random: &mut Random, sketch: &mut Sketch) {
    for op in sketch.ops_mut() {
        if random.percent(40) {
            op.version = None;
        }
    }
}

fn append_twice(random: &mut Random, sketch: &mut Sketch) {
    let appended = sketch.ops().find(|op| matches!(op.what, What::Append { .. })).cloned();
    if let (Some(op), Some(txn)) = (appended, any_txn(random, sketch)) {
        txn.ops.push(op);
    }
}

/// A register that holds a list is read as a list, or a list is written as a whole.
fn treat_list_as_value(random: &mut Random, sketch: &mut Sketch) {
    let Some(op) = any_op(random, sketch) else { return };
    match &mut op.what {
        What::Read { key, value: Some(value) } => {
            op.what = What::ReadList { key: *key, list: Some(vec![value.clone()]) };
        }
        What::Append { key, value } => {
            op.what = What::Write { key: *key, value: Datum::List([value.clone()].into()) };
        }
        What::Write { value, .. } => *value = Datum::List([value.clone()].into()),
        _ => {}
    }
}

fn start_with_list(random: &mut Random, sketch: &mut Sketch) {
    let key = random.below(sketch.keys.len());
    sketch.recorded.retain(|&(known, _)| known != key);
    sketch.recorded.push((key, Datum::List([Datum::Int(3)].into())));
    sketch.recorded.sort_by_key(|&(key, _)| key);
}

fn change_outcome(random: &mut Random, sketch: &mut Sketch) {
    let outcome = *random.pick(&[Outcome::Unknown, Outcome::Unknown, Outcome::Aborted]);
    if let Some(txn) = any_txn(random, sketch) {
        txn.outcome = outcome;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_histories_and_others_differ() {
        let text = |seed| formats::notation::print(&history(seed)).unwrap();
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
    }

    #[test]
    fn most_histories_can_be_asked_of_the_oracle() {
        let is_refused = |seed: &u64| crate::oracle::refusal(&history(*seed)).is_some();
        let refused = (0..2000).filter(is_refused).count();
        assert!((50..1000).contains(&refused), "{refused} of 2000");
    }
}
