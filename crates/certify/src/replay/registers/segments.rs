//! Segments of an order, each replayed by a thread of its own.
//!
//! A segment begins without knowing what the keys hold: what is read first of a key that the segment has not written is
//! assumed to be there. Where writers of a key must not overlap, and one began before the segment, the keys are noted
//! that no transaction may have written since. Afterwards the segments are joined in their order, and every assumption is compared with
//! what the segments before left: together they accept what the replay of the whole accepts, and nothing else.
//!
//! Joining costs O(keys) for each segment. On `million` the thread that joins took 66 ms of the processor with two threads
//! and 110 ms with one (session-serializable; 94 and 161 ms for session-snapshot-isolation).

use std::thread;

use super::{ASSUMED, Cell, Registers, UNTOUCHED};
use crate::replay::Places;
use crate::{Level, Node};
use history::ValueId;

/// An order with fewer events is replayed by one thread.
const LARGE: usize = 50_000;

/// More threads would have to join too much.
const MOST: usize = 16;

/// Where the segments after the first one begin.
pub(super) fn cuts(threads: usize, events: usize) -> Vec<usize> {
    let count = if events < LARGE { 1 } else { threads.clamp(1, MOST) };
    (1..count).map(|segment| events / count * segment).collect()
}

/// Whether an order that is cut at some places explains the history, from the initial state on.
pub(super) fn explain(
    mut first: Registers<'_>,
    cuts: &[usize],
    level: &Level,
    places: &Places,
    order: &[Node],
) -> bool {
    // The marks of keys that were not written are no places.
    if order.len() >= ASSUMED as usize {
        return false;
    }
    let end = |segment: usize| cuts.get(segment).copied().unwrap_or(order.len());
    thread::scope(|scope| {
        let later = cuts.iter().enumerate().map(|(number, &start)| {
            let mut segment = first.after(start);
            let range = start..end(number + 1);
            scope.spawn(move || segment.replay(level, places, order, range).then_some(segment))
        });
        let later: Vec<_> = later.collect();
        let is_explained = first.replay(level, places, order, 0..end(0));
        later.into_iter().fold(is_explained, |is_explained, segment| {
            let segment = segment.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            is_explained && segment.is_some_and(|segment| first.join(&segment))
        })
    })
}

impl Registers<'_> {
    /// Keys of which nothing is known, at a place of the order.
    fn after(&self, start: usize) -> Self {
        Self {
            history: self.history,
            any_failed: self.any_failed,
            cells: vec![Cell { value: ValueId::NIL, since: UNTOUCHED }; self.cells.len()],
            own: Vec::new(),
            start: start as u32,
            assumed: Vec::new(),
            unwritten_since: Vec::new(),
        }
    }

    /// Goes on with the next segment; false if it assumed what is not so.
    fn join(&mut self, next: &Self) -> bool {
        let cells = &self.cells;
        let is_so = next.assumed.iter().all(|&(key, value)| cells[key.index()].value == value);
        let is_unwritten =
            next.unwritten_since.iter().all(|&(key, place)| cells[key.index()].since <= place + 1);
        for (cell, &later) in self.cells.iter_mut().zip(&next.cells) {
            if later.since < ASSUMED {
                *cell = later;
            }
        }
        is_so && is_unwritten
    }
}

#[cfg(test)]
mod tests {
    use history::{Builder, History, InitialState, KeyId, Outcome, TxnId};

    use super::*;

    struct Random(u64);

    impl Random {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((self.0 >> 33) % end as u64) as usize
        }
    }

    /// An order of begins and commits of transactions `0..count`, or of whole transactions.
    fn order(random: &mut Random, count: usize, events_per_txn: u32) -> Vec<Node> {
        let txns = (0..count as u32).map(TxnId);
        let mut order: Vec<Node> = txns
            .flat_map(|txn| [Node::begin(txn, events_per_txn), Node::commit(txn, events_per_txn)])
            .collect();
        order.dedup();
        for place in 1..order.len() {
            let by = random.below(4).min(place);
            let is_own = |&at: &usize| order[at].0 / events_per_txn == order[place].0 / events_per_txn;
            let moved = (place - by..place).rev().find(is_own).map_or(place - by, |at| at + 1);
            order[moved..=place].rotate_right(1);
        }
        order
    }

    /// Transactions that mostly saw what an order of theirs leaves, and now and then something else.
    fn history(random: &mut Random, order: &[Node], count: usize, events_per_txn: u32) -> History {
        const KEYS: usize = 6;
        let error_rate = [40, 1_000_000][random.below(2)];
        let mut programs: Vec<Vec<(bool, usize, u32)>> = (0..count)
            .map(|txn| {
                let op = |place: usize, random: &mut Random| {
                    (random.below(3) == 0, random.below(KEYS), (txn * 8 + place + 1) as u32)
                };
                (0..random.below(4)).map(|place| op(place, random)).collect()
            })
            .collect();
        let mut store = [0; KEYS];
        for &node in order {
            let txn = TxnId(node.0 / events_per_txn);
            if node == Node::begin(txn, events_per_txn) {
                let mut own = store;
                for (is_write, key, value) in &mut programs[txn.index()] {
                    match *is_write {
                        true => own[*key] = *value,
                        false => *value = if random.below(error_rate) == 0 { 7 } else { own[*key] },
                    }
                }
            }
            if node == Node::commit(txn, events_per_txn) {
                programs[txn.index()].iter().filter(|op| op.0).for_each(|op| store[op.1] = op.2);
            }
        }
        let mut builder = Builder::new();
        builder.initial = InitialState::all(ValueId(0));
        let keys: Vec<KeyId> = (0..KEYS as i64).map(|key| builder.keys.intern_int(key)).collect();
        for program in programs {
            let session = builder.session();
            builder.begin(session);
            for (is_write, key, value) in program {
                match is_write {
                    true => builder.write(keys[key], ValueId(value)),
                    false => builder.read(keys[key], ValueId(value)),
                };
            }
            builder.end(Outcome::Committed);
        }
        builder.finish()
    }

    #[test]
    fn segments_accept_what_the_whole_accepts() {
        let mut random = Random(5);
        let mut counts = [0; 2];
        for level in [Level::SERIALIZABLE, Level::SNAPSHOT_ISOLATION, Level::PREFIX] {
            for _ in 0..4_000 {
                let count = 2 + random.below(12);
                let order = order(&mut random, count, level.events_per_txn());
                let history = history(&mut random, &order, count, level.events_per_txn());
                let places = Places::of(&history, &level, &order, &[]).unwrap();
                let accepts = |cuts: &[usize]| {
                    explain(Registers::new(&history).unwrap(), cuts, &level, &places, &order)
                };
                let is_explained = accepts(&[]);
                counts[usize::from(is_explained)] += 1;
                let mut cuts: Vec<usize> =
                    (0..1 + random.below(3)).map(|_| random.below(order.len() + 1)).collect();
                cuts.sort_unstable();
                assert_eq!(accepts(&cuts), is_explained, "{cuts:?} {level:?}");
            }
        }
        assert!(counts.iter().all(|&count| count > 1_500), "{counts:?}");
    }
}
