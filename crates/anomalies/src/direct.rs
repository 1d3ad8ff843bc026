//! What a read, a transaction or a key shows by itself. Each list was compared once with the longest of its key; of lists
//! that are a beginning of it no element is looked at, unless the longest one shows something.

use std::collections::VecDeque;

use history::{History, KeyId, Op, OpId, Outcome, TxnId, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{Facts, ReadContent, Seen, Version};
use crate::versions::Versions;
use crate::{Anomaly, Class};

/// The first anomaly of each class.
pub(crate) fn find(history: &History, facts: &Facts<'_>, versions: &Versions) -> Vec<Anomaly> {
    let mut written_later = facts.seen.iter().filter(|seen| seen.is_written_later);
    let repeats = repeated_appends(history, facts);
    let found = [
        internal(history, facts),
        written_later.find_map(|seen| future_read(history, facts, seen)),
        first_of_beginnings(facts, |seen| aborted_read(history, facts, seen)),
        facts.seen.iter().find_map(|seen| intermediate_read(history, facts, seen)),
        dirty_update(history, facts, versions),
        first_of_beginnings(facts, |seen| duplicate_elements(&repeats, seen)),
        facts
            .telling()
            .find_map(|seen| incompatible_order(history, facts, seen))
            .or_else(|| shuffled_appends(history, facts, versions)),
        cyclic_versions(history, versions),
        lost_update(history, facts),
    ];
    found.into_iter().flatten().collect()
}

/// The first read that shows something which a list shows if a beginning of it does.
fn first_of_beginnings<'h>(
    facts: &Facts<'h>,
    shows: impl Fn(&Seen<'h>) -> Option<Anomaly>,
) -> Option<Anomaly> {
    facts.telling().find_map(&shows)?;
    facts.seen.iter().find_map(shows)
}

fn anomaly(class: Class, history: &History, ops: Vec<OpId>) -> Anomaly {
    let mut txns: Vec<TxnId> = ops.iter().map(|&op| history.txn_of(op)).collect();
    txns.dedup();
    Anomaly { class, txns, ops, cycle: Vec::new(), sentences: Vec::new() }
}

fn shown(class: Class, txns: Vec<TxnId>, ops: Vec<OpId>) -> Anomaly {
    Anomaly { class, txns, ops, cycle: Vec::new(), sentences: Vec::new() }
}

/// What a transaction knows of a key.
#[derive(Default)]
struct Known<'h> {
    /// The list that it read, or the value that it read or wrote.
    list: Option<(OpId, &'h [ValueId])>,
    value: Option<(OpId, ValueId)>,
    /// What it appended since.
    appended: Vec<(OpId, ValueId)>,
}

/// Only a transaction that reads a key after it read or wrote it can contradict itself.
fn internal(history: &History, facts: &Facts<'_>) -> Option<Anomaly> {
    let mut known: FxHashMap<KeyId, Known<'_>> = FxHashMap::default();
    let mut last = None;
    for txn in facts.seen.iter().filter(|seen| !seen.is_external).map(|seen| seen.txn) {
        if last.replace(txn) == Some(txn) {
            continue;
        }
        known.clear();
        for (id, op) in history.ops(txn) {
            let Some(key) = op.key() else { continue };
            let known = known.entry(key).or_default();
            if let Some(other) = contradicts(known, id, op) {
                return Some(anomaly(Class::Internal, history, vec![other, id]));
            }
        }
    }
    None
}

/// The operation that a read contradicts; else notes what is known now.
fn contradicts<'h>(known: &mut Known<'h>, id: OpId, op: Op<'h>) -> Option<OpId> {
    match op {
        Op::ReadList { list: Some(list), .. } => {
            let appended = known.appended.iter().map(|&(_, element)| element);
            let kept = list.len().checked_sub(known.appended.len());
            let ends_right = kept.is_some_and(|kept| list[kept..].iter().copied().eq(appended));
            let starts_right =
                known.list.is_none_or(|(_, base)| kept.is_some_and(|kept| list[..kept] == *base));
            if !(ends_right && starts_right) {
                let last = known.appended.last().map(|&(op, _)| op);
                return last.or(known.list.map(|(op, _)| op));
            }
            (known.list, known.appended) = (Some((id, list)), Vec::new());
        }
        Op::Read { value: Some(value), .. } => {
            if let Some((other, _)) = known.value.filter(|&(_, expected)| expected != value) {
                return Some(other);
            }
            known.value = Some((id, value));
        }
        Op::Append { value, .. } => known.appended.push((id, value)),
        op => known.value = op.written().map(|value| (id, value)).or(known.value),
    }
    None
}

/// Whether what was read is one version for certain. A list that has an element has it, whatever its version is.
fn is_certain(history: &History, facts: &Facts<'_>, seen: &Seen<'_>) -> bool {
    facts.is_list[seen.key.index()] || facts.version_of(history, seen.key, seen.version()).is_some()
}

/// A read of what its transaction wrote only later.
fn future_read(history: &History, facts: &Facts<'_>, seen: &Seen<'_>) -> Option<Anomaly> {
    let own = |&value: &ValueId| facts.writer(seen.key, value).filter(|writer| writer.txn == seen.txn);
    let later = seen.content.values().iter().filter_map(own).find(|writer| writer.op > seen.op)?;
    let anomaly = || shown(Class::FutureRead, vec![seen.txn], vec![later.op, seen.op]);
    is_certain(history, facts, seen).then(anomaly)
}

fn aborted_read(history: &History, facts: &Facts<'_>, seen: &Seen<'_>) -> Option<Anomaly> {
    let is_aborted = |&value: &ValueId| {
        let writer = facts.writer(seen.key, value)?;
        (history.outcome(writer.txn) == Outcome::Aborted).then_some(writer)
    };
    let writer = seen.content.values().iter().find_map(is_aborted)?;
    let anomaly = || shown(Class::G1a, vec![writer.txn, seen.txn], vec![writer.op, seen.op]);
    is_certain(history, facts, seen).then(anomaly)
}

fn intermediate_read(history: &History, facts: &Facts<'_>, seen: &Seen<'_>) -> Option<Anomaly> {
    if !facts.writes.is_intermediate(seen.key, seen.version().unwrap_or(ValueId::NIL)) {
        return None;
    }
    let version = facts.version_of(history, seen.key, seen.version())??;
    let writer = facts.writer(seen.key, version)?;
    let is_intermediate = !writer.is_final && writer.txn != seen.txn;
    is_intermediate.then(|| shown(Class::G1b, vec![writer.txn, seen.txn], vec![writer.op, seen.op]))
}

/// A list in which an element of a committed transaction comes after one of an aborted transaction.
fn dirty_update(history: &History, facts: &Facts<'_>, versions: &Versions) -> Option<Anomaly> {
    for (key, order) in versions.orders.iter().enumerate().filter(|(_, order)| !order.is_empty()) {
        let writers = order.iter().filter_map(|&element| facts.writer(KeyId::from_index(key), element));
        let mut aborted = None;
        for writer in writers {
            match (history.outcome(writer.txn), aborted, versions.longest[key]) {
                (Outcome::Aborted, ..) => aborted = Some(writer),
                (Outcome::Committed, Some(before), Some(read)) => {
                    let ops = vec![before.op, writer.op, read];
                    return Some(shown(Class::DirtyUpdate, vec![before.txn, writer.txn], ops));
                }
                _ => {}
            }
        }
    }
    None
}

/// A list with an element more often than it was appended by transactions that may have committed.
fn duplicate_elements(repeats: &FxHashMap<(KeyId, ValueId), usize>, seen: &Seen<'_>) -> Option<Anomaly> {
    let list = seen.content.values();
    let mut known = FxHashSet::default();
    let is_too_often = |element: ValueId| {
        let appended = repeats.get(&(seen.key, element)).copied().unwrap_or(1);
        list.iter().filter(|&&other| other == element).count() > appended
    };
    let has_twice = list.iter().any(|&element| !known.insert(element) && is_too_often(element));
    has_twice.then(|| shown(Class::DuplicateElements, vec![seen.txn], vec![seen.op]))
}

/// How often elements were appended that were appended more than once, by transactions that may have committed.
fn repeated_appends(history: &History, facts: &Facts<'_>) -> FxHashMap<(KeyId, ValueId), usize> {
    let mut counts = FxHashMap::default();
    let keys = (0..history.keys().len()).map(KeyId::from_index);
    let is_repeated: Vec<bool> =
        keys.map(|key| facts.is_list[key.index()] && facts.writes.has_repeats(key)).collect();
    if !is_repeated.contains(&true) {
        return counts;
    }
    let live = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted);
    for (_, op) in live.flat_map(|txn| history.ops(txn)) {
        if let Op::Append { key, value } = op
            && is_repeated[key.index()]
        {
            *counts.entry((key, value)).or_insert(0) += 1;
        }
    }
    counts
}

fn incompatible_order(history: &History, facts: &Facts<'_>, seen: &Seen<'_>) -> Option<Anomaly> {
    let longest = &facts.seen[facts.longest[seen.key.index()]? as usize];
    let is_list = matches!(longest.content, ReadContent::List(_));
    let is_other = is_list && !facts.is_beginning(seen);
    is_other.then(|| anomaly(Class::IncompatibleOrder, history, vec![longest.op, seen.op]))
}

/// A list in which the appends of a transaction are not in its order, or one of them is missing before another. If an
/// element was appended twice, the list does not show which append it holds, so that element is not judged.
fn shuffled_appends(history: &History, facts: &Facts<'_>, versions: &Versions) -> Option<Anomaly> {
    // The appends of a transaction that are not in the list yet.
    let mut left: FxHashMap<TxnId, VecDeque<OpId>> = FxHashMap::default();
    for (key, order) in versions.orders.iter().enumerate() {
        left.clear();
        let (key, longest) = (KeyId::from_index(key), versions.longest[key]);
        let writers = order.iter().filter_map(|&element| facts.writer(key, element));
        // The only append of a transaction has no place among others.
        for writer in writers.filter(|writer| !(writer.is_first && writer.is_final)) {
            let left = left.entry(writer.txn).or_insert_with(|| appends(history, facts, writer.txn, key));
            if left.pop_front() != Some(writer.op) {
                let txns = vec![writer.txn, history.txn_of(longest?)];
                return Some(shown(Class::IncompatibleOrder, txns, vec![writer.op, longest?]));
            }
        }
    }
    None
}

/// The appends of a transaction to a key, but for elements that were appended twice.
fn appends(history: &History, facts: &Facts<'_>, txn: TxnId, key: KeyId) -> VecDeque<OpId> {
    let appended = history.ops(txn).filter_map(|(op, what)| match what {
        Op::Append { key: of, value } if of == key => facts.writer(key, value).map(|_| op),
        _ => None,
    });
    appended.collect()
}

fn cyclic_versions(history: &History, versions: &Versions) -> Option<Anomaly> {
    let (key, cycle) = versions.cyclic.first()?;
    let name = |version: &Option<ValueId>| match version {
        Some(value) => history.values().original(*value).to_string(),
        None => "the initial state".to_owned(),
    };
    let mut names: Vec<String> = cycle.iter().map(name).collect();
    names.extend(cycle.first().map(name));
    let key = history.keys().original(*key);
    let sentence = format!("the versions of {key} are in a circle: {}", names.join(" before "));
    Some(Anomaly { sentences: vec![sentence], ..shown(Class::CyclicVersions, Vec::new(), Vec::new()) })
}

/// Two transactions that read one version of a key from outside and wrote the key.
fn lost_update(history: &History, facts: &Facts<'_>) -> Option<Anomaly> {
    let mut first: FxHashMap<(KeyId, Version), &Seen<'_>> = FxHashMap::default();
    for seen in facts.seen.iter().filter(|seen| seen.is_external) {
        let writes = facts.writes.finals(seen.key);
        if writes.binary_search_by_key(&seen.txn, |&(txn, _)| txn).is_err() {
            continue;
        }
        let Some(version) = facts.version_of(history, seen.key, seen.version()) else { continue };
        match first.entry((seen.key, version)) {
            std::collections::hash_map::Entry::Vacant(entry) => drop(entry.insert(seen)),
            std::collections::hash_map::Entry::Occupied(entry) if entry.get().txn != seen.txn => {
                let other = entry.get();
                return Some(shown(Class::LostUpdate, vec![other.txn, seen.txn], vec![other.op, seen.op]));
            }
            std::collections::hash_map::Entry::Occupied(_) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use history::{Builder, Datum, History, Outcome, ValueId};

    /// Transactions of appends to one list, and a read of it at the end.
    fn history(txns: &[(&[u32], Outcome)], list: &[u32]) -> History {
        let mut builder = Builder::new();
        let key = builder.keys.intern(Datum::str("x"));
        for (elements, outcome) in txns {
            let session = builder.session();
            builder.begin(session);
            for &element in *elements {
                builder.append(key, ValueId(element));
            }
            builder.end(*outcome);
        }
        let session = builder.session();
        builder.begin(session);
        let list: Vec<ValueId> = list.iter().map(|&element| ValueId(element)).collect();
        builder.read_list(key, &list);
        builder.end(Outcome::Committed);
        builder.finish()
    }

    fn classes(txns: &[(&[u32], Outcome)], list: &[u32]) -> Vec<&'static str> {
        crate::find(&history(txns, list), &crate::ClassSearch::default(), &|_| true).names().collect()
    }

    #[test]
    fn appends_of_a_transaction_are_in_its_order_and_together() {
        let both: (&[u32], Outcome) = (&[5, 6], Outcome::Committed);
        assert_eq!(classes(&[both], &[5, 6]), [""; 0]);
        assert_eq!(classes(&[both], &[6, 5]), ["G1b", "incompatible-order"]);
        assert_eq!(classes(&[both], &[6]), ["incompatible-order"]);
    }

    /// The aborted transaction appended an element that a committed one appended too, and before another: the list is as
    /// the committed one made it.
    #[test]
    fn an_element_that_was_appended_twice_says_nothing_about_the_order() {
        let (both, again) = ((&[5, 6][..], Outcome::Committed), (&[5][..], Outcome::Aborted));
        assert_eq!(classes(&[both, again], &[5, 6]), [""; 0]);
    }
}
