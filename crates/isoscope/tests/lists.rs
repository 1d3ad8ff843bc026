//! Random histories of lists at every level, against a brute force over all orders.
//!
//! The oracle knows nothing of indices, facts and engines: it takes each set of unknown transactions as committed and each
//! order of what committed, runs the appends along the order, and requires that every list that was read is one of the
//! versions that its key had. What was read from where is then judged by the reference semantics of the level's text.
//!
//! `ISOSCOPE_SOAK=20000 cargo test -p isoscope --test lists` draws so many histories.

use history::{History, KeyId, Op, Outcome, TxnId, ValueId};
use isoscope::{Check, Decision, LevelId};
use spec::oracle::{Explanation, accepts};
use spec::{SmallHistory, SmallTxn};
use testkit::generate_rows::{self, RowKind};

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

/// Levels that speak of an order of transactions. What no-lost-update demands of lists is not decided yet where a
/// stronger level is violated, since a part of a history can violate it although the whole does not.
fn levels(history: &History) -> Vec<LevelId> {
    let others = [LevelId::ReadUncommitted, LevelId::CutIsolation, LevelId::NoLostUpdate];
    let all = LevelId::ALL.into_iter().filter(|level| !others.contains(level));
    all.filter(|level| history.has_times() || !level.needs_times()).collect()
}

/// Whether two transactions appended the same element to a list.
fn has_repeated_element(history: &History) -> bool {
    let mut appended = Vec::new();
    for (id, op) in history.txns().flat_map(|txn| history.ops(txn)) {
        appended.extend(op.value_appended().map(|value| (op.key(), value, history.txn_of(id))));
    }
    appended.sort_unstable();
    appended.dedup();
    appended.windows(2).any(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1))
}

#[test]
fn every_level_agrees_with_the_orders_that_there_are() {
    let count = std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(400u64);
    let mut tally = [0usize; 3];
    let mut repeated = [0usize; 2];
    for seed in 0..count {
        let history = generate_rows::history(seed, RowKind::Lists);
        let explanations = explanations(&history);
        for level in levels(&history) {
            let report = Check::new(&history).level(level).run().expect("an answer");
            let answer = report.answer(level).expect("the level was asked");
            let allowed = explanations.iter().any(|(small, known)| accepts(small, level.spec(), known));
            let is_undecided = answer.decision.is_undecided();
            if has_repeated_element(&history) {
                repeated[usize::from(is_undecided)] += 1;
                if is_undecided {
                    continue;
                }
            }
            match answer.decision {
                Decision::Undecided(_) => tally[2] += 1,
                decision => {
                    tally[usize::from(!allowed)] += 1;
                    let text = formats::notation::print(&history).unwrap_or_default();
                    assert_eq!(decision == Decision::Holds, allowed, "seed {seed}, {level}:\n{text}");
                    continue;
                }
            }
            let text = formats::notation::print(&history).unwrap_or_default();
            println!("seed {seed}, {level} is undecided: {:?}\n{text}", answer.obstacle);
        }
    }
    let [holds, violated, undecided] = tally;
    println!("{count} histories: {holds} hold, {violated} are violated, {undecided} undecided");
    let [decided, open] = repeated;
    println!("with an element that two transactions appended: {decided} decided, {open} undecided");
    assert_eq!(undecided, 0, "every history of lists is decided at every level");
    assert!(
        open * 20 < decided,
        "{open} answers are undecided where elements are repeated, and {decided} are decided"
    );
}
