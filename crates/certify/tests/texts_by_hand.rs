//! Claims about levels that are given by their text, written by hand: each false one would pass if one check of the
//! checker were left out, and each true one would be refused if a check asked too much.

use history::{KeyId, OpId, TxnId};
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
