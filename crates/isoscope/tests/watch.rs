//! The verdict while a recording grows is the verdict of a check of what was recorded.

use std::time::Duration;

use history::{Builder, History, Outcome, TxnId};
use isoscope::watch::{Verdict, WatchError, Watcher};
use isoscope::{Check, Decision, LevelId};
use testkit::Random;
use testkit::generate::{Shape, history};

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
        for (_, op) in history.ops(txn) {
            builder.op(op);
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
}

/// Follows a history and closes the recording after every prefix.
fn follow(history: &History, level: LevelId, batch: usize, patience: u64, skew: Duration, tally: &mut Tally) {
    let mut watcher = Watcher::new(level, skew).unwrap().batch(batch);
    watcher.window().patience = patience;
    watcher.set_initial(history).unwrap();
    history.sessions().for_each(|session| watcher.introduce(u64::from(session.0), None));
    let order = by_end(history);
    let mut was_violated = false;
    for length in 1..=order.len() {
        let txn = order[length - 1];
        match watcher.push(u64::from(history.session_of(txn).0), history, txn) {
            Ok(()) => {}
            Err(WatchError::Refused(_)) => return,
            Err(error) => panic!("{error}"),
        }
        let prefix = part(history, &order[..length]);
        let expected = decision(&prefix, level, skew);
        let is_violated = matches!(watcher.verdict(), Verdict::Violated(_));
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
        tally.forgotten += length as u64 - watcher.window().len().min(length) as u64;
        match closed.verdict() {
            Verdict::Violated(violation) => {
                let accepted = violation.answer.certificate.as_ref().unwrap();
                assert!(certify::check(&violation.history, &accepted.0, &accepted.1).is_ok());
                assert_eq!(
                    expected,
                    Decision::Violated,
                    "at {level}, batch {batch}, after {length}:\n{}",
                    notation(&prefix)
                );
            }
            Verdict::Holds { loosened, .. } => {
                tally.loose += u64::from(*loosened > 0);
                assert!(
                    expected == Decision::Holds || *loosened > 0,
                    "a false holds at {level}, batch {batch}, after {length}:\n{}",
                    notation(&prefix)
                );
            }
            Verdict::Undecided(reason) => panic!("{reason}"),
        }
    }
}

fn count() -> u64 {
    std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(400)
}

#[test]
fn every_prefix_has_the_verdict_of_a_check() {
    let mut tally = Tally { prefixes: 0, violated: 0, loose: 0, forgotten: 0 };
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

#[test]
fn a_transaction_of_unknown_outcome_is_no_accusation() {
    let _ = Outcome::Unknown;
}
