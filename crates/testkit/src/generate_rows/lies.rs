//! Changes an answer, to something that could have been one.

use history::Datum;

use super::{Shape, int};
use crate::{Random, Sketch, SketchOp, SketchRow, What};

/// Changes one answer, if there is one to change.
pub(super) fn tell(random: &mut Random, shape: &Shape, sketch: &mut Sketch) {
    let keys = sketch.keys.len();
    let written: Vec<(usize, Datum)> =
        sketch.ops().filter_map(|op| Some((op.key()?, op.written()?))).collect();
    let mut answers: Vec<&mut SketchOp> = sketch.ops_mut().filter(|op| has_answer(op)).collect();
    if answers.is_empty() {
        return;
    }
    let place = random.below(answers.len());
    let op = &mut answers[place];
    if let Some(version) = &mut op.version
        && random.percent(30)
    {
        *version += random.between(0, 4) as i64 - 2;
        return;
    }
    let liar = Liar { shape, keys, written };
    liar.change(random, &mut op.what);
}

fn has_answer(op: &SketchOp) -> bool {
    match &op.what {
        What::Read { value, .. } => value.is_some(),
        What::ReadList { list, .. } => list.is_some(),
        What::Range { rows, .. } | What::PredicateRead { rows, .. } => rows.is_some(),
        What::PredicateWrite { row_count, keys, .. } => row_count.is_some() || keys.is_some(),
        _ => false,
    }
}

struct Liar<'s> {
    shape: &'s Shape,
    keys: usize,
    written: Vec<(usize, Datum)>,
}

impl Liar<'_> {
    fn change(&self, random: &mut Random, what: &mut What) {
        match what {
            What::Read { key, value } => *value = Some(self.some_value(random, *key)),
            What::ReadList { list: Some(list), .. } => change_list(random, list),
            What::Range { rows: Some(rows), .. } | What::PredicateRead { rows: Some(rows), .. } => {
                self.change_rows(random, rows);
            }
            What::PredicateWrite { row_count: Some(count), .. } => *count = random.below(3) as u64,
            What::PredicateWrite { keys: Some(keys), .. } => match keys.pop() {
                Some(_) => {}
                None => keys.push(random.below(self.keys)),
            },
            _ => {}
        }
    }

    /// Something that the key held at some time, or might have.
    fn some_value(&self, random: &mut Random, key: usize) -> Datum {
        let of_key = self.written.iter().filter(|&&(written, _)| written == key);
        let mut values: Vec<Datum> = of_key.map(|(_, value)| value.clone()).collect();
        values.extend([Datum::Nil, int(random.between(0, self.shape.values))]);
        random.pick(&values).clone()
    }

    fn change_rows(&self, random: &mut Random, rows: &mut Vec<SketchRow>) {
        let key = random.below(self.keys);
        let new = SketchRow { key, value: self.some_value(random, key), is_dead: random.percent(10) };
        let place = random.below(rows.len().max(1));
        match random.below(6) {
            _ if rows.is_empty() => rows.push(new),
            0 | 1 => drop(rows.remove(place)),
            2 if random.percent(30) => rows.push(rows[place].clone()),
            3 if random.percent(30) => rows[place].is_dead = !rows[place].is_dead,
            4 if !rows.iter().any(|row| row.key == new.key) => rows.push(new),
            _ => rows[place].value = self.some_value(random, rows[place].key),
        }
    }
}

fn change_list(random: &mut Random, list: &mut Vec<Datum>) {
    let length = list.len();
    match random.below(4) {
        _ if length == 0 => list.push(int(random.below(20))),
        0 if length > 1 => list.swap(random.below(length), random.below(length)),
        1 => drop(list.remove(random.below(length))),
        2 => list.push(int(random.below(20))),
        _ => list.truncate(random.below(length)),
    }
}
