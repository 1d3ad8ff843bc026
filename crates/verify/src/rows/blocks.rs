//! Which of the writers that fit comes next: one that no reader needs to come later.
//!
//! A writer waits for a reader that wants to see what it would overwrite; and it waits for another writer of a row if
//! it is its own content that the next reader after both saw. Both follow from the answers if no content comes twice.
//! A reader that did not see a row which the writer makes match is a weaker reason to wait, since another transaction may change
//! the row once more in between.

use history::{KeyId, TxnId};

use super::contents::ContentNumber;
use super::extent::{Extents, RowChange, Writes};
use super::scripts::{ScriptStep, find};
use super::search::{Deed, LearnedOrder, RowSearch};

/// Why a writer has to wait.
#[derive(Default)]
pub(super) struct Blocks {
    /// The transactions that should come before it.
    pub waits: Vec<LearnedOrder>,
    /// It should have come before a transaction that has come.
    pub late: Option<LearnedOrder>,
    /// How many readers would see a row that they did not see.
    pub weak: u32,
}

/// What keeps the writers that fit from coming.
pub(super) struct Blocked {
    /// The writer with the fewest reasons to wait, by its place.
    pub best: Option<usize>,
    pub late: Vec<LearnedOrder>,
    pub waits: Vec<LearnedOrder>,
}

/// PendingReads of one row that are looked at.
const MAX_PENDING: usize = 32;

impl RowSearch<'_, '_> {
    /// Places a writer that need not wait.
    pub(super) fn place_a_writer(&mut self) -> Result<(), Blocked> {
        let mut places: Vec<usize> = (0..self.open.len()).collect();
        places.sort_by_key(|&place| self.ready.moment(self.open[place].txn));
        let mut blocked = Blocked { best: None, late: Vec::new(), waits: Vec::new() };
        let (mut least, mut least_weak) = (usize::MAX, (u32::MAX, usize::MAX));
        for place in places {
            let txn = self.open[place].txn;
            if !self.ready.may_commit(txn) || !self.has_learnt_all(txn) {
                continue;
            }
            let Some((began, effects)) = self.effects_of(place) else { continue };
            let writes = self.writes(effects);
            let blocks = self.blocks(txn, &writes);
            let strong = blocks.waits.len() + usize::from(blocks.late.is_some());
            if strong == 0 && blocks.weak == 0 {
                self.place(place, began, &writes);
                return Ok(());
            }
            if strong == 0 {
                least_weak = least_weak.min((blocks.weak, place));
            }
            if strong < least {
                least = strong;
                blocked.best = Some(place);
            }
            blocked.late.extend(blocks.late);
            blocked.waits.extend(blocks.waits);
            if began == self.moment() {
                self.open[place].effects = Some(writes.effects);
            }
        }
        match least_weak.1 {
            usize::MAX => Err(blocked),
            place => {
                self.place_at(place);
                Ok(())
            }
        }
    }

    /// Places a writer whatever speaks against it.
    pub(super) fn place_at(&mut self, place: usize) {
        if let Some((began, effects)) = self.effects_of(place) {
            let writes = self.writes(effects);
            self.place(place, began, &writes);
        }
    }

    /// The transactions that should come before a writer.
    fn blocks(&mut self, writer: TxnId, writes: &Writes) -> Blocks {
        let mut blocks = Blocks::default();
        for &(key, _, after) in &writes.changes {
            self.add_blocks(&mut blocks, writer, key, after);
        }
        blocks.weak = self.surprised(writer, writes);
        blocks
    }

    fn add_blocks(&mut self, blocks: &mut Blocks, writer: TxnId, key: KeyId, after: ContentNumber) {
        let (now, open, contents) = (self.table.now(key), &self.open, &self.scripts.contents);
        let mut wait = |first: TxnId| {
            if blocks.waits.iter().all(|known| known.first != first) {
                blocks.waits.push(LearnedOrder { first, deed: Deed::Begin, second: writer, key });
            }
        };
        let mut late = None;
        for (reader, content) in self.pending.of_key(key).take(MAX_PENDING) {
            if reader == writer {
                continue;
            }
            let is_later = self.ready.must_precede(writer, reader);
            match (contents.is_same(content, now), contents.is_same(content, after)) {
                (true, _) if !is_later => wait(reader),
                (true, _) => late = late.or(Some(reader)),
                (_, true) if is_later => {
                    // A transaction that would overwrite it before the reader comes should come first.
                    for other in open.iter().filter(|other| other.txn != writer && other.fitted.is_empty()) {
                        let is_between = self.ready.must_precede(other.txn, reader);
                        if is_between && self.scripts.writes(other.txn, key, after) {
                            wait(other.txn);
                        }
                    }
                }
                _ => {}
            }
            if self.ready.is_over_before(writer, reader) {
                break;
            }
        }
        if late.is_some()
            && let Some(since) = self.table.since(key)
        {
            let second = self.placed[since as usize].txn;
            let order = LearnedOrder { first: writer, deed: Deed::Commit, second, key };
            blocks.late = blocks.late.or(Some(order));
        }
    }

    /// How many readers would have seen a row that they did not see, for all rows together.
    fn surprised(&self, writer: TxnId, writes: &Writes) -> u32 {
        let waiting = self.open.iter().filter(|open| open.txn != writer && open.fitted.is_empty());
        let readers: Vec<TxnId> =
            waiting.map(|open| open.txn).filter(|&txn| self.may_be_surprised(txn, &writes.extents)).collect();
        let is_surprised = |change: &RowChange| {
            readers.iter().filter(|&&reader| self.is_surprised(reader, change)).count() as u32
        };
        if readers.is_empty() { 0 } else { writes.changes.iter().map(is_surprised).sum() }
    }

    fn may_be_surprised(&self, reader: TxnId, extents: &Extents) -> bool {
        self.scripts.of_txn[reader.index()].steps.iter().any(|step| match step {
            ScriptStep::Query { filter, .. } => !extents.is_outside(filter),
            _ => false,
        })
    }

    fn is_surprised(&self, reader: TxnId, &(key, before, after): &RowChange) -> bool {
        let (datum, contents) = (self.scripts.key(key), &self.scripts.contents);
        self.scripts.of_txn[reader.index()].steps.iter().any(|step| match step {
            ScriptStep::Query { filter, shown } => {
                contents.matches(filter, datum, after)
                    && !contents.matches(filter, datum, before)
                    && find(shown, key).is_none()
            }
            _ => false,
        })
    }
}
