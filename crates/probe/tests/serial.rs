//! What counts as serializable: outcomes that were made up, judged by running them one after another.

use databases::Reply;
use history::Datum;
use isoscope_probe::{Cell, Class, Condition, End, Run, Schedule, Txn, judge, notation};

fn schedule(text: &str) -> Schedule {
    notation::parse(&format!("schedule test\n{text}")).unwrap().remove(0)
}

fn value(value: i64) -> Reply {
    Reply::Row(Some(vec![Datum::Int(value)]))
}

fn run(answers: Vec<Vec<Reply>>, left: &[(&str, i64)]) -> Run {
    let ends = vec![End::Committed; answers.len()];
    let left = left.iter().map(|&(key, value)| (Datum::str(key), vec![Datum::Int(value)])).collect();
    Run { events: Vec::new(), answers, ends, left }
}

const WRITE_SKEW: &str = "init x=0 y=0\nsteps r1(x) r2(y) w1(y)=1 w2(x)=1 c1 c2";

#[test]
fn write_skew_is_no_serial_order() {
    let schedule = schedule(WRITE_SKEW);
    let skewed = run(vec![vec![value(0), Reply::Count(1)]; 2], &[("x", 1), ("y", 1)]);
    let judgement = judge(&schedule, &skewed);
    assert_eq!(
        (judgement.cell, judgement.class, judgement.serial_order),
        (Cell::Possible, Class::Anomaly, None)
    );
}

#[test]
fn one_after_the_other_is_a_serial_order() {
    let schedule = schedule(WRITE_SKEW);
    let answers = vec![vec![value(1), Reply::Count(1)], vec![value(0), Reply::Count(1)]];
    let judgement = judge(&schedule, &run(answers, &[("x", 1), ("y", 1)]));
    assert_eq!(judgement.serial_order, Some(vec![Txn(1), Txn(0)]));
    assert_eq!((judgement.cell, judgement.class), (Cell::Prevented, Class::Avoid));
}

#[test]
fn what_is_left_counts() {
    let schedule = schedule("init x=0\nsteps w1(x)=1 w2(x)=2 c1 c2");
    let answers = vec![vec![Reply::Count(1)]; 2];
    assert!(judge(&schedule, &run(answers.clone(), &[("x", 2)])).serial_order.is_some());
    assert_eq!(judge(&schedule, &run(answers, &[("x", 0)])).class, Class::Anomaly);
}

#[test]
fn what_was_rolled_back_does_not_count() {
    let schedule = schedule(WRITE_SKEW);
    let mut half = run(vec![vec![value(0), Reply::Count(1)], vec![value(7)]], &[("x", 0), ("y", 1)]);
    half.ends[1] = End::RolledBack(databases::Failure::aborted("deadlock"));
    let judgement = judge(&schedule, &half);
    assert_eq!((judgement.cell, judgement.class), (Cell::Aborts, Class::Rollback));
    assert_eq!(judgement.serial_order, Some(vec![Txn(0)]));
}

#[test]
fn predicates_inserts_and_deletes_are_replayed() {
    let schedule = schedule("init a=1\nsteps p1[v>0] i1(b)=2 d1[v=1] u1[all]=5 p1[all] c1");
    let rows = |rows: &[(&str, i64)]| {
        Reply::Rows(rows.iter().map(|&(key, value)| (Datum::str(key), vec![Datum::Int(value)])).collect())
    };
    let answers = vec![rows(&[("a", 1)]), Reply::Done, Reply::Count(1), Reply::Count(1), rows(&[("b", 5)])];
    assert!(judge(&schedule, &run(vec![answers], &[("b", 5)])).serial_order.is_some());
}

#[test]
fn conditions_are_about_what_was_seen() {
    let schedule = schedule("init x=0\nsteps r1(x) r1(x) c1");
    let seen = run(vec![vec![value(5), value(6)]], &[("x", 0)]);
    let (five, six) = (Datum::Int(5), Datum::Int(6));
    let holds = |condition: Condition| condition.holds(&schedule, &seen);
    assert!(holds(Condition::Saw(Txn(0), five.clone())));
    assert!(holds(Condition::SawBefore(Txn(0), five.clone(), six.clone())));
    assert!(!holds(Condition::SawBefore(Txn(0), six.clone(), five.clone())));
    assert!(!holds(Condition::SawWith(Txn(0), five, six)));
    assert!(holds(Condition::Final(Datum::str("x"), vec![Datum::Int(0)])));
    assert!(holds(Condition::NotSerializable));
}
