//! The rows as they are after the transactions that have come so far, with a log to take them back.
//!
//! For each column that predicates ask about there is a lane: the cells of all rows side by side, so that an interval
//! is found by running over it. A change costs one entry of the log, and one cell in each lane.

use history::{History, KeyId, ValueId};

use super::contents::{ContentNumber, Contents, Fast, Filter, MISSING, OTHERS};
use super::key_set::KeySet;
use super::lane::Lane;
use super::scripts::{ScriptStep, Scripts};

/// No entry of the log.
const NONE: u32 = u32::MAX;

/// Something that was overwritten.
#[derive(Clone, Copy)]
pub(crate) struct Overwritten {
    pub key: KeyId,
    /// What was there.
    pub content: ContentNumber,
    /// The moment at which it was overwritten.
    pub moment: u32,
    before: u32,
}

pub(crate) struct RowTable {
    now: Vec<ContentNumber>,
    /// For each key its last entry of the log.
    last: Vec<u32>,
    log: Vec<Overwritten>,
    /// For each slot the cells of all rows; empty if no predicate asks about it.
    lanes: Vec<Lane>,
    /// How many cells of a lane are decided by no comparison of integers.
    odd: Vec<u32>,
}

impl RowTable {
    /// The initial state.
    pub fn new(history: &History, scripts: &mut Scripts<'_>) -> Self {
        let mut now = Vec::with_capacity(history.keys().len());
        for (key, _) in history.keys().iter() {
            let initial = history.initial().value_of(key).unwrap_or(ValueId::NIL);
            now.push(scripts.contents.row(&history.values().original(initial)));
        }
        let mut table =
            Self { last: vec![NONE; now.len()], now, log: Vec::new(), lanes: Vec::new(), odd: Vec::new() };
        let steps = scripts.of_txn.iter().flat_map(|script| &script.steps);
        for step in steps {
            if let ScriptStep::Query { filter, .. } | ScriptStep::Update { filter, .. } = step
                && let Some(Fast::Cell { slot, .. }) = filter.fast
            {
                table.add_lane(&scripts.contents, slot);
            }
        }
        table
    }

    fn add_lane(&mut self, contents: &Contents, slot: usize) {
        if self.lanes.len() <= slot {
            self.lanes.resize(slot + 1, Lane::default());
            self.odd.resize(slot + 1, 0);
        }
        if self.lanes[slot].is_empty() {
            let cells: Vec<i64> = self.now.iter().map(|&content| contents.lane(content, slot)).collect();
            self.odd[slot] = cells.iter().filter(|&&cell| cell >= OTHERS).count() as u32;
            self.lanes[slot] = Lane::of(cells);
        }
    }

    /// The slots that have a lane.
    pub fn slots(&self) -> impl Iterator<Item = usize> {
        (0..self.lanes.len()).filter(|&slot| !self.lanes[slot].is_empty())
    }

    #[inline]
    pub fn now(&self, key: KeyId) -> ContentNumber {
        self.now[key.index()]
    }

    pub fn key_count(&self) -> usize {
        self.now.len()
    }

    /// The moment at which a row was written last.
    pub fn since(&self, key: KeyId) -> Option<u32> {
        self.log.get(self.last[key.index()] as usize).map(|entry| entry.moment)
    }

    /// What a row held before, the latest first.
    pub fn past(&self, key: KeyId) -> impl Iterator<Item = Overwritten> {
        let entry = |place: u32| self.log.get(place as usize).copied();
        std::iter::successors(entry(self.last[key.index()]), move |known| entry(known.before))
    }

    /// What a row held when so many had committed.
    pub fn at(&self, key: KeyId, moment: u32) -> ContentNumber {
        let later = self.past(key).take_while(|entry| entry.moment >= moment);
        later.last().map_or(self.now(key), |entry| entry.content)
    }

    /// All that was overwritten, the latest first.
    pub fn overwritten(&self) -> impl Iterator<Item = Overwritten> {
        self.log.iter().rev().copied()
    }

    /// The rows that were written from a moment on.
    pub fn changed_since(&self, moment: u32) -> impl Iterator<Item = KeyId> {
        self.log.iter().rev().take_while(move |entry| entry.moment >= moment).map(|entry| entry.key)
    }

    pub fn write(&mut self, contents: &Contents, key: KeyId, content: ContentNumber, moment: u32) {
        let before = std::mem::replace(&mut self.last[key.index()], self.log.len() as u32);
        self.log.push(Overwritten { key, content: self.now[key.index()], moment, before });
        self.set(contents, key, content);
    }

    fn set(&mut self, contents: &Contents, key: KeyId, content: ContentNumber) {
        self.now[key.index()] = content;
        for slot in 0..self.lanes.len() {
            if !self.lanes[slot].is_empty() {
                let cell = contents.lane(content, slot);
                let before = self.lanes[slot].replace(key.index(), cell);
                self.odd[slot] += u32::from(cell >= OTHERS);
                self.odd[slot] -= u32::from(before >= OTHERS);
            }
        }
    }

    /// Takes back everything from a moment on.
    pub fn undo(&mut self, contents: &Contents, moment: u32) {
        while let Some(entry) = self.log.last().copied().filter(|entry| entry.moment >= moment) {
            self.log.pop();
            self.last[entry.key.index()] = entry.before;
            self.set(contents, entry.key, entry.content);
        }
    }

    /// The rows that match.
    pub fn hits(&self, scripts: &Scripts<'_>, filter: &Filter<'_>) -> KeySet {
        if let Some(Fast::Cell { slot, least, most }) = filter.fast
            && self.odd[slot] == 0
        {
            debug_assert!(least > MISSING, "a row that is not there matches nothing");
            return self.lanes[slot].between(least, most);
        }
        let is_hit = |key: KeyId| scripts.contents.matches(filter, scripts.key(key), self.now(key));
        KeySet::of_keys(self.now.len(), is_hit)
    }
}
