//! Histories whose transactions record levels of their own, against the reference semantics of the mixed text.

use history::{History, Outcome};
use isoscope::{Asked, Check, Decision, LevelId};
use spec::SmallHistory;
use testkit::exhaustive::Scope;
use testkit::generate::{self, Shape};
use testkit::{Random, with_levels};

/// Weak and strong levels, with and without session order.
const FOUR: [&str; 4] = ["read-committed", "causal", "snapshot-isolation", "session-serializable"];

const ALL: [&str; 11] = [
    "read-uncommitted",
    "read-committed",
    "read-atomic",
    "update-atomic",
    "causal",
    "parallel-si",
    "prefix",
    "snapshot-isolation",
    "session-snapshot-isolation",
    "serializable",
    "session-serializable",
];

fn soak(default: usize) -> usize {
    std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(default)
}

fn decide(history: &History) -> Decision {
    let mut asked = Asked::default();
    asked.add_recorded();
    let report = Check::new(history).levels(asked).run().unwrap();
    let answer = &report.answers[0];
    if let (Decision::Holds, Some(certificate)) = (answer.decision, &answer.text_certificate) {
        let level = spec::recorded::level(history).unwrap();
        certify::text::check(history, &level, certificate).unwrap();
    }
    answer.decision
}

#[track_caller]
fn compare(history: &History) {
    let level = spec::recorded::level(history).unwrap();
    let readings = SmallHistory::readings(history, 0, &level).unwrap();
    let holds = readings.iter().any(|reading| spec::oracle::holds(reading, &level));
    let expected = if holds { Decision::Holds } else { Decision::Violated };
    assert_eq!(decide(history), expected, "\n{}", formats::notation::print(history).unwrap());
}

#[test]
fn every_assignment_of_four_levels_to_small_histories() {
    let mut count = 0;
    for sessions in [vec![2], vec![1, 1], vec![1, 2]] {
        let ops = if sessions.len() + sessions[0] > 2 && sessions != [1, 1] { 1 } else { 2 };
        let txns: u32 = sessions.iter().sum::<usize>() as u32;
        let scope = Scope { sessions, keys: 2, ops, values: 2, outcomes: vec![Outcome::Committed] };
        for (number, history) in scope.histories().enumerate() {
            // All assignments of every history take minutes, so each history takes its share of them in turn.
            let step = if std::env::var_os("ISOSCOPE_SOAK").is_some() { 1 } else { 4 };
            for assignment in (number % step..4usize.pow(txns)).step_by(step) {
                let levels: Vec<&str> = (0..txns).map(|txn| FOUR[assignment >> (2 * txn) & 3]).collect();
                compare(&with_levels(&history, &levels));
                count += 1;
            }
        }
    }
    assert!(count > 5_000, "{count}");
}

#[test]
fn random_assignments_to_random_histories() {
    for seed in 0..soak(3_000) as u64 {
        let mut random = Random::new(seed);
        let mut shape = Shape::any(&mut random);
        (shape.most_txns, shape.times) = (shape.most_txns.min(6), false);
        let history = generate::history(seed, &shape);
        let levels: Vec<&str> = history.txns().map(|_| *random.pick(&ALL)).collect();
        compare(&with_levels(&history, &levels));
    }
}

#[test]
fn equal_levels_give_the_answer_of_the_level() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut shape = Shape::any(&mut random);
        shape.most_txns = shape.most_txns.min(6);
        let history = generate::history(seed, &shape);
        let level = *random.pick(&ALL);
        let recorded = with_levels(&history, &vec![level; history.txn_count()]);
        let id: LevelId = level.parse().unwrap();
        let expected = Check::new(&history).level(id).run().unwrap().answers[0].decision;
        assert_eq!(decide(&recorded), expected, "{level}\n{}", formats::notation::print(&recorded).unwrap());
    }
}

/// Two sessions that take turns on hot keys, one serializable and one read committed: far more than the definition
/// decides.
#[test]
fn mixed_levels_are_decided_at_any_size() {
    let history = |last: &str| {
        let mut text = String::from("init *=0\n");
        for round in 1..2_000 {
            let (before, key) = (round - 1, round % 7);
            text += &format!("a: r(x)={before} w(x)={round} w(k{key})={round} at serializable\n");
            text += &format!("b: r(x)={round} r(k{key})={round} at read-committed\n");
        }
        isoscope::parse(&(text + last)).unwrap()
    };
    assert_eq!(decide(&history("")), Decision::Holds);
    assert_eq!(decide(&history("c: r(x)=1999 r(k1)=1 at serializable\n")), Decision::Violated);
    assert_eq!(decide(&history("c: r(k1)=1 r(x)=1999 at read-committed\n")), Decision::Holds);
}
