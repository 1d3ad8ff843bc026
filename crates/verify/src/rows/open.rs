//! Transactions that may come next, and how well each fits the rows as they are.
//!
//! A transaction fits if all that it saw fits. That is looked up once when it may come next, over the rows that it was
//! shown and those that its predicates match; afterwards each change of a row corrects the count of rows that do not
//! fit. So it is always known which transactions fit, for one or two comparisons per changed row and open transaction.

use history::{KeyId, TxnId};

use super::contents::ContentNumber;
use super::extent::{Extents, RowChange};
use super::key_set::KeySet;
use super::scripts::{Meeting, ScriptStep, Scripts, find};
use super::table::RowTable;

/// A transaction that may come next.
#[derive(Clone)]
pub(crate) struct Open {
    pub txn: TxnId,
    /// How many rows do not fit.
    pub wrong: u32,
    /// How many rows it would write.
    pub writes: u32,
    /// For each step that is told how many rows it changes: the step, how many it would, and how many it was told.
    counts: Vec<(u32, u64, u64)>,
    /// The moments at which it fitted, for a level at which a transaction may begin before it commits.
    pub fitted: Vec<u32>,
    /// What it would write, if that was asked for and nothing has changed since.
    pub effects: Option<Vec<(KeyId, ContentNumber)>>,
    /// The rows that match now, of a single update.
    hits: Option<KeySet>,
    kind: Kind,
}

/// The frequent kinds need no run of the script.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Query,
    Update,
    Other,
}

impl Open {
    pub fn new(scripts: &mut Scripts<'_>, table: &RowTable, txn: TxnId, fitted: Vec<u32>) -> Self {
        let steps = &scripts.of_txn[txn.index()].steps;
        let kind = match &steps[..] {
            [ScriptStep::Query { .. }] => Kind::Query,
            [ScriptStep::Update { .. }] => Kind::Update,
            _ => Kind::Other,
        };
        let counts = steps.iter().enumerate().filter_map(|(place, step)| match step {
            ScriptStep::Update { count: Some(count), .. } => Some((place as u32, 0, *count)),
            _ => None,
        });
        let counts = counts.collect();
        let mut open = Self { txn, wrong: 0, writes: 0, counts, fitted, effects: None, hits: None, kind };
        match kind {
            Kind::Query => open.count_query(scripts, table),
            Kind::Update => open.count_update(scripts, table),
            Kind::Other => open.count_all(scripts, table),
        }
        open
    }

    /// What it would write now.
    pub fn effects(&mut self, scripts: &mut Scripts<'_>, table: &RowTable) -> Vec<(KeyId, ContentNumber)> {
        match (self.effects.take(), &self.hits) {
            (Some(known), _) => known,
            (None, Some(hits)) => effects_of_update(scripts, table, self.txn, hits),
            (None, None) => effects(scripts, table, self.txn),
        }
    }

    /// A copy that counts what fits, without the lists that are as long as the table.
    pub fn counts(&mut self) -> Self {
        let (hits, effects) = (self.hits.take(), self.effects.take());
        let counts = self.clone();
        (self.hits, self.effects) = (hits, effects);
        counts
    }

    pub fn fits(&self) -> bool {
        self.wrong == 0 && self.counts.iter().all(|&(_, count, told)| count == told)
    }

    /// Whether it fits, or did at a moment at which it may have begun.
    pub fn has_fitted(&self) -> bool {
        self.fits() || !self.fitted.is_empty()
    }

    /// Rows that were shown and are otherwise now, and rows that match and were not shown.
    fn count_query(&mut self, scripts: &Scripts<'_>, table: &RowTable) {
        let [ScriptStep::Query { filter, shown }] = &scripts.of_txn[self.txn.index()].steps[..] else {
            return;
        };
        let hits = table.hits(scripts, filter);
        let mut unexpected = hits.count();
        for row in shown {
            let is_match = hits.has(row.key);
            unexpected -= usize::from(is_match);
            self.wrong += u32::from(!is_match || !scripts.contents.is_same(table.now(row.key), row.content));
        }
        self.wrong += unexpected as u32;
    }

    /// Rows that match, and those that were told to be changed and are not, or the other way round.
    fn count_update(&mut self, scripts: &Scripts<'_>, table: &RowTable) {
        let [ScriptStep::Update { filter, keys, .. }] = &scripts.of_txn[self.txn.index()].steps[..] else {
            return;
        };
        let hits = table.hits(scripts, filter);
        let count = hits.count();
        self.writes = count as u32;
        self.counts.iter_mut().for_each(|(_, counted, _)| *counted = count as u64);
        if let Some(told) = keys {
            let different = told.chunk_by(|left, right| left == right);
            let both = different.filter(|same| hits.has(same[0])).count();
            self.wrong = (count + told.len() - 2 * both) as u32;
        }
        self.hits = Some(hits);
    }

    fn count_all(&mut self, scripts: &mut Scripts<'_>, table: &RowTable) {
        for key in concerned(scripts, table, self.txn) {
            let meeting = scripts.meet(self.txn, key, table.now(key));
            self.add(&meeting);
        }
    }

    fn add(&mut self, meeting: &Meeting) {
        self.wrong += u32::from(!meeting.is_right);
        self.writes += u32::from(meeting.left.is_some());
        for (step, count, _) in &mut self.counts {
            *count += meeting.matched >> *step & 1;
        }
    }

    fn remove(&mut self, meeting: &Meeting) {
        self.wrong -= u32::from(!meeting.is_right);
        self.writes -= u32::from(meeting.left.is_some());
        for (step, count, _) in &mut self.counts {
            *count -= meeting.matched >> *step & 1;
        }
    }

    /// Rows have changed.
    pub fn note_all(&mut self, scripts: &mut Scripts<'_>, extents: &Extents, changes: &[RowChange]) {
        let is_elsewhere = match (self.kind, &scripts.of_txn[self.txn.index()].steps[..]) {
            (Kind::Query, [ScriptStep::Query { filter, .. }])
            | (Kind::Update, [ScriptStep::Update { filter, .. }]) => extents.is_outside(filter),
            _ => false,
        };
        if !is_elsewhere {
            changes.iter().for_each(|&(key, before, after)| self.note(scripts, key, before, after));
        }
    }

    /// A row has changed.
    pub fn note(
        &mut self,
        scripts: &mut Scripts<'_>,
        key: KeyId,
        before: ContentNumber,
        after: ContentNumber,
    ) {
        match (self.kind, &scripts.of_txn[self.txn.index()].steps[..]) {
            (Kind::Query, [ScriptStep::Query { filter, shown }]) => {
                let datum = scripts.key(key);
                let (was, is) = (
                    scripts.contents.matches(filter, datum, before),
                    scripts.contents.matches(filter, datum, after),
                );
                // What does not match is wrong if it was shown and right otherwise, before and after.
                if was || is {
                    let row = find(shown, key).map(|row| row.content);
                    let is_shown =
                        |row: ContentNumber, content: ContentNumber| scripts.contents.is_same(row, content);
                    self.wrong -= u32::from(row.map_or(was, |row| !was || !is_shown(row, before)));
                    self.wrong += u32::from(row.map_or(is, |row| !is || !is_shown(row, after)));
                }
            }
            (Kind::Update, [ScriptStep::Update { filter, keys, .. }]) => {
                let datum = scripts.key(key);
                let (was, is) = (
                    scripts.contents.matches(filter, datum, before),
                    scripts.contents.matches(filter, datum, after),
                );
                if was || is {
                    self.effects = None;
                }
                if was != is {
                    if let Some(hits) = &mut self.hits {
                        hits.toggle(key);
                    }
                    let told = keys.as_ref().map(|keys| keys.binary_search(&key).is_ok());
                    let meeting = |is_match: bool| Meeting {
                        is_right: told.is_none_or(|told| told == is_match),
                        left: is_match.then_some(after),
                        matched: u64::from(is_match),
                    };
                    self.remove(&meeting(was));
                    self.add(&meeting(is));
                }
            }
            _ => {
                self.effects = None;
                let meeting = scripts.meet(self.txn, key, before);
                self.remove(&meeting);
                let meeting = scripts.meet(self.txn, key, after);
                self.add(&meeting);
            }
        }
    }
}

/// The rows that a transaction meets in another way than doing nothing and seeing nothing.
pub(crate) fn concerned(scripts: &Scripts<'_>, table: &RowTable, txn: TxnId) -> Vec<KeyId> {
    let mut keys = Vec::new();
    for step in &scripts.of_txn[txn.index()].steps {
        match step {
            ScriptStep::Read { key, .. } | ScriptStep::Write { key, .. } => keys.push(*key),
            ScriptStep::Range { range, shown } => {
                let all = (0..table.key_count()).map(KeyId::from_index);
                let is_there = |&key: &KeyId| {
                    !scripts.contents.is_dead(table.now(key)) && range.contains(scripts.key(key))
                };
                keys.extend(all.filter(is_there));
                keys.extend(shown.iter().map(|row| row.key));
            }
            ScriptStep::Query { filter, shown } => {
                table.hits(scripts, filter).each(|key| keys.push(key));
                keys.extend(shown.iter().map(|row| row.key));
            }
            ScriptStep::Update { filter, keys: told, .. } => {
                table.hits(scripts, filter).each(|key| keys.push(key));
                keys.extend(told.iter().flatten());
            }
        }
    }
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// What a transaction would write.
pub(crate) fn effects(
    scripts: &mut Scripts<'_>,
    table: &RowTable,
    txn: TxnId,
) -> Vec<(KeyId, ContentNumber)> {
    if let [ScriptStep::Update { filter, .. }] = &scripts.of_txn[txn.index()].steps[..] {
        let hits = table.hits(scripts, filter);
        return effects_of_update(scripts, table, txn, &hits);
    }
    let keys = concerned(scripts, table, txn);
    let left = |key: KeyId| Some((key, scripts.meet(txn, key, table.now(key)).left?));
    keys.into_iter().filter_map(left).collect()
}

/// What a single update would write, of which the rows that match are known.
fn effects_of_update(
    scripts: &mut Scripts<'_>,
    table: &RowTable,
    txn: TxnId,
    hits: &KeySet,
) -> Vec<(KeyId, ContentNumber)> {
    let [ScriptStep::Update { edit, .. }] = &scripts.of_txn[txn.index()].steps[..] else { return Vec::new() };
    let (contents, mut effects) = (&mut scripts.contents, Vec::with_capacity(hits.count()));
    hits.each(|key| effects.push((key, contents.apply(edit, table.now(key)))));
    effects
}
