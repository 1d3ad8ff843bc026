//! Levels that are decided from their texts, on histories with reads and writes by predicate, against the reference
//! semantics of the texts.

use expect_test::{Expect, expect};
use history::History;
use isoscope::{Check, Decision, LevelId};
use spec::SmallHistory;
use testkit::Random;
use testkit::generate_rows::{self, RowKind, Shape};

/// More small forms of a history than this are not tried.
const MOST_READINGS: usize = 64;

fn random_history(seed: u64) -> History {
    let mut random = Random::new(seed);
    let content = *random.pick(&[RowKind::Predicates, RowKind::Columns]);
    let shape =
        Shape { most_txns: 5, ops: 3, keys: 3, marked: 0, returning: 80, ..Shape::any(content, &mut random) };
    generate_rows::sketch(&mut random, &shape).build()
}

#[test]
fn random_histories_agree_with_the_texts() {
    let count = std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(400);
    let mut decided = 0;
    for seed in 0..count {
        let history = random_history(seed);
        for level in LevelId::ALL.into_iter().filter(|level| level.engine().is_none()) {
            let Ok(readings) = SmallHistory::readings_up_to(&history, 0, level.spec(), MOST_READINGS) else {
                continue;
            };
            let report = Check::new(&history).level(level).skews(false).run().unwrap();
            let answer = &report.answers[0];
            if let Some(certificate) = &answer.text_certificate {
                certify::text::check(&history, level.spec(), certificate).unwrap();
            }
            let holds = readings.iter().any(|reading| spec::oracle::holds(reading, level.spec()));
            let expected = if holds { Decision::Holds } else { Decision::Violated };
            let text = || formats::notation::print(&history).unwrap();
            assert_eq!(answer.decision, expected, "{level} seed {seed}\n{}", text());
            decided += 1;
        }
    }
    assert!(decided > count, "most histories have a small form, {decided} answers were compared");
}

fn check(text: &str, expected: Expect) {
    let history = isoscope::parse(text).unwrap();
    let weak = [LevelId::ReadUncommitted, LevelId::ReadCommitted, LevelId::ReadAtomic, LevelId::Causal];
    let report = Check::new(&history).levels(weak.into_iter().collect()).skews(false).run().unwrap();
    let lines = report.answers.iter().map(|answer| format!("{}: {}\n", answer.level, answer.decision.word()));
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn a_row_that_was_not_returned_did_not_match() {
    // The first read of b is from a, and its second one misses the other row of a.
    check(
        "init *=nil\na: w(x)=1 w(y)=1\nb: r(x)=1 p(v = 1)={x=1}\n",
        expect![[r#"
            read-uncommitted: holds
            read-committed: violated
            read-atomic: violated
            causal: violated
        "#]],
    );
}

#[test]
fn a_statement_that_returns_its_rows_reads_once() {
    // The update waited for a, and took its new row of x; of y it saw the row before a. These are reads of one statement.
    check(
        "init x={v: 1} y={v: 5}\na: w(x)={v: 2} w(y)={v: 3}\nb: p(v < 4)={x={v: 2}} pw(v < 4)={w: 1}*1<~{x}\n",
        expect![[r#"
            read-uncommitted: holds
            read-committed: holds
            read-atomic: violated
            causal: violated
        "#]],
    );
}
