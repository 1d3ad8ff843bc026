//! Levels at which a transaction sees only the sources of its earlier reads, or nothing, where rows that predicates did not
//! match have no reads of their own (`certify::text::facts::Unmatched`).
//!
//! What reads with one source force gives an order, as in `least.rs`. Along this order each reader is gone through once,
//! operation by operation: a read with several possible sources takes the first one that does not stand before the last visible
//! writer of its key, and a statement that did not match a visible row takes the first later writer that left something else.
//! If a read with one source is behind what such a choice made visible, the choice takes a later source, and the reader begins
//! again. If a source is found only behind the reader, the reader moves behind it, and all begins again.
//!
//! Where this ends without an order, the rows get their reads, and the other engines decide.

use std::collections::BTreeMap;

use certify::text::facts::{Facts, INITIAL, UnmatchedScan, VisibleRows};
use certify::text::judge::Witness;
use certify::text::plan::Plan;
use certify::text::saturate;
use history::OpId;

use crate::{Options, TextDecision, core_of, forced, least};

/// So many times a reader begins again.
const MOST_TRIES: usize = 64;

/// The answer for facts in which rows that were not matched have no reads.
pub enum ApartDecision {
    /// The level holds by this order, with sources of some rows that were not matched: (operation, key, node).
    Holds(Witness, Vec<(OpId, u32, u32)>),
    /// What is certain about these nodes contradicts itself.
    Contradiction(Vec<u32>),
    /// A limit was reached.
    Stopped,
}

/// Decides a level whose plan is local; nothing if the rows that were not matched need reads.
pub fn decide_apart(facts: &Facts, plan: &Plan, options: &Options<'_>) -> Option<ApartDecision> {
    let certain = saturate::certain_nodes(facts);
    let single = facts.with_single_sources();
    let mut priority = options.priority.to_vec();
    for _ in 0..least::MOST_ORDERS {
        let options = &Options { priority: &priority, ..*options };
        let order = match least::order_of_single_sources(&single, plan, &certain, options) {
            forced::ForcedDecision::Holds(witness) => witness,
            forced::ForcedDecision::Accepted(accepted) => accepted.into_witness(),
            forced::ForcedDecision::Contradiction(nodes) => return contradiction(facts, plan, nodes),
            forced::ForcedDecision::Stopped => return Some(ApartDecision::Stopped),
            forced::ForcedDecision::OrderMatters => return None,
        };
        let mut along = Along::new(facts, plan, &order);
        let mut late = Vec::new();
        for (place, &reader) in order.order[1..].iter().enumerate() {
            if place.is_multiple_of(STOP_INTERVAL) && (options.stop)() {
                return Some(ApartDecision::Stopped);
            }
            late.extend(along.read(reader)?);
        }
        if late.is_empty() {
            let (source, rows) = (along.source, along.rows);
            return Some(ApartDecision::Holds(Witness { source, ..order }, rows));
        }
        priority = least::moved(&order, late);
    }
    None
}

/// How many readers pass between two questions whether to stop.
const STOP_INTERVAL: usize = 64;

fn contradiction(facts: &Facts, plan: &Plan, nodes: Vec<u32>) -> Option<ApartDecision> {
    match core_of::smallest(facts, plan, nodes) {
        TextDecision::Contradiction(nodes) => Some(ApartDecision::Contradiction(nodes)),
        _ => None,
    }
}

/// The pass along one order.
struct Along<'f> {
    facts: &'f Facts,
    order: &'f Witness,
    visible: VisibleRows<'f>,
    has_visible: bool,
    /// The writers of each key in the order.
    writers: Vec<Vec<u32>>,
    source: Vec<u32>,
    rows: Vec<(OpId, u32, u32)>,
}

/// A reader, and a source of it that stands behind it.
type Late = (u32, u32);

/// The choices of one reader, by operation and key.
#[derive(Default)]
struct Choices {
    /// For each choice the first place at which its source may stand.
    least: BTreeMap<(OpId, u32), u32>,
    /// The choice that made a transaction visible.
    cause: BTreeMap<u32, (OpId, u32)>,
}

/// How a try to go through a reader ended.
enum Tried {
    Read(Vec<(OpId, u32, u32)>, Option<Late>),
    Again,
    Lost,
}

impl<'f> Along<'f> {
    fn new(facts: &'f Facts, plan: &Plan, order: &'f Witness) -> Self {
        let mut writers = vec![Vec::new(); facts.key_count()];
        for &node in &order.order[1..] {
            facts.written(node).iter().for_each(|&key| writers[key as usize].push(node));
        }
        Self {
            facts,
            order,
            visible: VisibleRows::new(facts, order).expect("rows that were not matched are apart"),
            has_visible: !plan.parts.is_empty(),
            writers,
            source: vec![INITIAL; facts.reads().len()],
            rows: Vec::new(),
        }
    }

    /// Finds the sources of a reader; nothing if that does not succeed.
    fn read(&mut self, reader: u32) -> Option<Option<Late>> {
        let mut choices = Choices::default();
        for _ in 0..MOST_TRIES {
            match self.try_read(reader, &mut choices) {
                Tried::Read(rows, late) => {
                    self.rows.extend(rows);
                    return Some(late);
                }
                Tried::Again => {}
                Tried::Lost => return None,
            }
        }
        None
    }

    fn try_read(&mut self, reader: u32, choices: &mut Choices) -> Tried {
        let facts = self.facts;
        self.visible.begin();
        choices.cause.clear();
        let mut rows: Vec<(OpId, u32, u32)> = Vec::new();
        let mut late = None;
        let mut scans = facts.unmatched().expect("as before").scans_of(reader);
        let mut reads = facts.reads_of(reader);
        loop {
            let of_read = (!reads.is_empty()).then(|| facts.reads()[reads.start].op);
            let of_scan = scans.first().map(|scan| scan.op);
            let Some(op) = of_read.into_iter().chain(of_scan).min() else { break };
            // What one operation read becomes visible to the next.
            let mut seen: Vec<(u32, Option<(OpId, u32)>)> = Vec::new();
            while !reads.is_empty() && facts.reads()[reads.start].op == op {
                let read = reads.next().expect("there is one");
                let key = facts.reads()[read].key;
                let choice = facts.only_source(read).is_none().then_some((op, key));
                match self.source_of(read, choices) {
                    Some(source) => {
                        self.source[read] = source;
                        seen.push((source, choice));
                    }
                    None => return self.exclude(key, choices),
                }
            }
            if let Some((scan, rest)) = scans.split_first().filter(|(scan, _)| scan.op == op) {
                scans = rest;
                let mut missed = Vec::new();
                self.visible.visit_missed(scan, |key| missed.push(key));
                for key in missed {
                    let Some(source) = self.other_row(scan, key, choices) else { return Tried::Lost };
                    rows.push((op, key, source));
                    seen.push((source, Some((op, key))));
                }
            }
            for (source, choice) in seen {
                if self.order.position[source as usize] > self.order.position[reader as usize] {
                    late = late.or(Some((reader, source)));
                }
                if self.has_visible {
                    self.visible.see(source);
                    choices.note(source, choice);
                }
            }
        }
        Tried::Read(rows, late)
    }

    /// The first possible source of a read that does not stand before the last visible writer of its key.
    fn source_of(&self, read: usize, choices: &Choices) -> Option<u32> {
        let (facts, position) = (self.facts, &self.order.position);
        let of = facts.reads()[read];
        let visible = position[self.visible.last_writer(of.key) as usize];
        let least = choices.least.get(&(of.op, of.key)).copied().unwrap_or(0).max(visible);
        let is_there = |&node: &u32| self.order.has(node) && position[node as usize] >= least;
        let candidates = facts.candidates(read).iter().copied().filter(is_there);
        candidates.min_by_key(|&node| position[node as usize])
    }

    /// The first writer behind the last visible one that left something that a scan does not match.
    fn other_row(&self, scan: &UnmatchedScan, key: u32, choices: &Choices) -> Option<u32> {
        let position = &self.order.position;
        let visible = position[self.visible.last_writer(key) as usize] + 1;
        let least = choices.least.get(&(scan.op, key)).copied().unwrap_or(0).max(visible);
        let writers = &self.writers[key as usize];
        let start = writers.partition_point(|&writer| position[writer as usize] < least);
        let unmatched = self.facts.unmatched()?;
        let fits = |&writer: &u32| writer != scan.node && !unmatched.matches_left_by(scan, key, writer);
        writers[start..].iter().copied().find(fits)
    }

    /// A read has no source that stands late enough: the choice that made the writer visible takes a later one.
    fn exclude(&self, key: u32, choices: &mut Choices) -> Tried {
        let rival = self.visible.last_writer(key);
        let Some(&choice) = choices.cause.get(&rival) else { return Tried::Lost };
        choices.least.insert(choice, self.order.position[rival as usize] + 1);
        Tried::Again
    }
}

impl Choices {
    /// A transaction is visible by a choice, or anyway.
    fn note(&mut self, source: u32, choice: Option<(OpId, u32)>) {
        match choice {
            Some(choice) => {
                self.cause.entry(source).or_insert(choice);
            }
            None => {
                self.cause.remove(&source);
            }
        }
    }
}
