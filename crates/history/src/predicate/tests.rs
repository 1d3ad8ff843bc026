//! What matches, how predicates print, and what is no predicate.

use super::*;
use crate::{Bound, Change};

fn predicate(text: &str) -> Predicate {
    Predicate::parse(&Datum::str(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn row(columns: &[(&str, i64)]) -> Datum {
    Datum::row(columns.iter().map(|&(name, value)| (name.into(), value.into())).collect())
}

fn list(items: &[Datum]) -> Datum {
    Datum::List(items.into())
}

/// Which of the values 0 to 9, under key 5, match.
fn matching(text: &str) -> Vec<i64> {
    let predicate = predicate(text);
    (0..10).filter(|&value| predicate.matches(&5.into(), &value.into())).collect()
}

#[test]
fn comparisons_of_scalars() {
    assert_eq!(matching("v = 3"), [3]);
    assert_eq!(matching("value != 3 and v <> 4 and v < 6"), [0, 1, 2, 5]);
    assert_eq!(matching("v between 3 and 5 or v >= 9"), [3, 4, 5, 9]);
    assert_eq!(matching("v not between 1 and 8"), [0, 9]);
    assert_eq!(matching("v in (1, 7, 12)"), [1, 7]);
    assert_eq!(matching("v NOT IN (1, 7) AND v <= 2"), [0, 2]);
    assert_eq!(matching("v % 3 = 1"), [1, 4, 7]);
    assert_eq!(matching("k = 5 and 8 <= v"), [8, 9]);
    assert_eq!(matching("not (v > 1 or key < 5)"), [0, 1]);
    assert_eq!(matching("v = 2.0 or v > 8.5"), [2, 9]);
    assert_eq!(matching("true").len(), 10);
    assert_eq!(matching("false").len(), 0);
}

#[test]
fn columns_of_rows() {
    let rich = row(&[("v1", 3), ("v2", 8)]);
    let matches = |text| predicate(text).matches(&"x".into(), &rich);
    assert!(matches("v1 = 3 and v2 between 8 and 8"));
    assert!(matches("key = 'x' and k = 'x'"));
    assert!(matches("v3 is null and v1 is not null"));
    assert!(matches("v1 < v2"));
    assert!(matches("\"v1\" = 3"));
    assert!(!matches("v = 3"), "a row of columns has no value of its own");
    let with_key = Datum::row(vec![("k".into(), 7.into())]);
    assert!(predicate("k = 7 and key = 'x'").matches(&"x".into(), &with_key), "a column k hides the key");
}

#[test]
fn null_is_neither_true_nor_false() {
    for text in [
        "w = 1",
        "not w = 1",
        "w != 1",
        "w in (1)",
        "w not in (1)",
        "w like 'a%'",
        "w % 2 = 0",
        "not (w < 1 and v = 0)",
    ] {
        assert_eq!(matching(text).into_iter().filter(|&value| value == 0).count(), 0, "{text}");
    }
    assert_eq!(matching("w = 1 or v = 3"), [3]);
    assert_eq!(matching("not (w = 1 and v = 3)"), [0, 1, 2, 4, 5, 6, 7, 8, 9]);
    assert_eq!(matching("v = 'a' or v != 'a'"), [], "things of different kinds do not compare");
    assert_eq!(matching("w is null").len(), 10);
}

#[test]
fn what_does_not_exist_matches_nothing() {
    for text in ["true", "v is null", "not false", "key = 1"] {
        assert!(!predicate(text).matches(&1.into(), &Datum::Nil), "{text}");
    }
}

#[test]
fn texts_compare_by_bytes_and_prefix() {
    let matches = |text, value: &str| predicate(text).matches(&1.into(), &value.into());
    assert!(matches("v like 'ab%'", "abc") && !matches("v like 'ab%'", "aab"));
    assert!(matches("v not like 'ab%'", "b") && matches("v >= 'b' and v < 'c'", "bz"));
    assert!(matches("v = 'it''s'", "it's"));
}

#[test]
fn data_says_the_same() {
    let parse = |datum: &Datum| Predicate::parse(datum).unwrap().print();
    let keyword = |text: &str| Datum::Keyword(text.into());
    assert_eq!(parse(&keyword("true")), "true");
    assert_eq!(parse(&Datum::Bool(true)), "true");
    assert_eq!(parse(&list(&[keyword("="), 2.into()])), "value = 2");
    assert_eq!(parse(&list(&[keyword("mod"), 2.into(), 0.into()])), "value % 2 = 0");
    let between = list(&["between".into(), "v1".into(), 3.into(), 9.into()]);
    let key = list(&["<".into(), "key".into(), "x".into()]);
    let both = list(&["and".into(), between, list(&["not".into(), key])]);
    assert_eq!(parse(&both), "v1 between 3 and 9 and not (key < 'x')");
    let remainder = list(&["%".into(), "v".into(), 3.into()]);
    assert_eq!(parse(&list(&["in".into(), remainder, list(&[0.into(), 1.into()])])), "v % 3 in (0, 1)");
    let versions = list(&["matches".into(), list(&["x".into(), 1.into()])]);
    assert_eq!(parse(&versions), "one of {x = 1}");
    let extensional = Predicate::parse(&versions).unwrap();
    assert!(extensional.matches(&"x".into(), &1.into()) && !extensional.matches(&"y".into(), &1.into()));
}

#[test]
fn what_is_printed_reads_back() {
    for text in [
        "v1 between 3 and 9 and key < 5",
        "not (v = 1) or (v > 2 and \"not\" is not null)",
        "name not like 'a''b%' and v % 3 = 0",
        "v in (1, 2.5, 'x', true, :kw) or false",
        "not (not (v = -1))",
    ] {
        assert_eq!(predicate(text).print(), text);
        assert_eq!(predicate(&predicate(text).print()), predicate(text));
    }
}

#[test]
fn errors_say_what_was_expected() {
    let error = |text: &str| Predicate::parse(&Datum::str(text)).unwrap_err().to_string();
    assert!(
        error("v = ").starts_with("byte 5: expected a column, `key`, `value`, or a constant"),
        "{}",
        error("v = ")
    );
    assert!(error("v").contains("expected a comparison: = !="));
    assert!(error("v like '%a%'").contains("found '%a%'"));
    assert!(error("v % 0 = 1").contains("an integer other than 0"));
    assert!(error("v = 1 v = 2").contains("`and`, `or` or the end, found `v = 2`"));
    assert!(error(&"(".repeat(10_000)).contains("at most 64 parts"));
    assert!(error(&"not ".repeat(10_000)).contains("at most 64 parts"));
    assert!(Predicate::parse(&list(&["=".into()])).unwrap_err().to_string().contains("one or two arguments"));
    assert!(Predicate::parse(&7.into()).is_err() && Predicate::parse(&list(&[])).is_err());
}

#[test]
fn changes_of_rows() {
    let old = row(&[("a", 1), ("b", 2)]);
    assert_eq!(Change::Set(row(&[("b", 5), ("c", 6)])).apply(&old), row(&[("a", 1), ("b", 5), ("c", 6)]));
    assert_eq!(Change::Set(7.into()).apply(&3.into()), Datum::Int(7));
    assert_eq!(Change::Set(row(&[("+", 10)])).apply(&3.into()), Datum::Int(13));
    let plus = Datum::row(vec![("b".into(), row(&[("+", 10)]))]);
    assert_eq!(Change::Set(plus).apply(&old), row(&[("a", 1), ("b", 12)]));
    assert_eq!(Change::Set(row(&[("+", 1)])).apply(&Datum::Int(i64::MAX)), Datum::uint(1 << 63));
    assert_eq!(Change::Delete.apply(&old), Datum::Nil);
}

#[test]
fn intervals_are_recognised() {
    let interval = predicate("v1 between 3 and 9").interval().unwrap();
    assert_eq!(interval.subject, Subject::Column("v1".into()));
    assert_eq!((interval.from, interval.to), (Bound::Included(3.into()), Bound::Included(9.into())));
    let open = predicate("key > 1 and key < 4").interval().unwrap();
    assert_eq!((open.from, open.to), (Bound::Excluded(1.into()), Bound::Excluded(4.into())));
    assert_eq!(predicate("4 > key and key > 1").interval(), None);
    assert_eq!(predicate("v != 3").interval(), None);
    assert_eq!(predicate("v > 1 and key < 4").interval(), None);
    assert_eq!(predicate("v > 1 and v < 'a'").interval(), None);
}
