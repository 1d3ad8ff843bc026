//! Whether a level that is given by its text holds for a history of lists, by trying every order.
//!
//! The oracle knows nothing of indices, facts and engines: it takes each set of unknown transactions as committed and each
//! order of what committed, runs the appends along the order, and requires that every list that was read is one of the
//! versions that its key had. What was read from where is then judged by the reference semantics of the level's text.
//! Factorial in the transactions: for up to eight of them.

use history::{History, KeyId, Op, Outcome, TxnId, ValueId};
use spec::oracle::{Explanation, accepts};
use spec::{Level, SmallHistory, SmallTxn};

/// Every way to explain a history of lists.
#[derive(Debug)]
pub struct ListOrders {
    /// Each with the history as that explanation reads it.
    explanations: Vec<(SmallHistory, Explanation)>,
}

impl ListOrders {
    /// The explanations of a history; `None` if it has operations on anything but lists that start empty, or too many
    /// transactions.
    pub fn of(history: &History) -> Option<Self> {
        const MOST_TXNS: usize = 8;
        let ops = || history.txns().flat_map(|txn| history.ops(txn)).map(|(_, op)| op);
        let is_of_list = |op: Op<'_>| matches!(op, Op::Append { .. } | Op::ReadList { .. });
        let keys = (0..history.keys().len()).map(KeyId::from_index);
        let starts_empty = |key| history.initial().value_of(key).is_some_and(|value| value == ValueId::NIL);
        let is_known =
            history.txn_count() <= MOST_TXNS && ops().all(is_of_list) && keys.into_iter().all(starts_empty);
        is_known.then(|| Self { explanations: explanations(history) })
    }

    /// Whether a level allows the history.
    pub fn allow(&self, level: &Level) -> bool {
        self.explanations.iter().any(|(history, explanation)| accepts(history, level, explanation))
    }
}

/// What a transaction read from outside (key, list), and what it appended, key by key; nothing if it contradicts itself.
struct Footprint {
    reads: Vec<(KeyId, Vec<ValueId>)>,
    appends: Vec<(KeyId, Vec<ValueId>)>,
}

impl Footprint {
    fn of(history: &History, txn: TxnId) -> Option<Self> {
        let mut print = Self { reads: Vec::new(), appends: Vec::new() };
        for (_, op) in history.ops(txn) {
            match op {
                Op::Append { key, value } => {
                    match print.appends.iter_mut().find(|(known, _)| *known == key) {
                        Some((_, appended)) => appended.push(value),
                        None => print.appends.push((key, vec![value])),
                    }
                }
                Op::ReadList { key, list: Some(list) } => {
                    let own = print.appended(key);
                    let outside = list.strip_suffix(own)?;
                    print.reads.push((key, outside.to_vec()));
                }
                _ => {}
            }
        }
        Some(print)
    }

    fn appended(&self, key: KeyId) -> &[ValueId] {
        self.appends.iter().find(|(known, _)| *known == key).map_or(&[], |(_, appended)| appended)
    }
}

/// Every way to explain a history of lists: what committed, in which order, and where reads came from; each with the
/// history as that explanation reads it.
fn explanations(history: &History) -> Vec<(SmallHistory, Explanation)> {
    let prints: Vec<Option<Footprint>> = history.txns().map(|txn| Footprint::of(history, txn)).collect();
    let mut found = Vec::new();
    let unknown: Vec<usize> = places(history, Outcome::Unknown);
    for chosen in 0..1u32 << unknown.len() {
        let mut taken = places(history, Outcome::Committed);
        let more = unknown.iter().enumerate().filter(|(bit, _)| chosen >> bit & 1 == 1);
        taken.extend(more.map(|(_, &place)| place));
        if taken.iter().all(|&place| prints[place].is_some()) {
            permute(&mut Vec::new(), &taken, &mut |order| found.extend(explanation(&prints, order)));
        }
    }
    let with_history = |explanation: Explanation| (small(history, &prints, &explanation), explanation);
    found.into_iter().map(with_history).collect()
}

fn places(history: &History, outcome: Outcome) -> Vec<usize> {
    history.txns().filter(|&txn| history.outcome(txn) == outcome).map(TxnId::index).collect()
}

fn permute(order: &mut Vec<usize>, all: &[usize], visit: &mut dyn FnMut(&[usize])) {
    if order.len() == all.len() {
        return visit(order);
    }
    for &next in all {
        if !order.contains(&next) {
            order.push(next);
            permute(order, all, visit);
            order.pop();
        }
    }
}

/// The explanation by an order, if every list that was read is a version of its key.
fn explanation(prints: &[Option<Footprint>], order: &[usize]) -> Option<Explanation> {
    let mut committed = vec![false; prints.len()];
    let mut sources: Vec<Vec<Option<usize>>> = vec![Vec::new(); prints.len()];
    for &reader in order {
        committed[reader] = true;
        for (key, list) in &prints[reader].as_ref()?.reads {
            let source = source(prints, order, *key, list)?;
            // What a transaction appends itself it does not read from outside.
            if source == Some(reader) {
                return None;
            }
            sources[reader].push(source);
        }
    }
    Some(Explanation { committed, sources, order: order.to_vec(), visible: Vec::new() })
}

/// The writer after which a key held this list; the initial state if it is empty.
fn source(
    prints: &[Option<Footprint>],
    order: &[usize],
    key: KeyId,
    list: &[ValueId],
) -> Option<Option<usize>> {
    let mut version: Vec<ValueId> = Vec::new();
    if list.is_empty() {
        return Some(None);
    }
    for &writer in order {
        let appended = prints[writer].as_ref()?.appended(key);
        version.extend_from_slice(appended);
        if !appended.is_empty() && version == list {
            return Some(Some(writer));
        }
    }
    None
}

/// The same with numbers in the place of lists: a version is called after its writer.
fn small(history: &History, prints: &[Option<Footprint>], explanation: &Explanation) -> SmallHistory {
    let txns = history.txns().map(|txn| {
        let mut small = SmallTxn::committed(history.session_of(txn).index(), &[], &[]);
        small.outcome = history.outcome(txn);
        let times = history.times(txn);
        small.times.begin_request = times.begin_request;
        small.times.begin_response = times.begin_response;
        small.times.commit_request = times.commit_request;
        // When a client stopped to wait says nothing about the end of a transaction of unknown outcome.
        small.times.commit_response = times.commit_response.filter(|_| small.outcome == Outcome::Committed);
        let name = |place: usize| place as u32 + 1;
        if let Some(print) = &prints[txn.index()] {
            small.writes = print.appends.iter().map(|(key, _)| (key.index(), name(txn.index()))).collect();
            let sources = &explanation.sources[txn.index()];
            let sourced = print.reads.iter().zip(sources);
            small.reads = sourced.map(|((key, _), source)| (key.index(), source.map_or(0, name))).collect();
        }
        small
    });
    SmallHistory::new(txns.collect())
}
