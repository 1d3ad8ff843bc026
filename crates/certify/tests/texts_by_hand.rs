//! Claims about levels that are given by their text, written by hand: each false one would pass if one check of the
//! checker were left out, and each true one would be refused if a check asked too much.

use history::{KeyId, OpId, TxnId};
use isoscope_certify::text::plan::Plan;
use isoscope_certify::text::{TextCertificate, check_with_skew};
use spec::{Level, Spec, library};

fn level(text: &str) -> Level {
    match library::level(text) {
        Some(level) => level.clone(),
        None => Spec::parse("own", &format!("level own : {text}")).unwrap().levels.remove(0),
    }
}

fn accepts(history: &str, level: &Level, clock_skew: i64, certificate: &TextCertificate) -> bool {
    let history = formats::notation::parse(history).unwrap();
    check_with_skew(&history, level, certificate, clock_skew).is_ok()
}

/// An order of transactions, and the sources of reads of the first key.
fn holds(order: &[u32], sources: &[(u32, u32)]) -> TextCertificate {
    let source = |&(op, txn): &(u32, u32)| (OpId(op), KeyId(0), Some(TxnId(txn)));
    let order = order.iter().map(|&txn| TxnId(txn)).collect();
    TextCertificate::Holds { order, sources: sources.iter().map(source).collect() }
}

fn violated(txns: &[u32]) -> TextCertificate {
    TextCertificate::Violated { txns: txns.iter().map(|&txn| TxnId(txn)).collect() }
}

#[test]
fn an_order_keeps_real_time_but_for_the_skew() {
    let two = "a: w(x)=1 @[1,2]\nb: w(y)=1 @[5,6]";
    let strict = level("strict-serializable");
    assert!(accepts(two, &strict, 0, &holds(&[0, 1], &[])));
    assert!(!accepts(two, &strict, 0, &holds(&[1, 0], &[])));
    assert!(accepts(two, &strict, 10, &holds(&[1, 0], &[])));
    let unknown = format!("{two} unknown");
    assert!(accepts(&unknown, &strict, 0, &holds(&[0], &[])));
    // The clock of a session has no skew.
    let session = "a: w(x)=1 @[1,2]\na: w(y)=1 @[5,6]";
    let by_clock = level("order = real_time, visible = none");
    assert!(accepts(session, &by_clock, 10, &holds(&[0, 1], &[])));
    assert!(!accepts(session, &by_clock, 10, &holds(&[1, 0], &[])));
}

/// With a skew below 0 a transaction would come after one that it overlaps with.
#[test]
fn a_violation_with_a_skew_below_zero_is_no_violation() {
    let overlapping = "a: w(x)=1 @[1,10]\nb: r(x)=0 @[5,15]";
    let strict = level("strict-serializable");
    assert!(accepts(overlapping, &strict, 0, &holds(&[1, 0], &[])));
    for skew in [-1, -8, i64::MIN, isoscope_certify::Level::LARGEST_CLOCK_SKEW + 1] {
        assert!(!accepts(overlapping, &strict, skew, &violated(&[0, 1])), "{skew}");
        assert!(!accepts(overlapping, &strict, skew, &holds(&[1, 0], &[])), "{skew}");
    }
    let recorded = "clock position\na: w(x)=1 @[0,1]\nb: w(y)=1 @[3,4]";
    assert!(accepts(recorded, &strict, 0, &holds(&[0, 1], &[])));
    assert!(!accepts(recorded, &strict, 5, &holds(&[1, 0], &[])), "places in a recording have no skew");
    assert!(!accepts(recorded, &strict, 5, &holds(&[0, 1], &[])));
}

#[test]
fn what_a_list_shows_is_in_the_order() {
    let list = "init *=nil\na: a(x)=1 unknown\nb: a(x)=2\nc: r(x)=[1 2]";
    let causal = level("causal");
    assert!(accepts(list, &causal, 0, &holds(&[0, 1, 2], &[])));
    assert!(!accepts(list, &causal, 0, &holds(&[1, 2], &[])), "an appender is missing");
    assert!(!accepts(list, &causal, 0, &holds(&[1, 0, 2], &[])), "the list shows another order");
    let unknown = format!("{list} unknown");
    assert!(accepts(&unknown, &causal, 0, &holds(&[1], &[])), "the list counts only if its reader committed");
    assert!(accepts(&unknown, &causal, 0, &holds(&[1, 0], &[])));
}

#[test]
fn elements_that_two_transactions_appended_stand_where_the_order_puts_them() {
    let list = "init *=nil\na: a(x)=1\nb: a(x)=1\nd: a(x)=5\nc: r(x)=[1 5 1]";
    let own = level("order = reads_from, visible = none");
    assert!(accepts(list, &own, 0, &holds(&[0, 2, 1, 3], &[(3, 1)])));
    assert!(accepts(list, &own, 0, &holds(&[1, 2, 0, 3], &[(3, 0)])));
    assert!(!accepts(list, &own, 0, &holds(&[0, 1, 2, 3], &[(3, 1)])), "the list would be [1 1 5]");
    assert!(!accepts(list, &own, 0, &holds(&[0, 2, 1, 3], &[(3, 0)])), "the source left [1]");
}

#[test]
fn a_source_is_named_and_in_the_order() {
    let two = "a: w(x)=1\nb: w(x)=1\nc: r(x)=1 r(x)=1";
    let own = level("order = session, visible = none");
    assert!(accepts(two, &own, 0, &holds(&[0, 1, 2], &[(2, 0), (3, 1)])));
    assert!(accepts(two, &own, 0, &holds(&[0, 1, 2], &[(3, 1), (2, 0)])), "in any order");
    assert!(!accepts(two, &own, 0, &holds(&[0, 1, 2], &[])), "no source is named");
    assert!(!accepts(two, &own, 0, &holds(&[0, 1, 2], &[(2, 0), (3, 2)])), "the reader wrote nothing");
    let unknown = "a: w(x)=1 unknown\nb: r(x)=1";
    assert!(accepts(unknown, &own, 0, &holds(&[0, 1], &[])));
    assert!(!accepts(unknown, &own, 0, &holds(&[1], &[])), "the source is not in the order");
}

#[test]
fn uncommitted_reads_return_what_a_transaction_wrote() {
    let claim = |history: &str, level: &Level, order: &[u32]| accepts(history, level, 0, &holds(order, &[]));
    let recorded = |history: &str| {
        let parsed = formats::notation::parse(history).unwrap();
        spec::recorded::level(&parsed).unwrap()
    };
    let unwritten = "a: r(x)=7 at read-uncommitted\nb: w(y)=1 at causal";
    assert!(!claim(unwritten, &recorded(unwritten), &[0, 1]));
    let aborted = "a: w(x)=7 abort\nb: r(x)=7 at read-uncommitted\nc: w(y)=1 at causal";
    assert!(claim(aborted, &recorded(aborted), &[1, 2]));
    assert!(
        !claim(aborted, &level("causal"), &[1, 2]),
        "the level that was asked counts, not the recorded one"
    );
}

#[test]
fn a_violation_is_shown_by_its_transactions() {
    let fractured = "a: w(x)=1 w(y)=1\nb: r(x)=1 r(y)=0\nc: w(z)=1";
    let atomic = level("read-atomic");
    assert!(accepts(fractured, &atomic, 0, &violated(&[0, 1])));
    assert!(accepts(fractured, &atomic, 0, &violated(&[1, 0, 0])), "in any order, and twice");
    assert!(!accepts(fractured, &atomic, 0, &violated(&[1, 2])));
    assert!(!accepts(fractured, &atomic, 0, &violated(&[0, 1, 9])), "there is no such transaction");
    let unwritten = "a: r(x)=7\nb: w(x)=1";
    assert!(accepts(unwritten, &atomic, 0, &violated(&[0])));
    assert!(!accepts(unwritten, &atomic, 0, &violated(&[1])), "the other one read it");
    // The mark may be there from the beginning.
    let mark = "init *=?\nkeys 1\na: r[1..1]={~1=91}";
    assert!(!accepts(mark, &atomic, 0, &violated(&[0])));
    let two_values = "a: w(x)=1\nb: r(x)=0 r(x)=1";
    let cut = level("cut-isolation");
    assert!(!accepts(two_values, &cut, 0, &holds(&[0, 1], &[])));
    assert!(accepts(two_values, &cut, 0, &violated(&[0, 1])));
}

#[test]
fn the_skew_counts_beside_predicates_too() {
    let own = level("order = reads_from | real_time, visible = earlier");
    let text = "a: r(y)=1 @[0,1]\nb: w(y)=1 p(v = 9)={} @[3,4]";
    assert!(accepts(text, &own, 0, &violated(&[0, 1])));
    assert!(accepts(text, &own, 10, &holds(&[1, 0], &[])));
    assert!(!accepts(text, &own, 10, &violated(&[0, 1])), "the clocks may differ by more");
}

#[test]
fn the_transactions_of_a_violation_are_taken_in_their_order_and_once() {
    let causal = level("causal");
    let session = "a: w(x)=1\na: r(x)=1\na: r(x)=1 w(y)=1\nb: r(y)=1";
    for txns in [&[1, 0][..], &[2, 1, 0], &[1, 2, 0], &[3, 2, 1, 0]] {
        assert!(!accepts(session, &causal, 0, &violated(txns)), "{txns:?}");
    }
    assert!(!accepts("a: r(x)=0 w(x)=1", &causal, 0, &violated(&[0, 0])));
}

#[test]
fn a_writer_that_is_left_out_may_have_been_overwritten() {
    let own = level("no-lost-update");
    let three = "a: w(x)=1 w(y)=1\nc: r(y)=1 w(z)=1\nd: r(z)=1 r(y)=0 w(x)=3";
    assert!(accepts(three, &own, 0, &violated(&[0, 1, 2])));
    let four = three.replace("\nc:", "\nb: w(x)=2\nc:");
    assert!(accepts(&four, &own, 0, &holds(&[0, 2, 1, 3], &[])));
    assert!(!accepts(&four, &own, 0, &violated(&[0, 2, 3])), "b may stand between a and d");
    // Whether e committed is tried, and it did not.
    let five = format!("{four}\ne: r(x)=1 r(y)=0 unknown");
    assert!(accepts(&five, &own, 0, &holds(&[0, 2, 1, 3], &[])));
    assert!(!accepts(&five, &own, 0, &violated(&[0, 2, 3, 4])), "b may stand between a and d");
}

#[test]
fn a_predicate_sees_what_its_own_transaction_wrote() {
    let committed = level("read-committed");
    let own = "init *=nil\na: i(x)=1 p(v = 1)={}";
    for level in [&committed, &level("causal")] {
        assert!(!accepts(own, level, 0, &holds(&[0], &[])));
        assert!(accepts(own, level, 0, &violated(&[0])));
    }
    let unknown = format!("{own} unknown\nb: p(v = 1)={{}}");
    assert!(accepts(&unknown, &committed, 0, &holds(&[1], &[])));
    let other = "init *=nil\na: i(x)=1 p(v = 2)={}";
    assert!(accepts(other, &committed, 0, &holds(&[0], &[])));
    assert!(!accepts(other, &committed, 0, &violated(&[0])));
}

#[test]
fn transactions_of_unknown_outcome_may_all_have_aborted() {
    let atomic = level("read-atomic");
    let text = "a: w(p)=1 w(q)=1\nb: r(p)=1 r(q)=0 w(x)=1 unknown\nc: r(x)=1 unknown";
    assert!(accepts(text, &atomic, 0, &holds(&[0], &[])));
    assert!(!accepts(text, &atomic, 0, &violated(&[0, 1, 2])), "neither b nor c committed");
    let committed = text.replace("r(x)=1 unknown", "r(x)=1");
    assert!(accepts(&committed, &atomic, 0, &violated(&[0, 1, 2])), "c shows that b committed");
}

#[test]
fn a_write_by_predicate_saw_what_it_matched() {
    let text = "init *=nil x=1\na: w(x)=5 w(y)=7\nb: r(y)=7 pw(v = 1)=2~{x}";
    for name in ["read-committed", "read-atomic", "causal"] {
        assert!(!accepts(text, &level(name), 0, &holds(&[0, 1], &[])), "{name}");
        assert!(accepts(text, &level(name), 0, &violated(&[0, 1])), "{name}");
        let after = text.replace("v = 1", "v = 5");
        assert!(accepts(&after, &level(name), 0, &holds(&[0, 1], &[])), "{name}");
    }
}

#[test]
fn the_sources_of_two_keys_are_not_mixed_up() {
    let text = "a: w(x)=1\nb: w(x)=1\nc: w(y)=1\nd: w(y)=1\ne: r(x)=1 r(y)=1";
    let own = level("order = reads_from, visible = none");
    let claim = |of_x: u32, of_y: u32| {
        let order = (0..5).map(TxnId).collect();
        let sources = vec![(OpId(4), KeyId(0), Some(TxnId(of_x))), (OpId(5), KeyId(1), Some(TxnId(of_y)))];
        accepts(text, &own, 0, &TextCertificate::Holds { order, sources })
    };
    assert!(claim(0, 2) && claim(1, 3) && claim(0, 3));
    assert!(!claim(0, 0) && !claim(0, 1) && !claim(2, 2));
}

/// A transaction is no source of its own reads, and stays one of those that others made of the same.
#[test]
fn a_reader_that_writes_the_same_is_a_source_of_others() {
    let own = level("order = reads_from, visible = none");
    let first = "a: r(x)=1 w(x)=1\nb: w(x)=1\nc: w(x)=1\nd: r(x)=1";
    assert!(accepts(first, &own, 0, &holds(&[1, 2, 0, 3], &[(0, 1), (4, 0)])));
    let last = "d: r(x)=1\na: r(x)=1 w(x)=1\nb: w(x)=1\nc: w(x)=1";
    assert!(accepts(last, &own, 0, &holds(&[2, 3, 1, 0], &[(0, 1), (1, 2)])));
    assert!(!accepts(last, &own, 0, &holds(&[2, 3, 1, 0], &[(0, 2), (1, 1)])), "a read from itself");
    let serializable = level("serializable");
    for (text, op) in [
        ("init *=nil 1=5\nkeys 1\na: r[1..1]={} d(1)\nb: d(1)\nc: r[1..1]={}", 3),
        ("init *=nil x=1\na: p(v = 1)={} w(x)=7\nb: w(x)=2\nc: p(v = 1)={}", 3),
    ] {
        assert!(accepts(text, &serializable, 0, &holds(&[1, 0, 2], &[(op, 0)])), "{text}");
        assert!(!accepts(text, &serializable, 0, &holds(&[1, 0, 2], &[(op, 1)])), "{text}");
    }
    for text in [
        "init *=nil 1=5\nkeys 1\nc: r[1..1]={}\na: r[1..1]={} d(1)\nb: d(1)",
        "init *=nil x=1\nc: p(v = 1)={}\na: p(v = 1)={} w(x)=7\nb: w(x)=2",
    ] {
        assert!(accepts(text, &serializable, 0, &holds(&[2, 1, 0], &[(0, 1)])), "{text}");
        assert!(!accepts(text, &serializable, 0, &holds(&[2, 1, 0], &[(0, 2)])), "{text}");
    }
}

#[test]
fn an_initial_value_that_only_an_unknown_transaction_saw_is_open() {
    let causal = level("causal");
    let open = "init *=?\na: r(x)=5 unknown\nc: r(x)=nil\nc: d(x)";
    assert!(!accepts(open, &causal, 0, &violated(&[1, 2])), "a may have aborted");
    let pinned = "init *=?\na: r(x)=7\nb: d(x)\nc: r(x)=nil";
    assert!(accepts(pinned, &causal, 0, &holds(&[0, 1, 2], &[])));
}

#[test]
fn each_of_several_predicates_is_asked_of_each_row() {
    let causal = level("causal");
    let two = "init *=nil x=1\na: w(x)=2\nb: w(x)=9\nc: p(v < 5)={} p(v < 6)={}";
    assert!(accepts(two, &causal, 0, &holds(&[0, 1, 2], &[])), "only b left a row that matches neither");
    let missed =
        "init *=nil x={v: 4}\na: p(v between 1 and 3)={} p(v between 5 and 9)={} p(v between 1 and 4)={}";
    assert!(!accepts(missed, &causal, 0, &holds(&[0], &[])));
    assert!(accepts(&missed.replace("and 4", "and 2"), &causal, 0, &holds(&[0], &[])));
}

#[test]
fn a_range_reads_every_key_between_its_bounds_once() {
    let atomic = level("read-atomic");
    let text = "init *=nil\nkeys 3 1 2\na: i(1)=5 i(2)=6\nb: r[1..2]={1=5}";
    assert!(!accepts(text, &atomic, 0, &holds(&[0, 1], &[])), "2 is missing");
    assert!(accepts(text, &atomic, 0, &violated(&[0, 1])));
    let rows = |rows: &str| text.replace("{1=5}", rows);
    assert!(accepts(&rows("{1=5 2=6}"), &atomic, 0, &holds(&[0, 1], &[])));
    assert!(accepts(&rows("{2=6 1=5}"), &atomic, 0, &holds(&[0, 1], &[])));
    for wrong in ["{1=5 2=6 1=5}", "{1=5 1=5 2=6}", "{1=5 2=6 3=7}"] {
        assert!(!accepts(&rows(wrong), &atomic, 0, &holds(&[0, 1], &[])), "{wrong}");
    }
}

#[test]
fn a_predicate_returns_each_row_that_matches_once() {
    let text = "init *=nil x=1 y=1 z=2\na: p(v = 1)={x=1 y=1}";
    for name in ["read-committed", "causal"] {
        let claim = |rows: &str| {
            let text = text.replace("{x=1 y=1}", rows);
            accepts(&text, &level(name), 0, &holds(&[0], &[]))
        };
        assert!(claim("{x=1 y=1}") && claim("{y=1 x=1}"), "{name}");
        for wrong in ["{x=1 y=1 x=1}", "{x=1 x=1 y=1}", "{x=1 y=1 z=2}", "{x=1}"] {
            assert!(!claim(wrong), "{name}: {wrong}");
        }
    }
    let changed = "init *=nil x=1 y=1\na: pw(v = 1)=2~{y x}\nb: p(v = 2)={y=2 x=2}";
    assert!(accepts(changed, &level("causal"), 0, &holds(&[0, 1], &[])));
    for unsupported in ["init *=nil\na: a(x)=1\nb: p(v = 1)={}", "init *=nil\na: w(x)=1\nb: p(\"v >\")={}"] {
        assert!(!accepts(unsupported, &level("causal"), 0, &holds(&[0, 1], &[])), "{unsupported}");
    }
}

#[test]
fn what_a_transaction_that_reads_anything_wrote_counts() {
    let claim = |text: &str, order: &[u32]| {
        let history = formats::notation::parse(text).unwrap();
        let level = spec::recorded::level(&history).unwrap();
        check_with_skew(&history, &level, &holds(order, &[]), 0).is_ok()
    };
    assert!(claim("init *=nil x=1\na: d(x) at read-uncommitted\nb: r(x)=nil at causal", &[0, 1]));
    assert!(!claim("init *=nil x=1\na: d(x) at read-uncommitted\nb: r(x)=2 at causal", &[0, 1]));
    let matched = "init *=nil x=1\na: pw(v = 7)=2~{x} at read-uncommitted\nb: r(x)=2 at causal";
    assert!(claim(matched, &[0, 1]), "it may have matched what was never committed");
    assert!(claim("a: r(x)=7! w(x)=1 at causal\nb: r(x)=1 at causal", &[0, 1]), "what failed says nothing");
    assert!(!claim("a: r(x)=7! w(x)=1 at causal\nb: r(x)=2 at causal", &[0, 1]));
}

#[test]
fn a_list_of_which_not_all_members_are_certain_has_a_source() {
    let causal = level("causal");
    let open = "init *=nil\na: a(x)=1\nb: a(x)=2\nc: a(x)=2 a(x)=3\nd: r(x)=[1 2 3]";
    assert!(accepts(open, &causal, 0, &holds(&[0, 2, 3, 1], &[(4, 2)])));
    assert!(!accepts(open, &causal, 0, &holds(&[0, 2, 3, 1], &[(4, 1)])));
    let own = level("order = reads_from, visible = none");
    let twice = "init *=nil\na: a(x)=1\nb: a(x)=1\nd: a(x)=5\nc: r(x)=[1 5 1]";
    assert!(!accepts(twice, &own, 0, &holds(&[2, 0, 1, 3], &[(3, 1)])), "the list would be [5 1 1]");
    let unknown =
        "init *=nil\na: a(x)=1\nb: a(x)=2\ne: a(x)=3\nc: r(x)=[1 2 3] unknown\nd: r(x)=[1 2] unknown";
    assert!(accepts(unknown, &own, 0, &holds(&[0, 1, 2, 4], &[])));
    assert!(!accepts(unknown, &own, 0, &holds(&[1, 0, 2, 4], &[])), "d saw 1 before 2");
}

#[test]
fn a_write_by_predicate_changes_what_its_transaction_left() {
    let text =
        "init *=nil\na: w(x)={u: 1 v: 1} pw(u = 1)={v: 2}~{x} pw(u = 1)={w: 3}~{x}\nb: r(x)={u: 1 v: 2 w: 3}";
    assert!(accepts(text, &level("causal"), 0, &holds(&[0, 1], &[])));
    assert!(!accepts(&text.replace("v: 2 w: 3}", "v: 1 w: 3}"), &level("causal"), 0, &holds(&[0, 1], &[])));
}

/// An order with one source, or none, for a read of the first key.
fn with_source(order: &[u32], op: u32, key: u32, source: Option<u32>) -> TextCertificate {
    let order = order.iter().map(|&txn| TxnId(txn)).collect();
    TextCertificate::Holds { order, sources: vec![(OpId(op), KeyId(key), source.map(TxnId))] }
}

#[test]
fn a_row_that_was_not_matched_came_from_a_writer_that_left_another_one() {
    let committed = level("read-committed");
    let itself = "init *=nil x=1\na: p(v = 1)={} w(x)=2";
    assert!(!accepts(itself, &committed, 0, &with_source(&[0], 0, 0, Some(0))), "it wrote it later");
    assert!(!accepts(itself, &committed, 0, &with_source(&[0], 0, 0, None)), "the initial row matches");
    let another = "init *=nil x=1\na: w(y)=1\nb: p(v = 1)={y=1}";
    assert!(!accepts(another, &committed, 0, &with_source(&[0, 1], 1, 0, Some(0))), "a did not write x");
    let right = "init *=nil x=1\na: w(x)=2\nb: p(v = 1)={}";
    assert!(accepts(right, &committed, 0, &with_source(&[0, 1], 1, 0, Some(0))));
    let nothing = "init *=nil x=2\na: p(v = 1)={}";
    assert!(accepts(nothing, &committed, 0, &with_source(&[0], 0, 1, None)), "there is no such key");
}

#[test]
fn the_last_visible_writer_of_a_row_is_compared_with_a_predicate() {
    let committed = level("read-committed");
    for reads in ["r(y)=1 r(z)=1", "r(z)=1 r(y)=1"] {
        let text = format!("init *=nil\na: w(x)=1 w(y)=1\nb: w(x)=5 w(z)=1\nc: {reads} p(v = 1)={{y=1 z=1}}");
        assert!(accepts(&text, &committed, 0, &holds(&[0, 1, 2], &[])), "{reads}");
        assert!(!accepts(&text, &committed, 0, &holds(&[1, 0, 2], &[])), "{reads}");
    }
    let columns = "init *=nil x={u: 1 v: 9}\na: p(u = 1)={x={u: 1 v: 9}} p(v = 9)={}";
    assert!(!accepts(columns, &committed, 0, &holds(&[0], &[])));
    let fractured = "a: w(x)=1 w(y)=1\nb: r(x)=1 r(y)=0 p(v = 9)={}";
    assert!(!accepts(fractured, &committed, 0, &holds(&[0, 1], &[])), "reads beside predicates count");
}

#[test]
fn recorded_versions_put_writers_in_order() {
    let own = level("order = reads_from, visible = none");
    let unrecorded = "a: w(x)=1\nb: r(x)=1^5";
    assert!(!accepts(unrecorded, &own, 0, &violated(&[1])), "the write may have this version");
    let same = "a: w(x)=1^5\nb: w(x)=2^5";
    assert!(!accepts(same, &own, 0, &holds(&[0, 1], &[])) && !accepts(same, &own, 0, &holds(&[1, 0], &[])));
    let unknown = "a: w(x)=1^1\nb: w(x)=2^2 unknown\nc: w(x)=3^3";
    assert!(accepts(unknown, &own, 0, &holds(&[0, 2], &[])));
    assert!(!accepts(unknown, &own, 0, &holds(&[2, 0], &[])));
    let initial = "a: r(x)=0^1\nb: r(x)=0^2";
    assert!(!accepts(initial, &own, 0, &holds(&[0, 1], &[])), "the initial state has one version");
}

#[test]
fn a_writer_of_many_keys_is_met_by_the_keys_that_were_read() {
    let own = level("order = none, visible = reads_from");
    let claim = |reads: &str| {
        let text = format!(
            "a: w(k1)=1 w(k2)=1 w(k3)=1 w(k4)=1 w(k5)=1 w(k6)=1 w(k7)=1 w(k8)=1 w(k9)=1\ne: w(k2)=2 w(q)=2\n\
             b: {reads}\nc: r(z)=1\nd: w(z)=1"
        );
        accepts(&text, &own, 0, &holds(&[0, 1, 2, 3, 4], &[]))
    };
    assert!(claim("r(k1)=1 r(k2)=1") && claim("r(k1)=1 r(k2)=2") && claim("r(k1)=1 r(q)=0"));
    assert!(!claim("r(k1)=1 r(k2)=0"), "a is visible, and comes after the initial state");
}

#[test]
fn a_reader_of_many_stale_rows_is_no_exception() {
    let atomic = level("read-atomic");
    let all = |op: &str, from: usize, value: u32| -> String {
        (from..40).map(|key| format!(" {op}(k{key})={value}")).collect()
    };
    let written = format!("a:{}", all("w", 0, 1));
    let stale = format!("{written}\nb: r(k0)=1{}", all("r", 1, 0));
    assert!(!accepts(&stale, &atomic, 0, &holds(&[0, 1], &[])));
    assert!(accepts(&format!("{written}\nb:{}", all("r", 0, 0)), &atomic, 0, &holds(&[1, 0], &[])));
    assert!(accepts(&format!("{written}\nb:{}", all("r", 0, 0)), &atomic, 0, &holds(&[0, 1], &[])));
}

/// A part of a text that fits no class is never passed over.
#[test]
fn a_text_is_refused_wherever_the_part_is_that_fits_no_class() {
    let more = "(session ; reads_from)";
    for order in [more.to_owned(), format!("{more} | session"), format!("session | {more}")] {
        let own = level(&format!("order = {order}, visible = session"));
        assert!(Plan::of(&own).is_err(), "{order}");
        assert!(!accepts("a: w(x)=1", &own, 0, &holds(&[0], &[])), "{order}");
    }
    let less = "(session - reads_from)";
    for visible in [less.to_owned(), format!("{less} | session"), format!("session | {less}")] {
        let own = level(&format!("order = session | reads_from, visible = {visible}"));
        assert!(Plan::of(&own).is_err(), "{visible}");
    }
}

/// A part that two recorded levels share counts for the transactions of both.
#[test]
fn a_part_counts_for_every_level_that_has_it() {
    let both = "visible = ((session | reads_from) :> @causal) | ((session | reads_from) :> @read-atomic)";
    let plan = Plan::of(&level(both)).unwrap();
    for readers in &plan.readers {
        let told = format!("{readers:?}");
        assert!(told.contains("causal") && told.contains("read-atomic"), "{told}");
    }
}

/// A plan implies another one only if its order contains reads-from, and is local only then.
#[test]
fn an_order_without_reads_from_promises_less() {
    let plan = |text: &str| Plan::of(&level(text)).unwrap();
    let weaker = plan("order = session | reads_from, visible = session");
    assert!(plan("order = session | reads_from, visible = session").implies(&weaker));
    assert!(!plan("order = session, visible = session").implies(&weaker));
    assert!(plan("order = session | reads_from, visible = earlier").is_local());
    assert!(!plan("order = session, visible = earlier").is_local());
}

/// What happened before in real time is visible only where the text says so.
#[test]
fn real_time_shows_nothing_to_a_level_without_it() {
    let apart = "a: w(x)=1 @[0,1]\nb: w(x)=2 @[2,3]\nc: r(x)=1 @[4,5]\nd: r(x)=2 @[6,7]";
    let causal = level("causal");
    assert!(accepts(apart, &causal, 0, &holds(&[0, 2, 1, 3], &[])));
    assert!(!accepts(apart, &causal, 0, &violated(&[0, 1, 2, 3])));
    let in_time =
        level("order = session | reads_from | real_time, visible = (session | reads_from | real_time)+");
    assert!(accepts(apart, &in_time, 0, &violated(&[0, 1, 2, 3])));
}

/// The rows of one range were read at once.
#[test]
fn rows_of_one_range_are_not_before_one_another() {
    let range = "init *=0\nkeys 1 2\na: w(1)=1 w(2)=1\nb: r[1..2]={1=1 2=0}";
    let committed = level("read-committed");
    assert!(accepts(range, &committed, 0, &holds(&[0, 1], &[])));
    assert!(!accepts(range, &committed, 0, &violated(&[0, 1])));
    let by_keys = "init *=0\na: w(1)=1 w(2)=1\nb: r(1)=1 r(2)=0";
    assert!(accepts(by_keys, &committed, 0, &violated(&[0, 1])));
}

/// Two keys that no transaction read do not make their writers conflict, whichever of them has the lower number.
#[test]
fn writers_of_different_keys_do_not_conflict() {
    let parallel = level("parallel-si");
    for (first, second) in [("p", "q"), ("q", "p")] {
        let fork = format!(
            "init p=0 q=0 x=0 y=0\na: w({first})=1 w(x)=1\nb: w({second})=1 w(y)=1\nc: r(x)=1 r(y)=0\nd: r(x)=0 r(y)=1"
        );
        assert!(accepts(&fork, &parallel, 0, &holds(&[0, 2, 1, 3], &[])), "{fork}");
        assert!(!accepts(&fork, &parallel, 0, &violated(&[0, 1, 2, 3])), "{fork}");
    }
    let descending = "init p=0 q=0 r=0 x=0 y=0\na: w(r)=1 w(x)=1\nb: w(q)=1 w(y)=1\nc: r(x)=1 r(y)=0\nd: r(x)=0 r(y)=1\ne: w(p)=1";
    assert!(!accepts(descending, &parallel, 0, &violated(&[0, 1, 2, 3, 4])));
    let conflict = "a: w(p)=1 w(x)=1\nb: w(p)=2 w(y)=1\nc: r(x)=1 r(y)=0\nd: r(x)=0 r(y)=1";
    assert!(accepts(conflict, &parallel, 0, &violated(&[0, 1, 2, 3])));
}
