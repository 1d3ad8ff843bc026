//! The pass over the operations that finds final writes, sources, and what contradicts its own transaction.
//!
//! Operations are sorted by key (`collect/touches.rs`), and each key is gone through once.

mod scans;
mod touches;

use history::{History, KeyId, OpId, ValueId};

use super::lists::{DoubtfulList, ListsOf, ToldBy};
use super::predicates::{RowWrites, Scans};
use super::versions::Versions;
use super::{Facts, GROUP, INITIAL, NONE, Reading, Told};
use crate::lists::Appenders;
use crate::observe::{EverWritten, Held, Look};
use crate::{Flaw, Place};
use touches::{Kind, Touch, TouchSource, sorted_keys};

/// Everything that is found key by key.
#[derive(Default)]
pub(super) struct Collected {
    /// For each operation on one key its source: a node, or a group.
    pub source: Vec<u32>,
    pub read_count: usize,
    /// Reads by ranges: (operation, key, source).
    pub extra: Vec<(OpId, u32, u32)>,
    pub key_start: Vec<u32>,
    pub writers: Vec<u32>,
    pub group_start: Vec<u32>,
    pub candidates: Vec<u32>,
    pub told: Vec<Told>,
    pub listed: Vec<(u32, u32)>,
    pub unexplained: Vec<(u32, OpId)>,
    pub doubtful: Vec<DoubtfulList>,
}

impl Collected {
    pub fn of(
        history: &History,
        facts: &Facts,
        row_writes: &RowWrites,
        is_impossible: &[bool],
        &Reading { reads, guess, is_unmatched_apart }: &Reading<'_>,
    ) -> Result<Self, Flaw> {
        let sorted_keys = if history.has_ranges() { sorted_keys(history) } else { Vec::new() };
        let source = TouchSource { history, facts, row_writes, is_impossible, reads, sorted_keys };
        let scans = if is_unmatched_apart { Scans::default() } else { source.scans() };
        let blocks = source.blocks();
        let lists = match blocks.has_lists {
            true => Some((Appenders::of(history)?, facts.nodes(history.txn_count()))),
            false => None,
        };
        let ever_written = (0..history.keys().len())
            .any(|key| history.initial().value_of(KeyId::from_index(key)).is_none())
            .then(|| EverWritten::of(history));
        let mut collected = Self {
            source: vec![NONE; history.op_count()],
            key_start: vec![0],
            group_start: vec![0],
            ..Self::default()
        };
        let mut pass = KeyPass::new(history, row_writes);
        source.for_each_key(&blocks, |key, touches| {
            pass.run(key, touches, &mut collected);
            let initial = initial_of(history, facts, &pass, ever_written.as_ref())?;
            match history.has_versions() {
                true => pass.join_versions(facts, &mut collected, initial)?,
                false => pass.join(&mut collected, initial),
            }
            pass.join_matched(initial, &mut collected);
            if !scans.is_empty() {
                pass.join_unmatched(&scans, touches, initial, &mut collected);
            }
            if let Some((appenders, nodes)) = &lists {
                let lists = ListsOf { history, facts, appenders, nodes, is_impossible, guess };
                pass.join_lists(&lists, &mut collected);
            }
            collected.key_start.push(collected.writers.len() as u32);
            Ok(())
        })?;
        if let Some((appenders, nodes)) = &lists {
            collected.doubtful = DoubtfulList::all(history, appenders, nodes);
        }
        Ok(collected)
    }

    /// The only one of some nodes, or the number of a new group of them.
    fn source_of(&mut self, mut nodes: Vec<u32>) -> u32 {
        if let [only] = nodes[..] {
            return only;
        }
        nodes.sort_unstable();
        self.candidates.extend(nodes);
        self.group_start.push(self.candidates.len() as u32);
        GROUP | (self.group_start.len() as u32 - 2)
    }

    fn add_source(&mut self, history: &History, read: &Pending, key: KeyId, source: u32) {
        self.read_count += 1;
        let is_of_key = matches!(read.look, Look::Plain(_)) || history.op_key(read.op).is_some();
        match is_of_key {
            true => self.source[read.op.index()] = source,
            false => self.extra.push((read.op, key.0, source)),
        }
    }
}

/// A read of the key at hand that did not return an own write.
#[derive(Clone, Copy)]
struct Pending {
    node: u32,
    op: OpId,
    look: Look,
}

/// The pass over one key.
struct KeyPass<'h> {
    history: &'h History,
    row_writes: &'h RowWrites,
    key: KeyId,
    reads: Vec<Pending>,
    lists: Vec<(u32, OpId)>,
    /// (value, node, whether it leaves no row), sorted.
    writes: Vec<(ValueId, u32, bool)>,
    /// The place among the writes of what was looked for last.
    near: usize,
    /// The group of each value that was made already: (first write, group).
    groups: Vec<(u32, u32)>,
    /// All writes that leave no row, with the initial state if it does, once made.
    absent: Option<u32>,
    /// Writes by predicate that changed what another transaction left: (node, operation).
    matched: Vec<(u32, OpId)>,
    /// The last write of each node: (node, operation); only where versions were recorded.
    last_writes: Vec<(u32, OpId)>,
}

impl<'h> KeyPass<'h> {
    fn new(history: &'h History, row_writes: &'h RowWrites) -> Self {
        Self {
            history,
            row_writes,
            key: KeyId(0),
            reads: Vec::new(),
            lists: Vec::new(),
            writes: Vec::new(),
            near: 0,
            groups: Vec::new(),
            absent: None,
            matched: Vec::new(),
            last_writes: Vec::new(),
        }
    }

    /// Final writes, external reads, and what contradicts its own transaction.
    fn run(&mut self, key: KeyId, touches: &[Touch], collected: &mut Collected) {
        self.key = key;
        self.reads.clear();
        self.lists.clear();
        self.writes.clear();
        self.near = 0;
        self.groups.clear();
        self.absent = None;
        self.matched.clear();
        self.last_writes.clear();
        let tells_versions = self.history.has_versions();
        let mut own: Option<(u32, Held)> = None;
        for touch in touches {
            let node = touch.node;
            if tells_versions && matches!(touch.kind, Kind::Write(_)) {
                self.last_writes.pop_if(|&mut (of, _)| of == node);
                self.last_writes.push((node, touch.op));
            }
            let held = own.filter(|&(of, _)| of == node).map(|(_, held)| held);
            match touch.kind {
                Kind::Write(held) => self.write(&mut own, node, held, collected),
                Kind::Append(value) => self.write(&mut own, node, Held { value, is_dead: false }, collected),
                Kind::List => self.lists.push((node, touch.op)),
                Kind::Wrong => collected.unexplained.push((node, touch.op)),
                Kind::Matched => match held {
                    None => self.matched.push((node, touch.op)),
                    Some(held) if self.is_match(touch.op, held) => {}
                    Some(_) => collected.unexplained.push((node, touch.op)),
                },
                Kind::Look(look) => match held {
                    None => self.reads.push(Pending { node, op: touch.op, look }),
                    Some(held) if look.fits(held) => {}
                    Some(_) => collected.unexplained.push((node, touch.op)),
                },
            }
        }
        // One comparison of a number for each pair: a node has one final write of the key.
        self.writes.sort_unstable_by_key(|&(value, node, _)| u64::from(value.0) << 32 | u64::from(node));
    }

    fn write(&mut self, own: &mut Option<(u32, Held)>, node: u32, held: Held, collected: &mut Collected) {
        match own {
            Some((of, before)) if *of == node => {
                *before = held;
                let last = self.writes.last_mut().expect("the node has written");
                *last = (held.value, node, held.is_dead);
            }
            _ => {
                *own = Some((node, held));
                collected.writers.push(node);
                self.writes.push((held.value, node, held.is_dead));
            }
        }
    }

    /// Finds the sources of the reads.
    fn join(&mut self, collected: &mut Collected, initial: Option<ValueId>) {
        for place in 0..self.reads.len() {
            let read = self.reads[place];
            let source = self.source(&read, initial, collected);
            self.add(&read, source, collected);
        }
    }

    /// As [`KeyPass::join`], where reads may tell the version that they saw; and the order of the recorded versions.
    fn join_versions(
        &mut self,
        facts: &Facts,
        collected: &mut Collected,
        initial: Option<ValueId>,
    ) -> Result<(), Flaw> {
        let history = self.history;
        let is_told = |read: &Pending| history.op_version(read.op).is_some();
        let first_told = self.reads.iter().find(|read| is_told(read)).map(|read| read.op);
        let mut versions = Versions::of(history, &self.last_writes, first_told, initial.is_some())?;
        versions.tell(facts, &mut collected.told);
        for place in 0..self.reads.len() {
            let read = self.reads[place];
            let source = match history.op_version(read.op) {
                None => self.source(&read, initial, collected),
                Some(version) => {
                    let from_initial = fits_initial(&read, initial);
                    let source = versions.source(facts, (read.op, version), from_initial)?;
                    source.filter(|&node| node == INITIAL || self.has_left(node, &read))
                }
            };
            self.add(&read, source, collected);
        }
        Ok(())
    }

    /// Whether a node left what another one read.
    fn has_left(&self, node: u32, read: &Pending) -> bool {
        let value = read.look.value();
        let place = self.writes.partition_point(|&(written, of, _)| (written, of) < (value, node));
        let left = self.writes.get(place).filter(|&&(written, of, _)| (written, of) == (value, node));
        node != read.node && left.is_some_and(|&(value, _, is_dead)| read.look.fits(Held { value, is_dead }))
    }

    fn source(&mut self, read: &Pending, initial: Option<ValueId>, collected: &mut Collected) -> Option<u32> {
        let from_initial = fits_initial(read, initial);
        match read.look {
            Look::Nothing => self.absent_source(read, from_initial, collected),
            look => self.value_source(read, look, from_initial, collected),
        }
    }

    fn add(&self, read: &Pending, source: Option<u32>, collected: &mut Collected) {
        match source {
            Some(source) => collected.add_source(self.history, read, self.key, source),
            None => collected.unexplained.push((read.node, read.op)),
        }
    }

    fn value_source(
        &mut self,
        read: &Pending,
        look: Look,
        from_initial: bool,
        collected: &mut Collected,
    ) -> Option<u32> {
        let value = look.value();
        // A session mostly reads what was written after what it read before.
        let first = partition_near(&self.writes, self.near, |&(written, ..)| written < value);
        self.near = first;
        let same = self.writes[first..].iter().take_while(|&&(written, ..)| written == value);
        let fitting =
            same.filter(|&&(value, node, is_dead)| node != read.node && look.fits(Held { value, is_dead }));
        let mut fitting = fitting.map(|&(_, node, _)| node);
        match (fitting.next(), fitting.next(), from_initial) {
            (None, _, false) => None,
            (None, _, true) => Some(INITIAL),
            (Some(only), None, false) => Some(only),
            (Some(one), another, from_initial) => {
                // A group is shared by all reads of the value that are not writers of it themselves.
                let is_shared = matches!(look, Look::Plain(_))
                    && !self.writes[first..]
                        .iter()
                        .take_while(|&&(written, ..)| written == value)
                        .any(|&(_, node, _)| node == read.node);
                if is_shared
                    && let Some(&(_, group)) = self.groups.iter().find(|&&(of, _)| of == first as u32)
                {
                    return Some(GROUP | group);
                }
                let all = from_initial.then_some(INITIAL).into_iter().chain([one]).chain(another);
                collected.candidates.extend(all.chain(fitting));
                collected.group_start.push(collected.candidates.len() as u32);
                let group = collected.group_start.len() as u32 - 2;
                if is_shared {
                    self.groups.push((first as u32, group));
                }
                Some(GROUP | group)
            }
        }
    }

    fn absent_source(
        &mut self,
        read: &Pending,
        from_initial: bool,
        collected: &mut Collected,
    ) -> Option<u32> {
        let writes_itself = self.writes.iter().any(|&(_, node, is_dead)| is_dead && node == read.node);
        if let (Some(source), false) = (self.absent, writes_itself) {
            return Some(source);
        }
        let dead = self.writes.iter().filter(|&&(_, node, is_dead)| is_dead && node != read.node);
        let all = from_initial.then_some(INITIAL).into_iter().chain(dead.map(|&(_, node, _)| node));
        let mut all: Vec<u32> = all.collect();
        all.sort_unstable();
        let source = match all[..] {
            [] => return None,
            [only] => only,
            _ => {
                collected.candidates.extend(&all);
                collected.group_start.push(collected.candidates.len() as u32);
                GROUP | (collected.group_start.len() as u32 - 2)
            }
        };
        if !writes_itself {
            self.absent = Some(source);
        }
        Some(source)
    }

    /// Sources of list reads, and the order of writers that the lists show.
    fn join_lists(&mut self, lists: &ListsOf<'_>, collected: &mut Collected) {
        let facts = lists.facts;
        let mut told = ToldBy::default();
        // What a transaction of unknown outcome read counts only if it committed, so the others tell first.
        self.lists.sort_by_key(|&(node, _)| facts.is_unknown(node));
        for &(node, op) in &self.lists {
            let Some(shown) = lists.shown(node, op) else {
                collected.unexplained.push((node, op));
                continue;
            };
            let of_key = *collected.key_start.last().expect("one more") as usize;
            let source = shown.source(|| collected.writers[of_key..].to_vec());
            collected.read_count += 1;
            collected.source[op.index()] = collected.source_of(source);
            let open = shown.known.iter().filter(|&&appender| facts.is_unknown(appender));
            collected.listed.extend(open.map(|&appender| (node, appender)));
            told.add(shown, facts.is_unknown(node), &mut collected.told);
        }
        let writers = &collected.writers[*collected.key_start.last().expect("one more") as usize..];
        told.finish(writers, &mut collected.told);
    }
}

/// As `partition_point`, for a place that is likely near another one.
fn partition_near<T>(items: &[T], near: usize, is_before: impl Fn(&T) -> bool) -> usize {
    let (mut low, mut high, mut step) = (near.min(items.len()), near.min(items.len()), 1);
    while high < items.len() && is_before(&items[high]) {
        low = high + 1;
        high = (high + step).min(items.len());
        step *= 2;
    }
    step = 1;
    while low > 0 && !is_before(&items[low - 1]) {
        high = low - 1;
        low = low.saturating_sub(step);
        step *= 2;
    }
    low + items[low..high].partition_point(is_before)
}

/// Whether a read may have seen the initial state.
fn fits_initial(read: &Pending, initial: Option<ValueId>) -> bool {
    initial.is_some_and(|value| read.look.fits(Held::initially(value)))
}

/// The initial value of the key at hand, if it has one that matters.
fn initial_of(
    history: &History,
    facts: &Facts,
    pass: &KeyPass,
    ever_written: Option<&EverWritten>,
) -> Result<Option<ValueId>, Flaw> {
    let known = history.initial().value_of(pass.key);
    let Some(ever_written) = ever_written.filter(|_| known.is_none()) else { return Ok(known) };
    let may_be = |read: &&Pending| {
        let value = read.look.value();
        (value == ValueId::NIL || !ever_written.contains(pass.key, value))
            && read.look.fits(Held::initially(value))
    };
    let is_committed = |read: &&Pending| !facts.is_unknown(read.node);
    let mut possible = pass.reads.iter().filter(may_be);
    let pinned = possible.clone().filter(is_committed).find(|read| read.look.value() != ValueId::NIL);
    if let Some(read) = pinned {
        return Ok(Some(read.look.value()));
    }
    let Some(first) = possible.next() else { return Ok(None) };
    match possible.find(|read| read.look.value() != first.look.value()) {
        None => Ok(Some(first.look.value())),
        Some(other) => {
            Err(Flaw::new(Place::Op(other.op), "this read shows another initial value than an earlier one"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::partition_near;

    #[test]
    fn a_place_is_found_from_any_other_one() {
        for count in 0..20 {
            let items: Vec<u32> = (0..count).map(|number| 2 * number).collect();
            for near in 0..=items.len() + 1 {
                for value in 0..=2 * count {
                    let found = partition_near(&items, near, |&item| item < value);
                    assert_eq!(found, items.partition_point(|&item| item < value));
                }
            }
        }
    }
}
