//! Known histories, and which levels allow them.

use isoscope_spec::{SmallHistory, SmallTimes, library, oracle};

#[track_caller]
fn check(text: &str, allowed: &[&str], forbidden: &[&str]) {
    let history = SmallHistory::parse(text).unwrap();
    check_history(&history, allowed, forbidden);
}

#[track_caller]
fn check_history(history: &SmallHistory, allowed: &[&str], forbidden: &[&str]) {
    for (names, expected) in [(allowed, true), (forbidden, false)] {
        for name in names {
            let level = library::level(name).unwrap_or_else(|| panic!("no level {name}"));
            assert_eq!(oracle::holds(history, level), expected, "{name} on\n{history}");
        }
    }
}

#[test]
fn write_skew() {
    check(
        "a: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1",
        &["si", "session-si", "prefix"],
        &["ser", "session-ser"],
    );
}

#[test]
fn lost_update() {
    check("a: r(x)=0 w(x)=1\nb: r(x)=0 w(x)=2", &["prefix", "causal"], &["si", "psi", "ua", "nlu", "ser"]);
}

#[test]
fn long_fork() {
    check("a: w(x)=1\nb: w(y)=1\nc: r(x)=1 r(y)=0\nd: r(x)=0 r(y)=1", &["psi", "causal"], &["prefix", "si"]);
}

#[test]
fn causality_violation() {
    check("a: w(x)=1\nb: r(x)=1 w(y)=1\nc: r(x)=0 r(y)=1", &["ra", "rc"], &["causal", "prefix"]);
}

#[test]
fn fractured_read() {
    check("a: w(x)=1 w(y)=1\nb: r(x)=0 r(y)=1", &["rc"], &["ra"]);
    check("a: w(x)=1 w(y)=1\nb: r(y)=1 r(x)=0", &[], &["rc", "ra"]);
}

#[test]
fn a_session_must_see_itself() {
    check(
        "a: w(x)=1\na: r(x)=0",
        &["ser", "si", "tap-ra", "rc"],
        &["session-ser", "session-si", "ra", "causal"],
    );
}

#[test]
fn reading_twice() {
    check("a: w(x)=1\nb: r(x)=0 r(x)=1", &["rc", "ru"], &["ci", "ra"]);
    check("a: w(x)=1\nb: r(x)=1 r(x)=0", &["ru"], &["ci", "rc"]);
}

#[test]
fn thin_air_and_aborted_reads() {
    check("a: r(x)=7", &[], &["rc", "ra", "ser"]);
    check("a!: w(x)=1\nb: r(x)=1", &[], &["rc", "ser"]);
    check("a?: w(x)=1\nb: r(x)=1", &["rc", "ser"], &[]);
    check("a!: w(x)=1\nc: w(x)=1\nb: r(x)=1", &["ser"], &[]);
    check("a?: w(x)=1\nb: r(x)=0", &["ser"], &[]);
}

#[test]
fn a_history_with_duplicate_values_that_a_peer_accepts_wrongly() {
    check(
        "a: w(x)=2 r(y)=2\nb: r(z)=2\nb: r(x)=1\nc: w(x)=1\nc: w(x)=1 w(y)=2\nd: r(x)=2\nd: w(z)=2\nd: w(z)=2",
        &[],
        &["session-si"],
    );
}

fn timed(text: &str, times: &[(i64, i64)]) -> SmallHistory {
    let mut history = SmallHistory::parse(text).unwrap();
    for (txn, &(begin, commit)) in history.txns.iter_mut().zip(times) {
        txn.times = SmallTimes::exact(begin, commit);
    }
    history
}

#[test]
fn real_time_separates_the_snapshot_levels() {
    let stale = timed("a: w(x)=1\nb: r(x)=0", &[(0, 1), (2, 3)]);
    check_history(&stale, &["gsi", "strong-session-si", "si", "session-ser"], &["strong-si", "strict-ser"]);
    let from_the_future = timed("a: w(x)=1\nb: r(x)=1", &[(2, 3), (0, 1)]);
    check_history(
        &from_the_future,
        &["si", "session-si", "ser"],
        &["gsi", "strong-session-si", "strong-si", "strict-ser"],
    );
    let from_a_concurrent_one = timed("a: w(x)=1\nb: r(x)=1", &[(0, 3), (2, 5)]);
    check_history(&from_a_concurrent_one, &["si", "strict-ser"], &["gsi", "strong-si"]);
}

#[test]
fn skew_forgives() {
    let mut stale = timed("a: w(x)=1\nb: r(x)=0", &[(0, 1), (2, 3)]);
    stale.clock_skew = 1;
    check_history(&stale, &["strict-ser", "strong-si"], &[]);
}
