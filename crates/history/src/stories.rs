//! What a transaction did to a key that a predicate of it may concern, for everything that the key may have held.
//!
//! A predicate read that did not return a row saw a version of it that does not match; a predicate write changes a row
//! or not, and to what, by the version it sees. Both are told by the *story* of a transaction and a key: the transaction
//! is run on each content that the key can have held, and the contents that give all the answers it had are put together
//! by what they lead to. Each such *alternative* is one read (of any of its contents) and at most one write. A story with
//! one alternative leaves nothing open; which of several is true is for an engine to find out.
//!
//! What a key can hold is its initial state, what is written to it, and what predicate writes make of these
//! (`stories/close.rs`); where real time counts, only what nobody can have overwritten before the transaction began
//! (`stories/sweep.rs`), which leaves a few contents of thousands; where it does not and keys are many, all that nobody
//! saw is one content (`stories/rough.rs`). Stories of different keys do not depend on each other,
//! so a [`Scope`] can leave out keys, and with them all that was done to them: what contradicts itself then contradicts
//! itself with all keys too. Costs one evaluation for each predicate, key and content.

mod close;
mod rough;
mod run;
mod sweep;

use rustc_hash::FxHashMap;

use crate::{Datum, History, InitialDefault, KeyId, Op, OpId, Predicate, TxnId, ValueId};
use run::{Runner, is_by_predicate, ops};

/// What a key can hold: a row, or nothing but perhaps the mark of a delete.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Content {
    /// Whether there is no row.
    pub is_dead: bool,
    /// The row, or the mark; [`Datum::Nil`] for nothing.
    pub datum: Datum,
    /// Whether it stands for all rows that nobody saw (`stories/rough.rs`).
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

    /// Any row that nobody saw.
    fn other() -> Self {
        Self { is_dead: false, datum: Datum::Symbol("what nobody saw".into()), is_other: true }
    }

    /// The value of a row or a mark; one that nothing has if it occurs nowhere in the history.
    pub fn value(&self, history: &History) -> ValueId {
        let known = if self.is_other { None } else { history.values().get(&self.datum) };
        known.unwrap_or(ValueId(u32::MAX))
    }
}

/// A way in which a transaction may have met a key.
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
pub struct Story {
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

/// How many rows a predicate write changed, as the database said, and the stories that decide it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowCount {
    /// The predicate write.
    pub op: OpId,
    /// How many.
    pub count: u64,
    /// The numbers of the stories.
    pub stories: Vec<u32>,
}

/// Which keys stories are told of, and what limits what a transaction can have seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Scope<'k> {
    /// The keys, ascending; without them all.
    pub keys: Option<&'k [KeyId]>,
    /// Transactions are ordered by real time, with clocks that are so far apart: whoever ended before another began is
    /// before it.
    pub clock_skew: Option<i64>,
}

impl Scope<'_> {
    /// Whether stories are told with all that nobody saw as one content: of a part of the keys, where no clock tells more.
    pub fn is_rough(&self, history: &History) -> bool {
        self.keys.is_some() && (self.clock_skew.is_none() || !history.has_times())
    }

    fn contains(&self, key: KeyId) -> bool {
        self.keys.is_none_or(|keys| keys.binary_search(&key).is_ok())
    }
}

/// All stories of a history.
#[derive(Clone, Debug, Default)]
pub struct Stories {
    contents: Vec<Content>,
    number_of: FxHashMap<Content, u32>,
    stories: Vec<Story>,
    counts: Vec<RowCount>,
    refused: Option<OpId>,
    /// How many rows were looked at.
    work: usize,
    /// For each key whether it is left out; empty if none is.
    is_left_out: Vec<bool>,
}

/// A key can hold so many things at most; more are refused.
const MAX_CONTENTS: usize = 4096;
/// So many rows are looked at in all: some seconds. More are refused, since nobody asks in between whether to go on.
const MAX_WORK: usize = 1 << 23;

impl Stories {
    /// The stories of a history; none if it has no predicates.
    pub fn of(history: &History, scope: &Scope<'_>) -> Self {
        let mut stories = Self::default();
        if !has_predicates(history) {
            return stories;
        }
        stories.refused = Self::refusal(history);
        if stories.refused.is_some() {
            return stories;
        }
        if let Some(keys) = scope.keys {
            stories.is_left_out = vec![true; history.keys().len()];
            // A certificate may name keys that are not there.
            let told = keys.iter().filter(|key| key.index() < history.keys().len());
            told.for_each(|key| stories.is_left_out[key.index()] = false);
        }
        let runner = Runner::new(history, scope);
        match scope.clock_skew {
            _ if scope.is_rough(history) => rough::tell(&mut stories, &runner, scope),
            Some(skew) => sweep::tell(&mut stories, &runner, scope, skew),
            None => close::tell(&mut stories, &runner),
        }
        stories.stories.sort_by_key(|story| (story.txn, story.key));
        if scope.keys.is_none() && stories.refused.is_none() {
            stories.count(history);
        }
        let is_told = |story: &Story, stories: &Self| {
            story.alternatives.len() > 1 || !stories.says_nothing(story, &story.alternatives[0])
        };
        let told: Vec<bool> = stories.stories.iter().map(|story| is_told(story, &stories)).collect();
        stories.keep(&told);
        stories
    }

    /// The first operation for which no stories can be told, whatever the scope.
    pub fn refusal(history: &History) -> Option<OpId> {
        if !history.has_predicates() {
            return None;
        }
        let mut by_predicate = ops(history).filter(|(_, op)| is_by_predicate(op));
        let first = by_predicate.next().map(|(id, _)| id)?;
        let parsed = |op: &Op<'_>| match op {
            Op::PredicateRead(read) => Predicate::parse(&read.predicate).is_ok(),
            Op::PredicateWrite(write) => Predicate::parse(&write.predicate).is_ok(),
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

    /// Whether predicates and keys are so few that the stories of all can be told at once.
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

    /// All stories, by transaction and key.
    pub fn all(&self) -> &[Story] {
        &self.stories
    }

    /// Whether a key is left out, and with it all that was done to it.
    pub fn leaves_out(&self, key: KeyId) -> bool {
        self.is_left_out.get(key.index()).is_some_and(|&is_left_out| is_left_out)
    }

    /// The numbers of the stories of a transaction.
    pub fn of_txn(&self, txn: TxnId) -> std::ops::Range<usize> {
        let start = self.stories.partition_point(|story| story.txn < txn);
        start..start + self.stories[start..].partition_point(|story| story.txn == txn)
    }

    /// The number of the story of a transaction and a key.
    pub fn find(&self, txn: TxnId, key: KeyId) -> Option<usize> {
        self.stories.binary_search_by_key(&(txn, key), |story| (story.txn, story.key)).ok()
    }

    /// A content by its number.
    pub fn content(&self, number: u32) -> &Content {
        &self.contents[number as usize]
    }

    /// The number of what a write leaves, if any story may see it.
    pub fn content_of(&self, history: &History, value: ValueId, is_dead: bool) -> Option<u32> {
        let datum = history.values().original(value);
        let content = if is_dead { Content::mark(datum) } else { Content::row(datum) };
        self.number_of.get(&content).copied()
    }

    /// Row counts that several stories decide; only where no key is left out.
    pub fn counts(&self) -> &[RowCount] {
        &self.counts
    }

    /// The first operation for which no stories can be told.
    pub fn refused(&self) -> Option<OpId> {
        self.refused
    }

    /// Whether an alternative leaves open nothing: it may have seen whatever there was to be seen, and wrote nothing.
    pub fn says_nothing(&self, story: &Story, alternative: &Alternative) -> bool {
        alternative.written.is_none() && self.sees_anything(story, alternative)
    }

    /// Whether an alternative may have seen whatever there was to be seen.
    pub fn sees_anything(&self, story: &Story, alternative: &Alternative) -> bool {
        alternative.seen.len() == story.visible as usize
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
        if let Some(&number) = self.number_of.get(&content) {
            return number;
        }
        let number = self.contents.len() as u32;
        self.contents.push(content.clone());
        self.number_of.insert(content, number);
        number
    }

    /// Tells the story of a transaction and a key, if a predicate concerns it, from the contents that it may have seen.
    fn tell(&mut self, runner: &Runner<'_>, txn: TxnId, key: KeyId, mut visible: Vec<u32>) {
        visible.sort_unstable_by(|&a, &b| self.contents[a as usize].cmp(&self.contents[b as usize]));
        visible.dedup();
        let contents = visible.iter().map(|&number| &self.contents[number as usize]);
        if !runner.concerns(txn, key, contents) {
            return;
        }
        let mut met = Vec::with_capacity(visible.len());
        for &number in &visible {
            if let Some(ending) = runner.run(txn, key, self.contents[number as usize].clone()) {
                let written = ending.written.map(|(content, op)| (self.intern(content), op));
                met.push(Met { seen: number, written, matched: ending.matched });
            }
        }
        self.put_together(runner, txn, key, visible.len(), met);
    }

    /// A story, of the ways in which a transaction may have met a key.
    fn put_together(&mut self, runner: &Runner<'_>, txn: TxnId, key: KeyId, visible: usize, met: Vec<Met>) {
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
        self.stories.push(Story { txn, key, op, visible, alternatives });
    }

    /// The stories that decide how many rows predicate writes changed.
    fn count(&mut self, history: &History) {
        let mut of_op: FxHashMap<OpId, Vec<u32>> = FxHashMap::default();
        for (number, story) in self.stories.iter().enumerate() {
            let mut matched: Vec<OpId> =
                story.alternatives.iter().flat_map(|way| way.matched.clone()).collect();
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
                let stories = of_op.remove(&op).unwrap_or_default();
                self.counts.push(RowCount { op, count, stories });
            }
        }
    }

    /// Leaves out the other stories. Those that decide a count match something, so they write, and stay.
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
            count.stories.iter_mut().for_each(|story| *story = number[*story as usize]);
        }
        let mut kept = is_kept.iter();
        self.stories.retain(|_| *kept.next().unwrap_or(&true));
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
