//! Levels that are decided from their texts, on histories with reads and writes by predicate, against the reference
//! semantics of the texts.

use certify::text::TextCertificate;
use expect_test::{Expect, expect};
use history::{History, KeyId, OpId, Outcome, TxnId};
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

#[test]
fn a_certificate_names_rows_that_came_from_elsewhere() {
    let text =
        "init x={v: 1} y={v: 2}\na: w(x)={v: 2}\nb: w(x)={v: 3} w(y)={v: 4}\nc: p(v = 1)={} p(v = 3)={}\n";
    let history = isoscope::parse(text).unwrap();
    let level = LevelId::ReadCommitted;
    let report = Check::new(&history).level(level).skews(false).run().unwrap();
    let Some(TextCertificate::Holds { order, sources }) = report.answers[0].text_certificate.clone() else {
        panic!("read committed holds by an order");
    };
    // No statement of c saw what x was at first; the second one may have seen what the first one did.
    assert_eq!(sources.len(), 1);
    let without = TextCertificate::Holds { order, sources: Vec::new() };
    certify::text::check(&history, level.spec(), &without).unwrap_err();
}

/// An order of the transactions by chance, with sources by chance for all statements and keys.
fn random_certificate(history: &History, random: &mut Random) -> TextCertificate {
    let mut rest: Vec<TxnId> =
        history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted).collect();
    let mut order = Vec::new();
    while !rest.is_empty() {
        order.push(rest.swap_remove(random.below(rest.len())));
    }
    let mut sources = Vec::new();
    for (op, key) in (0..history.op_count() as u32)
        .flat_map(|op| (0..history.keys().len() as u32).map(move |key| (op, key)))
    {
        if random.percent(80) {
            let place = random.below(order.len() + 1);
            sources.push((OpId(op), KeyId(key), order.get(place).copied()));
        }
    }
    TextCertificate::Holds { order, sources }
}

#[test]
fn no_certificate_passes_for_what_is_violated() {
    let count = std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(300);
    let (mut refused, mut accepted) = (0, 0);
    for seed in 0..count {
        let history = random_history(seed);
        let mut random = Random::new(seed);
        for level in ["read-committed", "pl-2"].map(|name| spec::library::level(name).unwrap()) {
            let Ok(readings) = SmallHistory::readings_up_to(&history, 0, level, MOST_READINGS) else {
                continue;
            };
            let holds = readings.iter().any(|reading| spec::oracle::holds(reading, level));
            for _ in 0..40 {
                let certificate = random_certificate(&history, &mut random);
                let is_accepted = certify::text::check(&history, level, &certificate).is_ok();
                let text = || formats::notation::print(&history).unwrap();
                assert!(!is_accepted || holds, "{} seed {seed}\n{}", level.name, text());
                (refused, accepted) = (refused + u64::from(!holds), accepted + u64::from(is_accepted));
            }
        }
    }
    assert!(refused > count && accepted > count, "{refused} were refused, {accepted} accepted");
}
