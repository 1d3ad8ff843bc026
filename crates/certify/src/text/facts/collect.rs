//! The pass over the operations that finds final writes, sources, and what contradicts its own transaction.
//!
//! Operations are sorted by key with one counting sort, and each key is gone through once. Of large histories some keys
//! are sorted at a time: ten million operations would take 240 MB at once, and three more passes over them take 0.1 s.

mod scans;

use history::{Bound, History, KeyId, Op, OpId, PredicateRead, RangeRead, TxnId, ValueId};

use super::lists::{DoubtfulList, ListsOf, ToldBy};
use super::predicates::{RowWrites, Scans};
use super::versions::Versions;
use super::{Facts, GROUP, INITIAL, NONE, Reading, Told};
use crate::lists::Appenders;
use crate::observe::{EverWritten, Held, Look};
use crate::{Flaw, Place};

/// What one operation does to one key.
#[derive(Clone, Copy)]
struct Touch {
    node: u32,
    op: OpId,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Look(Look),
    Write(Held),
    Append(ValueId),
    List,
    /// A write by predicate changed the row: it held something that matches.
    Matched,
    /// A read returned the row where no state of the key explains it.
    Wrong,
}

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
        let (start, has_lists) = source.count();
        let lists = match has_lists {
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
        let mut sorted = 0..0;
        let mut touches = Vec::new();
        for key in 0..history.keys().len() {
            if key == sorted.end {
                sorted = keys_at_a_time(&start, key);
                touches = source.sorted(&start, sorted.clone());
            }
            let first = start[sorted.start];
            let touches = &touches[(start[key] - first) as usize..(start[key + 1] - first) as usize];
            pass.run(KeyId::from_index(key), touches, &mut collected);
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
        }
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
        match history.op(read.op).key() {
            Some(_) => self.source[read.op.index()] = source,
            None => self.extra.push((read.op, key.0, source)),
        }
    }
}

/// How many touches are sorted at a time, unless one key has more.
const TOUCHES_AT_A_TIME: u32 = 4_000_000;

/// The keys from this one on whose touches are sorted together.
fn keys_at_a_time(start: &[u32], first: usize) -> std::ops::Range<usize> {
    let most = start[first] + TOUCHES_AT_A_TIME;
    let end = start.partition_point(|&count| count <= most) - 1;
    first..end.max(first + 1)
}

/// Where touches come from.
struct TouchSource<'a> {
    history: &'a History,
    facts: &'a Facts,
    row_writes: &'a RowWrites,
    is_impossible: &'a [bool],
    reads: &'a dyn Fn(TxnId) -> bool,
    /// The keys in the order of what they are called, for ranges.
    sorted_keys: Vec<KeyId>,
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
    fn scans(&self) -> Scans<'_> {
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

    /// For each key how many touches the keys before it have, and whether there are lists.
    fn count(&self) -> (Vec<u32>, bool) {
        let mut start = vec![0u32; self.history.keys().len() + 1];
        let mut has_lists = false;
        self.visit(|_, key, _, kind| {
            start[key.index() + 1] += 1;
            has_lists |= matches!(kind, Kind::Append(_) | Kind::List);
        });
        for key in 0..self.history.keys().len() {
            start[key + 1] += start[key];
        }
        (start, has_lists)
    }

    /// The touches of some keys, sorted by key; those of a key are in the order of nodes and operations.
    fn sorted(&self, start: &[u32], keys: std::ops::Range<usize>) -> Vec<Touch> {
        let first = start[keys.start];
        let mut next: Vec<u32> = start[keys.clone()].iter().map(|&place| place - first).collect();
        let blank = Touch { node: 0, op: OpId(0), kind: Kind::List };
        let mut touches = vec![blank; (start[keys.end] - first) as usize];
        self.visit(|node, key, op, kind| {
            if keys.contains(&key.index()) {
                let place = &mut next[key.index() - keys.start];
                touches[*place as usize] = Touch { node, op, kind };
                *place += 1;
            }
        });
        touches
    }
}

fn sorted_keys(history: &History) -> Vec<KeyId> {
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
    for (id, op) in history.ops(txn) {
        match op {
            op if op.is_read() && !reads => {}
            Op::Read { key, value: Some(value) } => touch(key, id, Kind::Look(Look::Plain(value))),
            Op::Write { key, value } | Op::Insert { key, value } => {
                touch(key, id, Kind::Write(Held::initially(value)));
            }
            Op::Delete { key, tombstone } => {
                let value = tombstone.unwrap_or(ValueId::NIL);
                touch(key, id, Kind::Write(Held { value, is_dead: true }));
            }
            Op::Append { key, value } => touch(key, id, Kind::Append(value)),
            Op::ReadList { key, list: Some(_) } => touch(key, id, Kind::List),
            Op::RangeRead(range) => visit_range(history, sorted, id, range, &mut touch),
            Op::PredicateRead(read) => visit_rows(history, id, read, &mut touch),
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
        self.writes.sort_unstable();
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
        let first = self.writes.partition_point(|&(written, ..)| written < value);
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
