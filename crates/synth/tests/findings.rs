//! What the literature found, and what the published tool got wrong, as tests.

mod common;

use std::collections::BTreeSet;

use common::{confirm, is_found, level, problem, scope};
use expect_test::{Expect, expect};
use isoscope_synth::{Bounds, Options, Problem, Relation, Sessions, Synthesis, compare, synth};

fn smallest(problem: &Problem<'_>) -> isoscope_synth::Found {
    match synth(problem, Bounds::default()) {
        Synthesis::Found(found) => {
            confirm(problem, &found);
            *found
        }
        Synthesis::None(none) => panic!("{}", none.report()),
    }
}

fn check(allow: &str, forbid: &str, expected: Expect) {
    let problem = problem(allow, forbid, Options::default());
    expected.assert_eq(&smallest(&problem).history.to_string());
}

#[test]
fn patterns_without_sessions_are_not_read_atomic() {
    check(
        "tap-ra",
        "ra-b",
        expect![[r#"
        a: w(x)=1
        a: r(x)=0
    "#]],
    );
    let one_each = Problem {
        options: Options { blind_writes: false, ..Options::default() },
        ..problem("tap-ra", "ra-b", Options::default())
    };
    assert!(is_found(&one_each, scope(2, 1, 2)));
}

#[test]
fn what_an_incomplete_search_misses() {
    assert!(is_found(&problem("tap-ra", "ra-c", Options::default()), scope(2, 1, 2)));
    assert!(is_found(&problem("tap-ra", "cc-c", Options::isolde_compatible()), scope(2, 1, 2)));
    assert!(is_found(&problem("update-ser-b", "update-ser-c", Options::isolde_compatible()), scope(2, 1, 5)));
    assert!(is_found(&problem("psi-c,pc-c", "si-c", Options::default()), scope(4, 2, 3)));
    assert!(!is_found(&problem("psi-c,pc-c", "si-c", Options::isolde_compatible()), scope(4, 3, 5)));
    assert!(!is_found(&problem("psi-c,pc-c", "si-c", Options::isolde_compatible()), scope(5, 3, 5)));
}

#[test]
fn the_read_only_anomaly() {
    let problem = problem("si-b,update-ser-b", "ser-b", Options::default());
    let Synthesis::Found(found) = isoscope_synth::synth_within(&problem, scope(3, 2, 2)) else {
        panic!("three are enough")
    };
    confirm(&problem, &found);
    assert!(!is_found(&problem, scope(2, 2, 3)));
    assert_eq!(found.history.txns.iter().filter(|txn| txn.writes.is_empty()).count(), 1);
    let orders: Vec<&Vec<usize>> = found.allowed.iter().map(|explanation| &explanation.order).collect();
    assert!(orders.iter().all(|order| order.len() == 3), "both levels show their commit order: {orders:?}");
    assert_ne!(orders[0], orders[1], "one order for both would make it serializable");
}

#[test]
fn lost_updates_and_update_atomicity() {
    let found = smallest(&problem("nlu-c", "ua-c", Options::default()));
    assert!(found.history.txns.len() <= 3);
    assert!(is_found(&problem("nlu-c", "ua-c", Options::default()), scope(3, 2, 4)));
    for txns in 1..=4 {
        assert!(!is_found(&problem("ua-c", "nlu-c", Options::default()), scope(txns, 2, 4)));
    }
}

#[test]
fn repairs_of_the_patterns() {
    let at = scope(4, 3, 3);
    for (allow, forbid, expected) in [
        ("tap-ra-v1", "ra-b", true),
        ("tap-ra-v3", "ra-b", true),
        ("ra-b", "tap-ra-v3", false),
        ("ra-b", "tap-ra-v1", true),
        ("ra-b", "tap-ra-v2", true),
        ("tap-ra-v2", "ra-b", false),
        ("tap-ra-fixed", "ra-b", false),
        ("ra-b", "tap-ra-fixed", false),
    ] {
        let found = is_found(&problem(allow, forbid, Options::default()), at);
        assert_eq!(found, expected, "{{{allow}, !{forbid}}}");
    }
}

#[test]
fn the_frameworks_define_the_same_levels() {
    for (first, second) in [
        ("ra-b", "ra-c"),
        ("cc-b", "cc-c"),
        ("cc-b", "tap-cc"),
        ("pc-b", "pc-c"),
        ("si-b", "si-c"),
        ("ser-b", "ser-c"),
        ("ra-b", "ra-history"),
        ("cc-b", "cc-history"),
        ("rc-b", "read-committed"),
        ("session-snapshot-isolation", "si-b"),
        ("session-serializable", "ser-c"),
    ] {
        let bounds = Bounds { most_txns: Some(4), ..Bounds::default() };
        let comparison = compare(level(first), level(second), Options::default(), bounds);
        assert_eq!(comparison.relation(), Relation::Equivalent, "{first} and {second}");
    }
}

#[test]
fn famous_anomalies_are_the_smallest_histories() {
    check(
        "session-snapshot-isolation",
        "session-serializable",
        expect![[r#"
        a: r(x)=0 w(y)=1
        b: r(y)=0 w(x)=1
    "#]],
    );
    check(
        "prefix",
        "session-snapshot-isolation",
        expect![[r#"
        a: r(x)=0 w(x)=1
        b: r(x)=0 w(x)=2
    "#]],
    );
    check(
        "parallel-si",
        "prefix",
        expect![[r#"
        a: w(x)=1
        a: r(y)=0
        b: w(y)=1
        b: r(x)=0
    "#]],
    );
    check(
        "read-atomic",
        "causal",
        expect![[r#"
        a: w(x)=1
        b: r(x)=1
        b: r(x)=0
    "#]],
    );
    check(
        "read-committed",
        "read-atomic",
        expect![[r#"
        a: w(x)=1
        a: r(x)=0
    "#]],
    );
    check(
        "serializable",
        "session-serializable",
        expect![[r#"
        a: r(x)=1
        a: w(x)=1
    "#]],
    );
    check(
        "generalized-si",
        "strong-si",
        expect![[r#"
        a: w(x)=1
        b: r(x)=0
    "#]],
    );
}

#[test]
fn a_report_tells_the_whole_story() {
    let problem = problem("session-snapshot-isolation", "session-serializable", Options::default());
    expect![[r#"
        a: r(x)=0 w(y)=1
        b: r(y)=0 w(x)=1

        session-snapshot-isolation allows it, in the order b a

        session-serializable forbids it: these contradict one another
          if a sees b, b comes before the initial state: a read x from the initial state, and b wrote x too
          if b sees a, a comes before the initial state: b read y from the initial state, and a wrote y too
    "#]]
    .assert_eq(&smallest(&problem).report(&problem));
}

#[test]
fn session_order_may_be_partial() {
    let options = Options { sessions: Sessions::PartialOrder, ..Options::default() };
    for (allow, forbid) in [("ra-b", "cc-b"), ("cc-b", "pc-b"), ("si-b", "ser-b")] {
        assert!(is_found(&problem(allow, forbid, options), scope(4, 2, 5)));
        assert!(!is_found(&problem(forbid, allow, options), scope(4, 2, 5)));
    }
}

/// Without blind writes a transaction that loses no update read the version before its own, so reads lead from each
/// version to all later ones.
#[test]
fn versions_are_a_chain_of_reads_where_no_update_is_lost() {
    let options = Options { blind_writes: false, ..Options::default() };
    assert!(!is_found(&problem("causal,no-lost-update", "parallel-si", options), scope(8, 3, 9)));
    assert!(!is_found(&problem("prefix,no-lost-update", "update-atomic", options), scope(8, 3, 9)));
    assert!(is_found(&problem("causal,no-lost-update", "prefix", options), scope(4, 2, 5)));
}

#[test]
fn a_bound_on_objects_does_not_keep_them_all() {
    let problem = problem("snapshot-isolation", "serializable", Options::default());
    let bounds = Bounds { txns: Some(4), objects: Some(3), ..Bounds::default() };
    let Synthesis::Found(found) = synth(&problem, bounds) else { panic!("write skew exists") };
    confirm(&problem, &found);
    let operations = found.history.txns.iter().flat_map(|txn| txn.reads.iter().chain(&txn.writes));
    let objects: BTreeSet<usize> = operations.clone().map(|&(object, _)| object).collect();
    assert_eq!((objects.len(), operations.count()), (2, 6));
}
