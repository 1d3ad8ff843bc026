//! Histories that were once accused falsely, or judged differently by two paths. Each is named after what broke.

use expect_test::{Expect, expect};
use isoscope::{Check, LevelId};

/// All answers, a line for each verdict with its levels; levels of real time only where there are times.
fn answers(text: &str, threads: usize) -> String {
    let history = isoscope::parse(text).unwrap();
    let is_answerable = |level: &LevelId| history.has_times() || !level.needs_times();
    let levels = LevelId::ALL.into_iter().filter(is_answerable);
    let report = Check::new(&history).levels(levels.collect()).threads(threads).run().unwrap();
    let mut lines = String::new();
    for word in ["holds", "violated", "undecided"] {
        let of_word = report.answers.iter().filter(|answer| answer.decision.word() == word);
        let names: Vec<&str> = of_word.map(|answer| answer.level.name()).collect();
        if !names.is_empty() {
            lines += &format!("{word}: {}\n", names.join(" "));
        }
    }
    lines
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&answers(text, 1));
    assert_eq!(answers(text, 5), answers(text, 1), "with five threads");
}

#[test]
fn a_predicate_without_a_meaning_is_no_accusation() {
    check(
        "init *=nil\na: i(k)=0\nb: pw([:foo 1])=7\nc: r(k)=7\n",
        expect![[r#"
        undecided: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation read-uncommitted
    "#]],
    );
}

#[test]
fn a_predicate_write_beside_a_list_is_no_accusation() {
    check(
        "init *=nil\na: i(k)=0\nb: pw(v >= 0)=7\nc: r(k)=7\nd: a(l)=1\n",
        expect![[r#"
            holds: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation read-uncommitted
        "#]],
    );
}

#[test]
fn eleven_additions_by_predicate_are_not_a_thin_air_read() {
    let additions = (0..11).map(|bit| format!("s{bit}: pw(v >= 0)={{\"+\": {}}}\n", 1 << bit));
    let text = format!("init *=nil\na: i(k)=0\n{}z: r(k)=2047\n", additions.collect::<String>());
    check(
        &text,
        expect![[r#"
            holds: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation read-uncommitted
        "#]],
    );
}

#[test]
fn a_version_that_was_recorded_for_one_write_only_is_no_intermediate_read() {
    check(
        "a: w(x)=1^5\nb: w(x)=2\nc: r(x)=2^6\n",
        expect![[r#"
            holds: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation read-uncommitted
        "#]],
    );
}

#[test]
fn an_element_of_the_initial_list_is_not_out_of_thin_air() {
    check(
        "init x=[3] *=nil\na: {a(x)=11 r(x)=[3 11]}\n",
        expect![[r#"
            holds: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation read-uncommitted
        "#]],
    );
}

#[test]
fn an_absent_row_may_be_the_unknown_initial_state_although_it_is_deleted_later() {
    check(
        "init *=?\na: {r(1)=90} unknown\na: {r(1)=nil}\na: {d(1) w(1)=2}\n",
        expect![[r#"
            holds: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation read-uncommitted
        "#]],
    );
    check(
        "init *=?\na: {r(x)=nil d(x)}\n",
        expect![[r#"
        holds: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation read-uncommitted
    "#]],
    );
    check(
        "init *=?\nb: r(x)=nil\na: {r(x)=90} unknown\nc: {d(x)} abort\n",
        expect![[r#"
            holds: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation read-uncommitted
        "#]],
    );
}

#[test]
fn a_deleted_row_may_be_the_unknown_initial_state() {
    check(
        "init *=?\nkeys 1 2\na: {r[1..2]={~1=2 2=91}} @[?,5]\n",
        expect![[r#"
            holds: strict-serializable session-serializable serializable strong-si strong-session-si generalized-si session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation read-uncommitted
        "#]],
    );
}

/// Found by the trust harness (seed 20261118491973): no delete of the history leaves a mark, but a read returned one.
#[test]
fn a_mark_that_only_a_read_shows_may_be_there_from_the_beginning() {
    check(
        "init *=?\na: r[..]={} r[..]={~1=0}\n",
        expect![[r#"
        holds: read-uncommitted
        undecided: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation
    "#]],
    );
    check(
        "init *=?\na: r[..]={} r(1)=0\nb: r[..]={~1=0}\n",
        expect![[r#"
        holds: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation read-uncommitted
    "#]],
    );
}

#[test]
fn a_list_that_was_written_as_a_value_is_not_out_of_thin_air() {
    check(
        "a: w(x)=[1]\nb: r(x)=[1]\n",
        expect![[r#"
            holds: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation read-uncommitted
        "#]],
    );
}

#[test]
fn rows_that_a_predicate_write_named_are_written_whatever_the_initial_values() {
    check(
        "init *=?\na: pw(true)=1~{x}\nb: {r(x)=5} {r(x)=1}\n",
        expect![[r#"
            holds: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation read-uncommitted
        "#]],
    );
}

#[test]
fn the_initial_value_that_an_unknown_transaction_read_counts_at_every_level() {
    check(
        "init *=?\na: {r(y)=91 w(y)=2} unknown\na: {r(y)=2}\n",
        expect![[r#"
        holds: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation read-uncommitted
    "#]],
    );
}

#[test]
fn a_read_of_an_aborted_write_violates_all_but_read_uncommitted() {
    check(
        "a: w(x)=1 abort\nb: r(x)=1\n",
        expect![[r#"
        holds: read-uncommitted
        violated: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation
    "#]],
    );
}

#[test]
fn a_read_of_an_aborted_write_is_judged_alike_in_a_large_history() {
    let more: String = (0..100).map(|number| format!("c: w(y)={}\n", number + 10)).collect();
    check(
        &format!("a: w(x)=1 abort\nb: r(x)=1\n{more}"),
        expect![[r#"
        holds: read-uncommitted
        violated: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation
    "#]],
    );
}

#[test]
fn a_value_that_no_transaction_wrote_violates_read_uncommitted_too() {
    check(
        "a: w(x)=1\nb: r(x)=5\n",
        expect![[r#"
        violated: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation read-uncommitted
    "#]],
    );
}

#[test]
fn prefix_of_a_list_follows_from_a_stronger_level_with_any_number_of_threads() {
    check(
        "a: a(y)=1\nb: r(y)=[1]\n",
        expect![[r#"
        holds: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation read-uncommitted
    "#]],
    );
}

#[test]
fn versions_beside_predicates_are_not_ignored() {
    check(
        "init *=nil m0={a: 0, b: 0}\na: w(x)=0^2\na: p(b = 0)={m0={a: 0, b: 0}}\nb: r(x)=0^0\n",
        expect![[r#"
            holds: read-uncommitted
            violated: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix
            undecided: parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation
        "#]],
    );
}

#[test]
fn a_list_in_a_range_is_not_its_transactions_own_write() {
    check(
        "init *=nil\na: a(x)=0 r[..]={}\n",
        expect![[r#"
            holds: read-uncommitted
            violated: session-serializable serializable session-snapshot-isolation snapshot-isolation
            undecided: prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation
        "#]],
    );
}

#[test]
fn a_refutation_with_a_repeated_literal_is_accepted() {
    check(
        "a: w(x)=0\na: w(x)=1\na: r(x)=1 r(x)=0\na: w(x)=1\n",
        expect![[r#"
        holds: update-serializable read-uncommitted
        violated: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si causal update-atomic no-lost-update read-atomic read-committed cut-isolation
    "#]],
    );
}

#[test]
fn an_unknown_append_that_a_later_read_missed_is_not_scheduled_before_it() {
    let unknown = "b: w(x)=1 r(m0)=[] a(m0)=3 unknown\n";
    check(
        &format!(
            "init *=0 m0=nil\na: a(m0)=0 a(m0)=1 a(m0)=2\na: r(m0)=[0 1 2]\na: r(x)=1\na: w(x)=1\n{unknown}"
        ),
        expect![[r#"
            holds: serializable snapshot-isolation prefix causal read-atomic read-committed cut-isolation read-uncommitted
            violated: session-serializable session-snapshot-isolation parallel-si update-serializable update-atomic no-lost-update
        "#]],
    );
}

#[test]
fn an_unknown_writer_does_not_overlap_a_known_later_one() {
    check(
        "init m=1 k=9\na: {w(m)=0} unknown\na: {w(m)=0} unknown\na: {r(m)=0 r(k)=9}\nb: {w(k)=5 r(m)=1 w(m)=2}\n",
        expect![[r#"
            holds: prefix update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation read-uncommitted
            violated: session-serializable serializable session-snapshot-isolation snapshot-isolation parallel-si
        "#]],
    );
}

#[test]
fn an_unknown_write_beside_a_list_is_judged_at_prefix() {
    check(
        "init *=0 m0=nil\na: w(y)=0 unknown\na: a(m0)=0\nb: a(m0)=1 r(m0)=[0 1]\nb: w(y)=[0] w(x)=1\nc: r(y)=0 r(x)=1\n",
        expect![[r#"
            holds: serializable snapshot-isolation update-serializable read-committed cut-isolation read-uncommitted
            violated: session-serializable session-snapshot-isolation prefix parallel-si causal update-atomic no-lost-update read-atomic
        "#]],
    );
}

/// The text of a level is asked where its engine declines; the text then asked the same engine again, without end.
#[test]
fn a_text_that_is_asked_instead_of_an_engine_does_not_ask_for_itself() {
    check(
        "init *=?\na: d(1)=91\nb: r(1)=nil r[..1]={} r(1)=91\nb: r(m0)=[0] abort\n",
        expect![[r#"
            holds: update-serializable read-committed read-uncommitted
            violated: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si causal update-atomic no-lost-update read-atomic cut-isolation
        "#]],
    );
}

/// The mark of a deleted row is returned where the row is: not outside of the range that was read, and not twice.
#[test]
fn a_mark_outside_of_its_range_is_not_explained_by_the_delete() {
    check(
        "init *=nil\na: a(y)=0 a(y)=1 d(m0)=0 r[..2]={~m0=0} unknown\nb: r(y)=[0 1]\n",
        expect![[r#"
            holds: read-uncommitted
            violated: session-serializable serializable session-snapshot-isolation snapshot-isolation
            undecided: prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation
        "#]],
    );
    check(
        "init *=nil\na: w(y)=1 d(x)=0 r[..]={~x=0 ~x=0} unknown\nb: r(y)=1\n",
        expect![[r#"
            holds: read-uncommitted
            violated: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix
            undecided: parallel-si update-serializable causal update-atomic no-lost-update read-atomic read-committed cut-isolation
        "#]],
    );
}

/// What T1 wrote is not excluded at levels that let a row change between two reads: only there may T1 have been so.
#[test]
fn a_row_that_changed_between_two_reads_accuses_no_reader_of_the_next_write() {
    check(
        "init *=nil 2={a: 2, b: 2}\n\
         a: p(true)={2={a: 2, b: 2}} p(true)={2={a: 3, b: 2}} w(2)={a: 0, b: 1}\n\
         b: p(b != 0 or b = 2)={2={a: 2, b: 2}} pw(b != 0 or b = 2)={a: {\"+\": 1}}<\n\
         b: r(2)={a: 0, b: 1}\n",
        expect![[r#"
            holds: read-committed read-uncommitted
            violated: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si update-serializable causal update-atomic no-lost-update read-atomic cut-isolation
        "#]],
    );
    check(
        "init *=nil 2=2\na: p(true)={2=2} pw(true)={\"+\": 1}\nb: w(2)=5\nc: r(2)=6\n",
        expect![[r#"
            violated: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si causal update-atomic no-lost-update read-atomic cut-isolation
            undecided: update-serializable read-committed read-uncommitted
        "#]],
    );
}

/// The checker refused the certificate: it took a deleted row without a mark for one that cannot be there from the
/// beginning.
#[test]
fn a_deleted_row_without_a_mark_may_be_there_from_the_beginning() {
    check(
        "init *=?\na: d(3)=0 i(1)=0\na: r[..]={1=0 ~3=nil}\n",
        expect![[r#"
        holds: update-serializable read-committed cut-isolation read-uncommitted
        violated: session-serializable serializable session-snapshot-isolation snapshot-isolation prefix parallel-si causal update-atomic no-lost-update read-atomic
    "#]],
    );
}
