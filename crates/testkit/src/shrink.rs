//! The smallest part of a history that still fails.
//!
//! Greedy: drop a session, a transaction, an operation; make an outcome certain, a time absent, a value 0; keep every
//! change after which the failure is still there, and go round until nothing changes. Quadratic in the history, which is
//! small.

use history::{Datum, History, Outcome, TxnTimes};

use crate::Sketch;

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
    drop_unused_keys(&mut sketch);
    let history_without_keys = sketch.build();
    if fails(&history_without_keys) { history_without_keys } else { history.clone() }
}

/// All sketches that are a little simpler, the largest cuts first.
fn candidates(sketch: &Sketch) -> impl Iterator<Item = Sketch> {
    let sessions = (0..sketch.sessions.len()).map(|session| without_session(sketch, session));
    let txns = places(sketch).map(|place| without_txn(sketch, place));
    let ops = op_places(sketch).map(|(place, op)| without_op(sketch, place, op));
    let outcomes = places(sketch).filter_map(|place| with_outcome(sketch, place));
    let times = places(sketch).flat_map(|place| with_fewer_times(sketch, place));
    let values = op_places(sketch).flat_map(|(place, op)| with_smaller_value(sketch, place, op));
    sessions.chain(txns).chain(ops).chain(outcomes).chain(times).chain(values)
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

/// Gives an operation, and with it all of the same key and value, a smaller number.
fn with_smaller_value(sketch: &Sketch, (session, txn): TxnPlace, op: usize) -> Vec<Sketch> {
    let old = sketch.sessions[session][txn].ops[op].clone();
    let Datum::Int(most) = old.value else {
        return Vec::new();
    };
    let with = |value: i64| {
        let mut simpler = sketch.clone();
        let same = |op: &&mut crate::SketchOp| op.key == old.key && op.value == old.value;
        let ops = simpler.txns_mut().flat_map(|txn| &mut txn.ops);
        ops.filter(same).for_each(|op| op.value = Datum::Int(value));
        simpler
    };
    (0..most.min(4)).map(with).collect()
}

fn drop_unused_keys(sketch: &mut Sketch) {
    for key in (0..sketch.keys.len()).rev() {
        if sketch.txns().flat_map(|txn| &txn.ops).any(|op| op.key == key) {
            continue;
        }
        sketch.keys.remove(key);
        let ops = sketch.txns_mut().flat_map(|txn| &mut txn.ops);
        ops.filter(|op| op.key > key).for_each(|op| op.key -= 1);
    }
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
}
