//! The verdict while a recording grows is the verdict of a check of what was recorded.

use std::time::Duration;

use drive::plant::{Planted, plant};
use drive::simulate::{Config, Fault, StoreLevel, generate, preset};
use history::{Builder, History, TxnId};
use isoscope::watch::{Holding, Verdict, Watcher, Way};
use isoscope::{Check, Decision, LevelId};
use testkit::Random;
use testkit::generate::{Shape, history};
use testkit::generate_rows::{self, RowKind};

/// The transactions in the order in which a recorder would have written them.
fn by_end(history: &History) -> Vec<TxnId> {
    let mut txns: Vec<TxnId> = history.txns().collect();
    let last = |txn: &TxnId| history.times(*txn).recorded().map(|moment| moment.time).max();
    txns.sort_by_key(|txn| (last(txn), txn.0));
    txns
}

/// The history of some transactions.
fn part(history: &History, keeps: &[TxnId]) -> History {
    let mut builder = Builder::like(history);
    for txn in history.txns().filter(|txn| keeps.contains(txn)) {
        builder.begin(history.session_of(txn));
        builder.set_times(history.times(txn)).unwrap();
        for (id, op) in history.ops(txn) {
            builder.op(op);
            if let Some(version) = history.op_version(id) {
                builder.set_op_version(version);
            }
        }
        builder.end(history.outcome(txn));
    }
    builder.finish()
}

fn decision(history: &History, level: LevelId, skew: Duration) -> Decision {
    let report = Check::new(history).level(level).clock_skew(skew).skews(false).run().unwrap();
    report.answers[0].decision
}

fn notation(history: &History) -> String {
    formats::notation::print(history).unwrap_or_default()
}

struct Tally {
    prefixes: u64,
    violated: u64,
    loose: u64,
    forgotten: u64,
    from_the_future: u64,
}

const NONE: Tally = Tally { prefixes: 0, violated: 0, loose: 0, forgotten: 0, from_the_future: 0 };

/// Follows a history and closes the recording after every prefix.
fn follow(history: &History, level: LevelId, batch: usize, patience: u64, skew: Duration, tally: &mut Tally) {
    let mut watcher = Watcher::new(level, skew).batch(batch).patience(patience);
    watcher.set_initial(history).unwrap();
    history.sessions().for_each(|session| watcher.introduce(u64::from(session.0), None));
    let order = by_end(history);
    let mut was_violated = false;
    for length in 1..=order.len() {
        let txn = order[length - 1];
        watcher.push(u64::from(history.session_of(txn).0), None, history, txn).unwrap();
        let prefix = part(history, &order[..length]);
        let expected = decision(&prefix, level, skew);
        let is_violated = matches!(watcher.verdict(), Verdict::Violated(_));
        // A level without real time lets a transaction read from one that began after it ended. While the recording grows
        // that is a value that no transaction wrote.
        let is_from_the_future = || {
            !level.needs_times() && decision(&prefix, LevelId::StrictSerializable, skew) == Decision::Violated
        };
        if is_violated && expected != Decision::Violated && is_from_the_future() {
            tally.from_the_future += 1;
            return;
        }
        assert!(
            !is_violated || expected == Decision::Violated,
            "a false accusation at {level} after {length}, batch {batch}:\n{}",
            notation(&prefix)
        );
        was_violated |= is_violated;
        assert_eq!(is_violated, was_violated);
        let mut closed = watcher.clone();
        closed.close().unwrap();
        tally.prefixes += 1;
        tally.violated += u64::from(expected == Decision::Violated);
        tally.forgotten += length as u64 - watcher.held().min(length) as u64;
        match closed.verdict() {
            Verdict::Violated(violation) => {
                if let Some((level, certificate)) = &violation.answer.certificate {
                    assert!(certify::check(&violation.history, level, certificate).is_ok());
                }
                assert_eq!(
                    expected,
                    Decision::Violated,
                    "at {level}, batch {batch}, after {length}:\n{}",
                    notation(&prefix)
                );
            }
            Verdict::Holds(Holding { way, .. }) => {
                let is_exact = matches!(way, Way::Exact | Way::Whole | Way::Follows(_, 0));
                tally.loose += u64::from(!is_exact);
                assert!(
                    expected == Decision::Holds || !is_exact,
                    "a false holds at {level}, batch {batch}, after {length}:\n{}",
                    notation(&prefix)
                );
            }
            Verdict::Undecided(reason) => {
                assert!(
                    expected.is_undecided(),
                    "{reason}, at {level} after {length}:\n{}",
                    notation(&prefix)
                );
            }
        }
    }
}

fn count() -> u64 {
    std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(400)
}

#[test]
fn every_prefix_has_the_verdict_of_a_check() {
    let mut tally = NONE;
    for seed in 0..count() {
        let random = &mut Random::new(seed);
        let shape = Shape {
            times: true,
            bad_times: 0,
            least_txns: 3,
            most_txns: random.between(4, 12),
            unknown: *random.pick(&[0, 0, 0, 20]),
            ..Shape::any(random)
        };
        let history = history(seed, &shape);
        for level in [LevelId::StrictSerializable, LevelId::StrongSi] {
            for batch in [1, 3] {
                let skew = Duration::from_nanos(*random.pick(&[0, 0, 2, 5]));
                follow(&history, level, batch, *random.pick(&[2, 1000]), skew, &mut tally);
            }
        }
    }
    println!(
        "{} prefixes, {} violated, {} not exact, {} transactions forgotten",
        tally.prefixes, tally.violated, tally.loose, tally.forgotten
    );
    assert!(tally.violated > 0 && tally.forgotten > 0);
}

/// What a window does not decide is asked of all transactions, with the same answers.
#[test]
fn lists_ranges_and_predicates_have_the_verdict_of_a_check() {
    let mut tally = NONE;
    for seed in 0..count() / 4 {
        let random = &mut Random::new(seed);
        let content = *random.pick(&RowKind::ALL);
        let shape = generate_rows::Shape { times: true, ..generate_rows::Shape::any(content, random) };
        let history = generate_rows::sketch(random, &shape).build();
        for level in [LevelId::StrictSerializable, LevelId::StrongSi, LevelId::ReadAtomic] {
            follow(&history, level, 2, 1000, Duration::ZERO, &mut tally);
        }
    }
    assert!(tally.violated > 0);
}

/// A weaker level follows from a strict one until that is violated.
#[test]
fn weaker_levels_have_the_verdict_of_a_check() {
    let mut tally = NONE;
    for seed in 0..count() / 4 {
        let random = &mut Random::new(!seed);
        let shape =
            Shape { times: true, bad_times: *random.pick(&[0, 10]), most_txns: 8, ..Shape::any(random) };
        let history = history(seed, &shape);
        for level in
            [LevelId::SessionSerializable, LevelId::Causal, LevelId::GeneralizedSi, LevelId::ReadCommitted]
        {
            follow(&history, level, 2, 1000, Duration::ZERO, &mut tally);
        }
    }
    println!(
        "{} prefixes, {} violated, {} from the future",
        tally.prefixes, tally.violated, tally.from_the_future
    );
    assert!(tally.violated > 0 && tally.from_the_future * 20 < tally.prefixes);
}

/// Histories of thousands of transactions with one anomaly in them: it is reported at most a batch after the frontier has
/// passed its transactions, and the verdict is that of a check.
#[test]
fn planted_anomalies_are_found_where_they_are() {
    const BATCH: usize = 100;
    let count = if std::env::var_os("ISOSCOPE_SOAK").is_some() { 200 } else { 6 };
    let mut found = 0;
    for seed in 0..count {
        let config = Config { transactions: 5_000, seed, ..preset("general").unwrap() };
        let config = Config { keys: 500, sessions: 10, ..config };
        let planted = Planted::ALL[seed as usize % Planted::ALL.len()];
        let made = generate(&config).unwrap();
        let Ok(made) = plant(&made, planted, seed) else { continue };
        let (history, level) = (made.history, LevelId::StrictSerializable);
        let expected = decision(&history, level, Duration::ZERO);
        let mut watcher = Watcher::new(level, Duration::ZERO).batch(BATCH);
        watcher.set_initial(&history).unwrap();
        history.sessions().for_each(|session| watcher.introduce(u64::from(session.0), None));
        let order = by_end(&history);
        let mut reported = None;
        for (place, &txn) in order.iter().enumerate() {
            watcher.push(u64::from(history.session_of(txn).0), None, &history, txn).unwrap();
            if reported.is_none() && watcher.verdict().is_violated() {
                reported = Some(place + 1);
            }
        }
        watcher.close().unwrap();
        assert_eq!(
            watcher.verdict().is_violated(),
            expected == Decision::Violated,
            "{planted:?}, seed {seed}"
        );
        let Some(reported) = reported else { continue };
        found += 1;
        // What was recorded two batches before, without what the frontier had not passed, still holds.
        let before = &order[..reported.saturating_sub(2 * BATCH + 2 * 10)];
        if !before.is_empty() {
            let before = decision(&part(&history, before), level, Duration::ZERO);
            assert_eq!(before, Decision::Holds, "{planted:?}, seed {seed}, {reported}");
        }
    }
    println!("{found} of {count} reported before the end");
    assert!(found > 0);
}

fn follow_all(mut watcher: Watcher, history: &History) -> Watcher {
    watcher.set_initial(history).unwrap();
    history.sessions().for_each(|session| watcher.introduce(u64::from(session.0), None));
    for txn in by_end(history) {
        watcher.push(u64::from(history.session_of(txn).0), None, history, txn).unwrap();
    }
    watcher
}

/// More transactions than are looked at together come in each batch, and are settled all the same.
#[test]
fn large_batches_leave_no_transactions_behind() {
    let stores =
        [(LevelId::StrictSerializable, StoreLevel::Serializable), (LevelId::StrongSi, StoreLevel::Snapshot)];
    for (level, store) in stores {
        let config = Config { transactions: 30_000, keys: 500, level: store, ..preset("general").unwrap() };
        let history = generate(&config).unwrap();
        let mut watcher = follow_all(Watcher::new(level, Duration::ZERO).batch(10_000), &history);
        watcher.decide().unwrap();
        assert!(!watcher.verdict().is_violated(), "{level}: {:?}", watcher.verdict());
        assert!(watcher.held() < 5_000, "{level}: {} transactions are held", watcher.held());
    }
}

/// An order that is open when a window is decided, and that a third transaction depends on, is kept until it is known.
#[test]
fn a_window_waits_before_it_forgets_an_open_order() {
    let is_exact = |seed: u64, patience: u64| {
        let config = Config { transactions: 3_000, keys: 500, seed, ..preset("general").unwrap() };
        let watcher = Watcher::new(LevelId::StrictSerializable, Duration::ZERO).batch(50);
        let mut watcher = follow_all(watcher.patience(patience), &generate(&config).unwrap());
        watcher.close().unwrap();
        matches!(watcher.verdict(), Verdict::Holds(Holding { way: Way::Exact, .. }))
    };
    for seed in 0..5 {
        assert!(!is_exact(seed, 2), "seed {seed} shows nothing: its window need not wait");
        assert!(is_exact(seed, 8_000), "seed {seed}");
    }
}

#[test]
fn a_watcher_that_keeps_going_reports_further_violations() {
    let config = Config {
        transactions: 2_000,
        keys: 50,
        faults: vec![(Fault::FracturedRead, 0.01)],
        ..preset("general").unwrap()
    };
    let history = generate(&config).unwrap();
    let watcher = Watcher::new(LevelId::StrictSerializable, Duration::ZERO).batch(200).keep_going(true);
    let mut watcher = follow_all(watcher, &history);
    watcher.close().unwrap();
    assert!(watcher.violations().len() > 1, "{} violations", watcher.violation_count());
    for violation in watcher.violations() {
        let (level, certificate) = violation.answer.certificate.as_ref().unwrap();
        assert!(certify::check(&violation.history, level, certificate).is_ok());
    }
    assert!(watcher.held() < history.txn_count(), "{} are held", watcher.held());
}
