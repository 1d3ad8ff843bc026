//! What a key can hold at all, where real time says nothing: everything that is written to it, and what predicate writes
//! make of that, each at most once.
//!
//! Few predicate writes are told apart; of many it is only counted how many were at work, which allows more than there
//! can have been and forbids nothing that can.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::run::{Runner, left_by, live, ops};
use super::{Content, MAX_CONTENTS, Stories};
use crate::{KeyId, Op, OpId, PredicateWrite, ValueId};

/// Up to so many predicate writes it is known which of them were at work on a content.
const EXACT_WRITES: usize = 10;

/// Tells the stories of all keys.
pub(super) fn tell(stories: &mut Stories, runner: &Runner<'_>) {
    let history = runner.history;
    let mut written: FxHashMap<KeyId, Vec<Content>> = FxHashMap::default();
    let mut writes: Vec<(OpId, &PredicateWrite)> = Vec::new();
    for (id, op) in ops(history) {
        if let Op::PredicateWrite(write) = op {
            writes.push((id, write));
        }
        if let (Some(key), Some(content)) = (op.key(), left_by(history, &op)) {
            written.entry(key).or_default().push(content);
        }
    }
    let by_predicate: Vec<_> = live(history).filter(|&txn| runner.is_by_predicate(txn)).collect();
    for (key, _) in history.keys().iter() {
        let initial = history.initial().value_of(key).unwrap_or(ValueId::NIL);
        let mut contents = written.remove(&key).unwrap_or_default();
        contents.push(Content::row(history.values().original(initial)));
        let numbers = contents.into_iter().map(|content| stories.intern(content)).collect();
        let visible = close(stories, runner, key, numbers, &writes);
        if !stories.can_afford(history, visible.len() * by_predicate.len()) {
            return;
        }
        for &txn in &by_predicate {
            stories.tell(runner, txn, key, visible.clone());
        }
    }
}

fn close(
    stories: &mut Stories,
    runner: &Runner<'_>,
    key: KeyId,
    contents: Vec<u32>,
    writes: &[(OpId, &PredicateWrite)],
) -> Vec<u32> {
    let concerns = |id: OpId, write: &PredicateWrite| write.keys.is_none() || runner.is_changed(id, key);
    let writes: Vec<_> = writes.iter().filter(|&&(id, write)| concerns(id, write)).collect();
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
            stories.refused = writes.first().map(|&&(id, _)| id);
        }
        if !stories.can_afford(runner.history, writes.len()) {
            break;
        }
        for (place, &&(id, write)) in writes.iter().enumerate() {
            let next = if is_exact { used | 1 << place } else { used + 1 };
            let held = &stories.contents[content as usize];
            if next != used && runner.matches(id, key, held) {
                let changed = Content::row(write.change.apply(&held.datum));
                queue.push_back((stories.intern(changed), next));
            }
        }
    }
    all.into_iter().collect()
}
