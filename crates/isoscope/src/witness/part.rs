//! A part of a history, by the operations that stay, as a history of its own.
//!
//! A level that holds for a history holds for each of its parts, so a part that violates the level shows that the whole
//! does. For that, what the part says must follow from what the whole says: a read that a left-out write may explain is
//! left out with it, an appended element that is left out is missing from every list, a range becomes reads of its
//! remaining keys, and a predicate read stays only if no left-out write may explain its answer. What a write by predicate
//! does depends on the writes before it, so beside one no write is left out. Predicates speak of each row alone, so a key
//! can be left out everywhere.
//!
//! Names stay: a transaction is called in the part as it is called in the whole. Linear in the history.

use std::collections::{BTreeMap, BTreeSet};

use history::{
    Builder, Datum, History, InitialDefault, KeyId, Note, Op, OpId, PredicateRead, PredicateWrite, RangeRead,
    Row, TxnId, ValueId,
};

/// A part of a history.
#[derive(Clone, Debug)]
pub struct Part {
    /// The part as a history.
    pub history: History,
    /// For each of its transactions the one of the whole.
    pub txns: Vec<TxnId>,
}

impl Part {
    /// The part in which only these transactions and operations stay, and what they say as far as it follows from what
    /// the history says; `None` if a write by predicate keeps it from following.
    pub fn of(
        history: &History,
        keeps_txn: &dyn Fn(TxnId) -> bool,
        keeps_op: &dyn Fn(OpId) -> bool,
    ) -> Option<Self> {
        part(history, &Kept { txn: keeps_txn, op: keeps_op, ..Kept::ALL })
    }
}

/// What stays of a history.
pub(crate) struct Kept<'k> {
    pub txn: &'k dyn Fn(TxnId) -> bool,
    pub op: &'k dyn Fn(OpId) -> bool,
    pub key: &'k dyn Fn(KeyId) -> bool,
}

impl Kept<'static> {
    /// Everything stays.
    pub const ALL: Self = Self { txn: &|_| true, op: &|_| true, key: &|_| true };
}

/// The part of a history in which only these transactions, operations and keys stay; `None` if what it says would not
/// follow from what the history says.
pub(crate) fn part(history: &History, kept: &Kept<'_>) -> Option<Part> {
    let gone = Gone::of(history, kept)?;
    let (keeps_txn, keeps_op) = (kept.txn, kept.op);
    let (builder, keys) = (Builder::new(), BTreeMap::new());
    let mut copy = Copy { history, kept, gone: &gone, builder, keys, scans: false, keeps_read: false };
    let mut txns = Vec::new();
    for session in history.sessions() {
        let kept: Vec<TxnId> = history.session_txns(session).filter(|&txn| keeps_txn(txn)).collect();
        if kept.is_empty() {
            continue;
        }
        let name = history.session_name(session).unwrap_or(Datum::Int(i64::from(session.0) + 1));
        let session = copy.builder.named_session(name);
        for txn in kept {
            copy.builder.begin(session);
            copy.builder.name_txn(history.txn_name(txn).unwrap_or(Datum::Int(i64::from(txn.0) + 1)));
            copy.builder.set_times(history.times(txn)).ok()?;
            if let Some(level) = history.txn_level(txn) {
                copy.builder.set_level(&level);
            }
            if let Some(note) = history.txn_note(txn) {
                copy.builder.note_txn(&note);
            }
            for (id, op) in history.ops(txn).filter(|&(id, _)| keeps_op(id)) {
                copy.op(id, op)?;
            }
            copy.builder.end(history.outcome(txn));
            txns.push(txn);
        }
    }
    copy.builder.notes = notes_about(history, &txns);
    Some(Part { history: copy.finish(), txns })
}

/// The notes from the begin of the first of some transactions to the end of the last.
fn notes_about(history: &History, txns: &[TxnId]) -> Vec<Note> {
    if history.notes().is_empty() {
        return Vec::new();
    }
    let starts = txns.iter().filter_map(|&txn| history.times(txn).recorded().next());
    let ends = txns.iter().filter_map(|&txn| history.times(txn).recorded().last());
    let (first, last) = (starts.map(|moment| moment.time).min(), ends.map(|moment| moment.time).max());
    let is_during = |note: &&Note| Some(note.time) >= first && Some(note.time) <= last;
    history.notes().iter().filter(is_during).cloned().collect()
}

/// What was written by operations that do not stay.
struct Gone {
    written: BTreeSet<(KeyId, ValueId)>,
    appended: BTreeSet<(KeyId, ValueId)>,
    /// What operations that stay appended.
    still_appended: BTreeSet<(KeyId, ValueId)>,
    keys: BTreeSet<KeyId>,
    /// Keys of which a write of the whole value is gone.
    overwritten: BTreeSet<KeyId>,
    /// Lists of which an append is gone.
    lists: BTreeSet<KeyId>,
    /// Keys of which a delete is gone.
    deleted: BTreeSet<KeyId>,
}

impl Gone {
    fn of(history: &History, kept: &Kept<'_>) -> Option<Self> {
        let mut gone = Self {
            written: BTreeSet::new(),
            appended: BTreeSet::new(),
            still_appended: BTreeSet::new(),
            keys: BTreeSet::new(),
            overwritten: BTreeSet::new(),
            lists: BTreeSet::new(),
            deleted: BTreeSet::new(),
        };
        let mut by_predicate = (false, false);
        for txn in history.txns() {
            let is_kept = (kept.txn)(txn);
            for (id, op) in history.ops(txn).filter(|(_, op)| !op.is_read()) {
                let is_gone = !is_kept || !(kept.op)(id);
                match op {
                    Op::PredicateWrite(_) if is_gone => by_predicate.0 = true,
                    Op::PredicateWrite(_) => by_predicate.1 = true,
                    _ if is_gone && op.key().is_some_and(kept.key) => gone.add(op),
                    Op::Append { key, value } if !is_gone => drop(gone.still_appended.insert((key, value))),
                    _ => {}
                }
            }
        }
        // A write by predicate that is gone may explain any read, and one that stays may rest on any write.
        let is_sound = !by_predicate.0 && (!by_predicate.1 || gone.keys.is_empty());
        is_sound.then_some(gone)
    }

    /// Whether an element was appended both by an operation that is gone and by one that stays.
    fn is_doubtful(&self, key: KeyId, element: ValueId) -> bool {
        self.appended.contains(&(key, element)) && self.still_appended.contains(&(key, element))
    }

    fn add(&mut self, op: Op<'_>) {
        let Some(key) = op.key() else { return };
        self.keys.insert(key);
        if let Some(value) = op.written() {
            self.written.insert((key, value));
            self.overwritten.insert(key);
        }
        if let Some(element) = op.value_appended() {
            self.appended.insert((key, element));
            self.lists.insert(key);
        }
        if matches!(op, Op::Delete { .. }) {
            self.deleted.insert(key);
        }
    }
}

struct Copy<'h> {
    history: &'h History,
    kept: &'h Kept<'h>,
    gone: &'h Gone,
    builder: Builder,
    keys: BTreeMap<KeyId, KeyId>,
    /// Whether a range or a predicate stayed.
    scans: bool,
    /// Whether the last read by predicate stayed.
    keeps_read: bool,
}

impl Copy<'_> {
    fn op(&mut self, id: OpId, op: Op<'_>) -> Option<()> {
        let gone = self.gone;
        let may_be_gone = |key, value| gone.written.contains(&(key, value));
        if op.key().is_some_and(|key| !(self.kept.key)(key)) {
            return Some(());
        }
        match op {
            Op::Read { value: None, .. } | Op::ReadList { list: None, .. } => return Some(()),
            Op::Read { key, value: Some(value) } if may_be_gone(key, value) || gone.lists.contains(&key) => {
                return Some(());
            }
            Op::ReadList { key, .. } if gone.overwritten.contains(&key) => return Some(()),
            Op::Read { key, value: Some(value) } => {
                let (key, value) = (self.key(key), self.value(value));
                self.builder.read(key, value);
            }
            // Which of two equal elements is gone is not known.
            Op::ReadList { key, list: Some(list) }
                if list.iter().any(|&element| gone.is_doubtful(key, element)) =>
            {
                return Some(());
            }
            Op::ReadList { key, list: Some(list) } => {
                let stays = list.iter().filter(|&&element| !gone.appended.contains(&(key, element)));
                let list: Vec<ValueId> = stays.map(|&element| self.value(element)).collect();
                let key = self.key(key);
                self.builder.read_list(key, &list);
            }
            Op::RangeRead(range) => return self.range(id, range),
            Op::PredicateRead(read) => {
                self.predicate_read(read);
                return Some(());
            }
            Op::PredicateWrite(write) => self.predicate_write(write),
            Op::Write { key, value } => {
                let (key, value) = (self.key(key), self.value(value));
                self.builder.write(key, value);
            }
            Op::Append { key, value } => {
                let (key, value) = (self.key(key), self.value(value));
                self.builder.append(key, value);
            }
            Op::Insert { key, value } => {
                let (key, value) = (self.key(key), self.value(value));
                self.builder.insert(key, value);
            }
            Op::Delete { key, tombstone } => {
                let (key, mark) = (self.key(key), tombstone.map(|mark| self.value(mark)));
                self.builder.delete(key, mark);
            }
        }
        if let Some(version) = self.history.op_version(id) {
            self.builder.set_op_version(version);
        }
        let times = self.history.op_times(id);
        if times.request.is_some() || times.response.is_some() {
            self.builder.set_op_times(times).ok()?;
        }
        Some(())
    }

    /// A range stays as it is if nothing that explains its answer is gone; else its keys are read one by one.
    fn range(&mut self, id: OpId, range: &RangeRead) -> Option<()> {
        let Some(rows) = &range.rows else { return Some(()) };
        let rows: Vec<Row> = rows.iter().copied().filter(|row| (self.kept.key)(row.key)).collect();
        let lost = |row: &Row| self.gone.written.contains(&(row.key, row.value));
        let is_returned = |key: KeyId| rows.iter().any(|row| row.key == key);
        let misses = |key: &KeyId| !is_returned(*key) && range.contains(self.history.keys().original(*key));
        if !rows.iter().any(lost) && !self.gone.deleted.iter().any(misses) {
            let rows = Some(self.rows(&rows));
            self.scans = true;
            self.builder.range_read(RangeRead { rows, ..range.clone() });
            return Some(());
        }
        for row in rows.iter().filter(|row| !row.is_dead && !lost(row)) {
            self.op(id, Op::Read { key: row.key, value: Some(row.value) })?;
        }
        Some(())
    }

    fn predicate_read(&mut self, read: &PredicateRead) {
        self.keeps_read = false;
        let Some(rows) = &read.rows else { return };
        let rows: Vec<Row> = rows.iter().copied().filter(|row| (self.kept.key)(row.key)).collect();
        let lost = |row: &Row| self.gone.written.contains(&(row.key, row.value));
        let is_returned = |key: &KeyId| rows.iter().any(|row| row.key == *key);
        if rows.iter().any(lost) || !self.gone.keys.iter().all(is_returned) {
            return;
        }
        let rows = Some(self.rows(&rows));
        self.scans = true;
        self.keeps_read = true;
        self.builder.predicate_read(PredicateRead { rows, ..read.clone() });
    }

    fn predicate_write(&mut self, write: &PredicateWrite) {
        let is_kept = self.kept.key;
        let keys = write.keys.as_ref().map(|keys| keys.iter().copied().filter(|&key| is_kept(key)).collect());
        let keys = keys.map(|keys: Vec<KeyId>| keys.into_iter().map(|key| self.key(key)).collect());
        // A row of a key that is left out may have been counted.
        let all_kept = (0..self.history.keys().len() as u32).map(KeyId).all(is_kept);
        let row_count = write.row_count.filter(|_| all_kept);
        self.scans = true;
        // The read that belongs to it may be left out.
        let is_returning = write.is_returning && self.keeps_read;
        self.builder.predicate_write(PredicateWrite { keys, row_count, is_returning, ..write.clone() });
    }

    fn rows(&mut self, rows: &[Row]) -> Vec<Row> {
        let copied = rows.iter();
        copied.map(|row| Row { key: self.key(row.key), value: self.value(row.value), ..*row }).collect()
    }

    fn key(&mut self, key: KeyId) -> KeyId {
        if let Some(&known) = self.keys.get(&key) {
            return known;
        }
        let new = self.builder.keys.intern(self.history.keys().original(key).clone());
        self.keys.insert(key, new);
        new
    }

    fn value(&mut self, value: ValueId) -> ValueId {
        self.builder.values.intern(self.history.values().original(value))
    }

    /// A row that is there at first and that no transaction touched belongs to what ranges and predicates answer.
    fn keep_initial_rows(&mut self) {
        let initial = self.history.initial();
        let all = (0..self.history.keys().len() as u32).map(KeyId);
        let is_row = |key: &KeyId| initial.value_of(*key).is_some_and(|value| value != ValueId::NIL);
        let kept = all.filter(|&key| (self.kept.key)(key) && !self.gone.keys.contains(&key));
        let rows: Vec<KeyId> = kept.filter(is_row).collect();
        for key in rows {
            self.key(key);
        }
    }

    fn finish(mut self) -> History {
        if self.scans {
            self.keep_initial_rows();
        }
        let initial = self.history.initial();
        self.builder.initial.default = match initial.default {
            InitialDefault::Value(value) => InitialDefault::Value(self.value(value)),
            InitialDefault::UnknownButOne => InitialDefault::UnknownButOne,
        };
        let kept = self.keys.clone();
        for (old, new) in kept {
            if let Ok(place) = initial.recorded.binary_search_by_key(&old, |&(key, _)| key) {
                let value = self.value(initial.recorded[place].1);
                self.builder.initial.recorded.push((new, value));
            }
        }
        self.builder.clock = self.history.clock();
        self.builder.finish()
    }
}
