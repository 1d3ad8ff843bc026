//! What operations do to keys, sorted by key.
//!
//! Touches are put into blocks of successive keys first and sorted by key inside of each block, which fits into the
//! cache: a counting sort over all keys at once missed the cache for nearly every touch of ten million operations, and
//! took three times as long. Of large histories some blocks are packed at a time, for another pass over the operations
//! takes less than the memory of all touches.

use std::ops::Range;

use history::{Bound, History, KeyId, Op, OpId, PredicateRead, RangeRead, RegisterOp, TxnId, ValueId};

use super::super::Facts;
use super::super::predicates::{RowWrites, Scans};
use crate::Flaw;
use crate::observe::{Held, Look};

/// What one operation does to one key.
#[derive(Clone, Copy)]
pub(super) struct Touch {
    pub node: u32,
    pub op: OpId,
    pub kind: Kind,
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Look(Look),
    Write(Held),
    Append(ValueId),
    List,
    /// A write by predicate changed the row: it held something that matches.
    Matched,
    /// A read returned the row where no state of the key explains it.
    Wrong,
}

/// Where touches come from.
pub(super) struct TouchSource<'a> {
    pub history: &'a History,
    pub facts: &'a Facts,
    pub row_writes: &'a RowWrites,
    pub is_impossible: &'a [bool],
    pub reads: &'a dyn Fn(TxnId) -> bool,
    /// The keys in the order of what they are called, for ranges.
    pub sorted_keys: Vec<KeyId>,
}

impl TouchSource<'_> {
    /// Calls `touch` for each key that an operation touches, node by node.
    fn visit(&self, mut touch: impl FnMut(u32, KeyId, OpId, Kind)) {
        let nodes = 1..self.facts.node_count() as u32;
        for node in nodes.filter(|&node| !self.is_impossible[node as usize]) {
            let txn = self.facts.txn(node);
            let rows = (self.sorted_keys.as_slice(), self.row_writes);
            visit(self.history, rows, txn, self.reads, |key, op, kind| touch(node, key, op, kind));
        }
    }

    /// The statements that looked at rows by a predicate.
    pub(super) fn scans(&self) -> Scans<'_> {
        let mut scans = Scans::default();
        if !self.history.has_predicates() {
            return scans;
        }
        let nodes = 1..self.facts.node_count() as u32;
        for node in nodes.filter(|&node| !self.is_impossible[node as usize]) {
            let txn = self.facts.txn(node);
            if (self.reads)(txn) {
                self.history.ops(txn).for_each(|(id, op)| scans.add(node, id, &op, self.row_writes));
            }
        }
        scans.finish();
        scans
    }

    /// Counts the touches of each block of keys.
    pub(super) fn blocks(&self) -> Blocks {
        let key_count = self.history.keys().len();
        let keys = key_count.div_ceil(MOST_BLOCKS).next_power_of_two().min(MOST_KEYS);
        let shift = keys.ilog2();
        let mut counts = vec![0; key_count.div_ceil(keys)];
        let mut has_lists = false;
        self.visit(|_, key, _, kind| {
            counts[key.index() >> shift] += 1;
            has_lists |= matches!(kind, Kind::Append(_) | Kind::List);
        });
        Blocks { has_lists, shift, counts }
    }

    /// Calls `visit` with the touches of each key, in the order of the keys; those of a key are in the order of nodes and
    /// operations.
    pub(super) fn for_each_key(
        &self,
        blocks: &Blocks,
        mut visit: impl FnMut(KeyId, &[Touch]) -> Result<(), Flaw>,
    ) -> Result<(), Flaw> {
        let key_count = self.history.keys().len();
        let (mut packed, mut sorted) = (Vec::new(), Sorted::default());
        let mut first = 0;
        while first < blocks.counts.len() {
            let window = blocks.window(first);
            blocks.fill(self, window.clone(), &mut packed);
            let mut rest = packed.as_slice();
            for block in window.clone() {
                let (touches, later) = rest.split_at(blocks.counts[block] as usize);
                rest = later;
                let keys = blocks.keys(block, key_count);
                sorted.sort(touches, keys.len());
                for key in keys.clone() {
                    visit(KeyId::from_index(key), sorted.of(key - keys.start))?;
                }
            }
            first = window.end;
        }
        Ok(())
    }
}

/// A touch in 16 bytes, for the first step of sorting.
#[derive(Clone, Copy, Default)]
struct Packed {
    /// The place of the key in its block, and the kind.
    key_and_kind: u32,
    node: u32,
    op: u32,
    value: u32,
}

/// How many bits the kind takes.
const KIND_BITS: u32 = 4;

impl Packed {
    #[inline]
    fn new(place: usize, node: u32, op: OpId, kind: Kind) -> Self {
        let (code, value) = match kind {
            Kind::Look(Look::Plain(value)) => (0, value),
            Kind::Write(Held { value, is_dead: false }) => (1, value),
            Kind::Write(Held { value, is_dead: true }) => (2, value),
            Kind::Append(value) => (3, value),
            Kind::List => (4, ValueId::NIL),
            Kind::Look(Look::Row(value)) => (5, value),
            Kind::Look(Look::Mark(value)) => (6, value),
            Kind::Look(Look::Nothing) => (7, ValueId::NIL),
            Kind::Matched => (8, ValueId::NIL),
            Kind::Wrong | Kind::Look(Look::Alternative(..)) => (9, ValueId::NIL),
        };
        Self { key_and_kind: (place as u32) << KIND_BITS | code, node, op: op.0, value: value.0 }
    }

    #[inline]
    fn place(self) -> usize {
        (self.key_and_kind >> KIND_BITS) as usize
    }

    #[inline]
    fn touch(self) -> Touch {
        let value = ValueId(self.value);
        let kind = match self.key_and_kind & ((1 << KIND_BITS) - 1) {
            0 => Kind::Look(Look::Plain(value)),
            1 => Kind::Write(Held { value, is_dead: false }),
            2 => Kind::Write(Held { value, is_dead: true }),
            3 => Kind::Append(value),
            4 => Kind::List,
            5 => Kind::Look(Look::Row(value)),
            6 => Kind::Look(Look::Mark(value)),
            7 => Kind::Look(Look::Nothing),
            8 => Kind::Matched,
            _ => Kind::Wrong,
        };
        Touch { node: self.node, op: OpId(self.op), kind }
    }
}

/// At most so many blocks of keys there are, unless a block would get too many keys.
const MOST_BLOCKS: usize = 512;

/// How many keys a block has at most: the place of a key in its block has to fit beside the kind.
const MOST_KEYS: usize = 1 << 20;

/// How many touches are packed at a time, unless one block has more: 192 MB.
const TOUCHES_AT_A_TIME: usize = 12 << 20;

/// Equally many successive keys each.
pub(super) struct Blocks {
    /// Whether there are lists.
    pub has_lists: bool,
    /// Keys of a block, as a power of two.
    shift: u32,
    /// How many touches each block has.
    counts: Vec<u32>,
}

impl Blocks {
    fn keys(&self, block: usize, key_count: usize) -> Range<usize> {
        block << self.shift..((block + 1) << self.shift).min(key_count)
    }

    /// The blocks from this one on that are packed together.
    fn window(&self, first: usize) -> Range<usize> {
        let mut total = 0;
        let fits = |&&count: &&u32| {
            total += count as usize;
            total <= TOUCHES_AT_A_TIME
        };
        let count = self.counts[first..].iter().take_while(fits).count();
        first..first + count.max(1)
    }

    /// Puts the touches of some blocks one block after the other.
    fn fill(&self, source: &TouchSource<'_>, window: Range<usize>, packed: &mut Vec<Packed>) {
        let mut total = 0;
        let mut next: Vec<u32> = Vec::with_capacity(window.len());
        for &count in &self.counts[window.clone()] {
            next.push(total);
            total += count;
        }
        packed.resize(total as usize, Packed::default());
        let mask = (1 << self.shift) - 1;
        source.visit(|node, key, op, kind| {
            let block = (key.index() >> self.shift).wrapping_sub(window.start);
            if let Some(next) = next.get_mut(block) {
                packed[*next as usize] = Packed::new(key.index() & mask, node, op, kind);
                *next += 1;
            }
        });
    }
}

/// The touches of one block, sorted by key.
#[derive(Default)]
struct Sorted {
    /// Where the touches of each key begin; one more row than keys.
    start: Vec<u32>,
    next: Vec<u32>,
    touches: Vec<Touch>,
}

impl Sorted {
    fn sort(&mut self, packed: &[Packed], key_count: usize) {
        self.start.clear();
        self.start.resize(key_count + 1, 0);
        packed.iter().for_each(|touch| self.start[touch.place() + 1] += 1);
        for key in 0..key_count {
            self.start[key + 1] += self.start[key];
        }
        self.next.clear();
        self.next.extend_from_slice(&self.start[..key_count]);
        let blank = Touch { node: 0, op: OpId(0), kind: Kind::List };
        self.touches.resize(self.touches.len().max(packed.len()), blank);
        for touch in packed {
            let place = &mut self.next[touch.place()];
            self.touches[*place as usize] = touch.touch();
            *place += 1;
        }
    }

    fn of(&self, key: usize) -> &[Touch] {
        &self.touches[self.start[key] as usize..self.start[key + 1] as usize]
    }
}

pub(super) fn sorted_keys(history: &History) -> Vec<KeyId> {
    let mut sorted: Vec<KeyId> = (0..history.keys().len()).map(KeyId::from_index).collect();
    sorted.sort_by(|&a, &b| history.keys().original(a).cmp(history.keys().original(b)));
    sorted
}

fn visit(
    history: &History,
    (sorted, row_writes): (&[KeyId], &RowWrites),
    txn: TxnId,
    reads: &dyn Fn(TxnId) -> bool,
    mut touch: impl FnMut(KeyId, OpId, Kind),
) {
    let reads = reads(txn);
    let any_failed = history.failed_op_count() > 0;
    for id in history.op_range(txn).map(OpId) {
        if any_failed && history.is_failed(id) {
            continue;
        }
        // Nearly all operations are of these kinds.
        match history.register_op(id) {
            Some(RegisterOp { is_write: true, key, value }) => {
                touch(key, id, Kind::Write(Held::initially(value)));
            }
            Some(RegisterOp { key, value, .. }) if reads => touch(key, id, Kind::Look(Look::Plain(value))),
            Some(_) => {}
            None => visit_other(history, (sorted, row_writes), id, reads, &mut touch),
        }
    }
}

/// As [`visit`], for an operation that is not a plain read or write.
fn visit_other(
    history: &History,
    (sorted, row_writes): (&[KeyId], &RowWrites),
    id: OpId,
    reads: bool,
    touch: &mut impl FnMut(KeyId, OpId, Kind),
) {
    match history.op(id) {
        op if op.is_read() && !reads => {}
        Op::Delete { key, tombstone } => {
            let value = tombstone.unwrap_or(ValueId::NIL);
            touch(key, id, Kind::Write(Held { value, is_dead: true }));
        }
        Op::Append { key, value } => touch(key, id, Kind::Append(value)),
        Op::ReadList { key, list: Some(_) } => touch(key, id, Kind::List),
        Op::RangeRead(range) => visit_range(history, sorted, id, range, touch),
        Op::PredicateRead(read) => visit_rows(history, id, read, touch),
        Op::PredicateWrite(write) => {
            for &(key, held) in row_writes.left_by(id) {
                if reads && !write.is_returning {
                    touch(key, id, Kind::Matched);
                }
                touch(key, id, Kind::Write(held));
            }
        }
        _ => {}
    }
}

/// A range read is a read of every known key between its bounds. No state of a key explains a row that is returned twice,
/// or from outside of the bounds: a deleted row whose mark is returned is both there and not there.
fn visit_range(
    history: &History,
    sorted: &[KeyId],
    op: OpId,
    range: &RangeRead,
    touch: &mut impl FnMut(KeyId, OpId, Kind),
) {
    let Some(rows) = &range.rows else { return };
    let datum = |key: KeyId| history.keys().original(key);
    let mut returned: Vec<(KeyId, Look)> = rows
        .iter()
        .map(|row| (row.key, if row.is_dead { Look::Mark(row.value) } else { Look::Row(row.value) }))
        .collect();
    returned.sort_by_key(|&(key, _)| key);
    for (place, &(key, look)) in returned.iter().enumerate() {
        let is_repeated = place > 0 && returned[place - 1].0 == key;
        match is_repeated || !range.contains(datum(key)) {
            true => touch(key, op, Kind::Wrong),
            false => touch(key, op, Kind::Look(look)),
        }
    }
    let start = match &range.from {
        Bound::Unbounded => 0,
        Bound::Included(from) => sorted.partition_point(|&key| datum(key) < from),
        Bound::Excluded(from) => sorted.partition_point(|&key| datum(key) <= from),
    };
    for &key in sorted[start..].iter().take_while(|&&key| range.contains(datum(key))) {
        if returned.binary_search_by_key(&key, |&(key, _)| key).is_err() {
            touch(key, op, Kind::Look(Look::Nothing));
        }
    }
}

/// A read by predicate is a read of each row that it returned; of the other keys see `KeyPass::join_unmatched`. No state of a
/// key explains a row that is returned twice, or one that does not match.
fn visit_rows(history: &History, op: OpId, read: &PredicateRead, touch: &mut impl FnMut(KeyId, OpId, Kind)) {
    let (Some(rows), Ok(predicate)) = (&read.rows, read.predicate.meaning()) else { return };
    let mut rows = rows.clone();
    rows.sort_by_key(|row| row.key);
    for (place, row) in rows.iter().enumerate() {
        let is_repeated = place > 0 && rows[place - 1].key == row.key;
        let (key, value) = (history.keys().original(row.key), history.values().original(row.value));
        match !is_repeated && !row.is_dead && predicate.matches(key, &value) {
            true => touch(row.key, op, Kind::Look(Look::Row(row.value))),
            false => touch(row.key, op, Kind::Wrong),
        }
    }
}
