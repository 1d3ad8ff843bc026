//! What a key can hold, as far as reads returned it: for a few keys of many, where real time orders nothing.
//!
//! Thousands of predicate writes that each change a column can have made millions of rows of one key. But a read that
//! returned the row returned one of few contents, and all contents that no read returned count as one *other* content.
//! What a transaction makes of `other` is not known: a predicate may match it or not, and a change may have made of it
//! any content that has what the change sets. This over-approximates: a contradiction is real, a solution may not be.
//!
//! Costs one run of each transaction by predicate for each content that was returned, or one run if the transaction
//! itself returned the row.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::run::{Runner, left_by, live, ops};
use super::{Content, Met, RowEffects, Scope};
use history::{Change, Datum, KeyId, Op, OpId, PredicateWrite, TxnId, ValueId};

/// Collects the effects on all keys in scope.
pub(super) fn collect(effects: &mut RowEffects, runner: &Runner<'_>, scope: &Scope<'_>) {
    let history = runner.history;
    let mut seen: FxHashMap<KeyId, FxHashSet<Content>> = FxHashMap::default();
    for (key, content) in runner.all_returned() {
        seen.entry(key).or_default().insert(content);
    }
    for (_, op) in ops(history) {
        if let (Some(key), Some(content)) = (op.key(), shown_by(runner, &op))
            && scope.contains(key)
        {
            seen.entry(key).or_default().insert(content);
        }
    }
    let by_predicate: Vec<TxnId> = live(history).filter(|&txn| runner.is_by_predicate(txn)).collect();
    for (key, _) in history.keys().iter().filter(|&(key, _)| scope.contains(key)) {
        let initial = history.initial().value_of(key).unwrap_or(ValueId::NIL);
        let mut contents = seen.remove(&key).unwrap_or_default();
        contents.extend([Content::row(history.values().original(initial)), Content::row(Datum::Nil)]);
        let known = Known::new(effects, runner, key, contents);
        for &txn in &by_predicate {
            known.add(effects, txn);
            if effects.refused.is_some() {
                return;
            }
        }
    }
}

/// The content that an operation on one key shows.
fn shown_by(runner: &Runner<'_>, op: &Op<'_>) -> Option<Content> {
    match op {
        Op::Read { value: Some(value), .. } => Some(Content::row(runner.history.values().original(*value))),
        _ => left_by(runner.history, op),
    }
}

/// The contents of a key that a read returned, its initial state, and all others as one.
struct Known<'r, 'h> {
    runner: &'r Runner<'h>,
    key: KeyId,
    /// In their order, with their numbers.
    contents: Vec<(Content, u32)>,
    other: u32,
}

/// What a key holds: something known, or one of the others.
type CoarseContent<'c> = Option<Cow<'c, Content>>;

/// How a transaction may end, as far as it has been run.
#[derive(Clone)]
struct Path<'c> {
    held: CoarseContent<'c>,
    written: Option<OpId>,
    matched: Vec<OpId>,
}

impl<'r, 'h> Known<'r, 'h> {
    fn new(
        effects: &mut RowEffects,
        runner: &'r Runner<'h>,
        key: KeyId,
        contents: FxHashSet<Content>,
    ) -> Self {
        let mut contents: Vec<(Content, u32)> = contents.into_iter().map(|content| (content, 0)).collect();
        contents.sort_unstable();
        contents.iter_mut().for_each(|(content, number)| *number = effects.intern(content.clone()));
        Self { runner, key, contents, other: effects.intern(Content::other()) }
    }

    fn add(&self, effects: &mut RowEffects, txn: TxnId) {
        let shown = self.shown(txn);
        let is_shown = |content: &Content| shown.as_ref().is_none_or(|shown| shown == content);
        let all = self.contents.iter().map(|(content, _)| content);
        let has_writes = self.runner.history.ops(txn).any(|(_, op)| matches!(op, Op::PredicateWrite(_)));
        if !has_writes && !self.runner.concerns(txn, self.key, all) {
            return;
        }
        let mut met = Vec::new();
        for (content, number) in self.contents.iter().filter(|(content, _)| is_shown(content)) {
            self.meet(effects, txn, Some(Cow::Borrowed(content)), *number, &mut met);
        }
        if shown.is_none() {
            self.meet(effects, txn, None, self.other, &mut met);
        }
        effects.group(self.runner, txn, self.key, self.contents.len() + 1, met);
    }

    /// What a transaction was shown of the key before it can have changed it.
    fn shown(&self, txn: TxnId) -> Option<Content> {
        for (id, op) in self.runner.history.ops(txn) {
            match op {
                Op::PredicateWrite(_) => return None,
                Op::PredicateRead(_) | Op::RangeRead(_) => {
                    if let Some(content) = self.runner.returned(id, self.key) {
                        return Some(content);
                    }
                }
                op if op.key() == Some(self.key) => return None,
                _ => {}
            }
        }
        None
    }

    /// Runs a transaction on a content of the key, with every result that it may have had.
    fn meet(
        &self,
        effects: &mut RowEffects,
        txn: TxnId,
        held: CoarseContent<'_>,
        seen: u32,
        met: &mut Vec<Met>,
    ) {
        let mut paths = vec![Path { held, written: None, matched: Vec::new() }];
        let mut next = Vec::new();
        for (id, op) in self.runner.history.ops(txn) {
            paths.drain(..).for_each(|path| self.step(id, &op, path, &mut next));
            std::mem::swap(&mut paths, &mut next);
        }
        if !effects.can_afford(self.runner.history, paths.len().max(1)) {
            return;
        }
        for path in paths {
            let left = path.held.as_ref().map_or(self.other, |held| self.number_of(held));
            met.push(Met { seen, written: path.written.map(|op| (left, op)), matched: path.matched });
        }
    }

    /// The number of what a transaction left; a content that no read returned is `other`.
    fn number_of(&self, content: &Content) -> u32 {
        let place = self.contents.binary_search_by(|(known, _)| known.cmp(content));
        place.map_or(self.other, |place| self.contents[place].1)
    }

    /// One operation: the paths on which it has the answer that it had.
    fn step<'c>(&'c self, id: OpId, op: &Op<'_>, mut path: Path<'c>, next: &mut Vec<Path<'c>>) {
        if let Op::PredicateWrite(write) = op {
            self.change(id, write, path, next);
            return;
        }
        let fits = match &path.held {
            Some(held) => self.runner.sees(id, op, self.key, held),
            None => self.sees_other(id, op),
        };
        if op.key() == Some(self.key)
            && let Some(left) = left_by(self.runner.history, op)
        {
            path.held = Some(Cow::Owned(left));
            path.written = Some(id);
        }
        next.extend(fits.then_some(path));
    }

    /// `other` is any row content that no read returned.
    fn sees_other(&self, id: OpId, op: &Op<'_>) -> bool {
        match op {
            Op::Read { key, value: Some(_) } => *key != self.key,
            Op::RangeRead(range) => range.rows.is_none() || !range.contains(self.runner.key(self.key)),
            Op::PredicateRead(read) if read.rows.is_some() => {
                let must_match = self.runner.matches_other(id, self.key) == Some(true);
                !must_match && self.runner.returned(id, self.key).is_none()
            }
            _ => true,
        }
    }

    /// A predicate write matches or does not; for `other` both may be possible.
    fn change<'c>(&'c self, id: OpId, write: &PredicateWrite, path: Path<'c>, next: &mut Vec<Path<'c>>) {
        let reported = self.runner.reported(id, write, self.key);
        let truth = match &path.held {
            Some(held) => Some(self.runner.matches(id, self.key, held)),
            None => self.runner.matches_other(id, self.key),
        };
        let may_be =
            |is_match: bool| reported.is_none_or(|reported| reported == is_match) && truth != Some(!is_match);
        if may_be(true) {
            let mut matched = path.matched.clone();
            matched.push(id);
            let made = match &path.held {
                Some(held) => vec![Some(Cow::Owned(Content::row(write.change.apply(&held.datum))))],
                None => self.made_by(&write.change),
            };
            let path = |held| Path { held, written: Some(id), matched: matched.clone() };
            next.extend(made.into_iter().map(path));
        }
        if may_be(false) {
            next.push(path);
        }
    }

    /// What a change can have made of `other`.
    fn made_by(&self, change: &Change) -> Vec<CoarseContent<'_>> {
        let is_mark = |content: &Content| content.is_dead && content.datum != Datum::Nil;
        let can_be = |content: &Content| change.can_make(&content.datum) && !is_mark(content);
        let known = self.contents.iter().map(|(content, _)| content).filter(|content| can_be(content));
        let mut made: Vec<CoarseContent<'_>> = known.map(|content| Some(Cow::Borrowed(content))).collect();
        if made.is_empty() || change.depends_on_row() {
            made.push(None);
        }
        made
    }
}
