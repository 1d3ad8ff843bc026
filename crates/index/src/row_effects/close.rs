//! What a key can hold at all, where real time orders nothing: everything that is written to it, and what predicate
//! writes make of that, each at most once.
//!
//! Up to ten predicate writes are distinguished. Of more, only their number is kept, which over-approximates: a
//! contradiction is real, a solution may not be.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::prepared::Truths;
use super::run::{Runner, left_by, live, ops};
use super::{Content, MAX_CONTENTS, RowEffects};
use history::{KeyId, Op, OpId, PredicateWrite, ValueId};

/// Up to this number of predicate writes, each content knows which of them had a part in it.
const EXACT_WRITES: usize = 10;

/// Collects the effects on all keys.
pub(super) fn collect(effects: &mut RowEffects, runner: &Runner<'_>) {
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
        let numbers = contents.into_iter().map(|content| effects.intern(content)).collect();
        let visible = close(effects, runner, key, numbers, &writes);
        if !effects.can_afford(history, visible.len() * by_predicate.len()) {
            return;
        }
        let visible = effects.sorted(visible);
        let mut truths = Truths::default();
        for &txn in &by_predicate {
            effects.add_sorted(runner, txn, key, &visible, &mut truths);
        }
    }
}

fn close(
    effects: &mut RowEffects,
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
            effects.refused = writes.first().map(|&&(id, _)| id);
        }
        if !effects.can_afford(runner.history, writes.len()) {
            break;
        }
        for (place, &&(id, write)) in writes.iter().enumerate() {
            let next = if is_exact { used | 1 << place } else { used + 1 };
            let held = &effects.contents[content as usize];
            if next != used && runner.matches(id, key, held) {
                let changed = Content::row(write.change.apply(&held.datum));
                queue.push_back((effects.intern(changed), next));
            }
        }
    }
    all.into_iter().collect()
}
