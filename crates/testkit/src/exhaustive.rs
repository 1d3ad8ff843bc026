//! Every history of a small scope, one of each kind that differs only in names.
//!
//! A history is a word over a finite alphabet of operations; all are counted through, and one is given out if no
//! renaming of keys, of values other than 0, or of sessions makes it smaller. So of each class exactly one comes.

use history::{Datum, History, Outcome};

use crate::{Sketch, SketchOp, SketchTxn};

/// How large the histories may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    /// The lengths of the sessions, in ascending order: `[1, 1, 1]` are three transactions in sessions of their own.
    pub sessions: Vec<usize>,
    /// How many keys.
    pub keys: usize,
    /// The most operations of a transaction; the fewest is one.
    pub ops: usize,
    /// How many values: 0, the initial one, and others.
    pub values: usize,
    /// The outcomes a transaction may have.
    pub outcomes: Vec<Outcome>,
}

/// An operation as a letter: write or read, key, value.
type Letter = (bool, usize, usize);
type Txn = (Outcome, Vec<Letter>);

impl Scope {
    /// All histories of the scope.
    pub fn histories(&self) -> impl Iterator<Item = History> + '_ {
        self.words().filter(|word| self.is_least(word)).map(|word| self.sketch(&word).build())
    }

    /// All sequences of transactions.
    fn words(&self) -> impl Iterator<Item = Vec<Txn>> + '_ {
        let txns = self.txns();
        let length: usize = self.sessions.iter().sum();
        let total = txns.len().pow(length as u32);
        (0..total).map(move |mut number| {
            let mut digit = || {
                let digit = number % txns.len();
                number /= txns.len();
                txns[digit].clone()
            };
            (0..length).map(|_| digit()).collect()
        })
    }

    fn letters(&self) -> Vec<Letter> {
        let kinds = [false, true].into_iter();
        let with_keys = kinds.flat_map(|is_write| (0..self.keys).map(move |key| (is_write, key)));
        with_keys
            .flat_map(|(is_write, key)| (0..self.values).map(move |value| (is_write, key, value)))
            .collect()
    }

    fn txns(&self) -> Vec<Txn> {
        let letters = self.letters();
        let mut programs: Vec<Vec<Letter>> = vec![Vec::new()];
        let mut longest = programs.clone();
        for _ in 0..self.ops {
            let extend = |program: &Vec<Letter>| {
                letters.iter().map(|&op| [&program[..], &[op]].concat()).collect::<Vec<_>>()
            };
            longest = longest.iter().flat_map(extend).collect();
            programs.extend(longest.iter().cloned());
        }
        programs.remove(0);
        let with_outcome =
            |program: Vec<Letter>| self.outcomes.iter().map(move |&outcome| (outcome, program.clone()));
        programs.into_iter().flat_map(with_outcome).collect()
    }

    /// Whether no renaming gives a smaller word.
    fn is_least(&self, word: &[Txn]) -> bool {
        let values: Vec<Vec<usize>> = permutations(self.values - 1)
            .map(|others| std::iter::once(0).chain(others.into_iter().map(|value| value + 1)).collect())
            .collect();
        let sessions: Vec<Vec<usize>> = self.session_permutations().collect();
        permutations(self.keys).all(|keys| {
            values.iter().all(|values| {
                let renamed = rename(word, &keys, values);
                sessions.iter().all(|order| order.iter().map(|&txn| &renamed[txn]).ge(word.iter()))
            })
        })
    }

    /// All ways to exchange sessions of the same length, as orders of the transactions.
    fn session_permutations(&self) -> impl Iterator<Item = Vec<usize>> + '_ {
        let starts: Vec<usize> =
            self.sessions.iter().scan(0, |end, length| Some(std::mem::replace(end, *end + length))).collect();
        permutations(self.sessions.len())
            .filter(|order| {
                order.iter().zip(&self.sessions).all(|(&from, &length)| self.sessions[from] == length)
            })
            .map(move |order| {
                let txns = |session: usize| starts[session]..starts[session] + self.sessions[session];
                order.into_iter().flat_map(txns).collect()
            })
    }

    fn sketch(&self, word: &[Txn]) -> Sketch {
        let mut sketch = Sketch::new(self.keys);
        let mut txns = word.iter().map(|(outcome, program)| {
            let op = |&(is_write, key, value): &Letter| {
                let value = Datum::Int(value as i64);
                if is_write { SketchOp::write(key, value) } else { SketchOp::read(key, value) }
            };
            SketchTxn { outcome: *outcome, ..SketchTxn::committed(program.iter().map(op).collect()) }
        });
        sketch.sessions = self.sessions.iter().map(|&length| txns.by_ref().take(length).collect()).collect();
        sketch
    }
}

fn rename(word: &[Txn], keys: &[usize], values: &[usize]) -> Vec<Txn> {
    let letter = |&(is_write, key, value): &Letter| (is_write, keys[key], values[value]);
    word.iter().map(|(outcome, program)| (*outcome, program.iter().map(letter).collect())).collect()
}

/// All orders of the numbers below a bound.
fn permutations(count: usize) -> impl Iterator<Item = Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for next in 0..count {
        let insert = |order: &Vec<usize>| {
            let order = order.clone();
            (0..=order.len()).map(move |place| {
                let mut longer = order.clone();
                longer.insert(place, next);
                longer
            })
        };
        all = all.iter().flat_map(insert).collect();
    }
    all.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(scope: &Scope) -> usize {
        scope.histories().count()
    }

    #[test]
    fn classes_are_counted_once() {
        let mut scope =
            Scope { sessions: vec![1], keys: 1, ops: 1, values: 2, outcomes: vec![Outcome::Committed] };
        // r0, r1, w0, w1.
        assert_eq!(count(&scope), 4);
        // Two keys are the same by symmetry, and so are the two values that are not 0.
        (scope.keys, scope.values) = (2, 3);
        assert_eq!(count(&scope), 4);
        // Unordered pairs of four, and for each pair whether the keys are the same (10 + 10), where both values are not 0
        // also whether they are the same: 3 of the 10 pairs, for each choice of keys.
        scope.sessions = vec![1, 1];
        assert_eq!(count(&scope), 26);
    }
}
