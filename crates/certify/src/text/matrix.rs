//! A relation as a matrix of bits along an order, for what no quicker technique fits.
//!
//! A row for each node holds the nodes that are related to it, by their positions in the order. A join is a union of
//! rows; a closure inside the order needs one pass along it. n^2 / 8 bytes for each operator, O(n^2 d / 64) steps for
//! rows with d entries.

use spec::{Base, Rel};

use super::facts::{Facts, INITIAL, Mask};
use super::judge::{Hit, Stopped, Witness};
use super::plan::{Set, set_of};

/// More nodes than this are not evaluated as a matrix: 128 MiB for each operator.
pub const MOST_NODES: usize = 32_768;

/// For each position the positions that are related to it.
#[derive(Clone, Debug)]
pub struct Rows {
    width: usize,
    bits: Vec<u64>,
}

impl Rows {
    pub(super) fn empty(count: usize) -> Self {
        let width = count.div_ceil(64);
        Self { width, bits: vec![0; width * count] }
    }

    fn count(&self) -> usize {
        self.bits.len().checked_div(self.width).unwrap_or(0)
    }

    fn row(&self, to: usize) -> &[u64] {
        &self.bits[to * self.width..(to + 1) * self.width]
    }

    pub(super) fn add(&mut self, from: usize, to: usize) {
        self.bits[to * self.width + from / 64] |= 1 << (from % 64);
    }

    /// Whether a position is related to another.
    pub fn has(&self, from: usize, to: usize) -> bool {
        self.bits[to * self.width + from / 64] >> (from % 64) & 1 == 1
    }

    /// The positions that are related to one.
    pub fn related_to(&self, to: usize) -> impl Iterator<Item = usize> + '_ {
        self.row(to).iter().enumerate().flat_map(|(place, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    place * 64 + bit
                })
            })
        })
    }

    fn merge(&mut self, other: &Self, merge: impl Fn(u64, u64) -> u64) {
        for (word, &with) in self.bits.iter_mut().zip(&other.bits) {
            *word = merge(*word, with);
        }
    }

    fn add_row(&mut self, to: usize, from: &[u64]) {
        let start = to * self.width;
        for (word, &with) in self.bits[start..start + self.width].iter_mut().zip(from) {
            *word |= with;
        }
    }
}

/// The matrix of a relation along an order. With `known`, `before` is what is known of all orders instead.
///
/// # Errors
/// If it was told to stop, or if there are too many nodes.
pub fn evaluate(
    facts: &Facts,
    witness: &Witness,
    rel: &Rel,
    known: Option<&Rows>,
    stop: &dyn Fn() -> bool,
) -> Result<Rows, Stopped> {
    if witness.order.len() > MOST_NODES || stop() {
        return Err(Stopped);
    }
    let count = witness.order.len();
    let again = |rel: &Rel| evaluate(facts, witness, rel, known, stop);
    if let (Rel::Base(Base::Before), Some(known)) = (rel, known) {
        return Ok(known.clone());
    }
    Ok(match rel {
        Rel::Base(base) => base_rows(facts, witness, *base),
        Rel::Every(_) => every(count, |_, _| true),
        Rel::Identity(_) => {
            let mut rows = Rows::empty(count);
            (0..count).for_each(|place| rows.add(place, place));
            rows
        }
        Rel::Union(left, right) => {
            let mut rows = again(left)?;
            rows.merge(&again(right)?, |a, b| a | b);
            rows
        }
        Rel::Inter(left, right) => {
            let mut rows = again(left)?;
            rows.merge(&again(right)?, |a, b| a & b);
            rows
        }
        Rel::Join(left, right) => join(&again(left)?, &again(right)?, stop)?,
        Rel::Product(left, right) => {
            let (left, right) = (set_of(left), set_of(right));
            let is_in = |set: &Option<Set>, place: usize| is_member(facts, witness.order[place], set);
            every(count, |from, to| is_in(&left, from) && is_in(&right, to))
        }
        Rel::Closure(inner) => closure(again(inner)?, stop)?,
        Rel::Inverse(inner) => {
            let inner = again(inner)?;
            let mut rows = Rows::empty(count);
            for to in 0..count {
                inner.related_to(to).for_each(|from| rows.add(to, from));
            }
            rows
        }
        // A plan has no others.
        Rel::None(_) | Rel::Minus(..) | Rel::Single(..) | Rel::Comprehension(..) | Rel::RanAt(_) => {
            Rows::empty(count)
        }
    })
}

fn is_member(facts: &Facts, node: u32, set: &Option<Set>) -> bool {
    match set {
        Some(Set::All) => true,
        Some(Set::Initial) => node == INITIAL,
        Some(Set::Updates) => node == INITIAL || !facts.written(node).is_empty(),
        Some(Set::Readers) => node != INITIAL && !facts.reads_of(node).is_empty(),
        Some(Set::At(level)) => facts.level_of(node) == Some(level.as_str()),
        None => false,
    }
}

fn every(count: usize, is_in: impl Fn(usize, usize) -> bool) -> Rows {
    let mut rows = Rows::empty(count);
    for to in 0..count {
        (0..count).filter(|&from| is_in(from, to)).for_each(|from| rows.add(from, to));
    }
    rows
}

fn base_rows(facts: &Facts, witness: &Witness, base: Base) -> Rows {
    let count = witness.order.len();
    let mut rows = Rows::empty(count);
    let place = |node: u32| witness.position[node as usize] as usize;
    match base {
        Base::Before => (0..count).for_each(|to| (0..to).for_each(|from| rows.add(from, to))),
        Base::Session => {
            for &node in &witness.order[1..] {
                rows.add(0, place(node));
                let earlier = (facts.session_start(node)..node).filter(|&earlier| witness.has(earlier));
                earlier.for_each(|earlier| rows.add(place(earlier), place(node)));
            }
        }
        Base::ReadsFrom => {
            for &node in &witness.order[1..] {
                facts.reads_of(node).for_each(|read| rows.add(place(witness.source[read]), place(node)));
            }
        }
        Base::RealTime => {
            for &node in &witness.order[1..] {
                let others =
                    witness.order[1..].iter().filter(|&&other| facts.is_real_time_before(other, node));
                others.for_each(|&other| rows.add(place(other), place(node)));
            }
        }
        Base::Conflict => {
            for &node in &witness.order[1..] {
                if !facts.written(node).is_empty() {
                    rows.add(0, place(node));
                    rows.add(place(node), 0);
                }
                for &key in facts.written(node) {
                    let others = facts.writers(key).iter().filter(|&&other| other != node);
                    let others = others.filter(|&&other| witness.has(other));
                    others.for_each(|&other| rows.add(place(other), place(node)));
                }
            }
        }
        _ => {}
    }
    rows
}

fn join(left: &Rows, right: &Rows, stop: &dyn Fn() -> bool) -> Result<Rows, Stopped> {
    let mut rows = Rows::empty(left.count());
    for to in 0..left.count() {
        if to % 64 == 0 && stop() {
            return Err(Stopped);
        }
        for middle in right.related_to(to) {
            rows.add_row(to, left.row(middle));
        }
    }
    Ok(rows)
}

/// One pass suffices inside the order; what goes backward needs more.
pub(super) fn closure(inner: Rows, stop: &dyn Fn() -> bool) -> Result<Rows, Stopped> {
    let mut rows = inner;
    loop {
        let mut is_changed = false;
        for to in 0..rows.count() {
            if to % 64 == 0 && stop() {
                return Err(Stopped);
            }
            let before = rows.row(to).to_vec();
            let related: Vec<usize> = rows.related_to(to).collect();
            for middle in related {
                let row = rows.row(middle).to_vec();
                rows.add_row(to, &row);
            }
            is_changed |= rows.row(to) != before;
        }
        if !is_changed {
            return Ok(rows);
        }
    }
}

/// Writers of what a node reads that are related to it and stand after the source.
pub(super) fn add_hits(
    facts: &Facts,
    witness: &Witness,
    rows: &Rows,
    (part, readers): (u32, &Mask),
    hits: &mut Vec<Hit>,
) {
    for &node in witness.order[1..].iter().filter(|&&node| facts.is_in(node, readers)) {
        let place = witness.position[node as usize] as usize;
        for read in facts.reads_of(node) {
            let source = witness.position[witness.source[read] as usize];
            for &rival in facts.writers(facts.reads()[read].key) {
                let position = witness.position[rival as usize];
                if witness.has(rival) && position > source && rows.has(position as usize, place) {
                    hits.push(Hit { read: read as u32, rival, part });
                }
            }
        }
    }
}
