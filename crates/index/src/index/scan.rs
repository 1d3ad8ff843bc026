//! The pass over the operations that finds external reads, final writes, and what contradicts its own transaction.
//!
//! A transaction may see a key more than once. What it sees again is no new read if it follows from what it saw before,
//! and a contradiction if both cannot be; otherwise (a range that did not return the key, then the mark of its delete)
//! it is one more read, and both must be explained.

use super::lists::ListRead;
use super::touches::{IN_EFFECT, NO_WRITE, Touch, Touches};
use super::{ExternalRead, FinalWrite, Index, Observed};
use crate::{Finding, FindingKind};
use history::{Bound, History, KeyId, Op, OpId, Outcome, PredicateRead, RangeRead, Row, TxnId, ValueId};

/// The pass over the operations.
pub(super) struct Scan<'h> {
    history: &'h History,
    touches: Touches,
    /// All keys in their order, and for each the range read that returned it last; made for the first range.
    sorted_keys: Vec<KeyId>,
    returned_by: Vec<Option<(OpId, Observed)>>,
    list_reads: Vec<ListRead>,
    /// Whether deletes leave marks.
    has_marks: bool,
}

impl<'h> Scan<'h> {
    pub(super) fn new(history: &'h History) -> Self {
        Self {
            history,
            touches: Touches::new(history.keys().len()),
            sorted_keys: Vec::new(),
            returned_by: Vec::new(),
            list_reads: Vec::new(),
            has_marks: history.has_marks(),
        }
    }

    /// Fills the index, and gives back the external reads of lists.
    pub(super) fn run(mut self, index: &mut Index) -> Vec<ListRead> {
        // Room that is not used costs nothing, and growing moves what is there.
        index.reads.reserve(self.history.op_count());
        index.writes.reserve(self.history.op_count());
        index.read_start.reserve_exact(self.history.txn_count() + 1);
        index.write_start.reserve_exact(self.history.txn_count() + 1);
        index.read_start.push(0);
        index.write_start.push(0);
        for txn in self.history.txns() {
            if self.history.outcome(txn) != Outcome::Aborted {
                self.touches.forget();
                self.open_effects(index, txn);
                for (id, op) in self.history.ops(txn) {
                    self.visit(index, txn, id, op);
                }
                self.close_effects(index, txn);
            }
            index.read_start.push(index.reads.len() as u32);
            index.write_start.push(index.writes.len() as u32);
        }
        self.list_reads
    }

    fn visit(&mut self, index: &mut Index, txn: TxnId, id: OpId, op: Op<'_>) {
        match op {
            Op::Read { key, value: Some(value) } => {
                self.visit_read(index, txn, id, key, Observed::Value(value));
            }
            Op::Read { value: None, .. } | Op::ReadList { list: None, .. } => {}
            Op::Write { key, value } | Op::Insert { key, value } => {
                // Nil is no row.
                let is_dead = value == ValueId::NIL;
                self.visit_write(index, FinalWrite { txn, key, value, is_dead, op: id });
            }
            Op::Delete { key, tombstone } => {
                let value = tombstone.unwrap_or(ValueId::NIL);
                self.visit_write(index, FinalWrite { txn, key, value, is_dead: true, op: id });
            }
            Op::Append { key, value } => {
                self.visit_write(index, FinalWrite { txn, key, value, is_dead: false, op: id });
                let touch = self.touches.get(key).unwrap_or_default();
                self.touches.set(key, Touch { appended: touch.appended + 1, ..touch });
            }
            Op::ReadList { key, list: Some(list) } => self.visit_list(index, txn, id, key, list),
            Op::RangeRead(range) => self.visit_range(index, txn, id, range),
            Op::PredicateRead(read) => self.visit_predicate(index, txn, id, read),
            Op::PredicateWrite(_) => {}
        }
    }

    /// Keys that an effect of the transaction tells of are left out of the scan.
    fn open_effects(&mut self, index: &Index, txn: TxnId) {
        for effect in index.effects.of_txn(txn) {
            let key = index.effects.all()[effect].key;
            self.touches.set(key, Touch { write: IN_EFFECT, ..Touch::default() });
        }
    }

    /// One read and at most one write of each effect.
    fn close_effects(&mut self, index: &mut Index, txn: TxnId) {
        let effects = index.effects.clone();
        for number in effects.of_txn(txn) {
            let effect = &effects.all()[number];
            let chosen = index.choice[number];
            let alternative = &effect.alternatives[chosen as usize];
            let key = effect.key;
            if let Some((content, op)) = alternative.written {
                let content = effects.content(content);
                let value = content.value(self.history);
                index.writes.push(FinalWrite { txn, key, value, is_dead: content.is_dead, op });
            }
            if !effects.sees_anything(effect, alternative) {
                let observed = Observed::RowEffect(number as u32, chosen);
                index.reads.push(ExternalRead { txn, key, observed, op: effect.op });
            }
        }
    }

    /// A row that is returned twice, or does not match, is wrong by itself.
    fn visit_predicate(&mut self, index: &mut Index, txn: TxnId, op: OpId, read: &PredicateRead) {
        let rows = read.rows.iter().flatten().filter(|row| !index.effects.leaves_out(row.key));
        let rows: Vec<Row> = rows.copied().collect();
        if rows.is_empty() {
            return;
        }
        let Ok(predicate) = read.predicate.meaning() else { return };
        let mut keys: Vec<KeyId> = rows.iter().map(|row| row.key).collect();
        keys.sort_unstable();
        let repeated = keys.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        let is_wrong = |row: &&Row| {
            row.is_dead || !predicate.matches(self.datum(row.key), &self.history.values().original(row.value))
        };
        let mismatch = rows.iter().find(is_wrong);
        let finding = |kind, key, value| Finding { kind, txn, read: op, key, value, other: None };
        let findings = [
            repeated.map(|key| finding(FindingKind::DuplicatedRow, key, ValueId::NIL)),
            mismatch.map(|row| finding(FindingKind::RowNotMatching, row.key, row.value)),
        ];
        index.findings.extend(findings.into_iter().flatten());
    }

    fn visit_write(&mut self, index: &mut Index, write: FinalWrite) {
        if write.is_dead && write.value != ValueId::NIL {
            // Also where an effect tells of it: what is marked is marked.
            index.is_marked.resize(self.history.keys().len(), false);
            index.is_marked[write.key.index()] = true;
        }
        let touch = self.touches.get(write.key).unwrap_or_default();
        if touch.write == IN_EFFECT || index.effects.leaves_out(write.key) {
            return;
        }
        let number = match touch.write {
            NO_WRITE => {
                index.writes.push(write);
                index.writes.len() as u32 - 1
            }
            number => {
                index.writes[number as usize] = write;
                number
            }
        };
        self.touches.set(write.key, Touch { op: write.op, write: number, ..touch });
    }

    fn visit_read(&mut self, index: &mut Index, txn: TxnId, op: OpId, key: KeyId, observed: Observed) {
        if index.effects.leaves_out(key) {
            return;
        }
        let Some(touch) = self.touches.get(key) else {
            self.touches.set(key, Touch { op, seen: observed, ..Touch::default() });
            index.reads.push(ExternalRead { txn, key, observed, op });
            return;
        };
        if touch.write == IN_EFFECT {
            return;
        }
        let kind = match touch.write {
            NO_WRITE if touch.seen.implies(observed) && !self.tells_version(op, touch.op) => return,
            NO_WRITE if touch.seen.excludes(observed, self.has_marks) => FindingKind::NonRepeatableRead,
            NO_WRITE => {
                if observed.detail() > touch.seen.detail() || self.tells_version(op, touch.op) {
                    self.touches.set(key, Touch { op, seen: observed, ..touch });
                }
                index.reads.push(ExternalRead { txn, key, observed, op });
                return;
            }
            write if observed.allows(&index.writes[write as usize]) => return,
            _ => self.kind_after_own_write(txn, op, key, observed.value()),
        };
        let other = Some(touch.op);
        index.findings.push(Finding { kind, txn, read: op, key, value: observed.value(), other });
    }

    /// Whether a read tells another version than the one before it did.
    fn tells_version(&self, op: OpId, before: OpId) -> bool {
        let version = if self.history.has_versions() { self.history.op_version(op) } else { None };
        version.is_some() && version != self.history.op_version(before)
    }

    fn kind_after_own_write(&self, txn: TxnId, read: OpId, key: KeyId, value: ValueId) -> FindingKind {
        let wrote = |op: &Op<'_>| op.key() == Some(key) && op.written() == Some(value);
        let (mut before, mut after) = (false, false);
        for (id, op) in self.history.ops(txn).filter(|(_, op)| wrote(op)) {
            before |= id < read;
            after |= id > read;
            debug_assert!(id != read, "a read does not write ({op:?})");
        }
        match (before, after) {
            (true, _) => FindingKind::NotMyLastWrite,
            (false, true) => FindingKind::FutureRead,
            _ => FindingKind::NotMyOwnWrite,
        }
    }

    /// A list as the transaction saw it: what it had appended itself is at the end, and the rest came from outside.
    fn visit_list(&mut self, index: &mut Index, txn: TxnId, op: OpId, key: KeyId, list: &[ValueId]) {
        let before = self.touches.get(key);
        let touch = before.unwrap_or_default();
        let outside = list.len().checked_sub(touch.appended as usize);
        let own = outside.map(|outside| &list[outside..]);
        let finding = |kind, value| Finding { kind, txn, read: op, key, value, other: Some(touch.op) };
        let last = list.last().copied().unwrap_or(ValueId::NIL);
        let (Some(outside), Some(own)) = (outside, own) else {
            index.findings.push(finding(FindingKind::NotMyOwnWrite, last));
            return;
        };
        if !self.own_appends(txn, key, op).eq(own.iter().copied()) {
            index.findings.push(finding(FindingKind::NotMyOwnWrite, last));
            return;
        }
        let mut earlier = self.list_reads.iter().rev().take_while(|read| read.txn == txn);
        if let Some(before) = earlier.find(|read| read.key == key) {
            if before.outside(self.history) != &list[..outside] {
                index.findings.push(finding(FindingKind::NonRepeatableRead, last));
            }
            return;
        }
        let seen = list[..outside].last().copied();
        let observed = seen.map_or(Observed::Value(ValueId::NIL), Observed::Value);
        self.list_reads.push(ListRead { txn, key, op, length: outside as u32 });
        index.reads.push(ExternalRead { txn, key, observed, op });
        if before.is_none() {
            self.touches.set(key, Touch { op, seen: observed, ..touch });
        }
    }

    fn own_appends(&self, txn: TxnId, key: KeyId, before: OpId) -> impl Iterator<Item = ValueId> + use<'h> {
        self.history.ops(txn).take_while(move |&(id, _)| id < before).filter_map(move |(_, op)| match op {
            Op::Append { key: of, value } if of == key => Some(value),
            _ => None,
        })
    }

    /// A range read is a read of every known key between its bounds.
    fn visit_range(&mut self, index: &mut Index, txn: TxnId, op: OpId, range: &RangeRead) {
        let Some(rows) = &range.rows else { return };
        if self.returned_by.is_empty() {
            self.sorted_keys = (0..self.history.keys().len()).map(KeyId::from_index).collect();
            let keys = self.history.keys();
            self.sorted_keys.sort_by(|&a, &b| keys.original(a).cmp(keys.original(b)));
            self.returned_by = vec![None; self.history.keys().len()];
        }
        let places = self.places(range);
        for row in rows {
            let observed = if row.is_dead { Observed::Mark(row.value) } else { Observed::Live(row.value) };
            let returned = self.returned_by[row.key.index()].replace((op, observed));
            let kind = match returned {
                Some((before, _)) if before == op => FindingKind::DuplicatedRow,
                _ if !range.contains(self.datum(row.key)) => FindingKind::RowOutOfBounds,
                _ => continue,
            };
            index.findings.push(Finding { kind, txn, read: op, key: row.key, value: row.value, other: None });
        }
        for place in places {
            let key = self.sorted_keys[place];
            let observed = match self.returned_by[key.index()] {
                Some((by, observed)) if by == op => observed,
                _ => Observed::Absent,
            };
            self.visit_read(index, txn, op, key, observed);
        }
    }

    fn datum(&self, key: KeyId) -> &'h history::Datum {
        self.history.keys().original(key)
    }

    /// The places of the keys of a range among the sorted keys.
    fn places(&self, range: &RangeRead) -> std::ops::Range<usize> {
        let start = match &range.from {
            Bound::Unbounded => 0,
            Bound::Included(from) => self.sorted_keys.partition_point(|&key| self.datum(key) < from),
            Bound::Excluded(from) => self.sorted_keys.partition_point(|&key| self.datum(key) <= from),
        };
        let end = match &range.to {
            Bound::Unbounded => self.sorted_keys.len(),
            Bound::Included(to) => self.sorted_keys.partition_point(|&key| self.datum(key) <= to),
            Bound::Excluded(to) => self.sorted_keys.partition_point(|&key| self.datum(key) < to),
        };
        start..end.max(start)
    }
}
