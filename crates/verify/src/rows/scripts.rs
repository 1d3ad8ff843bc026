//! Transactions as scripts that can be run on one row at a time.
//!
//! What a transaction does to a row depends on that row alone, but for how many rows it is told to have changed. So a
//! script is run row by row: given what the row holds, does everything that the transaction saw of it fit, and what
//! does it leave? Predicates and values are turned into cells once. Costs the steps of the transaction per row; most
//! transactions by predicate have one step, and then it is one comparison.

use history::{Change, Datum, History, InitialDefault, KeyId, Op, Outcome, RangeRead, Row, TxnId, ValueId};

use rustc_hash::FxHashMap;

use super::contents::{ContentNumber, Contents, Edit, Filter};

/// A row that a transaction was shown.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    pub key: KeyId,
    pub content: ContentNumber,
}

pub(crate) enum ScriptStep<'h> {
    /// It saw this, or the mark.
    Read {
        key: KeyId,
        row: ContentNumber,
        mark: ContentNumber,
    },
    Write {
        key: KeyId,
        content: ContentNumber,
    },
    /// The rows are sorted by key.
    Range {
        range: &'h RangeRead,
        shown: Vec<Shown>,
    },
    Query {
        filter: Filter<'h>,
        shown: Vec<Shown>,
    },
    Update {
        filter: Filter<'h>,
        edit: Edit<'h>,
        count: Option<u64>,
        keys: Option<Vec<KeyId>>,
    },
}

#[derive(Default)]
pub(crate) struct Script<'h> {
    pub steps: Vec<ScriptStep<'h>>,
}

/// How a transaction meets a row.
#[derive(Clone, Copy, Default)]
pub(crate) struct Meeting {
    /// Whether all that it saw of the row fits.
    pub is_right: bool,
    /// What it leaves, if it writes.
    pub left: Option<ContentNumber>,
    /// The updates that matched, one bit for each of the first 64 steps.
    pub matched: u64,
}

/// Transactions with more steps are not run.
const MAX_STEPS: usize = 64;
/// Nor are histories with more columns.
const MAX_COLUMNS: usize = 64;

pub(crate) struct Scripts<'h> {
    pub history: &'h History,
    pub contents: Contents,
    pub of_txn: Vec<Script<'h>>,
}

impl<'h> Scripts<'h> {
    /// The scripts of all transactions that may have committed; `None` if one cannot be run.
    pub fn of(history: &'h History) -> Option<Self> {
        let scripts = Self::with_cells(history, has_values(history))?;
        match scripts.contents.lacks_values {
            true => Self::with_cells(history, true),
            false => Some(scripts),
        }
    }

    fn with_cells(history: &'h History, has_values: bool) -> Option<Self> {
        let has_marks = history.has_marks();
        let mut scripts = Self {
            history,
            contents: Contents::new(columns(history)?, has_values, has_marks),
            of_txn: Vec::with_capacity(history.txn_count()),
        };
        let mut content_of = ContentOf { has_marks, ..ContentOf::default() };
        for txn in history.txns() {
            let mut script = Script::default();
            if history.outcome(txn) != Outcome::Aborted {
                for (_, op) in history.ops(txn) {
                    script.steps.extend(scripts.step(&op, &mut content_of)?);
                }
            }
            if script.steps.len() > MAX_STEPS {
                return None;
            }
            scripts.of_txn.push(script);
        }
        Some(scripts)
    }

    /// The step of an operation; none if it tells nothing. `None` if it cannot be run.
    #[expect(clippy::option_option, reason = "an operation may have no step, or be one that cannot be run")]
    fn step(&mut self, op: &Op<'h>, content_of: &mut ContentOf<'h>) -> Option<Option<ScriptStep<'h>>> {
        let history = self.history;
        let mut row = |value: ValueId| content_of.row(history, &mut self.contents, value);
        Some(Some(match *op {
            Op::Read { key, value: Some(value) } => {
                let row = row(value);
                let mark = match content_of.has_marks {
                    true => self.contents.mark(&history.values().original(value)),
                    false => row,
                };
                ScriptStep::Read { key, row, mark }
            }
            Op::Write { key, value } | Op::Insert { key, value } => {
                ScriptStep::Write { key, content: row(value) }
            }
            Op::Delete { key, tombstone } => {
                let mark = history.values().original(tombstone.unwrap_or(ValueId::NIL));
                ScriptStep::Write { key, content: self.contents.mark(&mark) }
            }
            Op::RangeRead(range) => match &range.rows {
                Some(rows) => ScriptStep::Range { range, shown: self.shown(rows, content_of)? },
                None => return Some(None),
            },
            Op::PredicateRead(read) => match &read.rows {
                Some(rows) => {
                    let filter = self.contents.filter(read.predicate.meaning().ok()?);
                    ScriptStep::Query { filter, shown: self.shown(rows, content_of)? }
                }
                None => return Some(None),
            },
            Op::PredicateWrite(write) => {
                let filter = self.contents.filter(write.predicate.meaning().ok()?);
                let edit = self.contents.edit(&write.change);
                let keys = write.keys.as_ref().map(|keys| {
                    let mut keys = keys.clone();
                    keys.sort_unstable();
                    keys
                });
                ScriptStep::Update { filter, edit, count: write.row_count, keys }
            }
            Op::Append { .. } | Op::ReadList { list: Some(_), .. } => return None,
            Op::Read { value: None, .. } | Op::ReadList { list: None, .. } => return Some(None),
        }))
    }

    /// The rows of an answer by key; `None` if one is there twice or holds nothing, which is never right.
    fn shown(&mut self, rows: &[Row], content_of: &mut ContentOf<'h>) -> Option<Vec<Shown>> {
        let history = self.history;
        let mut shown: Vec<Shown> = Vec::with_capacity(rows.len());
        for row in rows {
            if !row.is_dead && row.value == ValueId::NIL {
                return None;
            }
            let content = match row.is_dead {
                true => self.contents.mark(&history.values().original(row.value)),
                false => content_of.row(history, &mut self.contents, row.value),
            };
            shown.push(Shown { key: row.key, content });
        }
        if !shown.is_sorted_by_key(|row| row.key) {
            shown.sort_unstable_by_key(|row| row.key);
        }
        shown.windows(2).all(|pair| pair[0].key != pair[1].key).then_some(shown)
    }

    pub fn key(&self, key: KeyId) -> &'h Datum {
        self.history.keys().original(key)
    }

    /// Runs a transaction on a row.
    pub fn meet(&mut self, txn: TxnId, key: KeyId, mut held: ContentNumber) -> Meeting {
        let datum = self.history.keys().original(key);
        let contents = &mut self.contents;
        let mut meeting = Meeting { is_right: true, ..Meeting::default() };
        for (place, step) in self.of_txn[txn.index()].steps.iter().enumerate() {
            let is_right = match step {
                ScriptStep::Read { key: read, row, mark } => {
                    *read != key || contents.is_same(held, *row) || contents.is_same(held, *mark)
                }
                ScriptStep::Write { key: written, content } => {
                    if *written == key {
                        held = *content;
                        meeting.left = Some(held);
                    }
                    true
                }
                ScriptStep::Range { range, shown } => match (range.contains(datum), find(shown, key)) {
                    (true, Some(row)) => contents.is_same(row.content, held),
                    (true, None) => contents.is_dead(held),
                    (false, shown) => shown.is_none(),
                },
                ScriptStep::Query { filter, shown } => {
                    let is_match = contents.matches(filter, datum, held);
                    find(shown, key).map_or(!is_match, |row| is_match && contents.is_same(row.content, held))
                }
                ScriptStep::Update { filter, edit, keys, .. } => {
                    let is_match = contents.matches(filter, datum, held);
                    if is_match {
                        held = contents.apply(edit, held);
                        meeting.left = Some(held);
                        meeting.matched |= 1 << place;
                    }
                    keys.as_ref().is_none_or(|keys| keys.binary_search(&key).is_ok() == is_match)
                }
            };
            meeting.is_right &= is_right;
        }
        meeting
    }

    /// Whether a transaction writes nothing, whatever it sees.
    pub fn only_reads(&self, txn: TxnId) -> bool {
        let is_write =
            |step: &ScriptStep<'_>| matches!(step, ScriptStep::Write { .. } | ScriptStep::Update { .. });
        !self.of_txn[txn.index()].steps.iter().any(is_write)
    }

    /// Whether a transaction would write a row that holds this.
    pub fn writes(&self, txn: TxnId, key: KeyId, content: ContentNumber) -> bool {
        let datum = self.history.keys().original(key);
        self.of_txn[txn.index()].steps.iter().any(|step| match step {
            ScriptStep::Write { key: of, .. } => *of == key,
            ScriptStep::Update { filter, .. } => self.contents.matches(filter, datum, content),
            ScriptStep::Read { .. } | ScriptStep::Range { .. } | ScriptStep::Query { .. } => false,
        })
    }
}

/// The row of a key.
pub(crate) fn find(shown: &[Shown], key: KeyId) -> Option<Shown> {
    shown.binary_search_by_key(&key, |row| row.key).ok().map(|place| shown[place])
}

/// The contents of values that were seen before.
#[derive(Default)]
struct ContentOf<'h> {
    /// Rows of integers by their place, and everything else.
    rows: Vec<ContentNumber>,
    others: FxHashMap<ValueId, ContentNumber>,
    has_marks: bool,
    /// The names of the last row of integers, and their slots: mostly those of the next one too.
    names: &'h [Datum],
    slots: Vec<usize>,
}

impl<'h> ContentOf<'h> {
    /// The row of a value, looked up once.
    fn row(&mut self, history: &'h History, contents: &mut Contents, value: ValueId) -> ContentNumber {
        const UNKNOWN: ContentNumber = u32::MAX;
        let place = value.table_place();
        let is_flat = value.small_int().is_none() && value.is_flat();
        if let Some(&known) = self.rows.get(place).filter(|&&known| is_flat && known != UNKNOWN) {
            return known;
        }
        let Some((names, cells)) = history.values().row(value) else {
            let row = || contents.row(&history.values().original(value));
            return *self.others.entry(value).or_insert_with(row);
        };
        if place >= self.rows.len() {
            self.rows.resize(place + 1 + place / 2, UNKNOWN);
        }
        if !std::ptr::eq(self.names, names) {
            (self.names, self.slots) = (names, contents.slots(names));
        }
        self.rows[place] = contents.flat_row(&self.slots, cells);
        self.rows[place]
    }
}

/// Whether anything that is written, or there at first, is a value without columns. What answers show beside that is seen
/// when they are taken in: there may be millions of rows in them.
fn has_values(history: &History) -> bool {
    let is_value = |value: ValueId| value != ValueId::NIL && history.values().row(value).is_none();
    let initial = history.initial();
    let is_initial = match initial.default {
        InitialDefault::Value(value) => is_value(value),
        InitialDefault::UnknownButOne => true,
    };
    let has_value = |op: Op<'_>| match op {
        // What a change makes of a row may be anything but is mostly a row.
        Op::PredicateWrite(write) => !matches!(&write.change, Change::Delete | Change::Set(Datum::Row(_))),
        op => op.value().is_some_and(is_value),
    };
    is_initial
        || initial.recorded.iter().any(|&(_, value)| is_value(value))
        || history.txns().flat_map(|txn| history.ops(txn)).any(|(_, op)| has_value(op))
}

/// All columns that rows and changes have, in their order; `None` if there are too many.
fn columns(history: &History) -> Option<Vec<Datum>> {
    let mut columns: Vec<Datum> = Vec::new();
    let mut add = |name: &Datum| {
        if columns.len() <= MAX_COLUMNS && !columns.contains(name) {
            columns.push(name.clone());
        }
    };
    history.values().shapes().flatten().for_each(&mut add);
    for (_, op) in history.txns().flat_map(|txn| history.ops(txn)) {
        if let Op::PredicateWrite(write) = op
            && let Change::Set(Datum::Row(columns)) = &write.change
        {
            columns.iter().for_each(|(name, _)| add(name));
        }
    }
    columns.sort();
    (columns.len() <= MAX_COLUMNS).then_some(columns)
}
