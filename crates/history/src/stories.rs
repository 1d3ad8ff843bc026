//! What a transaction did to a key that a predicate of it may concern, for everything that the key may have held.
//!
//! A predicate read that did not return a row saw a version of it that does not match; a predicate write changes a row
//! or not, and to what, by the version it sees. Both are told by the *story* of a transaction and a key: the transaction
//! is run on each content that the key can have, and the contents that give all the answers it had are put together by
//! what they lead to. Each such *alternative* is one read (of any of its contents) and at most one write. A story with
//! one alternative leaves nothing open; which of several is true is for an engine to find out.
//!
//! Keys whose contents never match a predicate are not concerned by it, so a story is made only where a content does.
//! What a key can hold is its initial state, what is written to it, and what predicate writes make of these, until
//! nothing new comes. Costs one evaluation for each predicate and content.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    Datum, History, InitialDefault, KeyId, Op, OpId, Outcome, Predicate, PredicateWrite, Row, TxnId, ValueId,
};

/// What a key can hold: a row, or nothing but perhaps the mark of a delete.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Content {
    /// Whether there is no row.
    pub is_dead: bool,
    /// The row, or the mark; [`Datum::Nil`] for nothing.
    pub datum: Datum,
}

impl Content {
    /// A row; nil is none.
    pub fn row(datum: Datum) -> Self {
        Self { is_dead: datum == Datum::Nil, datum }
    }

    fn matches(&self, predicate: &Predicate, key: &Datum) -> bool {
        !self.is_dead && predicate.matches(key, &self.datum)
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
    /// The alternatives, by the least content that each may have seen; one without contents if nothing explains what
    /// the transaction saw.
    pub alternatives: Vec<Alternative>,
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

/// All stories of a history.
#[derive(Clone, Debug, Default)]
pub struct Stories {
    contents: Vec<Content>,
    number_of: FxHashMap<Content, u32>,
    /// For each key what it can hold, in order; empty where no predicate is.
    of_key: Vec<Vec<u32>>,
    stories: Vec<Story>,
    counts: Vec<RowCount>,
    refused: Option<OpId>,
}

/// A key can hold so many things at most; more are refused.
const MAX_CONTENTS: usize = 4096;
/// Up to so many predicate writes it is known which of them were at work on a content.
const EXACT_WRITES: usize = 10;

impl Stories {
    /// The stories of a history; none if it has no predicates.
    pub fn of(history: &History) -> Self {
        let mut stories = Self::default();
        let Some(first) = ops(history).find(|(_, op)| is_by_predicate(op)).map(|(id, _)| id) else {
            return stories;
        };
        let predicates = match Predicates::of(history) {
            Ok(predicates) => predicates,
            Err(op) => return Self { refused: Some(op), ..stories },
        };
        let has_lists = |op: &Op<'_>| matches!(op, Op::Append { .. } | Op::ReadList { list: Some(_), .. });
        if history.initial().default == InitialDefault::UnknownButOne
            || ops(history).any(|(_, op)| has_lists(&op))
        {
            return Self { refused: Some(first), ..stories };
        }
        stories.collect_contents(history, &predicates);
        if stories.refused.is_none() {
            stories.tell(history, &predicates);
        }
        stories
    }

    /// All stories, by transaction and key.
    pub fn all(&self) -> &[Story] {
        &self.stories
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
        let content = Content { is_dead, datum: history.values().original(value) };
        self.number_of.get(&content).copied()
    }

    /// Row counts that several stories decide.
    pub fn counts(&self) -> &[RowCount] {
        &self.counts
    }

    /// The first operation for which no stories can be told.
    pub fn refused(&self) -> Option<OpId> {
        self.refused
    }

    /// Whether an alternative leaves open nothing: it may have seen whatever the key can hold, and wrote nothing.
    pub fn says_nothing(&self, story: &Story, alternative: &Alternative) -> bool {
        alternative.written.is_none() && alternative.seen.len() == self.of_key[story.key.index()].len()
    }

    /// Whether an alternative may have seen whatever the key can hold.
    pub fn sees_anything(&self, story: &Story, alternative: &Alternative) -> bool {
        alternative.seen.len() == self.of_key[story.key.index()].len()
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

    fn collect_contents(&mut self, history: &History, predicates: &Predicates) {
        let mut held: Vec<Vec<u32>> = Vec::with_capacity(history.keys().len());
        for (key, _) in history.keys().iter() {
            let initial = history.initial().value_of(key).unwrap_or(ValueId::NIL);
            let initial = self.intern(Content::row(history.values().original(initial)));
            held.push(vec![initial]);
        }
        for (_, op) in ops(history) {
            if let (Some(key), Some(content)) = (op.key(), left_by(history, &op)) {
                held[key.index()].push(self.intern(content));
            }
        }
        let writes: Vec<(OpId, &PredicateWrite)> = ops(history)
            .filter_map(|(id, op)| match op {
                Op::PredicateWrite(write) => Some((id, write)),
                _ => None,
            })
            .collect();
        for (key, contents) in held.into_iter().enumerate() {
            let contents = self.close(history, predicates, KeyId::from_index(key), contents, &writes);
            self.of_key.push(contents);
        }
    }

    /// What a key can hold: what is written to it, and what predicate writes make of that, each at most once. Few writes
    /// are told apart; of many it is only counted how many were at work.
    fn close(
        &mut self,
        history: &History,
        predicates: &Predicates,
        key: KeyId,
        contents: Vec<u32>,
        writes: &[(OpId, &PredicateWrite)],
    ) -> Vec<u32> {
        let datum = history.keys().original(key);
        let concerns = |write: &PredicateWrite| write.keys.as_ref().is_none_or(|keys| keys.contains(&key));
        let writes: Vec<_> = writes.iter().filter(|(_, write)| concerns(write)).collect();
        let is_exact = writes.len() <= EXACT_WRITES;
        let mut queue: VecDeque<(u32, u32)> = contents.into_iter().map(|content| (content, 0)).collect();
        let mut seen: FxHashSet<(u32, u32)> = FxHashSet::default();
        let mut all: FxHashSet<u32> = FxHashSet::default();
        while let Some((content, used)) = queue.pop_front() {
            let is_new = if is_exact { seen.insert((content, used)) } else { !all.contains(&content) };
            all.insert(content);
            if !is_new || !is_exact && used as usize >= writes.len() {
                continue;
            }
            if all.len() > MAX_CONTENTS {
                self.refused = writes.first().map(|&&(id, _)| id);
                break;
            }
            for (place, (id, write)) in writes.iter().enumerate() {
                let next = if is_exact { used | 1 << place } else { used + 1 };
                let held = &self.contents[content as usize];
                if next != used && held.matches(predicates.of_op(*id), datum) {
                    let changed = Content::row(write.change.apply(&held.datum));
                    queue.push_back((self.intern(changed), next));
                }
            }
        }
        let mut all: Vec<u32> = all.into_iter().collect();
        all.sort_by(|&a, &b| self.contents[a as usize].cmp(&self.contents[b as usize]));
        all
    }

    fn tell(&mut self, history: &History, predicates: &Predicates) {
        let mut of_op: FxHashMap<OpId, Vec<u32>> = FxHashMap::default();
        for txn in history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted) {
            for key in self.concerned(history, predicates, txn) {
                let story = self.story(history, predicates, txn, key);
                let number = self.stories.len() as u32;
                let is_open = story.alternatives.len() > 1;
                let matched = story.alternatives.iter().flat_map(|alternative| &alternative.matched);
                for &op in matched {
                    let stories = of_op.entry(op).or_default();
                    if stories.last() != Some(&number) {
                        stories.push(number);
                    }
                }
                if is_open || !self.says_nothing(&story, &story.alternatives[0]) {
                    self.stories.push(story);
                }
            }
        }
        for (id, op) in ops(history) {
            if let Op::PredicateWrite(write) = op
                && let Some(count) = write.row_count
            {
                let stories = of_op.remove(&id).unwrap_or_default();
                self.counts.push(RowCount { op: id, count, stories });
            }
        }
    }

    /// The keys that a predicate of a transaction may concern, ascending.
    fn concerned(&self, history: &History, predicates: &Predicates, txn: TxnId) -> Vec<KeyId> {
        let mut keys = Vec::new();
        for (id, op) in history.ops(txn).filter(|(_, op)| is_by_predicate(op)) {
            let predicate = predicates.of_op(id);
            let may_match = |key: &KeyId| {
                let datum = history.keys().original(*key);
                let contents = self.of_key[key.index()].iter();
                contents.into_iter().any(|&content| self.contents[content as usize].matches(predicate, datum))
            };
            keys.extend((0..self.of_key.len()).map(KeyId::from_index).filter(may_match));
            match op {
                Op::PredicateRead(read) => keys.extend(read.rows.iter().flatten().map(|row| row.key)),
                Op::PredicateWrite(write) => keys.extend(write.keys.iter().flatten()),
                _ => {}
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    fn story(&mut self, history: &History, predicates: &Predicates, txn: TxnId, key: KeyId) -> Story {
        let concerns = |op: &Op<'_>| match op {
            Op::RangeRead(range) => range.contains(history.keys().original(key)),
            op => is_by_predicate(op) || op.key() == Some(key),
        };
        let first = history.ops(txn).find(|(_, op)| concerns(op)).map_or(OpId(0), |(id, _)| id);
        let mut alternatives: Vec<Alternative> = Vec::new();
        for number in self.of_key[key.index()].clone() {
            let content = self.contents[number as usize].clone();
            let Some(ending) = run(history, predicates, txn, key, content) else { continue };
            let written = ending.written.map(|(content, op)| (self.intern(content), op));
            let same = alternatives
                .iter_mut()
                .find(|known| known.written == written && known.matched == ending.matched);
            match same {
                Some(known) => known.seen.push(number),
                None => {
                    alternatives.push(Alternative { seen: vec![number], written, matched: ending.matched })
                }
            }
        }
        if alternatives.is_empty() {
            alternatives.push(Alternative { seen: Vec::new(), written: None, matched: Vec::new() });
        }
        alternatives.iter_mut().for_each(|alternative| alternative.seen.sort_unstable());
        Story { txn, key, op: first, alternatives }
    }
}

/// How a transaction ends for one key.
struct Ending {
    written: Option<(Content, OpId)>,
    matched: Vec<OpId>,
}

/// Runs a transaction on what a key holds; `None` if it would have seen something else.
fn run(
    history: &History,
    predicates: &Predicates,
    txn: TxnId,
    key: KeyId,
    mut held: Content,
) -> Option<Ending> {
    let datum = history.keys().original(key);
    let mut ending = Ending { written: None, matched: Vec::new() };
    for (id, op) in history.ops(txn) {
        let is_right = match op {
            Op::Read { key: read, value: Some(value) } if read == key => {
                held.datum == history.values().original(value)
            }
            Op::RangeRead(range) if range.contains(datum) => {
                match (&range.rows, find(range.rows.as_deref(), key)) {
                    (None, _) => true,
                    (Some(_), None) => held.is_dead,
                    (Some(_), Some(row)) => is_row(history, &held, row),
                }
            }
            Op::PredicateRead(read) => match (&read.rows, find(read.rows.as_deref(), key)) {
                (None, _) => true,
                (Some(_), None) => !held.matches(predicates.of_op(id), datum),
                (Some(_), Some(row)) => {
                    held.matches(predicates.of_op(id), datum) && is_row(history, &held, row)
                }
            },
            Op::PredicateWrite(write) => {
                let is_match = held.matches(predicates.of_op(id), datum);
                if is_match {
                    held = Content::row(write.change.apply(&held.datum));
                    ending.written = Some((held.clone(), id));
                    ending.matched.push(id);
                }
                write.keys.as_ref().is_none_or(|keys| keys.contains(&key) == is_match)
            }
            _ => true,
        };
        if !is_right {
            return None;
        }
        if op.key() == Some(key)
            && let Some(content) = left_by(history, &op)
        {
            held = content;
            ending.written = Some((held.clone(), id));
        }
    }
    Some(ending)
}

fn find(rows: Option<&[Row]>, key: KeyId) -> Option<&Row> {
    rows.into_iter().flatten().find(|row| row.key == key)
}

fn is_row(history: &History, held: &Content, row: &Row) -> bool {
    held.is_dead == row.is_dead && held.datum == history.values().original(row.value)
}

fn left_by(history: &History, op: &Op<'_>) -> Option<Content> {
    let value = op.written().map(|value| history.values().original(value))?;
    Some(match op {
        Op::Delete { .. } => Content { is_dead: true, datum: value },
        _ => Content::row(value),
    })
}

fn is_by_predicate(op: &Op<'_>) -> bool {
    matches!(op, Op::PredicateRead(_) | Op::PredicateWrite(_))
}

/// The operations of transactions that may have committed.
fn ops(history: &History) -> impl Iterator<Item = (OpId, Op<'_>)> {
    let live = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted);
    live.flat_map(|txn| history.ops(txn))
}

/// The meanings of all predicates.
struct Predicates(FxHashMap<OpId, Predicate>);

impl Predicates {
    fn of(history: &History) -> Result<Self, OpId> {
        let mut predicates = FxHashMap::default();
        for (id, op) in ops(history) {
            let datum = match op {
                Op::PredicateRead(read) => &read.predicate,
                Op::PredicateWrite(write) => &write.predicate,
                _ => continue,
            };
            predicates.insert(id, Predicate::parse(datum).map_err(|_| id)?);
        }
        Ok(Self(predicates))
    }

    fn of_op(&self, op: OpId) -> &Predicate {
        &self.0[&op]
    }
}
