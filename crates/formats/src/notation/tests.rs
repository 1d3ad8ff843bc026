//! The notation: round trips, the documented examples, and errors with their places.

use super::*;
use crate::sample_histories::{describe, random_history, seeds};
use history::*;

fn round_trip(text: &str) -> String {
    let printed = print(&parse(text).unwrap()).unwrap();
    assert_eq!(print(&parse(&printed).unwrap()).unwrap(), printed, "printing is stable");
    printed
}

#[test]
fn sessions_transactions_and_outcomes() {
    let history = parse(
        "
        # initial values 0 unless said
        init x=0 y=0
        a: r(x)=0 w(y)=1
        a: r(y)=1
        b: r(y)=0 w(x)=1   abort
        c: w(z)=1          unknown   @[10,20]
        ",
    )
    .unwrap();
    assert_eq!((history.session_count(), history.txn_count(), history.op_count()), (3, 4, 6));
    assert_eq!(history.outcome(TxnId(2)), Outcome::Aborted);
    assert_eq!(history.outcome(TxnId(3)), Outcome::Unknown);
    assert_eq!(history.times(TxnId(3)), TxnTimes::span(10, Some(20)));
    assert_eq!(history.session_label(SessionId(2)), "c");
    assert_eq!(history.txn_label(TxnId(3)), "T4");
    assert_eq!(history.initial().default, InitialDefault::Value(ValueId(0)));
    assert_eq!(history.initial().recorded.len(), 2);
}

#[test]
fn several_transactions_on_a_line() {
    let history = parse("S1: {w(x)=1} {r(x)=0}\nS2: T7{r(x)=1}abort @[1,2] first {}").unwrap();
    assert_eq!((history.session_count(), history.txn_count()), (2, 4));
    let labels: Vec<_> = history.txns().map(|txn| history.txn_label(txn)).collect();
    assert_eq!(labels, ["T1", "T2", "T7", "first"]);
    assert_eq!(history.outcome(TxnId(2)), Outcome::Aborted);
    assert_eq!(history.txn_name(TxnId(2)), Some(Datum::Int(7)));
}

#[test]
fn lines_without_a_label_are_sessions_of_their_own() {
    assert_eq!(
        round_trip("r(x)=0\n{w(x)=1} {w(x)=2}\nn{r(x)=0}"),
        "_1: r(x)=0\n_2: w(x)=1\n_2: w(x)=2\n_3: n{r(x)=0}\n"
    );
}

#[test]
fn every_operation_prints_as_it_was_read() {
    for line in [
        "a: r(x)=1 r(x)=nil r(x)=? w(\"a b\")=-1 i(:k)=1.5 d(x) d(x)=dead",
        "a: r[1..5]={1=10 ~2=20} r(1..5)={} r[..]=? r[..a)={} r(a..]={}",
        "a: p(v > 1)={x=1} p(\"v >\")={} p(:true)=? pw(:true)={v: 1}*3 pw([:\"=\" 1])=2 pd('sym)*0 pd(1)",
        "a: p(k = 'x)' and (v1 < 3 or v % 2 = 0))={x={v: 1}} pw(true)=1*2~{x y} pd(v in (1, 2))~{}",
        "a: w(x)=1^7@[1,?]! r(x)=<[1 2]>^-1 w(x)=[1 [2]]@[?,2]",
        "a:\na/2: T1{} abort @[1..2,3..4]",
        "a: w(x)=+inf w(x)=<float-bits 7ff0000000000001> w(x)=-0.0 w(x)=1e100 w(x)=<\"float-bits\" 1>",
        "\"_1\": \"T1\"{w(x)=18446744073709551616} @[1..2,3]",
        "<{a: 1}>: <{}>{w(x)=<inst \"2020\">} @[?,3..?]",
        "a: \"abort\"{w(\"nil\")=\"\\u{1}\\n\\\"\\\\\"} unknown",
    ] {
        assert_eq!(round_trip(line), format!("{line}\n"));
    }
}

#[test]
fn the_initial_state_and_unused_keys_are_kept() {
    assert_eq!(round_trip("a: r(x)=0\ninit x=0\ninit *=0"), "init x=0\na: r(x)=0\n");
    assert_eq!(round_trip("init *=?\na:"), "init *=?\na:\n");
    assert_eq!(round_trip("keys z\nclock position\ninit *=nil"), "clock position\ninit *=nil\nkeys z\n");
}

#[test]
fn lists_start_empty_where_nothing_is_said() {
    let text = "a: a(x)=1 w(y)=1\nb: r(x)=[1 2] r(z)=[?]\n";
    let history = parse(text).unwrap();
    let initial = |key: &str| history.initial().value_of(history.keys().get(&key.into()).unwrap());
    assert_eq!(initial("x"), Some(ValueId::NIL));
    assert_eq!(initial("y"), Some(ValueId(0)));
    assert_eq!(round_trip(text), format!("init *=0 x=nil z=nil\n{text}"));
    assert_eq!(parse("init x=7 *=?\na: a(x)=1").unwrap().initial().recorded.len(), 1);
}

#[test]
fn lines_of_one_session_may_be_apart() {
    let history = parse("a: r(x)=0\nb: r(x)=0\na: w(x)=1").unwrap();
    let labels: Vec<_> = history.txns().map(|txn| history.txn_label(txn)).collect();
    assert_eq!(labels, ["T1", "T3", "T2"]);
}

#[test]
fn errors_say_where_and_what() {
    let error = |text| parse(text).unwrap_err().to_string();
    for (text, expected) in [
        (
            "\n  a: r(x)",
            "notation:2:10: expected `=` and what was read, or =? if that is unknown, found the end of the line",
        ),
        ("a r(x)=1", "notation:1:3: expected `:` after the name of a session"),
        ("a: r(x,1)", "notation:1:8: expected `)`, found `1)`"),
        ("a: w(x)=1 q(y)=1", "notation:1:11: expected an operation such as r(x)=1, `abort`"),
        ("a: w(x)=1x", "notation:1:9: expected a number, or a text in quotes, found `1x`"),
        ("a: w(x)=\"abc", "notation:1:9: expected a text that ends with `\"`"),
        ("a: {w(x)=1", "notation:1:11: expected `}`, found the end of the line"),
        ("a: w(x)=1^9223372036854775808", "notation:1:11: expected a version"),
        ("a: w(x)=1?", "notation:1:10: expected a blank"),
        ("a: w(x)=1 abort abort", "notation:1:17: expected an operation"),
        ("a: w(x)={a: 1, a: 2}", "notation:1:9: expected a row without repeated names"),
        ("init x=1\ninit x=1", "notation:2:6: expected a key that has no initial value yet"),
    ] {
        assert!(error(text).starts_with(expected), "{text}: {}", error(text));
    }
}

#[test]
fn deep_nesting_is_an_error() {
    let brackets = |depth| format!("a: w(x)={}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&brackets(129)).is_ok());
    assert!(parse(&brackets(130)).is_err());
    assert!(parse(&brackets(1_000_000)).is_err());
}

#[test]
fn looks_like_what_it_is() {
    for head in ["# hi\n\na: r(x)=0", "init x=1", "r(x)=1", "{r(x)=1}", "_1: T1{}", "a:", "x{}"] {
        assert!(looks_like(head.as_bytes()), "{head}");
    }
    for head in ["", "\n# only\n", "r 1 2", "{\"a\":1}", "{:a 1}", "[x==1]", "r(1,2,3,4)\0", "hello world"] {
        assert!(!looks_like(head.as_bytes()) || head.starts_with("r("), "{head}");
    }
}

#[test]
fn random_histories_come_back_as_they_were() {
    for seed in seeds() {
        let history = random_history(seed);
        let text = print(&history).unwrap();
        let read = parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(describe(&read), describe(&history), "seed {seed}\n{text}");
        assert_eq!(print(&read).unwrap(), text, "seed {seed}");
    }
}

#[test]
fn any_byte_may_be_anything() {
    let text = print(&random_history(7)).unwrap() + &print(&random_history(21)).unwrap();
    let mut bytes = text.into_bytes();
    let options = ReadOptions::default().with_format(Format::Notation);
    for place in 0..bytes.len() {
        let _ = crate::read_bytes("file", &bytes[..place], &options);
        for flip in [1, 2, 4, 8, 16, 32, 64, 128] {
            bytes[place] ^= flip;
            let _ = crate::read_bytes("file", &bytes, &options);
            bytes[place] ^= flip;
        }
    }
}

#[test]
fn the_document_shows_what_is_read() {
    let document = include_str!("../../../../docs/formats/notation.md");
    let example = document.split("```text").nth(1).unwrap().split("```").next().unwrap();
    let history = parse(example).unwrap();
    assert_eq!((history.session_count(), history.txn_count(), history.op_count()), (4, 5, 8));
}

#[test]
fn words_may_have_letters_of_any_alphabet() {
    assert_eq!(round_trip("ä-1: r(größe)=Ωb w(x_Ω2)=a"), "ä-1: r(größe)=Ωb w(x_Ω2)=a\n");
    assert!(parse("a: w(x)=²").is_err());
}
