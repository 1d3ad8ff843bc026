//! Every level of the store against its definition, with the commit order that the run gives back.
//!
//! The replay shares nothing with the store: strict levels are re-executed transaction by transaction on a plain map,
//! the others are checked by the axioms over visibility, on relations held as matrices.

use std::collections::BTreeMap;

use history::{Bound, Datum, History, KeyId, Op, Outcome, TxnId, ValueId};

use super::*;

fn contended(level: StoreLevel, seed: u64) -> Config {
    Config {
        seed,
        level,
        sessions: 6,
        transactions: 60,
        keys: 6,
        operations_per_transaction: (1, 5),
        read_modify_write_share: 0.3,
        abort_share: 0.1,
        unknown_share: 0.1,
        replication_ns: 1_000_000,
        ..Config::default()
    }
}

/// The state of the store in one order of transactions.
#[derive(Clone, Default)]
struct State {
    values: BTreeMap<Datum, ValueId>,
    lists: BTreeMap<Datum, Vec<ValueId>>,
}

/// Executes a transaction on a state; false if it would have read something else.
fn replay(history: &History, txn: TxnId, state: &mut State, initial: ValueId) -> bool {
    let name = |key: KeyId| history.keys().original(key).clone();
    for (_, op) in history.ops(txn) {
        let held = |state: &State, key| state.values.get(&name(key)).copied().unwrap_or(initial);
        let is_right = match op {
            Op::Read { key, value } => Some(held(state, key)) == value,
            Op::Insert { key, .. } => held(state, key) == ValueId::NIL,
            Op::Delete { key, .. } => held(state, key) != ValueId::NIL,
            Op::ReadList { key, list } => {
                state.lists.get(&name(key)).map_or(&[][..], |list| list) == list.unwrap()
            }
            Op::RangeRead(range) => {
                let (Bound::Included(from), Bound::Excluded(to)) = (&range.from, &range.to) else {
                    panic!("ranges are half-open");
                };
                let rows = state.values.range(from.clone()..to.clone());
                let expected: Vec<_> = rows
                    .filter(|&(_, &value)| value != ValueId::NIL)
                    .map(|(key, &value)| (key.clone(), value))
                    .collect();
                let returned = range.rows.as_ref().unwrap().iter();
                returned.map(|row| (name(row.key), row.value)).collect::<Vec<_>>() == expected
            }
            _ => true,
        };
        if !is_right {
            return false;
        }
        if let (Some(key), Some(value)) = (op.key(), op.written()) {
            state.values.insert(name(key), value);
        }
        if let Op::Append { key, value } = op {
            state.lists.entry(name(key)).or_default().push(value);
        }
    }
    true
}

/// Each transaction takes effect at its commit, all at once.
fn is_serial_at_commits(run: &Run) -> bool {
    let initial = run.history.initial().value_of(KeyId(0)).unwrap();
    let mut state = State::default();
    run.commits.iter().all(|commit| replay(&run.history, commit.txn, &mut state, initial))
}

/// Each transaction reads the state at its begin, and no two that overlap write one key.
fn is_snapshot_at_begins(run: &Run) -> bool {
    let initial = run.history.initial().value_of(KeyId(0)).unwrap();
    let mut states = vec![(i64::MIN, State::default())];
    let mut written_at: BTreeMap<KeyId, i64> = BTreeMap::new();
    for commit in &run.commits {
        let place = states.partition_point(|(stamp, _)| *stamp <= commit.begin) - 1;
        let mut snapshot = states[place].1.clone();
        if !replay(&run.history, commit.txn, &mut snapshot, initial) {
            return false;
        }
        let mut state = states.last().unwrap().1.clone();
        for (_, op) in run.history.ops(commit.txn).filter(|(_, op)| !op.is_read()) {
            let key = op.key().unwrap();
            if written_at
                .insert(key, commit.commit)
                .is_some_and(|stamp| stamp > commit.begin && stamp != commit.commit)
            {
                return false;
            }
            let name = run.history.keys().original(key).clone();
            match op {
                Op::Append { value, .. } => state.lists.entry(name).or_default().push(value),
                _ => drop(state.values.insert(name, op.written().unwrap())),
            }
        }
        states.push((commit.commit, state));
    }
    true
}

type Matrix = Vec<Vec<bool>>;

/// The relations of a run over the places of its commits; values must be unique and reads external.
struct Relations {
    size: usize,
    session: Matrix,
    reads_from: Matrix,
    conflict: Matrix,
    /// Reader, key, and the writer if it is not the initial state.
    reads: Vec<(usize, KeyId, Option<usize>)>,
    writers: BTreeMap<KeyId, Vec<usize>>,
}

impl Relations {
    /// `None` if something was read that no commit wrote, or not before.
    fn of(run: &Run) -> Option<Self> {
        let size = run.commits.len();
        let empty = vec![vec![false; size]; size];
        let mut relations = Self {
            size,
            session: empty.clone(),
            reads_from: empty.clone(),
            conflict: empty,
            reads: Vec::new(),
            writers: BTreeMap::new(),
        };
        let mut writer_of = BTreeMap::new();
        let index = index::Index::of(&run.history);
        for (place, commit) in run.commits.iter().enumerate() {
            for read in index.reads_of(commit.txn) {
                let read = index.reads()[read];
                let writer = writer_of.get(&(read.key, read.observed.value())).copied();
                if writer.is_none() && read.observed.value() != ValueId(0) {
                    return None;
                }
                relations.reads.push((place, read.key, writer));
                writer.inspect(|&writer: &usize| relations.reads_from[writer][place] = true);
            }
            for write in index.writes_of(commit.txn) {
                let write = index.writes()[write];
                writer_of.insert((write.key, write.value), place);
                let writers = relations.writers.entry(write.key).or_default();
                for &earlier in writers.iter() {
                    relations.conflict[earlier][place] = true;
                }
                writers.push(place);
            }
            for earlier in 0..place {
                relations.session[earlier][place] =
                    run.history.session_of(run.commits[earlier].txn) == run.history.session_of(commit.txn);
            }
        }
        Some(relations)
    }

    fn base(&self) -> Matrix {
        self.union(&self.session, &self.reads_from)
    }

    fn union(&self, left: &Matrix, right: &Matrix) -> Matrix {
        let row = |from: usize| (0..self.size).map(|to| left[from][to] || right[from][to]).collect();
        (0..self.size).map(row).collect()
    }

    fn closure(&self, mut relation: Matrix) -> Matrix {
        for middle in 0..self.size {
            for from in 0..self.size {
                if relation[from][middle] {
                    for to in 0..self.size {
                        relation[from][to] |= relation[middle][to];
                    }
                }
            }
        }
        relation
    }

    /// `before? ; relation`: everything up to a predecessor is visible.
    fn prefix(&self, mut relation: Matrix) -> Matrix {
        for from in (0..self.size.saturating_sub(1)).rev() {
            for to in 0..self.size {
                relation[from][to] |= relation[from + 1][to] && from + 1 < to;
            }
        }
        relation
    }

    /// Every reader sees the last of the visible writers.
    fn explains(&self, visible: &Matrix) -> bool {
        self.reads.iter().all(|&(reader, key, source)| {
            let writers = self.writers.get(&key).map_or(&[][..], |writers| writers);
            let mut newer = writers.iter().filter(|&&writer| source.is_none_or(|source| writer > source));
            newer.all(|&writer| writer == reader || !visible[writer][reader])
        })
    }

    fn satisfies(&self, level: StoreLevel) -> bool {
        let base = self.base();
        let with_conflicts = self.union(&base, &self.conflict);
        match level {
            StoreLevel::ReadAtomic => self.explains(&base),
            StoreLevel::Causal => self.explains(&self.closure(base)),
            StoreLevel::ParallelSnapshot => self.explains(&self.closure(with_conflicts)),
            StoreLevel::Prefix => self.explains(&self.prefix(base)),
            StoreLevel::SessionSnapshot => self.explains(&self.prefix(with_conflicts)),
            StoreLevel::GeneralizedSnapshot => {
                self.explains(&self.prefix(self.union(&self.reads_from, &self.conflict)))
            }
            _ => unreachable!("has a replay of its own"),
        }
    }
}

/// Whether no transaction saw an older state after a newer one, read by read, and all it saw was committed.
fn reads_only_forward(run: &Run) -> bool {
    let mut state: BTreeMap<KeyId, Vec<(ValueId, i64)>> = BTreeMap::new();
    for commit in &run.commits {
        for (_, op) in run.history.ops(commit.txn) {
            if let (Some(key), Some(value)) = (op.key(), op.written()) {
                state.entry(key).or_default().push((value, commit.commit));
            }
        }
    }
    run.commits.iter().all(|commit| {
        let mut moment = i64::MIN;
        let mut own = BTreeMap::new();
        run.history.ops(commit.txn).all(|(_, op)| {
            let key = op.key().unwrap();
            let Op::Read { value: Some(value), .. } = op else {
                own.insert(key, op.written().unwrap());
                return true;
            };
            if let Some(&mine) = own.get(&key) {
                return mine == value;
            }
            let versions = state.get(&key).map_or(&[][..], |versions| versions);
            let found = versions.iter().position(|&(written, _)| written == value);
            let since = found.map_or(i64::MIN, |place| versions[place].1);
            let next = versions.get(found.map_or(0, |place| place + 1));
            moment = moment.max(since);
            (value == ValueId(0) || found.is_some()) && next.is_none_or(|&(_, until)| moment < until)
        })
    })
}

/// What a client was told to be committed took effect, and what it was told to be aborted did not.
fn outcomes_are_true(run: &Run) -> bool {
    let mut took_effect = vec![false; run.history.txn_count()];
    for commit in &run.commits {
        took_effect[commit.txn.index()] = true;
    }
    run.history.txns().all(|txn| match run.history.outcome(txn) {
        Outcome::Committed => took_effect[txn.index()],
        Outcome::Aborted => !took_effect[txn.index()],
        Outcome::Unknown => true,
    })
}

fn satisfies(run: &Run, level: StoreLevel) -> bool {
    outcomes_are_true(run) && reads_satisfy(run, level)
}

fn reads_satisfy(run: &Run, level: StoreLevel) -> bool {
    match level {
        StoreLevel::Serial | StoreLevel::Serializable => is_serial_at_commits(run),
        StoreLevel::Snapshot => is_snapshot_at_begins(run),
        StoreLevel::ReadCommitted => reads_only_forward(run),
        StoreLevel::ReadUncommitted => true,
        level => {
            index::Index::of(&run.history).findings().is_empty()
                && Relations::of(run).is_some_and(|relations| relations.satisfies(level))
        }
    }
}

/// The moments of begin and commit lie within the recorded intervals.
fn times_contain_the_moments(run: &Run) -> bool {
    run.commits.iter().all(|commit| {
        let times = run.history.times(commit.txn);
        times.begin_request.unwrap() < commit.begin
            && commit.begin < times.begin_response.unwrap()
            && times.begin_response < times.commit_request
            && times.commit_request.unwrap() < commit.commit
            && times.commit_response.is_none_or(|response| commit.commit < response)
    })
}

#[test]
fn every_level_keeps_its_promise() {
    for level in StoreLevel::ALL {
        for seed in 0..40 {
            let run = run(&contended(level, seed)).unwrap();
            assert!(satisfies(&run, level), "{} seed {seed}", level.name());
            assert!(times_contain_the_moments(&run), "{} seed {seed}", level.name());
        }
    }
}

#[test]
fn every_level_is_weaker_than_the_one_before_somewhere() {
    let is_ever_violated = |store: StoreLevel, asked: StoreLevel| {
        (0..40).any(|seed| !satisfies(&run(&contended(store, seed)).unwrap(), asked))
    };
    use StoreLevel::*;
    for (store, asked) in [
        (Snapshot, Serializable),
        (SessionSnapshot, Snapshot),
        (GeneralizedSnapshot, SessionSnapshot),
        (Prefix, Snapshot),
        (ParallelSnapshot, SessionSnapshot),
        (Causal, ParallelSnapshot),
        (Causal, Prefix),
        (ReadAtomic, Causal),
        (ReadCommitted, ReadAtomic),
        (ReadUncommitted, ReadCommitted),
    ] {
        assert!(is_ever_violated(store, asked), "{} is never less than {}", store.name(), asked.name());
    }
}

#[test]
fn every_fault_breaks_the_promise() {
    for fault in Fault::ALL {
        for level in [StoreLevel::Serializable, StoreLevel::Snapshot] {
            if (fault, level) == (Fault::WriteSkew, StoreLevel::Snapshot) {
                continue;
            }
            let is_broken = (0..20).any(|seed| {
                let config = Config { faults: vec![(fault, 0.5)], ..contended(level, seed) };
                let run = run(&config).unwrap();
                let keeps_times = fault != Fault::ClockSkew || times_contain_the_moments(&run);
                !(satisfies(&run, level) && keeps_times)
            });
            assert!(is_broken, "{} at {}", fault.name(), level.name());
        }
    }
}

#[test]
fn every_preset_replays() {
    // Tables have a replay of their own.
    let has_table = |preset: &Preset| matches!((preset.config)().operations, Operations::Predicates { .. });
    for preset in PRESETS.iter().filter(|preset| !has_table(preset)) {
        for level in [StoreLevel::Serializable, StoreLevel::Snapshot] {
            let config = Config { level, transactions: 150, ..(preset.config)() };
            let run = run(&config).unwrap();
            assert!(satisfies(&run, level), "{} {}", preset.name, level.name());
            let summary = history::Summary::of(&run.history);
            assert_eq!(summary.committed, 150, "{}", preset.name);
        }
    }
}

#[test]
fn equal_seeds_give_equal_histories() {
    let shown = |seed| {
        let history = generate(&contended(StoreLevel::Causal, seed)).unwrap();
        let txn = |txn| format!("{:?} {:?}", history.times(txn), history.ops(txn).collect::<Vec<_>>());
        history.txns().map(txn).collect::<Vec<_>>()
    };
    assert_eq!(shown(4), shown(4));
    assert_ne!(shown(4), shown(5));
}

#[test]
fn outcomes_and_shares_are_as_asked() {
    let config = Config {
        transactions: 4000,
        read_share: 0.25,
        abort_share: 0.2,
        unknown_share: 0.1,
        duplicates: Some(Duplicates { key_share: 0.5, values: 3, exponent: 1.0 }),
        ..Config::default()
    };
    let history = generate(&config).unwrap();
    let count = |outcome| history.txns().filter(|&txn| history.outcome(txn) == outcome).count();
    let (committed, aborted) = (count(Outcome::Committed), count(Outcome::Aborted));
    assert_eq!(committed + count(Outcome::Unknown), 4000);
    assert!((3500..3700).contains(&committed), "{committed}");
    assert!((900..1200).contains(&aborted), "{aborted}");
    let ops = || history.txns().flat_map(|txn| history.ops(txn).map(|(_, op)| op));
    let reads = ops().filter(Op::is_read).count() as f64 / ops().count() as f64;
    assert!((0.24..0.26).contains(&reads), "{reads}");
    let written = || ops().filter_map(|op| op.written());
    let repeated = written().filter(|value| value.0 <= 3).count() as f64 / written().count() as f64;
    assert!((0.45..0.55).contains(&repeated), "{repeated}");
}

#[test]
fn absurd_configurations_are_refused() {
    let refusal = |config: Config| generate(&config).unwrap_err().to_string();
    let base = Config::default;
    assert_eq!(refusal(Config { sessions: 0, ..base() }), "sessions must be between 1 and 100,000");
    assert_eq!(refusal(Config { read_share: f64::NAN, ..base() }), "read share must be between 0 and 1");
    assert_eq!(
        refusal(Config { transactions: u32::MAX, ..base() }),
        "transactions times operations must be at most 268,435,456"
    );
}

#[test]
fn names_lead_back() {
    for level in StoreLevel::ALL {
        assert_eq!(StoreLevel::named(level.name()), Some(level));
    }
    for fault in Fault::ALL {
        assert_eq!(Fault::named(fault.name()), Some(fault));
    }
    assert!(preset("blindw-rw").is_some() && preset("nothing").is_none());
}
