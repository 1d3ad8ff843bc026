//! Readings of a history that the oracle refuses.
//!
//! A key whose initial value was not recorded starts absent, or with one of the values that were seen of it and never
//! written; a predicate without a meaning is true of every row, or of none.

use history::{Datum, History};

use crate::{Sketch, What};

/// The most readings.
const MOST: usize = 48;

pub(super) fn of(history: &History) -> Vec<History> {
    let Some(sketch) = Sketch::of(history) else { return Vec::new() };
    let mut variants = vec![sketch];
    for meaning in ["true", "false"] {
        let known = variants[0].clone();
        variants.push(with_meaning(known, meaning));
    }
    variants.remove(0);
    variants.dedup();
    if variants[0].initial.is_none() {
        variants = variants.iter().flat_map(with_initial_values).collect();
    }
    variants.truncate(MOST);
    let built = variants.iter().map(Sketch::build);
    built.filter(|history| super::refusal(history).is_none()).collect()
}

fn with_meaning(mut sketch: Sketch, meaning: &str) -> Sketch {
    for op in sketch.ops_mut() {
        if let What::PredicateRead { predicate, .. } | What::PredicateWrite { predicate, .. } = &mut op.what
            && history::Predicate::parse(predicate).is_err()
        {
            *predicate = Datum::str(meaning);
        }
    }
    sketch
}

/// All combinations of initial values, up to a bound.
fn with_initial_values(sketch: &Sketch) -> Vec<Sketch> {
    let mut known = vec![Sketch { initial: Some(Datum::Nil), ..sketch.clone() }];
    for key in 0..sketch.keys.len() {
        if sketch.recorded.iter().any(|&(recorded, _)| recorded == key) {
            continue;
        }
        let choices = choices(sketch, key);
        let extended = known.iter().flat_map(|one| choices.iter().map(|value| with_initial(one, key, value)));
        known = extended.take(MOST).collect();
    }
    known
}

fn with_initial(sketch: &Sketch, key: usize, value: &Datum) -> Sketch {
    let mut other = sketch.clone();
    other.recorded.push((key, value.clone()));
    other.recorded.sort_by_key(|&(key, _)| key);
    other
}

/// What a key may hold at first. A key that is used as a list starts with a part of what was read of it.
fn choices(sketch: &Sketch, key: usize) -> Vec<Datum> {
    let mut choices = vec![Datum::Nil];
    let is_written =
        |value: &Datum| sketch.ops().any(|op| op.key() == Some(key) && op.written().as_ref() == Some(value));
    for op in sketch.ops() {
        let mut op = op.clone();
        if let What::ReadList { key: of, list: Some(list) } = &op.what
            && *of == key
        {
            choices.extend((1..=list.len()).map(|length| Datum::List(list[..length].into())));
            continue;
        }
        choices.extend(op.values_mut(key).into_iter().map(|value| value.clone()));
    }
    choices.retain(|value| *value == Datum::Nil || !is_written(value));
    let mut distinct: Vec<Datum> = Vec::new();
    for value in choices {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}
