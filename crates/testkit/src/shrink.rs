//! The smallest part of a history that still fails.
//!
//! Greedy: drop a session, a transaction, an operation, a row of an answer, a key; make an outcome certain, a time
//! absent, a value 0, a predicate true; keep every change after which the failure is still there, and go round until nothing changes. Quadratic in the history, which is
//! small.

use history::{Bound, Datum, History, Outcome, TxnTimes};

use crate::{Sketch, SketchOp, What};

/// Shrinks a history for which `fails` is true to one from which nothing more can be taken.
///
/// A history that a [`Sketch`] cannot hold comes back as it is.
pub fn shrink(history: &History, fails: &dyn Fn(&History) -> bool) -> History {
    let Some(mut sketch) = Sketch::of(history) else {
        return history.clone();
    };
    if !fails(&sketch.build()) {
        return history.clone();
    }
    loop {
        let smaller = candidates(&sketch).find(|candidate| fails(&candidate.build()));
        match smaller {
            Some(smaller) => sketch = smaller,
            None => break,
        }
    }
    sketch.build()
}

/// All sketches that are a little simpler, the largest cuts first.
fn candidates(sketch: &Sketch) -> impl Iterator<Item = Sketch> {
    let sessions = (0..sketch.sessions.len()).map(|session| without_session(sketch, session));
    let txns = places(sketch).map(|place| without_txn(sketch, place));
    let ops = op_places(sketch).map(|(place, op)| without_op(sketch, place, op));
    let outcomes = places(sketch).filter_map(|place| with_outcome(sketch, place));
    let times = places(sketch).flat_map(|place| with_fewer_times(sketch, place));
    let values = op_places(sketch).flat_map(|(place, op)| with_smaller_value(sketch, place, op));
    let contents = op_places(sketch).flat_map(|(place, op)| with_less_in_op(sketch, place, op));
    let initial = (0..sketch.recorded.len()).map(|place| without_initial(sketch, place));
    let keys = (0..sketch.keys.len()).filter_map(|key| without_unused_key(sketch, key));
    let large = sessions.chain(txns).chain(ops).chain(outcomes).chain(times);
    large.chain(contents).chain(values).chain(initial).chain(keys)
}

type TxnPlace = (usize, usize);

fn places(sketch: &Sketch) -> impl Iterator<Item = TxnPlace> {
    let of_session = |(session, txns): (usize, &Vec<_>)| (0..txns.len()).map(move |txn| (session, txn));
    sketch.sessions.iter().enumerate().flat_map(of_session)
}

fn op_places(sketch: &Sketch) -> impl Iterator<Item = (TxnPlace, usize)> {
    let count = |(session, txn): TxnPlace| sketch.sessions[session][txn].ops.len();
    places(sketch).flat_map(move |place| (0..count(place)).map(move |op| (place, op)))
}

fn without_session(sketch: &Sketch, session: usize) -> Sketch {
    let mut smaller = sketch.clone();
    smaller.sessions.remove(session);
    smaller
}

fn without_txn(sketch: &Sketch, (session, txn): TxnPlace) -> Sketch {
    let mut smaller = sketch.clone();
    smaller.sessions[session].remove(txn);
    smaller.sessions.retain(|txns| !txns.is_empty());
    smaller
}

fn without_op(sketch: &Sketch, (session, txn): TxnPlace, op: usize) -> Sketch {
    let mut smaller = sketch.clone();
    smaller.sessions[session][txn].ops.remove(op);
    smaller
}

fn with_outcome(sketch: &Sketch, (session, txn): TxnPlace) -> Option<Sketch> {
    let mut simpler = sketch.clone();
    let outcome = &mut simpler.sessions[session][txn].outcome;
    *outcome = match *outcome {
        Outcome::Unknown => Outcome::Committed,
        Outcome::Aborted | Outcome::Committed => return None,
    };
    Some(simpler)
}

fn with_fewer_times(sketch: &Sketch, (session, txn): TxnPlace) -> Vec<Sketch> {
    let times = sketch.sessions[session][txn].times;
    let fewer = [
        TxnTimes::default(),
        TxnTimes { begin_request: None, ..times },
        TxnTimes { begin_response: None, ..times },
        TxnTimes { commit_request: None, ..times },
        TxnTimes { commit_response: None, ..times },
    ];
    let changed = fewer.into_iter().filter(|fewer| *fewer != times);
    let with = |times| {
        let mut simpler = sketch.clone();
        simpler.sessions[session][txn].times = times;
        simpler
    };
    changed.map(with).collect()
}

/// Gives a value that an operation saw or wrote, and with it all of the same key and value, a smaller number.
fn with_smaller_value(sketch: &Sketch, (session, txn): TxnPlace, op: usize) -> Vec<Sketch> {
    let mut op = sketch.sessions[session][txn].ops[op].clone();
    let mut smaller = Vec::new();
    for key in 0..sketch.keys.len() {
        for old in op.values_mut(key) {
            let Datum::Int(most) = *old else { continue };
            smaller.extend((0..most.min(4)).map(|value| with_value(sketch, key, most, value)));
        }
    }
    smaller
}

fn with_value(sketch: &Sketch, key: usize, old: i64, new: i64) -> Sketch {
    let mut simpler = sketch.clone();
    let values = simpler.ops_mut().flat_map(|op| op.values_mut(key));
    values.filter(|value| **value == Datum::Int(old)).for_each(|value| *value = Datum::Int(new));
    simpler
}

/// Takes something from what an operation says: a row, a count, a version, a predicate's conditions.
fn with_less_in_op(sketch: &Sketch, (session, txn): TxnPlace, place: usize) -> Vec<Sketch> {
    let op = &sketch.sessions[session][txn].ops[place];
    let with = |simpler_op: SketchOp| {
        let mut simpler = sketch.clone();
        simpler.sessions[session][txn].ops[place] = simpler_op;
        simpler
    };
    simpler_ops(op).into_iter().filter(|simpler| simpler != op).map(with).collect()
}

fn simpler_ops(op: &SketchOp) -> Vec<SketchOp> {
    let mut simpler = vec![SketchOp { version: None, ..op.clone() }];
    let rows = op.clone().rows_mut().map_or(0, |rows| rows.len());
    simpler.extend((0..rows).map(|row| {
        let mut less = op.clone();
        less.rows_mut().expect("it has rows").remove(row);
        less
    }));
    if let What::PredicateWrite { predicate, change, row_count, keys, is_returning } = op.what.clone() {
        let with = |row_count, keys| {
            let (predicate, change) = (predicate.clone(), change.clone());
            SketchOp::new(What::PredicateWrite { predicate, change, row_count, keys, is_returning })
        };
        simpler.extend([with(None, keys), with(row_count, None)]);
    }
    let mut what = op.what.clone();
    match &mut what {
        What::PredicateRead { predicate, .. } => *predicate = Datum::Bool(true),
        What::PredicateWrite { predicate, .. } => *predicate = Datum::Bool(true),
        What::ReadList { list: Some(list), .. } => list.truncate(list.len().saturating_sub(1)),
        What::Delete { mark, .. } => *mark = None,
        What::Range { from, to, .. } => (*from, *to) = (Bound::Unbounded, Bound::Unbounded),
        _ => {}
    }
    simpler.push(SketchOp { what, ..op.clone() });
    simpler
}

fn without_initial(sketch: &Sketch, place: usize) -> Sketch {
    let mut simpler = sketch.clone();
    simpler.recorded.remove(place);
    simpler
}

fn without_unused_key(sketch: &Sketch, key: usize) -> Option<Sketch> {
    let mut smaller = sketch.clone();
    let is_used = smaller.ops_mut().any(|op| op.keys_mut().iter().any(|used| **used == key));
    if is_used {
        return None;
    }
    smaller.keys.remove(key);
    smaller.recorded.retain(|&(recorded, _)| recorded != key);
    let recorded = smaller.recorded.iter_mut().map(|(recorded, _)| recorded);
    recorded.filter(|other| **other > key).for_each(|other| *other -= 1);
    let used = smaller.ops_mut().flat_map(|op| op.keys_mut());
    used.filter(|other| **other > key).for_each(|other| *other -= 1);
    Some(smaller)
}

#[cfg(test)]
mod tests {
    use super::*;
    use certify::Level;

    #[test]
    fn only_the_lost_update_is_left() {
        let history = formats::notation::parse(
            "
            a: w(y)=5
            a: r(x)=0 r(y)=5 w(x)=21 w(z)=7 @[1,9]
            b: r(x)=0 w(x)=32
            b: r(x)=32 unknown
            c: r(z)=7 r(y)=5
            ",
        )
        .unwrap();
        // Without the second part, a read whose writer was dropped would do.
        let holds = |history: &History, level| crate::oracle::holds(history, &level);
        let fails =
            |history: &History| !holds(history, Level::SNAPSHOT_ISOLATION) && holds(history, Level::PREFIX);
        let smallest = shrink(&history, &fails);
        let text = formats::notation::print(&smallest).unwrap();
        assert_eq!(text, "a: r(x)=0 w(x)=1\nb: r(x)=0 w(x)=1\n");
    }

    #[test]
    fn only_the_update_by_predicate_that_was_lost_is_left() {
        let history = formats::notation::parse(
            "
            init *=nil y=1 z=3
            a: p(v between 1 and 3)={y=1 z=3} pw(v = 3)=8*1 p(v > 3)={z=8}
            b: r[x..y]={y=1} i(x)=2^4 pw(v = 3)={\"+\": 1}*1~{z}
            c: r[x..y]={x=2 y=1} d(z)=9
            ",
        )
        .unwrap();
        let holds = |history: &History, level| crate::oracle::holds(history, &level);
        let fails =
            |history: &History| !holds(history, Level::SNAPSHOT_ISOLATION) && holds(history, Level::PREFIX);
        let text = formats::notation::print(&shrink(&history, &fails)).unwrap();
        assert_eq!(text, "init *=nil z=3\na: pw(v = 3)=8*1\nb: pw(v = 3)={\"+\": 1}~{z}\n");
    }
}
