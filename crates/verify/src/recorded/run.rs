//! The store that the events run against, and which event has to run before which.
//!
//! The operations of an event are decoded once, when it opens, into a slot that is used again after it ran: walking the
//! history for each question took three times as many instructions.
//!
//! Reads leave the list of their key when their event runs: with entries that stayed until a later event passed them, the lists of
//! `million` went through 2 MB in no order, and two fifths of the run waited for them. What is asked of a key for each
//! event (`Cell`, 16 bytes) is apart from what only events that move need (`Past`).

use certify::{Certificate, Node};
use history::{KeyId, TxnId, ValueId};
use rustc_hash::FxHashMap;

use super::access::{Expected, Read, Slot, Txns, Write};

/// No event, no entry.
pub(super) const NONE: u32 = u32::MAX;

/// How many events may each wait for the next one.
const DEEPEST: usize = 64;

/// What a key holds or held.
#[derive(Clone, Copy)]
struct Content {
    /// The value, or the last element of a list.
    value: u32,
    /// How many elements were appended; `NONE` as long as the initial value is not known.
    length: u32,
}

impl Content {
    fn is_unknown(&self) -> bool {
        self.length == NONE
    }

    fn fits(&self, expected: Expected) -> bool {
        match expected.length {
            NONE => self.value == expected.value || self.length == NONE,
            0 => self.length == 0 || self.length == NONE,
            length => self.length == length && self.value == expected.value,
        }
    }
}

/// Which events had to do with a content.
#[derive(Clone, Copy)]
struct Touched {
    /// The event that wrote it, and its place in the order; `NONE` and 0 for the initial state.
    by: u32,
    at: u32,
    /// The place of the last event that read it, or 0.
    read_at: u32,
}

/// What each event asks of a key: a small table that stays in the cache.
#[derive(Clone, Copy)]
struct Cell {
    now: Content,
    /// The open event that writes the key and opened last, if any.
    writer: u32,
    /// The first of the reads of the key by open events, in `Run::reads`.
    reads: u32,
}

/// What is noted of a key for events that move.
#[derive(Clone, Copy)]
struct Past {
    now: Touched,
    /// What the key held before.
    before: Content,
    before_touched: Touched,
}

/// A read of an open event, in the list of its key.
#[derive(Clone, Copy)]
struct OpenRead {
    event: u32,
    expected: Expected,
    next: u32,
}

/// What became of an event.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum State {
    Waiting,
    Open,
    /// Events that have to come before it are being run.
    Running,
    Done,
}

/// Events that run one after the other.
pub(super) struct Run<T> {
    pub txns: T,
    events_per_txn: u32,
    /// For each transaction the last one before it in its session that committed.
    previous_txn: Vec<u32>,
    cells: Vec<Cell>,
    pasts: Vec<Past>,
    states: Vec<State>,
    /// The slot of each event that is open, and how many events had run when it opened.
    slot_of: Vec<u32>,
    opened_at: Vec<u32>,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    /// Room for the writes of one transaction.
    scratch: Slot,
    /// The events that ran, in their order; `Node::INITIAL` for one that was moved.
    order: Vec<Node>,
    /// Events that run before the event at a place of the order.
    moved: Vec<(u32, Node)>,
    reads: Vec<OpenRead>,
    /// Entries of `reads` that can be used again.
    free_reads: Vec<u32>,
    /// Events that ran and may still move, where transactions are forgotten.
    movable: FxHashMap<u32, Slot>,
    /// So many of them are kept until those that cannot move any more are looked for.
    most_movable: usize,
    /// Steps that may still be taken: a run that looks for events again and again ends.
    steps: usize,
}

/// What became of a run.
pub(super) struct Ran {
    pub order: Vec<Node>,
    states: Vec<State>,
}

impl Ran {
    /// Whether an event has run.
    pub fn has(&self, node: Node) -> bool {
        self.states[node.0 as usize] == State::Done
    }
}

/// So many events that may still move are always kept.
const FEW_MOVABLE: usize = 1 << 12;

impl<T: Txns> Run<T> {
    /// Runs no event yet. Keys and transactions are added with [`Run::add_key`] and [`Run::add_txn`].
    pub fn new(txns: T, events_per_txn: u32) -> Self {
        Self {
            txns,
            events_per_txn,
            previous_txn: Vec::new(),
            cells: Vec::new(),
            pasts: Vec::new(),
            states: Vec::new(),
            slot_of: Vec::new(),
            opened_at: Vec::new(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            scratch: Slot::default(),
            order: Vec::new(),
            moved: Vec::new(),
            reads: Vec::new(),
            free_reads: Vec::new(),
            movable: FxHashMap::default(),
            most_movable: FEW_MOVABLE,
            steps: 1 << 20,
        }
    }

    /// Makes room for this many transactions and keys.
    pub fn reserve(&mut self, txns: usize, keys: usize) {
        let events = txns * self.events_per_txn as usize;
        self.previous_txn.reserve_exact(txns);
        self.cells.reserve_exact(keys);
        self.pasts.reserve_exact(keys);
        self.states.reserve_exact(events);
        self.slot_of.reserve_exact(events);
        self.opened_at.reserve_exact(events);
        self.order.reserve_exact(events + 1);
    }

    /// How many keys there are.
    pub fn key_count(&self) -> usize {
        self.cells.len()
    }

    /// Adds the next key, with what it holds at first if that is known.
    pub fn add_key(&mut self, initial: Option<ValueId>) {
        let (value, length) = initial.map_or((ValueId::NIL.0, NONE), |value| (value.0, 0));
        let (content, untouched) = (Content { value, length }, Touched { by: NONE, at: 0, read_at: 0 });
        self.cells.push(Cell { now: content, writer: NONE, reads: NONE });
        self.pasts.push(Past { now: untouched, before: content, before_touched: untouched });
    }

    /// Adds the next transaction, of so many operations; `previous` is the last one before it in its session that
    /// committed, or `NONE`.
    pub fn add_txn(&mut self, previous: u32, operations: usize) {
        self.previous_txn.push(previous);
        self.steps += 32 * (operations + self.events_per_txn as usize);
        let events = self.previous_txn.len() * self.events_per_txn as usize;
        self.states.resize(events, State::Waiting);
        self.slot_of.resize(events, NONE);
        self.opened_at.resize(events, NONE);
    }

    /// Whether all events of a transaction have run, or at least opened if its outcome is unknown.
    pub fn is_over(&self, txn: TxnId, is_unknown: bool) -> bool {
        let of_txn = Node::begin(txn, self.events_per_txn).0..=Node::commit(txn, self.events_per_txn).0;
        of_txn.into_iter().all(|event| match self.states[event as usize] {
            State::Done => true,
            State::Open | State::Running => is_unknown,
            State::Waiting => false,
        })
    }

    /// Has what events need looked up at the same time, so that opening them one after the other does not wait for it.
    pub fn fetch(&self, nodes: impl Iterator<Item = Node> + Clone) {
        for node in nodes.clone() {
            self.txns.fetch(self.txn_of(node));
        }
        for node in nodes {
            self.txns.each_key(self.txn_of(node), |key| {
                std::hint::black_box((self.cells[key.index()].reads, self.pasts[key.index()].now.by));
            });
        }
    }

    /// From now on an event may run.
    pub fn open(&mut self, node: Node) {
        if self.states[node.0 as usize] != State::Waiting {
            return;
        }
        self.states[node.0 as usize] = State::Open;
        self.opened_at[node.0 as usize] = self.order.len() as u32;
        let place = self.free_slots.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        self.slot_of[node.0 as usize] = place;
        let mut slot = std::mem::take(&mut self.slots[place as usize]);
        slot.event = node.0;
        self.txns.decode(self.txn_of(node), self.reads(node), self.writes(node), &mut slot);
        for write in &slot.writes {
            self.cells[write.key.index()].writer = node.0;
        }
        // A writer begins as late as it can: no other writer of its keys may commit in between.
        let runs_at_once = slot.is_read_only && self.is_free(node) && self.mismatch(&slot).is_none();
        slot.is_noted = !runs_at_once;
        if !runs_at_once {
            slot.reads.iter().for_each(|&read| self.note_read(read, node));
        }
        self.slots[place as usize] = slot;
        if runs_at_once {
            self.place(node);
        }
    }

    /// An event has to have run now; false if it cannot.
    pub fn close(&mut self, node: Node) -> bool {
        self.force(node, 0)
    }

    /// An event ran before this run began.
    pub fn skip(&mut self, node: Node) {
        self.states[node.0 as usize] = State::Done;
    }

    /// The order, with those transactions of unknown outcome that ran to their end.
    pub fn finish(self) -> Certificate {
        let (events_per_txn, mut committed_unknown) = (self.events_per_txn, self.txns.unknown());
        let Ran { mut order, states } = self.into_ran();
        let has_run = |txn| states[Node::commit(txn, events_per_txn).0 as usize] == State::Done;
        committed_unknown.retain(|&txn| has_run(txn));
        order.retain(|node| has_run(TxnId(node.0 / events_per_txn)));
        Certificate::Holds { order, committed_unknown }
    }

    /// The events that ran, in their order.
    pub fn into_ran(mut self) -> Ran {
        self.order.push(Node::INITIAL);
        self.moved.sort_by_key(|&(place, _)| place);
        let mut order = Vec::with_capacity(self.order.len());
        let mut moved = self.moved.iter().peekable();
        for (place, &node) in self.order.iter().enumerate() {
            while let Some(&(_, node)) = moved.next_if(|&&(before, _)| before as usize == place) {
                order.push(node);
            }
            order.extend(Some(node).filter(|&node| node != Node::INITIAL));
        }
        Ran { order, states: self.states }
    }

    fn txn_of(&self, node: Node) -> TxnId {
        TxnId(node.0 / self.events_per_txn)
    }

    fn reads(&self, node: Node) -> bool {
        node == Node::begin(self.txn_of(node), self.events_per_txn)
    }

    fn writes(&self, node: Node) -> bool {
        node.is_commit(self.events_per_txn)
    }

    /// The event that has to come directly before another: the begin of the transaction, or the end of the one before it
    /// in its session.
    fn previous(&self, node: Node) -> Option<Node> {
        let txn = self.txn_of(node);
        if !self.reads(node) {
            return Some(Node::begin(txn, self.events_per_txn));
        }
        let previous = self.previous_txn[txn.index()];
        (previous != NONE).then(|| Node::commit(TxnId(previous), self.events_per_txn))
    }

    /// Whether nothing has to come before an event that has not run.
    fn is_free(&self, node: Node) -> bool {
        self.previous(node).is_none_or(|previous| self.states[previous.0 as usize] == State::Done)
    }

    /// Runs an event, and before it those that have to come first.
    fn force(&mut self, node: Node, depth: usize) -> bool {
        self.open(node);
        match self.states[node.0 as usize] {
            State::Done => return true,
            State::Running => return false,
            State::Open | State::Waiting if depth == DEEPEST || self.steps == 0 => return false,
            State::Open | State::Waiting => {}
        }
        self.states[node.0 as usize] = State::Running;
        let place = self.slot_of[node.0 as usize] as usize;
        let slot = std::mem::take(&mut self.slots[place]);
        let may_run = self.previous(node).is_none_or(|previous| self.force(previous, depth + 1))
            && self.run_other_writers(node, depth)
            && self.run_sources(&slot, depth)
            && self.run_readers(&slot, depth);
        self.slots[place] = slot;
        self.states[node.0 as usize] = State::Open;
        if may_run {
            self.place(node);
        }
        may_run
    }

    /// Where commits are apart: commits that are open run before a writer of the same key begins. If one of them cannot,
    /// the checker will tell.
    fn run_other_writers(&mut self, node: Node, depth: usize) -> bool {
        if self.events_per_txn == 1 || !self.reads(node) {
            return true;
        }
        let txn = self.txn_of(node);
        let mut slot = std::mem::take(&mut self.scratch);
        self.txns.decode(txn, false, true, &mut slot);
        for write in &slot.writes {
            let writer = self.cells[write.key.index()].writer;
            if writer != NONE && self.txn_of(Node(writer)) != txn {
                self.force(Node(writer), depth + 1);
            }
        }
        self.scratch = slot;
        true
    }

    /// Runs events that write what this one read, until its reads match.
    fn run_sources(&mut self, slot: &Slot, depth: usize) -> bool {
        const TRIES: usize = 16;
        for _ in 0..TRIES {
            let Some(read) = self.mismatch(slot) else { return true };
            let explained = match self.open_writer(read) {
                Some(source) => self.force(source, depth + 1),
                None => self.move_overwriter(read),
            };
            if !explained {
                return false;
            }
        }
        false
    }

    /// Of two events that wrote a key at the same time, the later one may have come first: if a read expects what the
    /// earlier one left, the later one moves before it, unless another event saw that it was later.
    fn move_overwriter(&mut self, read: Read) -> bool {
        let Past { now, before, before_touched: first } = self.pasts[read.key.index()];
        let event = Node(now.by);
        if !before.fits(read.expected) || first.by == NONE || now.by == NONE || now.read_at > now.at {
            return false;
        }
        let is_moved = self.order[now.at as usize] != event;
        let is_too_late = self.opened_at[event.0 as usize] > first.at;
        let Some(slot) = self.slot_of_done(event) else { return false };
        if is_moved || is_too_late || !self.may_move(&slot, event, read.key, now.at, first.at) {
            return false;
        }
        self.order[now.at as usize] = Node::INITIAL;
        self.moved.push((first.at, event));
        for write in &slot.writes {
            let (cell, past) = (&mut self.cells[write.key.index()], &mut self.pasts[write.key.index()]);
            match write.key == read.key {
                true => {
                    *past = Past {
                        now: first,
                        before: cell.now,
                        before_touched: Touched { at: first.at, ..now },
                    };
                    cell.now = before;
                }
                false if past.now.by == event.0 => past.now.at = first.at,
                false => {}
            }
        }
        true
    }

    /// The reads and writes of an event that ran.
    fn slot_of_done(&self, event: Node) -> Option<Slot> {
        if T::FORGETS {
            return self.movable.get(&event.0).cloned();
        }
        let mut slot = Slot::default();
        self.txns.decode(self.txn_of(event), self.reads(event), true, &mut slot);
        Some(slot)
    }

    /// Whether a version of a key may move before the one that it replaced: their events were open at the same time.
    fn may_version_move(&self, event: u32, replaced: &Touched) -> bool {
        replaced.by != NONE && replaced.by != event && replaced.at >= self.opened_at[event as usize]
    }

    /// Keeps what an event read and wrote, which may still have to move, and now and then forgets those that need not.
    fn keep_movable(&mut self, slot: Slot) {
        self.movable.insert(slot.event, slot);
        if self.movable.len() <= self.most_movable {
            return;
        }
        let mut movable = std::mem::take(&mut self.movable);
        movable.retain(|&event, slot| {
            let may_move = |write: &Write| {
                let past = &self.pasts[write.key.index()];
                past.now.by == event && self.may_version_move(event, &past.before_touched)
            };
            slot.writes.iter().any(may_move)
        });
        self.most_movable = FEW_MOVABLE.max(2 * movable.len());
        self.movable = movable;
    }

    /// Whether no event between two places is known to have read or written the keys of an event that moves from the later
    /// place to the earlier one. Of keys that were written again since then nothing is known; the checker will tell.
    fn may_move(&self, slot: &Slot, event: Node, but: KeyId, from: u32, to: u32) -> bool {
        let is_between = |place: u32| to <= place && place < from;
        let past = |key: KeyId| &self.pasts[key.index()];
        let is_seen = |write: &Write| {
            let Past { now, before_touched: before, .. } = *past(write.key);
            write.key != but && now.by == event.0 && (is_between(before.read_at) || is_between(before.at))
        };
        let is_changed = |read: &Read| {
            let now = past(read.key).now;
            now.by != NONE && is_between(now.at)
        };
        !slot.writes.iter().any(is_seen) && !slot.reads.iter().any(is_changed)
    }

    /// Runs the open events that read what this one overwrites. Where one of them cannot run, the key may hold the same
    /// value once more.
    fn run_readers(&mut self, slot: &Slot, depth: usize) -> bool {
        let mut readers = Vec::new();
        for write in &slot.writes {
            self.find_readers(write.key, slot, &mut readers);
        }
        for &reader in &readers {
            self.force(Node(reader), depth + 1);
        }
        readers.is_empty() || self.mismatch(slot).is_none()
    }

    /// The open events that read what a key holds, which an event overwrites. Where that is not known, those that read what
    /// the event leaves are none.
    fn find_readers(&mut self, key: KeyId, by: &Slot, readers: &mut Vec<u32>) {
        let Cell { now, reads: mut entry, .. } = self.cells[key.index()];
        while entry != NONE {
            let OpenRead { event, expected, next } = self.reads[entry as usize];
            let waits = now.is_unknown() && by.leaves(key, expected.value);
            if event != by.event && now.fits(expected) && !waits {
                readers.push(event);
            }
            entry = next;
            self.steps = self.steps.saturating_sub(1);
        }
    }

    /// An open event that writes what a read expects.
    fn open_writer(&mut self, read: Read) -> Option<Node> {
        let latest = self.cells[read.key.index()].writer;
        let is_source = |event: u32| {
            let slot = &self.slots[self.slot_of[event as usize] as usize];
            slot.leaves(read.key, read.expected.value)
        };
        if latest != NONE && is_source(latest) {
            return Some(Node(latest));
        }
        self.steps = self.steps.saturating_sub(self.slots.len());
        let is_open = |slot: &&Slot| slot.event != NONE && slot.leaves(read.key, read.expected.value);
        self.slots.iter().find(is_open).map(|slot| Node(slot.event))
    }

    /// The first read of an event that the store does not explain.
    fn mismatch(&mut self, slot: &Slot) -> Option<Read> {
        self.steps = self.steps.saturating_sub(slot.reads.len());
        slot.reads.iter().find(|&&read| !self.is_explained(read)).copied()
    }

    /// Whether a key holds what a read returned. Where that is not known, no open event writes what it returned.
    fn is_explained(&mut self, read: Read) -> bool {
        let Cell { now, writer, .. } = self.cells[read.key.index()];
        now.fits(read.expected) && (!now.is_unknown() || writer == NONE || self.open_writer(read).is_none())
    }

    /// Notes a read of an open event.
    fn note_read(&mut self, Read { key, expected }: Read, node: Node) {
        let cell = &mut self.cells[key.index()];
        let read = OpenRead { event: node.0, expected, next: cell.reads };
        cell.reads = match self.free_reads.pop() {
            Some(entry) => {
                self.reads[entry as usize] = read;
                entry
            }
            None => {
                self.reads.push(read);
                self.reads.len() as u32 - 1
            }
        };
    }

    /// Takes a read of an event that runs from the list of its key, where those that opened last come first.
    fn forget_read(&mut self, key: KeyId, event: u32) {
        let (mut before, mut entry) = (NONE, self.cells[key.index()].reads);
        while entry != NONE && self.reads[entry as usize].event != event {
            (before, entry) = (entry, self.reads[entry as usize].next);
            self.steps = self.steps.saturating_sub(1);
        }
        if entry == NONE {
            return;
        }
        let next = self.reads[entry as usize].next;
        match before {
            NONE => self.cells[key.index()].reads = next,
            before => self.reads[before as usize].next = next,
        }
        self.free_reads.push(entry);
    }

    /// Runs an event that is open.
    fn place(&mut self, node: Node) {
        self.states[node.0 as usize] = State::Done;
        let at = self.order.len() as u32;
        self.order.push(node);
        let place = self.slot_of[node.0 as usize];
        self.free_slots.push(place);
        if T::FORGETS {
            let slot = &self.slots[place as usize];
            let replaces = |write: &Write| self.may_version_move(node.0, &self.pasts[write.key.index()].now);
            if slot.writes.iter().any(replaces) {
                self.keep_movable(slot.clone());
            }
        }
        let mut slot = std::mem::take(&mut self.slots[place as usize]);
        for &Read { key, expected } in &slot.reads {
            if slot.is_noted {
                self.forget_read(key, node.0);
            }
            self.pasts[key.index()].now.read_at = at;
            let now = &mut self.cells[key.index()].now;
            if now.length == NONE {
                // What was read of an unknown initial value is the initial value.
                now.value = expected.value;
                now.length = if expected.length == NONE { 0 } else { expected.length };
            }
        }
        for &Write { key, value, is_append } in &slot.writes {
            let (cell, past) = (&mut self.cells[key.index()], &mut self.pasts[key.index()]);
            if past.now.by != node.0 {
                (past.before, past.before_touched) = (cell.now, past.now);
            }
            let length = if is_append { cell.now.length.wrapping_add(1) } else { 0 };
            cell.now = Content { value, length };
            past.now = Touched { by: node.0, at, read_at: 0 };
            if cell.writer == node.0 {
                cell.writer = NONE;
            }
        }
        slot.event = NONE;
        self.slots[place as usize] = slot;
    }
}
