//! Orders that explain a history and orders that do not, for each kind of operation: the first pass, the others do not.

use history::History;
use isoscope_certify::{Certificate, Level, Node, Rule, Step, check};

fn history(text: &str) -> History {
    formats::notation::parse(text).unwrap()
}

/// Whether the checker accepts an order of events: whole transactions (`0`), or begins and commits (`b0 c0`).
fn accepts(text: &str, level: Level, order: &str) -> bool {
    let history = history(text);
    let events = level.events_per_txn();
    let node = |word: &str| {
        let number = |digits: &str| history::TxnId(digits.parse().unwrap());
        match (word.strip_prefix('b'), word.strip_prefix('c')) {
            (Some(txn), _) => Node::begin(number(txn), events),
            (_, Some(txn)) => Node::commit(number(txn), events),
            _ => Node::begin(number(word), events),
        }
    };
    let order = order.split_whitespace().map(node).collect();
    check(&history, &level, &Certificate::Holds { order, committed_unknown: Vec::new() }).is_ok()
}

#[track_caller]
fn only(text: &str, right: &[&str], wrong: &[&str]) {
    only_at(Level::SERIALIZABLE, text, right, wrong);
}

#[track_caller]
fn only_at(level: Level, text: &str, right: &[&str], wrong: &[&str]) {
    for order in right {
        assert!(accepts(text, level, order), "{order} explains\n{text}");
    }
    for order in wrong {
        assert!(!accepts(text, level, order), "{order} does not explain\n{text}");
    }
}

#[test]
fn recorded_versions_go_up_and_are_those_that_were_read() {
    only("a: w(x)=1^1\nb: w(x)=1^2\nc: r(x)=1^1", &["0 2 1"], &["0 1 2", "1 0 2"]);
    only("a: w(x)=1\nb: r(x)=1^5\nc: w(x)=2^4", &["2 0 1"], &["0 1 2"]);
    only("a: w(x)=2^5\nb: w(x)=1\nc: r(x)=1^5", &[], &["0 1 2"]);
    only("a: w(x)=2^5\nb: w(x)=1\nc: r(x)=1^4", &["1 2 0"], &["0 1 2"]);
    only("a: w(x)=1^5\nb: w(x)=2^5", &[], &["0 1", "1 0"]);
}

#[test]
fn predicates_return_the_rows_that_match() {
    only("init *=nil\na: i(x)=1\nb: p(v = 1)={x=1}", &["0 1"], &["1 0"]);
    only("init *=nil x=1\na: pw(v = 1)=2*1\nb: p(v = 2)={}", &["1 0"], &["0 1"]);
    only("init *=nil x=1\na: w(x)=2\nb: p(v = 2)={}\nc: p(v = 2)={x=2}", &["1 0 2"], &["0 1 2", "2 0 1"]);
    only("init *=nil x=1 y=1\na: p(v = 1)={x=1}", &[], &["0"]);
    only("init *=nil x=1 y=1\na: p(v = 1)={y=1 x=1}", &["0"], &[]);
    only("init *=nil x=1\na: p(v = 1)={x=1 x=1}", &[], &["0"]);
    only("init *=nil x=1 y=1\na: p(v = 1)={x=1 y=1 x=1}", &[], &["0"]);
    only("init *=nil x=1 y=1\na: p(v = 1)={y=1 x=1 y=1}", &[], &["0"]);
    only("init *=nil x=1\na: w(x)=2 p(v = 2)={x=2} p(v = 1)={}", &["0"], &[]);
    only("init *=nil x=1\na: d(x) p(v = 1)={}\nb: p(v = 1)={x=1}", &["1 0"], &["0 1"]);
}

#[test]
fn writes_by_predicate_change_the_rows_that_match() {
    only("init *=nil x=1\na: w(x)=3\nb: pw(v = 1)=2*1", &["1 0"], &["0 1"]);
    only("init *=nil x=1 y=1\na: w(x)=3\nb: pw(v = 1)=2~{x y}", &["1 0"], &["0 1"]);
    only("init *=nil x=1 y=1\nb: pw(v = 1)=2~{y x}", &["0"], &[]);
    only("init *=nil x=1\na: pw(v = 1)=2\nb: r(x)=2\nc: r(x)=1", &["2 0 1"], &["0 2 1", "1 0 2"]);
}

#[test]
fn ranges_beside_predicates_return_the_rows_between_their_bounds() {
    let text = "init *=nil\nkeys 1 2 3\na: i(1)=5\nb: r[1..2]={1=5} p(v = 5)={1=5}\nc: d(1)";
    only(text, &["0 1 2"], &["1 0 2", "0 2 1"]);
    let text = "init *=nil 3=7\nkeys 1 2 3\na: i(1)=5\nb: r[1..2]={} p(v = 9)={}\nc: d(1)";
    only(text, &["1 0 2", "0 2 1"], &["0 1 2"]);
}

#[test]
fn lists_have_the_elements_in_the_order_of_their_appends() {
    only("init *=nil\na: a(x)=1\nb: a(x)=2\nc: r(x)=[1 2]", &["0 1 2"], &["1 0 2", "0 2 1"]);
    only("init *=nil\na: a(x)=1\nb: w(x)=5\nc: r(x)=[1]", &["0 2 1"], &["0 1 2"]);
    only("init x=[3] *=nil\na: r(x)=[]", &[], &["0"]);
    only("init *=nil\na: a(x)=1\nb: r(x)=[]", &["1 0"], &["0 1"]);
}

#[test]
fn an_initial_value_that_was_not_recorded_is_none_that_a_transaction_wrote() {
    only("init *=?\na: r(x)=5\nb: w(x)=5", &["1 0"], &["0 1"]);
    only("init *=?\na: r(x)=nil\nb: d(x)", &["0 1", "1 0"], &[]);
}

#[test]
fn an_initial_value_that_was_not_recorded_is_what_all_reads_of_it_show() {
    only("init *=?\na: r(x)=[5]\nb: r(x)=[5]", &["0 1"], &[]);
    only("init *=?\na: r(x)=[]\nb: r(x)=[5]", &[], &["0 1", "1 0"]);
    only("init *=?\nkeys 1\na: r(1)=[]\nb: r[1..1]={}", &["0 1", "1 0"], &[]);
    only("init *=?\na: p(v = 5)={}\nb: r(x)=6", &["0 1", "1 0"], &[]);
    only("init *=?\na: p(v = 5)={}\nb: r(x)=5", &[], &["0 1", "1 0"]);
    only("init *=?\na: p(v = 5)={} p(v = 6)={}\nb: r(x)=6", &[], &["0 1", "1 0"]);
}

#[test]
fn a_write_by_predicate_changed_the_keys_that_it_names() {
    only("init *=nil x=1 y=2\na: pw(v = 1)=3~{x}", &["0"], &[]);
    only("init *=nil x=1 y=2\na: pw(v = 1)=3~{y}", &[], &["0"]);
    only("init *=nil x=1 y=1\na: pw(v = 1)=3~{y}", &[], &["0"]);
}

#[test]
fn writers_by_predicate_of_a_row_do_not_overlap() {
    let text = "init *=nil x=1\na: pw(v = 1)=2*1\nb: w(x)=3";
    only_at(Level::SNAPSHOT_ISOLATION, text, &["b0 c0 b1 c1"], &["b0 b1 c0 c1", "b1 b0 c1 c0"]);
    only_at(Level::PREFIX, text, &["b0 c0 b1 c1", "b0 b1 c0 c1"], &["b1 c1 b0 c0"]);
}

#[test]
fn every_event_stands_once_in_the_order() {
    let text = "a: w(x)=1\nb: w(y)=1";
    only_at(Level::SNAPSHOT_ISOLATION, text, &["b0 c0 b1 c1"], &["c0 b1 c1", "b0 b1 c1", "b0 b0 c0 b1 c1"]);
}

/// Histories that an order explains, though not the first one that comes to mind.
#[test]
fn that_no_order_explains_a_history_is_not_accepted_where_one_does() {
    let steps = vec![Step { clause: Vec::new(), rule: Rule::NoOrder }];
    let no_order = Certificate::Violated { steps, keys: None };
    for (level, text) in [
        (Level::SERIALIZABLE, "a: r(x)=1\na: w(x)=1"),
        (Level::SESSION_SERIALIZABLE, "a: r(x)=1\nb: w(x)=1"),
        (Level::SERIALIZABLE, "a: r(x)=1 @[1,2]\nb: w(x)=1 @[5,6]"),
        (Level::STRICT_SERIALIZABLE, "a: r(x)=1 @[1,9]\nb: w(x)=1 @[5,6]"),
        (Level::STRONG_SI, "a: r(x)=0 w(y)=1 @[1..2,9..10]\nb: r(y)=0 w(x)=1 @[3..4,7..8]"),
        (Level::SNAPSHOT_ISOLATION, "a: r(x)=0 w(y)=1\nb: r(y)=0 w(x)=1"),
        (Level::SERIALIZABLE, "init *=?\na: r(x)=nil\nb: r(x)=5\nc: d(x)"),
        (Level::SERIALIZABLE, "init *=nil\na: r(x)=[1 2]\nb: a(x)=1\nc: a(x)=2 unknown"),
        (Level::PREFIX, "init *=nil\na: a(x)=1\nb: r(x)=[2]"),
        // The mark may be there from the beginning, and the plain read shows it.
        (Level::SERIALIZABLE, "init *=?\nkeys 1\na: r(1)=91 r[1..1]={~1=91}"),
        // A transaction of unknown outcome has to come before one that only reads.
        (Level::SESSION_SERIALIZABLE, "a: w(x)=1 unknown\na: r(y)=0\nb: r(x)=1"),
        (
            Level::GENERALIZED_SI,
            "a: w(x)=1 unknown @[1..2,3..?]\nb: r(y)=0 @[5..6,7..8]\nc: r(x)=1 @[9..10,11..12]",
        ),
        (Level::SERIALIZABLE, "init *=nil x=1\na: p(v = 2)={x=2}\nb: pw(v = 1)=2*1\nc: p(v = 1)={x=1}"),
    ] {
        assert!(check(&history(text), &level, &no_order).is_err(), "{text}");
    }
    for (level, text) in [
        (Level::SERIALIZABLE, "a: r(x)=0 w(y)=1\nb: r(y)=0 w(x)=1"),
        (Level::SESSION_SERIALIZABLE, "a: w(x)=1\na: r(x)=0"),
        (Level::STRICT_SERIALIZABLE, "a: w(x)=1 @[1,2]\nb: r(x)=0 @[5,6]"),
        (Level::SNAPSHOT_ISOLATION, "a: r(x)=0 w(x)=1\nb: r(x)=0 w(x)=2"),
    ] {
        check(&history(text), &level, &no_order).unwrap();
    }
}

#[test]
fn what_another_transaction_is_about_to_write_is_not_read() {
    let text = "a: w(x)=1\nb: r(x)=1";
    only_at(Level::SNAPSHOT_ISOLATION, text, &["b0 c0 b1 c1"], &["b0 b1 c0 c1", "b1 b0 c0 c1"]);
}

#[test]
fn every_row_begins_with_its_own_initial_value() {
    let initial = "init 1={\"v\": 1} 2={\"v\": 5}\n";
    only(&format!("{initial}a: p(v >= 3)={{2={{\"v\": 5}}}}"), &["0"], &[]);
    only(&format!("{initial}a: p(v >= 3)={{}}"), &[], &["0"]);
    only(&format!("{initial}a: p(v <= 3)={{1={{\"v\": 1}} 2={{\"v\": 1}}}}"), &[], &["0"]);
}

/// Rows of integers are kept as columns; these are at its limits.
#[test]
fn rows_that_are_nearly_rows_of_integers_are_kept_whole() {
    let row = "init *=nil 1={\"v\": 1}\n";
    let after = |change: &str, read: &str| format!("{row}a: pw(true)={change}\nb: r(1)={read}");
    only(&after("{\"+\": 1}", "nil"), &["0 1"], &["1 0"]);
    only(&after("{\"+\": 1}", "{\"v\": 1, \"+\": 1}"), &[], &["0 1", "1 0"]);
    only(&after("{}", "{\"v\": 1}"), &["0 1", "1 0"], &[]);
    let least = "{\"v\": -9223372036854775808}";
    only(&after(least, least), &["0 1"], &["1 0"]);
    only(&after(least, "{}"), &[], &["0 1", "1 0"]);
    for written in ["{}", "{1: 5}", "{\"v\": 1, 1: 5}", "{\"v\": \"text\", \"w\": 2}"] {
        let found = |rows: &str| format!("init *=nil\na: w(1)={written}\nb: p(true)={rows}");
        only(&found(&format!("{{1={written}}}")), &["0 1"], &["1 0"]);
        only(&found("{}"), &["1 0"], &["0 1"]);
        only(&found("{1={\"v\": 1}}"), &[], &["0 1", "1 0"]);
    }
}
