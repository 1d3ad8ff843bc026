//! The levels that are asked by name only, and no-lost-update, against the reference semantics of their texts, with and
//! without times.

use history::History;
use isoscope::{Asked, Check, Decision};
use spec::{Level, SmallHistory, Spec, library};
use testkit::Random;
use testkit::generate::{self, Shape};

fn levels() -> Vec<Level> {
    let text = library::file("std/guarantees.iso").unwrap();
    let mut levels = Spec::parse("std/guarantees.iso", text).unwrap().levels;
    levels.push(library::level("no-lost-update").unwrap().clone());
    levels
}

fn decide(history: &History, level: &Level) -> Decision {
    let mut asked = Asked::default();
    asked.add_own([level.clone()]);
    let report = Check::new(history).levels(asked).skews(false).run().unwrap();
    let answer = &report.answers[0];
    if let Some(certificate) = &answer.text_certificate {
        certify::text::check(history, level, certificate).unwrap();
    }
    answer.decision
}

#[test]
fn random_histories_agree_with_the_texts() {
    let count = std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(1_000);
    let levels = levels();
    for seed in 0..count {
        let mut random = Random::new(seed);
        let mut shape = Shape::any(&mut random);
        shape.most_txns = shape.most_txns.min(6);
        let history = generate::history(seed, &shape);
        for level in levels.iter().filter(|level| history.has_times() || !level.needs_times()) {
            let readings = SmallHistory::readings(&history, 0, level).unwrap();
            let holds = readings.iter().any(|reading| spec::oracle::holds(reading, level));
            let expected = if holds { Decision::Holds } else { Decision::Violated };
            let text = || formats::notation::print(&history).unwrap();
            assert_eq!(decide(&history, level), expected, "{} seed {seed}\n{}", level.name, text());
        }
    }
}

/// A chain of updates in two sessions with times, and a last transaction.
fn chain(last: &str) -> History {
    let mut text = String::from("init *=0\n");
    for round in 1..=500 {
        let (before, at) = (round - 1, 100 * round);
        text += &format!(
            "{}: r(x)={before} w(x)={round} w(y)={round} @[{at},{}]\n",
            if round % 2 == 0 { 'a' } else { 'b' },
            at + 50
        );
    }
    isoscope::parse(&(text + last)).unwrap()
}

#[track_caller]
fn check(history: &History, name: &str, expected: Decision) {
    assert_eq!(decide(history, library::level(name).unwrap()), expected, "{name}");
}

#[test]
fn levels_that_were_undecided_beyond_63_transactions() {
    for name in ["cursor-stability", "forward-consistent-view", "consistent-view", "no-lost-update", "pl-2"] {
        check(&chain(""), name, Decision::Holds);
    }
    let lost = chain("c: r(x)=400 w(x)=1000 @[60000,60001]\n");
    for name in ["cursor-stability", "no-lost-update", "forward-consistent-view", "consistent-view"] {
        check(&lost, name, Decision::Violated);
    }
    check(&lost, "pl-2", Decision::Holds);
    let stale = chain("c: r(x)=400 @[60000,60001]\n");
    check(&stale, "forward-consistent-view", Decision::Violated);
    check(&stale, "consistent-view", Decision::Holds);
    let skewed = chain("c: r(x)=500 r(y)=400\n");
    check(&skewed, "consistent-view", Decision::Violated);
    check(&skewed, "cursor-stability", Decision::Holds);
    check(&skewed, "no-lost-update", Decision::Violated);
}
