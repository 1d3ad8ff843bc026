//! Rows that statements with a predicate did not match, without a read for each of them.
//!
//! As reads of single keys they are most of a history: 1,000 transactions of `blindw-pred` on 1,000 rows returned 90,000 rows
//! and had 1.3 million others that some content would have matched. At a level where a transaction sees only the sources of
//! its earlier reads, or nothing ([`Plan::is_local`]), almost all of them follow: such a read takes the last visible writer of
//! its key for its source, or the initial state if no writer is visible. If this content does not match, the source fits, it
//! is visible already, and so the read makes nothing else visible and puts no transaction before another. Only where the
//! content matches, the row came from elsewhere, and the certificate says from where: these reads are made
//! ([`Facts::with_unmatched`]), and the others are checked as above ([`Facts::check_unmatched`]).
//!
//! A statement is compared with the visible writes of its transaction, and with the initial rows that match it:
//! O(rows * statements) comparisons of two numbers.

use std::collections::BTreeMap;

use history::{Datum, History, KeyId, OpId, Predicate};

use super::predicates::{RowWrites, Scan, integers, own_writes};
use super::{Facts, INITIAL, Read};
use crate::observe::Held;
use crate::text::judge::Witness;
use crate::text::plan::Plan;
use crate::{Flaw, Place};

/// What the statements with a predicate say about rows that they did not match.
#[derive(Debug, Default)]
pub struct Unmatched {
    scans: Vec<UnmatchedScan>,
    /// For each node its first scan, and the end.
    scan_start: Vec<u32>,
    /// The scans by their operations.
    by_op: Vec<(OpId, u32)>,
    /// For each node the keys that it writes, ascending, with the number of the content that it left.
    left: Vec<(u32, u32)>,
    left_start: Vec<u32>,
    /// For each key the number of its first content.
    initial: Vec<u32>,
    keys: Vec<Datum>,
    /// The rows by the numbers of contents; nothing for a row that was deleted.
    rows: Vec<Option<Datum>>,
    /// For each column that a predicate is an interval of: the integer that a content has there.
    columns: Vec<Vec<Option<i64>>>,
    /// Scans that did not match what their own transaction had left.
    pub(super) contradictions: Vec<(u32, OpId)>,
}

/// A statement that looked at all rows by a predicate.
#[derive(Debug)]
pub struct UnmatchedScan {
    /// Its node.
    pub node: u32,
    /// Its operation.
    pub op: OpId,
    predicate: Predicate,
    /// (column, least, most) of an interval of integers.
    interval: Option<(u32, i64, i64)>,
    /// The keys, ascending, that the statement matched or that its own transaction had written.
    settled: Vec<u32>,
    /// The other keys whose first content matches.
    initially: Vec<u32>,
}

impl Unmatched {
    pub(super) fn of(history: &History, facts: &Facts, writes: &RowWrites) -> Self {
        let mut found = Self {
            keys: (0..history.keys().len())
                .map(|key| history.keys().original(KeyId::from_index(key)).clone())
                .collect(),
            left_start: vec![0, 0],
            scan_start: vec![0, 0],
            ..Self::default()
        };
        let mut numbers = Numbers::default();
        let first = |key| history.initial().value_of(KeyId::from_index(key)).map(Held::initially);
        found.initial =
            (0..found.keys.len()).map(|key| first(key).map_or(u32::MAX, |held| numbers.of(held))).collect();
        for node in 1..facts.node_count() as u32 {
            found.add_node(history, (facts, node), writes, &mut numbers);
        }
        found.rows = numbers.rows(|held| writes.datum(history, held.value));
        found.add_columns();
        found.add_initially();
        found.by_op = found.scans.iter().enumerate().map(|(place, scan)| (scan.op, place as u32)).collect();
        found.by_op.sort_unstable();
        found
    }

    fn add_node(
        &mut self,
        history: &History,
        (facts, node): (&Facts, u32),
        writes: &RowWrites,
        numbers: &mut Numbers,
    ) {
        let mut own: BTreeMap<KeyId, Held> = BTreeMap::new();
        for (id, op) in history.ops(facts.txn(node)) {
            if let Some(scan) = Scan::of(node, id, &op, writes) {
                let is_missed = |(&key, &held): (&KeyId, &Held)| {
                    !scan.has_matched(key) && writes.matches(history, scan.predicate, key, held)
                };
                if own.iter().any(is_missed) {
                    self.contradictions.push((node, id));
                }
                let mut settled: Vec<u32> = own.keys().chain(scan.matched()).map(|key| key.0).collect();
                settled.sort_unstable();
                settled.dedup();
                let predicate = scan.predicate.clone();
                let (interval, initially) = (None, Vec::new());
                self.scans.push(UnmatchedScan { node, op: id, predicate, interval, settled, initially });
            }
            own.extend(own_writes(&op, id, writes));
        }
        self.left.extend(own.into_iter().map(|(key, held)| (key.0, numbers.of(held))));
        self.left_start.push(self.left.len() as u32);
        self.scan_start.push(self.scans.len() as u32);
    }

    /// Finds the columns that predicates are intervals of, and the integers of all contents there.
    fn add_columns(&mut self) {
        let mut names: Vec<Box<str>> = Vec::new();
        for scan in &mut self.scans {
            let Some((name, least, most)) = integers(&scan.predicate) else { continue };
            let place = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            scan.interval = Some((place as u32, least, most));
        }
        let integer = |row: &Option<Datum>, name: &str| match row.as_ref()?.column(name) {
            Some(&Datum::Int(integer)) => Some(integer),
            _ => None,
        };
        let column = |name: &str| self.rows.iter().map(|row| integer(row, name)).collect();
        self.columns = names.iter().map(|name| column(name)).collect();
    }

    fn add_initially(&mut self) {
        let mut scans = std::mem::take(&mut self.scans);
        for scan in &mut scans {
            let matches = |&key: &u32| self.matches(scan, key, self.initial[key as usize]);
            let keys = (0..self.keys.len() as u32).filter(matches);
            scan.initially = keys.filter(|key| scan.settled.binary_search(key).is_err()).collect();
        }
        self.scans = scans;
    }

    /// The scans of a node, in program order.
    pub fn scans_of(&self, node: u32) -> &[UnmatchedScan] {
        &self.scans[self.scan_start[node as usize] as usize..self.scan_start[node as usize + 1] as usize]
    }

    /// Whether a scan's predicate is true of what a node, or the initial state, left in a key.
    pub fn matches_left_by(&self, scan: &UnmatchedScan, key: u32, node: u32) -> bool {
        let content = match node {
            INITIAL => Some(self.initial[key as usize]),
            node => {
                let left = self.left_by(node);
                left.binary_search_by_key(&key, |&(key, _)| key).ok().map(|place| left[place].1)
            }
        };
        content.is_some_and(|content| self.matches(scan, key, content))
    }

    fn left_by(&self, node: u32) -> &[(u32, u32)] {
        &self.left[self.left_start[node as usize] as usize..self.left_start[node as usize + 1] as usize]
    }

    fn matches(&self, scan: &UnmatchedScan, key: u32, content: u32) -> bool {
        let Some(Some(row)) = self.rows.get(content as usize) else { return false };
        if let Some((column, least, most)) = scan.interval
            && let Some(integer) = self.columns[column as usize][content as usize]
            && !(least..=most).contains(&integer)
        {
            return false;
        }
        scan.predicate.matches(&self.keys[key as usize], row)
    }

    /// The scan of an operation, if that is one.
    fn scan_at(&self, op: OpId) -> Option<&UnmatchedScan> {
        let place = self.by_op.binary_search_by_key(&op, |&(op, _)| op).ok()?;
        Some(&self.scans[self.by_op[place].1 as usize])
    }
}

/// Numbers of contents.
#[derive(Default)]
struct Numbers {
    of: BTreeMap<Held, u32>,
    all: Vec<Held>,
}

impl Numbers {
    fn of(&mut self, held: Held) -> u32 {
        *self.of.entry(held).or_insert_with(|| {
            self.all.push(held);
            self.all.len() as u32 - 1
        })
    }

    fn rows(&self, datum: impl Fn(Held) -> Datum) -> Vec<Option<Datum>> {
        self.all.iter().map(|&held| (!held.is_dead).then(|| datum(held))).collect()
    }
}

/// What a transaction sees of the keys while its operations pass, along an order.
pub struct VisibleRows<'f> {
    unmatched: &'f Unmatched,
    position: &'f [u32],
    /// How many readers have begun.
    turn: u32,
    /// For each key the turn that this is valid for, the last visible writer, and the content that it left.
    last: Vec<(u32, u32, u32)>,
    /// The keys that a visible transaction wrote.
    keys: Vec<u32>,
    /// For each node the last turn in which it was seen.
    seen_in: Vec<u32>,
}

impl<'f> VisibleRows<'f> {
    /// For the readers of a witness; nothing if the facts have a read for each row that was not matched.
    pub fn new(facts: &'f Facts, witness: &'f Witness) -> Option<Self> {
        let unmatched = facts.unmatched.as_deref()?;
        let last = vec![(0, INITIAL, 0); facts.key_count()];
        let (keys, seen_in) = (Vec::new(), vec![0; facts.node_count()]);
        Some(Self { unmatched, position: &witness.position, turn: 0, last, keys, seen_in })
    }

    /// Another reader begins, to which nothing is visible yet.
    pub fn begin(&mut self) {
        self.keys.clear();
        self.turn += 1;
    }

    /// A transaction becomes visible.
    pub fn see(&mut self, writer: u32) {
        let seen_in = &mut self.seen_in[writer as usize];
        if writer == INITIAL || std::mem::replace(seen_in, self.turn) == self.turn {
            return;
        }
        let position = self.position[writer as usize];
        for &(key, content) in self.unmatched.left_by(writer) {
            let last = &mut self.last[key as usize];
            if last.0 != self.turn {
                self.keys.push(key);
            } else if self.position[last.1 as usize] >= position {
                continue;
            }
            *last = (self.turn, writer, content);
        }
    }

    /// The last visible writer of a key; the initial state if there is none.
    pub fn last_writer(&self, key: u32) -> u32 {
        let (of, writer, _) = self.last[key as usize];
        if of == self.turn { writer } else { INITIAL }
    }

    /// Calls `found` for each key that a scan did not match although it matches the last visible content.
    pub fn visit_missed(&self, scan: &UnmatchedScan, mut found: impl FnMut(u32)) {
        for &key in &self.keys {
            let content = self.last[key as usize].2;
            if self.unmatched.matches(scan, key, content) && scan.settled.binary_search(&key).is_err() {
                found(key);
            }
        }
        let is_first = |&&key: &&u32| self.last[key as usize].0 != self.turn;
        scan.initially.iter().filter(is_first).for_each(|&key| found(key));
    }
}

impl Facts {
    /// What scans say about rows that they did not match, if the facts have no reads for these.
    pub fn unmatched(&self) -> Option<&Unmatched> {
        self.unmatched.as_deref()
    }

    /// These facts with some reads of rows that scans did not match: (operation, key, source). Others are left out: where no
    /// scan is, where a row was matched, and where the source left something that matches.
    pub fn with_unmatched(&self, reads: impl IntoIterator<Item = (OpId, u32, u32)>) -> Self {
        let mut facts = self.clone();
        let Some(unmatched) = &self.unmatched else { return facts };
        let mut added: Vec<(u32, Read)> = Vec::new();
        for (op, key, source) in reads {
            let Some(scan) = unmatched.scan_at(op) else { continue };
            if key as usize >= self.key_count() {
                continue;
            }
            let is_open = scan.settled.binary_search(&key).is_err();
            let is_other = source != scan.node && self.writes(source, key);
            if is_open && is_other && !unmatched.matches_left_by(scan, key, source) {
                added.push((scan.node, Read { key, source, op }));
            }
        }
        added.sort_unstable_by_key(|&(node, read)| (node, read.op, read.key));
        facts.reads.clear();
        facts.read_start.truncate(1);
        let mut rest = added.as_slice();
        for node in 0..self.node_count() as u32 {
            let start = facts.reads.len();
            facts.reads.extend_from_slice(&self.reads[self.reads_of(node)]);
            let count = rest.partition_point(|&(of, _)| of <= node);
            facts.reads.extend(rest[..count].iter().map(|&(_, read)| read));
            if count > 0 {
                facts.reads[start..].sort_by_key(|read| read.op);
            }
            rest = &rest[count..];
            facts.read_start.push(facts.reads.len() as u32);
        }
        facts
    }

    /// Checks that every scan of the order that did not match a visible content has a read that says what it saw instead.
    pub(in crate::text) fn check_unmatched(&self, plan: &Plan, witness: &Witness) -> Result<(), Flaw> {
        let Some(mut visible) = VisibleRows::new(self, witness) else { return Ok(()) };
        if !plan.is_local() {
            return Err(Flaw::new(
                Place::Level,
                "the level asks for a read of each row that was not matched",
            ));
        }
        for &reader in &witness.order[1..] {
            visible.begin();
            let reads = &self.reads[self.reads_of(reader)];
            let sources = &witness.source[self.reads_of(reader)];
            let mut passed = 0;
            for scan in visible.unmatched.scans_of(reader) {
                while passed < reads.len() && reads[passed].op < scan.op && !plan.parts.is_empty() {
                    visible.see(sources[passed]);
                    passed += 1;
                }
                let start = reads.partition_point(|read| read.op < scan.op);
                let of_scan = reads[start..].iter().take_while(|read| read.op == scan.op);
                let mut told: Vec<u32> = of_scan.map(|read| read.key).collect();
                told.sort_unstable();
                let mut is_missed = false;
                visible.visit_missed(scan, |key| is_missed |= told.binary_search(&key).is_err());
                if is_missed {
                    let why = "a row that the predicate matches is visible, and was not returned";
                    return Err(Flaw::new(Place::Read(scan.op), why));
                }
            }
        }
        Ok(())
    }
}
