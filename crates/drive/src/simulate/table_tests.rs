//! Histories of queries and updates by predicate, replayed on a plain map with the predicates' own meaning.

use std::collections::BTreeMap;

use history::{Datum, History, KeyId, Op, TxnId, ValueId};

use super::*;

type State = BTreeMap<KeyId, Datum>;

fn contended(level: StoreLevel, seed: u64) -> Config {
    Config {
        seed,
        level,
        sessions: 6,
        transactions: 60,
        keys: 12,
        operations: Operations::Predicates { most_rows: 4 },
        operations_per_transaction: (1, 3),
        ..Config::default()
    }
}

fn initial(history: &History) -> State {
    let original = |value: ValueId| history.values().original(value);
    history.initial().recorded.iter().map(|&(key, value)| (key, original(value))).collect()
}

/// Executes a transaction; the keys it wrote, or nothing if it would have seen something else.
fn replay(history: &History, txn: TxnId, state: &mut State) -> Option<Vec<KeyId>> {
    let mut written = Vec::new();
    for (_, op) in history.ops(txn) {
        let predicate = match op {
            Op::PredicateRead(read) => &read.predicate,
            Op::PredicateWrite(write) => &write.predicate,
            other => panic!("{other:?} in a history of predicates"),
        };
        let predicate = predicate.meaning().unwrap();
        let matches = |(key, row): &(&KeyId, &Datum)| predicate.matches(history.keys().original(**key), row);
        let matching: Vec<(KeyId, Datum)> =
            state.iter().filter(matches).map(|(&key, row)| (key, row.clone())).collect();
        match op {
            Op::PredicateRead(read) => {
                let rows = read.rows.as_ref().unwrap().iter();
                let mut rows: Vec<_> =
                    rows.map(|row| (row.key, history.values().original(row.value))).collect();
                rows.sort();
                if rows != matching {
                    return None;
                }
            }
            Op::PredicateWrite(write) => {
                if write.row_count != Some(matching.len() as u64) {
                    return None;
                }
                for (key, row) in matching {
                    written.push(key);
                    state.insert(key, write.change.apply(&row));
                }
            }
            _ => {}
        }
    }
    Some(written)
}

/// Each transaction takes effect at its commit, all at once.
fn is_serial_at_commits(run: &Run) -> bool {
    let mut state = initial(&run.history);
    run.commits.iter().all(|commit| replay(&run.history, commit.txn, &mut state).is_some())
}

/// Each transaction sees the state at its begin; and if asked for, no two that overlap write one row.
fn is_snapshot_at_begins(run: &Run, checks_writes: bool) -> bool {
    let mut states = vec![(i64::MIN, initial(&run.history))];
    let mut written_at: BTreeMap<KeyId, i64> = BTreeMap::new();
    run.commits.iter().all(|commit| {
        let place = states.partition_point(|(stamp, _)| *stamp <= commit.begin) - 1;
        let mut snapshot = states[place].1.clone();
        let Some(written) = replay(&run.history, commit.txn, &mut snapshot) else {
            return false;
        };
        let mut state = states.last().unwrap().1.clone();
        let overlaps = written.iter().any(|key| written_at.get(key).is_some_and(|&at| at > commit.begin));
        for key in written {
            written_at.insert(key, commit.commit);
            state.insert(key, snapshot[&key].clone());
        }
        states.push((commit.commit, state));
        !(checks_writes && overlaps)
    })
}

fn satisfies(run: &Run, level: StoreLevel) -> bool {
    match level {
        StoreLevel::Serial | StoreLevel::Serializable => is_serial_at_commits(run),
        StoreLevel::Snapshot => is_snapshot_at_begins(run, true),
        StoreLevel::Prefix => is_snapshot_at_begins(run, false),
        other => panic!("{} has no replay", other.name()),
    }
}

const REPLAYED: [StoreLevel; 4] =
    [StoreLevel::Serial, StoreLevel::Serializable, StoreLevel::Snapshot, StoreLevel::Prefix];

#[test]
fn every_level_keeps_its_promise_by_predicate() {
    for level in REPLAYED {
        for seed in 0..40 {
            let run = run(&contended(level, seed)).unwrap();
            assert!(satisfies(&run, level), "{} seed {seed}", level.name());
        }
    }
}

#[test]
fn weaker_levels_and_faults_show_by_predicate() {
    let is_ever_violated = |config: &dyn Fn(u64) -> Config, asked: StoreLevel| {
        (0..40).any(|seed| !satisfies(&run(&config(seed)).unwrap(), asked))
    };
    use StoreLevel::*;
    for (store, asked) in [
        (Snapshot, Serializable),
        (Prefix, Snapshot),
        (GeneralizedSnapshot, Snapshot),
        (Causal, Prefix),
        (ReadCommitted, Prefix),
        (ReadUncommitted, Serializable),
    ] {
        assert!(
            is_ever_violated(&|seed| contended(store, seed), asked),
            "{} is never less than {}",
            store.name(),
            asked.name()
        );
    }
    // A commit that was lost is not replayed, and a wrong clock does not show in what was seen.
    let is_seen = |fault: &Fault| !matches!(fault, Fault::ClockSkew | Fault::LostCommit);
    for fault in Fault::ALL.into_iter().filter(is_seen) {
        let config = |seed| Config { faults: vec![(fault, 0.5)], ..contended(Serializable, seed) };
        let config = |seed| Config {
            abort_share: if fault == Fault::AbortedRead { 0.3 } else { 0.0 },
            ..config(seed)
        };
        assert!(is_ever_violated(&config, Serializable), "{}", fault.name());
    }
}

#[test]
fn the_preset_is_what_it_says() {
    let config = Config { transactions: 500, ..preset("blindw-pred").unwrap() };
    let run = run(&config).unwrap();
    assert!(is_serial_at_commits(&run));
    let history = &run.history;
    assert_eq!((history.txn_count(), history.keys().len()), (500, 10_000));
    let ops = || history.txns().flat_map(|txn| history.ops(txn).map(|(_, op)| op));
    let reads = ops().filter(Op::is_read).count();
    assert!((200..300).contains(&reads), "{reads}");
    let counts: Vec<u64> = ops()
        .map(|op| match op {
            Op::PredicateRead(read) => read.rows.as_ref().unwrap().len() as u64,
            Op::PredicateWrite(write) => write.row_count.unwrap(),
            other => panic!("{other:?} in a history of predicates"),
        })
        .collect();
    let mean = counts.iter().sum::<u64>() / counts.len() as u64;
    assert!((380..550).contains(&mean), "{mean}");
    let few = counts.iter().filter(|&&count| count <= 100).count();
    assert!((30..90).contains(&few), "{few} of 500 match at most 100 rows");
    assert!(counts.iter().all(|&count| count <= 1_100), "{:?}", counts.iter().max());
}
