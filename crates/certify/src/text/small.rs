//! A few transactions as a small history, of which the definition of a level can be asked.
//!
//! Values are made anew: two writes of a key have the same value if some read may have come from either. Not everything
//! can be said so: lists show orders of writers, and a read that saw no row may overlap with others in what it can have
//! seen.

use spec::{Outcome, SmallHistory, SmallTxn};

use super::facts::{Facts, INITIAL};

/// The small history, with the key of each of its objects; nothing if it cannot be said in one. The transaction at place
/// i is that of node i + 1.
pub fn small_history(facts: &Facts) -> Option<(SmallHistory, Vec<u32>)> {
    if !facts.told().is_empty() || !facts.listed().is_empty() {
        return None;
    }
    let nodes = 1..facts.node_count() as u32;
    let read = nodes.clone().flat_map(|node| facts.reads_of(node)).map(|read| facts.reads()[read].key);
    let mut keys: Vec<u32> = read.collect();
    keys.sort_unstable();
    keys.dedup();
    let values: Vec<Vec<(u32, u32)>> =
        keys.iter().map(|&key| values_of(facts, key)).collect::<Option<_>>()?;
    let value = |object: usize, node: u32| {
        let place = values[object].binary_search_by_key(&node, |&(node, _)| node);
        place.map(|place| values[object][place].1).ok()
    };
    let mut small = SmallHistory { clock_skew: facts.clock_skew(), ..SmallHistory::default() };
    for node in nodes {
        let mut txn = SmallTxn::committed(facts.session_start(node) as usize, &[], &[]);
        txn.level = facts.level_of(node).map(str::to_owned);
        let span = facts.span(node);
        txn.times = spec::SmallTimes {
            begin_request: span.begin,
            commit_response: span.end,
            ..spec::SmallTimes::default()
        };
        if facts.is_unknown(node) {
            txn.outcome = Outcome::Unknown;
        }
        for read in facts.reads_of(node) {
            let object = keys.binary_search(&facts.reads()[read].key).ok()?;
            txn.reads.push((object, value(object, *facts.candidates(read).first()?)?));
            txn.statements.push(facts.reads()[read].op.index());
        }
        // Keys that no transaction reads still make writers conflict: two objects of one key would not.
        for &key in facts.written(node) {
            match keys.binary_search(&key) {
                Ok(object) => txn.writes.push((object, value(object, node)?)),
                Err(_) => txn.writes.push((keys.len() + key as usize, node)),
            }
        }
        small.txns.push(txn);
    }
    compact(&mut small, &mut keys);
    let initial = |object: usize| values.get(object).map_or(0, |_| value(object, INITIAL).unwrap_or(0));
    small.initial = (0..keys.len()).map(initial).collect();
    Some((small, keys))
}

/// Numbers the keys that are only written behind the others.
fn compact(small: &mut SmallHistory, keys: &mut Vec<u32>) {
    let read_count = keys.len();
    let written = small.txns.iter().flat_map(|txn| &txn.writes).map(|&(object, _)| object);
    let mut more: Vec<usize> = written.filter(|&object| object >= read_count).collect();
    more.sort_unstable();
    more.dedup();
    for (object, _) in small.txns.iter_mut().flat_map(|txn| &mut txn.writes) {
        if *object >= read_count {
            *object = read_count + more.binary_search(object).unwrap_or(0);
        }
    }
    keys.extend(more.iter().map(|&object| (object - read_count) as u32));
}

/// A value for each writer of a key, with the initial state; nothing if what reads can have seen overlaps otherwise than
/// by values.
fn values_of(facts: &Facts, key: u32) -> Option<Vec<(u32, u32)>> {
    let writers: Vec<u32> = std::iter::once(INITIAL).chain(facts.writers(key).iter().copied()).collect();
    let place = |node: u32| writers.binary_search(&node).ok();
    let mut class: Vec<usize> = (0..writers.len()).collect();
    let reads: Vec<usize> = (0..facts.reads().len()).filter(|&read| facts.reads()[read].key == key).collect();
    for &read in &reads {
        let candidates = facts.candidates(read);
        let first = class[place(*candidates.first()?)?];
        for &candidate in candidates {
            let other = class[place(candidate)?];
            class.iter_mut().filter(|class| **class == other).for_each(|class| *class = first);
        }
    }
    for &read in &reads {
        let reader = facts.reader(read);
        let of = class[place(*facts.candidates(read).first()?)?];
        let same = (0..writers.len()).filter(|&place| class[place] == of).map(|place| writers[place]);
        let same: Vec<u32> = same.filter(|&node| node != reader).collect();
        let mut candidates = facts.candidates(read).to_vec();
        candidates.sort_unstable();
        (same == candidates).then_some(())?;
    }
    // The initial state has the value 0, and so has everything that cannot be told from it.
    let value = |place: usize| match class[place] == class[0] {
        true => 0,
        false => class[place] as u32 + 1,
    };
    Some((0..writers.len()).map(|place| (writers[place], value(place))).collect())
}
