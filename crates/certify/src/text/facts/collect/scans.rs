//! Sources of what statements with a predicate saw of one key: that a row matched without showing it, or did not match.
//!
//! A row that did not match may have come from every transaction that left another one. Which contents match is found once
//! for each content of the key, and reads with the same answer share their sources.

use std::collections::BTreeMap;

use history::{Op, OpId, ValueId};

use super::{Collected, GROUP, INITIAL, KeyPass, Kind, Scans, Touch};
use crate::observe::Held;

impl KeyPass<'_> {
    /// Whether the predicate of an operation matches what the key at hand holds.
    pub(super) fn is_match(&self, op: OpId, held: Held) -> bool {
        let predicate = match self.history.op(op) {
            Op::PredicateRead(read) => read.predicate.meaning(),
            Op::PredicateWrite(write) => write.predicate.meaning(),
            _ => return false,
        };
        predicate.is_ok_and(|meaning| self.row_writes.matches(self.history, meaning, self.key, held))
    }

    /// Finds the sources of reads that matched without showing the row.
    pub(super) fn join_matched(&mut self, initial: Option<ValueId>, collected: &mut Collected) {
        let initial = initial.map(Held::initially);
        for (node, op) in std::mem::take(&mut self.matched) {
            let source = self.scan_source(node, initial, |held| self.is_match(op, held), collected);
            self.add_scan(node, op, source, collected);
        }
    }

    /// Finds the sources of reads that did not match.
    pub(super) fn join_unmatched(
        &mut self,
        scans: &Scans<'_>,
        touches: &[Touch],
        initial: Option<ValueId>,
        collected: &mut Collected,
    ) {
        let initial = initial.map(Held::initially);
        let mut known: BTreeMap<Vec<Held>, Option<u32>> = BTreeMap::new();
        for (number, contents) in self.matched_contents(scans, touches, initial) {
            let scan = scans.get(number);
            if scan.has_matched(self.key) {
                continue;
            }
            if let Some(own) = own_before(touches, scan.node, scan.op) {
                if contents.contains(&own) {
                    collected.unexplained.push((scan.node, scan.op));
                }
                continue;
            }
            let writes_itself = self.writes.iter().any(|&(_, node, _)| node == scan.node);
            let source = match known.get(&contents).filter(|_| !writes_itself) {
                Some(&source) => source,
                None => {
                    let is_other = |held: Held| !contents.contains(&held);
                    self.scan_source(scan.node, initial, is_other, collected)
                }
            };
            if self.is_told(scan.node, initial, &contents) {
                self.add_scan(scan.node, scan.op, source, collected);
            }
            if !writes_itself {
                known.insert(contents, source);
            }
        }
    }

    /// The scans that some content of the key matches, each with these contents.
    fn matched_contents(
        &self,
        scans: &Scans<'_>,
        touches: &[Touch],
        initial: Option<Held>,
    ) -> Vec<(u32, Vec<Held>)> {
        let written = touches.iter().filter_map(|touch| match touch.kind {
            Kind::Write(held) => Some(held),
            _ => None,
        });
        let mut contents: Vec<Held> = written.chain(initial).collect();
        contents.sort_unstable();
        contents.dedup();
        let mut found: Vec<(u32, Held)> = Vec::new();
        for &held in &contents {
            let at = (self.history, self.row_writes);
            scans.visit_matching(at, self.key, held, |number| found.push((number, held)));
        }
        found.sort_unstable();
        let same = found.chunk_by(|(one, _), (other, _)| one == other);
        same.map(|same| (same[0].0, same.iter().map(|&(_, held)| held).collect())).collect()
    }

    /// Whether another transaction, or the initial state, left one of these contents: otherwise that a row does not match
    /// excludes nothing.
    fn is_told(&self, reader: u32, initial: Option<Held>, contents: &[Held]) -> bool {
        let is_left = |&(value, node, is_dead): &(ValueId, u32, bool)| {
            node != reader && contents.contains(&Held { value, is_dead })
        };
        initial.is_some_and(|held| contents.contains(&held)) || self.writes.iter().any(is_left)
    }

    /// The nodes that left something that fits, as a source.
    fn scan_source(
        &self,
        reader: u32,
        initial: Option<Held>,
        fits: impl Fn(Held) -> bool,
        collected: &mut Collected,
    ) -> Option<u32> {
        let fitting = self
            .writes
            .iter()
            .filter(|&&(value, node, is_dead)| node != reader && fits(Held { value, is_dead }));
        let from_initial = initial.is_some_and(&fits).then_some(INITIAL);
        let mut all: Vec<u32> = from_initial.into_iter().chain(fitting.map(|&(_, node, _)| node)).collect();
        all.sort_unstable();
        match all[..] {
            [] => None,
            [only] => Some(only),
            _ => {
                collected.candidates.extend(&all);
                collected.group_start.push(collected.candidates.len() as u32);
                Some(GROUP | (collected.group_start.len() as u32 - 2))
            }
        }
    }

    fn add_scan(&self, node: u32, op: OpId, source: Option<u32>, collected: &mut Collected) {
        match source {
            Some(source) => {
                collected.read_count += 1;
                collected.extra.push((op, self.key.0, source));
            }
            None => collected.unexplained.push((node, op)),
        }
    }
}

/// What a node itself had left in the key at hand before an operation.
fn own_before(touches: &[Touch], node: u32, op: OpId) -> Option<Held> {
    let end = touches.partition_point(|touch| (touch.node, touch.op) < (node, op));
    let own = touches[..end].iter().rev().take_while(|touch| touch.node == node);
    own.filter_map(|touch| match touch.kind {
        Kind::Write(held) => Some(held),
        _ => None,
    })
    .next()
}
