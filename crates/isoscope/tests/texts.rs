//! Levels that are decided from their texts, on lists, ranges, unknown outcomes and large histories.

use expect_test::{Expect, expect};
use isoscope::certify::text::plan::Plan;
use isoscope::{Check, LevelId};

const LEVELS: [LevelId; 7] = [
    LevelId::ParallelSi,
    LevelId::UpdateSerializable,
    LevelId::Causal,
    LevelId::UpdateAtomic,
    LevelId::ReadAtomic,
    LevelId::ReadCommitted,
    LevelId::CutIsolation,
];

/// A line for each verdict with its levels, and the sentences of the weakest level that is violated.
#[track_caller]
fn check(text: &str, expected: Expect) {
    let history = isoscope::parse(text).unwrap();
    let report = Check::new(&history).levels(LEVELS.into_iter().collect()).run().unwrap();
    let mut lines = String::new();
    for word in ["holds", "violated", "undecided"] {
        let of_word = report.answers.iter().filter(|answer| answer.decision.word() == word);
        let names: Vec<&str> = of_word.map(|answer| answer.level.name()).collect();
        if !names.is_empty() {
            lines += &format!("{word}: {}\n", names.join(" "));
        }
    }
    let explained = report.answers.iter().rev().find_map(|answer| answer.explanation.as_ref());
    for line in explained.iter().flat_map(|explanation| explanation.paragraphs()) {
        lines += &format!("  {line}\n");
    }
    expected.assert_eq(&lines);
}

#[test]
fn lists_that_show_two_orders_fit_no_order() {
    check(
        "init *=nil\na: a(x)=1\nb: a(x)=2\nc: r(x)=[1 2]\nd: r(x)=[2]\n",
        expect![[r#"
        holds: cut-isolation
        violated: parallel-si update-serializable causal update-atomic read-atomic read-committed
          T1 comes before T2: T3 read a list that shows this order
          T2 comes before T1: T4 read a list that shows this order
          so there is no order in which all of them fit
    "#]],
    );
}

#[test]
fn a_list_of_half_a_transaction_is_a_fractured_read() {
    check(
        "init *=nil\na: {a(x)=1 a(y)=1}\nb: {r(x)=[1] r(y)=[]}\n",
        expect![[r#"
            holds: update-serializable cut-isolation
            violated: parallel-si causal update-atomic read-atomic read-committed
              T2 read y as it was at the beginning and missed what T1 wrote, although T1 was visible to T2 (T2 had read x from it before)
              so T2 should have seen what T1 wrote
        "#]],
    );
}

#[test]
fn a_range_that_misses_a_row_of_a_transaction_that_was_read() {
    check(
        "init *=nil\nkeys 1 2\na: {i(1)=5 i(2)=6}\nb: r[1..2]={1=5}\n",
        expect![[r#"
            holds: update-serializable read-committed cut-isolation
            violated: parallel-si causal update-atomic read-atomic
              T2 read 2 as it was at the beginning and missed what T1 wrote, although T1 was visible to T2 (T2 read 1 from it)
              so T2 should have seen what T1 wrote
        "#]],
    );
}

#[test]
fn an_unknown_transaction_that_was_read_committed() {
    check(
        "a: w(x)=1 unknown\na: r(x)=0\na: r(x)=1\n",
        expect![[r#"
            holds: update-serializable read-committed cut-isolation
            violated: parallel-si causal update-atomic read-atomic
              T2 read x as it was at the beginning and missed what T1 wrote, although T1 was visible to T2 (T1 is earlier in the session of T2)
              so T2 should have seen what T1 wrote
        "#]],
    );
}

#[test]
fn a_value_that_two_wrote_is_explained_by_either() {
    check(
        "a: {w(x)=1 w(y)=1}\nb: {w(x)=1}\nc: {r(x)=1 r(y)=0}\n",
        expect![[r#"
        holds: parallel-si update-serializable causal update-atomic read-atomic read-committed cut-isolation
    "#]],
    );
}

#[test]
fn a_causal_chain_over_many_sessions_is_followed() {
    let mut text = String::from("s0: {w(k0)=1 w(z)=1}\n");
    for link in 1..200 {
        text += &format!("s{link}: {{r(k{})=1 w(k{link})=1}}\n", link - 1);
    }
    text += "end: {r(k199)=1 r(z)=0}\n";
    check(
        &text,
        expect![[r#"
            holds: update-serializable update-atomic read-atomic read-committed cut-isolation
            violated: parallel-si causal
              T201 read z as it was at the beginning and missed what T1 wrote, although T1 was visible to T201 (sessions, reads and overwrites lead from T1 to T201)
              so T201 should have seen what T1 wrote
        "#]],
    );
}

#[test]
fn a_cycle_of_reads_is_found_at_every_level_with_reads_in_its_order() {
    check(
        "a: {w(x)=1 r(y)=1}\nb: {w(y)=1 r(x)=1}\n",
        expect![[r#"
        holds: cut-isolation
        violated: parallel-si update-serializable causal update-atomic read-atomic read-committed
          T1 comes before T2: T2 read x from T1
          T2 comes before T1: T1 read y from T2
          so there is no order in which all of them fit
    "#]],
    );
}

/// A transaction of unknown outcome comes before the next one of its session, though nothing else is known of it.
#[test]
fn an_unknown_transaction_keeps_its_place_in_its_session() {
    let history = isoscope::parse("a: r(x)=1 w(x)=1\na: r(x)=0\nb: w(x)=0 unknown\nb: w(x)=1\n").unwrap();
    let report = Check::new(&history).level(LevelId::UpdateAtomic).run().unwrap();
    assert_eq!(report.answers[0].decision, isoscope::Decision::Violated);
}

#[test]
fn recorded_versions_order_their_writers() {
    let text = "a: w(x)=1^1 w(y)=1\nb: w(x)=2^2 w(y)=2\nc: r(x)=1^1 r(y)=2\n";
    check(
        text,
        expect![[r#"
        holds: update-serializable read-committed cut-isolation
        violated: parallel-si causal update-atomic read-atomic
          T1 comes before T2: the recorded versions of a key show this order
          T2 comes before T1: T3 read x from T1, although T2 wrote x too and was visible to T3 (T3 read y from it)
          so there is no order in which all of them fit
    "#]],
    );
}

#[test]
fn an_element_that_two_transactions_appended_is_explained_by_either() {
    check(
        "init *=nil\na: a(x)=1\nb: a(x)=1 a(x)=2\nc: r(x)=[1 1 2]\n",
        expect![[r#"
        holds: parallel-si update-serializable causal update-atomic read-atomic read-committed cut-isolation
    "#]],
    );
    check(
        "init *=nil\na: a(x)=1\nb: a(x)=1\nc: {r(x)=[1 1 1]}\n",
        expect![[r#"
        violated: parallel-si update-serializable causal update-atomic read-atomic read-committed cut-isolation
          T3 read a list x with 1 twice
    "#]],
    );
}

/// What the forms of two texts show is true of every history.
#[test]
fn a_text_that_implies_another_allows_no_more() {
    let levels: Vec<_> = spec::library::levels().iter().filter(|level| !level.needs_times()).collect();
    let planned: Vec<_> = levels.iter().filter_map(|level| Some((level, Plan::of(level).ok()?))).collect();
    let mut pairs = Vec::new();
    for (stronger, known) in &planned {
        let weaker =
            planned.iter().filter(|(other, plan)| other.name != stronger.name && known.implies(plan));
        pairs.extend(weaker.map(|(weaker, _)| (*stronger, *weaker)));
    }
    let name =
        |(stronger, weaker): &(&&spec::Level, &&spec::Level)| format!("{} {}", stronger.name, weaker.name);
    let names: Vec<String> = pairs.iter().map(name).collect();
    for expected in ["causal read-your-writes", "causal monotonic-atomic-view", "causal writes-follow-reads"]
    {
        assert!(names.iter().any(|name| name == expected), "{names:?}");
    }
    for seed in 0..300 {
        let mut shape = testkit::generate::Shape::any(&mut testkit::Random::new(seed));
        shape.most_txns = shape.most_txns.min(5);
        let history = testkit::generate::history(seed, &shape);
        let Ok(small) = spec::SmallHistory::from_history(&history, 0) else { continue };
        let holds: Vec<_> =
            levels.iter().map(|level| (&level.name, spec::oracle::holds(&small, level))).collect();
        let holds = |level: &spec::Level| holds.iter().any(|&(name, holds)| *name == level.name && holds);
        for (stronger, weaker) in &pairs {
            let is_contradicted = holds(stronger) && !holds(weaker);
            assert!(!is_contradicted, "seed {seed}: {} holds and {} does not", stronger.name, weaker.name);
        }
    }
}
