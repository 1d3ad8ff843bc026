//! The EDN scanner: every kind of form, and hostile input.

use history::Datum;

use super::*;
use crate::sample_histories::{Random, random_datum};

fn parse(text: &str) -> Result<Datum, Stop> {
    parse_as(text, Syntax::Edn)
}

fn parse_as(text: &str, syntax: Syntax) -> Result<Datum, Stop> {
    let text = format!("{text} ");
    let mut scanner = Scanner::new(text.as_bytes(), syntax);
    scanner.skip_blanks()?;
    let start = scanner;
    let datum = scanner.datum()?;
    let mut skipped = start;
    skipped.skip_form().unwrap();
    assert_eq!(skipped.at, scanner.at, "skipping {text:?} goes as far as reading it");
    scanner.skip_blanks()?;
    match scanner.at == text.len() {
        true => Ok(datum),
        false => Err(scanner.bad("the end")),
    }
}

fn keyword(text: &str) -> Datum {
    Datum::Keyword(text.into())
}

#[test]
fn every_kind_of_form_is_read() {
    let tagged = |tag: &str, value: Datum| Datum::Tagged(Box::new((tag.into(), value)));
    for (text, expected) in [
        ("nil", Datum::Nil),
        ("true", Datum::Bool(true)),
        ("+12", Datum::Int(12)),
        ("-0", Datum::Int(0)),
        ("12345678901234567890N", Datum::uint(12345678901234567890)),
        ("123456789012345678901", Datum::int_from_decimal("123456789012345678901").unwrap()),
        ("1.5e3", Datum::float(1500.0)),
        ("##-Inf", Datum::float(f64::NEG_INFINITY)),
        ("\"a\\n\\u00e9\\\"\"", Datum::str("a\né\"")),
        (":a/b", keyword("a/b")),
        ("foo.bar/baz", Datum::Symbol("foo.bar/baz".into())),
        ("-", Datum::Symbol("-".into())),
        (
            "; comment ] \n [1, 2 (3) #_ #_ a [b] 4]",
            Datum::List([1.into(), 2.into(), Datum::List([3.into()].into()), 4.into()].into()),
        ),
        ("{:b 1, :a \"}\"}", Datum::row(vec![(keyword("a"), "}".into()), (keyword("b"), 1.into())])),
        ("#inst \"2020\"", tagged("inst", "2020".into())),
        ("#a #b [1]", tagged("a", tagged("b", Datum::List([1.into()].into())))),
        ("#{2 1}", tagged("set", Datum::List([1.into(), 2.into()].into()))),
        (
            "[\\a \\newline \\) \\u00e9]",
            Datum::List(["a", "\n", ")", "é"].map(|char| tagged("char", char.into())).into()),
        ),
        ("1/2", tagged("ratio", "1/2".into())),
        ("1.50M", tagged("decimal", "1.50".into())),
    ] {
        assert_eq!(parse(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn what_is_no_form_is_refused() {
    for text in [
        "",
        "[",
        "[1",
        "]",
        "[1)",
        "{:a}",
        "{:a 1 :a 2}",
        "\"abc",
        "1x",
        "0x1f",
        "\"\\q\"",
        "\\abc",
        "#",
        ":",
        "1e999",
        "1/",
        "#_",
        "\"\\ud800\"",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
    for text in ["nil", ":a", "#{1}", "abc", "[1 ; x\n]", "1N", "\\a", "#_ 1 2"] {
        assert!(parse_as(text, Syntax::Json).is_err(), "{text}");
    }
}

#[test]
fn json_is_read_as_it_is() {
    let read = parse_as("{\"a\": [1, 2.5, null, true, \"\\u0041\\/\"],\"b\":{}}", Syntax::Json).unwrap();
    assert_eq!(read.to_string(), "{a: [1 2.5 nil true \"A/\"], b: {}}");
}

#[test]
fn deep_nesting_is_an_error() {
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&nested(129)).is_ok());
    assert!(parse(&nested(130)).is_err());
    assert!(parse(&nested(1_000_000)).is_err());
    assert!(parse(&"#_".repeat(1_000_000)).is_err());
    assert!(parse(&"#a ".repeat(1_000_000)).is_err());
    assert!(parse(&"#a #_ ".repeat(1_000_000)).is_err());
    assert!(parse(&"#_ #a ".repeat(1_000_000)).is_err());
    assert!(parse(&"#_ [".repeat(1_000_000)).is_err());
}

#[test]
fn what_can_be_written_is_read_as_it_was() {
    let mut random = Random(1);
    let mut written = 0;
    for _ in 0..20_000 {
        let datum = random_datum(&mut random, 0);
        let mut text = String::new();
        if print_datum(&mut text, &datum).is_ok() {
            assert_eq!(parse(&text), Ok(datum), "{text}");
            written += 1;
        }
    }
    assert!(written > 10_000, "{written}");
}
