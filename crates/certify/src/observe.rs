//! What a transaction's operations say about other transactions, and whether they contradict each other.
//!
//! One pass over the operations with a stamp per key, written apart from the index that the engines use. A range read is
//! taken as a read of each known key between its bounds.

use history::{Datum, History, KeyId, Op, OpId, Outcome, PredicateRead, RangeRead, Row, TxnId, ValueId};

use crate::effects::{RowEffects, Scope, refusal};
use crate::{Flaw, Level, Place};

/// What a key holds: a value, or nothing but perhaps the mark of a delete.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Held {
    pub value: ValueId,
    pub is_dead: bool,
}

impl Held {
    /// What a key holds that was given this value at first; nil is no row.
    pub fn initially(value: ValueId) -> Self {
        Self { value, is_dead: value == ValueId::NIL }
    }
}

/// What was seen of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// By a read of the key: this value or mark; nil for no row and no mark.
    Plain(ValueId),
    /// By a range: a row with this value.
    Row(ValueId),
    /// By a range: a deleted row with this mark.
    Mark(ValueId),
    /// By a range: no row.
    Nothing,
    /// One of the contents of a alternative in which the transaction met the key: the numbers of the effect and of the alternative.
    Alternative(u32, u32),
}

impl Look {
    pub fn fits(self, held: Held) -> bool {
        match self {
            Self::Plain(value) => held.value == value,
            Self::Row(value) => held == Held { value, is_dead: false },
            Self::Mark(value) => held == Held { value, is_dead: true },
            Self::Nothing => held.is_dead,
            Self::Alternative(..) => false,
        }
    }

    /// The value that was seen, if it was one.
    pub fn value(self) -> ValueId {
        match self {
            Self::Plain(value) | Self::Row(value) | Self::Mark(value) => value,
            Self::Nothing | Self::Alternative(..) => ValueId::NIL,
        }
    }

    /// Whether one of them saw no row and the other one the mark of a deleted row, which a range shows or not.
    pub fn may_be_one_row_gone(self, other: Self) -> bool {
        matches!((self, other), (Self::Nothing, Self::Mark(_)) | (Self::Mark(_), Self::Nothing))
    }

    /// How much it says.
    fn detail(self) -> u8 {
        match self {
            Self::Nothing | Self::Alternative(..) => 0,
            Self::Plain(_) => 1,
            Self::Row(_) | Self::Mark(_) => 2,
        }
    }

    /// Whether some state fits both, in a history whose deletes leave marks or not.
    fn agrees(self, other: Self, has_marks: bool) -> bool {
        let is_row = |look: Self| matches!(look, Self::Row(_));
        let is_gone = |look: Self| matches!(look, Self::Mark(_) | Self::Nothing);
        if is_row(self) && is_gone(other) || is_gone(self) && is_row(other) {
            return false;
        }
        // What is not there may have left a mark, which a plain read shows.
        self.value() == other.value() || has_marks && (self == Self::Nothing || other == Self::Nothing)
    }
}

/// What a read says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    /// The transaction did not write the key before, and saw it from outside.
    External { op: OpId, key: KeyId, look: Look },
    /// The transaction wrote or read the key before, and what it sees now is something else; or it was given a row
    /// twice, or one that is not in its range.
    Contradiction { op: OpId },
}

/// What the transaction at hand knows of a key.
#[derive(Clone, Copy)]
struct Known {
    stamp: u64,
    look: Look,
    written: Option<Held>,
    /// Whether the transaction read the key as a list, and whether it appended to it.
    is_listed: bool,
    is_appended: bool,
    /// Whether an effect tells of it.
    is_told: bool,
}

pub(crate) struct Observer {
    known: Vec<Known>,
    stamp: u64,
    /// All keys in order, for ranges.
    keys: Vec<KeyId>,
    /// For each key the stamp of the last range that returned it, and how.
    returned: Vec<(u64, Look)>,
    ranges: u64,
    has_marks: bool,
    /// Whether versions were recorded: then no read says only what another one did.
    tells_versions: bool,
}

impl Observer {
    pub fn new(history: &History) -> Self {
        let unknown = Known {
            stamp: 0,
            look: Look::Nothing,
            written: None,
            is_listed: false,
            is_appended: false,
            is_told: false,
        };
        let has_ranges = history.has_ranges();
        let mut keys: Vec<KeyId> = (0..history.keys().len()).map(KeyId::from_index).collect();
        if has_ranges {
            keys.sort_by_key(|&key| history.keys().original(key));
        }
        Self {
            known: vec![unknown; history.keys().len()],
            stamp: 0,
            returned: vec![(0, Look::Nothing); if has_ranges { keys.len() } else { 0 }],
            keys,
            ranges: 0,
            has_marks: history.has_marks(),
            tells_versions: history.has_versions(),
        }
    }

    /// Visits the external and the contradictory reads of a transaction in program order, until one is refused.
    pub fn visit(
        &mut self,
        history: &History,
        effects: &RowEffects,
        txn: TxnId,
        mut visitor: impl FnMut(Seen) -> Result<(), Flaw>,
    ) -> Result<(), Flaw> {
        self.stamp += 1;
        for effect in effects.of_txn(txn) {
            self.known(effects.all()[effect].key).is_told = true;
        }
        for (id, op) in history.ops(txn) {
            match op {
                Op::Read { key, value: Some(value) } => {
                    self.look(id, key, Look::Plain(value), &mut visitor)?
                }
                Op::ReadList { key, list: Some(list) } => {
                    self.list(history, (txn, id), key, list, &mut visitor)?
                }
                Op::RangeRead(range) => self.range(history, id, range, &mut visitor)?,
                Op::PredicateRead(read) if is_no_answer(history, read) => {
                    visitor(Seen::Contradiction { op: id })?;
                }
                Op::Append { key, .. } => {
                    self.known(key).is_appended = true;
                }
                _ => {
                    if let (Some(key), Some(held)) = (op.key(), left_by(&op)) {
                        self.known(key).written = Some(held);
                    }
                }
            }
        }
        Ok(())
    }

    /// What is known of a key, made anew for a new transaction.
    fn known(&mut self, key: KeyId) -> &mut Known {
        let known = &mut self.known[key.index()];
        if known.stamp != self.stamp {
            *known = Known {
                stamp: self.stamp,
                look: Look::Nothing,
                written: None,
                is_listed: false,
                is_appended: false,
                is_told: false,
            };
        }
        known
    }

    fn look(
        &mut self,
        op: OpId,
        key: KeyId,
        look: Look,
        visitor: &mut impl FnMut(Seen) -> Result<(), Flaw>,
    ) -> Result<(), Flaw> {
        let (has_marks, tells_version) = (self.has_marks, self.tells_versions);
        let is_new = self.known[key.index()].stamp != self.stamp;
        let known = self.known(key);
        if known.is_told {
            return Ok(());
        }
        if let Some(held) = known.written {
            return if look.fits(held) { Ok(()) } else { visitor(Seen::Contradiction { op }) };
        }
        if !is_new && !known.look.agrees(look, has_marks) {
            return visitor(Seen::Contradiction { op });
        }
        if !is_new && known.look == look && !tells_version {
            return Ok(());
        }
        // What says more is kept: a row or a mark more than a value, and that there is no row least.
        if is_new || look.detail() > known.look.detail() {
            known.look = look;
        }
        visitor(Seen::External { op, key, look })
    }

    /// The own appends stand at the end; the rest is one look from outside.
    fn list(
        &mut self,
        history: &History,
        (txn, op): (TxnId, OpId),
        key: KeyId,
        list: &[ValueId],
        visitor: &mut impl FnMut(Seen) -> Result<(), Flaw>,
    ) -> Result<(), Flaw> {
        let known = self.known(key);
        let (is_listed, is_appended) = (std::mem::replace(&mut known.is_listed, true), known.is_appended);
        let outside = if is_appended { outside_of(history, txn, op) } else { Some(list) };
        let Some(outside) = outside else {
            return visitor(Seen::Contradiction { op });
        };
        let mut earlier = history.ops(txn).take_while(|&(id, _)| is_listed && id < op);
        let before = earlier.find_map(|(id, earlier)| match earlier {
            Op::ReadList { key: of, list: Some(_) } if of == key => outside_of(history, txn, id),
            _ => None,
        });
        match before {
            Some(before) if before == outside => Ok(()),
            Some(_) => visitor(Seen::Contradiction { op }),
            None => {
                let look = Look::Plain(outside.last().copied().unwrap_or(ValueId::NIL));
                visitor(Seen::External { op, key, look })
            }
        }
    }

    fn range(
        &mut self,
        history: &History,
        op: OpId,
        range: &RangeRead,
        visitor: &mut impl FnMut(Seen) -> Result<(), Flaw>,
    ) -> Result<(), Flaw> {
        let Some(rows) = &range.rows else { return Ok(()) };
        self.ranges += 1;
        for row in rows {
            let look = if row.is_dead { Look::Mark(row.value) } else { Look::Row(row.value) };
            let before = std::mem::replace(&mut self.returned[row.key.index()], (self.ranges, look));
            if before.0 == self.ranges || !range.contains(history.keys().original(row.key)) {
                visitor(Seen::Contradiction { op })?;
            }
        }
        let datum = |key: &KeyId| history.keys().original(*key);
        let start = self.keys.partition_point(|key| is_below(range, datum(key)));
        for place in start..self.keys.len() {
            let key = self.keys[place];
            if !range.contains(datum(&key)) {
                break;
            }
            let (stamp, look) = self.returned[key.index()];
            let look = if stamp == self.ranges { look } else { Look::Nothing };
            self.look(op, key, look, visitor)?;
        }
        Ok(())
    }
}

/// Whether a predicate read returned a row twice, or one that does not match.
fn is_no_answer(history: &History, read: &PredicateRead) -> bool {
    let rows = read.rows.as_deref().unwrap_or_default();
    let mut keys: Vec<KeyId> = rows.iter().map(|row| row.key).collect();
    keys.sort_unstable();
    let is_repeated = keys.windows(2).any(|pair| pair[0] == pair[1]);
    let Ok(predicate) = read.predicate.meaning() else { return false };
    let is_match = |row: &Row| {
        let (key, value) = (history.keys().original(row.key), history.values().original(row.value));
        !row.is_dead && predicate.matches(key, &value)
    };
    is_repeated || !rows.iter().all(is_match)
}

/// Whether a key is below the lower bound.
fn is_below(range: &RangeRead, key: &Datum) -> bool {
    match &range.from {
        history::Bound::Unbounded => false,
        history::Bound::Included(from) => key < from,
        history::Bound::Excluded(from) => key <= from,
    }
}

/// The elements of a list read that its own transaction had not appended, if the rest is its own.
pub(crate) fn outside_of(history: &History, txn: TxnId, read: OpId) -> Option<&[ValueId]> {
    let Op::ReadList { key, list: Some(list) } = history.op(read) else { return None };
    let earlier = history.ops(txn).take_while(|&(id, _)| id < read);
    let own = earlier.filter(|(_, op)| op.key() == Some(key)).filter_map(|(_, op)| op.value_appended());
    list.strip_suffix(&own.collect::<Vec<_>>()[..])
}

/// What an operation leaves in its key.
fn left_by(op: &Op<'_>) -> Option<Held> {
    match *op {
        // Nil is no row.
        Op::Write { value, .. } | Op::Insert { value, .. } => Some(Held::initially(value)),
        Op::Append { value, .. } => Some(Held { value, is_dead: false }),
        Op::Delete { tombstone, .. } => {
            Some(Held { value: tombstone.unwrap_or(ValueId::NIL), is_dead: true })
        }
        _ => None,
    }
}

/// The writes of a transaction in program order: the last of each key is its final one.
pub(crate) fn writes(history: &History, txn: TxnId) -> impl Iterator<Item = (KeyId, Held, OpId)> {
    history.ops(txn).filter_map(|(id, op)| Some((op.key()?, left_by(&op)?, id)))
}

pub(crate) fn live_ops(history: &History) -> impl Iterator<Item = (TxnId, OpId, Op<'_>)> {
    let live = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted);
    live.flat_map(|txn| history.ops(txn).map(move |(id, op)| (txn, id, op)))
}

/// The effects of the keys that a derivation speaks of.
pub(crate) fn effects(history: &History, scope: &Scope<'_>) -> Result<RowEffects, Flaw> {
    let is_key = |key: &KeyId| key.index() < history.keys().len();
    let keys = scope.keys.unwrap_or_default();
    if !keys.iter().all(is_key) || !keys.is_sorted_by(|left, right| left < right) {
        return Err(Flaw::new(Place::Whole, "its keys are no keys of the history, ascending"));
    }
    RowEffects::of(history, scope).map_err(unsupported_predicate)
}

fn unsupported_predicate(op: OpId) -> Flaw {
    Flaw::new(Place::Op(op), "certificates for this predicate are not supported")
}

/// Certificates do not speak of lists at levels that do not say what becomes of two appends, nor of predicates without
/// a meaning.
pub(crate) fn refuse_unsupported(history: &History, level: &Level) -> Result<(), Flaw> {
    if let Some(op) = refusal(history) {
        return Err(unsupported_predicate(op));
    }
    match first_list_under_prefix(history, level) {
        Some(id) => {
            let why = "certificates for lists under prefix consistency are not supported yet";
            Err(Flaw::new(Place::Op(id), why))
        }
        None => Ok(()),
    }
}

/// Whether there are lists at a level at which two appends to a list may not see each other.
pub(crate) fn has_lists_under_prefix(history: &History, level: &Level) -> bool {
    first_list_under_prefix(history, level).is_some()
}

fn first_list_under_prefix(history: &History, level: &Level) -> Option<OpId> {
    if level.core != crate::Core::Prefix {
        return None;
    }
    let is_of_list = |op: &Op<'_>| matches!(op, Op::ReadList { list: Some(_), .. } | Op::Append { .. });
    live_ops(history).find(|(.., op)| is_of_list(op)).map(|(_, id, _)| id)
}

/// Every value that anybody wrote to a key, committed or not, final or not.
pub(crate) struct EverWritten(Vec<(KeyId, ValueId)>);

impl EverWritten {
    pub fn of(history: &History) -> Self {
        let all = history.txns().flat_map(|txn| writes(history, txn));
        // What leaves no row leaves nil, whatever its mark.
        let all = all.flat_map(|(key, held, _)| {
            let gone = held.is_dead.then_some((key, ValueId::NIL));
            gone.into_iter().chain([(key, held.value)])
        });
        let mut all: Vec<_> = all.collect();
        all.sort_unstable();
        all.dedup();
        Self(all)
    }

    pub fn contains(&self, key: KeyId, value: ValueId) -> bool {
        self.0.binary_search(&(key, value)).is_ok()
    }
}
