//! The effect of a transaction with predicates on a key, for everything that the key may have held.
//!
//! A predicate read that did not return a row saw a version of it that does not match; a predicate write changes a row
//! or not, and to what, depending on the version that it sees. A *row effect* describes both for a transaction and a key:
//! the transaction is run on each content that the key can have held, and the contents that give all the answers which
//! the transaction had are grouped by their result. Each group is an *alternative*: one read (of any of its contents)
//! and at most one write. An effect with one alternative leaves nothing open; the engine finds out which of several is
//! true.
//!
//! A key can hold its initial state, the values that are written to it, and what predicate writes make of these
//! (`row_effects/close.rs`). Where real time orders transactions, a key holds only what no transaction can have
//! overwritten before the reader began (`row_effects/sweep.rs`), which leaves a few contents of thousands. Where it does
//! not and keys are many, all contents that no read returned count as one (`row_effects/coarse.rs`). Effects on
//! different keys are independent, so a [`Scope`] can leave out keys with everything that was done to them: a
//! contradiction without these keys is a contradiction with them.
//!
//! Costs one evaluation for each predicate, key and content.

mod close;
mod coarse;
mod prepared;
mod run;
mod sweep;

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use history::{Datum, History, InitialDefault, KeyId, Op, OpId, TxnId, ValueId};
use prepared::{Prepared, Truths};
use run::{Runner, is_by_predicate, ops};

/// What a key can hold: a row, or nothing but perhaps the mark of a delete.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Content {
    /// Whether there is no row.
    pub is_dead: bool,
    /// The row, or the mark; [`Datum::Nil`] for nothing.
    pub datum: Datum,
    /// Whether it stands for all rows that no read returned (`row_effects/coarse.rs`).
    pub is_other: bool,
}

impl Content {
    /// A row; nil is none.
    pub fn row(datum: Datum) -> Self {
        Self { is_dead: datum == Datum::Nil, datum, is_other: false }
    }

    /// What a delete leaves.
    pub fn mark(datum: Datum) -> Self {
        Self { is_dead: true, datum, is_other: false }
    }

    /// Any row that no read returned.
    fn other() -> Self {
        Self { is_dead: false, datum: Datum::Symbol("a row that no read returned".into()), is_other: true }
    }

    /// The value of a row or a mark; one that nothing has if it occurs nowhere in the history.
    pub fn value(&self, history: &History) -> ValueId {
        let known = if self.is_other { None } else { history.values().get(&self.datum) };
        known.unwrap_or(ValueId(u32::MAX))
    }
}

/// One possibility of what a transaction saw of a key and did to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alternative {
    /// The numbers of the contents that it may have seen, ascending.
    pub seen: Vec<u32>,
    /// The number of the content that it left, and by which operation, if it wrote.
    pub written: Option<(u32, OpId)>,
    /// The predicate writes that matched.
    pub matched: Vec<OpId>,
}

/// A transaction and a key that a predicate of it may concern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowEffect {
    /// The transaction.
    pub txn: TxnId,
    /// The key.
    pub key: KeyId,
    /// The first operation that concerns the key.
    pub op: OpId,
    /// How many contents it may have seen, as far as its own answers are not asked.
    pub visible: u32,
    /// The alternatives, by the least content that each may have seen; one without contents if nothing explains what
    /// the transaction saw.
    pub alternatives: Vec<Alternative>,
}

/// A content that a transaction may have seen, and what it did then.
struct Met {
    seen: u32,
    written: Option<(u32, OpId)>,
    matched: Vec<OpId>,
}

/// How many rows a predicate write changed, as the database said, and the effects that decide it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowCount {
    /// The predicate write.
    pub op: OpId,
    /// How many.
    pub count: u64,
    /// The numbers of the effects.
    pub effects: Vec<u32>,
}

/// The keys whose effects are collected, and the clock skew, which limits what a transaction can have seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Scope<'k> {
    /// The keys, ascending; without them all.
    pub keys: Option<&'k [KeyId]>,
    /// The clock skew, if real time orders transactions that do not overlap.
    pub clock_skew: Option<i64>,
}

impl Scope<'_> {
    /// Whether all contents that no read returned count as one: for a part of the keys, without real time.
    pub fn is_coarse(&self, history: &History) -> bool {
        self.keys.is_some() && (self.clock_skew.is_none() || !history.has_times())
    }

    fn contains(&self, key: KeyId) -> bool {
        self.keys.is_none_or(|keys| keys.binary_search(&key).is_ok())
    }
}

/// All effects of a history.
#[derive(Clone, Debug, Default)]
pub struct RowEffects {
    contents: Vec<Content>,
    number_of: FxHashMap<Content, u32>,
    effects: Vec<RowEffect>,
    counts: Vec<RowCount>,
    refused: Option<OpId>,
    /// How many rows were looked at.
    work: usize,
    /// For each key whether it is left out; empty if none is.
    is_left_out: Vec<bool>,
}

/// The most contents of a key; histories with more are refused.
const MAX_CONTENTS: usize = 4096;
/// The most rows that are examined, which takes some seconds; histories with more are refused, since limits are not
/// asked in between.
const MAX_WORK: usize = 1 << 23;

impl RowEffects {
    /// The effects of a history; none if it has no predicates.
    pub fn of(history: &History, scope: &Scope<'_>) -> Self {
        let mut effects = Self::default();
        if !has_predicates(history) {
            return effects;
        }
        effects.refused = Self::refusal(history);
        if effects.refused.is_some() {
            return effects;
        }
        if let Some(keys) = scope.keys {
            effects.is_left_out = vec![true; history.keys().len()];
            // A certificate may name keys that are not there.
            let in_scope = keys.iter().filter(|key| key.index() < history.keys().len());
            in_scope.for_each(|key| effects.is_left_out[key.index()] = false);
        }
        let runner = Runner::new(history, scope);
        match scope.clock_skew {
            _ if scope.is_coarse(history) => coarse::collect(&mut effects, &runner, scope),
            Some(skew) => sweep::collect(&mut effects, &runner, scope, skew),
            None => close::collect(&mut effects, &runner),
        }
        effects.effects.sort_by_key(|effect| (effect.txn, effect.key));
        if scope.keys.is_none() && effects.refused.is_none() {
            effects.count(history);
        }
        let is_kept = |effect: &RowEffect, effects: &Self| {
            effect.alternatives.len() > 1 || !effects.says_nothing(effect, &effect.alternatives[0])
        };
        let kept: Vec<bool> = effects.effects.iter().map(|effect| is_kept(effect, &effects)).collect();
        effects.keep(&kept);
        effects
    }

    /// The first operation whose effects cannot be collected, for any scope.
    pub fn refusal(history: &History) -> Option<OpId> {
        if !history.has_predicates() {
            return None;
        }
        let mut by_predicate = ops(history).filter(|(_, op)| is_by_predicate(op));
        let first = by_predicate.next().map(|(id, _)| id)?;
        let parsed = |op: &Op<'_>| match op {
            Op::PredicateRead(read) => read.predicate.meaning().is_ok(),
            Op::PredicateWrite(write) => write.predicate.meaning().is_ok(),
            _ => true,
        };
        let has_lists = |op: &Op<'_>| matches!(op, Op::Append { .. } | Op::ReadList { list: Some(_), .. });
        if history.initial().default == InitialDefault::UnknownButOne
            || history.has_versions()
            || ops(history).any(|(_, op)| has_lists(&op))
            || ops(history).any(|(id, _)| history.has_versions() && history.op_version(id).is_some())
        {
            return Some(first);
        }
        ops(history).find(|(_, op)| !parsed(op)).map(|(id, _)| id)
    }

    /// Whether predicates and keys are few enough to collect all effects at once.
    pub fn are_few(history: &History) -> bool {
        const FEW: usize = 1 << 14;
        let mut left = FEW / history.keys().len().max(1);
        let is_one_too_many = |(_, op): (OpId, Op<'_>)| {
            let is_counted = is_by_predicate(&op);
            left = left.saturating_sub(usize::from(is_counted));
            is_counted && left == 0
        };
        !has_predicates(history) || !ops(history).any(is_one_too_many)
    }

    /// All effects, by transaction and key.
    pub fn all(&self) -> &[RowEffect] {
        &self.effects
    }

    /// Whether a key is left out, and with it all that was done to it.
    pub fn leaves_out(&self, key: KeyId) -> bool {
        self.is_left_out.get(key.index()).is_some_and(|&is_left_out| is_left_out)
    }

    /// The numbers of the effects of a transaction.
    pub fn of_txn(&self, txn: TxnId) -> std::ops::Range<usize> {
        let start = self.effects.partition_point(|effect| effect.txn < txn);
        start..start + self.effects[start..].partition_point(|effect| effect.txn == txn)
    }

    /// The number of the effect of a transaction and a key.
    pub fn find(&self, txn: TxnId, key: KeyId) -> Option<usize> {
        self.effects.binary_search_by_key(&(txn, key), |effect| (effect.txn, effect.key)).ok()
    }

    /// A content by its number.
    pub fn content(&self, number: u32) -> &Content {
        &self.contents[number as usize]
    }

    /// The number of what a write leaves, if any effect may see it.
    pub fn content_of(&self, history: &History, value: ValueId, is_dead: bool) -> Option<u32> {
        let datum = history.values().original(value);
        let content = if is_dead { Content::mark(datum) } else { Content::row(datum) };
        self.number_of.get(&content).copied()
    }

    /// Row counts that several effects decide; only where no key is left out.
    pub fn counts(&self) -> &[RowCount] {
        &self.counts
    }

    /// The first operation whose effects cannot be collected.
    pub fn refused(&self) -> Option<OpId> {
        self.refused
    }

    /// Whether an alternative leaves open nothing: it may have seen whatever there was to be seen, and wrote nothing.
    pub fn says_nothing(&self, effect: &RowEffect, alternative: &Alternative) -> bool {
        alternative.written.is_none() && self.sees_anything(effect, alternative)
    }

    /// Whether an alternative may have seen whatever there was to be seen.
    pub fn sees_anything(&self, effect: &RowEffect, alternative: &Alternative) -> bool {
        alternative.seen.len() == effect.visible as usize
    }

    /// Notes that rows will be looked at; false if they are too many.
    fn can_afford(&mut self, history: &History, rows: usize) -> bool {
        self.work = self.work.saturating_add(rows);
        if self.work > MAX_WORK && self.refused.is_none() {
            self.refused = first_by_predicate(history);
        }
        self.refused.is_none()
    }

    fn intern(&mut self, content: Content) -> u32 {
        self.intern_as_it_is(Cow::Owned(content))
    }

    /// The number of a content, which is copied if it is new.
    fn intern_as_it_is(&mut self, content: Cow<'_, Content>) -> u32 {
        if let Some(&number) = self.number_of.get(&*content) {
            return number;
        }
        let number = self.contents.len() as u32;
        self.contents.push(content.clone().into_owned());
        self.number_of.insert(content.into_owned(), number);
        number
    }

    /// Adds the effect of a transaction on a key, if a predicate concerns it, from the contents that it may have seen.
    fn add(&mut self, runner: &Runner<'_>, txn: TxnId, key: KeyId, visible: Vec<u32>) {
        let visible = self.sorted(visible);
        self.add_sorted(runner, txn, key, &visible, &mut Truths::default());
    }

    /// Contents in their order, each once.
    fn sorted(&self, mut contents: Vec<u32>) -> Vec<u32> {
        contents.sort_unstable_by(|&a, &b| self.contents[a as usize].cmp(&self.contents[b as usize]));
        contents.dedup();
        contents
    }

    /// The same, from contents in their order; `truths` are those of the key and these contents.
    fn add_sorted(
        &mut self,
        runner: &Runner<'_>,
        txn: TxnId,
        key: KeyId,
        visible: &[u32],
        truths: &mut Truths,
    ) {
        if !runner.is_by_predicate(txn) {
            return;
        }
        let contents: Vec<&Content> = visible.iter().map(|&number| &self.contents[number as usize]).collect();
        let prepared = Prepared::new(runner, txn, key, &contents, truths);
        if !prepared.is_concerned(truths) {
            return;
        }
        let ran = (0..visible.len()).map(|place| (visible[place], prepared.run(truths, &contents, place)));
        let ran: Vec<_> = ran.filter_map(|(seen, ran)| Some((seen, ran?))).collect();
        let mut met = Vec::with_capacity(ran.len());
        for (seen, ran) in ran {
            let written = ran.written.map(|(content, op)| (self.intern_as_it_is(content), op));
            met.push(Met { seen, written, matched: ran.matched });
        }
        self.group(runner, txn, key, visible.len(), met);
    }

    /// Groups what a transaction may have seen of a key by what it did then.
    fn group(&mut self, runner: &Runner<'_>, txn: TxnId, key: KeyId, visible: usize, met: Vec<Met>) {
        let mut alternatives: Vec<Alternative> = Vec::new();
        for Met { seen, written, matched } in met {
            let same =
                alternatives.iter_mut().find(|known| known.written == written && known.matched == matched);
            match same {
                Some(known) => known.seen.push(seen),
                None => alternatives.push(Alternative { seen: vec![seen], written, matched }),
            }
        }
        if alternatives.is_empty() {
            alternatives.push(Alternative { seen: Vec::new(), written: None, matched: Vec::new() });
        }
        for alternative in &mut alternatives {
            alternative.seen.sort_unstable();
            alternative.seen.dedup();
        }
        let (op, visible) = (runner.first_op(txn, key), visible as u32);
        self.effects.push(RowEffect { txn, key, op, visible, alternatives });
    }

    /// The effects that decide how many rows predicate writes changed.
    fn count(&mut self, history: &History) {
        let mut of_op: FxHashMap<OpId, Vec<u32>> = FxHashMap::default();
        for (number, effect) in self.effects.iter().enumerate() {
            let mut matched: Vec<OpId> =
                effect.alternatives.iter().flat_map(|alternative| alternative.matched.clone()).collect();
            matched.sort_unstable();
            matched.dedup();
            for op in matched {
                of_op.entry(op).or_default().push(number as u32);
            }
        }
        for (op, operation) in ops(history) {
            if let Op::PredicateWrite(write) = operation
                && let Some(count) = write.row_count
            {
                let effects = of_op.remove(&op).unwrap_or_default();
                self.counts.push(RowCount { op, count, effects });
            }
        }
    }

    /// Leaves out the other effects. Those that decide a count match something, so they write, and stay.
    fn keep(&mut self, is_kept: &[bool]) {
        let mut next = 0;
        let number: Vec<u32> = is_kept
            .iter()
            .map(|&is_kept| {
                next += u32::from(is_kept);
                next - u32::from(is_kept)
            })
            .collect();
        for count in &mut self.counts {
            count.effects.iter_mut().for_each(|effect| *effect = number[*effect as usize]);
        }
        let mut kept = is_kept.iter();
        self.effects.retain(|_| *kept.next().unwrap_or(&true));
    }
}

/// The first read or write by predicate of a transaction that may have committed.
pub fn first_by_predicate(history: &History) -> Option<OpId> {
    ops(history).find(|(_, op)| is_by_predicate(op)).map(|(id, _)| id)
}

/// Whether a transaction that may have committed reads or writes by predicate.
pub fn has_predicates(history: &History) -> bool {
    history.has_predicates() && ops(history).any(|(_, op)| is_by_predicate(&op))
}
