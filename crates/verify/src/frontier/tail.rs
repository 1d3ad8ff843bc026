//! The ways in which a history can end: the last transactions, searched from the end backwards.
//!
//! A state here is how many transactions of each session are left, and which keys must hold which values so that the
//! left ones can come in an order that is known. A step backwards takes the last transaction of a session: what it
//! writes must be what is demanded, what it reads becomes a demand. A state of the search from the begin that has as many
//! transactions left in each session, and holds what is demanded, can be finished.
//!
//! Layers grow with each step, so the states with the fewest demands and the most even sessions are kept: those that a
//! search from the begin is most likely to meet. For 8 sessions on 5 keys with 3 values all states of the last 16
//! transactions are kept. With half as many states a history that is hard at its end takes 70 s instead of 2 s, and with a
//! tail of 24 instead of 48 transactions half as many histories are decided.
//!
//! A state takes two bytes for each session and key, and twelve.

use order::NONE;
use rustc_hash::FxHashSet;

use crate::options::{Limit, Patience};
use crate::problem::INITIAL;
use crate::steps::{Access, Steps};

use super::states::{Layout, Parent, hash};

/// How many transactions the tail has.
pub(super) const DEPTH: usize = 48;

/// How many states of a layer are kept, times the sessions.
const STATES: usize = 400_000;

/// Nothing is demanded of a key. A demand is twice a value, and one more if the initial state fits too.
const ANYTHING: u16 = u16::MAX;

/// How many values can be demanded.
pub(super) const MOST_VALUES: usize = ANYTHING as usize / 2;

/// What can be finished, by how many transactions are left.
pub(super) struct Tail {
    layers: Vec<Layer>,
}

/// States with as many transactions left, sorted by what is left.
#[derive(Default)]
struct Layer {
    /// For each state what is left of each session, and what is demanded of each key.
    words: Vec<u16>,
    /// The row whose transaction comes next, and the state after it.
    next: Vec<Parent>,
    /// For each state a hash of what is left.
    hashes: Vec<u32>,
}

impl Tail {
    pub(super) fn new(steps: &Steps, layout: &Layout, patience: &mut Patience<'_>) -> Result<Self, Limit> {
        let (rows, stride) = (layout.rows.len(), layout.rows.len() + layout.key_count);
        let most = STATES / rows;
        let mut first = vec![0; rows];
        first.resize(stride, ANYTHING);
        let start =
            Found { words: first, next: vec![Parent { state: 0, row: 0 }], seen: FxHashSet::default() };
        let mut layers = vec![start.keep(most, rows, stride)];
        while layers.len() <= DEPTH {
            let last = &layers[layers.len() - 1];
            let mut found = Found::default();
            for state in 0..last.next.len() {
                patience.spend(16 * rows)?;
                found.go_back(steps, layout, &last.words[state * stride..][..stride], state as u32);
            }
            layers.push(found.keep(most, rows, stride));
        }
        Ok(Self { layers })
    }

    /// The transactions that are left, in an order that a state of the search from the begin can be finished by.
    pub(super) fn finish(&self, layout: &Layout, words: &[u32], left: usize) -> Option<Vec<u32>> {
        let rows = layout.rows.len();
        let left_of: Vec<u16> = (0..rows)
            .map(|row| (layout.rows[row].len() as u32 - layout.positions(words)[row]) as u16)
            .collect();
        let layer = self.layers.get(left)?;
        let state = layer.find(&left_of, layout.holders(words))?;
        let mut positions: Vec<u32> =
            (0..rows).map(|row| layout.rows[row].start + layout.positions(words)[row]).collect();
        let (mut order, mut at) = (Vec::with_capacity(left), state);
        for layer in self.layers[1..=left].iter().rev() {
            let next = layer.next[at as usize];
            order.push(positions[next.row as usize]);
            positions[next.row as usize] += 1;
            at = next.state;
        }
        Some(order)
    }
}

impl Layer {
    /// A state with so much left whose demands are met.
    fn find(&self, left: &[u16], holders: &[u32]) -> Option<u32> {
        let hash = short_hash(left);
        let stride = left.len() + holders.len();
        let start = self.hashes.partition_point(|&known| known < hash);
        let same = self.hashes[start..].iter().take_while(|&&known| known == hash).count();
        let fits = |&state: &usize| {
            let (of_rows, demands) = self.words[state * stride..][..stride].split_at(left.len());
            of_rows == left && demands.iter().zip(holders).all(|(&demand, &holder)| meets(holder, demand))
        };
        (start..start + same).find(fits).map(|state| state as u32)
    }
}

/// Whether what a key holds is what is demanded.
fn meets(holder: u32, demand: u16) -> bool {
    demand == ANYTHING || holder == u32::from(demand >> 1) || (demand & 1 == 1 && holder == INITIAL)
}

fn short_hash(left: &[u16]) -> u32 {
    hash(0, left.iter().copied()) as u32
}

/// States that lead to those of a layer.
#[derive(Default)]
struct Found {
    words: Vec<u16>,
    next: Vec<Parent>,
    seen: FxHashSet<u64>,
}

impl Found {
    /// The states in which the last transaction of each row comes before a state.
    fn go_back(&mut self, steps: &Steps, layout: &Layout, after: &[u16], state: u32) {
        let rows = layout.rows.len();
        for row in (0..rows).filter(|&row| (after[row] as usize) < layout.rows[row].len()) {
            let step = layout.rows[row].end - 1 - u32::from(after[row]);
            let start = self.words.len();
            self.words.extend_from_slice(after);
            let words = &mut self.words[start..];
            words[row] += 1;
            let is_possible = demand(steps.accesses_of(step), &mut words[rows..]);
            if is_possible && self.seen.insert(hash(0, self.words[start..].iter().copied())) {
                self.next.push(Parent { state, row: row as u32 });
            } else {
                self.words.truncate(start);
            }
        }
    }

    /// The states that are most likely to be met, so many at most, sorted.
    fn keep(self, most: usize, rows: usize, stride: usize) -> Layer {
        let words = |state: u32| &self.words[state as usize * stride..][..stride];
        let mut kept: Vec<u32> = (0..self.next.len() as u32).collect();
        if kept.len() > most {
            kept.select_nth_unstable_by_key(most, |&state| (rank(words(state), rows), state));
            kept.truncate(most);
        }
        kept.sort_by_cached_key(|&state| short_hash(&words(state)[..rows]));
        Layer {
            words: kept.iter().flat_map(|&state| words(state)).copied().collect(),
            next: kept.iter().map(|&state| self.next[state as usize]).collect(),
            hashes: kept.iter().map(|&state| short_hash(&words(state)[..rows])).collect(),
        }
    }
}

/// Turns what must hold after a transaction into what must hold before it; false if it cannot come there.
fn demand(accesses: &[Access], demands: &mut [u16]) -> bool {
    for access in accesses {
        let demand = &mut demands[access.key as usize];
        if access.write != NONE {
            if !meets(access.write, *demand) {
                return false;
            }
            *demand = ANYTHING;
        }
        if access.read == NONE {
            continue;
        }
        if *demand == ANYTHING {
            *demand = (access.read << 1) as u16 | u16::from(access.initial);
        } else if u32::from(*demand >> 1) != access.read {
            return false;
        } else if !access.initial {
            *demand &= !1;
        }
    }
    true
}

/// How unlikely a state is to be met: by its demands, and by how uneven its sessions are.
fn rank(words: &[u16], rows: usize) -> u32 {
    let (left, demands) = words.split_at(rows);
    let mean = left.iter().sum::<u16>() / rows as u16;
    let uneven: u32 = left.iter().map(|&left| u32::from(left.abs_diff(mean)).pow(2)).sum();
    let demanded = demands.iter().filter(|&&demand| demand != ANYTHING).count() as u32;
    4 * demanded + uneven / 2
}
