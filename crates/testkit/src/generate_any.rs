//! Random small histories that mix kinds: registers, rows, ranges, lists, versions and predicates in one history.
//!
//! The other generators draw one kind at a time. Here a history is one of theirs, or two of them side by side: the n-th
//! transactions of both become one, on the keys of both. Outcomes are then drawn once more, so that transactions of
//! unknown outcome are common in every kind.

use history::{Datum, Outcome};

use crate::generate_rows::Content;
use crate::{Random, Sketch, SketchTxn, generate, generate_rows};

/// A history that depends on the seed alone; the oracle may refuse it.
pub fn sketch(random: &mut Random) -> Sketch {
    let mut sketch = one_kind(random);
    if random.percent(40) {
        sketch = beside(sketch, one_kind(random));
    }
    if random.percent(30) {
        let place = random.below(sketch.txns().count().max(1));
        if let Some(txn) = sketch.txns_mut().nth(place) {
            txn.outcome = *random.pick(&[Outcome::Unknown, Outcome::Unknown, Outcome::Aborted]);
        }
    }
    sketch
}

fn one_kind(random: &mut Random) -> Sketch {
    if random.percent(30) {
        let mut shape = generate::Shape::any(random);
        shape.most_txns = shape.most_txns.min(5);
        shape.unknown_initial = random.percent(20);
        return generate::sketch(random, &shape);
    }
    let content = *random.pick(&Content::ALL);
    let mut shape = generate_rows::Shape::any(content, random);
    shape.most_txns = shape.most_txns.min(5);
    generate_rows::sketch(random, &shape)
}

/// Both histories as one: the times are those of the first. Histories of unknown initial values stay alone.
fn beside(left: Sketch, right: Sketch) -> Sketch {
    let (Some(_), Some(default)) = (&left.initial, &right.initial) else { return left };
    let offset = left.keys.len();
    let mut both = left;
    let default = default.clone();
    for (place, _) in right.keys.iter().enumerate() {
        both.keys.push(Datum::str(format!("q{place}")));
        let recorded = right.recorded.iter().find(|&&(key, _)| key == place);
        let value = recorded.map_or(&default, |(_, value)| value);
        both.recorded.push((offset + place, value.clone()));
    }
    for (session, txns) in right.sessions.into_iter().enumerate() {
        if both.sessions.len() <= session {
            both.sessions.push(Vec::new());
        }
        for (place, txn) in txns.into_iter().enumerate() {
            add(&mut both.sessions[session], place, txn, offset);
        }
    }
    both
}

fn add(session: &mut Vec<SketchTxn>, place: usize, mut txn: SketchTxn, offset: usize) {
    for op in &mut txn.ops {
        op.keys_mut().into_iter().for_each(|key| *key += offset);
    }
    match session.get_mut(place) {
        Some(known) => known.ops.extend(txn.ops),
        None => session.push(SketchTxn { times: Default::default(), ..txn }),
    }
}
