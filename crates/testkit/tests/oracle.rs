//! The oracle on histories with rows that come and go, lists, versions and predicates: each case by hand.

use certify::Level;
use isoscope_testkit::generate_rows::{self, RowKind};
use isoscope_testkit::oracle;

const SER: Level = Level::SERIALIZABLE;
const SI: Level = Level::SNAPSHOT_ISOLATION;
const PREFIX: Level = Level::PREFIX;

#[track_caller]
fn check(text: &str, expected: [bool; 3]) {
    let history = formats::notation::parse(text).unwrap();
    let found = [SER, SI, PREFIX].map(|level| oracle::holds(&history, &level));
    assert_eq!(found, expected, "serializable, snapshot isolation, prefix of\n{text}");
}

#[test]
fn ranges_see_all_rows_between_their_bounds() {
    check("init *=nil\na: i(1)=1 i(2)=2\nb: r[1..2]={1=1 2=2}", [true; 3]);
    check("init *=nil\na: i(1)=1 i(2)=2\nb: r[1..2]={1=1}", [false; 3]);
    check("init *=nil\na: i(1)=1 i(2)=2\nb: r[1..2)={1=1}", [true; 3]);
    check("init *=nil\na: i(1)=1 i(2)=2\nb: r[1..2)={1=1 2=2}", [false; 3]);
    check("init *=nil\na: i(1)=1 i(2)=2\nb: r[..]={}", [true; 3]);
    check("init *=nil\na: i(1)=1\nb: r[..]={1=1 1=1}", [false; 3]);
    check("a: w(1)=1\nb: r[..]={1=0}", [true; 3]);
    check("a: w(1)=1\nb: r[..]={}", [false; 3]);
}

#[test]
fn deletes_with_and_without_marks() {
    check("init *=nil x=1\na: d(x)\nb: r(x)=nil", [true; 3]);
    check("init *=nil x=1\na: d(x)=9\nb: r(x)=9", [true; 3]);
    check("init *=nil x=1\na: d(x)=9\nb: r(x)=nil", [false; 3]);
    check("init *=nil x=1\na: d(x)=9\nb: r[..]={~x=9}", [true; 3]);
    check("init *=nil x=1\na: d(x)=9\nb: r[..]={}", [true; 3]);
    check("init *=nil x=1\na: d(x)=9\nb: r[..]={x=9}", [false; 3]);
    check("init *=nil x=1\na: d(x)=9\nb: w(x)=9\nc: r[..]={x=9}", [true; 3]);
    check("init *=nil x=1\na: d(x) r[..]={} i(x)=2 r[..]={x=2}\nb: r[..]={x=1}", [true; 3]);
    check("init *=nil x=1\na: d(x) i(x)=2\nb: r[..]={}", [false; 3]);
}

#[test]
fn lists_grow_at_their_end() {
    check("a: a(x)=1\nb: a(x)=2\nc: r(x)=[2 1]", [true; 3]);
    check("a: a(x)=1\nb: a(x)=2\nc: r(x)=[2]\nd: r(x)=[1]", [false; 3]);
    check("a: r(x)=[] a(x)=1 r(x)=[1]\nb: r(x)=[] a(x)=2", [false, false, true]);
    check("a: a(x)=1 a(x)=2\nb: r(x)=[1]", [false; 3]);
}

#[test]
fn recorded_versions_ascend() {
    check("a: w(x)=1^2\nb: w(x)=2^1\nc: r(x)=1 w(y)=1\nd: r(y)=0 r(x)=2", [true; 3]);
    check("a: w(x)=1^2\nb: w(x)=2^1\nc: {r(x)=1} {r(x)=2}", [true, true, false]);
    check("a: w(x)=1^1\nb: r(x)=1^2", [false; 3]);
    check("a: w(x)=1^1\nb: w(x)=1^2\nc: r(x)=1^2 w(y)=1\nd: r(y)=1 r(x)=1^1", [false; 3]);
    check("a: r(x)=0^1 w(x)=1^2", [true; 3]);
    check("a: r(x)=0^3\nb: w(x)=1^2", [false; 3]);
}

#[test]
fn predicates_see_all_rows_that_match() {
    check("init *=nil\na: i(x)=1 i(y)=2\nb: p(v = 1)={x=1}", [true; 3]);
    check("init *=nil\na: i(x)=1 i(y)=2\nb: p(v >= 1)={x=1}", [false; 3]);
    check("init *=nil\na: i(x)=1\nb: p(v = 2)={x=1}", [false; 3]);
    check("init *=nil\na: i(x)=1\nb: p(true)={x=1 x=1}", [false; 3]);
    check("init *=nil x=1\na: pw(v = 1)=2*1\nb: r(x)=2", [true; 3]);
    check("init *=nil x=1\na: pw(v = 1)=2*0", [false; 3]);
    check("init *=nil x=1 y=1\na: pw(v = 1)=2~{y x} p(v = 2)={x=2 y=2}", [true; 3]);
    check("init *=nil x=1 y=1\na: pw(v = 1)=2~{x}", [false; 3]);
    check("init *=nil x=1\na: pd(v = 1)*1 r(x)=nil i(x)=5 pd(v = 1)*0", [true; 3]);
    check("init *=nil x={a: 1, b: 1}\na: pw(a = 1)={b: {\"+\": 5}} r(x)={a: 1, b: 6}", [true; 3]);
}

#[test]
fn only_rows_that_match_are_written() {
    // Both see x = 1 and change it: one is lost. Where one of them matches nothing, nothing is.
    check("init *=nil x=1\na: r(x)=1 pw(v = 1)=2*1\nb: r(x)=1 pw(v = 1)=3*1", [false, false, true]);
    check("init *=nil x=1\na: r(x)=1 pw(v = 1)=2*1\nb: r(x)=1 pw(v = 7)=3", [true; 3]);
    check("init *=nil x=1 y=1\na: r(x)=1 pw(k = 'y')=2\nb: r(y)=1 pw(k = 'x')=2", [false, true, true]);
}

#[test]
fn a_phantom() {
    check("init *=nil\na: p(true)={} p(true)={x=1}\nb: i(x)=1", [false; 3]);
    check("init *=nil\na: p(v % 3 = 0)={} i(x)=3\nb: p(v % 3 = 0)={} i(y)=6", [false, true, true]);
}

#[test]
fn an_initial_value_that_was_not_recorded() {
    check("init *=?\na: r[..]={x=7}\nb: r(x)=7", [true; 3]);
    check("init *=?\na: r[..]={x=7}\nb: r[..]={}", [false; 3]);
    check("init *=?\nkeys x\na: r[..]={}\nb: i(x)=1\nc: d(x)", [true; 3]);
}

#[test]
fn what_it_cannot_answer_it_refuses() {
    let refusal = |text| oracle::refusal(&formats::notation::parse(text).unwrap()).unwrap_or_default();
    assert!(refusal("a: p(\"v ~ 3\")={}").starts_with("operation 0: byte 3: expected a comparison"));
    assert!(refusal("init *=?\na: w(x)=1 p(v = 3)={}").contains("initial values"));
    assert!(refusal("init *=?\na: a(x)=1").contains("a list held"));
    assert_eq!(refusal("a: p(v = 3)={}"), "");
}

/// A level that is stronger by its definition holds for fewer histories.
#[test]
fn soak_stronger_levels_imply_weaker_ones() {
    const IMPLIED: [(Level, Level); 10] = [
        (Level::STRICT_SERIALIZABLE, Level::SESSION_SERIALIZABLE),
        (Level::SESSION_SERIALIZABLE, SER),
        (SER, SI),
        (Level::SESSION_SERIALIZABLE, Level::SESSION_SNAPSHOT_ISOLATION),
        (Level::STRONG_SI, Level::STRONG_SESSION_SI),
        (Level::STRONG_SESSION_SI, Level::GENERALIZED_SI),
        (Level::STRONG_SESSION_SI, Level::SESSION_SNAPSHOT_ISOLATION),
        (Level::GENERALIZED_SI, SI),
        (Level::SESSION_SNAPSHOT_ISOLATION, SI),
        (Level::SESSION_SNAPSHOT_ISOLATION, PREFIX),
    ];
    let soak = std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok());
    for content in RowKind::ALL {
        for seed in 0..soak.unwrap_or(200) {
            let history = generate_rows::history(seed, content);
            let holds = |level: &Level| oracle::holds(&history, level);
            for (stronger, weaker) in IMPLIED {
                let names = (stronger.name().unwrap(), weaker.name().unwrap());
                let text = || formats::notation::print(&history).unwrap();
                assert!(!holds(&stronger) || holds(&weaker), "{names:?} of seed {seed}\n{}", text());
            }
        }
    }
}

/// One history that holds, and five with one answer changed that do not.
#[test]
fn an_answer_that_is_changed_is_noticed() {
    let honest = "init *=nil x=1 y=2\na: p(v = 1)={x=1} pw(v = 2)=3*1\nb: r[x..y]={x=1 y=3}";
    check(honest, [true; 3]);
    for (from, to) in
        [("{x=1}", "{}"), ("*1", "*0"), ("y=3}", "y=2 x=1}"), ("{x=1 ", "{x=2 "), ("*1", "*1~{x}")]
    {
        check(&honest.replacen(from, to, 1), [false; 3]);
    }
}
